"""Wrap printed text to the width of a line, and keep control characters out of it: a name in
somebody's file must not move a terminal's cursor or set its title.

All text goes through the guarded standard streams; JSON is escaped so that it reads back equal.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

from positionbias.core.errors import escaped


def neutral(text: str) -> str:
    """Escape unprintable characters, except line breaks and tabs.

    >>> print(neutral("run\\x1b]0;title\\x07"))
    run\\x1b]0;title\\x07
    """
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else escaped(c) for c in text)


def json_line(document: Any, encoding: str | None = "utf-8") -> str:
    """Return a document as one printable line of JSON, which reads back equal; what an encoding
    cannot hold is escaped.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeError, LookupError):
        text = json.dumps(document, allow_nan=False)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return f"{text}\n"


# what our own text has beyond ASCII, for streams that cannot write it; other characters are escaped
_PLAIN = {
    "\u00a0": " ",
    "−": "-",
    "–": "-",
    "─": "-",
    "±": "+-",
    "→": "->",
    "…": "...",
    "·": "-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
}


def _in_plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(
        _PLAIN.get(char) or char.encode("ascii", "backslashreplace").decode() for char in found
    ), error.end


codecs.register_error(PLAIN := "posbias.plain", _in_plain)


class _Guarded:
    """A text stream that writes ``neutral`` text, on a terminal also through its byte buffer.
    Everything else is passed on to the stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unguarded: TextIO = getattr(stream, "unguarded", stream)
        self._stream = stream
        self.buffer = _Decoded(self) if stream.isatty() else getattr(stream, "buffer", None)

    def write(self, text: str) -> int:
        self._stream.write(neutral(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Decoded(io.RawIOBase):
    def __init__(self, text: _Guarded) -> None:
        self._text = text
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._text.flush()


def to_person(text: str) -> None:
    """Write a line to standard error, and flush it."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream itself, for writing control characters on purpose, as a progress bar
    does.
    """
    return getattr(stream, "unguarded", stream)


def guard_streams() -> None:
    """Guard standard output and standard error of this process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, cast(TextIO, _Guarded(stream)))


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guard the standard streams while something else has replaced them."""
    before = sys.stdout, sys.stderr
    guard_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


LEAST, PIPED = 80, 100  # columns: the fewest that output is made for, and those of a pipe or a file
_given: ContextVar[tuple[int | None] | None] = ContextVar("line width", default=None)
_SPACE = re.compile(" (?!%)")  # no line begins with a per-cent sign
# a command to paste, up to the next clause, and a quoted path or name
_WHOLE = re.compile(r"""(?<![\w'"-])posbias (?:'[^']*'|[^;'])*|(?<!\S)'[^']*'(?:"'"'[^']*')*""")
_HELD = "\0"  # stands for a space at which no line ends
# in a word that is too long: never within a number
_BREAKS = re.compile(r"(?<=[-/_:,])(?=[^\W\d_])|(?<=/)")


def line_width(stream: TextIO | None = None, *, piped: int | None = PIPED) -> int | None:
    """Return the columns of a line on standard output or another stream: ``COLUMNS`` or its
    terminal's, at least 80; else ``piped``. None: no limit.
    """
    if (given := _given.get()) is not None:
        return given[0]
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(LEAST, int(columns))
    stream = stream or sys.stdout
    try:
        return (
            max(LEAST, os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else piped
        )
    except (AttributeError, OSError, ValueError):  # no stream, or one that is no file
        return piped


@contextmanager
def lines_of(width: int | None) -> Iterator[None]:
    """Print lines of this width meanwhile; None: of any."""
    before = _given.set((width,))
    try:
        yield
    finally:
        _given.reset(before)


def encodable(text: str) -> bool:
    """Return whether standard output can write these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


def shown_width(text: str) -> int:
    """Return the columns that a text takes in a terminal.

    >>> shown_width("日本"), shown_width("e\u0301")
    (4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    return (
        2
        if unicodedata.east_asian_width(char) in "WF"
        else 0
        if unicodedata.category(char) in ("Mn", "Me")
        else 1
    )


def words_of(text: str) -> list[str]:
    """Return what stays together: words, and a number with its per-cent sign."""
    return _SPACE.split(text)


def wrap(text: str, width: int, *, split_words: bool = True) -> list[str]:
    """Return the lines of a text wrapped by words, but not at a fixed space; a longer word is split
    behind a hyphen, slash or the like, or stays whole.

    >>> wrap("a run of 12 queries, bm25-with-feedback", 12)
    ['a run of 12', 'queries,', 'bm25-with-', 'feedback']
    """
    lines, line = [], ""
    for word in words_of(text):
        joined = f"{line} {word}" if line else word
        if shown_width(joined) <= width:
            line = joined
            continue
        lines += [line] if line else []
        *full, line = _split_word(word, width) if split_words else [word]
        lines += full
    return [*lines, line]


def _split_word(word: str, width: int) -> list[str]:
    """Return a word in parts that fit: at its hyphens and the like, else anywhere."""
    lines = [""]
    for part in _BREAKS.split(word) if shown_width(word) > width else [word]:
        if shown_width(lines[-1] + part) <= width:
            lines[-1] += part
            continue
        lines += [""] if lines[-1] else []
        for char in part:
            lines += [""] if shown_width(lines[-1] + char) > width and lines[-1] else []
            lines[-1] += char
    return lines


def wrapped(text: str) -> str:
    """Return a text whose longer lines are wrapped to the width of printed lines; what follows is
    indented as its line, by two more in a list.
    """
    width = line_width()
    return (
        text
        if width is None
        else "\n".join(part for line in text.split("\n") for part in _wrapped(line, width))
    )


def _wrapped(line: str, width: int) -> list[str]:
    if shown_width(line) <= width:
        return [line]
    words = line.lstrip(" ")
    indent = min(len(line) - len(words), width // 2)
    more = indent + 2 if indent or words.startswith("- ") else 0
    first = wrap(words, width - indent)[0]
    rest = wrap(words[len(first) :].lstrip(" "), width - more)
    return [" " * indent + first, *(" " * more + part for part in rest)]


def message(text: str) -> str:
    """Return a message for standard error, wrapped to its terminal by ``whole``; a log has it on
    one line.

    >>> with lines_of(40):
    ...     print(message("written to 'a b/c'; look at it with: posbias collection show 'a b/c'"))
    written to 'a b/c'; look at it with:
    posbias collection show 'a b/c'
    """
    return whole(text, line_width(sys.stderr, piped=None))


def whole(text: str, width: int | None) -> str:
    """Return a text whose longer lines are wrapped by words. Paths, quoted names and commands to
    paste stay whole, however long.
    """
    if width is None:
        return text
    return "\n".join(
        part.replace(_HELD, " ") for line in text.split("\n") for part in _by_words(line, width)
    )


def _by_words(line: str, width: int) -> list[str]:
    if shown_width(line) <= width:
        return [line]
    words = line.lstrip(" ")
    indent = " " * (len(line) - len(words))
    held = _WHOLE.sub(lambda found: found[0].replace(" ", _HELD), words)
    return [f"{indent}{part}" for part in wrap(held, width - len(indent), split_words=False)]
