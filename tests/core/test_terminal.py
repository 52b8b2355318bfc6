"""Text for people holds no control characters; JSON with them escaped reads back equal."""

from __future__ import annotations

import io
import json
import sys

import pytest

from positionbias.core.terminal import (
    PLAIN,
    guard_streams,
    guarded_streams,
    json_line,
    neutral,
    unguarded,
)

EVIL = "run\x1b]0;owned\x07\x9b2J\r\x7f\u202e\u2028"


def test_what_cannot_be_printed_is_escaped() -> None:
    assert neutral(EVIL) == r"run\x1b]0;owned\x07\x9b2J\r\x7f\u202e\u2028"
    for text in ("a\tb\nc\n", "東京 Zur Brücke\u3000\u00a0", ""):
        assert neutral(text) == text


def test_json_is_printable_and_reads_back_equal() -> None:
    document = {EVIL: [EVIL, "東京 \U000e0001", 1.5]}
    line = json_line(document)
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert "東京" in line
    assert json.loads(line) == document


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", None])
def test_json_reads_back_equal_from_a_stream_of_any_encoding(encoding: str | None) -> None:
    document = {"été": ["± 0.1\u00a0%", "😀 東京", EVIL]}
    line = json_line(document, encoding)
    assert json.loads(line.encode(encoding or "utf-8").decode(encoding or "utf-8")) == document


def test_our_signs_are_plain_where_the_encoding_lacks_them() -> None:
    assert (
        "a ─ −0.1\u00a0± 0.2 → é 😀".encode("ascii", PLAIN)
        == rb"a - -0.1 +- 0.2 -> \xe9 \U0001f600"
    )
    assert "a ─ −0.1\u00a0± é".encode("latin-1", PLAIN) == b"a - -0.1\xa0\xb1 \xe9"


def test_guarded_streams_write_neutral_text_and_give_back_what_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    guard_streams()
    guarded = sys.stdout
    guard_streams()
    assert sys.stdout is guarded
    assert sys.stdout.write(EVIL) == len(EVIL)
    sys.stderr.writelines([EVIL, "\n"])
    sys.stdout.flush()
    sys.stdout.buffer.write(EVIL.encode())  # no terminal: data stays as it is
    sys.stdout.buffer.flush()
    assert out.buffer.getvalue().decode() == neutral(EVIL) + EVIL  # type: ignore[attr-defined]
    assert err.getvalue() == neutral(EVIL) + "\n"
    assert unguarded(sys.stdout) is out
    taken = io.StringIO()
    sys.stdout = taken
    with guarded_streams():
        sys.stdout.write(EVIL)
    assert sys.stdout is taken
    assert taken.getvalue() == neutral(EVIL)
