"""Writes codecs/arch/tensor_names.c: which checkpoint names stand for which tensor, for the architectures in ARCHITECTURES.

Run with the reference environment's Python and the pinned llama.cpp's gguf-py on PYTHONPATH:
make_tensor_names.py > codecs/arch/tensor_names.c; the enum in tensor_names.h has the kinds in the order of KINDS.
"""
from gguf.constants import MODEL_ARCH, MODEL_TENSOR as T, MODEL_TENSORS, TENSOR_NAMES
from gguf.tensor_mapping import TensorNameMap

ARCHITECTURES = [MODEL_ARCH.LLAMA, MODEL_ARCH.QWEN2, MODEL_ARCH.QWEN3]
KINDS = [T.TOKEN_EMBD, T.OUTPUT_NORM, T.OUTPUT, T.ROPE_FREQS, T.ATTN_NORM, T.ATTN_Q, T.ATTN_Q_NORM, T.ATTN_K, T.ATTN_K_NORM,
         T.ATTN_V, T.ATTN_OUT, T.ATTN_ROT_EMBD, T.FFN_GATE_INP, T.FFN_NORM, T.FFN_GATE, T.FFN_DOWN, T.FFN_UP,
         T.FFN_GATE_EXP, T.FFN_DOWN_EXP, T.FFN_UP_EXP]

for arch in ARCHITECTURES:
    assert set(MODEL_TENSORS[arch]) <= set(KINDS), arch
    assert arch not in TensorNameMap.arch_block_mappings_cfg

names = {k: [TENSOR_NAMES[k]] for k in KINDS}
for table in (TensorNameMap.mappings_cfg, TensorNameMap.block_mappings_cfg):
    for kind, keys in table.items():
        if kind in names:
            names[kind] = list(dict.fromkeys([*names[kind], *keys]))

# One name must mean one kind within each architecture: then the order of the rows does not matter.
for arch in ARCHITECTURES:
    every = [n for k in MODEL_TENSORS[arch] for n in names[k]]
    assert len(every) == len(set(every)), arch

print("/* Made by tests/vectors/make_tensor_names.py from gguf-py's tensor_mapping.py (llama.cpp b10605). */")
print('#include "tensor_names.h"\n')
print("#include <stddef.h>\n")
for kind in KINDS:
    print(f"static const char *const {kind.name.lower()}[] = {{")
    line = "   "
    for n in names[kind]:
        item = f' "{n}",'
        if len(line) + len(item) > 114:
            print(line)
            line = "   "
        line += item
    print(line + " NULL,\n};\n")
print("const struct wfs_tensor_names wfs_tensor_names[WFS_KIND_COUNT] = {")
for kind in KINDS:
    print(f'    [WFS_KIND_{kind.name}] = {{ "{TENSOR_NAMES[kind]}", {kind.name.lower()} }},')
print("};")
