"""What the kernel's calls answer on the mount: attributes, listings, refusals."""

import errno
import json
import os
import stat
import subprocess

import pytest
import rig


def refused(call, *args, **kwargs):
    with pytest.raises(OSError) as caught:
        call(*args, **kwargs)
    return caught.value.errno


def walk(mnt):
    for where, folders, files in os.walk(mnt):
        for name in folders + files:
            yield os.path.join(where, name)


def test_modes_blocks_and_owner(mnt):
    for path in walk(mnt):
        info = os.stat(path)
        if stat.S_ISDIR(info.st_mode):
            assert stat.S_IMODE(info.st_mode) == 0o555, path
        else:
            assert stat.S_ISREG(info.st_mode), path
            assert stat.S_IMODE(info.st_mode) == 0o444, path
            assert info.st_blocks == (info.st_size + 511) // 512, path
        assert (info.st_uid, info.st_gid) == (0, 0)


def test_modes_whatever_the_umask(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs("mount", model("mixed-dtypes"), mnt, preexec_fn=lambda: os.umask(0o077))
    try:
        assert stat.S_IMODE(os.stat(mnt / "model.safetensors").st_mode) == 0o444
        assert stat.S_IMODE(os.stat(mnt).st_mode) == 0o555
    finally:
        rig.weightfs("umount", mnt)


def test_uid_gid_umask_options(model, tmp_path):
    with rig.mounted(
        model("mixed-dtypes"), tmp_path / "mnt", "uid=1234", "gid=4321", "umask=077", "allow_other"
    ) as mnt:
        for name, mode in (("model.safetensors", 0o400), ("tensors", 0o500), ("config.json", 0o400)):
            info = os.stat(mnt / name)
            assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (1234, 4321, mode), name


def test_listings_agree_with_stat(mnt):
    seen = 0
    for where, _, _ in os.walk(mnt):
        with os.scandir(where) as entries:
            for entry in entries:
                info = os.stat(os.path.join(where, entry.name))
                assert entry.inode() == info.st_ino
                assert entry.is_dir(follow_symlinks=False) == stat.S_ISDIR(info.st_mode)
                seen += 1
        raw = subprocess.run(["ls", "-a", where], capture_output=True, text=True, check=True).stdout.split("\n")
        assert raw[:2] == [".", ".."]
    assert seen > 200
    names = os.listdir(mnt / "tensors")
    assert len(names) == len(set(names))


def test_inode_and_mtime_are_stable_across_mounts(model, tmp_path):
    source = model("llama2-12-layers")
    seen = []
    for number in range(2):
        with rig.mounted(source, tmp_path / ("mnt%d" % number)) as mnt:
            seen.append(
                {
                    os.path.relpath(path, mnt): (os.stat(path).st_ino, os.stat(path).st_mtime_ns)
                    for path in walk(mnt)
                    if "/.weightfs" not in path
                }
            )
    assert seen[0] == seen[1]
    inodes = [inode for inode, _ in seen[0].values()]
    assert len(set(inodes)) == len(inodes)
    newest = max(os.stat(path).st_mtime_ns for path in source.glob("model-*.safetensors"))
    assert seen[0]["model.safetensors"][1] == newest
    assert seen[0]["config.json"][1] == os.stat(source / "config.json").st_mtime_ns


def test_xattrs(mnt):
    for name in ("user.x", "security.capability", "system.posix_acl_access", "user.weightfs"):
        assert refused(os.getxattr, mnt / "model.safetensors", name) in (errno.ENODATA, errno.EOPNOTSUPP), name
    assert refused(os.getxattr, mnt / "model.safetensors", "user.x") == errno.ENODATA
    assert os.listxattr(mnt / "model.safetensors") == []
    assert os.listxattr(mnt) == []


def test_statfs(mnt):
    info = os.statvfs(mnt)
    assert info.f_bsize >= 512 and info.f_frsize > 0 and info.f_namemax == 255
    assert info.f_bavail == info.f_bfree == 0
    assert info.f_blocks * info.f_frsize >= os.stat(mnt / "model.safetensors").st_size
    assert info.f_files > 0
    assert subprocess.run(["df", str(mnt)], capture_output=True).returncode == 0


def test_writes_are_refused(mnt):
    file, folder = mnt / "config.json", mnt / "tensors"
    rofs = errno.EROFS
    assert refused(os.open, file, os.O_WRONLY) == rofs
    assert refused(os.open, file, os.O_RDWR) == rofs
    assert refused(os.open, file, os.O_RDONLY | os.O_TRUNC) == rofs
    assert refused(os.open, mnt / "new", os.O_CREAT | os.O_WRONLY, 0o644) == rofs
    assert refused(os.mkdir, mnt / "new") == rofs
    assert refused(os.unlink, file) == rofs
    assert refused(os.rmdir, folder) == rofs
    assert refused(os.rename, file, mnt / "other") == rofs
    assert refused(os.link, file, mnt / "other") == rofs
    assert refused(os.symlink, "x", mnt / "other") == rofs
    assert refused(os.mknod, mnt / "other") == rofs
    assert refused(os.chmod, file, 0o600) == rofs
    assert refused(os.chown, file, 1, 1) == rofs
    assert refused(os.utime, file) == rofs
    assert refused(os.truncate, file, 0) == rofs
    assert refused(os.setxattr, file, "user.x", b"y") == rofs


def test_what_is_not_there(mnt):
    assert refused(os.stat, mnt / "nothing") == errno.ENOENT
    assert refused(os.stat, mnt / "tensors" / "nothing.npy") == errno.ENOENT
    assert refused(os.stat, mnt / "config.json" / "below") == errno.ENOTDIR
    assert refused(os.listdir, mnt / "config.json") == errno.ENOTDIR
    assert refused(os.open, mnt / ("n" * 300), os.O_RDONLY) == errno.ENAMETOOLONG
    assert refused(os.readlink, mnt / "config.json") == errno.EINVAL


def test_mount_table_names_source_and_type(model, mnt):
    lines = [line.split() for line in open("/proc/self/mountinfo") if line.split()[4] == str(mnt)]
    assert len(lines) == 1
    dash = lines[0].index("-")
    assert lines[0][dash + 1] == "fuse.weightfs"
    assert lines[0][dash + 2] == str(model("llama2-12-layers"))
    options = lines[0][5].split(",") + lines[0][dash + 3].split(",")
    assert "ro" in options and "nosuid" in options and "nodev" in options


def test_views_option_lists_some_and_opens_all(model, tmp_path):
    source = model("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt", "views=model.safetensors:model-q8_0.gguf") as mnt:
        listed = [name for name in os.listdir(mnt) if name.startswith("model")]
        assert sorted(listed) == ["model-q8_0.gguf", "model.safetensors"]
        assert "config.json" in os.listdir(mnt)
        for name in ("model-q4_k_m.gguf", "model-f16.gguf", "tensors/model.norm.weight.npy"):
            assert os.stat(mnt / name).st_size > 0
            with open(mnt / name, "rb") as file:
                assert len(file.read(4)) == 4


def test_two_mounts_of_one_source(model, tmp_path):
    source = model("mixed-dtypes")
    with rig.mounted(source, tmp_path / "a") as a, rig.mounted(source, tmp_path / "b") as b:
        assert rig.file_hash(a / "model-q8_0.gguf") == rig.file_hash(b / "model-q8_0.gguf")


def test_status_json(mnt):
    status = json.loads((mnt / ".weightfs" / "status.json").read_text())
    assert rig.stats(mnt).keys() == status.keys()
    assert rig.weightfs("stats", mnt).out.strip()


def test_hf_cache_links(model, tmp_path):
    source = model("hf-cache")
    assert (source / "model.safetensors").is_symlink()
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert (mnt / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
        assert stat.S_ISREG(os.lstat(mnt / "config.json").st_mode)
        assert rig.file_hash(mnt / "model-q8_0.gguf")[1] > 0


def test_fifos_sockets_and_devices_do_no_harm(own, tmp_path):
    import socket

    source = own("llama2-model")
    os.mkfifo(source / "a.fifo")
    os.mkfifo(source / "README.fifo.md")
    os.mknod(source / "null.device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    endpoint = socket.socket(socket.AF_UNIX)
    endpoint.bind(str(source / "a.socket"))
    os.symlink("nowhere", source / "dangling")
    os.symlink(".", source / "loop")
    os.remove(source / "generation_config.json") if (source / "generation_config.json").exists() else None
    os.mkfifo(source / "generation_config.json")  # a name the reference would open
    rig.weightfs("ls", source, timeout=20)
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        names = os.listdir(mnt)
        for absent in ("a.fifo", "null.device", "a.socket", "dangling", "generation_config.json"):
            assert absent not in names
            assert refused(os.stat, mnt / absent) == errno.ENOENT
        assert rig.file_hash(mnt / "model-bf16.gguf")[1] > 0
    endpoint.close()
