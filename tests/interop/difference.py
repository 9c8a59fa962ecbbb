"""Says where two GGUF files first differ, in terms of GGUF: a header key, a tensor's description, a tensor's data."""

import pathlib
import sys
import tempfile


def explain(wanted, export_to):
    with tempfile.TemporaryDirectory() as folder:
        got = pathlib.Path(folder) / "got.gguf"
        export_to(got)
        return compare(wanted, got)


def describe_field(field):
    value = field.contents()
    text = repr(value)
    return "%s %s" % ("/".join(kind.name for kind in field.types), text if len(text) < 300 else text[:300] + "…")


def compare(wanted_path, got_path):
    import gguf

    size = [pathlib.Path(path).stat().st_size for path in (wanted_path, got_path)]
    lines = [
        "sizes: wanted %d, got %d" % tuple(size),
        "first byte that differs: %s" % first_byte(wanted_path, got_path),
    ]
    try:
        wanted, got = gguf.GGUFReader(wanted_path), gguf.GGUFReader(got_path)
    except Exception as problem:
        return "\n".join(lines + ["cannot be read: %s" % problem])
    keys = [key for key in wanted.fields if not key.startswith("GGUF.")]
    other = [key for key in got.fields if not key.startswith("GGUF.")]
    for key in keys:
        if key not in other:
            lines.append("key missing: %s = %s" % (key, describe_field(wanted.fields[key])))
        else:
            a, b = wanted.fields[key], got.fields[key]
            if a.types != b.types:
                lines.append("key %s: wanted %s, got %s" % (key, describe_field(a), describe_field(b)))
            elif a.contents() != b.contents():
                lines.append("key %s: %s" % (key, describe_values(a.contents(), b.contents())))
    lines += ["key too much: %s = %s" % (key, describe_field(got.fields[key])) for key in other if key not in keys]
    if keys != other and sorted(keys) == sorted(other):
        at = next(i for i, (a, b) in enumerate(zip(keys, other)) if a != b)
        lines.append("order of keys: at %d wanted %s, got %s" % (at, keys[at], other[at]))
    lines += compare_tensors(wanted, got)
    return "\n".join(lines[:25])


def describe_values(a, b):
    if isinstance(a, list) and isinstance(b, list):
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        return "%d and %d values, first other at %d: wanted %.100r, got %.100r" % (
            len(a),
            len(b),
            at,
            a[at] if at < len(a) else None,
            b[at] if at < len(b) else None,
        )
    return "wanted %.300r, got %.300r" % (a, b)


def compare_tensors(wanted, got):
    lines = []
    names = [tensor.name for tensor in wanted.tensors]
    other = {tensor.name: tensor for tensor in got.tensors}
    if names != [tensor.name for tensor in got.tensors]:
        lines.append("tensors: wanted %s… got %s…" % (names[:6], list(other)[:6]))
    for tensor in wanted.tensors:
        twin = other.get(tensor.name)
        if twin is None:
            lines.append("tensor missing: " + tensor.name)
        elif (tensor.tensor_type, list(tensor.shape)) != (twin.tensor_type, list(twin.shape)):
            lines.append(
                "tensor %s: wanted %s %s, got %s %s"
                % (
                    tensor.name,
                    tensor.tensor_type.name,
                    list(tensor.shape),
                    twin.tensor_type.name,
                    list(twin.shape),
                )
            )
        elif tensor.data.tobytes() != twin.data.tobytes():
            a, b = tensor.data.tobytes(), twin.data.tobytes()
            bad = [i for i in range(len(a)) if a[i] != b[i]]
            lines.append(
                "tensor %s (%s %s): %d of %d bytes differ, first at %d: wanted %s, got %s"
                % (
                    tensor.name,
                    tensor.tensor_type.name,
                    list(tensor.shape),
                    len(bad),
                    len(a),
                    bad[0],
                    a[bad[0] : bad[0] + 8].hex(),
                    b[bad[0] : bad[0] + 8].hex(),
                )
            )
    return lines


def first_byte(a, b):
    with open(a, "rb") as left, open(b, "rb") as right:
        offset = 0
        while True:
            x, y = left.read(1 << 20), right.read(1 << 20)
            if x != y:
                return offset + next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
            if not x:
                return None
            offset += len(x)


if __name__ == "__main__":
    print(compare(*sys.argv[1:3]))
