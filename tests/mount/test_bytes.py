"""stat equals the bytes read equals a second read, whichever way they are read."""

import hashlib
import mmap
import os
import random
import subprocess
import threading

import pytest
import rig

WHOLE = {}


def files_of(root):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(root) for name in names)


def views_of(mnt):
    return [path for path in files_of(mnt) if "/.weightfs/" not in path]


def whole(path):
    with open(path, "rb") as file:
        return file.read()


def test_stat_equals_bytes_equals_second_read(mnt):
    paths = files_of(mnt)
    assert len(paths) > 200
    first = {}
    for path in views_of(mnt):
        size = os.stat(path).st_size
        first[path] = rig.file_hash(path)
        assert first[path][1] == size == os.stat(path).st_size, path
    for path in views_of(mnt):
        assert rig.file_hash(path) == first[path], path
    status = whole(os.path.join(mnt, ".weightfs/status.json"))
    assert len(status) == os.stat(os.path.join(mnt, ".weightfs/status.json")).st_size


def test_first_read_in_pieces_equals_whole(model, tmp_path):
    """Fresh mount, the very first reads are random pieces from many threads; then the whole file is asked for."""
    source = model("llama2-12-layers")
    names = ["model-q4_k_m.gguf", "model-f32.gguf", "model.safetensors", "model-q8_0.gguf"]
    with rig.mounted(source, tmp_path / "mnt", "cache_size=8M") as mnt:
        pieces, errors = [], []

        def read_pieces(seed):
            chance = random.Random(seed)
            try:
                handles = [os.open(mnt / name, os.O_RDONLY) for name in names]
                for _ in range(60):
                    which = chance.randrange(len(names))
                    size = os.fstat(handles[which]).st_size
                    offset = chance.randrange(size)
                    length = chance.choice([1, 7, 511, 4096, 4097, 65536, 100003, 1 << 20, (1 << 20) + 5])
                    pieces.append((names[which], offset, length, os.pread(handles[which], length, offset)))
                for handle in handles:
                    os.close(handle)
            except Exception as error:  # a thread's failure must fail the test
                errors.append(error)

        threads = [threading.Thread(target=read_pieces, args=(seed,)) for seed in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        wholes = {name: whole(mnt / name) for name in names}
        for name, offset, length, data in pieces:
            assert data == wholes[name][offset : offset + length], (name, offset, length)
            assert len(data) == min(length, len(wholes[name]) - offset)
    for name in names:
        assert hashlib.sha256(wholes[name]).hexdigest() == rig.export_hash(source, name)[0]


@pytest.mark.parametrize("name", ["model-q4_k_m.gguf", "model-bf16.gguf", "model.safetensors"])
def test_mmap_pieces_equal_whole(mnt, name):
    chance = random.Random(name)
    with open(mnt / name, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        pieces = []
        for _ in range(200):
            offset = chance.randrange(len(mapped))
            length = chance.choice([1, 100, 4096, 70000])
            pieces.append((offset, mapped[offset : offset + length]))
        everything = whole(mnt / name)
        assert len(mapped) == len(everything)
        for offset, data in pieces:
            assert data == everything[offset : offset + len(data)], offset
        assert mapped[:] == everything


def test_read_at_and_behind_the_end(mnt):
    for name in ("model-q4_k_m.gguf", "model.safetensors", "config.json", "tensors/model.norm.weight.npy"):
        handle = os.open(mnt / name, os.O_RDONLY)
        size = os.fstat(handle).st_size
        last = os.pread(handle, 100, size - 10)
        assert len(last) == 10
        for behind in (size, size + 1, size + 4096, size + (1 << 30), (1 << 62)):
            assert os.pread(handle, 4096, behind) == b"", (name, behind)
        assert os.pread(handle, 0, 0) == b""
        os.close(handle)


def test_direct_io(mnt):
    for name in ("model-q8_0.gguf", "model.safetensors"):
        everything = whole(mnt / name)
        handle = os.open(mnt / name, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, 1 << 20)
        for offset in (0, 4096, 1 << 20, len(everything) // 4096 * 4096):
            got = os.preadv(handle, [buffer], offset)
            assert buffer[:got] == everything[offset : offset + (1 << 20)], (name, offset)
        os.close(handle)


def test_cp_rsync_dd_tail(mnt, tmp_path):
    name = "model-q4_k_m.gguf"
    wanted = rig.file_hash(mnt / name)
    copy = tmp_path / "copy"
    subprocess.run(["cp", mnt / name, copy], check=True)
    assert rig.file_hash(copy) == wanted
    subprocess.run(["cp", "--sparse=always", mnt / name, copy], check=True)
    assert rig.file_hash(copy) == wanted
    subprocess.run(["rsync", "-a", "--inplace", str(mnt / name), str(tmp_path / "synced")], check=True)
    assert rig.file_hash(tmp_path / "synced") == wanted
    for bs in (777, 65536, 3000001):
        data = subprocess.run(
            ["dd", "if=%s" % (mnt / name), "bs=%d" % bs, "status=none"], check=True, capture_output=True
        )
        assert hashlib.sha256(data.stdout).hexdigest() == wanted[0]
    end = subprocess.run(["tail", "-c", "12345", mnt / name], check=True, capture_output=True).stdout
    assert end == whole(mnt / name)[-12345:]


def test_rsync_and_tar_of_the_whole_mount(model, tmp_path):
    with rig.mounted(model("mixed-dtypes"), tmp_path / "mnt") as mnt:
        wanted = {os.path.relpath(path, mnt): rig.file_hash(path) for path in views_of(mnt)}
        for how in ("rsync", "tar"):
            to = tmp_path / how
            to.mkdir()
            if how == "rsync":
                subprocess.run(["rsync", "-a", "--exclude=/.weightfs", "%s/" % mnt, "%s/" % to], check=True)
            else:  # -S: tar asks st_blocks whether a file has holes
                archive = subprocess.run(
                    ["tar", "-S", "--exclude=./.weightfs", "-C", mnt, "-cf", "-", "."],
                    check=True,
                    capture_output=True,
                ).stdout
                subprocess.run(["tar", "-C", to, "-xf", "-"], input=archive, check=True)
            got = {os.path.relpath(path, to): rig.file_hash(path) for path in files_of(to)}
            assert got == wanted, how


def test_a_cache_smaller_than_a_file_gives_the_same_bytes(model, tmp_path):
    source = model("llama2-12-layers")
    wanted = rig.export_hash(source, "model-f32.gguf")
    with rig.mounted(source, tmp_path / "mnt", "cache_size=4M", "workers=1") as mnt:
        assert rig.file_hash(mnt / "model-f32.gguf") == wanted
        subprocess.run(["sh", "-c", "echo 3 > /proc/sys/vm/drop_caches"], check=False)
        assert rig.file_hash(mnt / "model-f32.gguf") == wanted


def test_no_io_uring_gives_the_same_bytes(model, tmp_path):
    source = model("llama2-12-layers")
    wanted = rig.export_hash(source, "model-q8_0.gguf")
    with rig.mounted(source, tmp_path / "mnt", "no_io_uring") as mnt:
        assert rig.file_hash(mnt / "model-q8_0.gguf") == wanted


def test_every_file_of_the_source_as_it_is(own, tmp_path):
    source = own("llama2-model")
    (source / "sub" / "deeper").mkdir(parents=True)
    (source / "sub" / "notes.txt").write_bytes(b"x" * 100001)
    (source / "sub" / "deeper" / "empty").write_bytes(b"")
    (source / "ümlaut name.bin").write_bytes(bytes(range(256)) * 40)
    (source / "model-q8_0.gguf").write_bytes(b"a file that is there wins its name")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        for path in files_of(source):
            name = os.path.relpath(path, source)
            assert whole(mnt / name) == whole(path), name
            assert os.stat(mnt / name).st_size == os.stat(path).st_size
        assert os.path.exists(mnt / "model-q4_k_m.gguf")
