"""The real clients, unmodified, on the mounted folder: they cannot tell the views from files on disk."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import rig

import make_model

os.environ["HF_HUB_OFFLINE"] = "1"

LOADABLE = [name for name, case in make_model.CASES.items() if case.loads]
MERGED = [
    "llama3-untied-5-shards",
    "mistral",
    "qwen3-norms",
    "mixed-dtypes",
    "llama2-json",
    "llama2-12-layers",
    "one-shard-index",
    "no-metadata",
    "nan",
]


@pytest.fixture(scope="module")
def mount(model, tmp_path_factory):
    """mount(case) -> (source, mountpoint); each stays until the module is done."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        done = {}

        def get(name):
            if name not in done:
                source = model(name)
                done[name] = source, stack.enter_context(
                    rig.mounted(source, tmp_path_factory.mktemp("clients") / name)
                )
            return done[name]

        yield get


def source_tensors(source):
    """{name: torch tensor} of all shards; where a tensor stands in two, the index decides."""
    from safetensors.torch import load_file

    index = source / "model.safetensors.index.json"
    if not index.exists():
        return load_file(source / "model.safetensors")
    tensors = {}
    weight_map = json.loads(index.read_text())["weight_map"]
    shards = {shard: load_file(source / shard) for shard in set(weight_map.values())}
    for name, shard in weight_map.items():
        tensors[name] = shards[shard][name]
    return tensors


def same(a, b):
    """Equal in every bit, NaN too."""
    import torch

    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


@pytest.mark.parametrize("name", MERGED)
def test_merged_safetensors_is_what_save_file_writes(mount, name, tmp_path):
    from safetensors.torch import save_file

    source, mnt = mount(name)
    if (source / "model.safetensors").exists():
        wanted = rig.file_hash(source / "model.safetensors")
    elif len(list(source.glob("model-*.safetensors"))) == 1:
        wanted = rig.file_hash(next(source.glob("model-*.safetensors")))
    else:
        save_file(source_tensors(source), tmp_path / "merged", metadata={"format": "pt"})
        wanted = rig.file_hash(tmp_path / "merged")
    assert rig.file_hash(mnt / "model.safetensors") == wanted
    assert rig.export_hash(source, "model.safetensors") == wanted
    assert not (mnt / "model.safetensors.index.json").exists()
    assert not [entry for entry in os.listdir(mnt) if entry.startswith("model-0")]


@pytest.mark.parametrize("name", ["llama3-untied-5-shards", "mixed-dtypes", "llama2-json", "tensor-in-two-shards"])
def test_safetensors_reads_it(mount, name):
    from safetensors import safe_open
    from safetensors.torch import load_file

    source, mnt = mount(name)
    wanted = source_tensors(source)
    loaded = load_file(mnt / "model.safetensors")
    assert sorted(loaded) == sorted(wanted)
    for tensor in wanted:
        assert same(loaded[tensor], wanted[tensor]), tensor
    with safe_open(mnt / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        for tensor in wanted:
            assert same(file.get_tensor(tensor), wanted[tensor]), tensor
            if wanted[tensor].dim() == 2:
                part = file.get_slice(tensor)[3:9, 5:20]
                assert same(part, wanted[tensor][3:9, 5:20]), tensor


def bits_of_numpy_save(array, tmp_path):
    np.save(tmp_path / "wanted.npy", array)
    return (tmp_path / "wanted.npy").read_bytes()


@pytest.mark.parametrize("name", ["mixed-dtypes", "llama2-f32", "llama2-json", "denormals", "nan", "inf-f16"])
def test_npy_is_what_numpy_saves(mount, name, tmp_path):
    import torch

    source, mnt = mount(name)
    wanted = source_tensors(source)
    seen = set()
    for tensor, value in wanted.items():
        path = mnt / "tensors" / (tensor + ".npy")
        seen.add(path.name)
        bits = None
        if value.dtype == torch.bfloat16:
            bits = value.view(torch.uint16).numpy()
            array = (bits.astype(np.uint32) << 16).view(np.float32)
        else:
            array = value.numpy()
        assert path.read_bytes() == bits_of_numpy_save(array, tmp_path), tensor
        mapped = np.load(path, mmap_mode="r")
        assert mapped.dtype == array.dtype and mapped.shape == array.shape
        assert np.array_equal(mapped, array, equal_nan=True)
        if bits is not None:
            twin = mnt / "tensors" / (tensor + ".u2.npy")
            seen.add(twin.name)
            assert twin.read_bytes() == bits_of_numpy_save(bits, tmp_path), tensor
            assert np.array_equal(np.load(twin, mmap_mode="r"), bits)
    assert set(os.listdir(mnt / "tensors")) == seen


def test_torch_takes_a_mapped_tensor(mount):
    import torch

    source, mnt = mount("llama2-f32")
    wanted = source_tensors(source)["model.layers.0.mlp.up_proj.weight"]
    array = np.load(mnt / "tensors/model.layers.0.mlp.up_proj.weight.npy", mmap_mode="c")
    assert torch.equal(torch.from_numpy(array), wanted)


@pytest.mark.parametrize("name", LOADABLE)
def test_transformers_loads_the_mount(mount, name):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, mnt = mount(name)
    text = "The children read 3 files, and the weights were 12.5 GB – été 中文 \n\t done."
    here, there = AutoTokenizer.from_pretrained(source), AutoTokenizer.from_pretrained(mnt)
    ids = there(text)["input_ids"]
    assert ids == here(text)["input_ids"] and len(ids) > 10
    assert there.decode(ids, skip_special_tokens=True).strip() == text.strip()
    with torch.inference_mode():
        logits = []
        for folder in (source, mnt):
            net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
            logits.append(net(torch.tensor([ids])).logits)
    assert torch.isfinite(logits[0]).all() and same(logits[0], logits[1])


READ_GGUF = """
import hashlib, json, sys
import gguf
told = []
for path in sys.argv[1:]:
    reader = gguf.GGUFReader(path)
    tensors = [(t.name, t.tensor_type.name, [int(n) for n in t.shape], hashlib.sha256(t.data.tobytes()).hexdigest())
               for t in reader.tensors]
    keys = {key: repr(field.contents()) for key, field in reader.fields.items()}
    told.append([keys, tensors])
print(gguf.__file__)
print(json.dumps(told))
"""


def read_gguf(*paths):
    run = subprocess.run(
        [sys.executable, "-c", READ_GGUF, *map(str, paths)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-3000:]
    where, told = run.stdout.split("\n", 1)
    assert "site-packages" in where
    return json.loads(told)


@pytest.mark.parametrize(
    "name,views",
    [("llama2-model", ["f32", "f16", "bf16", "q8_0", "q4_k_m"]), ("mistral-head-dim", ["q8_0", "q4_k_m"])],
)  # 128k tokens take the reader a minute
def test_gguf_reader_reads_it(mount, reference, name, views):
    ref = reference(name)
    _, mnt = mount(name)
    for view in views:
        wanted, got = read_gguf(ref.path(view), mnt / ("model-%s.gguf" % view))
        assert got == wanted and len(got[1]) > 10


GENERATE = """
import json, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_parallel = 1
params.n_ctx = 256
params.warmup = False
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
# Random weights would say bytes that are no UTF-8, which the client cannot hand over: the grammar keeps to letters.
answer = server.handle_completions({"prompt": "The children went down to the", "n_predict": 24, "temperature": 0.0,
                                    "top_k": 1, "seed": 1, "n_probs": 3, "grammar": "root ::= [a-z ]+"})
answer = json.loads(answer) if isinstance(answer, str) else answer
steps = answer["choices"][0]["logprobs"]["content"]
print("ANSWER " + json.dumps([[step["id"] for step in steps], answer["choices"][0]["text"],
                              [[(t["id"], t["logprob"]) for t in step["top_logprobs"]] for step in steps]]))
"""


def generate(path):
    run = subprocess.run([sys.executable, "-c", GENERATE, str(path)], capture_output=True, text=True, timeout=300)
    lines = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    assert run.returncode == 0 and lines, run.stdout[-2000:] + run.stderr[-4000:]
    return json.loads(lines[0][len("ANSWER ") :])


@pytest.mark.parametrize("name", LOADABLE)
def test_llama_cpp_generates_the_same_tokens(mount, reference, name):
    ref = reference(name)
    _, mnt = mount(name)
    wanted = generate(ref.path("q4_k_m"))
    assert len(wanted[0]) > 5 and len(set(map(str, wanted[2]))) > 1
    assert generate(mnt / "model-q4_k_m.gguf") == wanted


def test_the_converter_takes_the_mount_as_its_source(mount, reference, tmp_path):
    """The root is itself a model folder; only its name is another one."""
    import reference as tools

    ref = reference("llama2-model")
    _, mnt = mount("llama2-model")
    tools.run_converter(mnt, "bf16", tmp_path / "again.gguf", "--model-name", "Same")
    tools.run_converter(ref.source, "bf16", tmp_path / "first.gguf", "--model-name", "Same")
    import difference

    told = difference.compare(tmp_path / "first.gguf", tmp_path / "again.gguf")
    assert "tensor " not in told, told
