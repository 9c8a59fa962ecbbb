#!/usr/bin/env python3
"""Makes the small, real-shaped model folders that the tests convert: deterministic, by name.

Usage: make_model.py --list | make_model.py CASE DIR     prints the path of the model folder.

The cases are in cases.py. Those that need a published tokenizer are skipped where it is absent (real_tokenizers.py).
"""

import hashlib
import pathlib
import shutil
import sys

import numpy as np

from cases import CASES
from families import encode, sample, tokenizer_files, weights, write_files


def split(tensors, dtype, shards):
    """Groups of names, in the model's order, of about equal size."""
    size = {
        name: sample.ITEM_BYTES[dtype(name)] * int(np.prod(shape, dtype=np.int64))
        for name, shape in tensors.items()
    }
    total, done, groups = sum(size.values()), 0, [[] for _ in range(shards)]
    for name in tensors:
        groups[min(shards - 1, done * shards // max(total, 1))].append(name)
        done += size[name]
    return [group for group in groups if group]


def make(name, root):
    """Writes case name under the folder root and returns the path of the model folder."""
    case = CASES[name]
    files = {"config.json": case.config, **tokenizer_files(case.tokenizer)}
    files.update(case.files)
    root = pathlib.Path(root)
    folder = root / case.folder
    if root.exists():
        shutil.rmtree(root)
    folder.mkdir(parents=True)
    write_files(folder, files)

    groups = split(case.tensors, case.dtype, abs(case.shards))
    shard_names = ["model-%05d-of-%05d.safetensors" % (i + 1, len(groups)) for i in range(len(groups))]
    if case.shards == 1:
        shard_names = ["model.safetensors"]
    weight_map, total = {}, 0
    for shard, group in zip(shard_names, groups):
        header, order = sample.safetensors_header(
            {n: (case.dtype(n), case.tensors[n]) for n in group}, case.metadata
        )
        with open(folder / shard, "wb") as out:
            out.write(header)
            for tensor in order:
                data = encode(weights(tensor, case.tensors[tensor], case.wild), case.dtype(tensor))
                total += len(data)
                out.write(data)
        weight_map.update(dict.fromkeys(group, shard))
    if case.shards != 1:
        (folder / "model.safetensors.index.json").write_bytes(
            sample.dumps({"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})
        )
    if case.change:
        case.change(folder)
    return link_as_cache(root, folder) if case.blobs else folder


def link_as_cache(root, folder):
    """As the Hugging Face hub's cache lays it out: blobs named by their hash, a snapshot of symbolic links."""
    base = root / "models--some-org--Some-Model"
    snapshot = base / "snapshots" / folder.name
    snapshot.mkdir(parents=True)
    (base / "blobs").mkdir()
    for file in sorted(folder.iterdir()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        file.rename(base / "blobs" / digest)
        (snapshot / file.name).symlink_to(pathlib.Path("../../blobs") / digest)
    folder.rmdir()
    return snapshot


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
    elif len(sys.argv) == 3 and sys.argv[1] in CASES:
        print(make(sys.argv[1], sys.argv[2]))
    else:
        sys.exit(__doc__.strip())
