"""mount/quickstart, as a person types it: builds, mounts a sample, says what is there; twice; then a model and a mountpoint."""

import os
import subprocess

import pytest
import rig

QUICKSTART = rig.REPO / "mount" / "quickstart"


@pytest.fixture
def quickstart(tmp_path):
    if "WEIGHTFS_BIN" in os.environ:
        pytest.skip("quickstart has a build of its own: build/")

    def run(*arguments, code=0):
        done = subprocess.run(
            [QUICKSTART, *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_sample_twice(quickstart, tmp_path):
    mnt = tmp_path / "weightfs" / "mnt"
    try:
        said = quickstart()
        assert "model-q4_k_m.gguf" in said and "sha256" in said and "umount %s" % mnt in said
        source = tmp_path / "weightfs" / "Sample-Llama-3M"
        assert rig.export_hash(source, "model-q8_0.gguf")[0] in said
        again = quickstart()
        assert "already mounted" in again and "sha256" in again
        rig.weightfs("umount", mnt)
    finally:
        if rig.is_mounted(mnt):
            rig.detach(mnt)


def test_a_model_and_a_mountpoint(quickstart, model, tmp_path):
    mnt = tmp_path / "a place"
    try:
        said = quickstart(model("mixed-dtypes"), mnt)
        assert rig.is_mounted(mnt) and "model-q8_0.gguf" in said
        quickstart(model("llama2-model"), mnt, code=1)
        rig.weightfs("umount", mnt)
    finally:
        if rig.is_mounted(mnt):
            rig.detach(mnt)


def test_usage(quickstart):
    assert "Usage" in quickstart("--help")
    quickstart("one", code=2)
