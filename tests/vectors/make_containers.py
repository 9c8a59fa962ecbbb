#!/usr/bin/env python3
"""Makes tests/vectors/containers/: small files written by safetensors and numpy themselves, and a header corpus that the
real safetensors library accepts or refuses (the verdict is part of the file). Run with the test environment's Python."""
import json
import os
import struct
import sys
import zlib

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "containers")
os.makedirs(OUT, exist_ok=True)


def path(name):
    return os.path.join(OUT, name)


def tensor(dtype, *shape):
    count = int(np.prod(shape))
    width = torch.empty(0, dtype=dtype).element_size()
    raw = bytes((7 * i + 3 * len(shape)) % 120 for i in range(count * width))
    if dtype == torch.bool:
        raw = bytes(b & 1 for b in raw)
    if not raw:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)


SHARDS = {
    "model-00001-of-00002.safetensors": {
        "b.weight": tensor(torch.bfloat16, 3, 5),
        "a.weight": tensor(torch.float32, 2, 3),
        "scalar": tensor(torch.float32),
        "quote\"back\\slash/\n\t\x01\x7f\u00e9\u2603": tensor(torch.float16, 4),
        "empty": tensor(torch.float32, 0, 7),
        "e5m2": tensor(torch.float8_e5m2, 6),
    },
    "model-00002-of-00002.safetensors": {
        "B.weight": tensor(torch.bfloat16, 2, 2),
        "ids": tensor(torch.int64, 3),
        "mask": tensor(torch.bool, 5),
        "u8": tensor(torch.uint8, 3),
        "e4m3": tensor(torch.float8_e4m3fn, 2, 3),
        "f64": tensor(torch.float64, 1, 2),
        "c64": tensor(torch.complex64, 2),
        "i16": tensor(torch.int16, 3),
        "nul\x00name": tensor(torch.float32, 1),
        "nul": tensor(torch.float32, 1),
    },
}


def make_shards():
    everything = {}
    for name, tensors in SHARDS.items():
        save_file(tensors, path(name), metadata={"format": "pt"})
        everything.update(tensors)
    save_file(everything, path("merged.safetensors"), metadata={"format": "pt"})
    index = {"metadata": {"total_size": 0}, "weight_map": {t: f for f, ts in SHARDS.items() for t in ts}}
    with open(path("model.safetensors.index.json"), "w") as f:
        json.dump(index, f, indent=2, sort_keys=True)


def make_npy():
    """One file of length-prefixed pairs: tensor name with the twin's mark, what numpy.save writes for it."""
    with open(path("npy.bin"), "wb") as out:
        for tensors in SHARDS.values():
            for name, t in tensors.items():
                arrays = {}
                if t.dtype in (torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn):
                    arrays[name] = t.float().numpy()
                    bits = torch.int16 if t.dtype == torch.bfloat16 else torch.uint8
                    arrays["raw:" + name] = t.view(bits).numpy().view("<u2" if bits == torch.int16 else "u1")
                else:
                    arrays[name] = t.numpy()
                for key, array in arrays.items():
                    np.save(path("tmp.npy"), array)
                    with open(path("tmp.npy"), "rb") as f:
                        body = f.read()
                    os.remove(path("tmp.npy"))
                    key = key.encode()
                    out.write(struct.pack("<II", len(key), len(body)) + key + body)


def entry(dtype="F32", shape=(1,), offsets=(0, 4), **more):
    return dict(dtype=dtype, shape=list(shape), data_offsets=list(offsets), **more)


def case(header, data=b"", n=None):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<Q", len(header) if n is None else n) + header + data


# name: file bytes. The name is what test_safetensors.c looks its expected message up by.
CORPUS = {
    "ok one": case({"a": entry()}, bytes(4)),
    "ok no tensors": case({}),
    "ok only metadata": case({"__metadata__": {"format": "pt"}}),
    "ok null metadata": case({"__metadata__": None, "a": entry()}, bytes(4)),
    "ok scalar": case({"a": entry(shape=())}, bytes(4)),
    "ok empty tensor": case({"a": entry(shape=(0, 4), offsets=(0, 0)), "b": entry()}, bytes(4)),
    "ok spaces around": case(b' \n{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} \n', bytes(4)),
    "ok unaligned header": case(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} ', bytes(4)),
    "ok unknown field": case({"a": entry(other=[{"x": 1}])}, bytes(4)),
    "ok reverse order": case({"b": entry(offsets=(4, 8)), "a": entry()}, bytes(8)),
    "ok sub-byte": case({"a": entry("F4", (2, 3), (0, 3))}, bytes(3)),
    "ok six bits": case({"a": entry("F6_E2M3", (4,), (0, 3))}, bytes(3)),
    "ok nul in name": case({"a\0b": entry()}, bytes(4)),
    "ok empty name": case({"": entry()}, bytes(4)),
    "bad empty file": b"",
    "bad short file": b"\x05\0\0",
    "bad no header": struct.pack("<Q", 0),
    "bad header longer than file": case(b"{}", n=100),
    "bad header over the limit": case(b"{}", n=100000001),
    "bad header huge": case(b"{}", n=2**64 - 1),
    "bad bom": case(b"\xef\xbb\xbf{}"),
    "bad utf8": case(b'{"\xff":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)),
    "bad json": case(b'{"a":'),
    "bad trailing comma": case(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},}', bytes(4)),
    "bad nan": case(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}', bytes(4)),
    "bad text behind": case(b"{}x"),
    "bad nul behind": case(b"{}\0"),
    "bad array": case(b"[]"),
    "bad surrogate": case(b'{"\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)),
    "bad depth": case(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}"),
    "bad entry": case({"a": 5}),
    "bad dtype": case({"a": entry("F33")}, bytes(4)),
    "bad dtype case": case({"a": entry("f32")}, bytes(4)),
    "bad dtype number": case({"a": entry(5)}, bytes(4)),
    "bad no dtype": case({"a": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "bad no shape": case({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(4)),
    "bad no offsets": case({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)),
    "bad shape negative": case({"a": entry(shape=(-1,))}, bytes(4)),
    "bad shape float": case({"a": entry(shape=(1.0,))}, bytes(4)),
    "bad shape minus zero": case(b'{"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}}'),
    "bad shape string": case({"a": entry(shape=("1",))}, bytes(4)),
    "bad shape object": case({"a": dict(entry(), shape={})}, bytes(4)),
    "bad shape over 64 bits": case({"a": entry(shape=(2**64,))}, bytes(4)),
    "bad shape overflow": case({"a": entry(shape=(2**32, 2**32), offsets=(0, 0))}),
    "bad shape overflow then zero": case({"a": entry(shape=(2**32, 2**32, 0), offsets=(0, 0))}),
    "bad size overflow": case({"a": entry(shape=(2**61,), offsets=(0, 0))}),
    "bad offsets one": case({"a": entry(offsets=(0,))}, bytes(4)),
    "bad offsets three": case({"a": entry(offsets=(0, 4, 8))}, bytes(4)),
    "bad offsets negative": case({"a": entry(offsets=(-4, 0))}, bytes(4)),
    "bad offsets float": case({"a": entry(offsets=(0, 4.0))}, bytes(4)),
    "bad offsets reversed": case({"a": entry(offsets=(4, 0))}, bytes(4)),
    "bad shape and offsets": case({"a": entry(shape=(2,))}, bytes(4)),
    "bad overlap": case({"a": entry(), "b": entry(offsets=(2, 6))}, bytes(6)),
    "bad same bytes": case({"a": entry(), "b": entry()}, bytes(4)),
    "bad hole": case({"a": entry(), "b": entry(offsets=(8, 12))}, bytes(12)),
    "bad hole at start": case({"a": entry(offsets=(4, 8))}, bytes(8)),
    "bad truncated": case({"a": entry(shape=(5,), offsets=(0, 20))}, bytes(13)),
    "bad trailing bytes": case({"a": entry()}, bytes(7)),
    "bad past the end": case({"a": entry("U8", (2**60,), (0, 2**60))}, bytes(4)),
    "bad sub-byte": case({"a": entry("F4", (3,), (0, 2))}, bytes(2)),
    "bad metadata number": case({"__metadata__": {"a": 1}}),
    "bad metadata array": case({"__metadata__": []}),
    "bad lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4976698672\n",
    # Where weightfs is stricter than the library on purpose.
    "strict duplicate key": case(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                 b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)),
    "strict duplicate metadata key": case(b'{"__metadata__":{"a":"1","a":"2"}}'),
    "strict array entry": case(b'{"a":["F32",[1],[0,4]]}', bytes(4)),
    "strict dimensions": case({"a": entry(shape=(1,) * 33)}, bytes(4)),
}


def accepted(body):
    name = path("tmp.safetensors")
    with open(name, "wb") as f:
        f.write(body)
    try:
        with safe_open(name, "np") as f:
            f.keys()
        return True
    except Exception:
        return False
    finally:
        os.remove(name)


def make_corpus():
    with open(path("corpus.bin"), "wb") as out:
        for name, body in CORPUS.items():
            verdict = accepted(body)
            assert verdict == name.startswith(("ok", "strict")), (name, verdict)
            key = name.encode()
            out.write(struct.pack("<IIB", len(key), len(body), verdict) + key + body)


make_shards()
make_npy()
make_corpus()
for f in sorted(os.listdir(OUT)):
    with open(path(f), "rb") as g:
        print(f, os.path.getsize(path(f)), "%08x" % zlib.crc32(g.read()))
