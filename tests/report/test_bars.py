"""Charts of text: lengths and heights by hand, ASCII where the encoding has no blocks, and nothing
wider than the terminal.
"""

from __future__ import annotations

import io
import sys

import pytest

from positionbias.core.screen import lines_of
from positionbias.report.bars import Bar, area, bars, spark


def test_bars_are_on_the_scale_of_the_longest_and_marked() -> None:
    with lines_of(80):
        # names of 1, texts of 2, 4 between: 60 columns at most for 4
        lines = bars([Bar("a", 4, 2, "4"), Bar("b", 1.01, 0, "1"), Bar("c", 0, 4, "10")])
    assert lines[0] == "a  " + "█" * 30 + "┃" + "█" * 29 + "   4"
    # 60 × 1.01 / 4 = 15.15: 15 and an eighth
    assert lines[1] == "b  ┃" + "█" * 14 + "▏" + " " * 44 + "   1"
    assert lines[2] == "c  " + " " * 59 + "┃  10"


def test_a_curve_has_its_ends_at_its_side() -> None:
    with lines_of(80):
        # 5 lines of 8 steps: 0 is the first of 40, 1 the last, ½ is 1 + 39 / 2 = 20.5, rounded to
        # 20 even: two lines and a half
        assert area([0.0, 0.5, 1.0]) == [
            "1.000 │  █",
            "      │  █",
            "      │ ▅█",
            "      │ ██",
            "0.000 │▁██",
        ]
    assert area([None, None]) == []
    assert area([]) == []


def test_a_line_is_a_curve_too() -> None:
    assert spark([0.0, 1.0, 2.0, None, 7.0]) == "▁▂▃ █"
    assert spark([1.0, 1.0]) == "▁▁"
    # the second of 7 steps of 8 is half up them: 3.5, rounded to 4 even
    assert spark([0.0, 0.5], (0.0, 1.0)) == "▁▅"
    assert spark([]) == ""
    assert len(spark([float(n) for n in range(1000)])) == 60


@pytest.mark.parametrize("width", [80, 100])
def test_charts_fit(width: int) -> None:
    with lines_of(width):
        assert (
            max(map(len, bars([Bar("a name of thirty-two characters.", 1, 1, "100.0 %")]))) <= width
        )
        assert max(map(len, area([n**0.5 for n in range(5000)]))) <= width


def test_ascii_where_the_encoding_has_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    drawn = [
        *bars([Bar("a", 4, 2, "4"), Bar("b", 1, 2, "1")]),
        *area([0.0, 0.5, 1.0]),
        spark([1.0, 2.0]),
    ]
    assert all(line.isascii() for line in drawn)
    assert drawn[1].count("#") == 15
