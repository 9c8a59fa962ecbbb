#!/usr/bin/env python3
"""Writes kernels.txt, what the reference makes of inputs that tests/unit/test_kernels.c can make again.

The block types come from ggml_quantize_chunk and ggml_validate_row_data of the reference's libggml-base.so, the 16-bit
casts from numpy and gguf-py (the converter's way), the decodes from torch (F16: from numpy, as in the
converter).

Run it with the python of the test environment (tests/interop/environment):
    $CACHE/venv/bin/python tests/vectors/make_kernels.py > tests/vectors/kernels.txt

Lines: "encode TYPE KIND HEX" and "decode DTYPE all HEX" (all bytes), "digest WHAT NAME XXH3_64" (of all bytes),
"validate TYPE OFFSET XXH3_64" (of 65536 bytes, 1 where the type's block with that 16-bit pattern at OFFSET is refused).

Inputs: random numbers are splitmix64 from the seed 1000 + index of the kind; a value "v" is the sum of a number's four
16-bit parts minus 131070, so near normal with deviation 37837, and exact in a float. The kinds are listed twice, in
kind() and in the test.
"""
import ctypes
import os

import numpy as np
import torch
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize

CACHE = os.environ.get("WEIGHTFS_TEST_CACHE") or os.path.expanduser("~/.cache/weightfs-tests")
ggml = ctypes.CDLL(os.path.join(CACHE, "llama/bin/libggml-base.so"))
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
ggml.ggml_quantize_chunk.argtypes = [ctypes.c_int] + [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
ggml.ggml_validate_row_data.restype = ctypes.c_bool
ggml.ggml_validate_row_data.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
xxh = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh.restype = ctypes.c_uint64
xxh.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

TYPES = {"q4_K": (12, 256, 144), "q5_K": (13, 256, 176), "q6_K": (14, 256, 210), "q8_0": (8, 32, 34),
         "q5_0": (6, 32, 22), "q5_1": (7, 32, 24),
         "f32": (0, 1, 4), "f16": (1, 1, 2), "bf16": (30, 1, 2)}
N = 512  # values of a kind: two superblocks
MASK = (1 << 64) - 1


def splitmix(seed, n):
    """n numbers of splitmix64 (Steele, Lea, Flood 2014)."""
    out, state = [], seed
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(z ^ (z >> 31))
    return np.array(out, dtype=np.uint64)


KINDS = ["random", "zero", "constant", "negative_constant", "denormal", "huge", "outlier", "signed_zeros", "as_bf16",
         "as_f16", "alternating", "ramp", "near_eps", "scales", "positive", "negative", "offset", "lowest", "tiny",
         "squares_overflow", "sparse", "infinity", "nan"]


def kind(name):
    """N floats of a kind, as bits."""
    r = splitmix(1000 + KINDS.index(name), N)
    v = sum(((r >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.int64) for k in range(4)) - 131070
    i = np.arange(N)
    x = v.astype(np.float32)
    p = lambda e: np.float32(2.0 ** e)
    f = x * p(-21)
    bits = None
    if name == "zero":
        f = np.zeros(N, dtype=np.float32)
    elif name == "constant":
        f = np.full(N, 0.25, dtype=np.float32)
    elif name == "negative_constant":
        f = np.full(N, -0.75, dtype=np.float32)
    elif name == "denormal":
        bits = (r & np.uint64(0x807FFFFF)).astype(np.uint32)
    elif name == "huge":
        f = x * p(110)
    elif name == "outlier":
        f[100] = 64
    elif name == "signed_zeros":
        bits = (i & 1).astype(np.uint32) << np.uint32(31)
    elif name == "as_bf16":
        b = f.view(np.uint32)
        bits = (b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    elif name == "as_f16":
        f = (v >> 7).astype(np.float32) * p(-14)
    elif name == "alternating":
        f = np.abs(f) * np.where(i & 1, np.float32(-1), np.float32(1))
    elif name == "ramp":
        f = (i - 256).astype(np.float32) * p(-8)
    elif name == "near_eps":
        f = x * p(-66)
    elif name == "scales":
        f = x * np.exp2(-(i // 16).astype(np.float32)).astype(np.float32)
    elif name == "positive":
        f = np.abs(f)
    elif name == "negative":
        f = -np.abs(f)
    elif name == "offset":
        f = np.float32(1) + x * p(-30)
    elif name == "lowest":
        f = x * p(-140)
    elif name == "tiny":
        f = x * p(-44)
    elif name == "squares_overflow":
        f = x * p(50)
    elif name == "sparse":
        f = np.where(r >> np.uint64(60) == 0, f, np.float32(0))
    elif name == "infinity":
        f[[37, 300]] = np.float32(np.inf), np.float32(-np.inf)
    elif name == "nan":
        f[[37, 300]] = np.float32(np.nan)
    return f.view(np.uint32).copy() if bits is None else bits.copy()


def digest(a):
    a = np.ascontiguousarray(a)
    return "%016x" % xxh(a.ctypes.data, a.nbytes)


def reference(name, bits):
    number, block, size = TYPES[name]
    out = np.zeros(len(bits) // block * size, dtype=np.uint8)
    bits = np.ascontiguousarray(bits)
    assert ggml.ggml_quantize_chunk(number, bits.ctypes.data, out.ctypes.data, 0, 1, len(bits), None) == out.nbytes
    return out


def encodes():
    for name in ("q4_K", "q5_K", "q6_K", "q8_0", "q5_0", "q5_1"):
        for k in KINDS:
            print("encode", name, k, reference(name, kind(k)).tobytes().hex())


def casts():
    """Every upper half of a float with ten lower halves that round up, down, tie, or only matter for NaN."""
    low = np.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x2000, 0x7FFF, 0x8000, 0x8001, 0xFFFF], dtype=np.uint32)
    bits = ((np.arange(65536, dtype=np.uint32) << np.uint32(16))[:, None] | low[None, :]).ravel()
    with np.errstate(all="ignore"):
        f16 = bits.view(np.float32).astype(np.float16).view(np.uint16)
    bf16 = quantize(bits.view(np.float32), GGMLQuantizationType.BF16).view(np.uint16)
    number = ~np.isnan(bits.view(np.float32))
    assert (reference("f16", bits).view(np.uint16) == f16)[number].all()  # the quantiser refuses the rest
    assert (reference("bf16", bits).view(np.uint16) == bf16).all()
    print("digest encode f16", digest(f16))
    print("digest encode bf16", digest(bf16))


def decodes():
    u8, u16 = np.arange(256, dtype=np.uint8), np.arange(65536, dtype=np.uint16)
    r = splitmix(7, 8192)
# doubles within the range of float and around its ends; every fourth exactly between two floats
    exponent = np.uint64(863) + (r >> np.uint64(52)) % np.uint64(320)
    f64 = (r & np.uint64(1 << 63)) | (exponent << np.uint64(52)) | (r & np.uint64((1 << 52) - 1))
    f64[::4] = (f64[::4] & ~np.uint64((1 << 29) - 1)) | np.uint64(1 << 28)
    edges = [0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF0000000000001, 0xFFF8000020000000, 0x36A0000000000000,
             0x36A0000000000001, 0x47EFFFFFF0000000, 0x47EFFFFFEFFFFFFF]
    f64 = np.concatenate([f64, np.array(edges, dtype=np.uint64)])
    u32 = r.view(np.uint32)
    cases = [("F8_E4M3", u8, torch.float8_e4m3fn), ("F8_E5M2", u8, torch.float8_e5m2),
             ("F8_E8M0", u8, torch.float8_e8m0fnu), ("F8_E4M3FNUZ", u8, torch.float8_e4m3fnuz),
             ("F8_E5M2FNUZ", u8, torch.float8_e5m2fnuz), ("BOOL", u8, torch.bool), ("U8", u8, torch.uint8),
             ("I8", u8, torch.int8), ("BF16", u16, torch.bfloat16), ("I16", u16, torch.int16),
             ("U16", u16, torch.uint16), ("I32", u32, torch.int32), ("U32", u32, torch.uint32),
             ("F32", u32, torch.float32), ("I64", r, torch.int64), ("U64", r, torch.uint64),
             ("F64", f64, torch.float64)]
    for name, source, dtype in cases:
        out = torch.from_numpy(source.copy().view(np.uint8)).view(dtype).to(torch.float32).numpy()
        if source is u8:
            print("decode", name, "all", out.tobytes().hex())
        else:
            print("digest decode", name, digest(out))
    print("digest decode F16", digest(u16.view(np.float16).astype(np.float32)))


def validations():
    for name, offsets in (("f32", (2,)), ("f16", (0,)), ("bf16", (0,)), ("q8_0", (0, 2)), ("q5_0", (0,)),
                          ("q5_1", (0, 2)), ("q4_K", (0, 2, 4)), ("q5_K", (0, 2, 4)), ("q6_K", (208, 0, 192))):
        number, _, size = TYPES[name]
        for offset in offsets:
            block, refused = np.zeros(size, dtype=np.uint8), np.zeros(65536, dtype=np.uint8)
            for pattern in range(65536):
                block[offset:offset + 2] = np.frombuffer(pattern.to_bytes(2, "little"), dtype=np.uint8)
                refused[pattern] = not ggml.ggml_validate_row_data(number, block.ctypes.data, size)
            print("validate", name, offset, digest(refused))


encodes()
casts()
decodes()
errors = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the reference reports each refusal
try:
    validations()
finally:
    os.dup2(errors, 2)
