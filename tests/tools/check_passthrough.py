#!/usr/bin/env python3
"""Kernel passthrough on real mounts. Needs nothing but Python's standard library, so that it also runs in a bare Debian 13.

Usage: check_passthrough.py FOLDER     works in FOLDER, which is made; WEIGHTFS_BIN names the program
       check_passthrough.py --bench FOLDER     one line more: reads of a file of 512 MiB beside the mount's of it

Exits with 77, with the reason, where the program or the kernel has no passthrough. That the kernel reads by itself is seen by
stopping the daemon (SIGSTOP): only reads that do not need it are answered.
"""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import rig

FILE = "model.safetensors"


def io_stats(mnt):
    return json.loads((mnt / ".weightfs/status.json").read_text())["io"]


@contextlib.contextmanager
def stopped(pid):
    """The daemon answers nothing; whatever waits for it is set free after 10 s, and the test fails."""
    freed = []
    timer = threading.Timer(10, lambda: (freed.append(1), os.kill(pid, signal.SIGCONT)))
    os.kill(pid, signal.SIGSTOP)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        os.kill(pid, signal.SIGCONT)
    assert not freed, "a read waited for the daemon"


def read_fd(fd, size=1 << 20):
    parts, at = [], 0
    while part := os.pread(fd, size, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def read_direct(fd, length):
    """By O_DIRECT, into aligned memory."""
    with mmap.mmap(-1, 1 << 20) as memory:
        parts = []
        while part := os.preadv(fd, [memory], sum(map(len, parts))):
            parts.append(memory[:part])
    data = b"".join(parts)
    assert len(data) == length
    return data


def other_bytes(data):
    head = 8 + int.from_bytes(data[:8], "little")
    return data[:head] + bytes(b ^ 1 for b in data[head:])


def check_bytes(source, mnt):
    """Every way to read gives the file's bytes, and none of them needs the daemon."""
    wanted, pid = (source / FILE).read_bytes(), rig.daemon_of(mnt)
    before = io_stats(mnt)
    fd, direct = os.open(mnt / FILE, os.O_RDONLY), os.open(mnt / FILE, os.O_RDONLY | os.O_DIRECT)
    with stopped(pid):
        assert read_fd(fd) == wanted
        assert read_fd(fd, 4097) == wanted
        assert os.pread(fd, 100, len(wanted) - 7) == wanted[-7:] and os.pread(fd, 100, len(wanted)) == b""
        assert os.fstat(fd).st_size == len(wanted)
        for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE, mmap.MAP_PRIVATE | mmap.MAP_POPULATE):
            with mmap.mmap(fd, len(wanted), flags, mmap.PROT_READ) as view:
                assert view[:] == wanted
                view.madvise(mmap.MADV_WILLNEED)
        with mmap.mmap(fd, len(wanted), mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC) as view:
            assert view[-5:] == wanted[-5:]
        assert read_direct(direct, len(wanted)) == wanted
        with open(mnt.parent / "copy", "w+b") as copy:
            while os.sendfile(copy.fileno(), fd, copy.tell(), 1 << 20):
                copy.seek(0, os.SEEK_END)
        assert (mnt.parent / "copy").read_bytes() == wanted
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)  # asks the mount's own file for its pages: answered, and of no use
    assert read_fd(fd) == wanted
    os.close(fd)
    os.close(direct)
    for name in os.listdir(source):
        assert (mnt / name).read_bytes() == (source / name).read_bytes(), name
    after = io_stats(mnt)
    assert after["passthrough_opens"] == before["passthrough_opens"] + 2 + len(os.listdir(source))


def check_many_opens(source, mnt):
    """Opens and closes of one file by many at once: an inode has one way of being read, whoever comes and goes."""
    wanted, failures = (source / "config.json").read_bytes(), []
    end = time.monotonic() + 2

    def work(flags):
        while time.monotonic() < end and not failures:
            try:
                fd = os.open(mnt / "config.json", flags)
                if flags == os.O_RDONLY and os.pread(fd, 1 << 20, 0) != wanted:
                    failures.append("other bytes")
                os.close(fd)
            except OSError as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(flag,)) for flag in [os.O_RDONLY] * 6 + [os.O_RDONLY | os.O_DIRECT] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def check_replaced(source, mnt):
    """By rename: who has it open keeps the old file, new opens see the new one within a second."""
    old = (source / FILE).read_bytes()
    new, fd = other_bytes(old), os.open(mnt / FILE, os.O_RDONLY)
    view = mmap.mmap(fd, len(old), mmap.MAP_SHARED, mmap.PROT_READ)
    (source / "part").write_bytes(new)
    os.rename(source / "part", source / FILE)
    time.sleep(1.05)
    again = os.open(mnt / FILE, os.O_RDONLY)
    with mmap.mmap(again, len(new), mmap.MAP_SHARED, mmap.PROT_READ) as new_view:
        with stopped(rig.daemon_of(mnt)):
            assert read_fd(fd) == old and view[:] == old
            assert read_fd(again) == new and new_view[:] == new
    view.close()
    os.close(fd)
    assert read_fd(again) == new
    os.close(again)


def check_written_in_place(source, mnt):
    """Seen at once by who has it open, as docs/operations.md says; a new open sees a new generation."""
    old, fd = (source / FILE).read_bytes(), os.open(mnt / FILE, os.O_RDONLY)
    assert read_fd(fd) == old
    generation = json.loads((mnt / ".weightfs/status.json").read_text())["generation"]
    new = other_bytes(old)
    with open(source / FILE, "r+b") as file:
        file.write(new)
    assert read_fd(fd) == new
    time.sleep(1.05)
    assert (mnt / FILE).read_bytes() == new
    assert json.loads((mnt / ".weightfs/status.json").read_text())["generation"] == generation + 1
    os.close(fd)


def check_daemon_killed(source, mnt):
    wanted, fd = (source / FILE).read_bytes(), os.open(mnt / FILE, os.O_RDONLY)
    pid = rig.daemon_of(mnt)
    os.kill(pid, signal.SIGKILL)

    def is_dead():
        try:
            os.open(mnt / FILE, os.O_RDONLY)
            raise AssertionError("a dead mount has opened a file")
        except OSError as error:
            return error.errno == errno.ENOTCONN  # while its last threads end: ECONNABORTED

    rig.wait_for(lambda: rig.process_ended(pid) and is_dead(), 5, "the end of the daemon")
    assert read_fd(fd) == wanted
    os.close(fd)


def check_without(source, mnt):
    with rig.mounted(source, mnt, "passthrough=no"):
        assert not io_stats(mnt)["passthrough"] and io_stats(mnt)["passthrough_reason"] == "passthrough=no"
        assert (mnt / FILE).read_bytes() == (source / FILE).read_bytes()
        assert io_stats(mnt)["passthrough_opens"] == 0
    with rig.mounted(source, mnt, "passthrough=no"), rig.mounted(mnt, mnt.parent / "upper"):
        assert (mnt.parent / "upper" / FILE).read_bytes() == (source / FILE).read_bytes()


def check_space_comes_back(source, mnt):
    """A file that was replaced takes up space as long as it is open, and no longer: the kernel lets go of it, too."""
    free = lambda: os.statvfs(source).f_bfree * os.statvfs(source).f_bsize
    size = (source / FILE).stat().st_size
    with rig.mounted(source, mnt):
        fds = [os.open(mnt / FILE, os.O_RDONLY) for _ in range(100)]
        before = free()
        shutil.copyfile(source / FILE, source / "part")
        os.rename(source / "part", source / FILE)
        time.sleep(0.5)
        assert read_fd(fds[0]) == (mnt / FILE).read_bytes()  # the second opens the new one
        assert before - free() >= size
        for fd in fds:
            os.close(fd)
        rig.wait_for(lambda: before - free() < size // 2, 5, "the space of the file that was replaced")


def check_filesystems(source, folder, mnt):
    """A source on tmpfs, one on overlayfs, and an overlay with the mount as its lower layer."""
    place = folder / "place"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        for name in ("upper", "work", "merged"):
            (place / name).mkdir()
        shutil.copytree(source, place / "lower")
        subprocess.run(
            ["mount", "-t", "overlay", "none", "-o", "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work" % ((place,) * 3),
             place / "merged"], check=True)  # fmt: skip
        for model in (place / "lower", place / "merged"):
            with rig.mounted(model, mnt):
                fd = os.open(mnt / FILE, os.O_RDONLY)
                with stopped(rig.daemon_of(mnt)):
                    assert read_fd(fd) == (source / FILE).read_bytes(), model
                os.close(fd)
        subprocess.run(["umount", place / "merged"], check=True)
        check_space_comes_back(place / "lower", mnt)
        with rig.mounted(place / "lower", mnt):
            subprocess.run(["mount", "-t", "overlay", "none", "-o", "lowerdir=%s:%s/work" % (mnt, place), place / "merged"], check=True)
            assert (place / "merged" / FILE).read_bytes() == (source / FILE).read_bytes()
            subprocess.run(["umount", place / "merged"], check=True)
    finally:
        subprocess.run(["umount", "-l", place / "merged"], stderr=subprocess.DEVNULL)
        subprocess.run(["umount", "-l", place], check=True)


def check_disk_cache(source, folder, mnt):
    """A view that the disk cache has complete is a file on disk, too."""
    view = "model-q8_0.gguf"
    wanted = rig.export(source, view)
    options = ["disk_cache=%s" % (folder / "cache")]
    with rig.mounted(source, mnt, *options):
        assert (mnt / view).read_bytes() == wanted
        assert io_stats(mnt)["passthrough_opens"] == 0
        whole = lambda: list((folder / "cache").glob("**/*.whole"))
        rig.wait_for(whole, 20, "the complete view in the disk cache")
    with rig.mounted(source, mnt, *options):

        def is_read_by_the_kernel():
            fd = os.open(mnt / view, os.O_RDONLY)
            if io_stats(mnt)["passthrough_opens"] == 0:
                os.close(fd)
                time.sleep(0.1)
                return False
            with stopped(rig.daemon_of(mnt)):
                assert read_fd(fd) == wanted
            os.close(fd)
            return True

        rig.wait_for(is_read_by_the_kernel, 20, "passthrough of the complete view")


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def speed(path):
    buffer = ctypes.create_string_buffer(1 << 20)
    ctypes.memset(buffer, 1, 1 << 20)
    fd, done, begin = os.open(path, os.O_RDONLY), 0, time.monotonic()
    while n := os.readv(fd, [buffer]):
        done += n
    os.close(fd)
    return done / (time.monotonic() - begin) / 1e9


def bench(folder, mnt):
    source = folder / "big"
    source.mkdir()
    with open(source / "data.bin", "wb") as file:
        for _ in range(512):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    with rig.mounted(source, mnt):
        speed(source / "data.bin"), speed(mnt / "data.bin")
        pairs = [(speed(source / "data.bin"), speed(mnt / "data.bin")) for _ in range(9)]
    plain, ours = (sorted(column)[4] for column in zip(*pairs))
    print("passthrough, warm: %.2f GB/s beside %.2f GB/s of the file itself: ratio %.2f (0.95 wanted)" % (ours, plain, ours / plain))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--bench"]
    folder = pathlib.Path(arguments[0])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source, mnt = folder / "source", folder / "mnt"
    subprocess.run([rig.REPO / "mount/make_sample", source], check=True, stdout=subprocess.DEVNULL)
    with rig.mounted(source, mnt):
        stats = io_stats(mnt)
        if not stats["passthrough"]:
            print("skipped: no passthrough here: " + stats["passthrough_reason"])
            return 77
        assert stats["passthrough_reason"] == ""
        assert "passthrough" in rig.weightfs("stats", mnt).out
        check_bytes(source, mnt)
        check_many_opens(source, mnt)
        check_replaced(source, mnt)
        check_written_in_place(source, mnt)
    with rig.mounted(source, mnt):
        check_daemon_killed(source, mnt)
    check_without(source, mnt)
    check_filesystems(source, folder, mnt)
    check_disk_cache(source, folder, mnt)
    if "--bench" in sys.argv:
        bench(folder, mnt)
    shutil.rmtree(folder)
    print("passthrough: bytes, mmap, O_DIRECT, generations, the daemon's death, other filesystems, the disk cache")
    return 0


if __name__ == "__main__":
    sys.exit(main())
