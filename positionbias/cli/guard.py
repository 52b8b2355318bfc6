"""What a command writes is never what it reads, nor in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import click

from positionbias.core.errors import SettingError

__all__ = ["guarded", "output_place", "refuse_inputs"]

_OUTPUTS = {"all_swaps", "judge_next", "junit", "out", "plot", "summary", "tables"}
_NO_PATHS = {"configuration", "name", "split", "splits", "title", "validation_split"}


def output_place(out: str) -> Path:
    """The path that ``--out`` means: a plain name (no separator, no dot) lands under $POSBIAS_HOME."""
    if Path(out).name == out and "." not in out:
        from positionbias.core.files import home

        return home() / out
    return Path(out)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Check before the command runs."""

    @wraps(command)
    def checked(*given: Any, **named: Any) -> Any:
        refuse_inputs()
        return command(*given, **named)

    return checked


def refuse_inputs() -> None:
    """Compare every output of the command that runs with everything that it was given to read.

    Raises:
        SettingError: an output is an input, a folder that holds one, or a place in an artefact that is one.
    """
    context = click.get_current_context()
    inputs = list(_inputs(context))
    for name in _OUTPUTS & context.params.keys():
        if not isinstance(value := context.params[name], str):
            continue
        for place in _places(value) or [output_place(value)]:
            for text, given in inputs:
                if problem := _meets(place, given):
                    flag = f"--{name.replace('_', '-')}"
                    raise SettingError(
                        f"{flag}: wanted a place apart from what is read; found {value}, {problem} {text}; give another"
                    )


def _inputs(context: click.Context) -> Iterator[tuple[str, Path]]:
    """What the command reads that is there, as it was given and as a path."""
    for param in context.command.params:
        if param.name is None or param.name in _OUTPUTS | _NO_PATHS or param.metavar == "SPLIT":
            continue
        for text in _texts(context.params.get(param.name)):
            yield from ((text, place) for part in (text, text.partition("=")[2]) for place in _places(part))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)


def _places(text: str) -> list[Path]:
    """The paths that an argument may mean, as far as they are there."""
    return [place for place in dict.fromkeys((Path(text), output_place(text))) if text and os.path.exists(place)]


def _meets(place: Path, given: Path) -> str:
    """How an output touches an input, in words; empty if it does not."""
    from positionbias.core.seal import MANIFEST

    if os.path.exists(place) and os.path.samefile(place, given):
        return "which is the input"
    if given.resolve() in place.resolve().parents and (given / MANIFEST).is_file():
        return "which stands in the input"
    if place.is_dir() and not place.is_symlink() and place.resolve() in given.resolve().parents:
        return "which holds the input"
    return ""
