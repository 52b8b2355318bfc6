"""Tests on Ray in a process of their own, so that what Ray leaves in a process stays out of other
tests.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

FILE = Path(__file__).with_name("ray_engine.py")


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="ray is not installed: pip install 'positionbias[ray]'",
)
def test_all_pass(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        f"--junit-xml={report}",
        str(FILE),
    ]
    alone = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "POSBIAS_HOME"))
    }
    done = subprocess.run(
        command, cwd=FILE.parents[2], env=alone, capture_output=True, text=True, check=False
    )
    told = done.stdout + done.stderr
    assert report.exists(), told  # what ended the process behind its report ended no test
    (suite,) = ElementTree.parse(report).getroot()
    assert [int(suite.attrib[name]) for name in ("failures", "errors", "skipped")] == [0, 0, 0], (
        told
    )
    assert int(suite.attrib["tests"]) > 0
