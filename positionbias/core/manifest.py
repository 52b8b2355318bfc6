"""What made an artefact: command, settings, seed, inputs by checksum, versions, licence, contents.

Checksums cover content only. Inputs stand as checksum and path relative to the artefact, never absolute.
Workers, engine, host and time stand under ``provenance``, which comparisons skip.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from positionbias.core.errors import bad_input
from positionbias.core.files import read_json
from positionbias.core.publish import write_json

__all__ = ["MANIFEST", "InputRef", "Manifest", "input_ref", "manifest_path", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class InputRef:
    """One input of a step: the part it played, where it lay (relative to the artefact), its content."""

    role: str
    path: str
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record that travels with every artefact.

    ``kind`` is collection, run, checkpoint, vectors, results or study. ``content`` holds checksums and counts
    that follow from the settings and inputs alone. ``notes`` states the project's own decisions that
    the artefact depends on, in words.
    """

    kind: str
    name: str
    command: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    inputs: tuple[InputRef, ...] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION

    def comparable(self) -> dict[str, Any]:
        """Everything but ``provenance``: equal for two artefacts made alike."""
        record = asdict(self)
        del record["provenance"]
        return record

    def input(self, role: str) -> InputRef | None:
        """The first input that played ``role``, or None."""
        return next((item for item in self.inputs if item.role == role), None)


def manifest_path(artefact: Path | str) -> Path:
    """Where an artefact's manifest stands: inside a folder, beside a file as ``FILE.manifest.json``."""
    artefact = Path(artefact)
    return artefact / MANIFEST if artefact.is_dir() else artefact.with_name(f"{artefact.name}.{MANIFEST}")


def input_ref(role: str, path: Path | str, checksum: str, *, artefact: Path | str) -> InputRef:
    """An input as ``artefact`` (its final path) will record it."""
    relative = os.path.relpath(Path(path).absolute(), Path(artefact).absolute())
    return InputRef(role, Path(relative).as_posix(), checksum)


def package_versions(*packages: str) -> dict[str, str]:
    """The installed versions of this package, Python and the given distributions."""
    found = {"python": platform.python_version()}
    for package in ("positionbias", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def provenance(**more: Any) -> dict[str, Any]:
    """Host facts that comparisons skip: time, platform, cores, and what is passed in (workers, engine)."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"created": now, "platform": platform.platform(), "cores": os.cpu_count(), **more}


def write_manifest(path: Path | str, manifest: Manifest) -> None:
    """Write a manifest to exactly ``path``."""
    write_json(path, asdict(manifest))


def read_manifest(artefact: Path | str, *, kind: str | None = None) -> Manifest:
    """Read an artefact's manifest; with ``kind``, insist that it is one of that kind.

    Raises:
        InputError: no manifest, not ours, of a newer format, or of another kind.
    """
    path = manifest_path(artefact)
    wanted = f"a posbias {kind or 'artefact'}"
    if not path.is_file():
        raise bad_input(artefact, wanted=wanted, found=f"no {path.name}", do="check the path")
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
    if kind is not None and record["kind"] != kind:
        raise bad_input(artefact, wanted=wanted, found=f"a {record['kind']}", do="give the right path")
    try:
        inputs = tuple(InputRef(**item) for item in record.pop("inputs", ()))
        notes = tuple(record.pop("notes", ()))
        return Manifest(inputs=inputs, notes=notes, **record)
    except TypeError as error:
        raise bad_input(path, wanted="a posbias manifest", found=str(error), do="make the artefact again") from error
