"""A source that changes under a mount: new bytes within a second, old handles never see them."""

import contextlib
import errno
import json
import mmap
import os
import shutil
import subprocess
import threading
import time

import pytest
import rig

VIEWS = ("model-q8_0.gguf", "model-f32.gguf", "model.safetensors", "tensors/model.norm.weight.npy")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def other_weights(shard, by=3):
    """The same header, other values: each data byte of the lower half of a bf16 turned."""
    raw = bytearray(shard.read_bytes())
    start = 8 + int.from_bytes(raw[:8], "little")
    for at in range(start, len(raw), 2):
        raw[at] ^= by
    return bytes(raw)


def replace_by_rename(source):
    for shard in sorted(source.glob("model-*.safetensors")):
        (source / "part").write_bytes(other_weights(shard))
        os.rename(source / "part", shard)


def write_in_place(source):
    for shard in sorted(source.glob("model-*.safetensors")):
        data = other_weights(shard)
        with open(shard, "r+b") as file:
            file.write(data)


def check_new_generation(own, tmp_path, change):
    source = own("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        old = {view: read(mnt / view) for view in VIEWS}
        handle = os.open(mnt / "model-q8_0.gguf", os.O_RDONLY)
        mtime = os.stat(mnt / "model.safetensors").st_mtime_ns
        change(source)
        changed = time.monotonic()
        new = {view: rig.export_hash(source, view) for view in VIEWS}
        time.sleep(max(0.0, changed + 1.05 - time.monotonic()))
        for view in VIEWS:
            assert rig.file_hash(mnt / view) == new[view], view
        assert os.stat(mnt / "model.safetensors").st_mtime_ns != mtime
        try:
            got = os.pread(handle, len(old["model-q8_0.gguf"]), 0)
            # An error behind the first bytes may shorten a read; nothing at all would say that the file ends here.
            assert got and got == old["model-q8_0.gguf"][: len(got)]
        except OSError as error:
            assert error.errno == errno.EIO
        os.close(handle)
        assert read(mnt / "model-q8_0.gguf") != old["model-q8_0.gguf"]


def test_a_shard_replaced_by_rename(own, tmp_path):
    check_new_generation(own, tmp_path, replace_by_rename)


def test_a_shard_written_in_place(own, tmp_path):
    check_new_generation(own, tmp_path, write_in_place)


def test_a_handle_without_pages_gets_old_bytes_or_an_error(own, tmp_path):
    """Nothing was read through the handle before the change: its tiles have to be made from a file that is gone."""
    source = own("llama2-12-layers")
    before = rig.export(source, "model-q8_0.gguf")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        handle = os.open(mnt / "model-q8_0.gguf", os.O_RDONLY)
        write_in_place(source)
        time.sleep(1.1)
        after = read(mnt / "model-q8_0.gguf")
        assert after == rig.export(source, "model-q8_0.gguf") != before
        answers = set()
        for offset in range(0, len(before), 65536):
            try:
                got = os.pread(handle, 65536, offset)
                assert got, "an end of file at %d, where an old handle has bytes or an error" % offset
                assert got == before[offset : offset + len(got)], "new bytes through an old handle at %d" % offset
                answers.add("bytes")
            except OSError as error:
                assert error.errno == errno.EIO
                answers.add("EIO")
        os.close(handle)
        assert answers
        assert read(mnt / "model-q8_0.gguf") == after


def test_a_config_that_changes_and_a_file_that_comes_and_goes(own, tmp_path):
    source = own("llama2-model")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert (mnt / "model-bf16.gguf").exists()
        (source / "notes.txt").write_text("hello")
        text = (source / "config.json").read_text()
        (source / "config.json").write_text(
            text.replace('"max_position_embeddings": 4096', '"max_position_embeddings": 8192')
        )
        time.sleep(1.1)
        assert read(mnt / "notes.txt") == b"hello"
        assert rig.file_hash(mnt / "model-bf16.gguf") == rig.export_hash(source, "model-bf16.gguf")
        (source / "notes.txt").unlink()
        (source / "config.json").write_text("{ not json")
        time.sleep(1.1)
        assert not (mnt / "notes.txt").exists()
        assert not (mnt / "model-bf16.gguf").exists()
        assert read(mnt / "model.safetensors") == read(source / "model.safetensors")
        (source / "config.json").write_text(text)
        time.sleep(1.1)
        assert rig.file_hash(mnt / "model-bf16.gguf") == rig.export_hash(source, "model-bf16.gguf")


@contextlib.contextmanager
def file_system(tmp_path, *mkfs):
    """A small file system of a kind, in a file. Skips where that is not possible."""
    image, folder = tmp_path / "image", tmp_path / "coarse"
    folder.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    if not shutil.which(mkfs[0]) or subprocess.run([*mkfs, image], capture_output=True).returncode != 0:
        pytest.skip("no " + mkfs[0])
    if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode != 0:
        pytest.skip("no loop mounts here")
    try:
        yield folder
    finally:
        rig.detach(folder)


@pytest.mark.parametrize("mkfs", [("mkfs.ext4", "-q", "-I", "128"), ("mkfs.ext4", "-q")], ids=["seconds", "nanoseconds"])
def test_a_file_written_twice_within_one_stamp(tmp_path, mkfs):
    """The second write leaves size and stamps as they are: it is seen all the same, once stamps would tell."""
    with file_system(tmp_path, *mkfs) as coarse:
        source = coarse / "model"
        source.mkdir()
        seen_same_stamps = False
        for _ in range(2):
            (source / "config.json").write_bytes(b'{"a": 1}')
            with rig.mounted(source, tmp_path / "mnt") as mnt:
                time.sleep(1 - time.time() % 1 + 0.05)  # the beginning of a second
                (source / "config.json").write_bytes(b'{"a": 2}')
                before = os.stat(source / "config.json")
                time.sleep(0.25)
                assert read(mnt / "config.json") == b'{"a": 2}'
                time.sleep(0.1)
                with open(source / "config.json", "r+b") as file:
                    file.write(b'{"a": 3}')
                seen_same_stamps |= os.stat(source / "config.json").st_ctime_ns == before.st_ctime_ns
                time.sleep(2.8)
                assert read(mnt / "config.json") == b'{"a": 3}'
                status = json.loads(read(mnt / ".weightfs/status.json"))["generation"]
                time.sleep(0.5)
                assert read(mnt / "config.json") == b'{"a": 3}'
                assert json.loads(read(mnt / ".weightfs/status.json"))["generation"] == status, "it has settled"
        assert seen_same_stamps == ("128" in mkfs)


def test_a_writer_that_has_been_stamped_already(own, tmp_path):
    """A long write is stamped when it begins, a store through a mapping when its page was clean: once whoever writes has
    closed the file, new opens see what it wrote; nothing of before is remembered."""
    source = own("llama2-12-layers")
    shard, view = sorted(source.glob("model-*.safetensors"))[0], "model-f32.gguf"
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % (tmp_path / "cache")) as mnt:
        with open(shard, "r+b") as file, mmap.mmap(file.fileno(), 0) as stored:
            stored[-1] ^= 1
            before = os.stat(shard)
            time.sleep(0.5)
            first = rig.file_hash(mnt / view)
            assert first == rig.export_hash(source, view)
            stored[-1] ^= 3
            after = os.stat(shard)
            said = rig.weightfs("cache", "key", "--disk_cache", tmp_path / "cache", source, code=1).err
            assert "somebody writes to it" in said
        if (before.st_mtime_ns, before.st_ctime_ns) != (after.st_mtime_ns, after.st_ctime_ns):
            pytest.skip("this file system has stamped the second store")
        right = rig.export_hash(source, view)
        assert right != first
        rig.wait_for(lambda: rig.file_hash(mnt / view) == right, 10, "the bytes that were stored last")
        time.sleep(1)
        assert rig.stats(mnt)["disk_cache"]["damaged"] == 0
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % (tmp_path / "cache")) as mnt:
        assert rig.file_hash(mnt / view) == right


def test_the_folder_itself_replaced(own, tmp_path):
    """The mount holds the folder, not its name: it goes on with what it holds, or says that it is gone; it does not hang."""
    source = own("llama2-model")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        old = read(mnt / "model-q8_0.gguf")
        shutil.move(source, tmp_path / "moved")
        time.sleep(1.1)
        try:
            assert read(mnt / "model-q8_0.gguf") == old
        except OSError as error:
            assert error.errno in (errno.EIO, errno.ESTALE, errno.ENOENT)


def test_readers_during_changes_see_one_generation(own, tmp_path):
    """Whatever is read between an open and its close is of one generation: whole files equal one of the exports."""
    source = own("llama2-12-layers")
    shards = sorted(source.glob("model-*.safetensors"))
    first = {shard: shard.read_bytes() for shard in shards}
    second = {shard: other_weights(shard) for shard in shards}
    allowed = {rig.export(source, "model-q8_0.gguf")}
    with rig.mounted(source, tmp_path / "mnt", "cache_size=8M") as mnt:
        stop, seen, errors = threading.Event(), [], []

        def reader():
            while not stop.is_set():
                try:
                    seen.append(read(mnt / "model-q8_0.gguf"))
                except OSError as error:
                    if error.errno not in (errno.EIO, errno.ESTALE, errno.ENOENT):
                        errors.append(error)

        threads = [threading.Thread(target=reader) for _ in range(4)]
        for thread in threads:
            thread.start()
        # One shard at a time is replaced, by rename; a mixture of shards is a source of its own, and is exported as such.
        for turn in (second, first):
            for shard in shards:
                (source / "part").write_bytes(turn[shard])
                os.rename(source / "part", shard)
                allowed.add(rig.export(source, "model-q8_0.gguf"))
                time.sleep(0.3)
        stop.set()
        for thread in threads:
            thread.join()
        assert not errors
        assert seen and all(data in allowed for data in seen)


def test_an_old_generation_lets_go_of_its_files(own, tmp_path):
    """The disk space of a model that was replaced is free, though the kernel still remembers its names."""
    source = own("llama2-12-layers")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        for name in os.listdir(mnt / "tensors"):
            read(mnt / "tensors" / name)
        pid = rig.daemon_of(mnt)
        deleted = lambda: [
            name for name in os.listdir("/proc/%d/fd" % pid) if descriptor(pid, name).endswith("(deleted)")
        ]
        replace_by_rename(source)
        assert deleted(), "the shards should be open"
        time.sleep(1.05)
        assert os.stat(mnt / "config.json").st_size > 0
        rig.wait_for(lambda: not deleted(), 5, "the end of the old shards' descriptors")


def descriptor(pid, name):
    try:
        return os.readlink("/proc/%d/fd/%s" % (pid, name))
    except OSError:
        return ""
