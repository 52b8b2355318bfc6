"""Search blocks of training texts for the test texts, here or in other processes; each block leaves
a file of what it found.

tests/UNIT.arrow        the test texts, which every process reads once
hits/UNIT/NUMBER        of each block, its best hits by test text and detector, with ids and texts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.errors import bad_input
from positionbias.core.per_process import PerProcess
from positionbias.core.shard_work import MapShards, make_shards
from positionbias.overlap.detectors import SCORES, Hits, Search, Texts
from positionbias.overlap.found import HITS, best_rows
from positionbias.overlap.scan import searches
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.sources import TextBlock, TextSet
from positionbias.results.overlap import ANY

__all__ = ["BlockFacts", "Part", "TestSide", "search_blocks", "write_tests"]

_ROWS, _PILE = 1 << 14, 1 << 18  # hits with their texts
_TESTS = pa.schema([("id", pa.string()), ("text", pa.string())])


@dataclass(frozen=True, slots=True)
class TestSide:
    """The test texts of a unit, in a file: those of test set t are numbered ``starts[t]`` to
    ``starts[t + 1]``; rows of each without a usable text are counted.
    """

    path: str
    settings: OverlapSettings
    starts: tuple[int, ...]
    left_out: tuple[int, ...] = ()
    common: str = ""  # the file of the runs of words that count for nothing

    __test__ = False  # no class of tests, whatever its name says

    def texts(self) -> Texts:
        """Return the texts of all test sets."""
        with pa.OSFile(self.path) as file:
            table = ipc.open_file(file).read_all()
        common = np.load(self.common) if self.common else np.zeros(0, np.uint64)
        return Texts(table["id"].to_pylist(), table["text"].to_pylist(), common=common)

    def __call__(self) -> tuple[Texts, Mapping[str, Search]]:
        """Return the texts, and the search of each detector for them."""
        texts = self.texts()
        return texts, searches(texts, self.settings)


def write_tests(
    path: Path, tests: Sequence[TextSet], unit: str, settings: OverlapSettings
) -> TestSide:
    """Write the texts of a unit of all test sets, each id of a set once.

    Raises:
        InputError: an id with two texts.
    """
    starts, left_out = [0], [0] * len(tests)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, _TESTS) as file:
        for number, one in enumerate(tests):
            seen: dict[str, str] = {}
            for block in one.blocks(unit):
                for batch in block.batches():
                    left_out[number] += batch.left_out
                    new = {}
                    for text_id, text in zip(batch.ids, batch.texts, strict=True):
                        if text_id not in seen:
                            seen[text_id] = new[text_id] = text
                        elif seen[text_id] != text:
                            found = f"{unit[:-1]} {text_id!r} with two texts"
                            raise bad_input(
                                one.place,
                                wanted="one text an id",
                                found=found,
                                do="give texts ids of their own",
                            )
                    file.write_batch(
                        pa.record_batch(
                            [pa.array(list(new)), pa.array(list(new.values()))], schema=_TESTS
                        )
                    )
            starts.append(starts[-1] + len(seen))
    return TestSide(str(path.absolute()), settings, tuple(starts), tuple(left_out))


@dataclass(frozen=True, slots=True)
class Part:
    """A block of a training set; ``same_corpus`` says for each test set whether passages of one id
    are the same passage.
    """

    source: int
    block: TextBlock
    same_corpus: tuple[bool, ...]
    depends_on: str

    def fingerprint(self) -> str:
        """Return the block's, and what else decides its hits."""
        return f"{self.depends_on} {self.source} {self.same_corpus} {self.block.fingerprint()}"


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """Counts of a block: its texts, rows left out, and its pairs by detector and test set; pairs of
    one passage in a shared corpus apart.
    """

    texts: int
    left_out: int
    pairs: Mapping[str, Sequence[int]]
    shared: Mapping[str, Sequence[int]]


def search_blocks(
    folder: Path, parts: Iterable[Part], side: TestSide, map_shards: MapShards = map
) -> Iterator[BlockFacts]:
    """Search every block; the hits of the n-th stand in the n-th file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return make_shards(
        BlockFacts, _BlockSearch(side), parts, lambda number: folder / f"{number:06}", map_shards
    )


class _BlockSearch:
    """The search of one block, with the test side made once in each process."""

    def __init__(self, side: TestSide) -> None:
        self.side = side
        self.made = PerProcess(side)

    def __reduce__(self) -> tuple[type[_BlockSearch], tuple[TestSide]]:
        return _BlockSearch, (self.side,)

    def __call__(self, part: Part, path: Path) -> BlockFacts:
        tests, found = self.made()
        names, sets = list(found), len(self.side.starts) - 1
        counts = {
            kind: {name: np.zeros(sets, np.int64) for name in (*names, ANY)}
            for kind in ("pairs", "shared")
        }
        best, texts, left_out = _Best(self.side.settings.kept), 0, 0
        for batch in part.block.batches():
            texts += len(batch)
            left_out += batch.left_out
            hits = {name: search(batch) for name, search in found.items()}
            shared = {name: self._shared(one, batch, tests, part) for name, one in hits.items()}
            self._count(hits, shared, counts, len(tests))
            for number, name in enumerate(names):
                best.add(number, hits[name], shared[name], batch)
        with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, HITS) as file:
            file.write_table(best.table(), max_chunksize=_ROWS)
        return BlockFacts(
            texts,
            left_out,
            *({name: one.tolist() for name, one in of.items()} for of in counts.values()),
        )

    def _shared(self, hits: Hits, batch: Texts, tests: Texts, part: Part) -> np.ndarray:
        """Return True for hits of a passage with itself, in a corpus that both sides share."""
        if not any(part.same_corpus) or not len(hits.train):
            return np.zeros(len(hits.train), bool)
        pairs = zip(hits.train.tolist(), hits.test.tolist(), strict=True)
        same = np.fromiter(
            (batch.ids[train] == tests.ids[test] for train, test in pairs), bool, len(hits.train)
        )
        return same & np.array(part.same_corpus)[self._sets(hits.test)]

    def _sets(self, numbers: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.side.starts, numbers, side="right") - 1

    def _count(
        self,
        hits: Mapping[str, Hits],
        shared: Mapping[str, np.ndarray],
        counts: Mapping[str, dict[str, np.ndarray]],
        tests: int,
    ) -> None:
        keys = {name: one.train * tests + one.test for name, one in hits.items()}
        own = {name: (keys[name], shared[name]) for name in hits}
        every, first = np.unique(np.concatenate(list(keys.values())), return_index=True)
        own[ANY] = every, np.concatenate(list(shared.values()))[first]
        for name, (pairs, same) in own.items():
            for kind, kept in (("pairs", ~same), ("shared", same)):
                counts[kind][name] += np.bincount(
                    self._sets(pairs[kept] % tests), minlength=len(self.side.starts) - 1
                )


def _table(detector: int, hits: Hits, shared: np.ndarray, batch: Texts) -> pa.Table:
    """Return hits as rows with ids and texts."""
    count = len(hits.train)
    columns = [
        pa.array(np.full(count, detector, np.int8)),
        pa.array(hits.test.astype(np.int32)),
        pa.array(shared),
        *(pa.array(hits.scores[name]) for name in SCORES),
        *(
            pa.array([column[place] for place in hits.train.tolist()])
            for column in (batch.ids, batch.texts)
        ),
    ]
    return pa.table(columns, names=HITS.names).cast(HITS)


class _Best:
    """The best hits of each detector and test text, each training id once, and those of a shared
    corpus; others are dropped as they pile up.
    """

    def __init__(self, kept: int) -> None:
        self.kept, self.tables, self.rows, self.most = kept, [HITS.empty_table()], 0, _PILE

    def add(self, detector: int, hits: Hits, shared: np.ndarray, batch: Texts) -> None:
        """Add what a detector found in a batch."""
        for start in range(0, len(hits.train), _ROWS):
            part = slice(start, start + _ROWS)
            scores = {name: values[part] for name, values in hits.scores.items()}
            self.tables.append(
                _table(
                    detector, Hits(hits.train[part], hits.test[part], scores), shared[part], batch
                )
            )
            self.rows += len(self.tables[-1])
            if self.rows > self.most:
                self.most = max(_PILE, 2 * len(self.table()))

    def table(self) -> pa.Table:
        """Return the best so far."""
        whole = pa.concat_tables(self.tables)
        self.tables = [whole.take(pa.array(best_rows(whole, self.kept)))]
        self.rows = len(self.tables[0])
        return self.tables[0]
