"""The sections `reads` and `ceilings` of tests/bench: views beside plain files of the same bytes on the same disk."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

from bench_rig import BIN, BUILD, CACHE, Mount, drop_caches, memory_of, number, say

READER = BUILD / "tests/reader"
EMBEDDING = "tensors/model.embed_tokens.weight.npy"
# In the source folder (None: in a folder that holds the one file), and as plain file.
VIEWS = {
    "identity": (None, "model.safetensors"),
    "safetensors": ("model.safetensors", "model.safetensors"),
    "npy": (EMBEDDING, "embedding.npy"),
    "q8_0": ("model-q8_0.gguf", "model-q8_0.gguf"),
    "q4_k_m": ("model-q4_k_m.gguf", "model-q4_k_m.gguf"),
}
ACCESSES = ["seq_read", "seq_mmap", "rand4k_read", "rand4k_mmap"]
READERS = [1, 16]
STATES = ["cold", "srcwarm", "warm"]
COLUMNS = "view access readers state ours_MBps plain_MBps ratio p50_ms p99_ms cpu_s rss_MiB".split()
TICKS = os.sysconf("SC_CLK_TCK")


class Run:
    """One run of the reader."""

    def __init__(self, path, access, readers=1, seconds=60.0, *flags, daemon=None):
        before = cpu_of(daemon) if daemon else 0
        command = [READER, *flags, access, str(readers), "%.3f" % seconds, path]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        self.bytes, self.sum = int(out[0]), out[7]
        self.seconds, self.rate, self.p50, self.p99, self.longest, self.cpu = map(float, out[1:7])
        self.cpu += cpu_of(daemon) - before if daemon else 0


def cpu_of(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def prepare_files(model):
    """The plain files, exported once, and a folder that holds the model as one file: {view: (source, its path, plain)}."""
    folder = CACHE / "bench" / "plain"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "stamp"
    recipe = json.dumps([[file.name, file.stat().st_size, file.stat().st_mtime] for file in sorted(model.iterdir())])
    if not stamp.exists() or stamp.read_text() != recipe:
        stamp.unlink(missing_ok=True)
        for view, plain in filter(lambda pair: pair[0], VIEWS.values()):
            say("exporting %s, once" % view)
            subprocess.run([BIN, "export", "--force", model, view, "-o", folder / plain], check=True)
        single = folder / "single"
        shutil.rmtree(single, ignore_errors=True)
        single.mkdir()
        for file in model.iterdir():
            if not file.name.startswith("model"):
                shutil.copy(file, single)
        os.link(folder / "model.safetensors", single / "model.safetensors")
        os.sync()
        stamp.write_text(recipe)
    return {
        name: (model if view else folder / "single", view or "model.safetensors", folder / plain)
        for name, (view, plain) in VIEWS.items()
    }


class Cells:
    """Measures the cells of one view. The plain file beside a mount that is cold is warm when the source is."""

    def __init__(self, name, source, view, plain, options, put):
        self.name, self.source, self.view, self.plain, self.put = name, source, view, plain, put
        self.accesses, self.readers, self.seconds = options.access, options.readers, options.seconds

    def each(self):
        return [(access, readers) for access in self.accesses for readers in self.readers]

    def row(self, access, readers, state, ours, plain, rss):
        self.put(
            [self.name, access, readers, state, number(ours.rate), number(plain.rate), number(ours.rate / plain.rate)]
            + ["%.3f" % ours.p50, "%.3f" % ours.p99, "%.2f" % ours.cpu, "%.0f" % (rss / 2**20)]
        )

    def warm_up(self, *files):
        for file in files:
            Run(file, "seq_read", 2)

    def weights(self):
        return sorted(self.source.glob("*.safetensors"))

    def cold(self):
        for access, readers in self.each():
            with Mount(self.source) as mount:
                pid = mount.pid
                drop_caches()
                ours = Run(mount.path / self.view, access, readers, self.seconds, daemon=pid)
                rss = memory_of(pid, "VmHWM")
            drop_caches()
            plain = Run(self.plain, access, readers, self.seconds)
            self.row(access, readers, "cold", ours, plain, rss)

    def srcwarm(self):
        self.warm_up(self.plain)
        for access, readers in self.each():
            self.warm_up(*self.weights())
            with Mount(self.source) as mount:
                pid = mount.pid
                ours = Run(mount.path / self.view, access, readers, self.seconds, daemon=pid)
                rss = memory_of(pid, "VmHWM")
            plain = Run(self.plain, access, readers, self.seconds / 4, "-l")
            self.row(access, readers, "srcwarm", ours, plain, rss)

    def warm(self):
        with Mount(self.source) as mount:
            pid, view = mount.pid, mount.path / self.view
            sums = [Run(path, "seq_read", 2, 600, "-s").sum for path in (view, self.plain)]
            assert sums[0] == sums[1], "%s and %s differ" % (view, self.plain)
            for access, readers in self.each():
                rounds = [[], []]
                for _ in range(2):
                    rounds[0].append(Run(view, access, readers, self.seconds / 4, "-l", daemon=pid))
                    rounds[1].append(Run(self.plain, access, readers, self.seconds / 4, "-l"))
                best = [max(runs, key=lambda run: run.rate) for runs in rounds]
                self.row(access, readers, "warm", *best, memory_of(pid, "VmHWM"))


def add_arguments(parser):
    """What narrows the section reads."""

    def words(known, kind=str):
        def parse(text):
            chosen = [kind(word) for word in text.split(",")]
            assert set(chosen) <= set(known), "known are %s" % known
            return chosen

        return {"type": parse, "default": list(known), "metavar": ",".join(map(str, known))}

    group = parser.add_argument_group("of the section reads")
    group.add_argument("--views", **words(VIEWS))
    group.add_argument("--access", **words(ACCESSES))
    group.add_argument("--readers", **words(READERS, int))
    group.add_argument("--states", **words(STATES))
    group.add_argument("--seconds", type=float, default=1.0, help="the longest that a cell reads (1)")


def reads(report, model, options):
    rows = []

    def put(row):
        rows.append(row)
        if report.tsv:
            print("\t".join(map(str, row)), flush=True)

    if report.tsv:
        print("\t".join(COLUMNS), flush=True)
    files = prepare_files(model)
    for name in options.views:
        cells = Cells(name, *files[name], options, put)
        for state in sorted(options.states, key=["srcwarm", "warm", "cold"].index):
            say("%s, %s" % (name, state))
            getattr(cells, state)()
    if not report.tsv:
        print("\n### Reads, beside the plain file\n\n| %s |\n|%s" % (" | ".join(COLUMNS), " --- |" * len(COLUMNS)))
        for row in rows:
            print("| %s |" % " | ".join(map(str, row)))


# ---- what reads can be at best


def bare(report, model, files):
    """model.safetensors with a warm source, and a file whose every read FUSE answers at once from memory."""
    section = "model.safetensors, mount cold and source warm, beside a bare FUSE reply from memory"
    source, view, plain = files["safetensors"]
    mountpoint = CACHE / "bench" / "bare"
    mountpoint.mkdir(exist_ok=True)
    for access, readers in (("seq_read", 1), ("seq_read", 16), ("seq_mmap", 1), ("rand4k_read", 1)):
        rates = [[], []]
        for _ in range(2):
            for shard in source.glob("*.safetensors"):
                Run(shard, "seq_read", 2)
            with Mount(source) as mount:
                rates[0].append(Run(mount.path / view, access, readers, 1).rate)
            command = [BUILD / "tests/bare_fuse", str(plain.stat().st_size), mountpoint]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
                while not (mountpoint / "data").exists():
                    time.sleep(0.01)
                minor = os.minor((mountpoint / "data").stat().st_dev)
                pathlib.Path("/sys/class/bdi/0:%d/read_ahead_kb" % minor).write_text("1024")
                rates[1].append(Run(mountpoint / "data", access, readers, 1).rate)
                subprocess.run(["umount", mountpoint], check=True)
        report.add(section, "%s, readers: %d" % (access, readers), max(rates[0]) / 1e3, max(rates[1]) / 1e3, "GB/s")


def kernel_speeds(types):
    """Elements a second of each type's best kernel, by all cores at once."""
    speeds = {}
    for kind in types:
        command = [BUILD / "tests/bench_kernels", "--tsv", "--type", kind, CACHE / "llama/bin/libggml-base.so"]
        cores = len(os.sched_getaffinity(0))
        together = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(cores)]
        total = 0
        for process in together:
            out = process.communicate()[0]
            assert process.returncode == 0, command
            lines = [line.split("\t") for line in out.splitlines()]
            total += max(float(line[3]) for line in lines if line[0] == kind and line[2] == "quantize")
        speeds[kind] = total * 1e6
    return speeds


def against_kernels(report, model, files):
    """The whole of model-q4_k_m.gguf with a warm source, beside the kernels' own time on all cores."""
    import gguf

    section = "model-q4_k_m.gguf whole, mount cold and source warm, beside the kernels alone on all cores"
    source, view, plain = files["q4_k_m"]
    elements = {}
    for tensor in gguf.GGUFReader(plain).tensors:
        kind = tensor.tensor_type.name
        kind = kind[0].lower() + kind[1:]  # as the kernels' table has it: q4_K
        elements[kind] = elements.get(kind, 0) + int(tensor.n_elements)
    elements.pop("f32", None)
    speeds = kernel_speeds(elements)
    least = sum(count / speeds[kind] for kind, count in elements.items())
    for readers in (1, 16):
        seconds = []
        for _ in range(2):
            for shard in source.glob("*.safetensors"):
                Run(shard, "seq_read", 2)
            with Mount(source) as mount:
                seconds.append(Run(mount.path / view, "seq_read", readers).seconds)
        total = sum(elements.values()) / 1e6
        report.add(section, "seq_read, readers: %d" % readers, total / min(seconds), total / least, "Melem/s")


def beside_a_scan(report, model, files):
    """Random reads of 4 KiB while another reads the same view from begin to end; and what is left to that one."""
    section = "model-q4_k_m.gguf, mount cold, source warm: 4 KiB of tiles that nobody has yet, beside a sequential reader"
    source, view, _ = files["q4_k_m"]

    def fresh(beside):
        for shard in source.glob("*.safetensors"):
            Run(shard, "seq_read", 2)
        with Mount(source) as mount:
            command = [READER, "-w", "0:75", "seq_read", "1", "60", mount.path / view]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                time.sleep(0.2)
                run = beside and beside(mount.path / view)
                return float(process.communicate()[0].split()[2]), run

    alone = max(fresh(None)[0] for _ in range(2))
    for what, rest in (("one after the other", "0"), ("50 a second", "20")):
        flags = ("-w", "75:100", "-g", "80", "-p", rest)
        kept, run = fresh(lambda path: Run(path, "rand4k_read", 1, 0.75 * path.stat().st_size / alone / 1e6, *flags))
        report.add(section, what + ": p50, beside the goal", run.p50, 3, "ms", True)
        report.add(section, what + ": p99, beside the goal", run.p99, 20, "ms", True)
        report.add(section, what + ": the sequential reader, beside alone", kept, alone, "MB/s")


def faults(report, model, files):
    """Random page faults: the kernel may ask for the read-ahead around each, with MADV_RANDOM for the page alone."""
    section = "model-q4_k_m.gguf, mount cold and source warm: random 4 KiB by mmap"
    source, view, _ = files["q4_k_m"]
    for what, flags in (("as it is", ()), ("MADV_RANDOM", ("-r",))):
        for shard in source.glob("*.safetensors"):
            Run(shard, "seq_read", 2)
        with Mount(source) as mount:
            run = Run(mount.path / view, "rand4k_mmap", 1, 1.5, *flags)
        report.add(section, what + ": p50, beside the goal of preads", run.p50, 3, "ms", True)
        report.add(section, what + ": p99, beside the goal of preads", run.p99, 20, "ms", True)


def a_thousand(report, model, files):
    """The mount of a model of 1,000 tensors."""
    with tempfile.TemporaryDirectory() as folder:
        names = ["model.block.%d.part.weight" % number for number in range(1000)]
        header = {
            name: {"dtype": "BF16", "shape": [2, 4], "data_offsets": [16 * i, 16 * i + 16]}
            for i, name in enumerate(names)
        }
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(pathlib.Path(folder) / "model.safetensors", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + bytes(16 * 1000))
        (pathlib.Path(folder) / "config.json").write_text('{"architectures": ["Nobody"], "model_type": "nobody"}')
        seconds = []
        for _ in range(5):
            with Mount(folder) as mount:
                seconds.append(mount.seconds)
    report.add("Mount of 1,000 tensors, beside the goal", "until it serves", min(seconds) * 1000, 100, "ms", True)


def ceilings(report, model, _):
    files = prepare_files(model)
    for part in (bare, against_kernels, beside_a_scan, faults, a_thousand):
        say(part.__doc__.split("\n")[0])
        part(report, model, files)
