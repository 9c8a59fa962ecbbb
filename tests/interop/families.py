"""What the cases of make_model.py are made of: weights, tokenizers, and the shapes of the model families.

Weights are Gaussian with outliers, zero rows, constant rows and tiny values: each of these takes its own way through a
quantiser. Published byte-level tokenizers are not in the repository: real_tokenizers.py says where they are looked for.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import zlib

import numpy as np

import real_tokenizers

REPO = pathlib.Path(__file__).resolve().parents[2]


def load_script(path):
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no __pycache__ beside the product's scripts
    loader.exec_module(module)
    sys.dont_write_bytecode = kept
    return module


sample = load_script(REPO / "mount" / "make_sample")
SPM_PIECES, SPM_MERGES = sample.vocabulary(n_tokens=800)
SPM_SIZE = len(SPM_PIECES)


# ---- weights


def weights(name, shape, wild):
    """float32 values of one tensor. wild adds values that only some types can hold."""
    chance = np.random.default_rng(zlib.crc32(name.encode()))
    if len(shape) < 2:
        return (1.0 + chance.normal(0, 0.05, shape)).astype(np.float32)
    values = chance.normal(0, 0.02, shape).astype(np.float32)
    values *= chance.lognormal(0, 0.3, (shape[0],) + (1,) * (len(shape) - 1)).astype(np.float32)
    outliers = chance.random(shape) < 0.0005
    values[outliers] *= 40
    special = min(6, shape[0] // 8)
    for row, kind in enumerate(["zero", "constant", "tiny", "one sign", "one outlier", "half zero"][:special]):
        if kind == "zero":
            values[row] = 0
        elif kind == "constant":
            values[row] = 0.03125
        elif kind == "tiny":
            values[row] *= 1e-7
        elif kind == "one sign":
            values[row] = -np.abs(values[row])
        elif kind == "one outlier":
            values[row, shape[1] // 2] = 3.0
        else:
            values[row, : shape[1] // 2] = 0
    if wild == "denormal" and shape[0] > 16:
        values[8] = np.float32(1e-39) * chance.normal(0, 1, shape[1])
        values[9] = np.float32(1e-20) * chance.normal(0, 1, shape[1])
    if wild == "huge" and name.endswith("layers.0.mlp.up_proj.weight"):
        values[9, 3] = 1e30  # held by bf16, an infinity in f16
    if wild == "nan" and name.endswith("layers.0.mlp.up_proj.weight"):
        values[9, 3] = np.nan
        values[10, 3] = -np.nan
    if wild == "inf" and name.endswith("layers.0.mlp.up_proj.weight"):
        values[9, 3] = np.inf
    return values


def encode(values, dtype):
    if dtype == "F32":
        return values.astype("<f4").tobytes()
    if dtype == "F16":
        with np.errstate(over="ignore"):
            return values.astype("<f2").tobytes()
    if dtype == "BF16":
        bits = values.astype("<f4").view("<u4")
        rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype("<u2")
        return np.where(np.isnan(values), (bits >> 16 | 0x40).astype("<u2"), rounded).tobytes()
    raise ValueError(dtype)


# ---- tokenizers


def spm_tokenizer_json(pieces=SPM_PIECES, merges_as_strings=False, added=(), prefix_space=True):
    """Llama 2's tokenizer.json for the same pieces as tokenizer.model's."""

    def token(index, content, special):
        return {
            "id": index,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": special,
        }

    bos = [{"SpecialToken": {"id": "<s>", "type_id": 0}}]
    steps = [{"type": "Prepend", "prepend": "\u2581"}] if prefix_space else []
    steps += [{"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [token(0, "<unk>", True), token(1, "<s>", True), token(2, "</s>", True)]
        + [token(len(pieces) + i, content, special) for i, (content, special) in enumerate(added)],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": bos + [{"Sequence": {"id": "A", "type_id": 0}}],
            "pair": bos
            + [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<s>", "type_id": 1}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": {piece: index for index, (piece, _, _) in enumerate(pieces)},
            "merges": ["%s %s" % pair if merges_as_strings else list(pair) for pair in SPM_MERGES],
        },
    }


SPM_CONFIG = {
    "tokenizer_class": "LlamaTokenizer",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "add_bos_token": True,
    "add_eos_token": False,
    "legacy": False,
    "model_max_length": 4096,
    "clean_up_tokenization_spaces": False,
    "sp_model_kwargs": {},
}
TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}{{ eos_token }}\n{% endfor %}"


def tokenizer_files(kind):
    """{file name: bytes or JSON value} of a tokenizer."""
    if kind is None:
        return {}
    if kind.startswith("spm"):
        files = {"tokenizer_config.json": dict(SPM_CONFIG)}
        if kind in ("spm", "spm+json"):
            files["tokenizer.model"] = sample.sentencepiece_model(SPM_PIECES)
        if kind in ("spm-json", "spm+json"):
            files["tokenizer.json"] = spm_tokenizer_json()
        if kind == "spm-json-old":
            added = [("<|im_start|>", True), ("<|im_end|>", True), ("plain added", False)]
            files["tokenizer.json"] = spm_tokenizer_json(merges_as_strings=True, added=added)
        return files
    name = {"llama3-base": "llama3_1", "llama3": "llama3_1", "qwen3": "qwen3", "qwen3-strings": "qwen3"}[kind]
    files = real_tokenizers.read(name)
    config, data = json.loads(files["tokenizer_config.json"]), files["tokenizer.json"]
    if kind == "llama3-base":  # as Llama 3's own: its post-processor adds no BOS, which changes the fingerprint
        value = json.loads(data)
        value["post_processor"] = {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": False,
            "use_regex": True,
        }
        data = json.dumps(value, ensure_ascii=False).encode()
        config["eos_token"] = "<|end_of_text|>"
        del config["chat_template"]
    if kind == "qwen3-strings":  # the same merges in the other spelling
        value = json.loads(data)
        merges = value["model"]["merges"]
        value["model"]["merges"] = (
            [m if isinstance(m, list) else m.split(" ") for m in merges]
            if isinstance(merges[0], str)
            else ["%s %s" % tuple(m) for m in merges]
        )
        data = json.dumps(value).encode()
    return {"tokenizer.json": data, "tokenizer_config.json": config}


def write_files(folder, files):
    """{file name: bytes or JSON value} into a folder; None: no such file."""
    for name, value in files.items():
        if value is not None:
            (folder / name).write_bytes(value if isinstance(value, bytes) else sample.dumps(value))


def begin_model(folder, config, tokenizer):
    """A new folder with all of a model but its weights."""
    files = {"config.json": config, **tokenizer_files(tokenizer)}
    folder.mkdir()
    write_files(folder, files)


# ---- families: (config, {tensor name: shape})


def llama(
    hidden=256, inner=512, layers=2, heads=8, kv=2, vocab=SPM_SIZE, rows=None, bias=False, mlp_bias=False, **config
):
    base = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "vocab_size": vocab,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "attention_bias": bias,
        "mlp_bias": mlp_bias,
        "torch_dtype": "bfloat16",
    }
    drop = config.pop("drop", ())
    base.update(config)
    tensors = sample.llama_tensors(base)
    for name, shape in list(tensors.items()):
        if (bias and "self_attn" in name) or (mlp_bias and ".mlp." in name):
            tensors[name.replace(".weight", ".bias")] = shape[:1]
    if rows is not None:
        for name in ("model.embed_tokens.weight", "lm_head.weight"):
            if name in tensors:
                tensors[name] = (rows, hidden)
    for key in drop:
        base.pop(key)
    return base, tensors


LLAMA3_ROPE = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3",
}


def llama3(rows=1024, **config):
    merged = {
        "vocab": 128256,
        "rope_theta": 500000.0,
        "rope_scaling": dict(LLAMA3_ROPE),
        "bos_token_id": 128000,
        "eos_token_id": [128001, 128008, 128009],
        "max_position_embeddings": 131072,
        "rows": rows,
    }
    merged.update(config)
    return llama(**merged)


def mistral(**config):
    base, tensors = llama(**{"kv": 2, **config})
    base.update(
        architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=config.get("sliding_window")
    )
    for key in ("attention_bias", "mlp_bias"):
        base.pop(key, None)
    return base, tensors


def qwen2(rows=1024, **config):
    base, tensors = llama(
        **{
            "vocab": 151936,
            "rope_theta": 1000000.0,
            "rows": rows,
            "rms_norm_eps": 1e-06,
            "bos_token_id": 151643,
            "eos_token_id": 151645,
            **config,
        }
    )
    base.update(
        architectures=["Qwen2ForCausalLM"],
        model_type="qwen2",
        use_sliding_window=False,
        sliding_window=32768,
        max_window_layers=21,
    )
    for key in ("attention_bias", "mlp_bias"):
        base.pop(key)
    for name, shape in list(tensors.items()):
        if any(part in name for part in ("q_proj", "k_proj", "v_proj")):
            tensors[name.replace(".weight", ".bias")] = shape[:1]
    return base, tensors


def qwen3(rows=1024, head_dim=64, **config):
    base, tensors = llama(
        **{
            "vocab": 151936,
            "rope_theta": 1000000,
            "rows": rows,
            "rms_norm_eps": 1e-06,
            "head_dim": head_dim,
            "bos_token_id": 151643,
            "eos_token_id": 151645,
            **config,
        }
    )
    base.update(
        architectures=["Qwen3ForCausalLM"],
        model_type="qwen3",
        use_sliding_window=False,
        sliding_window=None,
        max_window_layers=28,
        rope_scaling=None,
    )
    base.pop("mlp_bias")
    for name in list(tensors):
        for part in ("q", "k"):
            if name.endswith("self_attn.%s_proj.weight" % part):
                tensors[name.replace("%s_proj" % part, "%s_norm" % part)] = (head_dim,)
    return base, tensors


def tiny(**config):
    """For cases that are about metadata: next to no weights."""
    return llama(**{"hidden": 64, "inner": 96, "layers": 1, "heads": 4, "kv": 2, **config})


def token_entry(content, special):
    return {
        "content": content,
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
        "special": special,
    }
