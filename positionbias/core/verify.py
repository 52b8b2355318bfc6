"""Compare artefacts with their manifests, file by file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.closest import near_file
from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import check_sizes, manifest_path, read_manifest_file
from positionbias.core.progress import remark
from positionbias.core.seal import CACHE, MANIFEST, check_file, unnamed_files


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


def manifests_in(path: Path) -> Sequence[Path]:
    """Return the manifests of an artefact, or of all artefacts in a folder, in order, with those of
    their caches. Hidden folders are unfinished and left out.

    Raises:
        InputError: no such path, or no manifest of ours.
    """
    if not path.exists():
        do = near_file(path, "check the path")
        wanted = "an artefact, or a folder of some"
        raise bad_input(path, wanted=wanted, found="nothing there", do=do)
    if path.is_dir():
        named = {
            Path(place, name)
            for place, folders, files in os.walk(path)
            for name in (*folders, *files)  # broken links and folders too
            if name == MANIFEST or name.endswith(f".{MANIFEST}")
            if not any(part.startswith(".") for part in Path(place, name).relative_to(path).parts)
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
        raise bad_input(path, wanted="an artefact of posbias", found=what, do="check the path")
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
    path = manifest.parent
    if manifest.name != MANIFEST:
        path = manifest.with_name(manifest.name.removesuffix(f".{MANIFEST}"))
    try:
        record = read_manifest_file(manifest)
    except InputError as error:
        return Verified(path, "", 0, 0, strange=0, fault=str(error))
    files, fault, strange = record.files or {}, "", 0
    try:
        check_sizes(manifest, record)
        for name, seal in files.items():
            check_file(path / name if path.is_dir() else path, seal)
        if path.is_dir():
            strange = len(unnamed_files(path, files))
    except InputError as error:
        fault = str(error)
    size = sum(seal.bytes for seal in files.values())
    return Verified(path, record.kind, len(files), size, strange, fault)
