#!/usr/bin/env python3
"""Writes kernels.txt, what the reference makes of inputs that the kernels' unit tests can make again.

The block types come from ggml_quantize_chunk, to_float and ggml_validate_row_data of the reference's libggml-base.so,
the 16-bit casts from numpy and gguf-py (the converter's way), the decodes from torch (F16: from numpy, as in the
converter).

Run it with the python of the test environment (tests/interop/environment), a minute:
    $CACHE/venv/bin/python tests/vectors/make_kernels.py > tests/vectors/kernels.txt

Lines (digests are XXH3_64 in 16 digits, or its lower 32 bits in 8):
    type NAME NUMBER BLOCK_ELEMS BLOCK_BYTES plain|- weighted|- OFFSET/MASK...
        whether it is made without weights, whether weights count, and where its scales are: with all bits of MASK set
        at OFFSET a block may hold an infinity or a NaN; without MASK's top bit it does not
    encode TYPE KIND DIGEST...         (8 digits) one row of 512 values of a kind, a digest for each kind of weights; "-":
        the reference aborts, crashes, or gives different bytes in different runs; "!": the blocks hold an infinity or
        a NaN, which the reference's validation refuses
    rows TYPE DIGEST...                (8 digits) the same for four rows of 4096
    hex TYPE WEIGHTS HEX               all bytes of kind random, to see what differs
    dequantize TYPE DIGEST             of random blocks without infinities and NaNs
    refused TYPE DIGEST                of one byte for each of 65536 random blocks, 1 where it is refused
    validate TYPE OFFSET FILL DIGEST   the same where all bytes are FILL, but a 16-bit pattern at OFFSET
    decode DTYPE all HEX, digest WHAT NAME DIGEST

Inputs: random numbers are splitmix64 from the seed 1000 + index of the kind (weights: 2000 + index, rows: 3000, blocks:
4000); a value "v" is the sum of a number's four 16-bit parts minus 131070, so near normal with deviation 37837, and
exact in a float. The kinds are listed twice, here and in tests/unit/kernel_inputs.h.
"""
import ctypes
import os
import sys

os.environ.update(GGML_NO_BACKTRACE="1", OMP_NUM_THREADS="1")  # threads do not outlive a fork

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



class Traits(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleave", ctypes.c_int64),
                ("size", ctypes.c_size_t), ("quantized", ctypes.c_bool),
                ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64))]


ggml.ggml_get_type_traits.restype = ctypes.POINTER(Traits)
ggml.ggml_quantize_requires_imatrix.restype = ctypes.c_bool

# Our types: where their scales are, and the bits of the exponent there.
HALF = 0x7C00
SCALES = {"f32": [], "f16": [], "q4_0": [(0, HALF)], "q4_1": [(0, HALF), (2, HALF)], "q5_0": [(0, HALF)],
          "q5_1": [(0, HALF), (2, HALF)], "q8_0": [(0, HALF)], "q2_K": [(80, HALF), (82, HALF)],
          "q3_K": [(108, HALF)], "q4_K": [(0, HALF), (2, HALF)], "q5_K": [(0, HALF), (2, HALF)],
          "q6_K": [(208, HALF)], "iq2_xxs": [(0, HALF)], "iq2_xs": [(0, HALF)], "iq3_xxs": [(0, HALF)],
          "iq1_s": [(0, HALF)], "iq4_nl": [(0, HALF)], "iq3_s": [(0, HALF)], "iq2_s": [(0, HALF)],
          "iq4_xs": [(0, HALF)], "iq1_m": [(54, 0x7000)], "bf16": [], "tq1_0": [(52, HALF)], "tq2_0": [(64, HALF)],
          "mxfp4": [(0, 0x00FF)], "nvfp4": [], "q1_0": [(0, HALF)], "q2_0": [(0, HALF)]}
PLAIN = ("f32", "f16", "bf16")
TYPES = {}  # name: number, elements and bytes of a block, in the order of the numbers
for number in range(43):
    traits = ggml.ggml_get_type_traits(number).contents
    if traits.name and traits.name.decode() in SCALES:
        TYPES[traits.name.decode()] = (number, traits.block, traits.size)
    ggml.ggml_quantize_init(number)
assert TYPES.keys() == SCALES.keys()
N = 512  # values of a kind: two superblocks
ROW, ROWS = 4096, 4
BLOCKS = 65536  # random ones


def splitmix(seed, n):
    """n numbers of splitmix64 (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, n + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


KINDS = ["random", "zero", "constant", "negative_constant", "denormal", "huge", "outlier", "signed_zeros", "as_bf16",
         "as_f16", "alternating", "ramp", "near_eps", "scales", "positive", "negative", "offset", "lowest", "tiny",
         "squares_overflow", "sparse", "infinity", "nan"]


WEIGHTS = ["none", "random", "zero", "one_hot", "huge", "tiny", "constant", "squares", "spread", "signed", "not_finite"]


def normal(r):
    return sum(((r >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.int64) for k in range(4)) - 131070


def weights(name, n):
    """n importance weights of a kind, None for none."""
    if name == "none":
        return None
    r = splitmix(2000 + WEIGHTS.index(name), n)
    i = np.arange(n)
    p = lambda e: np.float32(2.0 ** e)
    u = (r >> np.uint64(40)).astype(np.float32) * p(-24)
    if name == "zero":
        u = np.zeros(n, dtype=np.float32)
    elif name == "one_hot":
        u = (i % 256 == 37).astype(np.float32)
    elif name == "huge":
        u = u * p(120)
    elif name == "tiny":
        u = u * p(-140)
    elif name == "constant":
        u = np.full(n, 0.5, dtype=np.float32)
    elif name == "squares":
        x = normal(r).astype(np.float32) * p(-16)
        u = x * x
    elif name == "spread":
        u = u * np.exp2(-(i % 64).astype(np.float32)).astype(np.float32)
    elif name == "signed":
        u = u - np.float32(0.5)
    elif name == "not_finite":
        u[i % 512 == 37], u[i % 512 == 300] = np.float32(np.nan), np.float32(np.inf)
    assert u.dtype == np.float32
    return u


def rows():
    """ROWS rows as a model has them, with outliers in the second, a half of zeros in the third, the last one bf16."""
    f = normal(splitmix(3000, ROW * ROWS)).astype(np.float32) * np.float32(2.0 ** -21)
    f[ROW:2 * ROW:777] = 64
    f[2 * ROW:2 * ROW + ROW // 2] = 0
    b = f.view(np.uint32)
    b[3 * ROW:] = (b[3 * ROW:] + np.uint32(0x7FFF) + ((b[3 * ROW:] >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return b


def kind(name):
    """N floats of a kind, as bits."""
    r = splitmix(1000 + KINDS.index(name), N)
    v = normal(r)
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


def reference(name, bits, w=None, n_rows=1):
    number, block, size = TYPES[name]
    out = np.zeros(len(bits) // block * size, dtype=np.uint8)
    bits = np.ascontiguousarray(bits)
    done = ggml.ggml_quantize_chunk(number, bits.ctypes.data, out.ctypes.data, 0, n_rows, len(bits) // n_rows,
                                    None if w is None else w.ctypes.data)
    assert done == out.nbytes
    return out


def in_child(work):
    """What work() returns (bytes), from a process of its own; None if it died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with os.fdopen(writer, "wb") as out:
            out.write(work())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        result = file.read()
    return result if os.waitpid(pid, 0)[1] == 0 else None


def steady(name, bits, kinds, n_rows=1):
    """The bytes for each kind of weights, where two runs after different work agree; else None."""
    def run(first, which):
        reference(name, kind(first), weights("random", N)) if len(which) > 1 else None
        return b"".join(reference(name, bits, weights(w, len(bits) // n_rows), n_rows).tobytes() for w in which)
    size = len(bits) // TYPES[name][1] * TYPES[name][2]
    one, two = in_child(lambda: run("random", kinds)), in_child(lambda: run("huge", kinds[::-1]))
    if one is None or two is None:  # one by one, to see which
        return [None] if len(kinds) == 1 else [steady(name, bits, [w], n_rows)[0] for w in kinds]
    one, two = ([all[i:i + size] for i in range(0, len(all), size)] for all in (one, two))
    return [a if a == b else None for a, b in zip(one, two[::-1])]


def encodes():
    for name, (number, block, size) in TYPES.items():
        if name in PLAIN:
            print("type", name, number, block, size, "plain", "-")
            continue
        plain, counts, lines = not ggml.ggml_quantize_requires_imatrix(number), False, []
        first = 0 if plain else 1
        for k in KINDS + ["rows"]:
            bits, n_rows = (rows(), ROWS) if k == "rows" else (kind(k), 1)
            got = [None] * first + steady(name, bits, WEIGHTS[first:], n_rows)
            counts |= not plain or any(g is not None and g != got[0] for g in got)
            head = "rows " + name if k == "rows" else "encode %s %s" % (name, k)
            lines.append(head + "".join(" " + (short(g) if accepts(name, g) else "!") if g else " -" for g in got))
        print("type", name, number, block, size, "plain" if plain else "-", "weighted" if counts else "-",
              *["%d/%04x" % scale for scale in SCALES[name]])
        print(*lines, sep="\n")
        for w in [["none"], ["random"]][not plain:1 + counts]:
            print("hex", name, w[0], reference(name, kind("random"), weights(w[0], N)).tobytes().hex(), flush=True)


def short(b):
    return digest(np.frombuffer(b, dtype=np.uint8))[8:]


def accepts(name, b):
    return ggml.ggml_validate_row_data(TYPES[name][0], b, len(b))


def blocks_of(name):
    """Random blocks."""
    size = TYPES[name][2]
    n = BLOCKS * size // 8
    return RANDOM[:n].view(np.uint8)[:BLOCKS * size].reshape(BLOCKS, size).copy()


def dequantizes():
    for name, (number, block, size) in TYPES.items():
        if name in PLAIN:
            continue
        blocks = blocks_of(name)[:BLOCKS // block]
        for offset, mask in SCALES[name]:
            scale = blocks[:, offset].astype(np.uint16) | blocks[:, offset + 1].astype(np.uint16) << np.uint16(8)
            scale[(scale & mask) == mask] &= ~np.uint16(1 << mask.bit_length() - 1)
            blocks[:, offset], blocks[:, offset + 1] = scale & np.uint16(255), scale >> np.uint16(8)
        blocks = np.ascontiguousarray(blocks)
        assert ggml.ggml_validate_row_data(number, blocks.ctypes.data, blocks.nbytes)
        out = np.zeros(len(blocks) * block, dtype=np.float32)
        ggml.ggml_get_type_traits(number).contents.to_float(blocks.ctypes.data, out.ctypes.data, out.size)
        assert not np.isnan(out).any(), name
        print("dequantize", name, digest(out))


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
    for name, (number, block, size) in TYPES.items():
        refuses = lambda p: not ggml.ggml_validate_row_data(number, p, size)
        scales = [2] if name == "f32" else [0] if name in PLAIN else [offset for offset, _ in SCALES[name]]
        for offset in scales + [size // 2][:size // 2 not in scales and size > 2]:
            for fill in (0, 255):
                blocks = np.full((BLOCKS, size), fill, dtype=np.uint8)
                blocks[:, offset], blocks[:, offset + 1] = np.arange(BLOCKS) & 255, np.arange(BLOCKS) >> 8
                start = blocks.ctypes.data
                refused = np.array([refuses(start + i * size) for i in range(BLOCKS)], dtype=np.uint8)
                assert fill or offset not in scales or name == "iq1_m" or refused.any()
                print("validate", name, offset, "%02x" % fill, digest(refused), flush=True)
        blocks = blocks_of(name)
        start = blocks.ctypes.data
        print("refused", name, digest(np.array([refuses(start + i * size) for i in range(BLOCKS)], dtype=np.uint8)))


RANDOM = splitmix(4000, BLOCKS * 216 // 8)

casts()
decodes()
sys.stdout.flush()
errors = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the reference reports each refusal
try:
    encodes()
    dequantizes()
    validations()
except BaseException:
    os.dup2(errors, 2)
    raise
