#!/usr/bin/env python3
"""Random shapes, file types and flags: weightfs --view beside llama-quantize, whole files.

Usage: sweep_recipes.py [--models N] [--recipes N] [--seed S]     prints the recipes whose files differ

Not part of the suite that CI runs: it looks for cases worth adding to cases.py and test_recipes.py.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
import cases  # noqa: E402
import difference  # noqa: E402
import families  # noqa: E402
import make_model  # noqa: E402
import reference  # noqa: E402
import rig  # noqa: E402
from test_recipes import flags  # noqa: E402

TYPES = (
    "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s iq4_nl "
    "iq4_xs tq1_0 tq2_0 mxfp4 nvfp4 q1_0 q2_0"
).split()
PATTERNS = ["ffn_down", "attn_", "attn_(q|k)", r"blk\.[02]\.", "weight$", "^output", "FFN", r"blk\.\d\..*up", "token", "x"]


def shape(chance):
    """Hidden sizes and inner sizes that are whole blocks of 256, of 128, 64, 32, or of none."""
    heads = chance.choice([2, 4, 8])
    unit = chance.choice([256, 256, 128, 64, 32, 8])
    hidden = max(unit * chance.randrange(1, 1 + 640 // unit) // (2 * heads), 1) * 2 * heads
    inner = chance.choice([256, 256, 128, 32, 24]) * chance.randrange(1, 4)
    kv = chance.choice([k for k in (1, 2, 4, 8) if heads % k == 0])
    layers = chance.choice([1, 2, 3, 4, 8, 9, 17]) if hidden < 400 else 2
    tied = chance.random() < 0.4
    return families.llama(hidden=hidden, inner=inner, heads=heads, kv=kv, layers=layers, tie_word_embeddings=tied)


def recipe(chance):
    words = [chance.choice(cases.FILE_TYPES + ["f16", "bf16", "f32"])]
    if chance.random() < 0.3:
        words.append("output=" + chance.choice(TYPES))
    if chance.random() < 0.3:
        words.append("token-embedding=" + chance.choice(TYPES))
    if chance.random() < 0.2:
        words.append("pure")
    if chance.random() < 0.1:
        words.append("leave-output-tensor")
    for _ in range(chance.choice([0, 0, 0, 1, 1, 2])):
        words.append("tensor-type=%s=%s" % (chance.choice(PATTERNS), chance.choice(TYPES)))
    return words


def compare(folder, auto, words, out):
    """ "equal", "refused" (by both), "not yet", or what differs."""
    command = [reference.QUANTIZE, *flags(words), auto, out, words[0], "1"]
    run = subprocess.run(command, capture_output=True)
    view = ["--view", "sweep.gguf " + " ".join(words)]
    digest, told = rig.export_hash(folder, "sweep.gguf", *view)
    if digest is None and "cannot write yet" in told:
        return "not yet"
    if run.returncode:
        return "refused" if digest is None else "the reference refuses (exit %d): %r" % (run.returncode, run.stderr[-300:])
    if digest is None:
        return "weightfs refuses: " + told[-400:]
    if digest == rig.file_hash(out)[0]:
        return "equal"
    return difference.explain(
        out, lambda to: rig.weightfs("export", "--force", *view, folder, "sweep.gguf", "-o", to)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--recipes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts = {}
    for seed in range(options.seed, options.seed + options.models):
        chance = random.Random(seed)
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            model = shape(chance)
            cases.Case("sweep", model, "Sweep", dtype=chance.choice(["BF16", "BF16", "F16", "F32"]))
            folder = make_model.make("sweep", place / "m")
            del cases.CASES["sweep"]
            auto = place / "auto.gguf"
            reference.run_converter(folder, "auto", auto)
            for _ in range(options.recipes):
                words = recipe(chance)
                what = compare(folder, auto, words, place / "wanted.gguf")
                key = what if what in ("equal", "refused", "not yet") else "different"
                counts[key] = counts.get(key, 0) + 1
                if key == "different":
                    sizes = {k: model[0][k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers")}
                    print("seed %d %s: %s\n    %s" % (seed, sizes, " ".join(words), what), flush=True)
    print(counts)


if __name__ == "__main__":
    main()
