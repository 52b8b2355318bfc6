"""Resolve the names and paths that users give, and refuse outputs that would overwrite inputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from positionbias.core.errors import InputError, SettingError, check_type

__all__ = ["Place", "check_place", "input_place", "model_place", "output_place", "refuse_inputs", "replaced_file"]

Place: TypeAlias = str | Path


def check_place(place: object, name: str = "") -> None:
    """Refuse what is no place; ``name`` is the argument's.

    Raises:
        InputError: it is no text or path.
    """
    check_type(name or "path", place, str | Path, "a text or path")


def output_place(out: Place) -> Path:
    """Return the path of an output: a plain name (no separator, no dot) goes under $POSBIAS_HOME.

    Raises:
        InputError: it is no text or path.
    """
    check_place(out)
    if isinstance(out, str) and Path(out).name == out and "." not in out:
        from positionbias.core.files import home

        return home() / out
    return Path(out)


def replaced_file(flag: str, file: Place) -> Path:
    """Return the path of a file to write, where one that is there is replaced; a link's target, not the link.

    Raises:
        SettingError: no such folder, one that may not be written to, or a folder in the file's place.
    """
    place, told = Path(file).resolve(), f"{flag} {file}"
    if not place.parent.is_dir():
        raise SettingError(f"{told}: wanted a folder that exists; found none at {place.parent}; make it first")
    if place.exists() and not place.is_file():
        raise SettingError(f"{told}: wanted a file; found a folder or device; name a file")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise SettingError(f"{told}: wanted a folder to write to; found no permission for {place.parent}; give another")
    return place


def input_place(name: Place, *, flag: str = "") -> Path:
    """Return the path of an input: as given where it exists, else a plain name under $POSBIAS_HOME.

    Raises:
        InputError: it is no text or path; or neither exists, and ``flag`` was given; the message names it.
    """
    from positionbias.core.publish import recover

    check_place(name, flag)
    for place in (Path(name), output_place(name)):
        recover(place)
    place = Path(name) if Path(name).exists() else output_place(name)
    if flag and not place.exists():
        raise InputError(f"{flag}: wanted a path to read; found nothing at {name}; check it")
    return place


def model_place(name: Place) -> Path | str:
    """Resolve a model's name: a folder as ``input_place`` finds it, else the name itself, which may be a hub id or ``minilm``."""
    place = input_place(name)
    return place if place.exists() else str(name)


def refuse_inputs(outputs: Mapping[str, object], inputs: Iterable[object]) -> None:
    """Compare every output, by its flag, with everything that is read.

    Raises:
        SettingError: an output is an input, a folder that holds one, or a place in a folder that is one, but for the working
            directory and those around it.
    """
    read = [(text, place) for given in inputs for text in _texts(given) for place in _places(text)]
    for flag, value in outputs.items():
        for written in _texts(value):
            for place in _places(written) or [output_place(written)]:
                for text, given in read:
                    if problem := _meets(place, given):
                        raise SettingError(
                            f"{flag}: wanted a place apart from what is read; found {written}, {problem} {text}; give another"
                        )


def _texts(value: Any) -> Iterator[str]:
    """Yield all names and paths in a value; of NAME=PATH both the whole and the path."""
    if type(value) in (tuple, list):  # a list of judgements has no places
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str | Path) or hasattr(value, "path"):
        text = str(getattr(value, "path", value))
        yield from filter(None, (text, text.partition("=")[2]))


def _places(text: str) -> list[Path]:
    """Return the existing paths that an argument may mean."""
    return [place for place in dict.fromkeys((Path(text), output_place(text))) if os.path.exists(place)]


def _meets(place: Path, given: Path) -> str:
    """Describe how an output touches an input; empty if it does not."""
    from positionbias.core.seal import MANIFEST

    if os.path.exists(place) and os.path.samefile(place, given):
        return "which is the input"
    around = given.resolve()
    working = around in (here := Path.cwd().resolve(), *here.parents)  # where one works is no input of its own
    if around in place.resolve().parents and ((given / MANIFEST).is_file() or not working):
        return "which stands in the input"
    if place.is_dir() and not place.is_symlink() and place.resolve() in given.resolve().parents:
        return "which holds the input"
    return ""
