"""Recipes in the commands and the mount: what is said of them. That their bytes are right, tests/interop shows."""

import json
import os
import time

import pytest
import rig


def test_ls_notes_words_that_do_nothing(model):
    source = model("types-few-layers")
    view = ["--view", "model-mine.gguf q4_k_m output=q8_0 leave-output-tensor tensor-type=fnn=q5_k"]
    lines = rig.weightfs("ls", *view, source).out.splitlines()
    at = next(i for i, line in enumerate(lines) if "model-mine.gguf" in line)
    assert "note: output=q8_0 decides about no tensor: leave-output-tensor comes first" in lines[at + 1]
    assert "note: tensor-type=fnn=q5_k decides about no tensor" in lines[at + 2]
    status = json.loads(rig.weightfs("ls", "--json", *view, source).out)
    notes = {entry["path"]: entry.get("notes") for entry in status["views"]}
    assert len(notes.pop("model-mine.gguf")) == 2
    assert set(notes.values()) == {None}


def test_ls_pads_by_columns(model):
    """Where a terminal shows a wide character in two columns, what stands behind the name is in line."""
    names = ["model-mine.gguf", "模型-mine.gguf", "modèle.gguf", "mode\u0300le.gguf"]
    views = [word for name in names for word in ("--view", name + " q8_0")]
    out = rig.weightfs("ls", *views, model("types-few-layers")).out
    lines = [next(line for line in out.splitlines() if name in line) for name in names]
    columns = [line.index(" bpw") for line in lines]
    assert columns[1] == columns[0] - 2  # two characters, each of two columns
    assert columns[2] == columns[0]
    assert columns[3] == columns[0] + 1  # a mark of no column


def test_who_asks_for_a_withheld_view_finds_why_in_the_log(model, tmp_path):
    log = tmp_path / "log"
    with rig.mounted(model("types-few-layers"), tmp_path / "mnt", log=log) as mnt:
        assert "model-iq1_s.gguf" not in log.read_text()  # unusual: nothing is said of it by itself
        for _ in range(3):
            with pytest.raises(FileNotFoundError):
                os.stat(mnt / "model-iq1_s.gguf")
        with pytest.raises(FileNotFoundError):
            os.stat(mnt / "model-iq9.gguf")
        lines = [line for line in log.read_text().splitlines() if "model-iq1_s.gguf" in line]
        assert len(lines) == 1 and "was asked for and is withheld: " in lines[0] and "importance" in lines[0], lines
        assert "iq9" not in log.read_text()


def test_an_absent_matrix_is_named_by_its_whole_path(model, tmp_path):
    recipes = tmp_path / "recipes"
    recipes.write_text("mine.gguf q4_k_m imatrix=sub/some.gguf\n")
    (tmp_path / "cwd").mkdir()
    (tmp_path / "mnt").mkdir()
    for command in (["ls"], ["mount", "-f"]):
        where = [tmp_path / "mnt"] if command[0] == "mount" else []
        told = rig.weightfs(
            *command, "--views_file=%s" % recipes, model("types-few-layers"), *where, code=1, cwd=tmp_path / "cwd"
        ).err
        assert "sub/some.gguf" in told and "No such file" in told
        assert "(looked for at %s/cwd/sub/some.gguf)" % tmp_path in told


def test_slow_recipes_do_not_hold_up_others(model, tmp_path):
    """Recipes whose patterns take a second in all: the mount serves and other views open before they are done."""
    n = max(20, int(100 / rig.SLOW))
    pattern = "tensor-type=.*.*.*(xx|zz)=q8_0"  # tried in every way on each name, and found in none
    recipes = tmp_path / "recipes"
    recipes.write_text("".join("slow-%d.gguf q4_k_m %s\n" % (i, pattern) for i in range(n)))
    source = model("types-few-layers")
    begin = time.monotonic()
    rig.weightfs("ls", "--views_file=%s" % recipes, source)
    whole = time.monotonic() - begin
    with rig.mounted(source, tmp_path / "mnt", "views_file=%s" % recipes) as mnt:
        begin = time.monotonic()
        for name in ("model-q4_k_m.gguf", "slow-%d.gguf" % (n - 1), "slow-0.gguf"):
            assert os.stat(mnt / name).st_size > 0
        one = time.monotonic() - begin
        begin = time.monotonic()
        assert len(os.listdir(mnt)) > n
        print("ls of all %.2f s; three lookups %.2f s; then readdir %.2f s" % (whole, one, time.monotonic() - begin))
    assert whole > 0.3 and one < whole / 3, (whole, one)
