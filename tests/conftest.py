import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tools"))

import rig  # noqa: E402


def pytest_collection_modifyitems(items):
    if not rig.BIN.exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no program at %s: build it first" % rig.BIN))


@pytest.fixture(scope="session")
def reference():
    """reference.prepare() for the named cases; skips when a case needs what is not there."""
    import reference as module

    def get(name):
        made, missing = module.prepare([name])
        if name in missing:
            pytest.skip(missing[name])
        return made[name]

    return get


@pytest.fixture(scope="session")
def model():
    """The folder of a case of make_model.py, shared and read only: tests that change it copy it."""
    import reference as module

    def get(name):
        try:
            return module.model_folder(name)
        except FileNotFoundError as missing:
            pytest.skip(str(missing))

    return get
