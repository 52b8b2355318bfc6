"""The exception tree. Every message says what was wanted, what was found, and what to do."""

from __future__ import annotations

import traceback
from pathlib import Path

__all__ = [
    "DependencyError",
    "InputError",
    "OutputExistsError",
    "PositionBiasError",
    "SettingError",
    "StorageError",
    "bad_input",
    "escaped",
    "printable",
    "where_raised",
]


_BREAKS = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_LONGEST = 1_200  # characters


class PositionBiasError(Exception):
    """Base of every error this package raises on purpose; the command line prints it as one line.

    Whatever a broken file brought into the message: it is printable, on one line, and not long.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """Return the text on one line: what cannot be printed is escaped, and the middle of a long text left out."""
    if len(text) > _LONGEST:
        text = f"{text[: 2 * _LONGEST // 3]} … {text[-_LONGEST // 3 :]}"  # what to do stands at the end
    return text if text.isprintable() else "".join(c if c.isprintable() else escaped(c) for c in text)


def escaped(character: str) -> str:
    """Return a character that cannot be printed as its escape; wide and fixed spaces stay."""
    return character if character.isspace() and character not in _BREAKS else character.encode("unicode_escape").decode()


class InputError(PositionBiasError):
    """A file, folder or record that cannot be used as given."""


class SettingError(PositionBiasError):
    """A setting outside its range; the message names the flag."""


class OutputExistsError(PositionBiasError):
    """The place to write to is taken."""


class StorageError(PositionBiasError):
    """The file system refused: no space, no permission, no such folder."""


class DependencyError(PositionBiasError):
    """An optional package is missing; the message names the extra that brings it."""


def bad_input(path: Path | str, *, wanted: str, found: str, do: str, line: int | None = None) -> InputError:
    """The one form of an input error: ``path:line: wanted …; found …; do this``."""
    place = f"{path}:{line}" if line is not None else f"{path}"
    return InputError(f"{place}: wanted {wanted}; found {found}; {do}")


def where_raised(error: BaseException) -> str:
    """An error of code that is not ours in a few words, with the line that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    placed = frames and not isinstance(error, SyntaxError)  # which says for itself where it is
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if placed else ""
    return f"with {type(error).__name__}{place}: {str(error).strip() or 'no message'}"
