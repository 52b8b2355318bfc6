"""Artefacts as somebody else might hand them in: damaged, with manifests that vouch for the
damage.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from positionbias.core.manifest import manifest_path
from positionbias.core.seal import MANIFEST, manifest_digest, seal_file, seal_folder


def reseal(artefact: Path, change: Callable[[dict[str, Any]], object] | None = None) -> None:
    """Give the artefact's manifest, if it has one, the digests of what now stands there, after
    ``change`` was made to its record.
    """
    path = manifest_path(artefact)
    if not path.is_file():
        return
    record = json.loads(path.read_text("utf-8"))
    record.pop("digest", None)
    if change is not None:
        change(record)
    seals = (
        seal_folder(path.parent) if path.name == MANIFEST else {artefact.name: seal_file(artefact)}
    )
    record["files"] = {
        name: {"bytes": seal.bytes, "digest": seal.digest} for name, seal in seals.items()
    }
    path.write_text(json.dumps({**record, "digest": manifest_digest(record)}), "utf-8")
