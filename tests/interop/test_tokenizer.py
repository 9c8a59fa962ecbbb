"""The tokenizer keys against the converter's own classes: see check_tokenizer.py."""

import os

import pytest

import real_tokenizers
import rig
import tokenizer_cases

BINARY = os.environ.get("WEIGHTFS_DUMP_TOKENIZER") or rig.BIN.parents[1] / "tests" / "unit" / "dump_tokenizer"


@pytest.mark.parametrize("case", list(tokenizer_cases.all_cases()), ids=lambda case: case.name)
def test_keys_are_the_converters(case, tmp_path):
    check_tokenizer = pytest.importorskip("check_tokenizer")
    problem = check_tokenizer.check(str(BINARY), case, tmp_path / "model")
    assert problem is None, problem


@pytest.mark.parametrize("name", ["llama3_1", "qwen3"])
def test_published_tokenizers_are_among_the_cases(name):
    """Where they are absent the line of this test says so: their cases are then not in the list above."""
    try:
        assert "tokenizer.json" in real_tokenizers.read(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    assert any(case.name == "real-" + name for case in tokenizer_cases.all_cases())
