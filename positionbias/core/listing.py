"""Artefacts as their manifests describe them; no other file is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.errors import PositionBiasError
from positionbias.core.files import home
from positionbias.core.found import Found
from positionbias.core.manifest import Manifest, read_manifest_file

__all__ = ["Listed", "listed"]

# counts that say what an artefact holds, as its manifest names them
_COUNTS = ("passages", "documents", "queries", "pairs", "groups", "judgements", "qrels", "words", "weights", "results")


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


def listed(found: Found) -> Listed | None:
    """Describe an artefact; None where its manifest turns out to be somebody else's."""
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
