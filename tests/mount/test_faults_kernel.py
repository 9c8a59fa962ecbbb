"""What the kernel and its users do to a mount: storms of lookups, opens and faults, changing lists, other mounts."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

import faults
import pytest
import rig
from test_scale import many_tensors, resident_kib


def drop_names():
    """The kernel forgets names and inodes: the daemon is told by FORGET."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")


def test_100000_lookups_are_forgotten(tmp_path):
    """The memory of names that the kernel has let go is used again, not added to."""
    count = max(1000, int(10000 / rig.SLOW))
    source = many_tensors(tmp_path / "many", count)
    with rig.mounted(source, tmp_path / "mnt", "cache_size=8M") as mnt:
        names = [mnt / "tensors" / name for name in os.listdir(mnt / "tensors")]
        assert len(names) == 2 * count  # each has a twin with its bits
        pid, sizes = rig.daemon_of(mnt), []
        for turn in range(5):
            if turn % 3 == 0:
                for name in names:
                    os.stat(name)
            else:  # a listing with attributes is a lookup of each name
                subprocess.run(["ls", "-l", mnt / "tensors"], stdout=subprocess.DEVNULL, check=True)
            drop_names()
            sizes.append(resident_kib(pid, "VmRSS"))
        if rig.SLOW == 1:  # a sanitizer keeps what was freed
            assert max(sizes[2:]) - sizes[1] < 2048, sizes
        assert os.stat(names[-1]).st_size > 0


def test_10000_opens(mnt):
    """Handles cost memory, no descriptors: those are the source's files."""
    count = max(1000, int(10000 / rig.SLOW))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 200:
        pytest.skip("no %d descriptors here" % count)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
    pid, opened = rig.daemon_of(mnt), []
    names = [mnt / "model-q8_0.gguf", mnt / "config.json", *sorted((mnt / "tensors").iterdir())[:50]]
    first = {name: name.read_bytes()[:16] for name in names}
    before = len(os.listdir("/proc/%d/fd" % pid))
    try:
        for number in range(count):
            name = names[number % len(names)]
            opened.append(os.open(name, os.O_RDONLY))
            assert os.pread(opened[-1], 16, 0) == first[name]
        assert len(os.listdir("/proc/%d/fd" % pid)) <= before + 20
    finally:
        for handle in opened:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert names[0].read_bytes()[:4] == b"GGUF"


def test_listing_under_change(own, tmp_path):
    """While files come and go, whatever stays is in every listing, once."""
    source = own("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        constant = set(os.listdir(mnt)) | {"tensors", "config.json"}
        stop = threading.Event()

        def change():
            number = 0
            while not stop.is_set():
                number += 1
                (source / ("note%d.txt" % (number % 7))).write_text(str(number))
                (source / ("note%d.txt" % ((number + 3) % 7))).unlink(missing_ok=True)
                time.sleep(0.03)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            end, lists = time.monotonic() + 3, 0
            while time.monotonic() < end:
                names = os.listdir(mnt)
                assert len(names) == len(set(names)) and constant <= set(names)
                assert len(os.listdir(mnt / "tensors")) > 100
                lists += 1
        finally:
            stop.set()
            thread.join()
        assert lists > 10
        time.sleep(1.05)
        assert sorted(name for name in os.listdir(mnt) if name.startswith("note")) == sorted(
            path.name for path in source.glob("note*")
        )


def test_a_mount_inside_a_mount_and_a_bind(model, own, tmp_path):
    """Another mount's source is a mount; a folder of the source has a mount on it; a view is bound elsewhere."""
    wanted = rig.export(model("llama2-12-layers"), "model-q8_0.gguf")
    source = own("llama2-12-layers")
    (source / "inner").mkdir()
    with rig.mounted(source, tmp_path / "a") as a:
        with rig.mounted(model("llama2-12-layers"), source / "inner", log=tmp_path / "inner.log") as inner:
            assert (inner / "model-q8_0.gguf").read_bytes() == wanted
            assert (a / "model-q8_0.gguf").read_bytes() == wanted
            with rig.mounted(a, tmp_path / "b") as b:
                assert (b / "model-q8_0.gguf").read_bytes() == wanted
        bound, file = tmp_path / "bound", tmp_path / "file.gguf"
        bound.mkdir()
        file.touch()
        try:
            subprocess.run(["mount", "--bind", a / "tensors", bound], check=True)
            subprocess.run(["mount", "--bind", a / "model-q8_0.gguf", file], check=True)
            assert sorted(os.listdir(bound)) == sorted(os.listdir(a / "tensors"))
            assert file.read_bytes() == wanted
        finally:
            rig.detach(bound)
            rig.detach(file)


@pytest.mark.parametrize("allowed", [False, True])
def test_other_users(model, allowed):
    """Off by default: even who may read the source gets EACCES at the mountpoint."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        with rig.mounted(model("mixed-dtypes"), root / "mnt", *(["allow_other"] if allowed else [])) as mnt:
            who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", mnt / "config.json"]
            run = subprocess.run(who, capture_output=True)
            if allowed:
                assert run.stdout == (mnt / "config.json").read_bytes() and run.returncode == 0
            else:
                assert run.returncode == 1 and b"Permission denied" in run.stderr


STORM = r"""
import ctypes, mmap, os, random, sys, threading, zlib
root, seed = sys.argv[1], int(sys.argv[2])
names = ["model-q4_k_m.gguf", "model-f32.gguf", "model.safetensors", "model-q8_0.gguf"]
ways = [(mmap.MAP_SHARED, None), (mmap.MAP_PRIVATE, None), (mmap.MAP_SHARED | mmap.MAP_POPULATE, None),
        (mmap.MAP_SHARED, mmap.MADV_RANDOM), (mmap.MAP_PRIVATE, mmap.MADV_WILLNEED)]
out, wrong = [], []
def fault(number):
    chance = random.Random(seed * 100 + number)
    try:
        flags, advice = ways[number % len(ways)]
        name = chance.choice(names)
        with open(os.path.join(root, name), "rb") as file:
            with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as m:
                if advice is not None:
                    m.madvise(advice)
                for _ in range(12):
                    at = chance.randrange(len(m))
                    out.append((name, at, zlib.crc32(m[at:at + 3000])))
    except Exception as error:
        wrong.append(repr(error))
threads = [threading.Thread(target=fault, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
for line in out: print(*line)
if wrong: sys.exit("; ".join(wrong))
"""


def major_faults_of_own(pid, mnt):
    """Mappings of the mount in its own daemon: it must have none."""
    return [line for line in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines() if str(mnt) in line]


def test_a_storm_of_faults_on_fresh_mounts(model, tmp_path):
    """8 processes of 16 threads, every kind of mapping, each time on a mount that has nothing yet."""
    import zlib

    source = model("llama2-12-layers")
    views = ["model-q4_k_m.gguf", "model-f32.gguf", "model.safetensors", "model-q8_0.gguf"]
    wholes = {name: rig.export(source, name) for name in views}
    turns = int(os.environ.get("WEIGHTFS_TEST_STORMS") or max(4, int(20 / rig.SLOW)))
    for turn in range(turns):
        with rig.mounted(source, tmp_path / "mnt", "cache_size=16M", log=tmp_path / "log") as mnt:
            begin = time.monotonic()
            running = [
                subprocess.Popen(
                    [sys.executable, "-c", STORM, str(mnt), str(turn * 8 + number)],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for number in range(8)
            ]
            lines = 0
            for process in running:
                out, said = process.communicate(timeout=60 * rig.SLOW)
                assert process.returncode == 0, said
                for line in out.splitlines():
                    name, at, crc = line.split()
                    assert zlib.crc32(wholes[name][int(at) : int(at) + 3000]) == int(crc), line
                    lines += 1
            assert lines == 8 * 16 * 12
            assert time.monotonic() - begin < 20 * rig.SLOW
            assert not major_faults_of_own(rig.daemon_of(mnt), mnt)
    assert not faults.lines_of(tmp_path / "log", "error:")
