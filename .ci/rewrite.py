"""Rewrite the assertions of all tests once, in pytest's cache: else each of pytest-xdist's workers
does so for itself.
"""

from __future__ import annotations

from pathlib import Path

from _pytest.assertion import AssertionState
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    get_cache_dir,
)
from _pytest.config import get_config

config = get_config()
state = AssertionState(config, "rewrite")
for path in (Path.cwd() / "tests").rglob("*.py"):
    if path.name.startswith("test_") or path.name == "conftest.py":
        cached = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
        if _read_pyc(path, cached) is None:
            cached.parent.mkdir(parents=True, exist_ok=True)
            checksum, code = _rewrite_test(path, config)
            _write_pyc(state, code, checksum, cached)
