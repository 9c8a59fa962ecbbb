"""Views of one's own: the whole files that llama-quantize writes with the same flags."""

import json
import shutil
import subprocess

import pytest
import rig

import reference as reference_tools

# Model, and the words behind the view's name.
RECIPES = [
    ("types-few-layers", "q4_k_m output=q8_0 token-embedding=q6_k tensor-type=ffn_down=q5_k"),
    ("types-few-layers", "q6_k pure"),
    ("types-few-layers", "Q5_K_M leave-output-tensor"),
    ("types-few-layers", "q4_k_s pure token-embedding=f32 output=bf16"),
    ("types-few-layers", r"q8_0 tensor-type=blk\.(1|7)\..*=q5_1 tensor-type=FFN=q6_k"),
    ("types-few-layers", "f16 output=q8_0"),
    ("types-few-layers", "f32"),
    ("types-few-layers", "bf16 token-embedding=q5_0"),
    ("types-16-layers-gqa4", "q4_k_m tensor-type=ffn_down=q5_k tensor-type=attn_v=q8_0"),
    ("types-16-layers-gqa4", r"q5_k_s tensor-type=blk\.[0-3]\.attn_(q|k)=f16"),
    ("types-16-layers-gqa4", "q5_k_m tensor-type=blk.1.=q8_0"),
    ("types-fall-back", "q4_k_m output=q8_0 tensor-type=ffn_(up|down)=q6_k"),
    ("types-fall-back", "q5_k_m pure"),
    ("types-fall-back-tied", "q6_k output=q5_1"),
    ("types-fall-back-tied", "q4_k_m token-embedding=q5_0"),
    # What llama-quantize gives up on.
    ("types-fall-back", "q4_k_m output=q6_k"),
    ("types-odd-ffn", "q4_k_m tensor-type=ffn_down=q8_0"),
    ("types-few-layers", "q4_k_m tensor-type=ffn_(?=q8_0"),
    ("types-few-layers", "q4_k_m tensor-type=ffn_down=iq1_s"),
    ("types-few-layers", "q4_k_m output=iq2_xs"),
]


def flags(words):
    out = []
    for word in words[1:]:
        key, _, value = word.partition("=")
        out += {
            "output": ["--output-tensor-type", value],
            "token-embedding": ["--token-embedding-type", value],
            "tensor-type": ["--tensor-type", value],
        }.get(key, ["--" + key])
    return out


@pytest.fixture(scope="session")
def references():
    return reference_tools.prepare(sorted({name for name, _ in RECIPES}))[0]


@pytest.mark.parametrize("name,recipe", RECIPES)
def test_recipe_equals_llama_quantize(references, name, recipe, tmp_path):
    ref, words = references[name], recipe.split()
    auto = ref.path(ref.results["auto"]["is"])
    out = tmp_path / "reference.gguf"
    command = [reference_tools.QUANTIZE, *flags(words), auto, out, words[0], "1"]
    run = subprocess.run(command, capture_output=True)
    digest, told = rig.export_hash(ref.source, "model-mine.gguf", "--view=model-mine.gguf " + recipe)
    if run.returncode:
        assert digest is None, told
    else:
        assert digest, told
        assert (digest, told) == rig.file_hash(out)


def test_what_ls_says_of_a_fallback(references):
    source = references["types-fall-back"].source
    view = ["--view", "model-mine.gguf q4_k_m tensor-type=ffn_up=q5_k"]
    assert "by fallback" in [line for line in rig.weightfs("ls", *view, source).out.split("\n") if "-mine" in line][0]
    status = json.loads(rig.weightfs("ls", "--json", *view, source).out)
    mine = [v for v in status["views"] if v["path"] == "model-mine.gguf"][0]
    assert mine["listed"] and mine["fallbacks"] > 0 and mine["types"]["q5_1"] == 9
    assert 5 < mine["bits_per_weight"] < 7


def test_recipes_in_a_mount(references, tmp_path):
    source = references["types-few-layers"].source
    views = tmp_path / "views"
    views.write_text("# mine\nmodel-mine.gguf q6_k pure\nother.gguf q8_0 output=f16\n")
    with rig.mounted(source, tmp_path / "mnt", "views_file=%s" % views) as mnt:
        assert {"model-mine.gguf", "other.gguf"} <= {p.name for p in mnt.iterdir()}
        assert rig.file_hash(mnt / "model-mine.gguf") == rig.export_hash(
            source, "model-mine.gguf", "--view=model-mine.gguf q6_k pure"
        )
        assert not any(p.name == "model-q5_0.gguf" for p in mnt.iterdir())
        assert (mnt / "model-q5_0.gguf").stat().st_size > 0  # opens by name
    with rig.mounted(source, tmp_path / "mnt", "views=other.gguf:model-q5_0.gguf,views_file=%s" % views) as mnt:
        assert {p.name for p in mnt.iterdir() if p.suffix == ".gguf"} == {"other.gguf", "model-q5_0.gguf"}


def test_names_that_the_source_has(references, tmp_path):
    source = tmp_path / "model"
    shutil.copytree(references["types-few-layers"].source, source)
    (source / "folder.gguf").mkdir()
    (source / "file.gguf").write_bytes(b"mine")
    views = ["--view=folder.gguf q8_0", "--view=file.gguf q8_0"]
    withheld = json.loads(rig.weightfs("ls", "--json", *views, source).out)["withheld"]
    reasons = {entry["path"]: entry["reason"] for entry in withheld}
    for name in ("folder.gguf", "file.gguf"):
        assert reasons[name] == "the source has a file or folder of that name, which is shown in its place"
        # Not the folder's file in silence: who names the view means the view.
        told = rig.weightfs("export", *views, source, name, "-o", tmp_path / "out", code=1).err
        assert name + " is withheld: " + reasons[name] in told and not (tmp_path / "out").exists()
    assert rig.export(source, "file.gguf") == b"mine"
    (tmp_path / "mnt").mkdir()
    try:
        told = rig.weightfs("mount", *views, source, tmp_path / "mnt").err
        assert "folder.gguf is withheld" in told or "2 views are withheld" in told, told
        assert (tmp_path / "mnt" / "file.gguf").read_bytes() == b"mine"
    finally:
        rig.weightfs("umount", tmp_path / "mnt")
