"""The source fails, is cut, replaced, deleted, shut: the right bytes or an error, one line in the log; on it goes."""

import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import faults
import pytest
import rig
from test_generation import other_weights, read

SHARD = "model-00003-of-00005.safetensors"
MERGED = "model.safetensors"
# Touches every page of the file that is its argument, or its standard input.
BUS = """
import mmap, os, sys
m = mmap.mmap(os.open(sys.argv[1], 0) if sys.argv[1:] else 0, 0, prot=mmap.PROT_READ)
sum(m[::4096])
"""


def pieces(handle, whole, step=65536):
    """What a handle answers, piece by piece: old bytes, or EIO, nothing else. The set of answers."""
    seen, at = set(), 0
    while at < len(whole):
        try:
            got = os.pread(handle, step, at)  # cut short in front of an error
            assert got and got == whole[at : at + len(got)], "other bytes at %d" % at
            seen.add("bytes")
            at += len(got)
        except OSError as error:
            assert error.errno == errno.EIO
            seen.add("EIO")
            at = at // 4096 * 4096 + 4096
    return seen


@pytest.mark.parametrize("view", [MERGED, "model-q8_0.gguf"])
def test_an_error_in_the_middle_of_a_shard(faulty, tmp_path, view):
    """EIO for what touches it, SIGBUS in a mapping, all else is there; one line; a disk that recovers is read again."""
    log = tmp_path / "log"
    whole = rig.export(faulty.folder, view)
    with rig.mounted(faulty.folder, tmp_path / "mnt", "cache_size=4M", log=log) as mnt:
        size = (faulty.folder / SHARD).stat().st_size
        faulty.say("eio %s %d %d" % (SHARD, size // 2, size // 2 + 4096))
        for _ in range(2):
            with open(mnt / view, "rb") as file:
                assert pieces(file.fileno(), whole) == {"bytes", "EIO"}
        run = subprocess.run([sys.executable, "-c", BUS, mnt / view])
        assert run.returncode == -signal.SIGBUS
        assert (mnt / "config.json").read_bytes() == (faulty.folder / "config.json").read_bytes()
        lines = faults.lines_of(log, "error:")
        assert len({line.split("at ")[0].split("error:")[1] for line in lines}) == len(lines) >= 1
        assert all(view in line and SHARD in line and "Input/output error" in line for line in lines), lines
        if view == MERGED:
            assert len(lines) == 1
        faulty.calm()
        assert read(mnt / view) == whole


def change(source, how):
    shard = source / SHARD
    if how == "truncated":
        os.truncate(shard, shard.stat().st_size // 2)
    elif how == "replaced in place":
        data = other_weights(shard)
        with open(shard, "r+b") as file:
            file.write(data)
    elif how == "replaced by rename":
        (source / "part").write_bytes(other_weights(shard))
        os.rename(source / "part", shard)
    else:
        shard.unlink()


@pytest.mark.parametrize("how", ["truncated", "replaced in place", "replaced by rename", "deleted"])
def test_a_shard_changes_under_a_warm_cache(own, tmp_path, how):
    source, log = own("llama2-12-layers"), tmp_path / "log"
    old = {view: rig.export(source, view) for view in (MERGED, "model-q8_0.gguf", "model-f32.gguf")}
    with rig.mounted(source, tmp_path / "mnt", log=log) as mnt:
        handles = {view: os.open(mnt / view, os.O_RDONLY) for view in old}
        assert read(mnt / MERGED) == old[MERGED] and read(mnt / "model-q8_0.gguf") == old["model-q8_0.gguf"]
        os.posix_fadvise(handles[MERGED], 0, 0, os.POSIX_FADV_DONTNEED)
        change(source, how)
        time.sleep(1.05)
        for view, handle in handles.items():
            seen = pieces(handle, old[view])
            if how in ("replaced by rename", "deleted") and view == MERGED:
                assert seen == {"bytes"}, "its descriptors hold the old bytes"
            if how in ("truncated", "replaced in place") and view == MERGED:
                assert "EIO" in seen
        if how in ("truncated", "replaced in place"):
            run = subprocess.run([sys.executable, "-c", BUS], stdin=handles["model-f32.gguf"])
            assert run.returncode == -signal.SIGBUS
        for view in old:
            wanted = rig.export_hash(source, view)
            if wanted[0]:
                assert rig.file_hash(mnt / view) == wanted
            else:
                with pytest.raises(FileNotFoundError):
                    read(mnt / view)
        assert len(faults.lines_of(log, "the source has changed: generation 2")) == 1
        changed = faults.lines_of(log, "error:", SHARD)
        assert len(changed) == len(set(line.split("error:")[1] for line in changed))
        for handle in handles.values():
            os.close(handle)
        assert (mnt / "config.json").read_bytes() == (source / "config.json").read_bytes()


def test_permission_lost(own, tmp_path):
    """For who is not root: a shard that may not be read any more withholds its views by name and reason; and back."""
    import tempfile

    mode = os.stat("/dev/fuse").st_mode & 0o777
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        shutil.copy(rig.BIN, root / "weightfs")
        shutil.copytree(own("llama2-12-layers"), root / "model")
        (root / "mnt").mkdir()
        for path in (root / "mnt", root / "model", *root.glob("model/*")):
            os.chown(path, 65534, 65534)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        say = lambda *command: subprocess.run([*nobody, *map(str, command)], capture_output=True, timeout=30 * rig.SLOW)
        os.chmod("/dev/fuse", 0o666)
        try:
            run = say(root / "weightfs", "mount", "-o", "log=%s/mnt.log" % root, root / "model", root / "mnt")
            if b"mnt.log" in run.stderr:  # the folder is root's: a log in the model's own
                (root / "mnt.log").touch()
                os.chown(root / "mnt.log", 65534, 65534)
                run = say(root / "weightfs", "mount", "-o", "log=%s/mnt.log" % root, root / "model", root / "mnt")
            assert run.returncode == 0, run.stderr
            old = say("cat", root / "mnt" / MERGED).stdout
            assert old
            (root / "model" / SHARD).chmod(0)
            time.sleep(1.05)
            run = say("cat", root / "mnt" / MERGED)
            assert run.returncode == 1 and b"No such file" in run.stderr
            run = say("cat", root / "mnt" / ".weightfs/status.json")
            assert SHARD.encode() in run.stdout and b"Permission denied" in run.stdout
            assert len(faults.lines_of(root / "mnt.log", MERGED, SHARD, "Permission denied")) == 1
            (root / "model" / SHARD).chmod(0o644)
            time.sleep(1.05)
            assert say("cat", root / "mnt" / MERGED).stdout == old
            assert say(root / "weightfs", "umount", root / "mnt").returncode == 0
        finally:
            rig.detach(root / "mnt")
            os.chmod("/dev/fuse", mode)


def test_a_device_that_fails(model, tmp_path):
    """A real block device with bad sectors in the middle of a shard: dm-error below ext4."""
    if not shutil.which("dmsetup") or subprocess.run(["dmsetup", "targets"], capture_output=True).returncode != 0:
        pytest.skip("no device mapper here")
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-b", "4096", image], check=True)
    run = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if run.returncode != 0:
        pytest.skip("no loop devices here")
    loop, name, sectors = run.stdout.strip(), "weightfs-%d" % os.getpid(), (64 << 20) // 512
    dm = lambda *words, **more: subprocess.run(["dmsetup", *words], check=True, capture_output=True, text=True, **more)
    try:
        dm("create", name, input="0 %d linear %s 0" % (sectors, loop))
        subprocess.run(["mount", "/dev/mapper/" + name, folder], check=True)
        source = shutil.copytree(model("llama2-12-layers"), folder / "model")
        subprocess.run(["sync", "-f", folder], check=True)
        run = subprocess.run(["filefrag", "-b512", "-v", source / SHARD], capture_output=True, text=True, check=True)
        first = next(line.split() for line in run.stdout.splitlines() if line.strip().startswith("0:"))
        bad = int(first[3].rstrip(".:")) + int(first[2].rstrip(":")) // 2 // 8 * 8
        whole = rig.export(source, MERGED)
        subprocess.run(["umount", folder], check=True)
        table = "0 %d linear %s 0\n%d 8 error\n%d %d linear %s %d"
        dm("suspend", name)
        dm("load", name, input=table % (bad, loop, bad, bad + 8, sectors - bad - 8, loop, bad + 8))
        dm("resume", name)
        subprocess.run(["mount", "-o", "ro", "/dev/mapper/" + name, folder], check=True)
        with rig.mounted(source, tmp_path / "mnt", log=tmp_path / "log") as mnt:
            with open(mnt / MERGED, "rb") as file:
                assert pieces(file.fileno(), whole) == {"bytes", "EIO"}
        assert len(faults.lines_of(tmp_path / "log", MERGED, SHARD, "Input/output error")) == 1
    finally:
        rig.detach(folder)
        subprocess.run(["dmsetup", "remove", "--retry", name], capture_output=True)
        subprocess.run(["losetup", "-d", loop])
