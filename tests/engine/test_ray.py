"""Tests on Ray, each file in a process of its own, so that what Ray leaves in a process stays out of other tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install 'positionbias[ray]'")
@pytest.mark.parametrize("file", ["engine/ray_engine.py", "engine/ray_studies.py", "overlap/ray_find.py"])
def test_all_pass(file: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", f"--junit-xml={report}", str(TESTS / file)]
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "POSBIAS_HOME"))}
    done = subprocess.run(command, cwd=TESTS.parent, env=alone, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert report.exists(), told  # what ended the process behind its report ended no test
    (suite,) = ElementTree.parse(report).getroot()
    assert [int(suite.attrib[name]) for name in ("failures", "errors", "skipped")] == [0, 0, 0], told
    assert int(suite.attrib["tests"]) > 0
