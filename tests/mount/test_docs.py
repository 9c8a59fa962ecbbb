"""What docs/operations.md gives to copy is well-formed."""

import re
import shutil
import subprocess

import pytest
import rig


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    text = (rig.REPO / "docs" / "operations.md").read_text()
    block = re.search(r"^    \[Unit\]\n(?:    .*\n|\n)*?    WantedBy=.*\n", text, re.M).group(0)
    unit = tmp_path / "weightfs-llama.service"
    unit.write_text(re.sub("^    ", "", block, flags=re.M).replace("/usr/local/bin/weightfs", str(rig.BIN)))
    run = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert run.returncode == 0 and unit.name not in run.stdout + run.stderr, run
    bad = tmp_path / "bad.service"
    bad.write_text(unit.read_text().replace("Type=forking", "Type=folding"))
    run = subprocess.run(["systemd-analyze", "verify", bad], capture_output=True, text=True)
    assert "folding" in run.stdout + run.stderr  # or it says nothing of anything
