"""Completion for bash: what is offered for a line that ends where the cursor is."""

import subprocess

import pytest
import rig

SCRIPT = """
compopt() { [ "$1 $2" = "-o default" ] && echo "(files)"; :; }
weightfs() { "$PROGRAM" "$@"; }
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_weightfs
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    command = ["bash", "-uc", SCRIPT, "bash", rig.REPO / "mount" / "weightfs.bash", "weightfs", *map(str, words)]
    env = {"PROGRAM": str(rig.BIN), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=60 * rig.SLOW, env=env)
    assert run.stderr == "" and run.returncode == 0, run
    return run.stdout.split()


@pytest.mark.parametrize(
    "words,wanted",
    [
        (["exp"], ["export"]),
        (["w"], ["warm"]),
        (["stats", "--e"], ["--every"]),
        (["mount", "--model"], ["--model_name="]),
        (["cache", "pr"], ["prune"]),
        (["ls", ""], ["(files)"]),
    ],
)
def test_words(words, wanted):
    assert offered(*words) == wanted


def test_every_command():
    assert {"mount", "umount", "ls", "info", "export", "verify", "warm", "stats", "cache"} <= set(offered(""))


def test_views(model, tmp_path):
    source = model("types-few-layers")
    wanted = ["model-q5_%s.gguf" % name for name in ("0", "1", "k", "k_m", "k_s")]  # unlisted ones, too
    assert sorted(offered("export", source, "model-q5_")) == wanted
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        assert str(mnt) in offered("warm", "")
        assert offered("warm", mnt, "model-q4_k_m") == ["model-q4_k_m.gguf"]
        assert offered("warm", mnt, "config.json", "model-q8") == ["model-q8_0.gguf"]
        assert offered("warm", mnt, "tens") == ["tensors/"]
        assert offered("warm", mnt, "tensors/model.norm.weight.n") == ["tensors/model.norm.weight.npy"]
