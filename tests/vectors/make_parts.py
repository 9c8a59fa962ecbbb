"""Writes tests/vectors/tokenizer/parts.json: which parts of a tokenizer.json the tokenizers library takes.

Each case is [slot, value, taken, sound]: whether Tokenizer.from_str takes a file with the value in the slot, and whether the
value is one of SOUND. The values are sound parts of every type, and each with a member taken out or replaced.

Usage: make_parts.py OUTFILE, in an environment with the pinned tokenizers.
"""

import json
import sys

from tokenizers import Tokenizer

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
OLD_METASPACE = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "\u2581"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
TEMPLATE = {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}

SOUND = {
    "normalizer": [
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
         "lowercase": True},
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "StripAccents"}, {"type": "NFC"},
        {"type": "NFD"},
        {"type": "NFKC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "Nmt"}, REPLACE,
        {"type": "Replace", "pattern": {"Regex": " +"}, "content": ""}, {"type": "Prepend", "prepend": "\u2581"},
        {"type": "ByteLevel"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}, REPLACE]},
    ],
    "pre_tokenizer": [
        BYTE_LEVEL, METASPACE, OLD_METASPACE, {"type": "BertPreTokenizer"}, {"type": "Whitespace"},
        {"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"}, {"type": "CharDelimiterSplit", "delimiter": "x"},
        {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True},
        {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "MergedWithNext", "invert": False},
        {"type": "Split", "pattern": {"String": "x"}, "behavior": "Removed", "invert": True},
        {"type": "FixedLength", "length": 5},
        {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, {"type": "Digits", "individual_digits": True}]},
    ],
    "post_processor": [
        BYTE_LEVEL, {"type": "BertProcessing", "sep": ["a", 0], "cls": ["a", 0]},
        {"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["a", 0], "trim_offsets": True,
         "add_prefix_space": False},
        TEMPLATE, {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]},
    ],
    "decoder": [
        BYTE_LEVEL, METASPACE, OLD_METASPACE, REPLACE, {"type": "Fuse"}, {"type": "ByteFallback"},
        {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "Sequence", "decoders": [REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    ],
    "truncation": [{"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}],
    "padding": [
        {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
         "pad_token": "a"},
        {"strategy": {"Fixed": 5}, "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": "a"},
    ],
    "version": ["1.0"],
    "unheard_of": [],
}
ODD = [None, True, 1, -1, 1.5, 2**32, "", "xy", [], {}, ["a", 1]]


def changed(value):
    """value with one of its members, however deep, taken out or replaced."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for odd in ODD:
                yield {**value, key: odd}
            for inner in changed(value[key]):
                yield {**value, key: inner}
        yield {**value, "other": 1}
    elif isinstance(value, list):
        for i in range(len(value)):
            for odd in [None, 1, "x", {}, *changed(value[i])]:
                yield value[:i] + [odd] + value[i + 1:]


def takes(slot, value):
    text = json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], slot: value,
                       "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})
    try:
        Tokenizer.from_str(text)
    except BaseException:
        return False
    return True


def main():
    cases, seen = [], set()
    for slot, values in SOUND.items():
        sound = {json.dumps([slot, value]) for value in values}
        for value in [*ODD, *values, *SOUND["normalizer"][:2], *[c for v in values for c in changed(v)]]:
            text = json.dumps([slot, value])
            if text not in seen:
                seen.add(text)
                cases.append([slot, value, takes(slot, value), text in sound])
    with open(sys.argv[1], "w") as out:
        out.write("[" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "]\n")


main()
