"""Damaged safetensors headers by the thousand: weightfs takes those that the library takes, and reads the same in them."""

import json
import os
import random
import struct
import subprocess

import pytest

import rig

safetensors = pytest.importorskip("safetensors")

BINARY = os.environ.get("WEIGHTFS_DUMP_HEADERS") or rig.BIN.parents[1] / "tests" / "unit" / "dump_headers"
BITS = {"F32": 32, "F16": 16, "BF16": 16, "U8": 8, "I64": 64, "BOOL": 8, "F8_E4M3": 8, "F4": 4, "F6_E2M3": 6, "C64": 64,
        "F64": 64, "U16": 16, "F8_E8M0": 8}
PIECES = [b'"', b",", b":", b"{", b"}", b"[", b"]", b"0", b"1", b"-", b".", b"e", b"null", b"true", b" ", b"\n", b"\\",
          b"\\u0041", b"\\u0000", b"\\ud800", b"\xff", b"\x00", b'"dtype"', b'"shape"', b"F32", b"-0", b"1.0", b"00",
          b"18446744073709551615", b"18446744073709551616", b'"__metadata__":{},', b'"__metadata__":{"a":"b"},', b"4",
          b"8"]


def sound(chance):
    header, end = {}, 0
    if chance.random() < 0.3:
        header["__metadata__"] = {"format": "pt"}
    for i in range(chance.randint(0, 4)):
        dtype = chance.choice(list(BITS))
        shape = [chance.choice([0, 1, 2, 3, 4, 8]) for _ in range(chance.randint(0, 3))]
        size = BITS[dtype]
        for dim in shape:
            size *= dim
        size = (size + 7) // 8
        name = chance.choice(["a", "b.c", "\u00e9", "x\n", 'q"', "\\", "n\0", ""]) + str(i)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, ensure_ascii=chance.random() < 0.5, separators=chance.choice([(",", ":"), (", ", ": ")]))
    return text.encode() + b" " * chance.choice([0, 0, 1, 7]), bytes(end)


def damage(chance, text, data):
    kind = chance.random()
    at = chance.randrange(len(text) + 1)
    if kind < 0.25:
        return text[:at] + text[at + 1:], data
    if kind < 0.6:
        return text[:at] + chance.choice(PIECES) + text[at:], data
    if kind < 0.8:
        return text[:at] + chance.choice(PIECES) + text[at + chance.randint(1, 6):], data
    if kind < 0.9:
        return text, data + b"x" if chance.random() < 0.5 else data[:-1]
    if at < len(text):
        return text[:at] + bytes([text[at] ^ 1 << chance.randrange(8)]) + text[at + 1:], data
    return text, data


def has_duplicate_keys(body):
    def check(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)
    try:
        json.loads(body[8:8 + struct.unpack("<Q", body[:8])[0]], object_pairs_hook=check)
    except AssertionError:
        return True
    return False


def library_reads(body):
    try:
        return {name: (t["dtype"], t["shape"], len(t["data"])) for name, t in safetensors.deserialize(body)}
    except Exception:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_takes_what_the_library_takes(seed):
    chance = random.Random(seed)
    bodies = []
    for _ in range(5000):
        text, data = sound(chance)
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
            text, data = damage(chance, text, data)
        bodies.append(struct.pack("<Q", len(text)) + text + data)
    lines = subprocess.run([BINARY], input=b"".join(struct.pack("<I", len(b)) + b for b in bodies), check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\n")
    assert len(lines) == len(bodies) + 1
    taken = 0
    for body, line in zip(bodies, lines):
        want = library_reads(body)
        if want is None or has_duplicate_keys(body):
            assert line.startswith("no "), body
            continue
        assert line.startswith("ok "), (body, line)
        got = {name: (dtype, shape, size) for name, dtype, _, size, shape in json.loads(line[3:])}
        assert got == want, body
        taken += 1
    assert 500 < taken < 4500  # the damage leaves enough of both
