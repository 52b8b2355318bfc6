"""The exception tree. Every message says what was wanted, what was found, and what to do."""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "DependencyError",
    "InputError",
    "OutputExistsError",
    "PositionBiasError",
    "SettingError",
    "StorageError",
    "bad_input",
]


class PositionBiasError(Exception):
    """Base of every error this package raises on purpose; the command line prints it as one line."""

    exit_code = 2


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
