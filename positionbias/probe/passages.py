"""Choose the passages to probe a model on: all original ones behind its checkpoint, or a keyed
sample.
"""

from __future__ import annotations

import heapq
import os
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.places import shown_place
from positionbias.core.seeds import key64

GIVE_IT = "name the collection to probe on the command line"


def sample_passages(collection: Collection, count: int | None, seed: int) -> list[str]:
    """Return the ids of ``count`` passages (None: all), in stored order, the same for a collection
    and its rotation.

    Each passage's draw is keyed by (seed, id), so it depends on no other passage.

    Raises:
        SettingError: ``count`` is below 1.
    """
    ids = collection.passage_ids()
    if count is None:
        return ids
    if count < 1:
        raise SettingError(f"--probe-passages: wanted 1 or more; found {count}")
    if count >= len(ids):
        return ids
    chosen = set(
        heapq.nsmallest(
            count,
            ids,
            key=lambda passage_id: (key64(seed, "probed passages", passage_id), passage_id),
        )
    )
    return [passage_id for passage_id in ids if passage_id in chosen]


def collection_of_checkpoint(checkpoint: Path, manifest: Manifest) -> Collection:
    """Return the original collection behind the one that a checkpoint was trained on, by its
    manifest.

    Raises:
        InputError: the manifest names none, or the named one is gone or has changed.
    """
    trained_on = manifest.input("collection")
    if trained_on is None:
        raise bad_input(
            checkpoint,
            wanted="a manifest that names the collection trained on",
            found="none",
            do=GIVE_IT,
        )
    return original_collection(_follow(checkpoint, trained_on))


def original_collection(collection: Collection) -> Collection:
    """Return the collection that this one was rotated from; an original is returned as it is.

    Raises:
        InputError: the original is gone or has changed.
    """
    source = collection.manifest.input("original")
    return collection if source is None else original_collection(_follow(collection.path, source))


def _follow(artefact: Path, source: InputRef) -> Collection:
    path = Path(os.path.normpath(artefact.absolute() / source.path))
    wanted = f"the {source.role} that its manifest names, {shown_place(path)}"
    if not path.is_dir():
        raise bad_input(
            artefact, wanted=wanted, found="nothing there any more", do=f"put it back, or {GIVE_IT}"
        )
    collection = Collection(path)
    if collection.checksum != source.checksum:
        found = f"other content (checksum {collection.checksum[:16]}…, not {source.checksum[:16]}…)"
        raise bad_input(artefact, wanted=wanted, found=found, do=GIVE_IT)
    return collection
