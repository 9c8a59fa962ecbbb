"""Broken and hostile folders: what cannot be offered is withheld, with a reason that names file, tensor and cause."""

import errno
import json
import os
import re
import struct

import pytest
import rig

import cases


def read_header(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def write(path, header, data, pad=True):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def edit(change):
    """A case that edits the header of model.safetensors: change(header, data) -> (header, data)."""

    def apply(source):
        path = source / "model.safetensors"
        write(path, *change(*read_header(path)))

    return apply


def tensor(header, **values):
    header["model.layers.0.mlp.up_proj.weight"].update(values)
    return header


UP = "model.layers.0.mlp.up_proj.weight"


def header_past_end(source):
    path = source / "model.safetensors"
    raw = path.read_bytes()
    path.write_bytes(struct.pack("<Q", len(raw) * 2) + raw[8:])


def header_over_limit(source):
    path = source / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 100_000_001) + path.read_bytes()[8:])
    os.truncate(path, 150_000_000)  # sparse: the header is in the file, but over what safetensors takes


def overlap(header, data):
    a, b = header[UP]["data_offsets"]
    return tensor(header, data_offsets=[a - 8, b - 8]), data


def hole(header, data):
    shifted = {}
    begin = header[UP]["data_offsets"][0]
    for name, entry in header.items():
        if name != "__metadata__" and entry["data_offsets"][0] >= begin:
            entry = {**entry, "data_offsets": [at + 16 for at in entry["data_offsets"]]}
        shifted[name] = entry
    return shifted, data[:begin] + bytes(16) + data[begin:]


def duplicate(header, data):
    text = json.dumps(header, separators=(",", ":"))
    return text[:-1].encode() + b',"%s":%s}' % (UP.encode(), json.dumps(header[UP]).encode()), data


def not_utf8(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    return text.replace(b"up_proj", b"up_pr\xff\xfe"), data


def truncate(source):
    path = source / "model.safetensors"
    os.truncate(path, path.stat().st_size - 1234)


def lfs_pointer(source):
    (source / "model.safetensors").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 123456789\n"
    )


# name: (what is done, what the message must say, whether model.safetensors is withheld too)
SINGLE = {
    "header-past-end": (header_past_end, r"header of \d+ bytes is longer than the file"),
    "header-over-limit": (header_over_limit, r"header of 100000001 bytes, more than the limit"),
    "offsets-overlap": (edit(overlap), r"overlap"),
    "offsets-leave-a-hole": (edit(hole), re.escape(UP) + r".*hole of 16 bytes"),
    "offsets-overflow": (edit(lambda h, d: (tensor(h, data_offsets=[0, (1 << 64) - 1]), d)), re.escape(UP)),
    "offsets-past-64-bits": (
        edit(lambda h, d: (tensor(h, data_offsets=[0, 1 << 70]), d)),
        re.escape(UP) + r".*data_offsets",
    ),
    "offsets-negative": (
        edit(lambda h, d: (tensor(h, data_offsets=[-8, 8]), d)),
        re.escape(UP) + r".*data_offsets",
    ),
    "offsets-backwards": (
        edit(lambda h, d: (tensor(h, data_offsets=[64, 0]), d)),
        re.escape(UP) + r".*before they begin",
    ),
    "offsets-float": (edit(lambda h, d: (tensor(h, data_offsets=[0.5, 8]), d)), re.escape(UP) + r".*data_offsets"),
    "shape-disagrees": (
        edit(lambda h, d: (tensor(h, shape=[3, 5]), d)),
        re.escape(UP) + r".*shape and dtype take 30 bytes",
    ),
    "shape-overflows": (
        edit(lambda h, d: (tensor(h, shape=[1 << 40, 1 << 40]), d)),
        re.escape(UP) + r".*overflows",
    ),
    "shape-negative": (edit(lambda h, d: (tensor(h, shape=[-1, 4]), d)), re.escape(UP) + r".*dimension"),
    "unknown-dtype": (edit(lambda h, d: (tensor(h, dtype="Q9"), d)), re.escape(UP) + r".*unknown dtype \"Q9\""),
    "duplicate-name": (
        edit(duplicate),
        r"(duplicate|twice|repeated|more than once).*"
        + re.escape(UP)
        + "|"
        + re.escape(UP)
        + r".*(duplicate|twice|repeated|more than once)",
    ),
    "not-utf8": (edit(not_utf8), r"UTF-8"),
    "byte-order-mark": (
        edit(lambda h, d: (b"\xef\xbb\xbf" + json.dumps(h).encode(), d)),
        r"(BOM|byte order mark|JSON|expected)",
    ),
    "header-is-a-list": (edit(lambda h, d: (b"[]", d)), r"not a JSON object"),
    "header-is-not-json": (edit(lambda h, d: (b"{'a': 1}", d)), r"header: line 1 column 2"),
    "header-is-deep": (edit(lambda h, d: (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", d)), r"deep|nest|level"),
    "entry-is-no-object": (edit(lambda h, d: ({**h, UP: 7}, d)), re.escape(UP) + r".*not an object"),
    "metadata-is-no-string": (edit(lambda h, d: ({**h, "__metadata__": {"format": 7}}, d)), r"__metadata__"),
    "truncated": (truncate, r"truncated: 1234 bytes are missing"),
    "trailing-bytes": (edit(lambda h, d: (h, d + b"tail")), r"4 bytes of no tensor at the end"),
    "git-lfs-pointer": (lfs_pointer, r"Git LFS pointer"),
    "empty-file": (lambda source: (source / "model.safetensors").write_bytes(b""), r"0 bytes"),
    "seven-bytes": (lambda source: (source / "model.safetensors").write_bytes(b"1234567"), r"7 bytes"),
}

INDEX = "model.safetensors.index.json"


def edit_index(change):
    def apply(source):
        index = json.loads((source / INDEX).read_text())
        (source / INDEX).write_text(json.dumps(change(index) or index))

    return apply


def first_shard(source):
    return sorted(source.glob("model-*.safetensors"))[0]


def shorten_shard(source):
    os.truncate(first_shard(source), first_shard(source).stat().st_size - 999)


def remove_shard(source):
    first_shard(source).unlink()


def names(value):
    def change(index):
        index["weight_map"]["model.norm.weight"] = value

    return edit_index(change)


SHARDS = {
    "truncated-shard": (shorten_shard, r"model-00001-of-00002\.safetensors.*truncated: 999 bytes are missing"),
    "absent-shard": (remove_shard, r"model-00001-of-00002\.safetensors"),
    "index-climbs": (
        names("../model-00002-of-00002.safetensors"),
        INDEX.replace(".", r"\.") + r".*model\.norm\.weight.*\.\./",
    ),
    "index-absolute": (names("/etc/passwd"), INDEX.replace(".", r"\.") + r".*/etc/passwd"),
    "index-not-a-string": (names(7), INDEX.replace(".", r"\.") + r".*not a string"),
    "index-not-json": (lambda source: (source / INDEX).write_text("{"), INDEX.replace(".", r"\.")),
    "index-without-map": (lambda source: (source / INDEX).write_text("{}"), r"weight_map"),
    "index-names-absent-tensor": (
        edit_index(lambda i: i["weight_map"].update({"no.such.tensor": "model-00001-of-00002.safetensors"})),
        r"no\.such\.tensor",
    ),
    "shard-is-a-fifo": (
        lambda source: (remove_shard(source), os.mkfifo(source / "model-00001-of-00002.safetensors")),
        r"model-00001-of-00002\.safetensors",
    ),
}


def withheld(source, *views):
    """What ls says of these views, and that ls --json says the same."""
    listing = rig.weightfs("ls", "--all", source, check=False, timeout=20)
    text = listing.out + listing.err
    told = json.loads(rig.weightfs("ls", "--json", source, check=False, timeout=20).out)
    offered, reasons = ({view["path"]: view for view in told[key]} for key in ("views", "withheld"))
    for view in views:
        assert view in text, listing
        assert view in reasons and view not in offered
        assert reasons[view]["reason"].strip()
    return text


def check_broken(source, tmp_path, pattern, absent, file):
    said = withheld(source, *absent)
    assert re.search(pattern, said), said
    assert file in said, said
    lines = [line for line in said.splitlines() if re.search(pattern, line)]
    assert 1 <= len(lines) <= 12, said
    for view in absent:
        run = rig.weightfs("export", source, view, "-o", tmp_path / "out", code=1)
        assert re.search(pattern, run.err), run
        assert not (tmp_path / "out").exists()
    log = tmp_path / "the.log"
    with rig.mounted(source, tmp_path / "mnt", log=log) as mnt:
        for view in absent:
            with pytest.raises(OSError) as caught:
                os.stat(mnt / view)
            assert caught.value.errno == errno.ENOENT
            assert view not in os.listdir(mnt)
        assert (mnt / "config.json").read_bytes() == (source / "config.json").read_bytes()
        status = (mnt / ".weightfs/status.json").read_text()
        json.loads(status)
        assert re.search(pattern, json.dumps(json.loads(status), ensure_ascii=False).replace('\\"', '"')), status
    assert len([line for line in log.read_text().splitlines() if re.search(pattern, line)]) >= 1, log.read_text()
    assert len(log.read_text().splitlines()) < 30


GGUFS = ["model-f32.gguf", "model-f16.gguf", "model-bf16.gguf", "model-q8_0.gguf", "model-q4_k_m.gguf"]


@pytest.mark.parametrize("name", SINGLE)
def test_broken_file(own, tmp_path, name):
    source = own("no-metadata")
    change, pattern = SINGLE[name]
    change(source)
    if name != "duplicate-name":  # safetensors takes the last of two; which one was meant nobody can tell
        from safetensors import SafetensorError, safe_open

        with pytest.raises(SafetensorError):
            safe_open(source / "model.safetensors", "np")
    check_broken(source, tmp_path, pattern, ["model.safetensors", *GGUFS], "model.safetensors")


@pytest.mark.parametrize("name", SHARDS)
def test_broken_shards(own, tmp_path, name):
    source = own("tensor-in-two-shards")
    change, pattern = SHARDS[name]
    change(source)
    check_broken(source, tmp_path, pattern, ["model.safetensors", *GGUFS], "model")


def test_views_that_do_not_need_the_broken_shard_stay(own, tmp_path):
    source = own("llama2-12-layers")
    shard = sorted(source.glob("model-*.safetensors"))[-1]
    os.truncate(shard, shard.stat().st_size - 7)
    lost = set(read_names(shard))
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        names = {name[:-4] for name in os.listdir(mnt / "tensors") if not name.endswith(".u2.npy")}
        index = json.loads((source / INDEX).read_text())["weight_map"]
        assert names == set(index) - lost
        assert (mnt / "tensors" / "model.embed_tokens.weight.npy").read_bytes()[:6] == b"\x93NUMPY"


def read_names(shard):
    raw = shard.read_bytes()
    return [name for name in json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")]) if name != "__metadata__"]


def test_an_empty_and_a_scalar_tensor(own, tmp_path):
    import numpy as np

    source = own("no-metadata")
    path = source / "model.safetensors"
    header, data = read_header(path)
    header["a.scalar"] = {"dtype": "F32", "shape": [], "data_offsets": [len(data), len(data) + 4]}
    header["an.empty"] = {"dtype": "F32", "shape": [0, 7], "data_offsets": [len(data) + 4, len(data) + 4]}
    write(path, header, data + struct.pack("<f", 2.5))
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert (mnt / "model.safetensors").read_bytes() == path.read_bytes()
        scalar = np.load(mnt / "tensors/a.scalar.npy")
        assert scalar.shape == () and scalar == 2.5
        empty = np.load(mnt / "tensors/an.empty.npy")
        assert empty.shape == (0, 7) and empty.dtype == np.float32
        assert not (mnt / "model-f16.gguf").exists()  # the converter cannot map these names
    assert "a.scalar" in rig.weightfs("ls", source, check=False).out


NAMES = [
    "plain.name-1_2",
    "with space",
    "ümlaut/中",
    "../../etc/passwd",
    "/abs",
    ".hidden",
    "..",
    "per%cent",
    "tab\there",
    "new\nline",
    "x" * 250,
    "x" * 251 + "a",
    "x" * 251 + "b",
    "é" * 200,
    "twin",
    "twin.u2",
    "del\x7f",
    "a\u0000b",
    "\u202eright-to-left",
    "esc\x1b[31m",
]


def test_names_of_tensors_become_safe_file_names(own, tmp_path):
    import numpy as np

    source = own("no-metadata")
    data = np.arange(len(NAMES) * 4, dtype="<u2").tobytes()
    header = {
        name: {"dtype": "BF16", "shape": [4], "data_offsets": [8 * i, 8 * i + 8]} for i, name in enumerate(NAMES)
    }
    write(source / "model.safetensors", header, data)
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        found = os.listdir(mnt / "tensors")
        assert len(found) == len(set(found)) == 2 * len(NAMES)
        for name in found:
            assert (
                len(os.fsencode(name)) <= 255
                and not name.startswith(".")
                and not re.search(r"[\x00-\x1f\x7f/]", name)
            ), name
        for name in ("plain.name-1_2", "with space", "twin", "\u202eright-to-left"):
            if name[0] != "\u202e":
                assert name + ".npy" in found and name + ".u2.npy" in found
        for name in (
            "ümlaut%2F中.npy",
            "%2E%2E%2F..%2Fetc%2Fpasswd.npy",
            "per%25cent.npy",
            "%2Ehidden.npy",
            "new%0Aline.npy",
            "esc%1B[31m.npy",
        ):
            alike = [entry for entry in found if entry == name]
            assert alike or name.startswith("%2E%2E"), (name, found)
        bits = sorted(
            tuple(np.load(mnt / "tensors" / name))
            for name in found
            if name.endswith(".u2.npy") and np.load(mnt / "tensors" / name).dtype == np.uint16
        )
        assert len(bits) == len(NAMES) and bits == sorted(tuple(range(4 * i, 4 * i + 4)) for i in range(len(NAMES)))
        text = (mnt / ".weightfs/status.json").read_text()
        json.loads(text)
    listing = rig.weightfs("ls", source, check=False)
    assert "\x1b" not in listing.out + listing.err


def test_control_bytes_in_messages_are_escaped(own, tmp_path):
    source = own("no-metadata")
    header, data = read_header(source / "model.safetensors")
    header["evil\x1b[2J\nname"] = {"dtype": "Q9", "shape": [1], "data_offsets": [0, 1]}
    write(source / "model.safetensors", header, data)
    run = rig.weightfs("ls", source, check=False)
    assert "\x1b" not in run.out + run.err and "evil" in run.out + run.err
    run = rig.weightfs("export", source, "model-f16.gguf", "-o", tmp_path / "x", code=1)
    assert "\x1b" not in run.err


def test_consolidated_beside_shards(own, tmp_path):
    """Mistral's folders hold the same weights twice: the shards of the index count, consolidated.safetensors is a plain file."""
    source = own("mistral")
    write(
        source / "consolidated.safetensors", {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"abcd"
    )
    wanted = rig.export_hash(make_clean(source, tmp_path), "model.safetensors")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert rig.file_hash(mnt / "model.safetensors") == wanted
        assert (mnt / "consolidated.safetensors").read_bytes() == (source / "consolidated.safetensors").read_bytes()
        assert (mnt / "model-bf16.gguf").exists()


def make_clean(source, tmp_path):
    import shutil

    clean = tmp_path / "clean" / source.name
    shutil.copytree(source, clean, ignore=shutil.ignore_patterns("consolidated*"))
    return clean


def test_a_tensor_in_two_shards_is_the_index_s(model, tmp_path):
    import numpy as np

    source = model("tensor-in-two-shards")
    weight_map = json.loads((source / INDEX).read_text())["weight_map"]
    header, data = read_header(source / weight_map["model.norm.weight"])
    begin, end = header["model.norm.weight"]["data_offsets"]
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert np.load(mnt / "tensors/model.norm.weight.u2.npy").tobytes() == data[begin:end]
        from safetensors import safe_open

        with safe_open(mnt / "model.safetensors", "pt") as file:
            import torch

            assert file.get_tensor("model.norm.weight").view(torch.uint8).numpy().tobytes() == data[begin:end]


REFUSED = {  # case of make_model.py: (what the message names, the views that stay)
    "no-tokenizer": r"tokenizer",
    "unknown-tensor": r"model\.layers\.0\.mlp\.extra\.weight",
    "same-gguf-name": r"output\.weight",
    "unknown-pre": r"\\p\{N\}\{1,2\}.*pretokenizer=|pretokenizer=.*\\p\{N\}\{1,2\}",
    "unknown-arch": r"NobodyForCausalLM",
    "layers-past-count": r"model\.layers\.0\.",
    "token-past-vocab": r"vocab",
    "scalar-tensor": r"q_proj\.extra",
    "odd-head-rows": r"q_proj|k_proj|head",
    "bad-rope-type": r"factor",
    "card-broken": r"README\.md",
    "card-uuid-number": r"README\.md.*uuid|uuid.*README\.md",
    "missing-tensor-in-index": r"model\.norm\.weight",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_reference_refuses_is_withheld_with_its_reason(model, tmp_path, name):
    source = model(name)
    said = withheld(source, "model-f16.gguf").replace("\\\\", "\\")
    assert re.search(REFUSED[name], said), said
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert not [entry for entry in os.listdir(mnt) if entry.endswith(".gguf")]
        if name != "missing-tensor-in-index":
            assert (mnt / "model.safetensors").stat().st_size > 0
            assert len(os.listdir(mnt / "tensors")) > 10


def test_a_forced_pretokenizer(model):
    import gguf

    source = model("unknown-pre")
    data = rig.export(source, "model-bf16.gguf", "--pretokenizer=gpt-2")
    assert data[:4] == b"GGUF" and b"gpt-2" in data[:4000]
    assert gguf
    run = rig.weightfs("export", source, "model-bf16.gguf", "--pretokenizer=no-such-name", "-o", "-", check=False)
    assert run.code in (1, 2) and "no-such-name" in run.err


@pytest.mark.parametrize(
    "case,view,bad",
    [
        ("nan", "model-q8_0.gguf", "nan"),
        ("nan", "model-q4_k_m.gguf", "nan"),
        ("inf-f16", "model-q4_k_m.gguf", "inf"),
        ("huge-f32", "model-q8_0.gguf", "inf"),
        ("huge", "model-q4_k_m.gguf", ""),
    ],
)
def test_a_value_that_the_reference_refuses(model, tmp_path, case, view, bad):
    """EIO on the tile, a failed export without a half file, SIGBUS for mmap; once in the log, with the tensor's name."""
    source = model(case)
    out = tmp_path / "out.gguf"
    run = rig.weightfs("export", source, view, "-o", out, code=1)
    assert UP in run.err and bad in run.err.lower(), run
    assert os.listdir(tmp_path) == []
    log = tmp_path / "the.log"
    with rig.mounted(source, tmp_path / "mnt", log=log) as mnt:
        assert (mnt / view).stat().st_size > 0
        for _ in range(3):
            with pytest.raises(OSError) as caught:
                rig.file_hash(mnt / view)
            assert caught.value.errno == errno.EIO
        script = "import mmap,sys; f=open(sys.argv[1],'rb'); m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ); sum(m[i] for i in range(0,len(m),4096))"
        import subprocess
        import sys
        import signal

        assert subprocess.run([sys.executable, "-c", script, mnt / view]).returncode == -signal.SIGBUS
        with open(mnt / view, "rb") as file:  # what does not need the bad value is there
            assert file.read(4) == b"GGUF"
        assert rig.file_hash(mnt / "model.safetensors")[0]
    lines = [line for line in log.read_text().splitlines() if UP in line and view in line]
    assert len(lines) == 1, log.read_text()


CONFIGS = {
    "config-not-json": ("config.json", b"{", "config.json"),
    "config-not-utf8": ("config.json", b'{"a": "\xff"}', "config.json"),
    "config-is-a-list": ("config.json", b"[]", "config.json"),
    "config-empty": ("config.json", b"", "config.json"),
    "tokenizer-not-a-model": ("tokenizer.model", b"\xff" * 1000, "tokenizer.model"),
    "tokenizer-empty": ("tokenizer.model", b"", "tokenizer.model"),
    "tokenizer-config-not-json": ("tokenizer_config.json", b"nope", "tokenizer_config.json"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_broken_small_files_withhold_the_gguf_views_only(own, tmp_path, name):
    source = own("no-metadata")
    file, data, pattern = CONFIGS[name]
    (source / file).write_bytes(data)
    said = withheld(source, "model-f16.gguf")
    assert re.search(re.escape(pattern), said), said
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert not (mnt / "model-f16.gguf").exists()
        assert (mnt / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
        assert (mnt / file).read_bytes() == data


def test_huge_counts_in_config_do_not_hang(own):
    for values in (
        {"num_hidden_layers": 1 << 40},
        {"num_attention_heads": 0},
        {"hidden_size": -5},
        {"vocab_size": 1 << 50},
        {"num_hidden_layers": "two"},
        {"vocab_size": 1e300},
        {"head_dim": []},
        {"rope_theta": "x"},
    ):
        source = own("no-metadata", "counts-%s" % "-".join(values) + str(abs(hash(str(values)))))
        cases.set_config(**values)(source)
        rig.weightfs("ls", source, check=False, timeout=20)
