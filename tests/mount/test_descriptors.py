"""Open files of the daemon: fewer than the source has, and none of what is deleted and read by nobody."""

import os
import pathlib
import resource
import time

import rig


def descriptors(mountpoint):
    """What the daemon's descriptors lead to."""
    found = []
    folder = pathlib.Path("/proc/%d/fd" % rig.daemon_of(mountpoint))
    for entry in os.listdir(folder):
        try:
            found.append(os.readlink(folder / entry))
        except OSError:
            pass
    return found


def test_more_files_than_descriptors(tmp_path):
    """All of them are read twice, some through handles that stay open, with a limit far below their number."""
    source, mnt = tmp_path / "source", tmp_path / "mnt"
    source.mkdir()
    mnt.mkdir()
    names = ["file%03d.txt" % i for i in range(400)]
    for name in names:
        (source / name).write_text(name)

    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    rig.weightfs("mount", "-o", "log=%s" % (tmp_path / "log"), source, mnt, preexec_fn=limited)
    try:
        files = [open(mnt / name, "rb") for name in names]
        for name, file in zip(names, files):
            assert file.read() == name.encode()
        for name in reversed(names):
            fd = os.open(mnt / name, os.O_RDONLY | os.O_DIRECT)
            assert os.pread(fd, 100, 0) == name.encode()
            os.close(fd)
        for file in files:
            file.close()
        assert len(descriptors(mnt)) < 256
        rig.weightfs("umount", mnt)
    finally:
        if rig.is_mounted(mnt):
            rig.detach(mnt)
