"""Quantised views with an importance matrix against llama-quantize --imatrix: whole files, and what is refused."""

import os
import subprocess

import imatrix_files
import numpy as np
import pytest
import rig
from gguf import GGUFWriter

from reference import QUANTIZE

TYPES = (
    "q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q2_k_s q3_k_s q3_k_m q3_k_l q4_k_s q4_k_m q5_k_s q5_k_m q6_k iq1_s iq1_m iq2_xxs "
    "iq2_xs iq2_s iq2_m iq3_xxs iq3_xs iq3_s iq3_m iq4_nl iq4_xs tq1_0 tq2_0"
).split()


def input_of(ref):
    """The 16-bit file that --outtype auto wrote."""
    return ref.path(ref.results["auto"]["is"])


def quantize(source, out, kind, matrix, *options):
    """Hash and size, or (None, why)."""
    out.unlink(missing_ok=True)
    run = subprocess.run(
        [QUANTIZE, "--imatrix", matrix, *options, source, out, kind, "1"], capture_output=True, timeout=300
    )
    if run.returncode:
        return None, (run.stdout + run.stderr).decode(errors="replace")[-2000:]
    made = rig.file_hash(out)
    out.unlink()
    return made


def compare(ref, tmp_path, matrix, types=TYPES):
    problems, compared = [], 0
    for kind in types:
        theirs = quantize(input_of(ref), tmp_path / "theirs.gguf", kind, matrix)
        ours = rig.export_hash(ref.source, "model-%s.gguf" % kind, "--imatrix=%s" % matrix)
        compared += theirs[0] is not None
        if theirs[0] != ours[0]:
            problems.append("%s: reference %s, weightfs %s" % (kind, theirs, ours))
    assert not problems, "\n".join(problems)
    return compared


@pytest.mark.parametrize(
    "case, form, kind",
    [
        ("types-few-layers", "gguf", "zeros"),
        ("types-gqa8-tied", "dat", "usual"),
        ("types-fall-back", "dat", "one-hot"),
        ("types-fall-back-tied", "gguf", "negative"),
        ("types-odd-ffn", "gguf", "usual"),
        ("llama2-f32", "dat", "huge"),
        ("denormals", "gguf", "usual"),
    ],
)
def test_whole_files(reference, tmp_path, case, form, kind):
    ref = reference(case)
    matrix = tmp_path / ("calibration." + form)
    getattr(imatrix_files, "write_" + form)(matrix, imatrix_files.shapes(input_of(ref)), kind)
    assert compare(ref, tmp_path, matrix) > 10


def test_a_matrix_for_some_tensors(reference, tmp_path):
    """Types that need no weights do without; others are refused with the tensor's name."""
    ref = reference("types-few-layers")
    tensors = {n: s for n, s in imatrix_files.shapes(input_of(ref)).items() if "ffn_up" in n or "attn_v" in n}
    matrix = tmp_path / "some.gguf"
    imatrix_files.write_gguf(matrix, tensors)
    assert compare(ref, tmp_path, matrix) > 5
    code, said = rig.export_hash(ref.source, "model-iq2_xs.gguf", "--imatrix=%s" % matrix)
    assert code is None and "blk.0.attn_" in said and "importance" in said


def test_a_length_that_does_not_fit(reference, tmp_path):
    """Fatal, but for the token embedding."""
    ref = reference("types-few-layers")
    for name, fatal in (("blk.1.ffn_down.weight", True), ("token_embd.weight", False)):
        tensors = imatrix_files.shapes(input_of(ref))
        tensors[name] = (tensors[name][0] - 1, 1)
        matrix = tmp_path / "wrong.dat"
        imatrix_files.write_dat(matrix, tensors)
        compared = compare(ref, tmp_path, matrix, ("q4_k_m", "q8_0", "q4_0"))
        assert compared == (0 if fatal else 3)
        if fatal:
            code, said = rig.export_hash(ref.source, "model-q4_k_m.gguf", "--imatrix=%s" % matrix)
            assert code is None and name in said


@pytest.mark.parametrize(
    "change",
    [
        {"datasets": ("", "b")},
        {"datasets": ("d" * 300,)},
        {"datasets": ("süß\0tail",)},
        {"chunks": 0},
    ],
)
def test_keys(reference, tmp_path, change):
    ref = reference("types-few-layers")
    matrix = tmp_path / ("m" * 140 + ".gguf")  # longer than llama.cpp keeps
    imatrix_files.write_gguf(matrix, imatrix_files.shapes(input_of(ref)), **change)
    assert compare(ref, tmp_path, matrix, ("q4_k_m",)) == 1


def test_the_older_form_without_a_tail(reference, tmp_path):
    ref = reference("types-few-layers")
    matrix = tmp_path / "m.dat"
    imatrix_files.write_dat(matrix, imatrix_files.shapes(input_of(ref)), tail=False)
    assert compare(ref, tmp_path, matrix, ("q4_k_m",)) == 1
    whole = matrix.read_bytes()
    for tail in (b"\x05", b"\x05\0\0\0\x03", b"\x05\0\0\0\x09\0\0\0abc", b"\xff\xff\xff\xff\x03\0\0\0abc"):
        matrix.write_bytes(whole + tail)
        assert compare(ref, tmp_path, matrix, ("q4_k_m",)) == 1


def test_a_value_that_is_not_finite(reference, tmp_path):
    ref = reference("types-few-layers")
    tensors = imatrix_files.shapes(input_of(ref))
    matrix = tmp_path / "nan.dat"
    imatrix_files.write_dat(matrix, tensors)
    data = bytearray(matrix.read_bytes())
    at = data.index(b"blk.1.ffn_up.weight") + len("blk.1.ffn_up.weight") + 8 + 4 * 5
    data[at : at + 4] = np.float32("nan").tobytes()
    matrix.write_bytes(data)
    assert quantize(input_of(ref), tmp_path / "theirs.gguf", "q4_k_m", matrix)[0] is None
    run = rig.weightfs("ls", "--imatrix=%s" % matrix, ref.source, code=1)
    assert "blk.1.ffn_up.weight" in run.err and "nan.dat" in run.err


def test_files_that_are_no_matrix(reference, tmp_path):
    ref = reference("types-few-layers")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"\0\0\0\0not a matrix")
    for name in ("empty", "text", "absent", "."):
        run = rig.weightfs("ls", "--imatrix=%s" % (tmp_path / name), ref.source, code=1)
        assert "importance matrix %s" % (tmp_path / name) in run.err
    assert quantize(input_of(ref), tmp_path / "theirs.gguf", "q4_k_m", tmp_path / "text")[0] is None


def test_without_a_matrix_the_message_names_the_option(reference):
    ref = reference("types-few-layers")
    code, said = rig.export_hash(ref.source, "model-iq1_s.gguf")
    assert code is None and "imatrix=FILE" in said


def test_a_relative_path_stands_as_typed(reference, tmp_path):
    ref = reference("types-few-layers")
    imatrix_files.write_gguf(tmp_path / "m.gguf", imatrix_files.shapes(input_of(ref)))
    subprocess.run(
        [QUANTIZE, "--imatrix", "./m.gguf", input_of(ref), "theirs.gguf", "q4_k_m", "1"],
        cwd=tmp_path, check=True, capture_output=True,
    )
    theirs = (tmp_path / "theirs.gguf").read_bytes()
    assert rig.export(ref.source, "model-q4_k_m.gguf", "--imatrix=./m.gguf", cwd=tmp_path) == theirs
    with rig.mounted(ref.source, tmp_path / "mnt", "imatrix=%s" % (tmp_path / "m.gguf")) as mnt:
        mounted = (mnt / "model-q4_k_m.gguf").read_bytes()
    assert len(mounted) >= len(theirs) - 64 and mounted != theirs
    assert mounted[-4096:] == theirs[-4096:]


def test_a_recipe_names_its_own(reference, tmp_path):
    ref = reference("types-few-layers")
    for name in ("a.gguf", "b.dat"):
        form = imatrix_files.write_gguf if name.endswith("gguf") else imatrix_files.write_dat
        form(tmp_path / name, imatrix_files.shapes(input_of(ref)), "usual" if name == "a.gguf" else "zeros")
    own = "model-x.gguf q3_k_m imatrix=%s" % (tmp_path / "b.dat")
    for recipe, matrix in (("model-x.gguf q3_k_m", "a.gguf"), (own, "b.dat")):
        theirs = quantize(input_of(ref), tmp_path / "theirs.gguf", "q3_k_m", tmp_path / matrix)
        ours = rig.export_hash(
            ref.source, "model-x.gguf", "--imatrix=%s" % (tmp_path / "a.gguf"), "--view", recipe
        )
        assert theirs[0] and ours == theirs, ours


def test_a_matrix_without_weights_is_none(reference, tmp_path):
    """And who gave it is not told to give one."""
    ref = reference("types-few-layers")
    writer = GGUFWriter(tmp_path / "m.gguf", "")
    writer.add_array("imatrix.datasets", ["x"])
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", 512)
    writer.add_tensor("other", np.ones(3, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert compare(ref, tmp_path, tmp_path / "m.gguf", ("q4_k_m",)) == 1
    code, said = rig.export_hash(ref.source, "model-iq1_s.gguf", "--imatrix=%s" % (tmp_path / "m.gguf"))
    assert code is None and "the matrix has none at all" in said and "give option" not in said


def test_a_view_is_as_new_as_its_matrix(reference, tmp_path):
    """Its bytes change with the matrix while its size does not."""
    ref = reference("types-few-layers")
    imatrix_files.write_gguf(tmp_path / "m.gguf", imatrix_files.shapes(input_of(ref)))
    os.utime(tmp_path / "m.gguf", (3e9, 3e9))
    options = "imatrix=%s" % (tmp_path / "m.gguf"), "view=mine.gguf q4_0"
    with rig.mounted(ref.source, tmp_path / "mnt", *options) as mnt:
        assert (mnt / "model-q4_k_m.gguf").stat().st_mtime == (mnt / "mine.gguf").stat().st_mtime == 3e9
        assert (mnt / "model-f16.gguf").stat().st_mtime < 3e9
        assert (mnt / "model.safetensors").stat().st_mtime < 3e9
