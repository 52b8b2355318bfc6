"""How many threads compute: by affinity and quota, worked by hand; and that the command line says
it before torch is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from positionbias.core import process
from positionbias.core.process import cores, processor_quota, share_the_machine


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.max": "much\n"}, None),
        ({}, None),
    ],
)
def test_a_containers_quota_is_read(
    files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert processor_quota(str(tmp_path)) == quota


@pytest.mark.parametrize(("quota", "expected"), [(None, 8), (1.5, 2), (0.2, 1), (64.0, 8)])
def test_cores_are_those_that_both_allow(
    quota: float | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "processors", lambda: 8)
    monkeypatch.setattr(process, "processor_quota", lambda: quota)
    assert cores() == expected
    environment: dict[str, str] = {}
    share_the_machine(environment)
    assert environment == {"OMP_WAIT_POLICY": "passive"} | (
        {"OMP_NUM_THREADS": str(expected)} if expected < 8 else {}
    )


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "processor_quota", lambda: 0.5)
    monkeypatch.setattr(process, "processors", lambda: 4)
    environment = {"OMP_NUM_THREADS": "3", "GOMP_SPINCOUNT": "100"}
    share_the_machine(environment)
    assert environment == {"OMP_NUM_THREADS": "3", "GOMP_SPINCOUNT": "100"}


def test_a_command_says_it_before_anything_heavy_is_loaded() -> None:
    code = """
import os, sys
import positionbias.core.process as process
def seen(environment):
    print(environment is os.environ, "numpy" in sys.modules, "torch" in sys.modules)
process.share_the_machine = seen
sys.argv = ["posbias", "--version"]
from positionbias.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout.splitlines()[0] == "True False False", done.stderr


@pytest.mark.parametrize("entry", ["positionbias", "positionbias.__main__"])
def test_an_import_says_it_before_anything_heavy_is_loaded(entry: str) -> None:
    code = f"""
import os, sys
import {entry}
print(os.environ["OMP_WAIT_POLICY"], "OMP_NUM_THREADS" in os.environ, "numpy" in sys.modules, \
"torch" in sys.modules)
"""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (*process._WAITING, "OMP_NUM_THREADS")
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "passive False False False\n", done.stderr


def test_this_systems_processors_are_at_least_one() -> None:
    assert 1 <= cores() <= process.processors()
