"""The disk cache with real failures: the bytes stay right whatever happens to the folder."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time

import pytest
import rig

CASE = "llama2-12-layers"
VIEW = "model-q8_0.gguf"


@pytest.fixture
def source(model):
    return model(CASE)


@pytest.fixture(scope="module")
def right():
    """The bytes of a view, made without a disk cache."""
    made = {}

    def get(source, view=VIEW):
        if (source, view) not in made:
            made[source, view] = rig.export(source, view)
        return made[source, view]

    return get


def stats(mnt):
    return json.loads(rig.weightfs("stats", "--json", mnt).out)


def wait_stats(mnt, condition, seconds=20):
    seen = {}

    def look():
        seen.update(stats(mnt))
        return condition(seen["disk_cache"])

    rig.wait_for(look, seconds, lambda: "disk_cache %r" % seen)
    return seen


def files(folder, ending=""):
    return sorted((folder / "weightfs-1").glob("*" + ending))


def fill(source, tmp_path, folder, right, name="fill", *options):
    """Has every tile of the view written by a mount that ends."""
    with rig.mounted(source, tmp_path / name, "disk_cache=%s" % folder, *options) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        wait_stats(mnt, lambda d: d["tiles_written"] == stats(mnt)["cache"]["tiles_made"])
        return stats(mnt)


def test_tiles_survive_a_restart(source, right, tmp_path):
    folder = tmp_path / "cache"
    made = fill(source, tmp_path, folder, right)["cache"]["tiles_made"]
    assert made > 10
    assert os.stat(folder).st_mode & 0o777 == 0o700
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        seen = stats(mnt)
        assert seen["cache"]["tiles_made"] == 0
        assert seen["disk_cache"]["hits"] == made
        assert seen["disk_cache"]["misses"] == seen["disk_cache"]["damaged"] == 0
        assert seen["disk_cache"]["state"] == "on" and seen["disk_cache"]["shared"] is False
        # With all tiles there it becomes a whole file, which is the view.
        rig.wait_for(lambda: files(folder, ".whole"), 20, "the whole file")
        assert files(folder, ".whole")[0].read_bytes() == right(source)
        assert not files(folder, ".part")
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder, "io_uring=no") as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        assert stats(mnt)["cache"]["tiles_made"] == 0
    assert (tmp_path / "mnt.log").read_text().count("disk cache") == 0


def test_export_uses_it_too(source, right, tmp_path):
    option = "--disk_cache=%s" % (tmp_path / "cache")
    for _ in range(2):
        assert rig.export(source, VIEW, option) == right(source)
    assert len(files(tmp_path / "cache", ".sums")) == 1


def test_damage_anywhere(source, right, tmp_path):
    folder = tmp_path / "cache"
    fill(source, tmp_path, folder, right)
    for path in files(folder):
        with open(path, "r+b") as file:
            for offset in range(4096 if path.suffix == ".sums" else 0, os.stat(path).st_size, 100_003):
                file.seek(offset)
                byte = file.read(1)
                file.seek(offset)
                file.write(bytes([byte[0] ^ 0x10]))
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        assert stats(mnt)["disk_cache"]["damaged"] > 0
        assert stats(mnt)["disk_cache"]["state"] == "on"
    assert "disk cache" not in (tmp_path / "mnt.log").read_text()


def mount_tmpfs(path, options):
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]).returncode:
        pytest.skip("tmpfs cannot be mounted here")


def test_no_space(source, right, tmp_path):
    folder = tmp_path / "small"
    mount_tmpfs(folder, "size=256k")
    try:
        # Less is kept than there is: said once, and reads go on, before and after.
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1G" % folder) as mnt:
            for view in (VIEW, "model-f32.gguf", VIEW):
                assert (mnt / view).read_bytes() == right(source, view)
            seen = wait_stats(mnt, lambda d: d["state"] == "read-only")
            assert "No space left" in seen["disk_cache"]["reason"]
        assert (tmp_path / "mnt.log").read_text().count("disk cache") == 1
        with rig.mounted(source, tmp_path / "mnt2", "disk_cache=%s" % folder) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
    finally:
        rig.detach(folder)


def test_read_only_folder(source, right, tmp_path):
    folder = tmp_path / "cache"
    made = fill(source, tmp_path, folder, right)["cache"]["tiles_made"]
    before = {path.name: path.read_bytes() for path in files(folder)}
    other = tmp_path / "other"
    other.mkdir()
    try:
        for command in (["--bind", folder, other], ["-o", "remount,bind,ro", other]):
            if subprocess.run(["mount", *command]).returncode:
                pytest.skip("a bind mount cannot be made here")
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % other) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
            assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
            seen = stats(mnt)["disk_cache"]
            assert seen["hits"] == made and seen["state"] == "read-only"
        assert (tmp_path / "mnt.log").read_text().count("disk cache") == 1
        assert before == {path.name: path.read_bytes() for path in files(folder)}
    finally:
        rig.detach(other)
    # Nothing there, and nothing can be made: off, said once.
    empty = tmp_path / "empty"
    mount_tmpfs(empty, "ro,size=64k")
    try:
        with rig.mounted(source, tmp_path / "mnt2", "disk_cache=%s" % empty) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
            assert stats(mnt)["disk_cache"]["state"] == "off"
        assert (tmp_path / "mnt2.log").read_text().count("disk cache") == 1
    finally:
        rig.detach(empty)


def test_two_mounts_write_at_the_same_time(source, right, tmp_path):
    folder = tmp_path / "cache"
    with rig.mounted(source, tmp_path / "a", "disk_cache=%s" % folder) as a, rig.mounted(
        source, tmp_path / "b", "disk_cache=%s" % folder
    ) as b:
        readers = [subprocess.Popen(["sha256sum", mnt / VIEW], stdout=subprocess.PIPE) for mnt in (a, b)]
        sums = {reader.communicate()[0].split()[0] for reader in readers}
        assert len(sums) == 1
        assert (a / VIEW).read_bytes() == right(source)
        rig.wait_for(lambda: files(folder, ".whole"), 20, "the whole file")
    assert files(folder, ".whole")[0].read_bytes() == right(source)
    assert len(files(folder)) == 2


def test_killed_while_it_writes(source, right, tmp_path):
    folder = tmp_path / "cache"
    for moment in (0.01, 0.05, 0.2):
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
            pid = rig.daemon_of(mnt)
            reader = subprocess.Popen(["cat", mnt / VIEW], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moment)
            os.kill(pid, signal.SIGKILL)
            reader.wait()
            rig.detach(mnt)
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
        for path in files(folder):
            path.unlink()


def test_what_changes_the_key(own, tmp_path):
    folder = tmp_path / "cache"
    option = "--disk_cache=%s" % folder
    source = own(CASE)

    def keys(*options, view=VIEW, **kwargs):
        """The keys that an export adds."""
        before = {path.stem for path in files(folder, ".sums")}
        made = rig.export(source, view, option, *options, **kwargs)
        assert made == rig.export(source, view, *options)
        return {path.stem for path in files(folder, ".sums")} - before

    assert len(keys()) == 1
    assert len(keys()) == 0
    for cpu in ("c", "avx2"):
        assert len(keys(env=dict(os.environ, WEIGHTFS_CPU=cpu))) == 0
    assert len(keys("--workers=1", "--cache_size=8M")) == 0
    assert len(keys("--model_name=Another")) == 1
    assert len(keys(view="model-q4_k_m.gguf")) == 1
    assert len(keys("--view=model-mine.gguf q4_k_m output=q8_0", view="model-mine.gguf")) == 1
    # In place, of the same size: another content, another key, the new bytes.
    shard = sorted(source.glob("*.safetensors"))[0]
    with open(shard, "r+b") as file:
        file.seek(-2, 2)
        last = file.read(1)
        file.seek(-2, 2)
        file.write(bytes([last[0] ^ 1]))
    assert len(keys()) == 1
    # The file as it was, under new times: without a digest that is another file.
    os.utime(shard, ns=(1, 1))
    assert len(keys()) == 1


def test_where_it_may_not_be(source, own, tmp_path):
    mine = own(CASE)
    for folder in (mine, mine / "cache"):
        said = rig.weightfs("export", "--disk_cache=%s" % folder, mine, VIEW, "-o", "-", code=1)
        assert "within the source" in said.err
    assert not (mine / "cache").exists()
    (tmp_path / "mnt").mkdir()
    said = rig.weightfs("mount", "-o", "disk_cache=%s" % (tmp_path / "mnt" / "x"), source, tmp_path / "mnt", code=1)
    assert "within the mountpoint" in said.err
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        said = rig.weightfs("export", "--disk_cache=%s" % (mnt / "tensors"), source, VIEW, "-o", "-", code=1)
        assert "within a weightfs mount" in said.err
    said = rig.weightfs("export", "--disk_cache=%s" % (tmp_path / "no" / "such"), source, VIEW, "-o", "-", code=1)
    assert "disk_cache=" in said.err
    # Others may write to it: refused, as they would decide what is read.
    shutil.rmtree(tmp_path / "open", ignore_errors=True)
    (tmp_path / "open" / "weightfs-1").mkdir(parents=True)
    (tmp_path / "open" / "weightfs-1").chmod(0o777)
    said = rig.weightfs("export", "--disk_cache=%s" % (tmp_path / "open"), source, VIEW, "-o", "-", code=1)
    assert "everybody can write" in said.err


def test_the_limit_is_kept(source, right, tmp_path):
    folder = tmp_path / "cache"
    rig.export(source, "model-q4_k_m.gguf", "--disk_cache=%s" % folder)
    old = files(folder, ".sums")[0]
    os.utime(old, (1000, 1000))
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1M" % folder) as mnt:
        assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
        assert (mnt / VIEW).read_bytes() == right(source)
        wait_stats(mnt, lambda d: d["views_evicted"] == 1 and d["tiles_dropped"] > 0)
        time.sleep(0.5)
        used = sum(os.stat(path).st_blocks * 512 for path in files(folder))
        assert used <= (1 << 20) + (128 << 10)
    assert not old.exists()
    ctypes.CDLL(None).sync()


def test_small_memory(source, right, tmp_path):
    """What waits to be written is within cache_size."""
    folder = tmp_path / "cache"
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,cache_size=4M" % folder) as mnt:
        for _ in range(2):
            assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
        assert stats(mnt)["cache"]["peak_bytes"] <= 4 << 20
