"""The artefacts in a folder by their kinds, from a manifest's first bytes: what completion and "did
you mean" ask for costs little.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from positionbias.core.files import home
from positionbias.core.seal import MANIFEST

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


def splits_of(collection: str) -> list[str]:
    """Return the splits of a collection, by its folder or name; none where they cannot be read."""
    for place in (Path(collection), home() / collection):
        try:
            splits = json.loads((place / MANIFEST).read_bytes())["content"]["splits"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        return list(splits) if isinstance(splits, dict) else []
    return []
