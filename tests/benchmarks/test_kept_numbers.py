"""The tables of README and docs are those that the kept numbers give, and every number can be
traced.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKED = re.compile(r"<!-- table \w+ -->\n.*?<!-- end of table -->", re.DOTALL)
ROWS = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
FEW = 4


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / "figures"))
    import kept_numbers

    yield kept_numbers
    sys.path.remove(str(ROOT / "figures"))


def test_tables_are_those_of_the_numbers(script):
    marked = 0
    for page in script.PAGES:
        text = page.read_text("utf-8")
        marked += text.count("<!-- table ")
        assert script.with_tables(text) == text, (
            f"{page.name}: run python figures/kept_numbers.py tables"
        )
    assert marked == len(script.TABLES)


def measured(page: str) -> list[str]:
    """The first lines of tables outside of markers that hold measurements: four cells or more,
    beside the first column, begin with a number.

    Tables of options, formats and exit codes hold three such cells at most.
    """
    found = []
    for table in ROWS.findall(MARKED.sub("", page)):
        head, _, *rows = table.splitlines()
        cells = [cell.strip(" *+−-") for row in rows for cell in row.strip("| ").split("|")[1:]]
        if sum(cell[:1].isdigit() for cell in cells) >= FEW:
            found.append(head)
    return found


def test_no_measured_table_is_typed(script):
    for page in script.PAGES:
        assert measured(page.read_text("utf-8")) == [], (
            f"{page.name}: keep these numbers and declare the table in figures/"
        )


def test_a_typed_table_is_found():
    typed = (
        "| | nDCG@10 | change |\n|---|---|---|\n| one | 0.5 | +0.1 [0.0, 0.2] |\n| two | **0.6** | "
        "−0.1 |\n"
    )
    codes = (
        "| code | meaning |\n|---|---|\n| 0 | passes |\n| 1 | a limit fails |\n| 2 | bad input |\n"
        "| 70 | a bug |\n"
    )
    assert measured(typed) == ["| | nDCG@10 | change |"]
    assert measured(f"{codes}\ntext\n\n{typed}") == ["| | nDCG@10 | change |"]
    assert (
        measured(codes) == measured(f"<!-- table one -->\n\n{typed}\n<!-- end of table -->\n") == []
    )


def test_a_changed_number_is_made_anew(script):
    page = "before\n<!-- table audits -->\n\n| typed | by hand |\n\n<!-- end of table -->\nafter\n"
    made = script.with_tables(page)
    assert "typed" not in made
    assert made.startswith("before\n<!-- table audits -->\n\n| audited |")
    assert made.endswith("|\n\n<!-- end of table -->\nafter\n")
    assert script.with_tables(made) == made


def test_numbers_say_where_they_come_from_and_hold_no_values_of_queries():
    found = sorted((ROOT / "figures" / "numbers").glob("*.json"))
    assert found
    for path in found:
        record = json.loads(path.read_text("utf-8"))
        assert record["command"]
        assert len(record["commit"]) == 40
        assert path.stat().st_size < 200_000
        for row in record["results"]:
            assert row["kind"] != "finding"
            assert not {"query_ids", "values"} & row["payload"].keys()
