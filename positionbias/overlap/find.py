"""Find the overlap of training sets with test sets, and write it as a folder of results and pairs;
an interrupted search goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import remove, sha256_file
from positionbias.core.formatting import plural
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest
from positionbias.core.places import Place
from positionbias.core.progress import track
from positionbias.core.shard_work import MapShards, resumable_folder
from positionbias.overlap.counts import Items, Pairs, overlap_results, summed
from positionbias.overlap.detectors import Texts
from positionbias.overlap.found import Found, merged
from positionbias.overlap.joined import joined, joined_cut
from positionbias.overlap.lines import FOLDER, file_of, joined_records, records, write_records
from positionbias.overlap.precision import read_sheets, with_precision
from positionbias.overlap.search import BlockFacts, Part, TestSide, search_blocks, write_tests
from positionbias.overlap.settings import (
    DETECTORS,
    NGRAM,
    PAIRS,
    PASSAGES,
    QUERIES,
    OverlapSettings,
)
from positionbias.overlap.shingles import COMMON, Words, common_shingles, distinct, own_runs
from positionbias.overlap.sources import TextSet
from positionbias.results.overlap import ANY
from positionbias.results.result import Result, write_results

__all__ = ["NothingToCompare", "find_overlap"]

_WORK = ".work"
_FIRST = 1 << 14  # texts of a training set whose runs of words are counted


class NothingToCompare(InputError):
    """No test set, or a training set, has a text; or for pairs a query with a relevant passage."""


def find_overlap(
    out: Path,
    training: Sequence[TextSet],
    tests: Sequence[TextSet],
    settings: OverlapSettings,
    manifest: Callable[[Sequence[Result], Sequence[str]], Manifest],
    *,
    labelled: Sequence[Place] = (),
    map_shards: MapShards = map,
    overwrite: bool = False,
) -> tuple[list[Result], list[str]]:
    """Compare every training text with every test text, unit by unit, and write ``out``; return the
    results and remarks on them.

    ``labelled`` are filled sheets, which give the precision of the detectors.

    Memory: the test texts with their shingles in each process, a block of training texts, and the
    pairs found.

    Raises:
        SettingError: two sets of a side with one name.
        NothingToCompare: test sets, or a training set, without texts to compare.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    for side, flag in ((training, "TRAIN"), (tests, "--test")):
        # as files, whose case may not count
        if len({one.name.casefold() for one in side}) < len(side):
            raise SettingError(
                f"{flag}: wanted different names; found {', '.join(one.name for one in side)}; "
                "give NAME=PLACE"
            )
    job: JsonObject = {
        "command": "leakage overlap",
        "settings": asdict(settings),
        "sets": [[one.name, one.checksum] for one in (*training, *tests)],
    }
    sheets = read_sheets(labelled)
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        (folder / FOLDER).mkdir(exist_ok=True)
        work = folder / _WORK
        work.mkdir(exist_ok=True)
        found = _Overlap(folder, work, training, tests, settings, map_shards)
        results = with_precision(found.measured(), folder, sheets)
        remove(work)
        write_results(folder, results, manifest(results, found.remarks))
    return results, found.remarks


@dataclass(frozen=True)
class _Unit:
    """Findings on passages or queries: the test texts, the pairs, and the blocks' counts by
    training set.
    """

    side: TestSide
    tests: Texts
    found: Found
    facts: Sequence[BlockFacts]
    sources: Sequence[int]

    def cut(self, number: int, sources: int, kept: int) -> np.ndarray:
        """Return by training set and detector ``(sources, detectors)`` whether some text of a test
        set has as many pairs as are kept.
        """
        low, high = self.side.starts[number : number + 2]
        mine = (self.found.tests >= low) & (self.found.tests < high) & ~self.found.shared
        groups = (self.found.tests * sources + self.found.sources)[mine]
        by = self.found.found_by[mine].T
        cut = np.zeros((sources, len(by)), bool)
        for place, own in enumerate(by):
            values, counts = np.unique(groups[own], return_counts=True)
            cut[values[counts >= kept] % sources, place] = True
        return cut


class _Overlap:
    def __init__(
        self,
        folder: Path,
        work: Path,
        training: Sequence[TextSet],
        tests: Sequence[TextSet],
        settings: OverlapSettings,
        map_shards: MapShards,
    ) -> None:
        self.folder, self.work, self.training, self.tests = folder, work, training, tests
        self.settings, self.map_shards = settings, map_shards
        self.sources = [one.name for one in training]
        self.remarks: list[str] = []

    def measured(self) -> list[Result]:
        """Return all results, and write all pairs."""
        both = PAIRS in self.settings.units
        units = {
            unit: self._searched(unit)
            for unit in (PASSAGES, QUERIES)
            if both or unit in self.settings.units
        }
        self._check_training(units.values())
        results: list[Result] = []
        for number, test in enumerate(self.tests):
            for unit, found in units.items():
                if unit == PASSAGES and found.side.starts[number] == found.side.starts[number + 1]:
                    self.remarks.append(
                        f"{test.name}: no relevant passage was found, so none was compared."
                    )
                if unit in self.settings.units and len(found.tests):
                    results += self._of_unit(unit, number, found)
            if both:
                results += self._of_pairs(number, units[QUERIES], units[PASSAGES])
        if not results:
            raise NothingToCompare(
                f"{self.tests[0].place}: wanted test texts to compare; found none; give another "
                "--test, or --unit"
            )
        return results

    def _check_training(self, units: Iterable[_Unit]) -> None:
        """Refuse a training set without any text, which would look clean."""
        searched = {
            source
            for of in units
            for source, fact in zip(of.sources, of.facts, strict=True)
            if fact.texts
        }
        for number, one in enumerate(self.training):
            if number not in searched:
                do = "check its split and columns, or give another --unit"
                raise NothingToCompare(
                    f"{one.place}: wanted training texts to compare; found none; {do}"
                )

    def _searched(self, unit: str) -> _Unit:
        """Search all training sets for the test texts of a unit."""
        side = write_tests(self.work / f"{unit}.arrow", self.tests, unit, self.settings)
        side, tests = self._without_common(unit, side)
        folder = self.work / unit
        # the order of test texts is in no checksum
        asked = sha256_file(Path(side.path)) + sha256_file(Path(side.common))
        sources: list[int] = []  # of each block that was handed out

        def parts() -> Iterator[Part]:
            for number, one in enumerate(self.training):
                for block in one.blocks(unit):
                    sources.append(number)
                    yield Part(number, block, self._same_corpus(unit, one), asked)

        done = search_blocks(folder, parts(), side, self.map_shards)
        facts = list(track(done, f"comparing {unit}", unit="blocks"))
        paths = [folder / f"{number:06}" for number in range(len(facts))]
        of_training = [0] * len(self.sources)
        for source, fact in zip(sources, facts, strict=True):
            of_training[source] += fact.left_out
        names = [*self.sources, *(test.name for test in self.tests)]
        for name, left_out in zip(names, [*of_training, *side.left_out], strict=True):
            if left_out:
                self.remarks.append(
                    f"{name}: {left_out:,} rows without usable {unit} were left out."
                )
        found = merged(paths, sources, len(DETECTORS), self.settings.kept)
        return _Unit(side, tests, found, facts, sources)

    def _without_common(self, unit: str, side: TestSide) -> tuple[TestSide, Texts]:
        """Find the runs of words that count for nothing: those in many texts of a test set, or of
        the first texts of a training set.
        """
        tests, n = side.texts(), self.settings.n
        found = [
            common_shingles([tests.words.part(low, high)], n)
            for low, high in zip(side.starts, side.starts[1:], strict=False)
        ]
        found += (
            [common_shingles(_first_words(one, unit), n) for one in self.training]
            if len(tests)
            else []
        )
        path = self.work / f"{unit}.common.npy"
        common = distinct(np.concatenate(found))
        np.save(path, common)
        if len(common):
            self.remarks.append(
                f"{unit}: {plural(len(common), 'run')} of {n} words in more than {COMMON:.0%} of "
                "the texts of one set counted for nothing."
            )
        return replace(side, common=str(path.absolute())), replace(tests, common=common)

    def _same_corpus(self, unit: str, training: TextSet) -> tuple[bool, ...]:
        return tuple(
            unit == PASSAGES and training.corpus != "" and training.corpus == test.corpus
            for test in self.tests
        )

    def _of_unit(self, unit: str, number: int, of: _Unit) -> Iterator[Result]:
        """Write the pairs of a test set, and yield its results."""
        test, (low, high) = self.tests[number], of.side.starts[number : number + 2]
        mine = (of.found.tests >= low) & (of.found.tests < high) & ~of.found.shared
        places = np.flatnonzero(mine)
        lines = records(of.found, places, of.tests, self.sources)
        write_records(self.folder / file_of(test.name, unit), lines)
        words = of.tests.words.part(low, high)
        items = Items(
            test.name,
            unit,
            words.counts,
            own_runs(words, self.settings.n, of.tests.common),
            *self._queries_of(unit, number, of),
        )
        cut = of.cut(number, len(self.sources), self.settings.kept)
        self._remark(items, cut)
        pairs = Pairs(
            of.found.sources[places], of.found.tests[places] - low, of.found.found_by[places]
        )
        counted, shared = (
            summed(of.facts, of.sources, number, kind, len(self.training))
            for kind in ("pairs", "shared")
        )
        yield from overlap_results(items, pairs, counted, shared, cut, self.sources, self.settings)

    def _queries_of(self, unit: str, number: int, of: _Unit) -> tuple[np.ndarray, np.ndarray]:
        """Return links of a test set's items to its queries: the item and the query of each."""
        test, (low, high) = self.tests[number], of.side.starts[number : number + 2]
        if unit == QUERIES:
            return np.arange(high - low), np.arange(high - low)
        ids = {text_id: item for item, text_id in enumerate(of.tests.ids[low:high])}
        names: dict[str, int] = {}
        missing: set[str] = set()
        links = []
        for query_id, passage_id in test.links():
            if passage_id in ids:
                links.append((ids[passage_id], names.setdefault(query_id, len(names))))
            else:
                missing.add(passage_id)
        if missing:
            self.remarks.append(
                f"{test.name}: left out {plural(len(missing), 'relevant passage')} missing from "
                "its corpus."
            )
        item_of, query_of = np.array(links, np.int64).reshape(-1, 2).T
        return item_of, query_of

    def _remark(self, items: Items, cut: np.ndarray) -> None:
        """Say what the counts of a test set and unit leave open."""
        name, settings = items.test_set, self.settings
        if cut.any():
            self.remarks.append(
                f"{name}: of some {items.unit} only the best {settings.kept:,} pairs were kept "
                "(--kept-pairs)."
            )
        if few := len(items.words) - len(items.compared(NGRAM, settings)):
            instead = " posbias leakage find compares their words." if items.unit == QUERIES else ""
            self.remarks.append(
                f"{name}: {few:,} {items.unit} have too few words, or none but common runs of "
                f"them, so only equal ones are found.{instead}"
            )

    def _of_pairs(self, number: int, queries: _Unit, passages: _Unit) -> Iterator[Result]:
        """Join queries and passages, write the pairs, and yield their results."""
        test = self.tests[number]
        q_ids = _numbers(queries, number)
        p_ids = _numbers(passages, number)
        links = [(q_ids[q], p_ids[p]) for q, p in test.links() if q in q_ids and p in p_ids]
        if not links:
            return
        found = joined(queries.found, passages.found, [one.links() for one in self.training], links)
        lines = joined_records(
            found,
            records(queries.found, found.queries, queries.tests, self.sources),
            records(passages.found, found.passages, passages.tests, self.sources),
        )
        write_records(self.folder / file_of(test.name, PAIRS), lines)
        sources = queries.found.sources[found.queries]
        all_of = {
            name: np.bincount(
                sources[found.found_by[:, slice(None) if name == ANY else [place]].any(axis=1)],
                minlength=len(self.sources),
            )
            for place, name in enumerate((*DETECTORS, ANY))
        }
        none = {name: np.zeros(len(self.sources), np.int64) for name in all_of}
        none_known = np.zeros(len(links), np.int64)
        items = Items(
            test.name,
            PAIRS,
            none_known,
            none_known,
            np.arange(len(links)),
            np.array([q for q, _ in links]),
        )
        cut_q, cut_p = (
            of.cut(number, len(self.sources), self.settings.kept) for of in (queries, passages)
        )
        cut = joined_cut(cut_q, cut_p)
        if cut.any():
            self.remarks.append(
                f"{test.name}: pairs may be missing, as of some queries or passages only the best "
                f"{self.settings.kept:,} were kept (--kept-pairs)."
            )
        yield from overlap_results(
            items,
            Pairs(sources, found.links, found.found_by),
            all_of,
            none,
            cut,
            self.sources,
            self.settings,
        )


def _first_words(of: TextSet, unit: str) -> Iterator[Words]:
    """Yield the words of the first ``_FIRST`` texts of a set, or some more."""
    seen = 0
    for block in of.blocks(unit):
        for batch in block.batches():
            yield batch.words
            seen += len(batch)
            if seen >= _FIRST:
                return


def _numbers(of: _Unit, number: int) -> dict[str, int]:
    """Return the numbers of a test set's texts by id."""
    low, high = of.side.starts[number : number + 2]
    return {text_id: low + place for place, text_id in enumerate(of.tests.ids[low:high])}
