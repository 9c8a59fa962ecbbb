"""Many tensors and large files: bounded in time and memory."""

import json
import math
import os
import struct
import time

import pytest
import rig

import families


def many_tensors(folder, count, shape=(2, 4), llama=False):
    """model.safetensors with count small BF16 tensors (named as a deep Llama's, or plainly)."""
    folder.mkdir()
    size = 2 * shape[0] * shape[1]
    names = sorted("model.block.%d.part.weight" % number for number in range(count))
    header = {"__metadata__": {"format": "pt"}}
    header.update(
        {
            name: {"dtype": "BF16", "shape": list(shape), "data_offsets": [i * size, i * size + size]}
            for i, name in enumerate(names)
        }
    )
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + size * count)
    (folder / "config.json").write_bytes(
        families.sample.dumps({"architectures": ["Nobody"], "model_type": "nobody"})
    )
    return folder


def resident_kib(pid, what="VmHWM"):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what))


def test_a_thousand_tensors_mount_in_100_ms(tmp_path):
    source, mnt = many_tensors(tmp_path / "thousand", 1000), tmp_path / "mnt"
    mnt.mkdir()
    seconds = rig.mount_seconds(source, mnt, 5)
    rig.weightfs("umount", mnt)
    assert min(seconds) < 0.1 * rig.SLOW, seconds


def test_a_real_model_of_a_thousand_tensors_mounts_in_100_ms(tmp_path, model):
    """A Llama of 110 layers with a tokenizer of 128k tokens: the mount does not wait for the tokenizer."""
    config, tensors = families.llama3(hidden=64, inner=96, layers=110, heads=2, kv=1, rows=64)
    assert len(tensors) > 980
    source, mnt = tmp_path / "deep", tmp_path / "mnt"
    mnt.mkdir()
    try:
        families.begin_model(source, config, "llama3")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    header, order = families.sample.safetensors_header({name: ("BF16", shape) for name, shape in tensors.items()})
    size = 2 * sum(map(math.prod, tensors.values()))
    with open(source / "model.safetensors", "wb") as out:
        out.write(header)
        out.truncate(len(header) + size)
    seconds = []
    for _ in range(5):
        begin = time.monotonic()
        rig.weightfs("mount", source, mnt)
        seconds.append(time.monotonic() - begin)
        assert (mnt / "model-q4_k_m.gguf").stat().st_size > 0
        rig.weightfs("umount", mnt)
    assert min(seconds) < 0.1 * rig.SLOW, seconds


def test_100000_tensors(tmp_path):
    source, mnt = many_tensors(tmp_path / "many", 100_000), tmp_path / "mnt"
    mnt.mkdir()
    seconds = rig.mount_seconds(source, mnt, 3, "-o", "cache_size=32M")
    try:
        assert min(seconds) < 1 * rig.SLOW, seconds
        pid = rig.daemon_of(mnt)
        assert len(os.listdir(mnt / "tensors")) == 200_000
        assert (mnt / "tensors" / "model.block.99999.part.weight.npy").read_bytes()[:6] == b"\x93NUMPY"
        assert rig.file_hash(mnt / "model.safetensors") == rig.file_hash(source / "model.safetensors")
        for command in (
            ["ls", source],
            ["ls", "--json", source],
            ["info", source],
            ["stats", mnt],
            ["export", source, "tensors/model.block.7.part.weight.npy", "-o", "-"],
        ):
            begin = time.monotonic()
            rig.weightfs(*command)
            assert time.monotonic() - begin < 5 * rig.SLOW, command
        if rig.SLOW == 1:
            assert resident_kib(pid) < (200 + 32) * 1024, resident_kib(pid)
    finally:
        rig.weightfs("umount", mnt)


def test_a_sparse_100_gb_model_lists_with_exact_sizes(tmp_path):
    """A Llama of 100 GB whose data are holes; its sizes follow from shapes alone."""
    source, mnt = tmp_path / "Big-Llama-50B", tmp_path / "mnt"
    mnt.mkdir()
    config, tensors = families.llama(
        hidden=8192, inner=28672, layers=58, heads=64, kv=8, vocab=families.SPM_SIZE, rows=32000
    )
    families.begin_model(source, config, "spm")
    header, _ = families.sample.safetensors_header({name: ("BF16", shape) for name, shape in tensors.items()})
    elements = sum(map(math.prod, tensors.values()))
    with open(source / "model.safetensors", "wb") as out:
        out.write(header)
        out.truncate(len(header) + 2 * elements)
    assert (source / "model.safetensors").stat().st_size > 99e9
    begin = time.monotonic()
    listing = json.loads(rig.weightfs("ls", "--json", source, timeout=10).out)
    assert time.monotonic() - begin < 5 * rig.SLOW
    sizes = {view["path"]: view["size"] for view in listing["views"]}
    matrices = sum(shape[0] * shape[1] for shape in tensors.values() if len(shape) > 1)
    vectors = elements - matrices
    # Data of the GGUF files: every row here is a multiple of 256, every tensor's size one of 32.
    for view, per_256 in (("model-f32.gguf", 1024), ("model-f16.gguf", 512), ("model-q8_0.gguf", 272)):
        data = matrices // 256 * per_256 + vectors * 4
        assert data < sizes[view] < data + 100_000, view
    assert sizes["model.safetensors"] == (source / "model.safetensors").stat().st_size
    with rig.mounted(source, mnt) as mountpoint:
        for view in ("model-q4_k_m.gguf", "model-f32.gguf", "model.safetensors"):
            path = mountpoint / view
            assert path.stat().st_size == sizes[view]
            with open(path, "rb") as file:
                file.seek(-100_000, os.SEEK_END)
                begin = time.monotonic()
                assert len(file.read()) == 100_000
                assert time.monotonic() - begin < 2 * rig.SLOW


def test_a_sparse_model_of_a_thousand_shards(tmp_path):
    """1.4 TB, 1,000 shards, 100,000 tensors: only the two ends are data, the rest are holes."""
    source, mnt = tmp_path / "Deep-Llama", tmp_path / "mnt"
    mnt.mkdir()
    config, tensors = families.llama(
        hidden=2048, inner=8704, layers=11_111, heads=32, kv=8, vocab=families.SPM_SIZE, rows=32000
    )
    families.begin_model(source, config, "spm")
    names, weight_map, data = sorted(tensors), {}, 0
    assert len(names) > 100_000 - 10
    first, last = os.urandom(4096), bytes(range(64)) * 64
    for number in range(1000):
        part = names[number * len(names) // 1000 : (number + 1) * len(names) // 1000]
        shard = source / ("model-%05d-of-01000.safetensors" % (number + 1))
        header, order = families.sample.safetensors_header({name: ("BF16", tensors[name]) for name in part})
        size = sum(2 * math.prod(tensors[name]) for name in part)
        weight_map.update(dict.fromkeys(part, shard.name))
        with open(shard, "wb") as out:
            out.write(header)
            if number == 0:
                out.write(first)
                first_tensor = order[0]
            out.truncate(len(header) + size)
            if number == 999:
                out.seek(-len(last), os.SEEK_END)
                out.write(last)
                last_tensor = order[-1]
        data += size
    (source / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": data}, "weight_map": weight_map})
    )
    assert data > 1.4e12
    seconds = rig.mount_seconds(source, mnt, 3)
    try:
        assert min(seconds) < 1 * rig.SLOW, seconds
        pid = rig.daemon_of(mnt)
        assert len(os.listdir(mnt / "tensors")) == 2 * len(names)
        with open(mnt / "model.safetensors", "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(size))
            assert os.fstat(file.fileno()).st_size == 8 + size + data
            start, _ = header[first_tensor]["data_offsets"]
            assert os.pread(file.fileno(), len(first), 8 + size + start) == first
            _, end = header[last_tensor]["data_offsets"]
            assert os.pread(file.fileno(), len(last) + 1, 8 + size + end - len(last)) == last and end == data
        for name, width in (("model-bf16.gguf", 2), ("model-f32.gguf", 4)):
            # Norms are float32 in both, and the last tensor is one; 32 bytes divide the size of each tensor.
            whole = sum(math.prod(s) * (width if len(s) > 1 else 4) for s in tensors.values())
            with open(mnt / name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                assert whole < size < whole + 20_000_000
                assert file.read(4) == b"GGUF"
                values = os.pread(file.fileno(), 2 * len(last) + 1, size - 2 * len(last))
                assert values == b"".join(b"\0\0" + last[i : i + 2] for i in range(0, len(last), 2))
        with open(mnt / "tensors" / (first_tensor + ".npy"), "rb") as file:
            values = file.read(2 * len(first) + 128)[-2 * len(first) :]
            assert values == b"".join(b"\0\0" + first[i : i + 2] for i in range(0, len(first), 2))
        assert len(os.listdir("/proc/%d/fd" % pid)) < 1000 + 64
        if rig.SLOW == 1:
            assert resident_kib(pid) < (512 + 32 + 200 + 3 * 12) * 1024, resident_kib(pid)
    finally:
        rig.weightfs("umount", mnt)
