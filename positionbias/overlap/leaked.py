"""Test queries that leak by overlapping pairs: by their text, by a relevant passage, or by both in
one training pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from positionbias.core.errors import InputError, bad_input
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.core.qrels import Qrels
from positionbias.leakage.leaks import leaked_tests
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.overlap.folder import OverlapFolder, RecordedSet, is_overlap
from positionbias.overlap.lines import file_of
from positionbias.overlap.removal import counts
from positionbias.overlap.settings import PAIRS, PASSAGES, QUERIES

__all__ = ["leaked_of", "leaked_queries", "test_set_of"]


def leaked_queries(
    pairs: Iterable[Pair], unit: str | None, qrels: Qrels, relevant_from: int = 1
) -> set[str]:
    """Return the test queries that pairs of a unit leak; pairs of passages leak the queries that
    have these as relevant ones.
    """
    found = {pair.test_id for pair in pairs if counts(pair)}
    if unit != PASSAGES:
        return found
    return {
        qrel.query_id for qrel in qrels if qrel.grade >= relevant_from and qrel.passage_id in found
    }


def test_set_of(folder: OverlapFolder, checksum: str, split: str, unit: str) -> RecordedSet:
    """Return the test set of a folder that is this split of a collection; the only one, where none
    is, which a line says.

    Raises:
        InputError: several are, or none of several; or all are other splits of the collection.
    """
    sets = list(folder.tests.values())
    if not (same := [one for one in sets if one.checksum == checksum and one.split in ("", split)]):
        # the same texts in another form, or others
        same = [one for one in sets if one.checksum != checksum]
        if not same:
            found, do = (
                ", ".join(one.split for one in sets),
                "give another --split, or search for this one",
            )
            raise bad_input(
                folder.path, wanted=f"a test set that is split {split!r}", found=found, do=do
            )
        if len(same) == 1:
            say(
                f"--leaked {folder.path}: {same[0].name} is taken for this test set; no checksum "
                "confirms it"
            )
    if len(same) > 1:
        raise InputError(
            f"--leaked {folder.path}: wanted one test set; found "
            f"{', '.join(one.name for one in same)}; give its file with --unit {unit}: "
            f"{folder.path / file_of(same[0].name, unit)}"
        )
    return same[0]


test_set_of.__test__ = False  # type: ignore[attr-defined]  # no test, whatever its name says


def leaked_of(
    place: Place, unit: str | None, qrels: Qrels, checksum: str, split: str
) -> tuple[set[str], list[Path]]:
    """Return the test queries that leak by the pairs at a place, and the files that name them.

    In a folder of ``leakage overlap`` it is the test set that is this split of a collection with
    this checksum. Of other pairs every one counts that nobody labelled as of a different topic,
    unless a unit is given.

    Raises:
        InputError: as ``test_set_of``, no such pairs, or none that count in a file.
    """
    if not is_overlap(place):
        path = pairs_file(input_place(place))
        if unit is None:
            return leaked_tests(read_pairs(path)), [path]
        return leaked_queries(read_pairs(path), unit, qrels), [path]
    folder, unit = OverlapFolder(place), unit or QUERIES
    test = test_set_of(folder, checksum, split, unit)
    own = (
        of
        for result, of in folder.figures
        if (result.collection, of.unit) == (test.name, PAIRS) == (test.name, unit)
    )
    if any(of.cut for of in own):
        say(
            f"--leaked {folder.path}: pairs may be missing, so some leaked queries may count as "
            "clean; search with more --kept-pairs"
        )
    pairs = folder.pairs(unit, [test.name])
    return leaked_queries(pairs, unit, qrels, folder.settings.relevant_from), folder.files(
        unit, [test.name]
    )
