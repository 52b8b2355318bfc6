"""Benchmarks' tables are read as numbers, and those that are kept are those of
``benchmarks/results``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / "figures"))
    import benchmark_numbers

    yield benchmark_numbers
    sys.path.remove(str(ROOT / "figures"))


PAGE = """# Title

| system | share | change | clean | clean |
|---|---:|---|---|---|
| 10 × 7 | 15.5% | -0.02 [-0.05, +0.01] | 1 of 27 [0.00, 0.19] | |

## Section

| |Δ| < 0.05 | pairs | none |
| --- | --- | --- |
| 1,234 | 6e-07 | cannot tell |
"""


def test_cells_become_numbers(script):
    first, second = script.read_tables(PAGE)
    assert first == {
        "section": "Title",
        "heads": ["system", "share", "change", "clean", "clean (2)"],
        "rows": [["10 × 7", 0.155, [-0.02, -0.05, 0.01], [1, 27, 0.0, 0.19], ""]],
    }
    assert second == {
        "section": "Section",
        "heads": ["|Δ| < 0.05", "pairs", "none"],
        "rows": [[1234, 6e-07, "cannot tell"]],
    }


def test_cells_are_told(script):
    assert script.told([-0.02, -0.05, 0.0049], "+.2f") == "−0.02 [−0.05, 0.00]"
    assert script.told([0.155, 0.1, 0.2], ".1%") == "15.5\xa0% [10.0, 20.0]"
    assert script.told([1, 27, 0.0, 0.19], ".0f", "{} of {}") == "1 of 27"
    assert script.told(1234) == "1,234"
    assert script.told("cannot tell", ".3f") == "cannot tell"


def test_a_row_is_found_once(script):
    found = [{"a": 1, "b": "x"}, {"a": [7, 30], "b": "x"}]
    assert script.find(found, {"a": [7, 30]}) is found[1]
    for wanted in ({"b": "x"}, {"a": 2}):
        with pytest.raises(ValueError, match="unpack"):
            script.find(found, wanted)


def test_kept_numbers_are_those_of_the_results(script):
    kept = sorted(script.FOLDER.glob("*.json"))
    assert kept
    for path in kept:
        record = json.loads(path.read_text("utf-8"))
        text = (ROOT / record["source"]).read_text("utf-8")
        assert record["tables"] == script.read_tables(text), (
            f"run python figures/kept_numbers.py benchmark {path.stem} {record['source']}"
        )
        assert record["command"] in text
        assert len(record["commit"]) == 40


def test_results_without_a_command_are_refused(script):
    with pytest.raises(ValueError, match="python benchmarks/"):
        script.keep("none", ROOT / "README.md")
