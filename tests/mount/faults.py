"""A source that stalls, fails and changes on demand, and readers to be blocked by it."""

import contextlib
import os
import pathlib
import subprocess
import sys

import rig

FAULTFS = rig.BIN.parents[1] / "tests" / "faultfs"


class Source:
    """A folder behind tests/tools/faultfs.c: say() gives it its rules, calm() none."""

    def __init__(self, folder, control):
        self.folder, self.control = folder, control

    def say(self, *rules):
        part = self.control.with_suffix(".part")
        part.write_text("".join(rule + "\n" for rule in rules))
        os.rename(part, self.control)

    def calm(self):
        self.say()


@contextlib.contextmanager
def faulty(folder, scratch):
    below, control = pathlib.Path(scratch) / "below", pathlib.Path(scratch) / "control"
    below.mkdir()
    source = Source(below, control)
    source.calm()
    process = subprocess.Popen([str(part) for part in (FAULTFS, folder, below, control)], stderr=subprocess.DEVNULL)
    try:
        rig.wait_for(lambda: rig.is_mounted(below), 10, "faultfs")
        yield source
    finally:
        source.calm()
        rig.detach(below)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        process.kill()
        process.wait()


READERS = {
    "PREAD": "sys.stdout.buffer.write(os.pread(f, n, at))",
    # One page of a mapping without read-ahead: a request that the kernel waits for by itself.
    "FAULT": """
m = mmap.mmap(f, 0, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
sys.stdout.buffer.write(m[at:at + n])""",
    "DIRECT": """
b = mmap.mmap(-1, n)
os.preadv(os.open(sys.argv[1], os.O_DIRECT), [b], at)
sys.stdout.buffer.write(b)""",
}
READER = """
import mmap, os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None) # before anything that may wait
signal.signal(signal.SIGINT, signal.SIG_DFL) # Python would handle it; and a shell starts what runs behind it without
f, at, n = os.open(sys.argv[1], 0), int(sys.argv[2]), int(sys.argv[3])
"""


def reader(path, offset, length, script="PREAD", **kwargs):
    """A process that writes these bytes of the file to its standard output."""
    return subprocess.Popen(
        [sys.executable, "-c", READER + READERS[script], str(path), str(offset), str(length)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **kwargs,
    )


def blocked(process):
    """Waits until the process waits in the kernel for a page or for the answer to a request of FUSE."""

    def waits():
        assert process.poll() is None, "it should hang: %r" % process.communicate()[1]
        try:
            where = pathlib.Path("/proc/%d/wchan" % process.pid).read_text()
        except OSError:
            return False
        return where.startswith(("request_wait_answer", "folio_wait", "fuse_direct", "__wait_on_page", "wait_on_page"))

    rig.wait_for(waits, 10, "the reader's wait")


def drop_pages(path):
    """The kernel forgets what it has of the file."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def place(whole, part):
    """Where the end of a shard lies in the merged file: the first byte of a page, more of the shard before it."""
    return whole.index(part[-8192:]) // 4096 * 4096


def lines_of(log, *parts):
    """The lines of a log that have all these parts."""
    return [line for line in pathlib.Path(log).read_text().splitlines() if all(part in line for part in parts)]
