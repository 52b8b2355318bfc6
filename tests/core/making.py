"""A collection of given passages and splits, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query


def make_collection(
    place: Path,
    passages: Sequence[Passage],
    splits: dict[str, tuple[list[Query], list[Qrel]]] | None = None,
    *,
    overwrite: bool = False,
) -> Collection:
    with create_collection(place, overwrite=overwrite) as writer:
        writer.add_passages(passages)
        for split, (queries, qrels) in (splits or {}).items():
            writer.add_split(split, queries, qrels)
        writer.finish(Manifest("collection", place.name, "a test"))
    return Collection(place)
