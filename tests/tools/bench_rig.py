"""What the sections of tests/bench share: where things are, mounts, memory, reports."""

import os
import pathlib
import subprocess
import sys
import threading
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(
    os.environ.get("WEIGHTFS_TEST_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weightfs-tests"
)
PYTHON = CACHE / "venv" / "bin" / "python"
BUILD = REPO / "build"
BIN = BUILD / "mount" / "weightfs"


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as knob:
        knob.write("3")


def read_through(path, digest=None):
    """Seconds and bytes of reading a file from begin to end, 1 MiB at a time."""
    buffer = bytearray(1 << 20)
    size, begin = 0, time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            size += got
            if digest:
                digest.update(memoryview(buffer)[:got])
    return time.monotonic() - begin, size


def memory_of(pid, what):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(what + ":"))


class Mount:
    def __init__(self, source, *options):
        self.path = CACHE / "bench" / "mnt"
        self.path.mkdir(parents=True, exist_ok=True)
        self.options, self.source = options, source

    def __enter__(self):
        begin = time.monotonic()
        command = [BIN, "mount", *(["-o", ",".join(self.options)] if self.options else []), self.source, self.path]
        # A note about what is withheld is no news; why a mount fails is.
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        assert run.returncode == 0, run.stderr
        self.seconds = time.monotonic() - begin
        return self

    @property
    def pid(self):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            except OSError:
                continue
            if words[-1] == os.fsencode(self.path):
                return int(entry)
        raise AssertionError("no daemon of %s" % self.path)

    def __exit__(self, *_):
        subprocess.run([BIN, "umount", self.path], check=True)


class Watch:
    """The peak of the resident memory of a command and of the bytes in a folder while it runs."""

    def __init__(self, folder):
        self.folder, self.disk, self.memory, self.stop = folder, 0, 0, threading.Event()

    def run(self, command, **kwargs):
        process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs
        )
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            self.disk = max(self.disk, sum(file.stat().st_blocks * 512 for file in self.folder.iterdir()))
            if pid:
                break
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        self.memory = max(self.memory, usage.ru_maxrss * 1024)


class Report:
    def __init__(self, tsv):
        self.tsv, self.rows = tsv, {}

    def add(self, section, what, ours, theirs, unit, smaller_is_better=False):
        ratio = (theirs / ours if smaller_is_better else ours / theirs) if ours and theirs else None
        if self.tsv:
            print("\t".join([section, what, number(ours), number(theirs), unit, number(ratio)]), flush=True)
        self.rows.setdefault(section, []).append((what, ours, theirs, unit, ratio))

    def show(self):
        for section, rows in {} if self.tsv else self.rows.items():
            print("\n### %s\n" % section)
            print("| what | weightfs | beside it | unit | ratio |\n| --- | ---: | ---: | --- | ---: |")
            for what, ours, theirs, unit, ratio in rows:
                print(
                    "| %s | %s | %s | %s | %s |"
                    % (what, number(ours), number(theirs), unit, number(ratio) + " ×" if ratio else "")
                )


def number(value):
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return "%.*f" % (digits, value) if value >= 0.1 else "%.2g" % value
