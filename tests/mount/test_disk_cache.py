"""The disk cache with real failures: the bytes stay right whatever happens to the folder."""

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import time

import faults
import pytest
import rig

CASE = "llama2-12-layers"
VIEW = "model-q8_0.gguf"


@pytest.fixture
def source(model):
    return model(CASE)


@pytest.fixture(scope="module")
def right():
    """The bytes of a view, made without a disk cache."""
    made = {}

    def get(source, view=VIEW):
        if (source, view) not in made:
            made[source, view] = rig.export(source, view)
        return made[source, view]

    return get


def wait_stats(mnt, condition, seconds=20):
    seen = {}

    def look():
        seen.update(rig.stats(mnt))
        return condition(seen["disk_cache"])

    rig.wait_for(look, seconds, lambda: "disk_cache %r" % seen)
    return seen


def files(folder, ending=""):
    return sorted((folder / "weightfs-1").glob("*" + ending))


def fill(source, tmp_path, folder, right, name="fill", *options):
    """Has every tile of the view written by a mount that ends."""
    with rig.mounted(source, tmp_path / name, "disk_cache=%s" % folder, *options) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        wait_stats(mnt, lambda d: d["tiles_written"] == rig.stats(mnt)["cache"]["tiles_made"])
        return rig.stats(mnt)


def used(folder):
    return sum(os.stat(path).st_blocks * 512 for path in files(folder))


def test_what_is_there_counts_from_the_start(source, right, tmp_path):
    folder = tmp_path / "cache"
    fill(source, tmp_path, folder, right)
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert wait_stats(mnt, lambda d: d["bytes"] > 0)["disk_cache"]["bytes"] == used(folder)


def test_tiles_survive_a_restart(source, right, tmp_path):
    folder = tmp_path / "cache"
    made = fill(source, tmp_path, folder, right)["cache"]["tiles_made"]
    assert made > 10
    assert os.stat(folder).st_mode & 0o777 == 0o700
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        seen = rig.stats(mnt)
        assert seen["cache"]["tiles_made"] == 0
        assert seen["disk_cache"]["hits"] == made
        assert seen["disk_cache"]["misses"] == seen["disk_cache"]["damaged"] == 0
        assert seen["disk_cache"]["state"] == "on" and seen["disk_cache"]["shared"] is False
        # With all tiles there it becomes a whole file, which is the view.
        rig.wait_for(lambda: files(folder, ".whole"), 20, "the whole file")
        assert files(folder, ".whole")[0].read_bytes() == right(source)
        assert not files(folder, ".part")
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder, "io_uring=no") as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        assert rig.stats(mnt)["cache"]["tiles_made"] == 0
    assert (tmp_path / "mnt.log").read_text().count("disk cache") == 0


def test_export_uses_it_too(source, right, tmp_path):
    option = "--disk_cache=%s" % (tmp_path / "cache")
    for _ in range(2):
        assert rig.export(source, VIEW, option) == right(source)
    assert len(files(tmp_path / "cache", ".sums")) == 1


def test_damage_anywhere(source, right, tmp_path):
    folder = tmp_path / "cache"
    fill(source, tmp_path, folder, right)
    for path in files(folder):
        with open(path, "r+b") as file:
            for offset in range(4096 if path.suffix == ".sums" else 0, os.stat(path).st_size, 100_003):
                file.seek(offset)
                byte = file.read(1)
                file.seek(offset)
                file.write(bytes([byte[0] ^ 0x10]))
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        assert rig.stats(mnt)["disk_cache"]["damaged"] > 0
        assert rig.stats(mnt)["disk_cache"]["state"] == "on"
    assert "disk cache" not in (tmp_path / "mnt.log").read_text()


def mount_tmpfs(path, options):
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]).returncode:
        pytest.skip("tmpfs cannot be mounted here")


def test_no_space(source, right, tmp_path):
    folder = tmp_path / "small"
    mount_tmpfs(folder, "size=256k")
    try:
        # Less is kept than there is: said once, and reads go on, before and after.
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1G" % folder) as mnt:
            for view in (VIEW, "model-f32.gguf", VIEW):
                assert (mnt / view).read_bytes() == right(source, view)
            seen = wait_stats(mnt, lambda d: d["state"] == "read-only")
            assert "No space left" in seen["disk_cache"]["reason"]
        assert (tmp_path / "mnt.log").read_text().count("disk cache") == 1
        with rig.mounted(source, tmp_path / "mnt2", "disk_cache=%s" % folder) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
    finally:
        rig.detach(folder)


def test_a_full_folder_keeps_its_room(source, right, tmp_path):
    """Half of what the folder can have is its default limit, and what it holds already is part of that."""
    folder = tmp_path / "disk"
    mount_tmpfs(folder, "size=12m")
    try:
        fill(source, tmp_path, folder, right)
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
            seen = wait_stats(mnt, lambda d: d["bytes"] > 4 << 20)["disk_cache"]
            assert (6 << 20) - (64 << 10) <= seen["limit"] <= 6 << 20
    finally:
        rig.detach(folder)


def test_read_only_folder(source, right, tmp_path):
    folder = tmp_path / "cache"
    made = fill(source, tmp_path, folder, right)["cache"]["tiles_made"]
    before = {path.name: path.read_bytes() for path in files(folder)}
    other = tmp_path / "other"
    other.mkdir()
    try:
        for command in (["--bind", folder, other], ["-o", "remount,bind,ro", other]):
            if subprocess.run(["mount", *command]).returncode:
                pytest.skip("a bind mount cannot be made here")
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % other) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
            assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
            seen = rig.stats(mnt)["disk_cache"]
            assert seen["hits"] == made and seen["state"] == "read-only"
        assert (tmp_path / "mnt.log").read_text().count("disk cache") == 1
        assert before == {path.name: path.read_bytes() for path in files(folder)}
    finally:
        rig.detach(other)
    # Nothing there, and nothing can be made: off, said once.
    empty = tmp_path / "empty"
    mount_tmpfs(empty, "ro,size=64k")
    try:
        (tmp_path / "mnt3").mkdir()
        run = rig.weightfs("mount", "-o", "disk_cache=%s" % empty, source, tmp_path / "mnt3")
        rig.weightfs("umount", tmp_path / "mnt3")
        assert "the disk cache %s is off until the next mount: " % empty in run.err and "Read-only" in run.err
        with rig.mounted(source, tmp_path / "mnt2", "disk_cache=%s" % empty) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
            assert rig.stats(mnt)["disk_cache"]["state"] == "off"
        assert (tmp_path / "mnt2.log").read_text().count("disk cache") == 1
    finally:
        rig.detach(empty)


def test_two_mounts_write_at_the_same_time(source, right, tmp_path):
    folder = tmp_path / "cache"
    with rig.mounted(source, tmp_path / "a", "disk_cache=%s" % folder) as a, rig.mounted(
        source, tmp_path / "b", "disk_cache=%s" % folder
    ) as b:
        readers = [subprocess.Popen(["sha256sum", mnt / VIEW], stdout=subprocess.PIPE) for mnt in (a, b)]
        sums = {reader.communicate()[0].split()[0] for reader in readers}
        assert len(sums) == 1
        assert (a / VIEW).read_bytes() == right(source)
        rig.wait_for(lambda: files(folder, ".whole"), 20, "the whole file")
    assert files(folder, ".whole")[0].read_bytes() == right(source)
    assert len(files(folder)) == 2


def test_killed_while_it_writes(source, right, tmp_path):
    folder = tmp_path / "cache"
    for moment in (0.01, 0.05, 0.2):
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
            pid = rig.daemon_of(mnt)
            reader = subprocess.Popen(["cat", mnt / VIEW], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moment)
            os.kill(pid, signal.SIGKILL)
            reader.wait()
            rig.detach(mnt)
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
        for path in files(folder):
            path.unlink()


def imatrix(source, weight):
    """In the older form: one tensor, whose first column weighs so much."""
    with open(source / "config.json") as file:
        columns = json.load(file)["hidden_size"]
    name = b"blk.0.attn_q.weight"
    values = [weight] + [1.0] * (columns - 1)
    return struct.pack("<ii%dsii%df" % (len(name), columns), 1, len(name), name, 1, columns, *values)


def test_what_changes_the_key(own, tmp_path):
    folder = tmp_path / "cache"
    option = "--disk_cache=%s" % folder
    source = own(CASE)

    def keys(*options, view=VIEW, **kwargs):
        """The keys that an export adds."""
        before = {path.stem for path in files(folder, ".sums")}
        made = rig.export(source, view, option, *options, **kwargs)
        assert made == rig.export(source, view, *options)
        return {path.stem for path in files(folder, ".sums")} - before

    assert len(keys()) == 1
    assert len(keys()) == 0
    for cpu in ("c", "avx2"):
        assert len(keys(env=dict(os.environ, WEIGHTFS_CPU=cpu))) == 0
    assert len(keys("--workers=1", "--cache_size=8M")) == 0
    assert len(keys("--model_name=Another")) == 1
    assert len(keys(view="model-q4_k_m.gguf")) == 1
    assert len(keys("--view=model-mine.gguf q4_k_m output=q8_0", view="model-mine.gguf")) == 1
    # The same header, other weights of the importance matrix.
    for weight in (1.0, 7.0):
        (tmp_path / "imatrix.dat").write_bytes(imatrix(source, weight))
        assert len(keys("--imatrix=%s" % (tmp_path / "imatrix.dat"), view="model-q4_0.gguf")) == 1
    # In place, of the same size: another content, another key, the new bytes.
    shard = sorted(source.glob("*.safetensors"))[0]
    with open(shard, "r+b") as file:
        file.seek(-2, 2)
        last = file.read(1)
        file.seek(-2, 2)
        file.write(bytes([last[0] ^ 1]))
    assert len(keys()) == 1
    # The file as it was, under new times: without a digest that is another file.
    os.utime(shard, ns=(1, 1))
    assert len(keys()) == 1


def test_where_it_may_not_be(source, own, tmp_path):
    mine = own(CASE)
    for folder in (mine, mine / "cache"):
        said = rig.weightfs("export", "--disk_cache=%s" % folder, mine, VIEW, "-o", "-", code=1)
        assert "within the source" in said.err
    assert not (mine / "cache").exists()
    (tmp_path / "mnt").mkdir()
    said = rig.weightfs("mount", "-o", "disk_cache=%s" % (tmp_path / "mnt" / "x"), source, tmp_path / "mnt", code=1)
    assert "within the mountpoint" in said.err
    with rig.mounted(source, tmp_path / "mnt") as mnt:
        said = rig.weightfs("export", "--disk_cache=%s" % (mnt / "tensors"), source, VIEW, "-o", "-", code=1)
        assert "within a weightfs mount" in said.err
    said = rig.weightfs("export", "--disk_cache=%s" % (tmp_path / "no" / "such"), source, VIEW, "-o", "-", code=1)
    assert "disk_cache=" in said.err and "it would be made in %s: No such file" % (tmp_path / "no") in said.err
    (tmp_path / "nowhere").symlink_to("no/such")
    said = rig.weightfs("export", "--disk_cache=%s" % (tmp_path / "nowhere"), source, VIEW, "-o", "-", code=1)
    assert "is a link to what does not exist" in said.err
    # Others may write to it: refused, as they would decide what is read.
    shutil.rmtree(tmp_path / "open", ignore_errors=True)
    (tmp_path / "open" / "weightfs-1").mkdir(parents=True)
    (tmp_path / "open" / "weightfs-1").chmod(0o777)
    said = rig.weightfs("export", "--disk_cache=%s" % (tmp_path / "open"), source, VIEW, "-o", "-", code=1)
    assert "everybody can write" in said.err


def test_the_limit_is_kept(source, right, tmp_path):
    folder = tmp_path / "cache"
    rig.export(source, "model-q4_k_m.gguf", "--disk_cache=%s" % folder)
    old = files(folder, ".sums")[0]
    os.utime(old, (1000, 1000))
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,disk_cache_size=1M" % folder) as mnt:
        assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
        assert (mnt / VIEW).read_bytes() == right(source)
        wait_stats(mnt, lambda d: d["views_evicted"] == 1 and d["tiles_dropped"] > 0)
        time.sleep(0.5)
        assert used(folder) <= (1 << 20) + (128 << 10)
    assert not old.exists()
    ctypes.CDLL(None).sync()


def test_a_disk_that_hangs_when_files_are_opened(source, right, tmp_path):
    """Who reads a view does not wait for it for long, and takes no worker from others."""
    folder, views = tmp_path / "cache", (VIEW, "model-q4_k_m.gguf", "model-f16.gguf")
    for view in views:
        rig.export(source, view, "--disk_cache=%s" % folder)
    with faults.faulty(folder, tmp_path) as disk:
        options = "disk_cache=%s,workers=2,cache_size=1M" % disk.folder
        with rig.mounted(source, tmp_path / "mnt", options) as mnt:
            disk.say(*["stall-open weightfs-1/%s" % path.name for path in files(folder)])
            readers = [subprocess.Popen(["cat", mnt / view], stdout=subprocess.PIPE) for view in views]
            for reader, view in zip(readers, views):
                assert reader.communicate(timeout=20 * rig.SLOW)[0] == right(source, view)
            assert rig.stats(mnt)["disk_cache"]["hits"] == 0
            disk.calm()
            for view in views:  # opened by then, behind each other
                with open(mnt / view, "rb", buffering=0) as file:
                    rig.wait_for(lambda: read_anew(file, mnt), 10, "a tile from the disk cache")


def read_anew(file, mnt):
    """Reads what is in neither cache of memory; whether the disk cache had it."""
    before = rig.stats(mnt)["disk_cache"]["hits"]
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    file.seek(0)
    while file.read(1 << 20):
        pass
    return rig.stats(mnt)["disk_cache"]["hits"] > before


def test_small_memory(source, right, tmp_path):
    """What waits to be written is within cache_size."""
    folder = tmp_path / "cache"
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s,cache_size=4M" % folder) as mnt:
        for _ in range(2):
            assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
        assert rig.stats(mnt)["cache"]["peak_bytes"] <= 4 << 20


@pytest.fixture
def home(tmp_path):
    """An environment whose keys are remembered in a folder of the test's."""
    (tmp_path / "xdg").mkdir()
    return dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "xdg"))


def hub(source, root):
    """The source as a hub's cache has it: links into blobs/, named by SHA-256. The folder's name is in the header."""
    blobs, snapshot = root / "models--some--model" / "blobs", root / "models--some--model" / "snapshots" / "copy"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for path in source.iterdir():
        name = rig.file_hash(path)[0]
        shutil.copy(path, blobs / name)
        (snapshot / path.name).symlink_to(os.path.relpath(blobs / name, snapshot))
    return snapshot


def weights(source):
    return sorted(source.glob("*.safetensors"))


def test_cache_key(own, tmp_path, home):
    source, folder = own(CASE), tmp_path / "cache"
    wanted = "".join("%s  %s\n" % (rig.file_hash(path)[0], path.name) for path in weights(source))
    assert rig.weightfs("cache", "key", source, env=home).out == wanted
    assert len(list((tmp_path / "xdg" / "weightfs" / "weightfs-1").glob("*.key"))) == len(weights(source))
    assert rig.weightfs("cache", "key", "--disk_cache", folder, source, env=home).out == wanted
    assert rig.weightfs("cache", "key", "--check", source, env=home).out == wanted
    # What is remembered is not computed again, and a changed file is.
    record = sorted((tmp_path / "xdg" / "weightfs" / "weightfs-1").glob("*.key"))
    before = [path.stat().st_mtime_ns for path in record]
    rig.weightfs("cache", "key", source, env=home)
    assert [path.stat().st_mtime_ns for path in record] == before
    with open(weights(source)[0], "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    changed = "".join("%s  %s\n" % (rig.file_hash(path)[0], path.name) for path in weights(source))
    assert changed != wanted
    assert rig.weightfs("cache", "key", source, env=home).out == changed
    # A record that is not as it was written is none.
    for path in record:
        text = path.read_text()
        path.write_text(text.replace("sha256 ", "sha256 0")[: len(text)])
    assert rig.weightfs("cache", "key", source, env=home).out == changed


def test_copies_share_by_content(source, right, own, tmp_path, home):
    """A copy and a hub's cache use what another made of the same content, and only of that."""
    folder = tmp_path / "cache"
    copy, links = own(CASE, "copy"), hub(source, tmp_path / "hub")
    option = ["--disk_cache=%s" % folder]

    def keys():
        return {path.stem for path in files(folder, ".sums")}

    rig.export(links, VIEW, *option, env=home)
    assert len(keys()) == 1
    rig.export(copy, VIEW, *option, env=home)
    assert len(keys()) == 2
    listed = json.loads(rig.weightfs("cache", "ls", "--json", folder).out)["views"]
    assert {(view["model"], view["host_only"]) for view in listed} == {("some/model", False), ("copy", True)}
    for path in files(folder, ".sums"):
        os.utime(path, (1, 1))
    rig.weightfs("cache", "key", "--disk_cache", folder, copy, env=home)
    right_bytes = rig.export(copy, VIEW)
    with rig.mounted(copy, tmp_path / "mnt", "disk_cache=%s" % folder) as mnt:
        assert (mnt / VIEW).read_bytes() == right_bytes
        assert rig.stats(mnt)["cache"]["tiles_made"] == 0
        assert rig.stats(mnt)["disk_cache"]["shared"] is True
    assert len(keys()) == 2


def test_a_hub_s_name_is_not_believed_after_a_write(source, tmp_path, home):
    folder, links = tmp_path / "cache", hub(source, tmp_path / "hub")
    option = "--disk_cache=%s" % folder
    assert rig.export(links, VIEW, option, env=home) == rig.export(links, VIEW)
    assert json.loads(rig.weightfs("cache", "ls", "--json", folder).out)["views"][0]["host_only"] is False
    with open(weights(links)[0], "r+b") as file:
        file.seek(-2, 2)
        last = file.read(1)
        file.seek(-2, 2)
        file.write(bytes([last[0] ^ 1]))
    assert rig.export(links, VIEW, option, env=home) == rig.export(links, VIEW)
    assert [view["host_only"] for view in json.loads(rig.weightfs("cache", "ls", "--json", folder).out)["views"]].count(
        True
    ) == 1
    said = rig.weightfs("cache", "key", "--disk_cache", folder, links, env=home, code=1)
    assert "is not what its name in the hub's cache says" in said.err
    assert rig.export(links, VIEW, option, env=home) == rig.export(links, VIEW)


def test_another_host(source, right, tmp_path, home):
    """A host has another machine-id: what has no digest is another view to it, what has one is the same."""
    folder, links = tmp_path / "cache", hub(source, tmp_path / "hub")
    (tmp_path / "machine-id").write_text("0123456789abcdef" * 2 + "\n")

    def keys_of_other(model):
        before = {path.stem for path in files(folder, ".sums")}
        command = 'mount --bind "$0" /etc/machine-id && exec "$@"'
        run = subprocess.run(
            ["unshare", "-m", "sh", "-c", command, tmp_path / "machine-id", rig.BIN, "export"]
            + ["--disk_cache=%s" % folder, model, VIEW, "-o", tmp_path / "out", "--force"],
            env=dict(home, XDG_CACHE_HOME=str(tmp_path / "xdg2")),
            capture_output=True,
        )
        if b"mount:" in run.stderr or b"unshare:" in run.stderr:
            pytest.skip("no bind mount in a namespace here: %s" % run.stderr.decode())
        assert run.returncode == 0, run.stderr
        assert (tmp_path / "out").read_bytes() == rig.export(model, VIEW)
        return {path.stem for path in files(folder, ".sums")} - before

    (tmp_path / "xdg2").mkdir()
    for model in (source, links):
        rig.export(model, VIEW, "--disk_cache=%s" % folder, env=home)
    assert len(keys_of_other(source)) == 1
    assert len(keys_of_other(links)) == 0


def test_ls_and_prune(source, tmp_path):
    folder = tmp_path / "cache"
    for view in (VIEW, "model-f32.gguf"):
        rig.export(source, view, "--disk_cache=%s" % folder)
    os.utime(next(path for path in files(folder, ".sums") if b"model-f32" in path.read_bytes()), (86400, 86400))
    lines = rig.weightfs("cache", "ls", folder).out.splitlines()
    assert "model-f32.gguf" in lines[0] and "1970-01-0" in lines[0] and VIEW in lines[1] and lines[2].startswith("2 views")
    assert "(this host only)" in lines[0]
    size = used(folder)
    said = rig.weightfs("cache", "prune", "--size=%d" % max(size - 1, 1 << 20), folder).out
    assert "model-f32.gguf" in said and "1 view taken away" in said
    assert rig.weightfs("cache", "prune", folder, code=2).err
    assert rig.weightfs("cache", "prune", "--all", "--size=1G", folder, code=2).err
    rig.weightfs("cache", "prune", "--all", folder)
    assert not files(folder)
    assert rig.weightfs("cache", "ls", tmp_path / "none", code=1).err
    assert "is no disk cache" in rig.weightfs("cache", "ls", tmp_path, code=1).err
    for words, said in [([], "COMMAND is missing"), (["lst"], 'no command "lst"'), (["--x"], 'no option "--x"')]:
        run = rig.weightfs("cache", *words, code=2)
        assert said in run.err and "cache prune" in run.err and run.out == ""
    assert "cache prune" in rig.weightfs("cache", "--help").out


def test_pruned_under_a_mount(source, right, tmp_path):
    folder = tmp_path / "cache"
    with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % folder, "cache_size=16M") as mnt:
        assert (mnt / VIEW).read_bytes() == right(source)
        rig.weightfs("cache", "prune", "--all", folder)
        assert (mnt / VIEW).read_bytes() == right(source)
        shutil.rmtree(folder)
        for view in (VIEW, "model-f32.gguf"):
            assert (mnt / view).read_bytes() == right(source, view)


def test_io_error(source, right, tmp_path):
    """The disk below DIR fails for real: a loop device whose file is cut answers EIO."""
    image, place = tmp_path / "image", tmp_path / "disk"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    for command in (["mkfs.ext2", "-q", "-F", "-b4096", image], ["mount", "-o", "loop", image, place]):
        if not shutil.which(command[0]) or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("%s does not work here" % command[0])
    try:
        fill(source, tmp_path, place / "cache", right)
        part = [path for path in files(place / "cache") if path.suffix in (".part", ".whole")][0]
        extents = subprocess.run(["filefrag", "-b512", "-v", part], capture_output=True, text=True).stdout
        blocks = [int(line.split(":")[2].split("..")[0]) for line in extents.splitlines() if line.strip()[:1].isdigit()]
        if not blocks:
            pytest.skip("filefrag says nothing here")
        subprocess.run(["umount", place], check=True)
        subprocess.run(["mount", "-o", "loop,noatime", image, place], check=True)
        os.truncate(image, sorted(blocks)[len(blocks) // 2] * 512 // 4096 * 4096)
        with rig.mounted(source, tmp_path / "mnt", "disk_cache=%s" % (place / "cache")) as mnt:
            assert (mnt / VIEW).read_bytes() == right(source)
            seen = rig.stats(mnt)["disk_cache"]
            assert seen["state"] == "off" and "Input/output error" in seen["reason"]
            assert (mnt / "model-f32.gguf").read_bytes() == right(source, "model-f32.gguf")
        assert (tmp_path / "mnt.log").read_text().count("disk cache") == 1
    finally:
        rig.detach(place)
