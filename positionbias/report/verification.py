"""Artefacts compared with the digests in their manifests."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas

from positionbias.core.errors import InputError, bad_input, near_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    artefact_of,
    check_whole,
    manifest_path,
    read_manifest_file,
)
from positionbias.core.outcome import Judgement
from positionbias.core.progress import remark, track
from positionbias.core.seal import CACHE, MANIFEST, unnamed_files


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for one artefact: path, kind, the numbers of files and bytes in its manifest, and
    ``fault``, empty if undamaged.

    ``strange``: files that it does not name.
    """

    path: Path
    kind: str
    files: int
    bytes: int
    strange: int
    fault: str


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Judgement):
    """The findings on each artefact; nothing is measured."""

    artefacts: Sequence[Verified]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each artefact."""
        return pandas.DataFrame(self.to_json()["artefacts"])

    def __str__(self) -> str:
        lines = []
        for item in self.artefacts:
            more = f" ({item.strange:,} files more than its manifest names)" * bool(item.strange)
            size = f"{item.files:>5,} files {item.bytes / 1e6:>10,.1f} MB"
            state = "damaged" if item.fault else "whole"
            lines += [f"{state:<11} {item.kind:<14} {size}  {item.path}{more}"]
            lines += [f"    {item.fault}"] * bool(item.fault)
        return "\n".join(lines)

    def to_json(self) -> JsonObject:
        """Return what was found of each artefact."""
        return {"artefacts": [{**asdict(item), "path": str(item.path)} for item in self.artefacts]}

    def check(self) -> None:
        """Refuse artefacts that are damaged.

        Raises:
            InputError: at least one is.
        """
        if damaged := sum(bool(item.fault) for item in self.artefacts):
            raise InputError(
                f"wanted {len(self.artefacts):,} artefacts as they were written; found {damaged:,} "
                "damaged; restore them from a copy, or make them again"
            )


def manifests_in(path: Path) -> Sequence[Path]:
    """Return the manifests of an artefact, or of all artefacts in a folder, in order, with those of
    their caches. Hidden folders are unfinished and left out.

    Raises:
        InputError: no such path, or no manifest of ours.
    """
    if path.is_dir():
        named = {
            place
            for place in path.rglob(f"*{MANIFEST}")  # broken links and folders too
            if place.name == MANIFEST or place.name.endswith(f".{MANIFEST}")
            if not any(part.startswith(".") for part in place.relative_to(path).parts)
        }
    else:
        named = {beside for beside in [manifest_path(path)] if os.path.lexists(beside)}
    ours = {manifest for manifest in named if _may_be_ours(manifest)}
    owners = {  # of caches: without its manifest an artefact is damaged
        path.joinpath(*parts[: parts.index(CACHE)], MANIFEST)
        for parts in (manifest.relative_to(path).parts for manifest in ours if path.is_dir())
        if CACHE in parts
    }
    if not ours:
        what = f"a {MANIFEST} of something else" if named else f"no {MANIFEST}"
        found, do = what if path.exists() else "nothing there", near_file(path, "check the path")
        raise bad_input(path, wanted="an artefact of posbias", found=found, do=do)
    for manifest in sorted(named - ours - owners):
        remark(f"{manifest}: not a manifest of posbias; what it stands for is not compared")
    return sorted(ours | owners)


def _may_be_ours(manifest: Path) -> bool:
    """Return True for a manifest.json of ours, or one too damaged to tell; a pipe is not read, as
    it would never end.
    """
    if not manifest.is_file():
        return True
    try:
        record = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(record, dict) and record.keys() >= {"kind", "format_version"}


def verify(manifest: Path) -> Verified:
    """Compare an artefact with its manifest."""
    path = artefact_of(manifest)
    try:
        record = read_manifest_file(manifest)
    except InputError as error:
        return Verified(path, "", 0, 0, strange=0, fault=str(error))
    files, strange = record.files or {}, 0
    size = sum(seal.bytes for seal in files.values())
    try:
        check_whole(manifest, record)
        if path.is_dir():
            strange = len(unnamed_files(path, files))
    except InputError as error:
        return Verified(path, record.kind, len(files), size, strange, str(error))
    return Verified(path, record.kind, len(files), size, strange, "")


def verify_all(places: Sequence[Path]) -> Verification:
    """Compare all artefacts at these places.

    Raises:
        InputError: no artefact at one of them.
    """
    manifests = [manifest for place in places for manifest in manifests_in(place)]
    tracked = track(manifests, "verifying", unit="artefacts")
    return Verification([verify(manifest) for manifest in tracked])
