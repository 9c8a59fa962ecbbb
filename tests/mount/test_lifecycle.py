"""Mounting, daemonising, dying and unmounting."""

import contextlib
import ctypes
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
import rig


def test_the_parent_returns_when_the_mount_serves(model, tmp_path):
    with rig.mounted(model("mixed-dtypes"), tmp_path / "mnt") as mnt:
        assert (mnt / "model.safetensors").stat().st_size > 0


def test_the_daemon_lets_go_of_its_starter(model, tmp_path):
    with rig.mounted(model("mixed-dtypes"), tmp_path / "mnt") as mnt:
        pid = rig.daemon_of(mnt)
        assert os.readlink("/proc/%d/cwd" % pid) == "/"
        for number in (0, 1, 2):
            assert os.readlink("/proc/%d/fd/%d" % (pid, number)) == "/dev/null"
        assert os.getsid(pid) != os.getsid(0)


def test_a_relative_source_and_mountpoint(model, tmp_path):
    source = model("mixed-dtypes")
    (tmp_path / "mnt").mkdir()
    os.symlink(source, tmp_path / "link")
    rig.weightfs("mount", "link", "mnt", cwd=tmp_path)
    try:
        assert rig.is_mounted(tmp_path / "mnt")
        assert rig.file_hash(tmp_path / "mnt/model-q8_0.gguf") == rig.export_hash(source, "model-q8_0.gguf")
    finally:
        rig.weightfs("umount", "mnt", cwd=tmp_path)


def test_foreground_ends_with_the_mount(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    process = subprocess.Popen([rig.BIN, "mount", "-f", model("mixed-dtypes"), mnt], stderr=subprocess.PIPE)
    rig.wait_for(lambda: rig.is_mounted(mnt), 10, "the mount")
    assert rig.file_hash(mnt / "model-q8_0.gguf")[1] > 0
    rig.weightfs("umount", mnt)
    _, said = process.communicate(timeout=10 * rig.SLOW)
    assert process.returncode == 0, said
    rig.sanitizer_clean(said.decode())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_unmounts(model, tmp_path, number):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    process = subprocess.Popen([rig.BIN, "mount", "-f", model("mixed-dtypes"), mnt], stderr=subprocess.PIPE)
    rig.wait_for(lambda: rig.is_mounted(mnt), 10, "the mount")
    process.send_signal(number)
    _, said = process.communicate(timeout=10 * rig.SLOW)
    assert not rig.is_mounted(mnt)
    assert process.returncode == 0, said


def test_sigterm_with_readers_in_the_middle(model, tmp_path):
    mnt = tmp_path / "mnt"
    with rig.mounted(model("llama2-12-layers"), mnt, "workers=1", "cache_size=4M"):
        pid = rig.daemon_of(mnt)
        readers = [
            subprocess.Popen(
                ["sh", "-c", "while cat '%s/model-q4_k_m.gguf'; do :; done" % mnt],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(6)
        ]
        time.sleep(0.2)
        begin = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        rig.wait_for(lambda: rig.process_ended(pid), 5, "the end of the daemon")
        for reader in readers:
            reader.wait(10)
        assert time.monotonic() - begin < 8 * rig.SLOW
        assert not rig.is_mounted(mnt)


@pytest.fixture
def hanging(model, tmp_path):
    """A mount whose source is another mount, the daemon of which is stopped: every read of the source hangs."""
    below, mnt = tmp_path / "below", tmp_path / "mnt"
    with rig.mounted(model("llama2-12-layers"), below):
        with rig.mounted(below, mnt, "cache_size=8M"):
            threads = pathlib.Path("/proc/%d/task" % rig.daemon_of(mnt))
            assert (mnt / "model-q8_0.gguf").stat().st_size > 0
            with open(mnt / "config.json", "rb") as file:
                warm = file.read()
            pid = rig.daemon_of(below)
            os.kill(pid, signal.SIGSTOP)
            try:
                yield mnt, warm
            finally:
                os.kill(pid, signal.SIGCONT)
        # A process that exited may have threads that wait for the source still, and keep its mount busy.
        rig.wait_for(lambda: not threads.exists() or len(list(threads.iterdir())) <= 1, 10, "the end of the threads")


def test_sigterm_with_readers_blocked_on_a_hanging_source(hanging):
    mnt, _ = hanging
    pid = rig.daemon_of(mnt)
    readers = [
        subprocess.Popen(["cat", mnt / name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in ("model-q4_k_m.gguf", "model.safetensors", "model-f32.gguf")
    ]
    time.sleep(0.5)
    assert all(reader.poll() is None for reader in readers), "the readers should hang"
    os.kill(pid, signal.SIGTERM)
    rig.wait_for(lambda: rig.process_ended(pid), 8, "the end of the daemon")
    for reader in readers:
        reader.wait(10 * rig.SLOW)
    assert not rig.is_mounted(mnt)


def test_a_hanging_source_hangs_no_listing(hanging):
    mnt, _ = hanging
    reader = subprocess.Popen(
        ["cat", mnt / "model-q4_k_m.gguf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.3)
    try:
        run = subprocess.run(["ls", "-la", mnt, mnt / "tensors"], capture_output=True, timeout=5 * rig.SLOW)
        assert run.returncode == 0 and b"model-q8_0.gguf" in run.stdout
    finally:
        reader.kill()
        reader.wait(10)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_signal_ends_who_waits_to_open_on_a_hanging_source(hanging, number):
    """The kernel lets nobody go whose OPEN was sent: not before it is answered."""
    mnt, warm = hanging
    time.sleep(1)  # the kernel asks the stopped mount again: the next open's look hangs
    openers = [
        subprocess.Popen(
            ["cat", mnt / name],
            stdout=subprocess.DEVNULL,
            # a shell starts what runs in the background with SIGINT ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        for name in ("model.safetensors", "model-q8_0.gguf") * 4
    ]
    time.sleep(0.6)
    assert all(opener.poll() is None for opener in openers), "the openers should hang"
    for opener in openers:
        opener.send_signal(number)
    for opener in openers:
        assert opener.wait(2 * rig.SLOW) == -number
    assert b"model-q8_0.gguf" in subprocess.run(["ls", mnt], capture_output=True, timeout=5 * rig.SLOW).stdout


def test_an_open_interrupted_by_a_timer_is_opened_when_the_source_comes_back(model, tmp_path):
    """A signal that ends nothing: EINTR, once, and the answer to the next open is the file."""
    with rig.mounted(model("mixed-dtypes"), tmp_path / "below") as below:
        with rig.mounted(below, tmp_path / "mnt") as mnt:
            wanted = rig.file_hash(mnt / "model.safetensors")
            pid = rig.daemon_of(below)
            time.sleep(1)
            old = signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGCONT))
            os.kill(pid, signal.SIGSTOP)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.6)
                assert rig.file_hash(mnt / "model.safetensors") == wanted  # Python opens again after EINTR
            finally:
                signal.signal(signal.SIGALRM, old)
                os.kill(pid, signal.SIGCONT)


def test_umount_says_that_a_stopped_process_has_not_ended(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs("mount", model("mixed-dtypes"), mnt)
    pid = rig.daemon_of(mnt)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "(pid %d) has not ended" % pid in rig.weightfs("umount", mnt).err
    finally:
        os.kill(pid, signal.SIGCONT)
    rig.wait_for(lambda: rig.process_ended(pid), 5, "the end of the daemon")


def test_kill_and_mount_again_over_the_dead_mount(model, tmp_path):
    source, mnt = model("mixed-dtypes"), tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs("mount", source, mnt)
    pid = rig.daemon_of(mnt)
    os.kill(pid, signal.SIGKILL)
    rig.wait_for(lambda: rig.process_ended(pid), what="the kill")
    try:
        with pytest.raises(OSError) as caught:
            os.listdir(mnt)
        assert caught.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
        rig.weightfs("mount", source, mnt)
        assert rig.file_hash(mnt / "model-q8_0.gguf")[1] > 0
        rig.weightfs("umount", mnt)
        assert not rig.is_mounted(mnt)
        assert os.listdir(mnt) == []
    finally:
        while rig.is_mounted(mnt):
            rig.detach(mnt)


def test_umount_of_a_dead_mount(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    rig.weightfs("mount", model("mixed-dtypes"), mnt)
    pid = rig.daemon_of(mnt)
    os.kill(pid, signal.SIGKILL)
    rig.wait_for(lambda: rig.process_ended(pid), what="the kill")
    try:
        rig.weightfs("umount", mnt, timeout=10)
        assert not rig.is_mounted(mnt)
    finally:
        if rig.is_mounted(mnt):
            rig.detach(mnt)


def test_umount_while_busy_explains_itself(model, tmp_path):
    with rig.mounted(model("mixed-dtypes"), tmp_path / "mnt") as mnt:
        with open(mnt / "model.safetensors", "rb"):
            run = rig.weightfs("umount", mnt, code=1)
            assert str(mnt) in run.err and "busy" in run.err.lower()
            assert str(os.getpid()) in run.err, "it should name who holds it: " + run.err
            assert rig.is_mounted(mnt)


def test_umount_where_nothing_is_mounted(tmp_path):
    run = rig.weightfs("umount", tmp_path, code=1)
    assert "not mounted" in run.err or "nothing is mounted" in run.err
    assert rig.weightfs("umount", tmp_path / "absent", code=1).err.strip()


def test_umount_of_another_file_system_is_refused(tmp_path):
    other = tmp_path / "tmpfs"
    other.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", other], check=True)
    try:
        assert "weightfs" in rig.weightfs("umount", other, code=1).err
        assert rig.is_mounted(other)
    finally:
        rig.detach(other)


@pytest.mark.parametrize("where", ["over", "inside"])
def test_mounting_over_or_inside_the_source(own, tmp_path, where):
    source = own("llama2-12-layers")
    wanted = {view: rig.export_hash(source, view) for view in ("model-q8_0.gguf", "model.safetensors")}
    mnt = source if where == "over" else source / "sub"
    mnt.mkdir(exist_ok=True)
    rig.weightfs("mount", source, mnt, timeout=20)
    try:
        for view, told in wanted.items():
            assert rig.file_hash(mnt / view) == told
        run = subprocess.run(["ls", "-lR", mnt], capture_output=True, timeout=20 * rig.SLOW)
        assert run.returncode == 0
        time.sleep(1.2)  # the next open looks at the source again
        assert rig.file_hash(mnt / "model-q8_0.gguf") == wanted["model-q8_0.gguf"]
    finally:
        rig.weightfs("umount", mnt, timeout=20)
    assert (source / "model-00001-of-00005.safetensors").exists()


def test_mounting_over_a_folder_without_weights(tmp_path):
    """What is said about the missing weights is not looked for in the mount, where nobody answers yet."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.json").write_text("{}")
    run = rig.weightfs("mount", "-o", "log=%s/log" % tmp_path, source, source, timeout=20)
    try:
        assert "no weights found" in run.err
        assert (source / "config.json").read_text() == "{}"
    finally:
        rig.weightfs("umount", source, timeout=20)


@pytest.mark.parametrize("where", ["over", "inside"])
def test_a_link_that_leads_into_the_mount(own, tmp_path, where):
    """The only worker must not wait for an answer that it has to give itself, nor the daemon keep its own mount busy."""
    source = own("llama2-12-layers")
    mnt = source if where == "over" else source / "sub"
    mnt.mkdir(exist_ok=True)
    os.symlink(mnt / "config.json", source / "into")
    os.symlink("into", source / "over-a-link")
    os.symlink(pathlib.Path("..") / mnt.relative_to(tmp_path) / "config.json", source / "relative")
    os.symlink("tokenizer.model", source / "beside")
    rig.weightfs("mount", "-o", "workers=1", source, mnt, timeout=20)
    pid = rig.daemon_of(mnt)
    try:
        for _ in range(2):
            run = subprocess.run(["ls", "-la", mnt], capture_output=True, timeout=10 * rig.SLOW)
            assert run.returncode == 0 and b"beside" in run.stdout, run
            for name in ("into", "over-a-link", "relative"):
                assert name.encode() not in run.stdout
                run_cat = subprocess.run(["cat", mnt / name], capture_output=True, timeout=10 * rig.SLOW)
                assert run_cat.returncode == 1 and b"No such file" in run_cat.stderr, run_cat
            run = subprocess.run(["cat", mnt / "beside"], capture_output=True, timeout=10 * rig.SLOW)
            assert run.stdout == (mnt / "tokenizer.model").read_bytes() and run.stdout
            time.sleep(1)  # the next round looks at the source again
        rig.weightfs("umount", mnt, timeout=10)
        rig.wait_for(lambda: rig.process_ended(pid), 10, "the end of the daemon")
    finally:
        if rig.is_mounted(mnt):
            rig.detach(mnt)


def test_the_log_file(own, tmp_path):
    source = own("nan")
    log = tmp_path / "the.log"
    with rig.mounted(source, tmp_path / "mnt", log=log) as mnt:
        for _ in range(3):
            with pytest.raises(OSError):
                rig.file_hash(mnt / "model-q8_0.gguf")
        rig.wait_for(lambda: "up_proj" in log.read_text(), what="the line in the log")
    lines = [line for line in log.read_text().splitlines() if "model.layers.0.mlp.up_proj.weight" in line]
    assert len([line for line in lines if "model-q8_0.gguf" in line]) == 1, lines


def test_a_log_that_cannot_be_written_is_said(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    run = rig.weightfs("mount", "-o", "log=%s/no/such/log" % tmp_path, model("mixed-dtypes"), mnt, code=1)
    assert "no/such/log" in run.err and not rig.is_mounted(mnt)
    os.mkfifo(tmp_path / "pipe")
    run = rig.weightfs("mount", "-o", "log=%s" % (tmp_path / "pipe"), model("mixed-dtypes"), mnt, code=1, timeout=5)
    assert "nobody reads" in run.err and not rig.is_mounted(mnt)


@pytest.mark.skipif(rig.SLOW != 1, reason="sanitizers write files of their own, before main is reached")
def test_a_limit_of_file_sizes_ends_no_mount(model, tmp_path):
    """A log that may not grow is a line less, no SIGXFSZ."""
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    command = 'ulimit -f 0; exec "$0" mount -o log=%s/log "$1" "$2"' % tmp_path
    subprocess.run(["sh", "-c", command, rig.BIN, model("mixed-dtypes"), mnt], check=True)
    try:
        assert (mnt / "config.json").read_bytes()
        assert rig.daemon_of(mnt)
    finally:
        rig.weightfs("umount", mnt)


@pytest.mark.parametrize("closed", ["<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(model, tmp_path, closed):
    """What is opened does not take their places, where it would be closed, or written messages to."""
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    subprocess.run(["sh", "-c", 'exec "$0" mount "$1" "$2" ' + closed, rig.BIN, model("mixed-dtypes"), mnt], check=True)
    try:
        assert (mnt / "config.json").read_bytes()
    finally:
        rig.weightfs("umount", mnt)
    run = subprocess.run(["sh", "-c", 'exec "$0" ls "$1" ' + closed, rig.BIN, model("mixed-dtypes")])
    assert run.returncode == 1, "nothing could be printed"


def test_what_cannot_be_mounted_says_why(model, tmp_path):
    source, mnt = model("mixed-dtypes"), tmp_path / "mnt"
    run = rig.weightfs("mount", source, mnt, code=1)
    assert str(mnt) in run.err and "No such file" in run.err
    mnt.write_text("a file")
    run = rig.weightfs("mount", source, mnt, code=1)
    assert str(mnt) in run.err
    run = rig.weightfs("mount", tmp_path / "absent", tmp_path, code=1)
    assert "absent" in run.err and not rig.is_mounted(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "note.txt").write_text("no model")
    run = rig.weightfs("ls", empty)
    assert "note.txt" in run.out and "withheld" in run.out.lower(), run
    assert "no model.safetensors" in run.out, run


FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"]


def as_nobody(*command, **kwargs):
    def drop():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, preexec_fn=drop, **kwargs
    )


@pytest.fixture
def public(own, tmp_path):
    """A folder that everybody can reach, with the program and a model in it."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        shutil.copy(rig.BIN, root / "weightfs")
        shutil.copytree(own("mixed-dtypes"), root / "model")
        (root / "mnt").mkdir()
        os.chown(root / "mnt", 65534, 65534)
        yield root


@pytest.fixture
def open_device():
    """/dev/fuse as udev makes it, open to everybody; a bare container has it for root alone."""
    before = os.stat("/dev/fuse").st_mode & 0o777
    os.chmod("/dev/fuse", 0o666)
    yield
    os.chmod("/dev/fuse", before)


def test_an_ordinary_user_mounts_and_unmounts(public, open_device):
    run = as_nobody(public / "weightfs", "mount", public / "model", public / "mnt")
    assert run.returncode == 0, run.stderr
    try:
        run = as_nobody("sha256sum", public / "mnt" / "model-q8_0.gguf")
        assert run.stdout.split()[:1] == [rig.export_hash(public / "model", "model-q8_0.gguf")[0]], run.stderr
        with pytest.raises(PermissionError):  # without allow_other it is this user's alone, not even root's
            os.listdir(public / "mnt")
    finally:
        run = as_nobody(public / "weightfs", "umount", public / "mnt")
        rig.detach(public / "mnt")
    assert run.returncode == 0, run.stderr


def test_a_device_that_may_not_be_opened_says_so(public):
    before = os.stat("/dev/fuse").st_mode & 0o777
    os.chmod("/dev/fuse", 0o600)
    try:
        run = as_nobody(public / "weightfs", "mount", public / "model", public / "mnt")
        assert run.returncode == 1 and "/dev/fuse" in run.stderr and "ermission" in run.stderr
    finally:
        os.chmod("/dev/fuse", before)


def test_a_source_that_may_not_be_read_says_so(public):
    (public / "model" / "config.json").chmod(0o600)
    run = as_nobody(public / "weightfs", "ls", public / "model")
    assert "config.json" in run.stdout + run.stderr and "ermission" in run.stdout + run.stderr
    (public / "model").chmod(0o700)
    run = as_nobody(public / "weightfs", "ls", public / "model")
    assert run.returncode == 1 and "ermission" in run.stderr and str(public / "model") in run.stderr


def test_no_fusermount3_for_an_ordinary_user_says_so(public, open_device):
    """In a mount namespace of its own, where no folder has a fusermount3 that could be run."""
    if subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("no mount namespaces here")
    found = {os.path.realpath(path) for path in map("{}/fusermount3".format, FOLDERS) if os.path.exists(path)}
    hide = "".join("mount --bind /dev/null '%s' && " % path for path in sorted(found))
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "PATH=/nowhere"]
    command += [public / "weightfs", "mount", public / "model", public / "mnt"]
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", hide + 'exec "$@"', "sh", *map(str, command)], capture_output=True, text=True
    )
    assert run.returncode == 1 and "needs fusermount3" in run.stderr and "package fuse3" in run.stderr, run
    assert not rig.is_mounted(public / "mnt")


def test_allow_other_for_an_ordinary_user_needs_user_allow_other(public, open_device):
    configured = pathlib.Path("/etc/fuse.conf")
    if configured.exists() and any(
        line.strip() == "user_allow_other" for line in configured.read_text().splitlines()
    ):
        pytest.skip("user_allow_other is set here")
    run = as_nobody(public / "weightfs", "mount", "-o", "allow_other", public / "model", public / "mnt")
    rig.detach(public / "mnt")
    assert run.returncode == 1 and "user_allow_other" in run.stderr and "fuse.conf" in run.stderr


def test_no_dev_fuse_says_so(model, tmp_path):
    """In a mount namespace of its own, where /dev is empty but for null."""
    if subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("no mount namespaces here")
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    script = 'mount --bind /dev/null /dev/fuse && exec "$@"'
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", rig.BIN, "mount", model("mixed-dtypes"), mnt],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and "/dev/fuse" in run.stderr
    script = 'mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3 && exec "$@"'
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", rig.BIN, "mount", model("mixed-dtypes"), mnt],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and "/dev/fuse" in run.stderr


def test_too_few_descriptors_are_raised_or_said(model, tmp_path):
    import resource

    mnt = tmp_path / "mnt"
    mnt.mkdir()
    soft = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 4096))
    rig.weightfs("mount", model("llama2-12-layers"), mnt, preexec_fn=soft)
    try:
        assert rig.file_hash(mnt / "model-q8_0.gguf")[1] > 0
    finally:
        rig.weightfs("umount", mnt)
    hard = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
    run = rig.weightfs("mount", model("llama2-12-layers"), mnt, check=False, preexec_fn=hard)
    rig.detach(mnt)
    assert run.code == 1 and ("descriptor" in run.err or "open files" in run.err), run


@pytest.mark.skipif(rig.SLOW != 1, reason="sanitizers need the address space")
def test_without_threads_a_mount_serves_or_ends(model, tmp_path):
    """From too little address space for any thread to enough for all: none leaves a mount that nobody answers."""
    import resource

    source, mnt, codes = model("llama2-12-layers"), tmp_path / "mnt", set()
    right = rig.export(source, "model-q8_0.gguf")
    mnt.mkdir()
    for mib in range(60, 420, 15):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
        try:
            run = rig.weightfs("mount", "-o", "workers=2", source, mnt, timeout=10, check=False, preexec_fn=limit)
            codes.add(run.code)
            assert run.code == 0 or (run.code == 1 and run.err and not rig.is_mounted(mnt)), run
            with contextlib.suppress(OSError):  # libfuse ends a mount one of whose threads finds no memory to begin with
                assert (mnt / "model-q8_0.gguf").read_bytes() == right
            rig.weightfs("umount", mnt, check=False)
        finally:
            if rig.is_mounted(mnt):
                ctypes.CDLL(None).umount2(bytes(mnt), 3)  # MNT_FORCE | MNT_DETACH: it may hang
    assert codes == {0, 1}


def test_of_two_that_start_on_one_mountpoint_one_is_refused(model, tmp_path):
    mnt = tmp_path / "mnt"
    mnt.mkdir()
    for _ in range(5):
        command = [rig.BIN, "mount", model("llama2-12-layers"), mnt]
        both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=30 * rig.SLOW)[1] for process in both]
        try:
            assert sorted(process.returncode for process in both) == [0, 1], said
            assert "already shows" in said[0] + said[1]
            rig.weightfs("umount", mnt)
            assert not rig.is_mounted(mnt)
        finally:
            while rig.is_mounted(mnt):
                rig.detach(mnt)
