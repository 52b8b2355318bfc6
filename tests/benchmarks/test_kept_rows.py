"""The tables of README and docs are those of the kept rows, and every row can be traced."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from positionbias.core.rows import read_csv, write_csv

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "figures" / "numbers"
MARKED = re.compile(r"<!-- table \w+ -->\n.*?<!-- end of table -->", re.DOTALL)
LINES = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
FEW = 4


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(ROOT / "figures"))
    import keep
    import tables

    yield keep, tables
    sys.path.remove(str(ROOT / "figures"))


def test_tables_are_those_of_the_rows(scripts):
    _, tables = scripts
    marked = []
    for page in tables.PAGES:
        text = page.read_text("utf-8")
        marked += re.findall(r"<!-- table (\w+) -->", text)
        assert tables.with_tables(text) == text, f"{page.name}: run python figures/tables.py"
    assert sorted(marked) == sorted(tables.TABLES)


def test_every_file_of_rows_has_a_command_and_a_commit():
    manifest = json.loads((NUMBERS / "manifest.json").read_text("utf-8"))
    assert sorted(manifest) == sorted(path.stem for path in NUMBERS.glob("*.csv"))
    for name, origin in manifest.items():
        assert len(read_csv(NUMBERS / f"{name}.csv"))  # which checks them
        assert origin["command"]
        assert re.fullmatch("[0-9a-f]{12,40}", origin["commit"])


def test_rows_of_benchmarks_are_those_of_their_tables(scripts, tmp_path):
    keep, _ = scripts
    manifest = json.loads((NUMBERS / "manifest.json").read_text("utf-8"))
    for name, origin in manifest.items():
        if "titles" in origin:
            text = (ROOT / origin["source"]).read_text("utf-8")
            write_csv(tmp_path / name, keep.framed(keep.rows_of_tables(text, origin["titles"])))
            assert (tmp_path / name).read_bytes() == (NUMBERS / f"{name}.csv").read_bytes(), name


def test_cells_become_numbers(scripts):
    keep, _ = scripts
    page = "## A\n\n| pools | x | y |\n|---|---|---|\n| all | 15.5% [10.0%, 20.0%], 50 | – |\n"
    page += "\n## B\n\n| | n | m |\n|---|---|---|\n| z | 1,234 | cannot tell |\n"
    base = {"subset": "B", "label": "z"}
    assert list(keep.rows_of_tables(page, [])) == [
        {
            "subset": "A",
            "pool": "all",
            "measure": "x",
            "value": 0.155,
            "low": 0.1,
            "high": 0.2,
            "count": 50,
        },
        {**base, "measure": "n", "value": 1234.0},
        {**base, "measure": "m", "answer": "cannot tell"},
    ]
    assert len(list(keep.rows_of_tables(page, ["B"]))) == 2


def measured(page: str) -> list[str]:
    """Return the headings of measured tables outside of markers.

    Four cells or more beside the first column begin with a number there; tables of options, formats
    and exit codes hold three such cells at most.
    """
    heads = []
    for table in LINES.findall(MARKED.sub("", page)):
        head, _, *lines = table.splitlines()
        cells = [cell for line in lines for cell in line.strip("| ").split("|")[1:]]
        if sum(cell.strip(" *+−-")[:1].isdigit() for cell in cells) >= FEW:
            heads.append(head)
    return heads


def test_no_measured_table_is_typed(scripts):
    _, tables = scripts
    for page in tables.PAGES:
        assert measured(page.read_text("utf-8")) == [], f"{page.name}: keep rows, declare a table"
    typed = (
        "| | nDCG@10 | change |\n|---|---|---|\n| a | 0.5 | +0.1 [0, 0.2] |\n| b | 0.6 | −0.1 |\n"
    )
    assert measured(typed) == ["| | nDCG@10 | change |"]
    assert measured(f"<!-- table a -->\n\n{typed}\n<!-- end of table -->\n") == []
