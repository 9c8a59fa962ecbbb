"""The commands: exit codes, help, options, what they print."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import rig

COMMANDS = ["mount", "umount", "ls", "info", "export", "verify", "warm", "stats"]


def test_help_teaches_with_an_example():
    for arguments in (["--help"], ["-h"], ["help"]):
        out = rig.weightfs(*arguments).out
        for command in COMMANDS:
            assert command in out
    for command in COMMANDS:
        out = rig.weightfs(command, "--help").out
        assert "weightfs " + command in out and "xample" in out, command
        assert max(map(len, out.splitlines())) <= 120, command
    assert re.search(r"\d+\.\d+", rig.weightfs("--version").out)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["mount"],
        ["mount", "/a"],
        ["mount", "/a", "/b", "/c"],
        ["umount"],
        ["ls"],
        ["ls", "/a", "/b"],
        ["info"],
        ["export"],
        ["export", "/a"],
        ["verify", "/a", "b"],
        ["stats"],
        ["warm", "/a"],
        ["warm", "/a", "b", ""],
        ["ls", "--nonsense", "/a"],
        ["ls", "--workers=x", "/a"],
        ["ls", "--workers=-1", "/a"],
        ["export", "--cache_size=12Q", "/a", "b"],
        ["mount", "-o", "nonsense", "/a", "/b"],
        ["mount", "-o", "cache_size=", "/a", "/b"],
        ["mount", "-o", "workers=many", "/a", "/b"],
        ["mount", "-o", "umask=999", "/a", "/b"],
        ["mount", "-o", "uid=nobodyatall", "/a", "/b"],
        ["mount", "-o"],
        ["export", "/a", "b", "-o"],
    ],
)
def test_usage_errors_exit_2_and_name_what_is_wrong(arguments):
    run = rig.weightfs(*arguments, code=2)
    assert not run.out and run.err.strip()
    for word in arguments:
        name = word.strip("-").split("=")[0]
        if name in ("nonsense", "workers", "cache_size", "umask", "uid"):
            assert name in run.err


def test_ls_names_every_view_with_its_exact_size(model, tmp_path):
    source = model("mixed-dtypes")
    listed = json.loads(rig.weightfs("ls", "--json", source).out)
    text = rig.weightfs("ls", source).out
    offered = {view["path"]: view["size"] for view in listed["views"] if view.get("size") is not None}
    for view in ("model.safetensors", "model-f32.gguf", "model-q4_k_m.gguf"):
        assert offered[view] == len(rig.export(source, view))
        assert view in text and re.search(r"\b%d\b" % offered[view], text.replace(",", "")), text
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        for name, size in offered.items():
            assert os.stat(mnt / name).st_size == size, name


def test_info(model):
    out = rig.weightfs("info", model("llama2-model")).out
    assert "llama" in out and "model.layers.0.mlp.up_proj.weight" in out and "BF16" in out.upper()
    assert re.search(r"1[.,]\d+ ?M|1[,']?4\d\d[,']?\d{3}|1[,']?5\d\d[,']?\d{3}", out), out


def test_export_of_every_kind_of_file(model, tmp_path):
    source = model("llama2-model")
    assert rig.export(source, "config.json") == (source / "config.json").read_bytes()
    assert rig.export(source, "model.safetensors") == (source / "model.safetensors").read_bytes()
    assert rig.export(source, "tensors/model.norm.weight.npy")[:6] == b"\x93NUMPY"


def test_export_default_output_force_and_failures(model, tmp_path):
    source = model("llama2-model")
    rig.weightfs("export", source, "model-q8_0.gguf", cwd=tmp_path)
    assert rig.file_hash(tmp_path / "model-q8_0.gguf") == rig.export_hash(source, "model-q8_0.gguf")
    run = rig.weightfs("export", source, "model-q8_0.gguf", cwd=tmp_path, code=1)
    assert "--force" in run.err and "model-q8_0.gguf" in run.err
    (tmp_path / "model-q8_0.gguf").write_bytes(b"old")
    rig.weightfs("export", "--force", source, "model-q8_0.gguf", cwd=tmp_path)
    assert rig.file_hash(tmp_path / "model-q8_0.gguf") == rig.export_hash(source, "model-q8_0.gguf")
    rig.weightfs("export", source, "tensors/model.norm.weight.npy", cwd=tmp_path)
    assert (tmp_path / "model.norm.weight.npy").exists()
    run = rig.weightfs("export", source, "no-such-view", "-o", tmp_path / "x", code=1)
    assert "no-such-view" in run.err and not (tmp_path / "x").exists()
    assert "did you mean" not in run.err
    for typed in ("model-Q8_0.gguf", "model-q8-0.gguf", "modle-q8_0.gguf"):
        run = rig.weightfs("export", source, typed, "-o", tmp_path / "x", code=1)
        assert "there is no file %s; did you mean model-q8_0.gguf?" % typed in run.err
    run = rig.weightfs("export", source, "model-q8_0.gguf", "-o", tmp_path / "no" / "folder", code=1)
    assert "folder" in run.err
    assert sorted(os.listdir(tmp_path)) == ["model-q8_0.gguf", "model.norm.weight.npy"]


def test_export_never_touches_the_source(own):
    source = own("llama2-model")
    before = {path.name: rig.file_hash(path) for path in source.iterdir()}
    for view in ("model.safetensors", "config.json"):
        run = rig.weightfs("export", "--force", source, view, "-o", source / view, code=1)
        assert view in run.err
        run = rig.weightfs("export", "--force", source, view, cwd=source, code=1)
    os.link(source / "model.safetensors", source.parent / "linked")
    rig.weightfs("export", "--force", source, "model-f32.gguf", "-o", source.parent / "linked", check=False)
    assert {path.name: rig.file_hash(path) for path in source.iterdir()} == before


def test_export_to_a_full_disk_leaves_no_half_file(model, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", small], check=True)
    try:
        run = rig.weightfs("export", model("llama2-model"), "model-f32.gguf", "-o", small / "x", code=1)
        assert "No space left" in run.err
        assert os.listdir(small) == []
    finally:
        rig.detach(small)


def test_export_into_a_closed_pipe_fails_quietly(model):
    run = subprocess.run(
        "'%s' export '%s' model-f32.gguf -o - | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}"
        % (rig.BIN, model("llama2-model")),
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.strip() in ("1", "141"), run


def test_export_interrupted_leaves_no_half_file(model, tmp_path):
    sparse = tmp_path / "sparse"
    shutil.copytree(model("no-metadata"), sparse)
    header = json.dumps({"x": {"dtype": "F32", "shape": [1 << 35], "data_offsets": [0, 1 << 37]}}).encode()
    (sparse / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(sparse / "model.safetensors", 8 + len(header) + (1 << 37))
    out = tmp_path / "out"
    out.mkdir()
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            [rig.BIN, "export", sparse, "model.safetensors", "-o", out / "x"], stderr=subprocess.DEVNULL
        )
        rig.wait_for(lambda: os.listdir(out) or process.poll() is not None, what="the file that is being written")
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(20) != 0
        assert os.listdir(out) == []


def on_a_terminal(*command):
    """What a command writes to its standard error when that is a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=follower, stdin=subprocess.DEVNULL
    )
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert process.wait(60) == 0
    return said.decode(errors="replace")


def test_progress_on_a_terminal_only(model, tmp_path):
    source = model("llama2-12-layers")
    said = on_a_terminal(rig.BIN, "export", source, "model-f32.gguf", "-o", tmp_path / "x")
    assert "\r" in said and "%" in said and re.search(r"[KMG]i?B/s", said), said
    run = rig.weightfs("export", source, "model-f32.gguf", "-o", tmp_path / "y")
    assert "\r" not in run.err and "%" not in run.err
    assert rig.file_hash(tmp_path / "x") == rig.file_hash(tmp_path / "y")


def test_verify(model, tmp_path):
    source = model("llama2-model")
    good = tmp_path / "good"
    rig.weightfs("export", source, "model-q8_0.gguf", "-o", good)
    rig.weightfs("verify", source, "model-q8_0.gguf", good)
    data = bytearray(good.read_bytes())
    data[-200000] ^= 1
    (tmp_path / "bad").write_bytes(data)
    run = rig.weightfs("verify", source, "model-q8_0.gguf", tmp_path / "bad", code=1)
    said = run.out + run.err
    import gguf

    at = len(data) - 200000
    owner = [t for t in gguf.GGUFReader(good).tensors if t.data_offset <= at < t.data_offset + t.n_bytes]
    assert owner[0].name in said and str(at) in said.replace(",", ""), said
    (tmp_path / "short").write_bytes(bytes(good.read_bytes()[:-1]))
    run = rig.weightfs("verify", source, "model-q8_0.gguf", tmp_path / "short", code=1)
    assert "short" in run.out + run.err
    rig.weightfs("verify", source, "model-q8_0.gguf", tmp_path / "absent", code=1)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        run = rig.weightfs("verify", source, "model-q8_0.gguf", path, code=1, timeout=10)
        assert "not a regular file" in run.err and run.out == ""
    rig.weightfs("verify", source, "model.safetensors", source / "model.safetensors")


def test_stats_needs_a_mount(model, tmp_path):
    assert str(tmp_path) in rig.weightfs("stats", tmp_path, code=1).err
    with rig.mounted(model("llama2-model"), tmp_path / "mnt") as mnt:
        before = rig.stats(mnt)
        rig.file_hash(mnt / "model-q4_k_m.gguf")
        after = rig.stats(mnt)
        assert before != after
        text = json.dumps(after)
        assert "io_uring" in text


def test_stats_every_second(model, tmp_path):
    """A line per interval: what a reader got in it, and an end when the mount ends."""
    with rig.mounted(model("llama2-12-layers"), tmp_path / "mnt") as mnt:
        process = subprocess.Popen(
            [rig.BIN, "stats", "--every", "0.3", mnt], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        head = process.stdout.readline().split()
        size = len((mnt / "model-q4_k_m.gguf").read_bytes())
        time.sleep(0.7)  # the interval in which the last of it was served is printed
    rows = [line.split() for line in process.stdout if "/s" not in line]
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    served = sum(float(amount) * units[unit] * 0.3 for amount, unit, *_ in rows)
    assert head[0] == "served/s" and len(head) == 10  # "from disk" is two words
    assert size / 4 < served < size * 1.5, rows  # an interval is a third of a second, or more on a busy machine
    assert process.wait(10 * rig.SLOW) == 0 and process.stderr.read() == ""
    for value in ("x", "0", "-1", "1e9", "nan"):
        run = rig.weightfs("stats", "--every=" + value, tmp_path, code=2)
        assert value in run.err
    rig.weightfs("stats", "--every", "1", "--json", tmp_path, code=2)
    assert "not a weightfs mount" in rig.weightfs("stats", "--every", "1", tmp_path, code=1).err


def test_options_are_the_same_on_commands_and_mounts(model, tmp_path):
    source = model("llama2-model")
    named = rig.export_hash(source, "model-bf16.gguf", "--model_name=Other Name")
    assert named != rig.export_hash(source, "model-bf16.gguf")
    with rig.mounted(source, tmp_path / "mnt", "model_name=Other Name", "cache_size=64M", "workers=2") as mnt:
        assert rig.file_hash(mnt / "model-bf16.gguf") == named
    with rig.mounted(source, tmp_path / "mnt2", "model_name=With\\, comma") as mnt:
        assert rig.file_hash(mnt / "model-bf16.gguf") == rig.export_hash(
            source, "model-bf16.gguf", "--model_name=With, comma"
        )


# ---- fstab


@pytest.fixture
def helper(tmp_path):
    """The program under the name that mount(8) would call."""

    def get(name="mount.weightfs"):
        path = tmp_path / name
        if not path.exists():
            path.symlink_to(rig.BIN)
        return path

    return get


@pytest.mark.parametrize("name", ["mount.weightfs", "mount.fuse.weightfs"])
def test_mount_helper_takes_mount_s_options(model, tmp_path, helper, name):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    options = "ro,nosuid,nodev,noexec,noauto,nofail,_netdev,user,x-systemd.automount,x-anything=1,rw,cache_size=32M,allow_other"
    rig.weightfs(model("mixed-dtypes"), mnt, "-n", "-s", "-v", "-o", options, program=helper(name))
    try:
        assert rig.is_mounted(mnt)
        line = [line for line in open("/proc/self/mountinfo") if line.split()[4] == str(mnt)][0]
        assert "noexec" in line and "nosuid" in line and "fuse.weightfs" in line and " ro," in line
    finally:
        rig.weightfs("umount", mnt)


def test_mount_helper_fake_and_exit_codes(model, tmp_path, helper):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs(model("mixed-dtypes"), mnt, "-f", "-o", "ro", program=helper())
    assert not rig.is_mounted(mnt)
    run = rig.weightfs(model("mixed-dtypes"), mnt, "-o", "ro,nonsense=1", program=helper(), code=1)
    assert "nonsense" in run.err and not rig.is_mounted(mnt)
    run = rig.weightfs(tmp_path / "absent", mnt, "-o", "ro", program=helper(), code=32)
    assert "absent" in run.err
    assert rig.weightfs(program=helper(), code=1).err.strip()


def test_verify_names_the_key_that_differs(model, tmp_path):
    source, file = model("llama2-model"), tmp_path / "other.gguf"
    for view, options, words in [
        ("model-bf16.gguf", ["--model_name=A \x1b[1m"], 'general.name is "My "quoted" Model: 7b" in the view, "A \\x1b[1m" in'),
        ("model-f16.gguf", [], "general.file_type is 32 in the view, 1 in the file"),
    ]:
        rig.weightfs("export", "--force", *options, source, view, "-o", file)
        run = rig.weightfs("verify", source, "model-bf16.gguf", file, code=1)
        assert ": the header: key " + words in run.out, run
    file.write_bytes(file.read_bytes()[:400])
    assert "400" in rig.weightfs("verify", source, "model-bf16.gguf", file, code=1).out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["ls", "--cache-size=1G", "/a"], "; did you mean --cache_size?"),
        (["ls", "--jsno", "/a"], "; did you mean --json?"),
        (["mount", "-o", "cache_sise=1G", "/a", "/b"], "; did you mean cache_size?"),
        (["mount", "-o", "ro,nosiud", "/a", "/b"], "; did you mean nosuid?"),
        (["exprot", "/a", "b"], "; did you mean export?"),
        (["help", "unmount"], "; did you mean umount?"),
        (["cahce", "ls"], "; did you mean cache?"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(arguments, words):
    assert words in rig.weightfs(*arguments, code=2).err


@pytest.mark.parametrize("arguments", [["zz"], ["xy", "/a"], ["ls", "--elephant", "/a"], ["mount", "-o", "q", "/a", "/b"]])
def test_a_word_like_no_other_gets_none(arguments):
    assert "did you mean" not in rig.weightfs(*arguments, code=2).err


def test_json_shows_no_control_characters(tmp_path):
    """DEL, C1 and what turns the direction of writing, which JSON would allow as they are."""
    name = "a\x7fb\x9bc\u202ed"
    (tmp_path / name).write_text("x")
    raw = rig.weightfs("ls", "--json", tmp_path).raw
    assert b"a\\u007fb\\u009bc\\u202ed" in raw
    assert [view["path"] for view in json.loads(raw)["views"]] == [name]


def test_json_names_the_architecture_in_one_vocabulary(model):
    for case, wanted in (("llama2-model", ("LlamaForCausalLM", "llama")), ("unknown-arch", ("NobodyForCausalLM", None))):
        told = json.loads(rig.weightfs("ls", "--json", model(case)).out)["model"]
        assert (told["architecture"], told.get("gguf_architecture")) == wanted


def test_nofail_passes_over_a_source_that_is_absent(model, tmp_path, helper):
    """As mount(8) does with devices; what is there and cannot be mounted stays a failure."""
    mnt, absent = tmp_path / "mnt", tmp_path / "absent"
    mnt.mkdir()
    for source in (absent, model("mixed-dtypes") / "config.json" / "below"):
        run = rig.weightfs(source, mnt, "-o", "ro,nofail", program=helper())
        assert run.out + run.err == ""
    rig.weightfs(model("mixed-dtypes") / "config.json", mnt, "-o", "ro,nofail", program=helper(), code=32)
    rig.weightfs(absent, mnt, "-o", "ro", program=helper(), code=32)
    rig.weightfs(absent, mnt, "-o", "ro,nofail,nonsense", program=helper(), code=1)
    assert not rig.is_mounted(mnt)


def test_mount_helper_teaches_its_usage_and_knows_a_bad_environment(model, tmp_path, helper):
    run = rig.weightfs("--help", program=helper())
    assert run.out.startswith("Usage: mount.weightfs SOURCE MOUNTPOINT")
    environment = {"WEIGHTFS_CPU": "avx521", "PATH": "/usr/bin"}
    run = rig.weightfs(model("mixed-dtypes"), tmp_path, program=helper(), env=environment, code=1)
    assert "avx521" in run.err


def test_a_size_of_no_disk_cache_is_said(model, tmp_path):
    (tmp_path / "mnt").mkdir()
    for options, said in [("disk_cache_size=1G", True), ("disk_cache_size=1G,disk_cache=%s" % (tmp_path / "c"), False)]:
        run = rig.weightfs("mount", "-o", options, model("llama2-model"), tmp_path / "mnt")
        rig.weightfs("umount", tmp_path / "mnt")
        assert ("without disk_cache=DIR" in run.err) == said


def test_mounting_over_a_folder_with_entries_is_said(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    for entries in (False, True):
        if entries:
            (mnt / "mine").write_text("x")
        run = rig.weightfs("mount", model("llama2-model"), mnt)
        rig.weightfs("umount", mnt)
        assert ("is not empty" in run.err and str(mnt) in run.err) == entries, run
    assert (mnt / "mine").read_text() == "x"


def test_installed_helper_serves_mount_8(model, tmp_path):
    if not os.path.exists("/usr/sbin/mount.weightfs"):
        pytest.skip("mount.weightfs is not installed here")
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    subprocess.run(["mount", "-t", "weightfs", "-o", "ro,noexec", model("mixed-dtypes"), mnt], check=True)
    try:
        assert rig.is_mounted(mnt)
    finally:
        subprocess.run(["umount", mnt], check=True)
    assert not rig.is_mounted(mnt)


def test_mount_a_with_nofail_is_silent(model, tmp_path):
    if not os.path.exists("/usr/sbin/mount.weightfs"):
        pytest.skip("mount.weightfs is not installed here")
    (tmp_path / "mnt").mkdir()
    (tmp_path / "fstab").write_text("%s/absent %s/mnt weightfs ro,nofail 0 0\n" % (tmp_path, tmp_path))
    script = 'mount --bind "$1" "$(readlink -f /usr/sbin/mount.weightfs)" && mount -a -T "$2"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", rig.BIN, tmp_path / "fstab"]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout + run.stderr == "", run


def test_mount_says_what_it_withholds(model, tmp_path):
    """A person who mounts what cannot be offered hears of it at once, and the mount serves all the same."""
    (tmp_path / "empty").mkdir()
    hub = tmp_path / "models--org--name"
    (hub / "snapshots" / ("0" * 40)).mkdir(parents=True)
    models = tmp_path / "models"
    for name in ("phi", "qwen"):
        (models / name).mkdir(parents=True)
        (models / name / "model.safetensors.index.json").touch()
    (models / "notes").mkdir()
    one = model("llama2-model") / "model.safetensors"
    odd = ["--view", "odd.gguf q4_k_m output=q4_k"]
    odder = [*odd, "--view", "model.gguf q4_k_m tensor-type=ffn_down=iq1_s"]
    for source, words, *options in [
        (model("types-fall-back"), ["odd.gguf is withheld: ", "output.weight"], *odd),
        (model("types-few-layers"), ["model.gguf is withheld: ", "importance"], *odder),
        (tmp_path / "empty", ["no weights found", "only its files are shown"]),
        (hub, ["no weights found", "snapshots/" + "0" * 40]),
        (models, ["no weights found", "models in subfolders", "phi and 1 more"]),
        (model("unknown-arch"), ["views are withheld", "is not supported", "weightfs ls"]),
        (model("no-tokenizer"), ["views are withheld", "tokenizer", "weightfs ls"]),
        (one, ["views are withheld", "the source is one file", "`weightfs ls %s`" % one]),
    ]:
        mnt = tmp_path / "mnt"
        mnt.mkdir(exist_ok=True)
        log = tmp_path / "log"
        run = rig.weightfs("mount", "-o", "log=%s" % log, *options, source, mnt)
        try:
            assert rig.is_mounted(mnt)
            # A sanitizer's build may take longer than mount waits to know it; then the log has it.
            for word in words if run.err or rig.SLOW == 1 else []:
                assert word in run.err, run.err
            text = rig.wait_for(lambda: ("withheld" in log.read_text() or words[0] in log.read_text()) and log.read_text())
            assert words[0] in text or not run.err
        finally:
            rig.weightfs("umount", mnt)
        log.unlink()
    for arguments, code in ((["ls"], 0), (["info"], 0), (["export", "-o", tmp_path / "x"], 1)):
        view = ["model-q8_0.gguf"] if code else []
        run = rig.weightfs(*arguments, hub, *view, code=code)
        assert "snapshots/" + "0" * 40 in run.out + run.err
    with rig.mounted(model("llama2-model"), tmp_path / "mnt"):
        assert "withheld" not in (tmp_path / "mnt.log").read_text()


@pytest.mark.parametrize("name", ["config.json", "README.md", "x.gguf"])
def test_a_file_that_is_no_safetensors_is_no_source(own, tmp_path, name):
    source = own("llama2-model") / name
    source.write_text("{}")
    (tmp_path / "mnt").mkdir()
    for arguments in (["mount", source, tmp_path / "mnt"], ["ls", source], ["export", source, "x"]):
        run = rig.weightfs(*arguments, code=1)
        assert name in run.err and ".safetensors file" in run.err, run.err
    assert not rig.is_mounted(tmp_path / "mnt")


def test_words_that_nobody_knows_are_refused(model):
    run = rig.weightfs("ls", "--pretokenizer=lama-bpe", model("llama2-model"), code=2)
    assert "pretokenizer=lama-bpe" in run.err
    run = rig.weightfs("ls", model("llama2-model"), env={"WEIGHTFS_CPU": "avx521", "PATH": "/usr/bin"}, code=2)
    assert "avx521" in run.err and "avx512" in run.err


def test_umount_of_somebody_else_s_mount_speaks_of_permission(model, request):
    open_to_all = pathlib.Path(tempfile.mkdtemp(prefix="weightfs-"))
    request.addfinalizer(lambda: shutil.rmtree(open_to_all))
    open_to_all.chmod(0o755)
    with rig.mounted(model("llama2-model"), open_to_all / "mnt") as mnt:
        for lazy in ([], ["-l"]):
            command = ["setpriv", "--reuid=65534", "--clear-groups", str(rig.BIN), "umount", *lazy, str(mnt)]
            run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if "Permission denied" in run.stderr and "setpriv" in run.stderr:
                pytest.skip("the program is below a folder that others may not enter")
            assert run.returncode == 1 and "not permitted" in run.stderr and "root" in run.stderr, run.stderr
        assert rig.is_mounted(mnt)
