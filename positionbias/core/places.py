"""Resolve the names and paths that users give, refuse outputs that would overwrite inputs, and say
what stands in a folder and how to get what does not.

An output is a path like any other: a relative one starts at the current directory. What is written
without --out goes under $POSBIAS_HOME. What is read is looked for in the current directory, then
under $POSBIAS_HOME.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

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


_BEGINS = re.compile(rb'\s*\{\s*"kind":\s*"([\w-]+)"')  # as ``write_manifest`` writes it
_RESULTS = Path("results", MANIFEST)  # of a study
_RECEIPTS = "steps"  # of a study, finished or not


class Found(NamedTuple):
    """An artefact, or what a damaged manifest says of one: its path, kind and manifest."""

    path: Path
    kind: str
    manifest: Path


def artefacts_in(folder: Path) -> Iterator[Found]:
    """Yield the artefacts that stand directly in a folder, by name; the folder itself where it is
    one.

    Hidden ones are unfinished and left out, as is what has no manifest of ours. A study is one
    artefact.
    """
    if (own := _found(folder)) is not None:
        yield own
        return
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        place = folder / name.removesuffix(f".{MANIFEST}")
        if not name.startswith(".") and (name != place.name or os.path.isdir(place)):
            found = _found(place) if name == place.name else _beside(place, folder / name)
            if found is not None:
                yield found


def _found(folder: Path) -> Found | None:
    """Return the artefact that a folder is."""
    if (kind := _kind(folder / MANIFEST, ours=folder.parent == home())) is not None:
        return Found(folder, kind, folder / MANIFEST)
    if os.path.isdir(folder / _RECEIPTS) and (kind := _kind(folder / _RESULTS)) == "results":
        return Found(folder, "study", folder / _RESULTS)
    return None


def _beside(place: Path, manifest: Path) -> Found | None:
    """Return the file whose manifest stands beside it."""
    kind = _kind(manifest, ours=place.parent == home())
    return Found(place, kind, manifest) if kind is not None else None


def _kind(manifest: Path, *, ours: bool = False) -> str | None:
    """Return the kind of a manifest, "" of one too damaged to tell, None of somebody else's;
    ``ours``: only this package writes there.
    """
    try:
        if not manifest.is_file():  # of a pipe, the end never comes
            return None
        with open(manifest, "rb") as handle:
            begins = _BEGINS.match(handle.read(200))
    except OSError:
        return "" if ours else None
    return begins[1].decode() if begins else "" if ours else None


def names_of(*kinds: str) -> list[str]:
    """Return what commands may call the artefacts of these kinds in the working folder and under
    $POSBIAS_HOME.
    """
    here = [
        found.path.name for found in artefacts_in(Path()) if found.kind in kinds and found.path.name
    ]
    kept = [found.path.name for found in artefacts_in(home()) if found.kind in kinds]
    return sorted({*here, *kept})


MSMARCO = "posbias import msmarco collectionandqueries.tar.gz"
DL_PASSAGES = "--attach dl{year} msmarco-test20{year}-queries.tsv.gz 20{year}qrels-pass.txt"

# name -> the command without --out
KNOWN: dict[str, str] = {
    "planted": "posbias import planted",
    "squad": (
        "posbias import squad --train train-v1.1.json --test dev-v1.1.json --validation-queries "
        "5000"
    ),
    "squad2": (
        "posbias import squad --train train-v2.0.json --test dev-v2.0.json --validation-queries "
        "5000"
    ),
    "msmarco": MSMARCO,
    "msmarco-docs": (
        "posbias import msmarco-docs msmarco-docs.tsv.gz msmarco-doctrain-queries.tsv.gz "
        "msmarco-doctrain-qrels.tsv.gz msmarco-docdev-queries.tsv.gz msmarco-docdev-qrels.tsv.gz"
    ),
    "msmarco-qa": "posbias import msmarco-qa train_v2.1.json.gz --validation dev_v2.1.json.gz",
    "orcas": "posbias import orcas orcas.tsv.gz --documents msmarco-docs",
    "dl19": f"{MSMARCO} {DL_PASSAGES.format(year=19)}",
    "dl20": f"{MSMARCO} {DL_PASSAGES.format(year=20)}",
    "robust04": (
        "posbias import trec --docs FBIS --docs FR94 --docs FT --docs LATIMES --topics "
        "04.testset.gz --qrels qrels.robust2004.txt"
    ),
    "core17": "posbias import trec --docs nyt_corpus/data --topics core_nist.txt --qrels qrels.txt",
    "core18": (
        "posbias import trec --docs WashingtonPost.v2/data --topics topics2018.txt --qrels "
        "qrels2018.txt"
    ),
    "trec-covid": "posbias import irds beir/trec-covid",
    "scifact": "posbias import irds beir/scifact/train beir/scifact/test",
    "nfcorpus": "posbias import irds beir/nfcorpus/train beir/nfcorpus/dev beir/nfcorpus/test",
    "tripclick": "posbias import irds tripclick/train tripclick/val tripclick/test",
}
_TABLE = re.compile(r"(?<=.)\.(csv|tsv|jsonl?|parquet)(\.gz|\.zst)?$", re.IGNORECASE)


def how_to_get(place: str | Path) -> str:
    """Return the command that makes the collection of this name or path.

    >>> how_to_get("msmarco-rotated-3")
    'make it with: posbias debias msmarco --seed 3'
    >>> how_to_get("data/msmarco")
    'make it with: posbias import msmarco collectionandqueries.tar.gz --out data/msmarco'
    >>> how_to_get("mine.csv")
    'import the table with: posbias import table mine.csv --out mine'
    """
    path = Path(place)
    if (name := _TABLE.sub("", path.name)) != path.name:
        return (
            f"import the table with: posbias import table {shlex.quote(str(place))} --out "
            f"{shlex.quote(name)}"
        )
    if path.is_file():
        return "import it with the command for its form: posbias import --help"
    if rotated := re.fullmatch(r"(.+)-rotated-(\d+)", path.name):
        out = "" if path.name == str(place) else f" --out {place}"
        return f"make it with: posbias debias {path.with_name(rotated[1])} --seed {rotated[2]}{out}"
    if rotated := re.fullmatch(r"(.+)-rotated", path.name):
        return f"make it with: posbias debias {path.with_name(rotated[1])} --out {place}"
    name = path.name.lower().replace("_", "-")
    if command := KNOWN.get(name):
        return f"make it with: {command} --out {place}"
    return (
        f"make one with: posbias import planted --out {place}  (or another of: posbias import "
        "--help)"
    )
