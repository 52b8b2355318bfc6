"""The artefacts in a folder, from their manifests alone: no other file is read.

``artefacts_in`` reads a manifest's first bytes only, so that a shell's completion and an error's "did you mean" cost little.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.files import home
from positionbias.core.seal import MANIFEST

if TYPE_CHECKING:
    from positionbias.core.manifest import Manifest

__all__ = ["Found", "Listed", "artefacts_in", "listed", "names_of", "splits_of"]

_BEGINS = re.compile(rb'\s*\{\s*"kind":\s*"([\w-]+)"')  # as ``write_manifest`` writes it
_RESULTS = Path("results", MANIFEST)  # of a study
_RECEIPTS = "steps"  # of a study, finished or not
# counts that say what an artefact holds, as its manifest names them
_COUNTS = ("passages", "documents", "queries", "pairs", "groups", "judgements", "qrels", "words", "weights", "results")


class Found(NamedTuple):
    """An artefact, or what a damaged manifest says of one: its path, kind and manifest."""

    path: Path
    kind: str
    manifest: Path


@dataclass(frozen=True, slots=True)
class Listed:
    """An artefact as its manifest describes it.

    ``name`` is what commands take: a plain name under $POSBIAS_HOME, else its path. ``holds`` says how much is in it, ``inputs`` what it
    was made of, by name. ``bytes`` is the size of its files, None where the manifest has none; ``created`` the time in UTC. ``fault`` says
    what is wrong with the manifest; empty where nothing is.
    """

    name: str
    path: Path
    kind: str
    command: str = ""
    holds: str = ""
    inputs: tuple[str, ...] = ()
    bytes: int | None = None
    created: str | None = None
    fault: str = ""


def artefacts_in(folder: Path) -> Iterator[Found]:
    """Yield the artefacts that stand directly in a folder, by name; the folder itself where it is one.

    Hidden ones are unfinished and left out, as is what has no manifest of ours. A study is one artefact.
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
        if not name.startswith(".") and (name != place.name or place.is_dir()):
            found = _found(place) if name == place.name else _beside(place, folder / name)
            if found is not None:
                yield found


def _found(folder: Path) -> Found | None:
    """Return the artefact that a folder is."""
    if (kind := _kind(folder / MANIFEST, ours=folder.parent == home())) is not None:
        return Found(folder, kind, folder / MANIFEST)
    if (folder / _RECEIPTS).is_dir() and (kind := _kind(folder / _RESULTS)) == "results":
        return Found(folder, "study", folder / _RESULTS)
    return None


def _beside(place: Path, manifest: Path) -> Found | None:
    """Return the file whose manifest stands beside it."""
    kind = _kind(manifest, ours=place.parent == home())
    return Found(place, kind, manifest) if kind is not None else None


def _kind(manifest: Path, *, ours: bool = False) -> str | None:
    """Return the kind of a manifest, "" of one too damaged to tell, None of somebody else's; ``ours``: only this package writes there."""
    try:
        if not manifest.is_file():  # of a pipe, the end never comes
            return None
        with open(manifest, "rb") as handle:
            begins = _BEGINS.match(handle.read(200))
    except OSError:
        return "" if ours else None
    return begins[1].decode() if begins else "" if ours else None


def listed(found: Found) -> Listed | None:
    """Describe an artefact; None where its manifest turns out to be somebody else's."""
    from positionbias.core.errors import PositionBiasError
    from positionbias.core.manifest import read_manifest_file

    name = found.path.name if found.path.parent == home() else str(found.path)
    try:
        manifest = read_manifest_file(found.manifest)
    except PositionBiasError as error:
        if _foreign(found.manifest):
            return None
        return Listed(name, found.path, found.kind, fault=str(error).partition(": ")[2])
    files = None if manifest.files is None else sum(seal.bytes for seal in manifest.files.values())
    inputs = tuple(dict.fromkeys(Path(one.path).name for one in manifest.inputs))
    return Listed(name, found.path, found.kind, manifest.command, _holds(manifest), inputs, files, manifest.created)


def _foreign(manifest: Path) -> bool:
    """Return whether a manifest is whole JSON, and not of ours."""
    try:
        record = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return not isinstance(record, dict) or not record.keys() >= {"kind", "format_version"}


def _holds(manifest: Manifest) -> str:
    """Return the counts in a manifest, those of a collection's splits among them."""
    content = manifest.content
    told = [f"{content[name]:,} {name}" for name in _COUNTS if isinstance(content.get(name), int)]
    splits = content.get("splits")
    if isinstance(splits, dict):
        numbers = {split: facts["queries"] for split, facts in splits.items() if isinstance(facts, dict) and "queries" in facts}
        told += [f"{number:,} {split} queries" for split, number in numbers.items()]
    return ", ".join(told)


def names_of(*kinds: str) -> list[str]:
    """Return what commands may call the artefacts of these kinds in the working folder and under $POSBIAS_HOME."""
    here = [found.path.name for found in artefacts_in(Path()) if found.kind in kinds and found.path.name]
    kept = [found.path.name for found in artefacts_in(home()) if found.kind in kinds]
    return sorted({*here, *kept})


def splits_of(collection: str) -> list[str]:
    """Return the splits of a collection, by its folder or name; none where they cannot be read."""
    for place in (Path(collection), home() / collection):
        try:
            splits = json.loads((place / MANIFEST).read_bytes())["content"]["splits"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        return list(splits) if isinstance(splits, dict) else []
    return []
