"""The tables of README and docs are those that the kept numbers give, and every number can be traced."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
        assert script.with_tables(text) == text, f"{page.name}: run python figures/kept_numbers.py tables"
    assert marked == len(script.TABLES)


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
            assert row["kind"] not in ("finding", "examples")
            assert not {"query_ids", "values"} & row["payload"].keys()
