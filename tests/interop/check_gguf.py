#!/usr/bin/env python3
"""The GGUF codecs alone against the reference, for every case of make_model.py or those named: no mount, no engine.

Usage: check_gguf.py MAKE_GGUF [CASE...]     MAKE_GGUF is the built tests/tools/make_gguf.c

Prints each file that differs (and the first key or tensor that does), is refused by one side only, or is refused by both
with the reason; the last line is the count.
"""

import pathlib
import subprocess
import sys
import tempfile

import difference
import make_model
import reference


def check(tool, ref, out):
    """What is wrong with one case's files, and how many were looked at."""
    subprocess.run([tool, ref.source, out], check=True)
    wrong, looked_at = [], 0
    for view, result in ref.results.items():
        ours = out / (view + ".gguf")
        if view == "auto":
            continue
        looked_at += 1
        if result["error"] and ours.exists():
            wrong.append("%s: the reference refuses: %s" % (view, result["error"]))
        elif result["error"]:
            print("  %s %s refused: %s" % (ref.case.name, view, (out / (view + ".error")).read_text().strip()))
        elif not ours.exists() and (ref.case.known.get(view) or ref.case.known.get("*.gguf")):
            print("  %s %s withheld, as known" % (ref.case.name, view))
        elif not ours.exists():
            wrong.append("%s: refused: %s" % (view, (out / (view + ".error")).read_text().strip()))
        elif reference.sha256_of(ours) != result["sha256"]:
            wrong.append("%s: %s" % (view, difference.explain(ref.path(view), lambda to: pathlib.Path(to).write_bytes(
                ours.read_bytes()))))
    return wrong, looked_at


def main():
    tool, names = sys.argv[1], sys.argv[2:] or list(make_model.CASES)
    made, missing = reference.prepare()
    total = bad = 0
    for name in names:
        if name in missing:
            print("  %s skipped: %s" % (name, missing[name]))
            continue
        with tempfile.TemporaryDirectory() as out:
            wrong, looked_at = check(tool, made[name], pathlib.Path(out))
        total += looked_at
        bad += len(wrong)
        for text in wrong:
            print("%s %s" % (name, text))
    print("%d files, %d wrong" % (total, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
