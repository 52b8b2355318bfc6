"""Keep control characters out of printed text: a name in somebody's file must not move a terminal's
cursor or set its title.

All text goes through the guarded standard streams; JSON is escaped so that it reads back equal.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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
