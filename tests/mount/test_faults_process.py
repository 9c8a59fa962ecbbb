"""Readers and the daemon are stopped, killed and starved: who is blocked can be killed, the mount ends when told to."""

import os
import signal
import time

import faults
import pytest
import rig

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
        rig.wait_for(lambda: faults.stats(mnt)["cache"]["bytes"] == 0, what="the end of the dropped reads")
        assert faults.stats(mnt)["errors"]["count"] == 0


def test_a_signal_that_is_handled_ends_no_fault_of_a_mapping(faulty, tmp_path):
    """It would be SIGBUS for a process that did nothing wrong: it waits on, has its bytes, and can be killed all the same."""
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
