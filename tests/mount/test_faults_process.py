"""Readers and the daemon are stopped, killed and starved: who is blocked can be killed, the mount ends when told to."""

import errno
import json
import os
import signal
import subprocess
import time

import faults
import pytest
import rig
from test_generation import read

SHARD = "model-00003-of-00005.safetensors"
MERGED = "model.safetensors"


@pytest.mark.parametrize("script", ["PREAD", "FAULT", "DIRECT"])
def test_a_blocked_reader_can_be_killed(faulty, tmp_path, script):
    """Whichever way it reads, by any signal that ends it; what it asked for is dropped, and its memory given back."""
    with rig.mounted(faulty.folder, tmp_path / "mnt", "cache_size=8M") as mnt:
        whole = (mnt / MERGED).read_bytes()
        middle = faults.place(whole, (faulty.folder / SHARD).read_bytes())
        faults.drop_pages(mnt / MERGED)
        faulty.say("stall " + SHARD)
        running = [faults.reader(mnt / MERGED, middle - n * 65536, 4096, script) for n in range(8)]
        for process in running:
            faults.blocked(process)
        kills = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL] * 2
        begin = time.monotonic()
        for process, number in zip(running, kills):
            process.send_signal(number)
        for process, number in zip(running, kills):
            assert process.wait(5 * rig.SLOW) == -number
        assert time.monotonic() - begin < 1 * rig.SLOW
        faulty.calm()
        assert (mnt / MERGED).read_bytes() == whole
        rig.wait_for(lambda: rig.stats(mnt)["cache"]["bytes"] == 0, what="the end of the dropped reads")
        assert rig.stats(mnt)["errors"]["count"] == 0


def test_a_signal_that_is_handled_ends_no_fault_of_a_mapping(faulty, tmp_path):
    """It would be SIGBUS for who did nothing wrong: it waits on, has its bytes, and can be killed all the same."""
    with rig.mounted(faulty.folder, tmp_path / "mnt", "cache_size=8M") as mnt:
        whole = (mnt / MERGED).read_bytes()
        middle = faults.place(whole, (faulty.folder / SHARD).read_bytes())
        faults.drop_pages(mnt / MERGED)
        faulty.say("stall " + SHARD)
        patient, killed = (faults.reader(mnt / MERGED, middle - n * 65536, 4096, "FAULT") for n in range(2))
        for process in (patient, killed):
            faults.blocked(process)
            process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        assert patient.poll() is None and killed.poll() is None
        killed.kill()
        assert killed.wait(5 * rig.SLOW) == -signal.SIGKILL
        faulty.calm()
        out, _ = patient.communicate(timeout=10 * rig.SLOW)
        assert patient.returncode == 0 and out == whole[middle : middle + 4096]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_64_blocked_readers_stop_nobody_else_and_the_mount_ends(faulty, tmp_path, number):
    """One shard stalls: other views, names and status go on; then a signal ends the mount and every reader."""
    log = tmp_path / "log"
    with rig.mounted(faulty.folder, tmp_path / "mnt", log=log) as mnt:
        where = json.loads((faulty.folder / "model.safetensors.index.json").read_text())["weight_map"]
        npy = lambda shard: [mnt / "tensors" / (name + ".npy") for name in where if where[name] == shard]
        config, other = (faulty.folder / "config.json").read_bytes(), npy("model-00001-of-00005.safetensors")[:6]
        wanted = [rig.export(faulty.folder, path.relative_to(mnt)) for path in other]
        faulty.say("stall " + SHARD)
        stalled = [mnt / MERGED, mnt / "model-q4_k_m.gguf", mnt / "model-f32.gguf", *npy(SHARD)]
        readers = [
            subprocess.Popen(["cat", stalled[n % len(stalled)]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for n in range(64)
        ]
        for process in readers:
            faults.blocked(process)
        for path, data in zip([mnt / "config.json", *other], [config, *wanted]):
            run = subprocess.run(["cat", path], capture_output=True, timeout=5 * rig.SLOW)
            assert run.returncode == 0 and run.stdout == data, path
        run = subprocess.run(["ls", "-lR", mnt], capture_output=True, timeout=5 * rig.SLOW)
        assert run.returncode == 0 and b"model-q6_k.gguf" in run.stdout
        assert all(process.poll() is None for process in readers)
        pid, begin = rig.daemon_of(mnt), time.monotonic()
        os.kill(pid, number)
        for process in readers:
            _, said = process.communicate(timeout=10 * rig.SLOW)
            assert process.returncode == 1 and (b"onnection abort" in said or b"not connected" in said), said
        rig.wait_for(lambda: rig.process_ended(pid), 5, "the end of the daemon")
        assert time.monotonic() - begin < 2 * rig.SLOW
        assert not rig.is_mounted(mnt)
    assert len(faults.lines_of(log, "ending, told so by signal %d" % number)) == 1
    assert not faults.lines_of(log, "error:")


def test_killed_during_reads_and_mounted_again(model, tmp_path):
    """kill -9: readers get an error at once, whoever comes later ENOTCONN; a new mount over the dead one serves."""
    source, mnt = model("llama2-12-layers"), tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs("mount", "-o", "workers=1,cache_size=4M", source, mnt)
    try:
        pid = rig.daemon_of(mnt)
        held = os.open(mnt / "model-q4_k_m.gguf", os.O_RDONLY)
        loop = "while cat '%s/model-q4_k_m.gguf'; do :; done" % mnt
        readers = [
            subprocess.Popen(["sh", "-c", loop], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(8)
        ]
        time.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        for process in readers:
            assert b"cat: " in process.communicate(timeout=5 * rig.SLOW)[1]
        os.posix_fadvise(held, 0, 0, os.POSIX_FADV_DONTNEED)
        calls = (lambda: os.listdir(mnt), lambda: os.pread(held, 4096, 1 << 20), lambda: read(mnt / "tensors/x.npy"))
        for call in calls:
            with pytest.raises(OSError) as caught:
                call()
            assert caught.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
        os.close(held)
        rig.weightfs("mount", source, mnt)
        assert rig.file_hash(mnt / "model-q4_k_m.gguf") == rig.export_hash(source, "model-q4_k_m.gguf")
        rig.weightfs("umount", mnt)
    finally:
        while rig.is_mounted(mnt):
            rig.detach(mnt)


def test_a_stopped_daemon_goes_on(model, tmp_path):
    """SIGSTOP and, seconds later, SIGCONT: who read meanwhile waited, and has the right bytes."""
    source = model("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt", log=tmp_path / "log") as mnt:
        wanted = rig.export(source, "model-q8_0.gguf")
        pid = rig.daemon_of(mnt)
        os.kill(pid, signal.SIGSTOP)
        try:
            readers = [subprocess.Popen(["cat", mnt / "model-q8_0.gguf"], stdout=subprocess.PIPE) for _ in range(4)]
            time.sleep(float(os.environ.get("WEIGHTFS_TEST_STOP_S") or 2))
            assert all(process.poll() is None for process in readers)
        finally:
            os.kill(pid, signal.SIGCONT)
        for process in readers:
            assert process.communicate(timeout=10 * rig.SLOW)[0] == wanted
    assert not faults.lines_of(tmp_path / "log", "error:")
