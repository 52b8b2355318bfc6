"""The width of printed lines, and text wrapped to it."""

from __future__ import annotations

import io
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.terminal import line_width, lines_of, message, shown_width, wrap, wrapped


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("columns", "terminal", "width"),
    [
        ("", None, 100),
        ("120", None, 120),
        ("40", None, 80),
        ("0", None, 100),
        ("wide", None, 100),
        ("", 132, 132),
        ("", 20, 80),
        ("90", 132, 90),
    ],
)
def test_the_width_is_that_of_columns_or_the_terminal(
    columns: str, terminal: int | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    monkeypatch.setattr(
        os, "get_terminal_size", lambda descriptor: os.terminal_size((terminal or 1, 24))
    )
    assert line_width() == width
    with lines_of(None):
        assert line_width() is None
        with lines_of(90):
            assert line_width() == 90
    assert line_width() == width


def test_a_terminal_that_does_not_know_its_width_has_a_pipes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "")
    monkeypatch.setattr(sys, "stdout", None)
    assert line_width() == 100


def test_prose_is_wrapped_by_words_and_lists_are_indented() -> None:
    with lines_of(20):
        assert wrapped("one two three four five") == "one two three four\nfive"
        assert wrapped("- one two three four five") == "- one two three four\n  five"
        assert wrapped("  one two three four five") == "  one two three four\n    five"
        assert wrapped("a share of about 95 %.") == "a share of about\n95 %."
        assert wrapped("short\n\nlines stay") == "short\n\nlines stay"
        assert (
            wrapped("a mean of 0.421\u00a0[0.415,\u00a00.427]")
            == "a mean of\n0.421\u00a0[0.415,\u00a00.427]"
        )
    with lines_of(None):
        assert wrapped("one " * 100) == "one " * 100


def test_a_long_word_is_parted_at_its_slashes_and_hyphens_and_no_number_is() -> None:
    assert wrap("/home/somebody/runs/bm25.run", 12) == ["/home/", "somebody/", "runs/", "bm25.run"]
    # no hyphen before a digit is a place to part
    assert wrap("tk-rotated-2026-11-26", 12) == ["tk-", "rotated-2026", "-11-26"]
    assert wrap("日本語日本", 4) == ["日本", "語日", "本"]


@given(st.text(st.characters(exclude_characters="\n")), st.integers(4, 30))
def test_no_line_is_wider_and_no_character_but_spaces_is_lost(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(shown_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "written to a-long-name/of-a/run; next: posbias collection show x",
            ["written to a-long-name/of-a/run; next:", "posbias collection show x"],
        ),
        (
            "x: read from here; there is one at '/a b/c d e f g h'",
            ["x: read from here; there is one at", "'/a b/c d e f g h'"],
        ),
        (
            "one 'it'\"'\"'s here' and its manifest's kind, too",
            ["one 'it'\"'\"'s here' and its manifest's", "kind, too"],
        ),
        (
            "/a/path/that/is/longer/than/any/line/is/here says so",
            ["/a/path/that/is/longer/than/any/line/is/here", "says so"],
        ),
        (
            "    indented lines stay indented, all of them",
            ["    indented lines stay indented, all of", "    them"],
        ),
    ],
)
def test_messages_part_no_path_and_no_command(text: str, lines: list[str]) -> None:
    with lines_of(40):
        assert message(text).split("\n") == lines


def test_a_log_has_each_message_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert message("word " * 100) == "word " * 100
