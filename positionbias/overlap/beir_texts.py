"""The texts of a BEIR or MTEB folder: a split's queries and its judged passages, or the whole
corpus.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from positionbias.core.closest import or_closest
from positionbias.core.errors import InputError, bad_input
from positionbias.core.input_state import content_digest
from positionbias.core.records import Query
from positionbias.formats.beir_files import (
    BeirFiles,
    Judgements,
    corpus_blocks,
    read_passages,
    read_queries,
)
from positionbias.formats.row_blocks import RowBlock
from positionbias.overlap.collection_texts import BATCH
from positionbias.overlap.detectors import Texts
from positionbias.overlap.settings import PASSAGES, OverlapSettings

__all__ = ["BeirTexts", "is_beir"]

_BLOCK = 1 << 15  # queries of a block


def is_beir(folder: Path) -> bool:
    """Return True if a folder has a corpus in BEIR's form."""
    try:
        BeirFiles.find(folder)
    except InputError:
        return any(folder.glob("corpus.*")) or (folder / "qrels").is_dir()
    return True


@dataclass(frozen=True)
class BeirTexts:
    """The queries of a split and the passages that its judgements name, as ``CollectionTexts`` has
    them; a passage is its title and its text.
    """

    name: str
    place: Path
    files: BeirFiles
    split: str
    relevant_from: int
    all_passages: bool
    test: bool

    @staticmethod
    def of(
        name: str, folder: Path, split: str, settings: OverlapSettings, *, test: bool
    ) -> BeirTexts:
        """Return a folder's texts.

        Raises:
            InputError: no such split, or no folder in BEIR's form.
        """
        files = BeirFiles.find(folder)
        if files.qrels and split not in files.qrels:
            do = or_closest(split, files.qrels, f"name one: {folder.name}:SPLIT")
            raise bad_input(
                folder,
                wanted=f"judgements of a split {split!r}",
                found=", ".join(files.qrels),
                do=do,
            )
        lowest = settings.relevant_from if test else 1
        return BeirTexts(name, folder, files, split, lowest, settings.all_passages, test)

    @cached_property
    def checksum(self) -> str:
        return _digest(self.files.inputs.values())

    @cached_property
    def corpus(self) -> str:
        return _digest(self.files.corpus)

    @cached_property
    def _queries(self) -> Mapping[str, Query]:
        return read_queries(self.files.queries)[0] if self.files.queries else {}

    @cached_property
    def _grades(self) -> Mapping[tuple[str, str], int]:
        return Judgements(self.files.qrels.get(self.split, ()), self._queries).read().grades

    def blocks(self, unit: str) -> Iterator[CorpusBlock | ReadBlock]:
        """Yield the passages or the queries."""
        if unit == PASSAGES:
            judged = None
            if self._grades and not self.all_passages:
                lowest = self.relevant_from if self.test else None
                judged = _Judged(str(self.place), self.split, lowest, self.checksum)
            yield from (CorpusBlock(block, judged) for block in corpus_blocks(self.files.corpus))
            return
        named = {query_id for query_id, _ in self._grades}
        asked = iter(
            [
                (one.query_id, one.text)
                for one in self._queries.values()
                if not named or one.query_id in named
            ]
        )
        while block := list(islice(asked, _BLOCK)):
            yield ReadBlock(*map(list, zip(*block, strict=True)))

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield the split's queries with their relevant passages."""
        return (pair for pair, grade in self._grades.items() if grade >= self.relevant_from)


def _digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256("".join(map(content_digest, paths)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Judged:
    """The passages that a split's judgements name, from a grade on; read once in each process."""

    folder: str
    split: str
    lowest: int | None
    checksum: str

    def ids(self) -> frozenset[str]:
        return _judged_ids(self)


@lru_cache(maxsize=4)
def _judged_ids(of: _Judged) -> frozenset[str]:
    files = BeirFiles.find(Path(of.folder))
    grades = Judgements(files.qrels[of.split], read_queries(files.queries)[0]).read().grades
    return frozenset(
        passage_id
        for (_, passage_id), grade in grades.items()
        if of.lowest is None or grade >= of.lowest
    )


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """The passages of a block of the corpus, all or the judged ones."""

    rows: RowBlock
    judged: _Judged | None

    def batches(self) -> Iterator[Texts]:
        """Yield the passages."""
        passages = read_passages(self.rows, True, Counter())
        if self.judged is not None:
            wanted = self.judged.ids()
            passages = (passage for passage in passages if passage.passage_id in wanted)
        while batch := list(islice(passages, BATCH)):
            ids, texts = zip(*batch, strict=True)
            yield Texts(ids, texts)

    def fingerprint(self) -> str:
        """Return that of the rows, and of the judgements."""
        return f"{self.rows.fingerprint()} {self.judged}"


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Texts that were read already."""

    ids: Sequence[str]
    texts: Sequence[str]

    def batches(self) -> Iterator[Texts]:
        """Yield the texts."""
        for start in range(0, len(self.ids), BATCH):
            yield Texts(self.ids[start : start + BATCH], self.texts[start : start + BATCH])

    def fingerprint(self) -> str:
        """Return a hash of the texts."""
        digest = hashlib.blake2b(digest_size=16)
        for part in zip(self.ids, self.texts, strict=True):
            digest.update(repr(part).encode("utf-8", "replace"))
        return digest.hexdigest()
