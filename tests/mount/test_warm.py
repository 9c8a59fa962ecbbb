"""weightfs warm: views are made ahead of use, and what is said of it is true."""

import contextlib
import json
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
import rig

PAGE = mmap.PAGESIZE


def resident(path):
    """The pages of a file that the kernel has, and how many there are: fincore's figures."""
    out = subprocess.run(
        ["fincore", "--json", "--bytes", "--output", "pages,size", str(path)], check=True, capture_output=True
    ).stdout
    row = json.loads(out)["fincore"][0]
    return int(row["pages"]), (int(row["size"]) + PAGE - 1) // PAGE


def counters(mnt):
    status = rig.stats(mnt)
    return status["cache"]["tiles_made"], status["io"]["bytes_served"]


def test_a_later_read_makes_nothing(mnt):
    views = ["model-q4_k_m.gguf", "tensors/model.norm.weight.npy"]
    before = counters(mnt)
    run = rig.weightfs("warm", mnt, views[0], mnt / views[1])
    assert run.err == ""  # no terminal: no line
    for view, line in zip(views, run.out.splitlines(), strict=True):
        assert line.startswith(view + ": ") and " in " in line, run.out
        pages, wanted = resident(mnt / view)
        assert pages == wanted
    warmed = counters(mnt)
    assert warmed[0] > before[0] and warmed[1] > before[1]
    data = [(mnt / view).read_bytes() for view in views]
    assert counters(mnt) == warmed  # not a tile, not a byte
    source = rig.stats(mnt)["source"]
    for view, bytes_read in zip(views, data):
        assert bytes_read == rig.export(source, view)
    rig.weightfs("warm", mnt, *views)
    assert counters(mnt) == warmed


def test_a_disk_cache_keeps_it_for_the_next_mount(model, tmp_path):
    source, view = model("llama2-12-layers"), "model-q4_k_m.gguf"
    (tmp_path / "cache").mkdir()
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % (tmp_path / "cache")) as mnt:
        rig.weightfs("warm", mnt, view)
        assert counters(mnt)[0] > 0
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % (tmp_path / "cache")) as mnt:
        assert (mnt / view).read_bytes() == rig.export(source, view)
        assert counters(mnt)[0] == 0


def test_a_disk_cache_that_does_not_keep_it_is_said(model, tmp_path):
    source, view, folder = model("llama2-12-layers"), "model-f32.gguf", tmp_path / "small"
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1M" % folder) as mnt:
        assert "did not keep " in rig.weightfs("warm", mnt, view).err
    shutil.rmtree(folder)
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder]).returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1G" % folder) as mnt:
            rig.weightfs("warm", mnt, "model-q4_k_m.gguf")
            rig.wait_for(lambda: rig.stats(mnt)["disk_cache"]["state"] == "read-only", 20, "no space")
            run = rig.weightfs("warm", mnt, view)
            assert "keeps nothing new: " in run.err and "No space left" in run.err
            assert rig.weightfs("warm", mnt, view).err == ""  # nothing is made, so nothing could be kept
    finally:
        rig.detach(folder)


def test_slips_are_told_before_anything_is_read(mnt, tmp_path):
    before = counters(mnt)
    for names, words in [
        (["nothing.gguf"], ["there is no file nothing.gguf", "weightfs ls --all "]),
        (["model-q4_km.gguf"], ["did you mean model-q4_k_m.gguf?"]),
        (["model-q8_0.gguf", "model-iq1_s.gguf"], ["model-iq1_s.gguf is withheld: ", "importance"]),
        (["model-q8_0.gguf", "tensors"], ["tensors is a folder"]),
        ([".weightfs/status.json"], ["made anew for each reader"]),
        (["../mnt.log"], ["not a file of the mount"]),
    ]:
        run = rig.weightfs("warm", mnt, *names, code=1)
        assert run.out == "" and all(word in run.err for word in words), run
    assert counters(mnt) == before
    assert "not a weightfs mount" in rig.weightfs("warm", tmp_path, "a.gguf", code=1).err


def test_an_error_of_the_data_is_an_error_of_the_command(own, tmp_path):
    source = own("llama2-model")
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        (mnt / "model-q8_0.gguf").stat()
        shard = next(source.glob("*.safetensors"))
        with open(mnt / "model-q8_0.gguf", "rb"), open(shard, "r+b") as file:
            file.truncate(shard.stat().st_size // 2)  # within the 200 ms in which nobody looks, or a look later
            run = rig.weightfs("warm", mnt, "model-q8_0.gguf", check=False)
    assert run.code == 1 and run.out == "" and "model-q8_0.gguf" in run.err, run


def make_sparse(source, size):
    """One tensor of so many bytes, none of which is on disk."""
    header = json.dumps({"x": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    (source / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(source / "model.safetensors", 8 + len(header) + size)
    return source


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_how_far_it_came(own, tmp_path, number):
    """The mount is stopped, so that the read hangs: the command ends all the same."""
    source, view = make_sparse(own("no-metadata"), 1 << 37), "model.safetensors"
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        daemon = rig.daemon_of(mnt)
        process = subprocess.Popen(
            [rig.BIN, "warm", mnt, "config.json", view],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a background run ignores SIGINT
        )
        try:
            assert process.stdout.readline().startswith(b"config.json: ")
            os.kill(daemon, signal.SIGSTOP)
            time.sleep(0.2)  # it has asked by then for more than the kernel has
            process.send_signal(number)
            out, err = process.communicate(timeout=20 * rig.SLOW)
        finally:
            os.kill(daemon, signal.SIGCONT)
            process.kill()
        assert process.returncode == 128 + number, (out, err)
        assert b"of 128 GiB of model.safetensors are made" in err and b"1 of 2 views are made" in err, err


@pytest.fixture
def group():
    """A control group whose members have 64 MiB of memory, of whichever version there is."""
    groups = pathlib.Path("/sys/fs/cgroup")
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory" or not controllers:
            limit = "memory.limit_in_bytes" if controllers else "memory.max"
            folder = groups / controllers / path.lstrip("/") / ("weightfs-warm-%d" % os.getpid())
            with contextlib.suppress(OSError):
                folder.mkdir()
                try:
                    if (folder / limit).exists():
                        (folder / limit).write_text(str(64 << 20))
                        yield folder
                        return
                finally:
                    rig.wait_for(lambda: not (folder / "cgroup.procs").read_text(), 10, "the end of the processes")
                    folder.rmdir()
    pytest.skip("no control group with a limit of memory can be made here")


def test_more_than_memory_is_warned_of(own, tmp_path, group):
    """The warning names the limit, and what was dropped again is not called warm."""
    source = make_sparse(own("no-metadata"), 1 << 28)
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        run = rig.weightfs(
            "warm",
            mnt,
            "model.safetensors",
            code=1,
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        )
    assert "warning: " in run.err and "there is memory for 64.0 MiB" in run.err, run
    assert "all was made" in run.err and "are no longer in memory" in run.err, run
