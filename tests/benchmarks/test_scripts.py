"""Every script of ``benchmarks`` imports: what it uses is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.forked import forked

PLACE = Path(__file__).parents[2] / "benchmarks"
FOLDERS = (PLACE, PLACE / "fuzz", PLACE / "gpu")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_script_imports(folder: Path) -> None:
    """In one process a folder, as the scripts import each other by name."""
    names = sorted(path.stem for path in folder.glob("*.py"))
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\nimport {', '.join(names)}"
    if folder == PLACE:
        code += "\nfrom rows import all"
    done = forked([], folder, os.environ, code)
    assert done.returncode == 0, done.stderr
