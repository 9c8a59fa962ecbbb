"""Many readers at once, on a fresh mount, bounded in time."""

import mmap
import os
import subprocess
import sys
import time

import rig

FAULT = """
import mmap, os, random, sys, threading, zlib
root, seed = sys.argv[1], int(sys.argv[2])
names = ["model-q4_k_m.gguf", "model-f32.gguf", "model.safetensors", "model-q8_0.gguf", "model-bf16.gguf"]
wrong = []
def fault(number):
    chance = random.Random(seed * 100 + number)
    try:
        for _ in range(6):
            name = chance.choice(names)
            with open(os.path.join(root, name), "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                for _ in range(20):
                    offset = chance.randrange(len(mapped))
                    sums.append((name, offset, zlib.crc32(mapped[offset:offset + 3000])))
    except Exception as error:
        wrong.append(repr(error))
sums = []
threads = [threading.Thread(target=fault, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
for line in sums: print(*line)
if wrong: sys.exit("; ".join(wrong))
"""


def test_8_processes_of_16_threads_fault_a_fresh_mount(model, tmp_path):
    import zlib

    source = model("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt", "cache_size=16M") as mnt:
        begin = time.monotonic()
        running = [
            subprocess.Popen(
                [sys.executable, "-c", FAULT, str(mnt), str(seed)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for seed in range(8)
        ]
        outputs = [process.communicate(timeout=120 * rig.SLOW) for process in running]
        seconds = time.monotonic() - begin
        assert [process.returncode for process in running] == [0] * 8, outputs
        assert seconds < 60 * rig.SLOW
        wholes, lines = {}, 0
        for out, _ in outputs:
            for line in out.splitlines():
                name, offset, crc = line.split()
                if name not in wholes:
                    wholes[name] = (mnt / name).read_bytes()
                assert zlib.crc32(wholes[name][int(offset) : int(offset) + 3000]) == int(crc), line
                lines += 1
        assert lines == 8 * 16 * 6 * 20


def test_readers_that_go_away_leave_nothing_behind(model, tmp_path):
    """Processes killed in the middle of their first read; then everything is still readable and unmounts at once."""
    source = model("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt", "workers=1") as mnt:
        for _ in range(5):
            running = [
                subprocess.Popen(["cat", mnt / "model-q4_k_m.gguf"], stdout=subprocess.DEVNULL) for _ in range(4)
            ]
            time.sleep(0.02)
            for process in running:
                process.kill()
            for process in running:
                process.wait(10)
        assert rig.file_hash(mnt / "model-q4_k_m.gguf") == rig.export_hash(source, "model-q4_k_m.gguf")


def test_descriptors_do_not_leak(model, tmp_path):
    with rig.mounted(model("llama2-12-layers"), tmp_path / "mnt") as mnt:
        pid = rig.daemon_of(mnt)
        counts = []
        for _ in range(3):
            for name in os.listdir(mnt / "tensors"):
                with open(mnt / "tensors" / name, "rb") as file, mmap.mmap(
                    file.fileno(), 0, prot=mmap.PROT_READ
                ) as mapped:
                    assert mapped[:6] == b"\x93NUMPY"
            counts.append(len(os.listdir("/proc/%d/fd" % pid)))
        assert counts[2] <= counts[1] + 1, counts
