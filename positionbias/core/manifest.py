"""Manifests, the origin of an artefact: command, settings, seed, inputs by checksum, versions,
licence, contents.

Checksums cover content only. Inputs are recorded by checksum and path relative to the artefact,
never absolute. ``provenance`` has workers, engine, host and time, which comparisons skip. ``files``
has the digests of the artefact's files (``core.seal``), and ``digest`` that of the manifest itself.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, TypeVar

from positionbias.core.errors import bad_input, near_file, or_closest
from positionbias.core.files import read_json
from positionbias.core.json_text import Json, JsonObject, read_as
from positionbias.core.places import names_of
from positionbias.core.publish import recover, write_json
from positionbias.core.seal import (
    AGAIN,
    MANIFEST,
    FileSeal,
    check_digest,
    check_file,
    check_name,
    check_names,
    manifest_digest,
    seal_file,
    seal_folder,
)

# the digest of the command that writes manifests now (core.steps)
JOB: ContextVar[str | None] = ContextVar("job", default=None)
# passed as keywords together with others that are not facts
Provenance: TypeAlias = Mapping[str, Any]
T = TypeVar("T")
FORMAT_VERSION = 1
_TITLED = (
    "run",
    "results",
    "study",
    "tables",
    "teacher-scores",
)  # kinds whose names are tags and titles, of which no file is named
_RULES = {"unicode": "1"}  # the version of our own splitter, text.words


@dataclass(frozen=True, slots=True)
class InputRef:
    """One input of a step: its role, its path relative to the artefact, and its checksum."""

    role: str
    path: str
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record that travels with every artefact.

    ``kind`` is collection, run, checkpoint, vectors, results or study. ``content`` holds checksums
    and counts that follow from the settings and inputs alone. ``notes`` states in words the
    project's own decisions that the artefact depends on. ``files`` has the digests of the
    artefact's files by path within it (a single file's by its name); None until it is written.
    """

    kind: str
    name: str
    command: str
    settings: JsonObject = field(default_factory=dict)
    seed: int | None = None
    inputs: tuple[InputRef, ...] = ()
    content: JsonObject = field(default_factory=dict)
    licence: str = ""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    provenance: JsonObject = field(default_factory=dict)
    files: Mapping[str, FileSeal] | None = None
    format_version: int = FORMAT_VERSION

    def comparable(self) -> JsonObject:
        """Everything but ``provenance`` and the files' digests: equal for two artefacts made
        alike.
        """
        record = asdict(self)
        del record["provenance"], record["files"]
        return record

    @property
    def checksum(self) -> str:
        """The checksum of the artefact's content; empty where the content has none."""
        return str(self.content.get("checksum", ""))

    @property
    def created(self) -> str | None:
        """The time at which the artefact was made, in UTC; None where that is not known."""
        created = self.provenance.get("created")
        return created if isinstance(created, str) else None

    @property
    def depth(self) -> int | None:
        """The depth to which a run was retrieved or re-ranked; None where that is not known."""
        depth = self.settings.get("depth")
        return depth if isinstance(depth, int) and depth > 0 else None

    def content_as(self, kind: type[T], name: str, default: T | None = None) -> T:
        """Return the content's ``name`` as ``kind``, or ``default`` if it has none; unknown fields
        are skipped.

        Raises:
            InputError: it is not of this kind, or missing without a default.
        """
        if default is not None and name not in self.content:
            return default
        return read_as(kind, self.content.get(name), f"{self.name}, {name}", do=AGAIN, more=True)

    def input(self, role: str) -> InputRef | None:
        """Return the first input of this ``role``, or None."""
        return next((item for item in self.inputs if item.role == role), None)


def manifest_path(artefact: Path | str) -> Path:
    """Return the path of an artefact's manifest: inside a folder, or ``FILE.manifest.json`` beside
    a file.
    """
    artefact = Path(artefact)
    return (
        artefact / MANIFEST
        if artefact.is_dir()
        else artefact.with_name(f"{artefact.name}.{MANIFEST}")
    )


def input_ref(role: str, path: Path | str, checksum: str, *, artefact: Path | str) -> InputRef:
    """Return an input as ``artefact`` (its final path) records it."""
    if "://" in str(path):  # a model behind an endpoint
        return InputRef(role, str(path), checksum)
    try:
        relative = os.path.relpath(Path(path).absolute(), Path(artefact).absolute())
    except ValueError:  # another drive
        relative = Path(path).name
    return InputRef(role, Path(relative).as_posix(), checksum)


def input_name(path: str) -> str:
    """Return what a recorded input is called where people read it: its own name, or the address of
    an endpoint.
    """
    return path if "://" in path else PurePosixPath(path).name


def package_versions(*packages: str) -> dict[str, str]:
    """Return the installed versions of this package, Python and the given distributions, or of the
    splitter ``USUAL_WORDS``.
    """
    versions = {"python": platform.python_version()}
    for package in ("positionbias", *packages):
        try:
            versions[package] = _RULES.get(package) or _version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


@cache
def _version(package: str) -> str:
    return version(package)


def provenance(**more: Json) -> JsonObject:
    """Host facts that comparisons skip: time, platform, cores, and what is passed in (workers,
    engine).
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"created": now, "platform": platform.platform(), "cores": os.cpu_count(), **more}


def write_manifest(path: Path | str, manifest: Manifest) -> None:
    """Write a manifest to exactly ``path``, with the digests of its files, which must be complete,
    and the ``JOB``.

    The files are those in the folder of ``path``, or for ``FILE.manifest.json`` the file or folder
    beside it.
    """
    artefact = artefact_of(Path(path))
    files = seal_folder(artefact) if artefact.is_dir() else {artefact.name: seal_file(artefact)}
    provenance = dict(manifest.provenance)
    if (job := JOB.get()) is not None:
        provenance[JOB.name] = job
    whole = asdict(replace(manifest, files=files, provenance=provenance))
    record = json.loads(json.dumps(whole, allow_nan=False))  # as a reader sees it
    write_json(path, {**record, "digest": manifest_digest(record)})


def write_counted(folder: Path, manifest: Manifest, counted: JsonObject) -> None:
    """Write the manifest of rows in Arrow files into their folder, with what was ``counted`` before
    its own content, and the facts of this machine.
    """
    made = replace(
        manifest,
        content={**counted, **manifest.content},
        versions={**package_versions("pyarrow"), **manifest.versions},
        provenance=provenance(**manifest.provenance),
    )
    write_manifest(folder / MANIFEST, made)


def read_manifest(artefact: Path | str, *, kind: str | None = None) -> Manifest:
    """Read an artefact's manifest, and check that its files exist and have the right size; with
    ``kind``, also its kind.

    Raises:
        InputError: no manifest, not ours, damaged, of a newer format or another kind, or a file of
            another size.
    """
    recover(artefact)
    path = manifest_path(artefact)
    wanted = f"a posbias {kind or 'artefact'}"
    if not path.is_file():
        found = f"{path.name} that is no file" if os.path.lexists(path) else f"no {path.name}"
        raise bad_input(artefact, wanted=wanted, found=found, do=_near(Path(artefact), kind))
    manifest = read_manifest_file(path)
    if kind is not None and manifest.kind != kind:
        raise bad_input(
            artefact, wanted=wanted, found=f"a {manifest.kind}", do="give the right path"
        )
    check_sizes(path, manifest)
    return manifest


def _near(artefact: Path, kind: str | None) -> str:
    """Return the artefact that may have been meant, or what to do."""
    if artefact.exists():
        return "check the path"
    return or_closest(
        artefact.name, names_of(kind) if kind else (), near_file(artefact, "check the path")
    )


def manifest_if_any(artefact: Path | str, *, kind: str | None = None) -> Manifest | None:
    """Return an artefact's manifest as ``read_manifest`` does; None for a file or folder without
    one.

    Raises:
        InputError: it has one that cannot be read.
    """
    return read_manifest(artefact, kind=kind) if os.path.lexists(manifest_path(artefact)) else None


def read_manifest_file(path: Path) -> Manifest:
    """Read a manifest by its own path, without checking files.

    Raises:
        InputError: not a manifest of ours, of a newer format, or damaged.
    """
    record = read_json(path, what="a posbias manifest")
    if not isinstance(record, dict) or "kind" not in record or "format_version" not in record:
        raise bad_input(path, wanted="a posbias manifest", found="other JSON", do="check the path")
    if record["format_version"] != FORMAT_VERSION:
        raise bad_input(
            path,
            wanted=f"manifest format {FORMAT_VERSION}",
            found=f"format {record['format_version']}",
            do="make the artefact again with this version, or install the version that made it",
        )
    check_digest(path, record)
    record.pop("digest", None)
    manifest = read_as(Manifest, record, path, do=AGAIN)
    check_names(path, manifest.files or ())
    if manifest.kind not in _TITLED:
        check_name(path, manifest.name)
    return manifest


def check_sizes(path: Path, manifest: Manifest) -> None:
    """Check that every file named in the manifest at ``path`` exists and has its size.

    Raises:
        InputError: a file is missing or of another size.
    """
    for file, seal in _sealed(path, manifest):
        try:
            fault = f"{size:,}" if (size := file.stat().st_size) != seal.bytes else ""
        except OSError as error:
            fault = error.strerror or str(error)
        if fault:
            wanted = f"{seal.bytes:,} bytes, as its manifest says"
            raise bad_input(file, wanted=wanted, found=fault, do=AGAIN)


def check_whole(path: Path, manifest: Manifest) -> None:
    """Compare all files of an artefact with its ``manifest``, which stands at ``path``.

    Raises:
        InputError: one is missing, or differs.
    """
    for file, seal in _sealed(path, manifest):
        check_file(file, seal)


def _sealed(path: Path, manifest: Manifest) -> Iterator[tuple[Path, FileSeal]]:
    """Yield the files that a manifest names, or the one beside it, whose name may have changed."""
    artefact = artefact_of(path)
    for name, seal in (manifest.files or {}).items():
        yield artefact / name if path.name == MANIFEST else artefact, seal


def artefact_of(manifest: Path) -> Path:
    """Return the folder or file whose manifest this is."""
    if manifest.name == MANIFEST:
        return manifest.parent
    return manifest.with_name(manifest.name.removesuffix(f".{MANIFEST}"))
