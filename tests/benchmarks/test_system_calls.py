"""A sample of ``benchmarks/system_calls.py``: results, replaced, with every fortieth call failing and killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.benchmarks.scripts import PLACE


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler")
def test_no_failing_call_loses_an_artefact() -> None:
    script = PLACE / "system_calls.py"
    command = [sys.executable, str(script), "--step", "evaluate, replaced", "--every", "40"]
    environment = {name: value for name, value in os.environ.items() if name != "POSBIAS_SHIM"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    columns = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert columns[0] == "all"
    assert int(columns[2]) > 6
    assert columns[-3:] == ["0", "0", "0"]
