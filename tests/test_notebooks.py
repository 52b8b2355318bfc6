"""The notebooks of ``docs/notebooks`` run, and find what is known to be true of their data; none
calls a shell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "docs" / "notebooks"
TRUE = {
    "find-bias-in-my-data": ["Mean position", "image/png"],
    "audit-my-embedding-model": [
        "minilm prefers the front: end",
        "counts_words: no preference: its scores do not change when the answer moves",
    ],
    # by its name, or "front, not finished"
    "train-with-and-without": ["prefers the front: end", "image/png"],
    "audit-a-golden-set": [
        "minilm prefers the front: end",
        "minilm scores each passage by itself",
        "of moving the sentence chosen by query terms",
    ],
    "leakage-of-my-training-set": ["30 of 330 test queries", "0 of 330 test queries"],
    "can-this-collection-judge-my-run": ["new cannot be judged yet by nDCG@10", "as judged"],
}
# What takes a minute and more, smaller: collections, trainings and audits of a few questions.
TOWNS = ("Belmarch", "Yarrowby", "Dunsel", "Perrin", "Halloway", "Quenby")
OTHER_TOWNS = "".join(f'    "{town}",\n' for town in TOWNS)
SMALLER = {
    "queries=4_000": "queries=800",
    "passages=16_000": "passages=3_200",
    "max_steps=600, validate_every=100": "max_steps=60, validate_every=60, batch_size=16",
    "needles=150": "needles=40",
    "queries=150": "queries=40",
    OTHER_TOWNS: "",
    "depth=20)": "depth=3)",
    'depth=20, evidence="terms"': 'depth=3, evidence="terms"',
}


def test_these_are_the_notebooks() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(TRUE)


def test_what_is_made_smaller_is_there() -> None:
    said = "".join(
        cell.source
        for path in NOTEBOOKS.glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
    )
    assert [large for large in SMALLER if large not in said] == []


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """A kernel for all notebooks, which loads the libraries once."""
    started = KernelManager()
    started.start_kernel(cwd=str(tmp_path_factory.mktemp("notebooks")))
    yield started
    started.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", TRUE)
def test_a_notebook_runs_and_finds_what_is_true(name: str, kernel: KernelManager) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        assert "\n!" not in f"\n{cell.source}", "calls the shell"
        assert "subprocess" not in cell.source
        assert cell.outputs == [] or cell.execution_count, "an output of no run"
        cell["outputs"] = []
        for large, small in SMALLER.items():
            cell["source"] = cell.source.replace(large, small)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))  # the names of another
    client = NotebookClient(notebook, km=kernel, timeout=300)
    try:
        client.execute(cleanup_kc=False)
    finally:
        client.kc.stop_channels()
    shown = json.dumps([output for cell in code for output in cell.outputs])
    for line in TRUE[name]:
        assert line in shown
