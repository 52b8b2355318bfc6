"""The manifest of an exported folder: its collection, and counts of what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.seal import MANIFEST


def write_export_manifest(
    folder: Path,
    final: Path | str,
    form: str,
    collection: Collection,
    splits: Sequence[str],
    counts: Mapping[str, int],
) -> None:
    """Write the manifest into ``folder``, whose final path is ``final``."""
    final = Path(final)
    manifest = Manifest(
        kind="export",
        name=final.name,
        command=f"export {form}",
        settings={"splits": list(splits)},
        inputs=(input_ref("collection", collection.path, collection.checksum, artefact=final),),
        content=dict(counts),
        licence=collection.manifest.licence,
        versions=package_versions(),
        provenance=provenance(),
    )
    write_manifest(folder / MANIFEST, manifest)
