"""Find the overlap of training sets with test sets, and write it as a folder of rows and pairs; an
interrupted search goes on. Of a row the collection is the test set, the subset the unit, the
training the training set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from pandas import DataFrame, Index

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import file_mark, remove
from positionbias.core.json_text import JsonObject, Name
from positionbias.core.manifest import Manifest, manifest_if_any, read_manifest
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say, track
from positionbias.core.publish import resumable_folder
from positionbias.core.qrels import Qrels
from positionbias.core.rows import Collected, write_into
from positionbias.core.seal import MANIFEST, verified
from positionbias.core.steps import MapShards
from positionbias.leakage.labelled import wilson
from positionbias.leakage.pairs import OVERLAP_DETECTORS as DETECTORS
from positionbias.leakage.pairs import leaked_tests, pairs_file, read_pairs, set_aside
from positionbias.overlap.search import HITS, LOOKUP, SCORES, Lookup, best, search_blocks
from positionbias.overlap.settings import PASSAGES, QUERIES, UNITS, OverlapSettings
from positionbias.overlap.texts import TextSet

STUDY, KEYS = "leakage overlap", ("detector",)
ALL_SETS = "all training sets"
ANY = "any"  # detector

FOLDER = "pairs"
_WORK = ".work"
_FIRST = 1 << 14  # texts of a training set whose runs of words are counted


class Items(NamedTuple):
    """The test items of a unit in one test set: which have words ``(i,)``, and runs of words that
    are not common ``(i,)``; and ``links`` to queries (item, query_id).
    """

    test_set: str
    unit: str
    words: np.ndarray
    runs: np.ndarray
    links: DataFrame

    def queries(self, items: np.ndarray) -> int:
        """Return the number of queries that items ``(i,)`` belong to."""
        return int(self.links["query_id"][items[self.links["item"]]].nunique())


def find_overlap(
    out: Path,
    training: Sequence[TextSet],
    tests: Sequence[TextSet],
    settings: OverlapSettings,
    manifest: Callable[[DataFrame], Manifest],
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
) -> DataFrame:
    """Compare every training text with every test text, unit by unit, and write ``out``; return the
    rows.

    Raises:
        InputError: test sets, or a training set, without texts to compare.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    job: JsonObject = {
        "command": STUDY,
        "settings": asdict(settings),
        "sets": [
            # the order of texts is in no checksum
            [each.name, each.split, file_mark(each.collection.path / MANIFEST)]
            for each in (*training, *tests)
        ],
    }
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        (folder / FOLDER).mkdir(exist_ok=True)
        search = _Search(folder / _WORK, training, tests, settings, map_shards)
        made = Collected({"study": STUDY}, KEYS)
        for items, hits in search.found():
            path = folder / FOLDER / f"{items.test_set}.{items.unit}.jsonl"
            _write_pairs(path, hits[~hits["shared"]])
            overlap_rows(made, items, hits, [each.name for each in training])
        rows = made.rows
        if not len(rows):
            raise _nothing(tests[0], "test texts")
        remove(folder / _WORK)
        write_into(folder, rows, manifest(rows))
    return rows


def _nothing(texts: TextSet, wanted: str) -> InputError:
    do = "check its split"
    return InputError(f"{texts.collection.path}: wanted {wanted} to compare; found none; {do}")


def _write_pairs(path: Path, hits: DataFrame) -> None:
    """Write hits as JSON lines, in the form that ``leakage.pairs`` reads."""
    path.touch()  # pandas writes an empty line where there are none
    if not len(hits):
        return
    found_by = [np.array(DETECTORS)[by].tolist() for by in hits[[*DETECTORS]].to_numpy()]
    names = ["source", "train_id", "test_id", "train_text", "test_text", *SCORES]
    pairs = hits[names].assign(found_by=found_by)
    pairs.to_json(path, orient="records", lines=True, force_ascii=False, double_precision=6)


@dataclass(frozen=True)
class _Search:
    """A search for test sets in training sets, in the folder ``work``. Hits have the columns of
    ``HITS``, and ``source``, the training set; ``set``, the test set; ``item``, the text's number
    there; ``test_id``, ``test_text``; and ``shared``: the same passage, in a corpus that both sides
    share.
    """

    work: Path
    training: Sequence[TextSet]
    tests: Sequence[TextSet]
    settings: OverlapSettings
    map_shards: MapShards

    def found(self) -> Iterator[tuple[Items, DataFrame]]:
        """Search by unit, and yield the items and hits of each test set and unit."""
        for train in self.training:
            if not any(next(train.blocks(unit), None) for unit in UNITS):
                raise _nothing(train, "training texts")  # it would look clean
        searched = {unit: self._searched(unit) for unit in UNITS}
        for test in self.tests:
            for unit, frames in searched.items():
                texts, hits = (frame[frame["set"] == test.name] for frame in frames)
                yield self._items(test, unit, texts), hits

    def _searched(self, unit: str) -> tuple[DataFrame, DataFrame]:
        """Search all training sets for the test texts of a unit, and return the texts of all test
        sets and all hits.
        """
        work = self.work / unit
        work.mkdir(parents=True, exist_ok=True)
        texts = [test.texts(unit) for test in self.tests]
        first = [train.texts(unit, _FIRST) for train in self.training]
        tests, training = ([own["text"] for own in side] for side in (texts, first))
        lookup = Lookup.of(tests, training, self.settings.n)
        np.savez(work / LOOKUP, **lookup._asdict())
        blocks = (block for train in self.training for block in train.blocks(unit))
        counts = search_blocks(work, blocks, self.settings, self.map_shards)
        counts = track(counts, f"comparing {unit}", unit="blocks")
        paths = [work / f"{place:06}" for place, count in enumerate(counts) if count]
        found = [HITS.assign(source="", corpus=""), *map(pandas.read_parquet, paths)]
        every = pandas.concat(texts).rename(columns={"id": "test_id", "text": "test_text"})
        every = every.assign(item=every.index, words=lookup.words > 0, runs=lookup.runs > 0)
        every = every.reset_index(drop=True)
        hits = pandas.concat(found).join(every, on="test")
        corpora = {test.name: test.collection.passages_checksum for test in self.tests}
        shared = (hits["train_id"] == hits["test_id"]) & (unit == PASSAGES)
        shared &= hits["corpus"] == hits["set"].map(corpora)
        return every, best(hits.assign(shared=shared), ["shared", "source"])

    def _items(self, test: TextSet, unit: str, texts: DataFrame) -> Items:
        links = DataFrame({"item": texts["item"], "query_id": texts["test_id"]})
        if unit == PASSAGES:
            links = test.links()
            links["item"] = Index(texts["test_id"]).get_indexer(links["passage_id"])
        words, runs = (texts[name].to_numpy() for name in ("words", "runs"))
        return Items(test.name, unit, words, runs, links[links["item"] >= 0])


def overlap_rows(made: Collected, items: Items, hits: DataFrame, sources: Sequence[str]) -> None:
    """Add the share of leaked test queries with the counts behind it, for each detector and for
    any, by training set and for all together.

    The share is of the queries that can be compared; of items where the test set names no queries.
    """
    counted = "queries" if len(items.links) else items.unit
    for detector in (*DETECTORS, ANY) if len(items.words) else ():
        compared = items.runs if detector == DETECTORS[1] else items.words
        behind = [detector] if detector != ANY else [*DETECTORS]
        by = hits[hits[behind].any(axis=1)]
        for name in (*sources, ALL_SETS) if len(sources) > 1 else sources:
            own = by if name == ALL_SETS else by[by["source"] == name]
            pairs = own[~own["shared"]]
            found = np.isin(np.arange(len(items.words)), pairs["item"])
            queries = items.queries(found)
            leaked, count = int(found.sum()), int(compared.sum())
            if len(items.links):
                leaked, count = queries, items.queries(compared)
            cells: dict[str, Any] = {"collection": items.test_set, "subset": items.unit} | {
                "training": name,
                "detector": detector,
            }
            share = leaked / count if count else None
            bounds = None if share is None else wilson(share, count)
            made.add("overlap", "share", share, bounds, count=count, counted=counted, **cells)
            numbers = {
                "found": found.sum(),
                "of": len(items.words),
                "not compared": (~compared).sum(),
                "queries": queries,
                "pairs": len(pairs),
            }
            if len(own) > len(pairs):
                numbers["same passage"] = len(own) - len(pairs)
            for statistic, number in numbers.items():
                made.add("overlap", statistic, number, unit="count", **cells)


def is_overlap(place: Place) -> bool:
    """Return True for a folder that ``leakage overlap`` wrote."""
    path = input_place(place)
    made = manifest_if_any(path) if path.is_dir() else None
    return made is not None and made.command == STUDY


@dataclass(frozen=True, slots=True)
class _Set:
    """A training or test set: its split, and its collection's checksum."""

    split: str
    checksum: str


class OverlapFolder:
    """A folder that ``leakage overlap`` wrote.

    Raises:
        InputError: something else.
    """

    def __init__(self, place: Place) -> None:
        self.path = input_place(place)
        content = read_manifest(self.path, kind="results").content_as
        self.training = content(dict[Name, _Set], "training sets")
        self.tests = content(dict[Name, _Set], "test sets")
        # the lowest grade of a relevant passage of the test sets
        self.relevant_from = content(int, "relevant_from")

    def files(self, unit: str, tests: Iterable[str]) -> list[Path]:
        """Return the files of pairs of a unit with these test sets."""
        return [self.path / FOLDER / f"{test}.{unit}.jsonl" for test in tests]


def leaked_of(
    place: Place, unit: str | None, qrels: Qrels, checksum: str, split: str
) -> tuple[set[str] | None, list[Path]]:
    """Return the test queries that leak by the pairs at a place, by their text or by a relevant
    passage, and the files that name them; None, with a remark, where no judged query leaks by a
    folder of ``leakage overlap``.

    In a folder of ``leakage overlap`` it is the test set that is this split of a collection with
    this checksum.

    Raises:
        InputError: no such test set, or no pairs that count in a file.
    """
    relevant_from = 1
    if is_overlap(place):
        folder, unit, own = OverlapFolder(place), unit or QUERIES, _Set(split, checksum)
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
        if set_aside(pair) is None
    }
    if unit == PASSAGES:
        relevant = (qrel for qrel in qrels if qrel.grade >= relevant_from)
        leaked = {qrel.query_id for qrel in relevant if qrel.passage_id in leaked}
    if is_overlap(place) and leaked.isdisjoint(qrel.query_id for qrel in qrels):
        say(f"--leaked: no judged query leaks by {unit}: there is nothing to measure apart")
        return None, files
    return leaked, files
