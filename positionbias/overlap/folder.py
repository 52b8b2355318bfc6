"""Read what ``leakage overlap`` wrote: its sets, its files of pairs, and the test queries that they
leak.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.errors import bad_input
from positionbias.core.manifest import manifest_if_any, read_manifest
from positionbias.core.places import Place, input_place
from positionbias.core.qrels import Qrels
from positionbias.core.schema import Name
from positionbias.core.seal import verified
from positionbias.leakage.leaks import leaked_tests, set_aside
from positionbias.leakage.pairs import pairs_file, read_pairs
from positionbias.overlap.find import file_of
from positionbias.overlap.measured import STUDY
from positionbias.overlap.settings import PASSAGES, QUERIES

__all__ = ["OverlapFolder", "RecordedSet", "is_overlap", "leaked_of"]


def is_overlap(place: Place) -> bool:
    """Return True for a folder that ``leakage overlap`` wrote."""
    path = input_place(place)
    made = manifest_if_any(path) if path.is_dir() else None
    return made is not None and made.command == STUDY


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """A training or test set: its split, and its collection's checksum."""

    split: str
    checksum: str


class OverlapFolder:
    """Output of ``leakage overlap`` at a path.

    Raises:
        InputError: something else.
    """

    def __init__(self, place: Place) -> None:
        self.path = input_place(place)
        self.manifest = read_manifest(self.path, kind="results")
        sets = dict[Name, RecordedSet]
        self.training = self.manifest.content_as(sets, "training sets")
        self.tests = self.manifest.content_as(sets, "test sets")
        # the lowest grade of a relevant passage of the test sets
        self.relevant_from = self.manifest.content_as(int, "relevant_from")

    def files(self, unit: str, tests: Iterable[str]) -> list[Path]:
        """Return the files of pairs of a unit with these test sets."""
        return [self.path / file_of(test, unit) for test in tests]


def leaked_of(
    place: Place, unit: str | None, qrels: Qrels, checksum: str, split: str
) -> tuple[set[str], list[Path]]:
    """Return the test queries that leak by the pairs at a place, and the files that name them: by
    their text, by a relevant passage, or by both in one training pair.

    In a folder of ``leakage overlap`` it is the test set that is this split of a collection with
    this checksum.

    Raises:
        InputError: no such test set, or no pairs that count in a file.
    """
    relevant_from = 1
    if is_overlap(place):
        folder, unit, own = OverlapFolder(place), unit or QUERIES, RecordedSet(split, checksum)
        names, relevant_from = [*folder.tests], folder.relevant_from
        if (same := [name for name in names if folder.tests[name] == own])[1:] or not same:
            wanted = f"one test set that is split {split!r} of the collection"
            found, do = ", ".join(same or names), "give its file of pairs, with --unit"
            raise bad_input(folder.path, wanted=wanted, found=found, do=do)
        files = folder.files(unit, same)
    else:
        files = [pairs_file(input_place(place))]
        if unit is None:
            return leaked_tests(read_pairs(files[0])), files
    leaked = {
        pair.test_id
        for path in files
        for pair in read_pairs(verified(path))
        if set_aside(pair, None) is None
    }
    if unit == PASSAGES:
        relevant = (qrel for qrel in qrels if qrel.grade >= relevant_from)
        leaked = {qrel.query_id for qrel in relevant if qrel.passage_id in leaked}
    return leaked, files
