import shutil

import pytest

import faults
import rig


@pytest.fixture
def mnt(model, tmp_path):
    """A mount of a model of five shards and twelve layers, with its default options."""
    with rig.mounted(model("llama2-12-layers"), tmp_path / "mnt") as mountpoint:
        yield mountpoint


@pytest.fixture
def own(model, tmp_path):
    """own(case, name=None): a copy of a case's folder that the test may change."""

    def get(case, name=None):
        source = model(case)
        return shutil.copytree(source, tmp_path / (name or source.name))

    return get


@pytest.fixture
def faulty(model, tmp_path):
    """A source that stalls and fails on demand (faults.Source): five shards and twelve layers, all of it read each time."""
    with faults.faulty(model("llama2-12-layers"), tmp_path) as source:
        yield source
