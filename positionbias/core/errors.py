"""The exception hierarchy, and what messages say: what was wanted, what was found, and what to do.
That may be the known name that a mistyped one is closest to, or the extra to install.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import UnionType

_BREAKS = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_LONGEST = 1_200  # characters


class PositionBiasError(Exception):
    """Base class of this package's errors; the command line prints them as one line.

    The message is printable, short and on one line, whatever a broken file put into it.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


def message_of(error: BaseException) -> str:
    """Return the error's message, or that it has none that can be read."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def printable(text: str) -> str:
    """Return the text on one line, with unprintable characters escaped; a long one loses its
    middle.
    """
    if len(text) > _LONGEST:
        text = f"{text[: 2 * _LONGEST // 3]} … {text[-_LONGEST // 3 :]}"  # the end says what to do
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else escaped(c) for c in text)
    )


def escaped(character: str) -> str:
    """Escape an unprintable character; wide and fixed spaces stay."""
    return (
        character
        if character.isspace() and character not in _BREAKS
        else character.encode("unicode_escape").decode()
    )


class InputError(PositionBiasError):
    """A file, folder or record that cannot be used as given."""


class TextError(InputError):
    """A text that a model cannot use; who knows its id names it (``naming_text``)."""

    def __init__(self, message: str = "", text: str = "") -> None:
        super().__init__(message)
        self.text = text


@contextmanager
def naming_text(kind: str, texts: Callable[[], Iterable[tuple[str, str]]]) -> Iterator[None]:
    """Name the text of a ``TextError`` by its id, among (id, text) pairs; ``kind`` is "passage" or
    "query".
    """
    try:
        yield
    except TextError as error:
        named = next((name for name, text in texts() if text == error.text), None)
        if named is None:
            raise
        raise InputError(f"{kind} {named!r}: {error}") from error


class SettingError(PositionBiasError):
    """A setting outside its range; the message names the flag."""


class OutputExistsError(PositionBiasError):
    """The output path is taken."""


class StorageError(PositionBiasError):
    """The file system refused: no space, no permission, no such folder."""


class DependencyError(PositionBiasError):
    """An optional package is missing; the message names the extra that installs it."""


def bad_input(
    path: Path | str, *, wanted: str, found: str, do: str, line: int | None = None
) -> InputError:
    """Return an input error in the standard form: ``path:line: wanted …; found …; do this``."""
    place = f"{path}:{line}" if line is not None else f"{path}"
    return InputError(f"{place}: wanted {wanted}; found {found}; {do}")


def check_type(name: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """Refuse an argument of the wrong type, as Python can pass; True and False are not numbers.

    Raises:
        InputError: ``value`` is of another type.

    >>> check_type("load", 5, str | Path, "a text or path")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.InputError: load: wanted a text or path; found 5; give one
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{name}: wanted {wanted}; found {value!r}; give one")


def where_raised(error: BaseException) -> str:
    """Summarise an error from foreign code, with the line that raised it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    placed = frames and not isinstance(error, SyntaxError)  # a SyntaxError gives its own position
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if placed else ""
    return f"{type(error).__name__}{place}: {str(error).strip() or 'no message'}"


_LEAST = 0.7  # of difflib's ratio: below it, names are rarely meant


def closest(found: object, known: Iterable[str]) -> str:
    """Return the name most like ``found``, without regard to case; empty where none is like it.

    >>> (
    ...     closest("qurey", ["query", "passage"]),
    ...     closest("NDCG", ["nDCG", "RR"]),
    ...     closest("x", ["query"]),
    ... )
    ('query', 'nDCG', '')
    """
    by_fold = {_folded(name): name for name in known}
    near = get_close_matches(_folded(str(found)), by_fold, n=1, cutoff=_LEAST)
    return by_fold[near[0]] if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-").lstrip("-")


def or_closest(found: object, known: Iterable[str], do: str) -> str:
    """Return the end of an error: whether the closest name was meant, or where none is close what
    to do.

    >>> or_closest("qurey", ["query", "passage"], "pick one")
    'did you mean query?'
    """
    near = closest(found, known)
    return f"did you mean {near}?" if near else do


def near_file(path: Path | str, do: str) -> str:
    """Return the end of an error about a path that is not there: whether a neighbour of much the
    same name was meant, or what to do.
    """
    path = Path(path)
    try:
        there = [name for name in os.listdir(path.parent) if not name.startswith(".")]
    except OSError:
        return do
    if path.name in there:  # it is there, and something else is wrong
        return do
    near = closest(path.name, there)
    return f"did you mean {path.with_name(near)}?" if near else do


MODELS = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "accelerate",
    "threadpoolctl",
)


@contextmanager
def models_extra(needed_by: str = "models", instead: str = "") -> Iterator[None]:
    """Turn a failed import of a model package into an error that names the extra to install.

    ``needed_by`` names what needs it, ``instead`` what does without.

    Raises:
        DependencyError: a package of the extra ``models`` is missing.

    >>> with models_extra():
    ...     raise ModuleNotFoundError("No module named 'torch'", name="torch")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.DependencyError: models: wanted the package torch; found none; run: pip
        install 'positionbias[models]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in MODELS:
            raise
        raise _missing(error.name, needed_by, instead) from error


def check_models(needed_by: str) -> None:
    """Refuse long work that needs models where a package of them is not installed.

    Raises:
        DependencyError: one is not.
    """
    for name in MODELS:
        with models_extra(needed_by):
            if find_spec(name) is None:
                raise _missing(name, needed_by)


def _missing(name: str, needed_by: str, instead: str = "") -> DependencyError:
    return DependencyError(
        f"{needed_by}: wanted the package {name}; found none; run: pip install "
        f"'positionbias[models]'{instead and f', or {instead}'}"
    )
