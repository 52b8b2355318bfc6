"""The benchmarks' scripts as modules: they stand in no package, and import each other by their folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks"


def script_named(name: str) -> ModuleType:
    """``benchmarks/NAME.py``, run anew."""
    spec = importlib.util.spec_from_file_location(name, PLACE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PLACE)
        patch.setitem(sys.modules, name, module)  # its dataclasses look their module up
        spec.loader.exec_module(module)
    return module
