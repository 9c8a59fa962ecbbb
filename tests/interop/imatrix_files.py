"""Importance matrices for the test models, in the two forms that llama.cpp's imatrix tool has written."""

import struct

import numpy as np
from gguf import GGUFReader, GGUFWriter


def shapes(gguf):
    """Name -> (columns, experts) of what may be quantised in a GGUF file."""
    return {
        t.name: (int(t.shape[0]), int(t.shape[2]) if len(t.shape) > 2 else 1)
        for t in GGUFReader(gguf).tensors
        if len(t.shape) > 1 and t.name.endswith("weight") and "norm" not in t.name
    }


def values(name, n, kind):
    """Sums of squares as they come: positive, over some orders of magnitude; or with what is allowed but odd."""
    random = np.random.default_rng(abs(hash_of(name)))
    sums = (random.lognormal(0, 2, n) * 100).astype(np.float32)
    if kind == "zeros":
        sums[random.random(n) < 0.5] = 0
    elif kind == "one-hot":
        sums[:] = 0
        sums[random.integers(n)] = 1
    elif kind == "negative":
        sums[random.random(n) < 0.1] *= -1
    elif kind == "huge":
        sums *= np.float32(1e30)
    return sums


def hash_of(text):
    h = 5381
    for byte in text.encode():
        h = (h * 33 + byte) & 0x7FFFFFFF
    return h


def write_gguf(path, tensors, kind="usual", datasets=("calibration.txt",), chunks=12):
    writer = GGUFWriter(path, "")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", list(datasets))
    writer.add_uint32("imatrix.chunk_count", chunks)
    writer.add_uint32("imatrix.chunk_size", 512)
    for name, (columns, experts) in tensors.items():
        sums = values(name, columns * experts, kind).reshape(experts, columns)
        counts = np.array([[512 * chunks + e * 7] for e in range(experts)], dtype=np.float32)
        if experts > 2:
            counts[1] = 0  # an expert that no token went to
        writer.add_tensor(name + ".in_sum2", sums)
        writer.add_tensor(name + ".counts", counts)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_dat(path, tensors, kind="usual", dataset=b"wiki.train.raw", chunks=12, tail=True):
    out = struct.pack("<i", len(tensors))
    for name, (columns, experts) in tensors.items():
        sums = values(name, columns * experts, kind)
        out += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", chunks, len(sums)) + sums.tobytes()
    if tail:
        out += struct.pack("<ii", chunks, len(dataset)) + dataset
    path.write_bytes(out)
