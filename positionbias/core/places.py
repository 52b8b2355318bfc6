"""Resolve the names and paths that users give, and refuse outputs that would overwrite inputs.

An output is a path like any other: a relative one starts at the current directory. What is written
without --out goes under $POSBIAS_HOME. What is read is looked for in the current directory, then
under $POSBIAS_HOME.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from positionbias.core.errors import InputError, SettingError, bad_input, check_type, near_file
from positionbias.core.files import home
from positionbias.core.progress import remark
from positionbias.core.publish import recover
from positionbias.core.seal import MANIFEST
from positionbias.core.settings import flag_of

Place: TypeAlias = str | Path
S = TypeVar("S")


def check_place(place: object, name: str = "") -> None:
    """Refuse what is no place; ``name`` is the argument's.

    Raises:
        InputError: it is no text or path.
    """
    check_type(name or "path", place, str | Path, "a text or path")


def output_place(out: Place) -> Path:
    """Return the path of an output that was given.

    Raises:
        InputError: it is no text or path, an address, or begins with a ``~`` that no shell has
            expanded.
    """
    check_place(out)
    if "://" in str(out):
        raise InputError(
            f"{out}: an output is a path on this machine; write it there, and copy it to the "
            "address"
        )
    if Path(out).parts[:1] == ("~",):
        raise bad_input(
            out, wanted="a path", found="a ~ that the shell left as it is", do="write $HOME instead"
        )
    return Path(out)


def home_place(name: str) -> Path:
    """Return the path of an output that no --out names: its own name, under $POSBIAS_HOME."""
    return home() / name


def places_of(name: Place) -> tuple[Path, ...]:
    """Return the paths that an input may mean, the first one first: as given, and a relative one
    under $POSBIAS_HOME.

    ``./NAME`` and ``../NAME`` are looked for where they say, and nowhere else.
    """
    given = Path(name)
    if not str(name) or str(name).startswith(".") or given.is_absolute() or ".." in given.parts:
        return (given,)
    return (given, home_place(str(given)))


def input_place(name: Place, *, flag: str = "") -> Path:
    """Return the path of an input: in the current directory, else under $POSBIAS_HOME; where it is
    in neither, as given.

    Raises:
        InputError: it is no text or path; or it is in neither, and ``flag`` was given; the message
            names it.
    """
    check_place(name, flag)
    places = places_of(name)
    for place in places:
        recover(place)
    there = [place for place in places if place.exists()]
    if flag and not there:
        raise InputError(
            f"{flag}: wanted a path to read; found nothing at {name}; {near_file(name, 'check it')}"
        )
    return first_place(name, there) if there else places[0]


def first_place(name: Place, there: Sequence[Path]) -> Path:
    """Return the first of the places that an input stands at, and say so where another stands under
    $POSBIAS_HOME.
    """
    first, *others = there
    if others and not first.samefile(others[0]):
        remark(f"{name}: read from the current directory; there is another at {others[0]}")
    return first


def shown_place(place: Place) -> str:
    """Return a path as a user would give it: from the current directory down, by its name under
    $POSBIAS_HOME, else absolute.
    """
    path, here = Path(os.path.normpath(Path(place).absolute())), Path.cwd()
    if path.is_relative_to(here):
        return str(path.relative_to(here))
    under = home().absolute()
    if path != under and path.is_relative_to(under):
        name = str(path.relative_to(under))
        if len(places_of(name)) > 1 and not os.path.lexists(name):
            return name
    return str(path)


def pasted(place: Place) -> str:
    """Return ``shown_place`` quoted for a shell, to paste into the next command."""
    shown = shown_place(place)
    return shlex.quote(f"./{shown}" if shown.startswith("-") else shown)


def model_place(name: Place) -> Path | str:
    """Resolve a model's name: a folder as ``input_place`` finds it, else the name itself, which may
    be a hub id or ``minilm``.
    """
    place = input_place(name)
    return place if place.exists() else str(name)


def refuse_inputs(outputs: Mapping[str, object], inputs: Iterable[object]) -> None:
    """Compare every output, by its flag, with everything that is read.

    Raises:
        SettingError: an output is an input, a folder that holds one, or a place in a folder that is
            one, but for the working directory and those around it.
    """
    every = [text for given in inputs for text in texts_in(given)]
    read = [(text, place) for text in every for place in places_of(text) if os.path.exists(place)]
    for flag, value in outputs.items():
        for written in texts_in(value):
            for text, given in read:
                if problem := _meets(Path(written), given):
                    raise SettingError(
                        f"{flag}: wanted a place apart from what is read; found {written}, "
                        f"{problem} {text}; give another"
                    )


def texts_in(value: Any) -> Iterator[str]:
    """Yield all names and paths in a value; of NAME=PATH, COLLECTION:SPLIT and
    NAME=COLLECTION:SPLIT the whole and its parts.
    """
    if type(value) in (tuple, list):  # a list of judgements has no places
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, str | Path) or hasattr(value, "path"):
        text = str(getattr(value, "path", value))
        path = text.partition("=")[2]
        yield from filter(None, (text, path, text.rpartition(":")[0], path.rpartition(":")[0]))


def _meets(place: Path, given: Path) -> str:
    """Describe how an output touches an input; empty if it does not."""
    if os.path.exists(place) and os.path.samefile(place, given):
        return "which is the input"
    around = given.resolve()
    # where one works is no input of its own
    working = around in (here := Path.cwd().resolve(), *here.parents)
    if around in place.resolve().parents and ((given / MANIFEST).is_file() or not working):
        return "which stands in the input"
    if place.is_dir() and not place.is_symlink() and place.resolve() in given.resolve().parents:
        return "which holds the input"
    return ""


def placed(settings: S, names: Iterable[str]) -> S:
    """Return settings with the files and folders that these fields name where they are.

    Raises:
        InputError: one of them is not there; its flag is named.
    """
    places = {
        name: input_place(value, flag=flag_of(name))
        for name in names
        if (value := getattr(settings, name)) is not None
    }
    moved: S = replace(cast(Any, settings), **places)
    return moved
