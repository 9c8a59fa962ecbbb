#!/usr/bin/env python3
"""Random model folders, weightfs beside the reference converter: names, cards, configs, tokenizer settings, odd shapes.

Usage: sweep.py [--count N] [--seed S] [--only names,cards,configs,tokenizers,chat]     prints the folders whose files differ

Not part of the suite that CI runs: it looks for cases worth adding to make_model.py. Each difference is kept in the test
cache under sweep/, with the folder and what differs.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import difference  # noqa: E402
import cases  # noqa: E402
import families  # noqa: E402
import make_model  # noqa: E402
import reference  # noqa: E402
import rig  # noqa: E402

WORDS = [
    "Llama",
    "llama",
    "Qwen2.5",
    "Mistral",
    "tiny",
    "foo",
    "BAR",
    "Base",
    "base",
    "instruct",
    "Instruct",
    "chat",
    "Chat",
    "it",
    "v1",
    "v0.2",
    "V3",
    "2",
    "3.1",
    "1.5",
    "iter5",
    "iter.5",
    "v2.0.1",
    "7b",
    "7B",
    "13b",
    "0.5B",
    "135M",
    "1.1b",
    "8x7B",
    "8x22b",
    "A2B",
    "30B",
    "K",
    "5K",
    "1T",
    "128k",
    "4k",
    "hf",
    "HF",
    "fp16",
    "bf16",
    "F16",
    "q4_0",
    "Q4_K_M",
    "Q8_0",
    "gguf",
    "GGUF",
    "lora",
    "LoRA",
    "adapter",
    "vision",
    "reward",
    "preview",
    "dpo",
    "x",
    "it's",
    "(x)",
    "ß",
    "ǆ",
    "é",
    "中文",
    "100",
    "2024",
    "20240607",
    "0",
    "_",
    "a_b",
    "mt0",
    "e5",
    "r1",
    "o1",
    "mini",
    "large",
    "xl",
    "3b-4bit",
    "4bit",
    "1.58bit",
    "2.2M",
    "70K",
    "0.1M",
    "67.1K",
    "ft",
    "finetuned",
    "ul2",
    "",
]
ORGS = ["meta-llama", "mistralai", "some_org", "Org", "a", "0x", "HuggingFaceH4", "éco-le", "bar-BAZ"]


def name(chance, low=1, high=6):
    joiners = ["-"] * 8 + ["_", " ", ".", "--"]
    parts = [chance.choice(WORDS) for _ in range(chance.randint(low, high))]
    out = parts[0]
    for part in parts[1:]:
        out += chance.choice(joiners) + part
    out = out.strip("/ ") or "x"
    return out if out not in (".", "..") else "dots"


def repo(chance):
    kind = chance.random()
    if kind < 0.7:
        return "%s/%s" % (chance.choice(ORGS), name(chance))
    if kind < 0.8:
        return "https://huggingface.co/%s/%s" % (chance.choice(ORGS), name(chance))
    if kind < 0.85:
        return "https://huggingface.co/datasets/%s/%s" % (chance.choice(ORGS), name(chance))
    return chance.choice(
        [name(chance), "a/b/c", "./local", "../x/y", "https://example.org/a/b", "org/", "/x", "https://example.org"]
    )


def scalar(chance):
    return chance.choice(
        [
            "plain",
            "two words",
            "'single ''q'''",
            '"double \\u00e9 \\n x"',
            "3.1",
            "7",
            "true",
            "no",
            "null",
            "~",
            "2024-01-02",
            "1e3",
            "0x1F",
            "",
            "''",
            "a: b",
            "a #b",
            "a#b",
            ">\n  folded\n  text\n\n  more",
            "|\n  literal\n   text\n",
            ">-\n  strip\n",
            "|+\n  keep\n\n",
            "*x",
            "&a v",
            "!!str 7",
            "[a",
            "{a: b}",
            "[]",
            "- x",
            "é中",
            "\tTab",
            "1_000",
            ".5",
            "+1",
            "0o17",
            "017",
            "1:30",
            "y",
            "Yes",
            "@at",
            "`tick",
            "%p",
            "? q",
            "x" * 300,
        ]
    )


def listing(chance, item):
    items = [item(chance) for _ in range(chance.randint(0, 4))]
    if chance.random() < 0.3:
        return "[%s]" % ", ".join(items)
    return "".join("\n%s- %s" % (chance.choice(["", "  "]), each) for each in items)


def plain(chance):
    return chance.choice(
        [
            "mit",
            "en",
            "no",
            "de",
            "text-generation",
            "a b",
            "'q'",
            "1",
            "1.5",
            "true",
            "x-y",
            "zh",
            "é",
            "apache-2.0",
            "~",
        ]
    )


def card(chance):
    keys = [
        "name",
        "author",
        "version",
        "organization",
        "description",
        "finetune",
        "basename",
        "size_label",
        "url",
        "doi",
        "uuid",
        "repo_url",
        "model_name",
        "model_author",
        "model_version",
        "model_organization",
        "model_description",
        "model_finetune",
        "model_basename",
        "model_size_label",
        "model_creator",
        "model_type",
        "license",
        "license_name",
        "license_link",
        "quantized_by",
        "pipeline_tag",
        "library_name",
        "inference",
        "source_url",
        "base_model_relation",
        "source_repo_url",
    ]
    lines = ["---"]
    for key in chance.sample(keys, chance.randint(0, 4)):
        lines.append("%s: %s" % (key, scalar(chance)))
    for key in chance.sample(
        [
            "tags",
            "language",
            "languages",
            "license",
            "datasets",
            "dataset",
            "base_model",
            "base_models",
            "pipeline_tag",
        ],
        chance.randint(0, 4),
    ):
        what = repo if key in ("datasets", "dataset", "base_model", "base_models") else plain
        lines.append("%s: %s" % (key, listing(chance, what) if chance.random() < 0.7 else what(chance)))
    lines += ["---", "# Title", "text"]
    text = "\n".join(lines) + "\n"
    if chance.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if chance.random() < 0.05:
        text = text.replace("\n", "\x0b\n", 1)
    return text.encode()


def maybe(chance, target, key, values, share=0.25):
    if chance.random() < share:
        target[key] = chance.choice(values)


def config_changes(chance):
    new = {}
    maybe(chance, new, "rope_theta", [10000, 1e6, 500000.0, 10000.5, None, 1])
    maybe(chance, new, "rms_norm_eps", [1e-5, 1e-6, 0.1, 1, 1e-12])
    maybe(chance, new, "max_position_embeddings", [1, 4096, 131072, 1 << 20])
    maybe(
        chance,
        new,
        "rope_scaling",
        [
            None,
            {"type": "linear", "factor": 2.0},
            {"rope_type": "linear", "factor": 4},
            {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
            {
                "rope_type": "yarn",
                "factor": 2.5,
                "original_max_position_embeddings": 4096,
                "beta_fast": 16,
                "beta_slow": 2,
            },
            {"rope_type": "yarn", "factor": 8.0, "attention_factor": 1.5, "mscale": 0.7, "mscale_all_dim": 0.7},
            {"type": "dynamic", "factor": 2.0},
            {"rope_type": "default"},
            {"factor": 2.0},
            {},
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
            {
                "rope_type": "llama3",
                "factor": 32,
                "low_freq_factor": 1,
                "high_freq_factor": 4,
                "original_max_position_embeddings": 4096,
            },
            {"rope_type": "llama3"},
        ],
        0.3,
    )
    maybe(
        chance,
        new,
        "rope_parameters",
        [
            {"rope_type": "default", "rope_theta": 12345.0},
            {"rope_theta": 777},
            {"rope_type": "linear", "factor": 3.0},
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048, "rope_theta": 5.0},
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
                "rope_theta": 500000.0,
            },
        ],
        0.2,
    )
    maybe(chance, new, "head_dim", [None, 16], 0.2)
    maybe(chance, new, "sliding_window", [None, 4096, 0], 0.2)
    maybe(chance, new, "partial_rotary_factor", [0.5, 1.0], 0.1)
    maybe(chance, new, "_name_or_path", [repo(chance), name(chance), ""], 0.2)
    maybe(chance, new, "bos_token_id", [1, None, 5, [1, 2]], 0.2)
    maybe(chance, new, "eos_token_id", [2, None, 5, [2, 7], 99999], 0.2)
    maybe(chance, new, "pad_token_id", [0, None, -1, 3], 0.2)
    for key in ("unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id"):
        maybe(chance, new, key, [0, 1, 4, None], 0.05)
    maybe(chance, new, "layer_norm_eps", [1e-5], 0.05)
    maybe(chance, new, "n_ctx", [99], 0.05)
    maybe(chance, new, "torch_dtype", ["float16", "float32", "bfloat16", None], 0.1)
    maybe(chance, new, "dtype", ["float16"], 0.1)
    maybe(chance, new, "is_causal", [False], 0.02)
    maybe(chance, new, "tie_word_embeddings", [True, False], 0.2)
    maybe(
        chance,
        new,
        "vocab_size",
        [families.SPM_SIZE, families.SPM_SIZE + 7, families.SPM_SIZE - 3, 32016, 49152],
        0.2,
    )
    return new


def generation(chance):
    out = {}
    for key in (
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "penalty_repeat",
        "penalty_last_n",
        "xtc_probability",
        "xtc_threshold",
        "mirostat",
        "mirostat_tau",
        "mirostat_eta",
        "sequence",
        "penalty_freq",
        "typical_p",
        "repetition_penalty",
    ):
        maybe(chance, out, key, [0, 1, 0.7, 50, None, 1.0, 0.95, "x", True, -1], 0.2)
    return out


def tokenizer_changes(chance):
    new = {}
    token = families.token_entry
    maybe(chance, new, "bos_token", ["<s>", None, token("<s>", True), "</s>", "absent", ""], 0.3)
    maybe(
        chance,
        new,
        "eos_token",
        ["</s>", None, token("</s>", True), {"content": "</s>", "__type": "AddedToken"}, "absent"],
        0.3,
    )
    maybe(chance, new, "unk_token", ["<unk>", None, token("<unk>", True)], 0.3)
    for key in ("pad_token", "sep_token", "cls_token", "mask_token"):
        maybe(chance, new, key, ["<unk>", "</s>", None, "absent", token("<s>", True)], 0.15)
    for key in ("add_bos_token", "add_eos_token", "add_sep_token", "add_prefix_space", "legacy"):
        maybe(chance, new, key, [True, False, None], 0.3)
    maybe(
        chance,
        new,
        "chat_template",
        [
            "{{ x }}",
            "",
            None,
            [],
            [{"name": "default", "template": "d"}],
            [{"name": "tool_use", "template": "t"}],
            [{"name": "a b-c", "template": "x"}],
            [{"name": "x"}],
            7,
        ],
        0.3,
    )
    size = families.SPM_SIZE
    decoder = {
        str(size + i): token(text, special)
        for i, (text, special) in enumerate(
            [("<|im_start|>", True), ("plain", False), ("<pad>", False), ("a b", False), ("<unused7>", False)]
        )
        if chance.random() < 0.5
    }
    decoder.update(
        {str(i): token(text, True) for i, text in enumerate(["<unk>", "<s>", "</s>"]) if chance.random() < 0.3}
    )
    maybe(chance, new, "added_tokens_decoder", [decoder], 0.4)
    return new


def build(chance, root, only):
    family = chance.choice([families.tiny, families.tiny, small_mistral, small_qwen2, small_qwen3])
    heads = chance.choice([1, 2, 4, 8])
    shape = {
        "hidden": heads * chance.choice([8, 16, 24, 32]),
        "inner": chance.choice([32, 96, 100, 256, 300]),
        "layers": chance.choice([1, 1, 2, 3]),
        "heads": heads,
        "kv": chance.choice([n for n in (1, 2, 4, 8) if heads % n == 0]),
        "rows": chance.choice([None, 500, 1300]),
    }
    config, tensors = family(**shape)
    changes = config_changes(chance) if "configs" in only else {}
    tokenizer = chance.choice(["spm", "spm", "spm-json", "spm+json", "spm-json-old"])
    files = families.tokenizer_files(tokenizer)
    if "tokenizers" in only:
        settings = {**files["tokenizer_config.json"], **tokenizer_changes(chance)}
        if "json" in tokenizer and chance.random() < 0.7:
            settings["tokenizer_class"] = "PreTrainedTokenizerFast"
        files["tokenizer_config.json"] = settings if chance.random() < 0.95 else None
        if chance.random() < 0.15:
            files["added_tokens.json"] = {
                "<|x|>": families.SPM_SIZE,
                "y": families.SPM_SIZE + chance.choice([1, 2, 50]),
            }
        if chance.random() < 0.2:
            files["special_tokens_map.json"] = {"bos_token": "<s>", "pad_token": chance.choice(["<unk>", "<pad>"])}
    if "chat" in only and chance.random() < 0.2:
        files["chat_template.jinja"] = chance.choice([b"from file", b"a\r\nb\rc", b"", "é".encode()])
    if "configs" in only and chance.random() < 0.4:
        files["generation_config.json"] = generation(chance)
    if "cards" in only and chance.random() < 0.8:
        files["README.md"] = card(chance)
    config = {**config, **changes}
    if "configs" in only and chance.random() < 0.2:
        for key in chance.sample(
            [
                "rope_theta",
                "rms_norm_eps",
                "num_key_value_heads",
                "max_position_embeddings",
                "vocab_size",
                "head_dim",
                "model_type",
                "hidden_act",
                "intermediate_size",
            ],
            2,
        ):
            config.pop(key, None)
    dtype = chance.choice(["BF16", "BF16", "F16", "F32"])
    case = cases.Case.__new__(cases.Case)
    case.__dict__.update(
        name="sweep",
        folder=name(chance) if "names" in only else "model",
        tokenizer=None,
        shards=chance.choice([1, 1, 2]),
        wild=None,
        config=config,
        tensors=tensors,
        dtype=lambda _: dtype,
        files={**files},
        change=None,
        blobs=False,
        metadata={"format": "pt"},
    )
    cases.CASES["sweep"] = case
    folder = make_model.make("sweep", root)
    del cases.CASES["sweep"]
    return folder


def small_mistral(**shape):
    return families.mistral(**shape)


def small_qwen2(**shape):
    return families.qwen2(vocab=families.SPM_SIZE, **shape)


def small_qwen3(**shape):
    return families.qwen3(vocab=families.SPM_SIZE, head_dim=16, **shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="names,cards,configs,tokenizers,chat")
    options = parser.parse_args()
    root = reference.CACHE / "sweep"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    runner = subprocess.Popen(
        [reference.PYTHON, HERE / "reference_runner.py", reference.LLAMA_CPP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    equal, refused, bad = 0, 0, 0
    for seed in range(options.seed, options.seed + options.count):
        place = root / str(seed)
        folder = build(random.Random(seed), place / "m", options.only.split(","))
        runner.stdin.write(
            json.dumps({"dir": str(folder), "outtype": "bf16", "outfile": str(place / "wanted.gguf")}) + "\n"
        )
        runner.stdin.flush()
        error = json.loads(runner.stdout.readline())["error"]
        digest, told = rig.export_hash(folder, "model-bf16.gguf")
        if error:
            if digest is None:
                refused += 1
                shutil.rmtree(place)
                continue
            what = "the reference refuses: %s; weightfs does not" % error[:300]
        elif digest is None:
            what = "weightfs refuses: " + told[:400]
        elif digest == rig.file_hash(place / "wanted.gguf")[0]:
            equal += 1
            shutil.rmtree(place)
            continue
        else:
            what = difference.explain(
                place / "wanted.gguf",
                lambda to: rig.weightfs("export", "--force", folder, "model-bf16.gguf", "-o", to),
            )
        bad += 1
        print("%s\n    %s" % (folder, what.replace("\n", "\n    ")), flush=True)
    runner.stdin.close()
    print(
        "%d equal, %d refused by both, %d differ (seeds %d to %d)"
        % (equal, refused, bad, options.seed, options.seed + options.count - 1)
    )


if __name__ == "__main__":
    sys.path.insert(0, str(reference.LLAMA_CPP / "gguf-py"))
    main()
