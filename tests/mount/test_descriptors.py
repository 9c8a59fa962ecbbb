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

    # The daemon reads all of it, whatever the kernel could read by itself.
    rig.weightfs("mount", "-o", "passthrough=no,log=%s" % (tmp_path / "log"), source, mnt, preexec_fn=limited)
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


def test_deleted_shards_are_closed(own, tmp_path):
    """Replaced by rename while the old file is open through the mount: its disk space is back soon after the close."""
    source = own("llama2-12-layers")
    shard = sorted(source.glob("model-*.safetensors"))[0]
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        files = [open(mnt / name, "rb") for name in ("model.safetensors", "config.json", "model-q8_0.gguf")]
        for file in files:
            file.read()
        (source / "part").write_bytes(shard.read_bytes())
        os.rename(source / "part", shard)
        time.sleep(1.1)
        with open(mnt / "model.safetensors", "rb") as file:
            file.read()
        for file in files:
            file.close()
        rig.wait_for(lambda: not [to for to in descriptors(mnt) if to.endswith(" (deleted)")], 5, "closed descriptors")
