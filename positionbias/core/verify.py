"""Compare artefacts with their manifests, file by file, and add digests to older ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from positionbias.core.closest import near_file
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import split_checksum
from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import check_sizes, manifest_path, read_manifest_file, write_manifest
from positionbias.core.seal import CACHE, MANIFEST, unnamed_files, verified
from positionbias.core.shards import CHECKSUM_MODULUS, pairs_checksum, read_shard
from positionbias.core.split_tables import KIND

__all__ = ["Verified", "manifests_in", "seal", "verify"]


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for one artefact: path, kind, the numbers of files and bytes in its manifest, and ``fault``, empty if undamaged.

    ``sealed``: its manifest has digests; without them nothing was compared. ``strange``: files that it does not name.
    """

    path: Path
    kind: str
    files: int
    bytes: int
    sealed: bool
    strange: int
    fault: str


def manifests_in(path: Path) -> Sequence[Path]:
    """Return the manifests of an artefact, or of all artefacts in a folder, in order, with those of their caches.

    Raises:
        InputError: no such path, or no manifest of ours.
    """
    if not path.exists():
        raise bad_input(
            path, wanted="an artefact, or a folder of some", found="nothing there", do=near_file(path, "check the path")
        )
    found = list(_named(path)) if path.is_dir() else [own for own in [manifest_path(path)] if os.path.lexists(own)]
    if not found:
        raise bad_input(path, wanted="an artefact of posbias", found=f"no {MANIFEST}", do="check the path")
    if not path.is_dir():
        return found
    within = ((manifest, manifest.relative_to(path).parts) for manifest in found)
    # hidden folders are unfinished
    seen = {manifest: parts for manifest, parts in within if not any(part.startswith(".") for part in parts)}
    ours = [manifest for manifest in seen if _may_be_ours(manifest)]
    owners = {path.joinpath(*seen[one][: seen[one].index(CACHE)], MANIFEST) for one in ours if CACHE in seen[one]}
    return sorted({*ours, *owners})


def _named(folder: Path) -> Iterator[Path]:
    """Yield the files named like a manifest below a folder, broken links included."""
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *files) if name == MANIFEST or name.endswith(f".{MANIFEST}"))


def _may_be_ours(manifest: Path) -> bool:
    """Return True for a manifest.json of ours, or one too damaged to tell; a pipe is not read, as it would never end."""
    if not manifest.is_file():
        return True
    try:
        record = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(record, dict) and record.keys() >= {"kind", "format_version"}


def verify(manifest: Path) -> Verified:
    """Compare an artefact with its manifest."""
    path = _artefact(manifest)
    try:
        found = read_manifest_file(manifest)
    except InputError as error:
        return Verified(path, "", 0, 0, sealed=True, strange=0, fault=str(error))
    files, fault, strange = found.files or {}, "", 0
    try:
        check_sizes(manifest, found)
        for name in files:
            verified(path / name if path.is_dir() else path)
        if path.is_dir() and found.files is not None:
            strange = len(unnamed_files(path, files))
    except InputError as error:
        fault = str(error)
    size = sum(seal.bytes for seal in files.values())
    return Verified(path, found.kind, len(files), size, found.files is not None, strange, fault)


def seal(manifest: Path) -> Verified:
    """Add digests to the manifest of an artefact without any, after comparing its content with the manifest.

    Raises:
        InputError: the content differs; existing digests are compared, too.
        StorageError: the file system refused.
    """
    found = read_manifest_file(manifest)
    path = _artefact(manifest)
    if found.files is None:
        if check := _CHECKS.get(found.kind):
            check(path)
        write_manifest(manifest, replace(found))
    result = verify(manifest)
    if result.fault:
        raise InputError(result.fault)
    return result


def _artefact(manifest: Path) -> Path:
    return manifest.parent if manifest.name == MANIFEST else manifest.with_name(manifest.name.removesuffix(f".{MANIFEST}"))


def _check_collection(path: Path) -> None:
    """Compare all records with their checksums in the manifest."""
    collection = Collection(path)
    total = 0
    for shard in collection.shard_paths:
        for batch in read_shard(shard).to_batches():
            ids, texts = ([item.encode() for item in batch.column(name).to_pylist()] for name in ("passage_id", "text"))
            total += pairs_checksum(ids, texts)
    found = {"passages": f"{total % CHECKSUM_MODULUS:032x}"}
    wanted = {"passages": collection.passages_checksum or found["passages"]}
    for split in collection.splits:
        sets = {name: collection.qrels(split, name) for name in collection.qrels_names(split)}
        parts = collection.queries(split), collection.qrels(split), collection.answers(split)
        found[f"split {split!r}"] = split_checksum(*parts, sets)
        wanted[f"split {split!r}"] = collection.split_facts[split].checksum
    for name, checksum in found.items():
        if checksum != wanted[name]:
            raise bad_input(path, wanted=f"{name} with the checksum {wanted[name]}", found=checksum, do="make it again")


_CHECKS: dict[str, Callable[[Path], None]] = {KIND: _check_collection}
