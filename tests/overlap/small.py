"""Small collections of invented text that overlap, worked out by hand, and the folder that a search
of them leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.outcome import Measurements
from positionbias.core.records import Passage, Qrel, Query

LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma"
)
Splits = Mapping[str, tuple[Sequence[Query], Sequence[Qrel]]]

# a is x in other case; c holds x and two words more
TRAIN_PASSAGES = (
    Passage("a", LETTERS),
    Passage("b", "something quite else about lamps and oil and iron gates"),
    Passage("c", f"{LETTERS} tau upsilon"),
    Passage("d", "one two three four and then nothing more"),
)
TRAIN: Splits = {
    "train": (
        [
            Query("q1", "what is alpha"),
            Query("q2", "who lit the lamp"),
            Query("q3", "greek letters please"),
        ],
        [
            Qrel("q1", "a", 1),
            Qrel("q2", "b", 1),
            Qrel("q3", "c", 1),
            Qrel("q3", "a", 1),
            Qrel("q2", "d", 0),
        ],
    )
}
TEST_PASSAGES = (
    Passage("x", LETTERS.upper()),
    Passage("y", "entirely new text here about other matters of the day"),
    Passage("z", "zero one two three four five six"),
)
TEST: Splits = {
    "test": (
        [
            Query("t1", "What is Alpha?"),
            Query("t2", "what is new"),
            Query("t3", "who lit the lamp?"),
        ],
        [Qrel("t1", "x", 1), Qrel("t2", "y", 1), Qrel("t3", "z", 1), Qrel("t2", "x", 0)],
    )
}


def collection(place: Path, passages: Sequence[Passage], splits: Splits) -> Collection:
    """Write a collection."""
    with create_collection(place) as writer:
        writer.add_passages(passages)
        for split, (queries, qrels) in splits.items():
            writer.add_split(split, queries, qrels)
        writer.finish(Manifest("collection", place.name, "a test", licence="invented"))
    return Collection(place)


def both(folder: Path) -> tuple[Collection, Collection]:
    """A training collection ``train`` and a test collection ``bench``.

    Passages: (a, x) exact and ngram, (c, x) ngram, with 6 of x's 6 runs in 6 of c's 8. Queries:
    (q1, t1) and (q2, t3) exact.
    """
    return collection(folder / "train", TRAIN_PASSAGES, TRAIN), collection(
        folder / "bench", TEST_PASSAGES, TEST
    )


def searched(folder: Path) -> Measurements:
    """Search ``train`` for ``bench``, and write ``overlap``."""
    named = [f"train={folder / 'train'}:train"], [f"bench={folder / 'bench'}:test"]
    return positionbias.overlap_leakage(named[0], tests=named[1], out=folder / "overlap")
