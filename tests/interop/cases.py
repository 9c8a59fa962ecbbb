"""The cases of make_model.py: by name a config, tensors, a tokenizer and other files (families.py has the parts)."""

import json
import zlib

from families import (
    LLAMA3_ROPE,
    SPM_CONFIG,
    SPM_SIZE,
    TEMPLATE,
    llama,
    llama3,
    mistral,
    qwen2,
    qwen3,
    sample,
    tiny,
    token_entry,
)

CASES = {}

# What llama-quantize offers, as it is called in a view's name.
FILE_TYPES = (
    "q1_0 q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q2_k_s q3_k q3_k_s q3_k_m q3_k_l q4_k q4_k_s q4_k_m q5_k q5_k_s q5_k_m "
    "q6_k iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq2_m iq3_xxs iq3_xs iq3_s iq3_m iq4_nl iq4_xs tq1_0 tq2_0 mxfp4_moe"
).split()


class Case:
    """outtypes and quants: what the reference makes of it. A case of metadata needs one file, not five."""

    def __init__(
        self,
        name,
        model,
        folder="model",
        tokenizer="spm",
        dtype="BF16",
        shards=1,
        files=None,
        wild=None,
        change=None,
        blobs=False,
        metadata={"format": "pt"},
        outtypes=("f32", "f16", "bf16"),
        quants=("q8_0", "q4_k_m"),
        loads=False,
        known=None,
    ):
        self.name, self.folder, self.tokenizer, self.shards, self.wild = name, folder, tokenizer, shards, wild
        self.config, self.tensors = model
        self.dtype = dtype if callable(dtype) else lambda _: dtype
        self.files = files or {}
        self.change, self.blobs, self.metadata = change, blobs, metadata
        self.outtypes, self.quants = outtypes, quants
        self.loads = loads  # sizes agree, so transformers and llama.cpp can run it
        self.known = known or {}  # view: why weightfs may withhold what the reference converts
        assert name not in CASES, name
        CASES[name] = self


def card(text, crlf=False):
    text = text.lstrip("\n")
    return (text.replace("\n", "\r\n") if crlf else text).encode()


FULL_CARD = """
---
license: [apache-2.0, mit]
license_name: two-of-them
license_link: https://example.org/LICENSE
language:
- en
- de
base_model:
- meta-llama/Llama-2-7b-hf
- https://huggingface.co/some-org/Other-Model-13B-v0.3
datasets:
- HuggingFaceH4/ultrachat_200k
- https://huggingface.co/datasets/some-org/set-of-things
tags:
- chat
- text-generation
pipeline_tag: text-generation
library_name: transformers
model_name: 'My "quoted" Model: 7b'
model_creator: Some Body
author: 'An Author'
version: '1.10'
description: >
  Folded text that goes
  over two lines.

  And a second paragraph.
quantized_by: nobody
finetune: Instruct
widget:
- text: "Hello?"
---
# Title
Text.
"""


def mixed(name):
    """Norms in f32, the embedding in f32, half of the rest in f16 and half in bf16."""
    if "norm" in name or "embed" in name:
        return "F32"
    return "F16" if zlib.crc32(name.encode()) & 1 else "BF16"


def register():
    one = {"outtypes": ("bf16",), "quants": ("q8_0",)}
    # Llama 3
    Case(
        "llama3-tied-gqa",
        llama3(tie_word_embeddings=True, layers=3),
        "Llama-3.2-1B-Instruct",
        "llama3",
        files={
            "README.md": card(
                "---\nbase_model: meta-llama/Llama-3.2-1B\nlicense: llama3.2\nlanguage:\n- en\n- fr\n"
                "tags:\n- facebook\n- meta\npipeline_tag: text-generation\n---\nText\n"
            ),
            "generation_config.json": {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "bos_token_id": 128000},
        },
    )
    Case(
        "llama3-untied-5-shards",
        llama3(layers=3, kv=4),
        "Meta-Llama-3.1-8B",
        "llama3",
        shards=5,
        files={"generation_config.json": {"bos_token_id": 128000, "eos_token_id": 128001}},
    )
    Case(
        "llama3-base-f32-2-shards",
        llama3(rope_scaling=None, eos_token_id=128001, rows=512, layers=1),
        "Meta-Llama-3-8B",
        "llama3-base",
        dtype="F32",
        shards=2,
    )
    Case(
        "llama3-rope-parameters",
        llama3(
            drop=("rope_theta", "rope_scaling"),
            rows=256,
            layers=1,
            rope_parameters={**LLAMA3_ROPE, "rope_theta": 500000.0, "factor": 32.0},
        ),
        "Llama-3.2-3B",
        "llama3",
        dtype="F16",
    )
    Case(
        "llama3-loads",
        llama3(tie_word_embeddings=True, rows=None, layers=2),
        "Tiny-Llama-3-Sample",
        "llama3",
        loads=True,
        outtypes=("bf16",),
        quants=("q4_k_m",),
    )
    # Llama 2 and 1, sentencepiece
    Case("llama2-model", llama(), "Llama-2-7b-hf", "spm", loads=True, files={"README.md": card(FULL_CARD)})
    Case(
        "llama2-json",
        llama(tie_word_embeddings=True),
        "TinyLlama-1.1B-Chat-v1.0",
        "spm-json",
        dtype="F16",
        shards=2,
        files={
            "tokenizer_config.json": {
                **SPM_CONFIG,
                "tokenizer_class": "PreTrainedTokenizerFast",
                "chat_template": TEMPLATE,
            }
        },
    )
    Case(
        "llama2-json-added",
        llama(vocab=SPM_SIZE + 3, rows=SPM_SIZE + 3),
        "Some-Chat-7B",
        "spm-json-old",
        dtype="F32",
        files={"tokenizer_config.json": {**SPM_CONFIG, "pad_token": "<pad>"}},
    )
    Case("llama2-f32", llama(), "llama-2-7b-f32", "spm+json", dtype="F32")
    Case("llama2-12-layers", llama(hidden=256, inner=256, layers=12), "Llama-2-12-layers", dtype="BF16", shards=5)
    Case("llama2-vocab-more", llama(vocab=SPM_SIZE + 40, rows=SPM_SIZE + 40), "padded-vocab-7b", dtype="F16")
    Case("llama2-vocab-less", llama(vocab=SPM_SIZE - 40, rows=SPM_SIZE), "cut-vocab", **one)
    Case("llama2-rows-more", tiny(rows=SPM_SIZE + 64), "rows-more", **one)
    Case("llama2-rows-less", tiny(rows=SPM_SIZE - 64), "rows-less", **one)
    Case("codellama-vocab", tiny(vocab=32016, rows=64), "CodeLlama-7b-hf", **one)
    Case("vocab-49152", tiny(vocab=49152, rows=64), "granite-like", **one)
    Case("llama-biases", llama(bias=True, mlp_bias=True, layers=1), "biased", dtype="F16")
    Case("llama-biases-bf16", llama(bias=True, layers=1), "biased-bf16")
    Case("rows-not-256", llama(hidden=288, inner=800, heads=9, kv=3, layers=2), "rows-288", dtype="BF16")
    Case(
        "rows-not-256-tied",
        llama(hidden=576, inner=1536, heads=9, kv=3, layers=1, tie_word_embeddings=True),
        "SmolLM2-135M",
    )
    Case("rows-not-32", llama(hidden=80, inner=144, heads=4, kv=4, layers=1), "rows-80")
    Case("inner-not-32", llama(inner=400, layers=1), "inner-400")
    Case("inner-not-256", llama(inner=480, layers=3), "inner-480", dtype="F16")
    Case(
        "llama1-defaults",
        llama(
            kv=8, layers=1, drop=("rope_theta", "rms_norm_eps", "max_position_embeddings", "num_key_value_heads")
        ),
        "llama-7b",
    )
    Case("head-dim-null", tiny(head_dim=None), "null-head-dim", **one)
    Case("head-dim-other", tiny(head_dim=32), "other-head-dim", **one)
    Case("rope-linear", tiny(rope_scaling={"type": "linear", "factor": 2.0}), "linear", **one)
    Case(
        "rope-yarn",
        tiny(rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}),
        "yarn",
        **one
    )
    Case("rope-llama3", tiny(rope_scaling=dict(LLAMA3_ROPE), head_dim=64), "llama3-rope", **one)
    Case("rope-dynamic", tiny(rope_scaling={"type": "dynamic", "factor": 2.0}), "dynamic", **one)
    Case(
        "rope-parameters-default",
        tiny(drop=("rope_theta",), rope_parameters={"rope_theta": 250000.0, "rope_type": "default"}),
        "rope-parameters",
        **one
    )
    Case("tied-with-head", tied_with_head(), "tied-with-head")
    Case("inv-freq", with_inv_freq(), "old-buffers", **one)
    Case("mixed-dtypes", llama(layers=3), "mixed", dtype=mixed, shards=2)
    Case("denormals", llama(layers=1), "denormals", wild="denormal")
    Case("denormals-f32", llama(layers=1), "denormals-f32", wild="denormal", dtype="F32")
    Case("huge", llama(layers=1), "huge", wild="huge")
    Case("huge-f32", llama(layers=1), "huge-f32", wild="huge", dtype="F32")
    Case("nan", llama(layers=1), "nan", wild="nan")
    Case("nan-f32", llama(layers=1), "nan-f32", wild="nan", dtype="F32")
    Case("inf-f16", llama(layers=1), "inf-f16", wild="inf", dtype="F16")
    Case("one-shard-index", tiny(), "one-shard", shards=-1, **one)
    Case("no-metadata", tiny(), "no-metadata", metadata=None, **one)
    # names
    for number, folder in enumerate(
        [
            "Foo-Bar-1.5B-Instruct-v0.2",
            "Tiny-2.2M-Model",
            "my model",
            "model.v2",
            "Qwen2.5-0.5B-fp16-GGUF",
            "(final)",
            "ultrachat_200k",
            "7b-hf",
            "3中-1b",
            "Mixtral-8x7B-A2B-v0.1",
            "word",
            "UPPER-lower-Mixed",
            "llama-v2-chat-lora",
            "v1.5",
            "a--b",
            "-lead",
            "trail-",
            "100K-context-v1.0.3-iter200",
            "éclair-ß-ǆ",
            "x_y.z-12b-it-q4_0",
            "it's",
            "Vision-Model-vision-3B",
            "0.5B-first",
            "name-1T-big",
            "model-135m",
            "Llama_3.1_8B",
            "deepseek-r1-distill-1.5B",
        ]
    ):
        Case("name-%02d" % number, tiny(), folder, outtypes=("auto",), quants=())
    Case("hf-cache", tiny(), "0123456789abcdef0123456789abcdef01234567", blobs=True, **one)
    Case("name-or-path", tiny(_name_or_path="some-org/Base-Model-3B-v1"), "folder-7b-v2", **one)
    Case("name-or-path-deep", tiny(_name_or_path="/data/some/where"), "folder-7b-v2", **one)
    # cards
    cards = {
        "empty": "",
        "no-front": "# Title\n---\nlicense: mit\n---\n",
        "only-dashes": "---\n---\n",
        "null-base": "---\nbase_model:\nlicense: mit\n---\n",
        "string-lists": "---\nlicense: mit\ntags: single\nlanguage: en\ndatasets: a/b\nbase_model: org/Name-3B\n---\n",
        "model-type": "---\nmodel_type: llama\nname: The Name\norganization: The Org\n---\n",
        "norway": "---\nlanguage:\n- no\n- en\ntags:\n- a\n- no\n---\n",
        "mixed-list": "---\nlanguage:\n- no\n- en\ntags:\n- yes\n- 1.0\n---\n",
        "bool-list": "---\ntags: [yes, no, On]\n---\n",
        "float-list": "---\ntags: [1.5, 2.0]\n---\n",
        "int-list": "---\ntags: [1, 2, 3_0]\n---\n",
        "tabs": "---\ntags:\n-\tone\n-\ttwo\nlicense:\tmit\n---\n",
        "anchors": "---\ntags: &t\n- a\n- b\ndescription: |\n  literal\n   text\nlicense: mit\n---\n",
        "quotes": "---\nname: 'it''s \"quoted\"'\ndescription: \"tab\\tnew\\nline \\u00e9\"\nauthor: Ünï Çödé\nurl: https://example.org/x\n"
        "doi: 10.1/abc\nrepo_url: https://example.org/y\n---\n",
        "version-float": "---\nversion: 1.10\n---\n",
        "uuid-number": "---\nuuid: 1234\n---\n",
        "pipeline-twice": "---\ntags:\n- text-generation\npipeline_tag: text-generation\n---\n",
        "base-urls": "---\nbase_model:\n- https://huggingface.co/org-name/Model-Name-7B-v2.0\n- not an id\n- plain\n- a/b/c\n---\n",
        "dataset-names": "---\ndatasets:\n- org_x/some_data-v2\n- squad\n- https://example.org/data\n---\n",
        "numbers": "---\nversion: 2\nname: 7\nsize_label: 3B\nbasename: Base\n---\n",
        "strings": "---\nversion: '2'\nname: '7'\nsize_label: 3B\nbasename: Base\nfinetune: \"\"\n---\n",
        "base-relation": "---\nbase_model: [a/B-1B]\nbase_model_relation: quantized\nlicense: other\nlicense_name: x\nlicense_link: LICENSE\n---\n",
        "dots-end": "---\nlicense: mit\n...\n---\nlicense: gpl\n",
        "bom": "\ufeff---\nlicense: mit\n---\n",
        "unclosed": "---\nlicense: mit\ntags:\n- a\n",
        "dates": "---\nname: 2024-01-02\nlicense: mit\n---\n",
        "plain-strings": "---\ntags: [1e3, 0o7, 1:2x, y, '0x10', nUll, 2024-1-1x]\nlicense: mit\n---\n",
    }
    for name, text in cards.items():
        Case(
            "card-" + name,
            tiny(),
            "Carded-Model-7B",
            files={"README.md": text.encode()},
            outtypes=("auto",),
            quants=(),
        )
    Case("card-crlf", tiny(), "Carded-Model-7B", files={"README.md": card(FULL_CARD, crlf=True)}, **one)
    Case("card-broken", tiny(), "Carded-Model-7B", files={"README.md": b"---\nlicense: [mit\n---\n"}, **one)
    # chat templates and generation settings
    spm = lambda **more: {"tokenizer_config.json": {**SPM_CONFIG, **more}}
    Case("chat-list-default", tiny(), files=spm(chat_template=[{"name": "default", "template": TEMPLATE}]), **one)
    Case("chat-list-named", tiny(), files=spm(chat_template=[{"name": "tool_use", "template": TEMPLATE}]), **one)
    Case("chat-jinja", tiny(), files={"chat_template.jinja": TEMPLATE.replace("\n", "\r\n").encode()}, **one)
    Case("chat-both", tiny(), files={"chat_template.jinja": b"from the file", **spm(chat_template=TEMPLATE)}, **one)
    Case("chat-json", tiny(), files={"chat_template.json": {"chat_template": TEMPLATE}}, **one)
    Case(
        "generation",
        tiny(),
        files={
            "generation_config.json": {
                "do_sample": False,
                "temperature": 0.7,
                "top_k": 50,
                "top_p": 0.95,
                "min_p": 0.05,
                "repetition_penalty": 1.1,
                "max_length": 4096,
            }
        },
        **one
    )
    Case("generation-broken", tiny(), files={"generation_config.json": b"{]"}, **one)
    Case(
        "generation-constants",
        tiny(),
        files={"generation_config.json": b'{"temperature": NaN, "top_p": Infinity, "min_p": -Infinity}'},
        **one
    )
    Case(
        "config-constants",
        tiny(odd=[float("inf"), float("-inf"), float("nan")], rms_norm_eps=float("inf")),
        files={"tokenizer_config.json": {**SPM_CONFIG, "model_max_length": float("nan")}},
        **one
    )
    Case(
        "generation-odd",
        tiny(),
        files={"generation_config.json": {"temperature": 1, "top_k": None, "top_p": 1}},
        **one
    )
    # sentencepiece with more beside it
    Case(
        "spm-added-tokens",
        tiny(vocab=SPM_SIZE + 4, rows=SPM_SIZE + 4),
        files={"added_tokens.json": {"<|im_start|>": SPM_SIZE, "<|im_end|>": SPM_SIZE + 1, "word": SPM_SIZE + 2}},
        **one
    )
    Case(
        "spm-added-decoder",
        tiny(vocab=SPM_SIZE + 4, rows=SPM_SIZE + 4),
        files=spm(
            added_tokens_decoder={
                "0": token_entry("<unk>", True),
                "1": token_entry("<s>", True),
                "2": token_entry("</s>", True),
                str(SPM_SIZE): token_entry("<|im_start|>", True),
                str(SPM_SIZE + 1): token_entry("plain", False),
                str(SPM_SIZE + 2): token_entry("<pad>", False),
            },
            pad_token="<pad>",
        ),
        **one
    )
    Case(
        "spm-specials-as-objects",
        tiny(),
        files=spm(
            bos_token=token_entry("<s>", True),
            eos_token={"__type": "AddedToken", "content": "</s>", "lstrip": False},
            add_prefix_space=False,
        ),
        **one
    )
    Case("spm-no-tokenizer-config", tiny(), files={"tokenizer_config.json": None}, **one)
    Case("config-ids", tiny(pad_token_id=0, eos_token_id=[2, 5], sep_token_id=SPM_SIZE + 1), **one)
    # Mistral
    Case("mistral", mistral(sliding_window=4096), "Mistral-7B-v0.1", "spm+json", shards=2)
    Case("mistral-head-dim", mistral(head_dim=64, heads=4), "Mistral-Nemo-like", "spm", dtype="F16", loads=True)
    Case(
        "mistral-head-dim-null",
        mistral(head_dim=None, layers=1),
        "Mistral-7B-Instruct-v0.3",
        "spm-json",
        dtype="F32",
        files={"tokenizer_config.json": {**SPM_CONFIG, "chat_template": TEMPLATE}},
    )
    Case(
        "json-add-prefix-space",
        mistral(head_dim=None, layers=1),
        "add-prefix-space",
        "spm-json",
        files={"tokenizer_config.json": {**SPM_CONFIG, "add_prefix_space": True}},
        **one
    )
    Case(
        "spm-add-prefix-space",
        tiny(),
        "add-prefix-space",
        "spm",
        files={"tokenizer_config.json": {**SPM_CONFIG, "add_prefix_space": True}},
        **one
    )
    Case("mistral-bpe", mistral(vocab=128256, rows=512, layers=1), "Mistral-bpe", "llama3", **one)
    # Qwen
    Case(
        "qwen2-biases",
        qwen2(tie_word_embeddings=True),
        "Qwen2.5-0.5B-Instruct",
        "qwen3",
        shards=2,
        files={
            "generation_config.json": {"repetition_penalty": 1.1, "temperature": 0.7, "top_p": 0.8, "top_k": 20}
        },
    )
    Case("qwen2-untied-f16", qwen2(vocab=152064, layers=1), "Qwen2.5-7B", "qwen3-strings", dtype="F16")
    Case("qwen2-spm", qwen2(vocab=SPM_SIZE, rows=SPM_SIZE, layers=1), "Qwen-with-spm", "spm", dtype="F32")
    Case(
        "qwen3-spm",
        qwen3(vocab=SPM_SIZE, rows=SPM_SIZE, layers=1, tie_word_embeddings=True),
        "Qwen3-with-spm",
        "spm",
        shards=2,
    )
    Case("qwen3-norms", qwen3(tie_word_embeddings=True), "Qwen3-0.6B", "qwen3", shards=5)
    Case("qwen3-untied-f32", qwen3(head_dim=32, layers=1), "Qwen3-8B-Base", "qwen3", dtype="F32")
    Case(
        "qwen3-loads",
        qwen3(rows=None, layers=1, tie_word_embeddings=True),
        "Qwen3-Tiny",
        "qwen3",
        dtype="BF16",
        loads=True,
        outtypes=("bf16",),
        quants=("q4_k_m",),
    )
    Case("qwen3-12-layers", qwen3(layers=12, inner=256, head_dim=32, rows=256), "Qwen3-12L", "qwen3", **one)
    Case(
        "qwen3-yarn",
        qwen3(layers=1, rows=64, hidden=64, inner=96, heads=2, kv=1),
        "Qwen3-YaRN",
        "qwen3",
        change=set_config(
            rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
        ),
        **one
    )
    Case(
        "qwen3-reranker",
        qwen3(layers=1, rows=9728, hidden=64, inner=96, heads=2, kv=1),
        "Qwen3-Reranker-0.6B",
        "qwen3",
        known={"*.gguf": "rerankers are another class"},
        **one
    )
    # what the reference refuses
    Case("no-tokenizer", tiny(), tokenizer=None)
    Case("no-vocab-size", tiny(drop=("vocab_size",)))
    Case("unknown-tensor", with_tensor("model.layers.0.mlp.extra.weight", (8, 32)))
    Case("missing-tensor-in-index", tiny(), shards=2, change=drop_from_index)
    Case(
        "tensor-in-two-shards",
        tiny(),
        shards=2,
        change=tensor_twice,
        known={"*.gguf": "a tensor in two shards: the issue allows to withhold"},
    )
    Case("same-gguf-name", with_tensor("lm_head.weight", (SPM_SIZE, 64), "output.weight"))
    Case("unknown-pre", tiny(vocab=400, rows=400), tokenizer=None, files=small_bpe())
    Case("unknown-arch", tiny(architectures=["NobodyForCausalLM"], model_type="nobody"))
    Case("layers-past-count", tiny(), change=set_config(num_hidden_layers=0))
    Case(
        "token-past-vocab",
        llama3(vocab=128000, rows=64, layers=1, hidden=64, inner=96, heads=2, kv=1),
        tokenizer="llama3",
    )
    Case("scalar-tensor", with_tensor("model.layers.0.self_attn.q_proj.extra", ()))
    Case(
        "empty-tensor",
        with_tensor("model.layers.0.self_attn.q_proj.bias", (0,)),
        known={"*.gguf": "a bias without elements is no model; the converter writes it, llama.cpp cannot use it"},
    )
    Case("boolean-heads", tiny(heads=1, kv=1), change=set_config(num_attention_heads=True), **one)
    Case("boolean-kv-heads", tiny(kv=1), change=set_config(num_key_value_heads=True), **one)
    Case("odd-head-rows", tiny(), change=set_config(num_attention_heads=7))
    Case("bad-rope-type", tiny(rope_scaling={"rope_type": "llama3", "factor": "eight"}))


def tied_with_head():
    config, tensors = llama(layers=1)
    config["tie_word_embeddings"] = True  # and yet lm_head.weight is there
    return config, tensors


def with_inv_freq():
    config, tensors = tiny()
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = (8,)
    return config, tensors


def with_tensor(name, shape, *more):
    config, tensors = tiny()
    tensors[name] = shape
    for other in more:
        tensors[other] = shape
    return config, tensors


def set_config(**values):
    def change(folder):
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config.update(values)
        path.write_bytes(sample.dumps(config))

    return change


def drop_from_index(folder):
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"].pop("model.norm.weight")
    path.write_bytes(sample.dumps(index))


def tensor_twice(folder):
    """The norm of the last shard stands, with other values, in the first shard too; the index names the last."""
    first, last = sorted(folder.glob("model-*.safetensors"))
    header, names, data = read_shard(first)
    other, _, tail = read_shard(last)
    name = "model.norm.weight"
    begin, end = other[name]["data_offsets"]
    header[name] = {**other[name], "data_offsets": [len(data), len(data) + end - begin]}
    write_shard(first, header, data + bytes(reversed(tail[begin:end])))


def read_shard(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    return header, [name for name in header if name != "__metadata__"], raw[8 + length :]


def write_shard(path, header, data):
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def small_bpe():
    """A byte-level BPE that no list knows."""
    letters = [chr(b) if 33 <= b < 127 or 161 <= b < 173 or 174 <= b < 256 else None for b in range(256)]
    spare = iter(range(256, 512))
    letters = [letter or chr(next(spare)) for letter in letters]
    merges = [["t", "h"], ["th", "e"], ["i", "n"], ["\u0120", "the"], ["e", "r"]]
    vocab = {letter: index for index, letter in enumerate(letters)}
    for left, right in merges:
        vocab[left + right] = len(vocab)
    vocab["<|end|>"] = len(vocab)
    return {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": len(vocab) - 1, **token_entry("<|end|>", True)}],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {
                        "type": "Split",
                        "pattern": {"Regex": "\\p{N}{1,2}|\\p{L}+|\\s+|[^\\s\\p{L}\\p{N}]+"},
                        "behavior": "Isolated",
                        "invert": False,
                    },
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                ],
            },
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": vocab,
                "merges": merges,
            },
        },
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"},
    }


def register_file_types():
    """Every file type, over models that reach every branch of the rules for dense models."""
    every = {"outtypes": ("auto",), "quants": FILE_TYPES}
    narrow = {"hidden": 256, "inner": 256}
    Case("types-few-layers", llama(kv=8), "Types-Few", **every)
    Case("types-16-layers-gqa4", llama(layers=16, kv=2, **narrow), "Types-16", **every)
    Case("types-gqa8-tied", llama(layers=9, kv=1, tie_word_embeddings=True, **narrow), "Types-Tied", **every)
    Case("types-f16", llama(layers=3), "Types-F16", dtype="F16", **every)
    # Rows that are whole blocks of 32 but not of 256: K-types become Q5_0, Q5_1, Q8_0, Q4_0; IQ types IQ4_NL.
    Case("types-fall-back", llama(hidden=288, inner=352, heads=9, kv=3, layers=9), "Types-Fall", **every)
    Case("types-fall-back-tied", llama(hidden=128, inner=288, tie_word_embeddings=True), "Types-Fall-Tied", **every)
    # Rows that no block fits: F16, or no fallback.
    Case("types-odd-ffn", llama(inner=328), "Types-Odd-FFN", **every)
    Case("types-odd-hidden", llama(hidden=72, inner=256, heads=4, kv=2), "Types-Odd-Hidden", **every)


register()
register_file_types()
