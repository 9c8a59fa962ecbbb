"""The daemon's memory is bounded by cache_size, whoever reads what; and mappings share their pages."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import rig

import families

MIB = 1 << 20
FIXED = 32 * MIB
READERS = 64
SECONDS = 4
VIEWS = [
    "model.safetensors",
    "model-f32.gguf",
    "model-f16.gguf",
    "model-q8_0.gguf",
    "model-q4_k_m.gguf",
    "model-iq4_xs.gguf",
    "model-q3_k_m.gguf",
    "model-q2_k.gguf",
    "tensors/model.embed_tokens.weight.npy",
    "tensors/lm_head.weight.npy",
]

plain_build = pytest.mark.skipif(rig.SLOW != 1, reason="sanitizers take memory of their own")


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A Llama of 300 MB in two shards, of Gaussian weights that repeat."""
    folder = tmp_path_factory.mktemp("big") / "Llama-0.15B"
    config, tensors = families.llama(
        hidden=1024, inner=2816, layers=8, heads=16, kv=4, vocab=families.SPM_SIZE, rows=32000
    )
    families.begin_model(folder, config, "spm")
    chance = np.random.default_rng(1)
    pool = families.encode(chance.normal(0, 0.02, 3 << 20).astype(np.float32), "BF16")
    names, weight_map = list(tensors), {}
    for number, group in enumerate((names[: len(names) // 2], names[len(names) // 2 :])):
        shard = "model-0000%d-of-00002.safetensors" % (number + 1)
        header, order = families.sample.safetensors_header({name: ("BF16", tensors[name]) for name in group})
        with open(folder / shard, "wb") as out:
            out.write(header)
            for name in order:
                left = 2 * int(np.prod(tensors[name]))
                while left:
                    left -= out.write(pool[:left])
        weight_map.update(dict.fromkeys(group, shard))
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_bytes(families.sample.dumps(index))
    yield folder
    shutil.rmtree(folder)


@contextlib.contextmanager
def memory_group(limit):
    """
    A cgroup whose processes may have so much memory: (what a process runs to enter it, how often it killed one). The
    first is None where this machine has no memory cgroup that we may use.
    """
    for root, knob, events in (
        ("/sys/fs/cgroup", "memory.max", "memory.events"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
    ):
        group = pathlib.Path(root, "weightfs-test-%d" % os.getpid())
        try:
            group.mkdir()
            with open(group / knob, "r+") as file:  # "r+": where no cgroup is mounted, there is just a folder
                file.write(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue

        def killed():
            counts = dict(line.split() for line in (group / events).read_text().splitlines())
            return int(counts["oom_kill"])

        try:
            yield lambda: (group / "cgroup.procs").write_text(str(os.getpid())), killed
        finally:
            rig.wait_for(lambda: not (group / "cgroup.procs").read_text(), 10, "the end of the group's processes")
            group.rmdir()
        return
    yield None, lambda: 0


def header_bytes(path):
    """The length of a GGUF file before its data: what is in the file and not in its tensors."""
    import gguf

    reader = gguf.GGUFReader(path)
    return min(int(tensor.data_offset) for tensor in reader.tensors), len(reader.tensors)


def read_on(path, sequentially, seed, until, failures):
    chance = random.Random(seed)
    try:
        fd = os.open(path, os.O_RDONLY)
        size, place = os.fstat(fd).st_size, chance.randrange(os.fstat(fd).st_size)
        while time.monotonic() < until:
            length = chance.choice((4096, 70_001, 1 << 20))
            if not sequentially or place >= size:
                place = chance.randrange(size)
            got = os.pread(fd, length, place)
            assert len(got) == min(length, size - place)
            place += length
            if chance.random() < 0.01:  # or the page cache would answer everything, sooner or later
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    except BaseException as error:
        failures.append(error)


@plain_build
@pytest.mark.parametrize("cache_mib, workers", [(64, 2), (64, 128), (200, 4)])
def test_memory_is_bounded_whoever_reads_what(big, tmp_path, cache_mib, workers):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    with rig.mounted(big, mnt):
        headers = [header_bytes(mnt / view) for view in VIEWS if view.endswith(".gguf")]
    bound = cache_mib * MIB + FIXED + 2048 * headers[0][1] + 3 * max(size for size, _ in headers)
    # What the kernel keeps for the daemon's sake is charged to the group, too: tasks, rings, pages of the source.
    with memory_group(bound + 32 * MIB) as (enter, killed):
        options = "cache_size=%dM,workers=%d,log=%s" % (cache_mib, workers, tmp_path / "log")
        rig.weightfs("mount", "-o", options, big, mnt, preexec_fn=enter)
        try:
            pid = rig.daemon_of(mnt)
            failures = []
            until = time.monotonic() + SECONDS
            threads = [
                threading.Thread(
                    target=read_on, args=(mnt / VIEWS[i % len(VIEWS)], i // len(VIEWS) % 2 == 0, i, until, failures)
                )
                for i in range(READERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failures, failures[0]
            with open("/proc/%d/status" % pid) as status:
                peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
            assert killed() == 0
            assert peak <= bound, "%.1f MiB, and %.1f are allowed" % (peak / MIB, bound / MIB)
            cache = json.loads((mnt / ".weightfs/status.json").read_text())["cache"]
            assert cache["limit"] * 0.6 < cache["peak_bytes"] <= cache["limit"]  # or nothing has been shown
        finally:
            rig.weightfs("umount", mnt, check=False)
            rig.detach(mnt)


TOUCH = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
total = sum(mapped[i] for i in range(0, len(mapped), 4096))
print("touched", flush=True)
sys.stdin.read()
"""


def proportional_set(pid, path):
    """PSS in bytes of a process's mappings of a file."""
    found, total = False, 0
    with open("/proc/%d/smaps" % pid) as maps:
        for line in maps:
            words = line.split()
            if "-" in words[0] and len(words) > 1 and len(words[1]) == 4:
                found = line.rstrip("\n").endswith(" %s" % path)
            elif found and words[0] == "Pss:":
                total += int(words[1]) * 1024
    return total


@pytest.mark.parametrize("view", ["model.safetensors", "model-q8_0.gguf"])
def test_processes_that_map_one_view_share_its_pages(big, tmp_path, view):
    with rig.mounted(big, tmp_path / "mnt") as mnt:
        path = mnt / view
        readers = [
            subprocess.Popen([sys.executable, "-c", TOUCH, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(4)
        ]
        try:
            for reader in readers:
                assert reader.stdout.readline() == b"touched\n"
            size, sums = path.stat().st_size, [proportional_set(reader.pid, path) for reader in readers]
            assert min(sums) > 0
            assert 0.98 * size <= sum(sums) <= 1.02 * size + 4 * 4096, (sums, size)
        finally:
            for reader in readers:
                reader.kill()
                reader.communicate()


def test_a_read_larger_than_what_the_disk_cache_leaves_is_let_in(big, tmp_path):
    """The queue to the disk cache is part of cache_size, and yet never what a read waits for."""
    options = ("cache_size=1M", "disk_cache=%s" % (tmp_path / "disk"))
    with rig.mounted(big, tmp_path / "mnt", *options) as mnt, open(mnt / "model-f32.gguf", "rb", buffering=0) as file:
        run = subprocess.run(["head", "-c", str(8 * MIB)], stdin=file, capture_output=True, timeout=30 * rig.SLOW)
        assert len(run.stdout) == 8 * MIB


def cached_part(path):
    """Which part of a file's pages is in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    size = os.stat(path).st_size
    pages = (ctypes.c_ubyte * ((size + 4095) // 4096))()
    with open(path, "rb") as file:
        where = libc.mmap(None, size, 1, 1, file.fileno(), 0)  # PROT_READ, MAP_SHARED
    assert libc.mincore(ctypes.c_void_p(where), ctypes.c_size_t(size), pages) == 0, os.strerror(ctypes.get_errno())
    libc.munmap(ctypes.c_void_p(where), ctypes.c_size_t(size))
    return sum(page & 1 for page in pages) / len(pages)


@pytest.mark.parametrize("more", [(), ("io_uring=no",)])
def test_source_pages_drop_leaves_no_pages_and_takes_none(big, tmp_path, more):
    shards = sorted(big.glob("*.safetensors"))
    with rig.mounted(big, tmp_path / "keep", *more) as mnt:
        wanted = rig.file_hash(mnt / "model-q8_0.gguf")
        assert max(map(cached_part, shards)) > 0.9
    with rig.mounted(big, tmp_path / "drop", "source_pages=drop", *more) as mnt:
        with open(shards[1], "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if cached_part(shards[1]) > 0.1:
            pytest.skip("this file system does not let go of pages when asked")
        assert rig.file_hash(mnt / "model-q8_0.gguf") == wanted
        said = json.loads((mnt / ".weightfs/status.json").read_text())["io"]["source_pages"]
        if said != "drop":
            assert said == "keep: the kernel cannot drop them"
            pytest.skip(said)
        assert cached_part(shards[1]) < 0.3  # some may be under another read just then
        assert cached_part(shards[0]) > 0.9  # those of whoever read them before stay
