"""The folder in which the examples of public names run: small artefacts under the names that their
docstrings use.
"""

from __future__ import annotations

import os
import sys

for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # before NumPy or torch is imported: they read it once; tests run side by side
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# else each of hundreds of processes compiles the whole package anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# readline sets it for pytest's workers; printed lines have the width of a pipe
os.environ.pop("COLUMNS", None)

import gc
import shutil
from collections.abc import Iterator
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import pytest

_NEEDS = {
    "positionbias/pyterrier.py": "pyterrier",
    "positionbias/sbert.py": "sentence_transformers",
}
# which cannot be imported
collect_ignore = [path for path, package in _NEEDS.items() if find_spec(package) is None]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Search for no garbage while tests are collected, and never among the millions of objects that
    this makes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[object]:
    """Look for no examples in the docstrings of tests."""
    found = yield
    tests = Path(__file__).parent / "tests"
    return [one for one in found if type(one) is pytest.Module or tests not in file_path.parents]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples read."""
    from tests import examples  # with all of the package

    folder = tmp_path_factory.mktemp("examples")
    with chdir(folder):
        examples.make()
    return folder


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo train a few hundred weights for two steps."""
    from tests import examples

    examples.shrink_demo(monkeypatch)


@pytest.fixture(autouse=True)
def examples_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run an example that imports the package in a copy of the shelf, which is $POSBIAS_HOME
    too.
    """
    if (
        isinstance(request.node, pytest.DoctestItem)
        and "positionbias as pb" in request.node.dtest.docstring
    ):
        shutil.copytree(request.getfixturevalue("shelf"), tmp_path / "home")
        monkeypatch.setenv("POSBIAS_HOME", ".")
        monkeypatch.chdir(tmp_path / "home")
        if "pb.demo(" in request.node.dtest.docstring:
            request.getfixturevalue("small_demo")
