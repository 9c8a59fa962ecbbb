"""What the pytest suites share: running weightfs, mounting it and getting rid of mounts again.

WEIGHTFS_BIN names the program (default build/mount/weightfs), so that the same tests run against sanitizer builds.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("WEIGHTFS_BIN") or REPO / "build" / "mount" / "weightfs").absolute()
# Sanitizers cost time; bounds on time are stretched, never dropped.
SLOW = float(os.environ.get("WEIGHTFS_TEST_SLOW") or 1)

sys.path.insert(0, str(REPO / "tests" / "interop"))


class Result:
    def __init__(self, run):
        self.code = run.returncode
        self.out, self.err = (data.decode(errors="replace") for data in (run.stdout, run.stderr))
        self.raw = run.stdout

    def __repr__(self):
        return "exit %d\n--- stdout\n%s\n--- stderr\n%s" % (self.code, self.out[-4000:], self.err[-4000:])


def weightfs(*args, timeout=120, check=True, code=None, program=None, **kwargs):
    """Runs a command to its end. check: it must exit 0; code: it must exit with this code."""
    command = [str(program or BIN)] + [str(arg) for arg in args]
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    run = Result(
        subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout * SLOW, **kwargs)
    )
    if code is None and check:
        code = 0
    assert code is None or run.code == code, "%s: wanted exit %s, got %r" % (" ".join(command), code, run)
    sanitizer_clean(run.err)
    return run


def sanitizer_clean(text):
    for mark in ("AddressSanitizer", "ThreadSanitizer", "runtime error:", "LeakSanitizer"):
        assert mark not in text, text[-8000:]


def export(source, view, *options, **kwargs):
    """The bytes of one view without FUSE."""
    return weightfs("export", *options, source, view, "-o", "-", **kwargs).raw


def export_hash(source, view, *options, timeout=120):
    """sha256 and size of a view, or (None, what the command said) when it fails."""
    command = [str(BIN), "export", *options, str(source), view, "-o", "-"]
    with tempfile.TemporaryFile() as err:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, stdin=subprocess.DEVNULL) as process:
            digest, size = hashlib.sha256(), 0
            while chunk := process.stdout.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
            code = process.wait(timeout * SLOW)
        err.seek(0)
        said = err.read().decode(errors="replace")
    sanitizer_clean(said)
    return (digest.hexdigest(), size) if code == 0 else (None, said)


def file_hash(path):
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def is_mounted(path):
    with open("/proc/self/mountinfo") as table:
        wanted = str(path).replace(" ", "\\040")
        return any(line.split()[4] == wanted for line in table)


def daemon_of(path):
    """The process that serves the mount at path: the one weightfs whose command line has it as its last word."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                command = pathlib.Path("/proc", entry, "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            except OSError:
                continue
            if command[-1] == os.fsencode(str(path)) and b"weightfs" in command[0]:
                found.append(int(entry))
    assert len(found) == 1, found
    return found[0]


def stats(path):
    """What the mount at path has done so far."""
    return json.loads(weightfs("stats", "--json", path).out)


def mount_seconds(source, path, turns, *options):
    """How long each of some mounts took; the last one stays."""
    seconds = []
    for turn in range(turns):
        if turn:
            weightfs("umount", path)
        begin = time.monotonic()
        weightfs("mount", *options, source, path)
        seconds.append(time.monotonic() - begin)
    return seconds


def wait_for(condition, seconds=5, what="the condition"):
    end = time.monotonic() + seconds * SLOW
    while not (value := condition()):
        assert time.monotonic() < end, "%s did not come true in %s s" % (what() if callable(what) else what, seconds * SLOW)
        time.sleep(0.01)
    return value


def process_ended(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def detach(path):
    """MNT_DETACH: whatever happened, the test's mount is gone afterwards."""
    ctypes.CDLL(None).umount2(os.fsencode(str(path)), 2)


@contextlib.contextmanager
def mounted(source, mountpoint, *options, log=None, timeout=30):
    """weightfs mount … as a daemon; unmounted at the end, when the daemon must end and its log be clean."""
    mountpoint = pathlib.Path(mountpoint)
    mountpoint.mkdir(exist_ok=True)
    log = pathlib.Path(log or str(mountpoint) + ".log")
    weightfs("mount", "-o", ",".join([*options, "log=%s" % log]), source, mountpoint, timeout=timeout)
    pid = None
    try:
        assert is_mounted(mountpoint)
        pid = daemon_of(mountpoint)
        yield mountpoint
        if is_mounted(mountpoint):
            weightfs("umount", mountpoint)
            assert not is_mounted(mountpoint)
            wait_for(lambda: process_ended(pid), 10, "the end of the daemon after umount")
    finally:
        if is_mounted(mountpoint):
            detach(mountpoint)
        if pid and not process_ended(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
    if log.exists():
        sanitizer_clean(log.read_text(errors="replace"))
