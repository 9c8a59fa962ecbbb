"""Runs the reference converter for many models in one process: importing it costs more than a small conversion does.

Reads JSON lines {"dir", "outtype", "outfile"} on standard input, writes one JSON line per job on standard output:
{"error": null or text}. The converter itself is run as its own command line would run it.

Usage: reference_runner.py LLAMA_CPP_SOURCE < jobs
"""

import importlib.util
import json
import logging
import os
import sys
import traceback


def main():
    source = sys.argv[1]
    sys.path.insert(0, source)
    spec = importlib.util.spec_from_file_location(
        "convert_hf_to_gguf", os.path.join(source, "convert_hf_to_gguf.py")
    )
    converter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(converter)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.WARNING)
    for line in sys.stdin:
        job = json.loads(line)
        error = None
        sys.argv = ["convert_hf_to_gguf.py", job["dir"], "--outtype", job["outtype"], "--outfile", job["outfile"]]
        try:
            converter.main()
        except SystemExit as stop:
            if stop.code:
                error = "exit %s" % stop.code
        except Exception as problem:
            error = "%s: %s" % (type(problem).__name__, problem)
            if os.environ.get("WEIGHTFS_TEST_DEBUG"):
                traceback.print_exc()
        if error and os.path.exists(job["outfile"]):
            os.unlink(job["outfile"])
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()


main()
