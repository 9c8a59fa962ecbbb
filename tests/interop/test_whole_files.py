"""Whole GGUF files against the reference: the same bytes, and nothing offered that the reference refuses."""

import json

import pytest
import rig

import difference
import make_model
import reference as reference_tools

VIEWS = ("f32", "f16", "bf16", "q8_0", "q4_k_m")


@pytest.fixture(scope="session")
def references():
    return reference_tools.prepare()


def expected(references, name):
    made, missing = references
    if name in missing:
        pytest.skip(missing[name])
    return made[name]


def allowed(ref, view):
    return ref.case.known.get(view) or ref.case.known.get("*.gguf")


def check(ref, view, result, digest, told):
    """One view: digest is None when weightfs does not give it, told is what it says. Returns why it may do so."""
    if result["error"]:
        assert digest is None, "the reference refuses (%s), weightfs gives %s bytes" % (result["error"], told)
        return None
    if digest is None:
        why = allowed(ref, view)
        assert why, "weightfs refuses: %s" % told
        return "%s withheld: %s" % (view, why)
    if digest != result["sha256"]:
        pytest.fail(
            difference.explain(
                ref.path(view),
                lambda to: rig.weightfs("export", "--force", ref.source, "model-%s.gguf" % view, "-o", to),
            )
        )
    return None


def check_all(ref, read):
    """Every view, by read(view) -> (digest or None, told): what is withheld by right hides no mismatch elsewhere."""
    problems, withheld, results = [], [], dict(ref.results)
    auto = results.pop("auto", {"error": None})
    if auto["error"]:  # the converter refuses the model: there is no view at all
        results.update({view: auto for view in ("f32", "f16", "bf16", "q8_0") if view not in results})
    for view, result in results.items():
        try:
            withheld.append(check(ref, view, result, *read(view)))
        except (AssertionError, pytest.fail.Exception) as problem:
            problems.append("%s: %s" % (view, problem))
    assert not problems, "\n".join(problems)
    assert withheld, "nothing was compared"
    if any(withheld):
        pytest.skip("; ".join(filter(None, withheld)))


@pytest.mark.parametrize("name", make_model.CASES)
def test_export_equals_reference(references, name):
    ref = expected(references, name)
    check_all(ref, lambda view: rig.export_hash(ref.source, "model-%s.gguf" % view))


@pytest.mark.parametrize("name", [n for n, c in make_model.CASES.items() if len(c.quants) + len(c.outtypes) > 2])
def test_mount_equals_reference(references, name, tmp_path):
    ref = expected(references, name)
    with rig.mounted(ref.source, tmp_path / "mnt") as mnt:

        def read(view):
            path = mnt / ("model-%s.gguf" % view)
            try:
                size = path.stat().st_size
                told = rig.file_hash(path)
            except OSError as error:
                return None, str(error)
            assert told[1] == size
            return told

        check_all(ref, read)


def test_size_is_said_before_a_byte_is_made(references):
    ref = expected(references, "llama2-model")
    status = json.loads(rig.weightfs("ls", "--json", ref.source).out)
    sizes = {view["path"]: view["size"] for view in status["views"]}
    for view in VIEWS:
        assert sizes["model-%s.gguf" % view] == ref.results[view]["size"]


def test_model_name_option(tmp_path):
    """--model-name of the converter."""
    folder = reference_tools.model_folder("llama2-model")
    out = tmp_path / "named.gguf"
    name = "A Given-Name 7B"
    reference_tools.run_converter(folder, "bf16", out, "--model-name", name)
    assert rig.export_hash(folder, "model-bf16.gguf", "--model_name=" + name) == rig.file_hash(out)


def test_parent_folder_does_not_matter(references, tmp_path):
    ref = expected(references, "llama2-model")
    other = tmp_path / "elsewhere" / ref.source.name
    other.parent.mkdir()
    other.symlink_to(ref.source)
    digest, _ = rig.export_hash(other, "model-bf16.gguf")
    assert digest == ref.results["bf16"]["sha256"]


def test_workers_do_not_change_bytes(references):
    ref = expected(references, "llama2-12-layers")
    for workers in (1, 3):
        digest, told = rig.export_hash(ref.source, "model-q4_k_m.gguf", "--workers=%d" % workers)
        assert digest == ref.results["q4_k_m"]["sha256"], told


def test_a_cache_smaller_than_the_file_does_not_change_bytes(references):
    ref = expected(references, "llama2-12-layers")
    digest, told = rig.export_hash(ref.source, "model-f32.gguf", "--cache_size=8M")
    assert digest == ref.results["f32"]["sha256"], told
