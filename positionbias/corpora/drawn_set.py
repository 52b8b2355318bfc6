"""Write a training set that is drawn from a collection and files, such as its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.files import open_bytes, sha256_file
from positionbias.core.groups import KIND
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.publish import resumable_folder


@contextmanager
def drawn_set(
    out: Path,
    collection: Collection,
    files: Sequence[tuple[str, Path]],
    command: str,
    settings: JsonObject,
    *,
    seed: int,
    overwrite: bool = False,
) -> Iterator[tuple[Path, Manifest]]:
    """Yield the unfinished folder of a set and its manifest, for ``write_groups``; a later call
    with the same inputs, settings and seed goes on in it. ``files`` have a role each.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: a missing file.
    """
    for _, path in files:
        open_bytes(path).close()  # a missing file is reported before checksums are computed
    inputs = [("collection", collection.path, collection.checksum)]
    inputs += [(role, path, sha256_file(path)) for role, path in files]
    manifest = Manifest(
        kind=KIND,
        name=out.name,
        command=command,
        settings={name: value for name, value in settings.items() if name != "seed"},
        seed=seed,
        inputs=tuple(input_ref(*item, artefact=out) for item in inputs),
        licence=collection.manifest.licence,
    )
    job = {
        "command": command,
        **settings,
        "seed": seed,
        "inputs": [item.checksum for item in manifest.inputs],
    }
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        yield folder, manifest
