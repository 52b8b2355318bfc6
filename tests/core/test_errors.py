"""What an error says stays on one line that can be printed, whatever a broken file brought into
it.
"""

from __future__ import annotations

import pickle

import pytest

from positionbias.core.errors import InputError, PositionBiasError, SettingError, bad_input


def test_the_one_form_of_an_input_error() -> None:
    error = bad_input("a.tsv", line=3, wanted="a tab", found="none", do="fix it")
    assert str(error) == "a.tsv:3: wanted a tab; found none; fix it"
    # our own; as a worker sends it
    assert type(pickle.loads(pickle.dumps(error))) is InputError  # noqa: S301
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb\r\nc", r"a\nb\r\nc"),
        ("a\0b\x1b[2J", r"a\x00b\x1b[2J"),
        ("\x85\u2028", r"\x85\u2028"),
        ("half \ud83d", r"half \ud83d"),
        ("東京 Zur Brücke\u3000\u00a0", "東京 Zur Brücke\u3000\u00a0"),
        (r"C:\new", r"C:\new"),
    ],
    ids=["line breaks", "controls", "other line breaks", "half a pair", "text", "a backslash"],
)
def test_every_message_can_be_printed_on_one_line(given: str, shown: str) -> None:
    for kind in (PositionBiasError, SettingError):
        assert str(kind(given)) == shown


def test_a_long_message_keeps_its_place_and_what_to_do() -> None:
    text = str(
        bad_input(
            "qrels.txt",
            line=7,
            wanted="a grade",
            found=repr("x" * 40_000),
            do="fix or drop the line",
        )
    )
    assert text.startswith("qrels.txt:7: wanted a grade; found 'xxx")
    assert text.endswith("xxx'; fix or drop the line")
    assert len(text) == 800 + 3 + 400
