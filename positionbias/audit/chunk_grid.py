"""Move the same evidence through a document and its chunks, where a document scores as its best chunk.

A chunked system keeps a vector per chunk and scores a document by the maximum over its chunks (MaxP; Dai and Callan, SIGIR 2019). For each
setting, a chunk size and overlap, two sets of documents of the same evidence and fillers (``chunks``) are scored [decision]:

- *where it falls*: the evidence at five places of the document, even across a border. They show what a user gets, and how often an answer is
  cut. The evidence stands at the very start and end, and within an eighth of the document around ¼, ½ and ¾, at a place drawn for each query,
  since borders tend to lie at exactly these shares.
- *crossed*: the evidence whole at the start, in the middle and at the end of the first, middle and last whole chunk, and across a border
  between two. They separate the place in the chunk from that of the chunk: each is averaged over the other. These documents end with a chunk
  of full size, so that as many chunks hold evidence at an end as at a start.

The evidence is its sentence with as many neighbours as fit into half of the smallest chunk. Competitors are those of ``length_grid``, in
documents of the same length with the same fillers. They stand at the five places in turn, drawn likewise, so that borders cut them as often.
The last setting is the whole document as one chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.audit.chunks import Circle, Document, Measured, Span, Window, words_within
from positionbias.audit.length_grid import Material, Sizes
from positionbias.audit.made_ids import made_id
from positionbias.audit.manipulate import Texts
from positionbias.audit.reads import Reads
from positionbias.audit.systems import System, Task
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order, key64
from positionbias.evaluation.chunk_grid import CELLS, Cell, ScoredChunks, chunk_grid_of
from positionbias.evaluation.length_grid import PLACES
from positionbias.results.chunk_grid import ChunkFigures, ChunkGrid, Within

__all__ = ["Documents", "chunk_grid", "chunks_to_score", "make_documents"]

BLOCK = 50_000_000  # characters of texts in memory at a time
WORD = 6  # characters of a word, roughly
NEAR = 0.25  # the share of a document around an inner place from which the place of evidence is drawn


@dataclass(frozen=True)
class Documents:
    """The material of a query's documents of one length; ``answer`` are the answering words of the evidence, None if no answer is known."""

    material: Material
    circle: Circle
    piece: Measured
    answer: Span | None
    others: Sequence[Measured]
    seed: int

    def _share(self, place: float, of: str) -> float:
        """Draw for the query the share of the document before evidence at one of the five places."""
        if place in (PLACES[0], PLACES[-1]):
            return place
        return place + (key64(self.seed, "chunk grid place", self.material.query.query_id, of) / 2**64 - 0.5) * NEAR

    def of(self, cell: Cell, window: Window) -> Document | None:
        """Return the document with the evidence at a cell; None if there is no such place, as for evidence that no border can cut."""
        natural = cell.within is Within.ANYWHERE
        circle = self.circle if natural else self.circle.shorter(window.fitted(self.circle.length))
        place = self._share(cell.place, f"{cell.place:g}") if natural else cell.place
        start = window.start_of(cell.within, place, circle.length, self.piece.size)
        before = None if start is None else circle.before(self.piece, *start)
        return None if before is None else circle.document(self.piece, before)

    def competitors(self) -> Iterator[Document]:
        """Yield the competitors' documents, at the five places in turn."""
        for number, piece in enumerate(self.others):
            wanted = self._share(PLACES[number % len(PLACES)], f"competitor {number}") * (self.circle.length - piece.size)
            before = self.circle.before(piece, wanted, 0, self.circle.length)
            assert before is not None
            yield self.circle.document(piece, before)


def make_documents(materials: Sequence[Material], length: int, sizes: Sizes, *, answers: bool, seed: int) -> list[Documents]:
    """Measure the words of each query's evidence, competitors and fillers; ``answers``: the evidence has a known answer."""
    known: dict[str, int] = {}

    def measured(text: str) -> Measured:
        words = text.split()
        new = sorted({word for word in words if word not in known})
        known.update(zip(new, sizes(new), strict=True) if new else ())
        return Measured(words, np.array([known[word] for word in words], np.int64))

    def made(one: Material) -> Documents:
        answer = words_within(one.piece.text, one.piece.span) if answers else None
        turn = below(len(one.fill), seed, "chunk grid circle", one.query.query_id)
        circle = Circle([measured(sentence) for sentence in [*one.fill[turn:], *one.fill[:turn]]], length)
        return Documents(one, circle, measured(one.piece.text), answer, [measured(other.text) for other in one.others], seed)

    return [made(one) for one in materials]


def chunks_to_score(documents: Sequence[Documents], pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the largest possible number of chunks, and of their words or tokens."""
    each = sum(len(CELLS) + len(one.others) for one in documents)
    counts = [(Window(*pair).count(documents[0].circle.length), pair[0]) for pair in pairs] if documents else []
    return each * sum(count for count, _ in counts), each * sum(count * size for count, size in counts)


def chunk_grid(
    system: System,
    task: Task,
    documents: Sequence[Documents],
    pairs: Sequence[tuple[int, int]],
    reads: Reads,
    *,
    unmoved: dict[str, int],
    unit: str,
    apart: str,
    seed: int,
) -> ChunkGrid | None:
    """Score all chunks, a setting at a time; None if no query has documents or all competitors score alike."""
    if not documents:
        return None
    by_setting = [_setting(system, task, documents, Window(*pair), reads, seed) for pair in pairs]
    labels = [one.material.cluster for one in documents]
    settings, cells, effects = chunk_grid_of(_scored(pairs, by_setting, labels))
    if not settings:
        return None
    figures = ChunkFigures(
        unit=unit,
        document=documents[0].circle.length,
        queries=len(documents),
        clusters=len(set(labels)),
        competitors=max(len(one.others) for one in documents),
        apart=apart,
        limit=reads.found,
        unmoved=unmoved,
    )
    return ChunkGrid(settings, cells, effects, figures)


class _Row(NamedTuple):
    """One query in one setting. ``cells (5, cells)`` are its leads, ranks, starts, chunks with the evidence, and whether it is beyond the limit,
    NaN without such a document. Then the deviation of its competitors, its index budget, and the number of its documents at the five places whose
    evidence, or answer, is whole in no chunk."""

    cells: np.ndarray
    unit: float
    vectors: float
    stored: float
    evidence_cut: int
    answers_cut: int | None


def _scored(pairs: Sequence[tuple[int, int]], by_setting: Sequence[Sequence[_Row]], labels: Sequence[str]) -> ScoredChunks:
    cells = np.stack([[row.cells for row in rows] for rows in by_setting], axis=1)

    def column(name: str) -> np.ndarray:
        return np.array([[getattr(row, name) for row in rows] for rows in by_setting]).T

    leads, ranks, starts, held, beyond = (cells[:, :, at] for at in range(5))
    return ScoredChunks(
        pairs, leads, ranks, starts, held, beyond, column("unit"), column("vectors"), column("stored"),
        evidence_cut=[sum(row.evidence_cut for row in rows) for rows in by_setting],
        answers_cut=[_total([row.answers_cut for row in rows]) for rows in by_setting],
        clusters=labels,
    )  # fmt: skip


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _setting(system: System, task: Task, documents: Sequence[Documents], window: Window, reads: Reads, seed: int) -> list[_Row]:
    """Return the rows of all queries, scored in blocks that fit in memory."""
    length = documents[0].circle.length
    each = window.count(length) * window.size * WORD * max(len(CELLS) + len(one.others) for one in documents)
    size = max(1, BLOCK // each)
    told = f"{system.name}: chunks of {window.size:,}" + (f", overlap {window.overlap:,}" if window.overlap else "")
    found = []
    for start in range(0, len(documents), size):
        block = [_Asked.of(one, window) for one in documents[start : start + size]]
        found += _block(system, task, block, reads, seed, told)
    return found


@dataclass(frozen=True)
class _Asked:
    """A query's documents in one setting with their chunks, and the number of each distinct chunk by its text."""

    of_query: Documents
    own: Sequence[tuple[Document, Sequence[Span]] | None]
    others: Sequence[tuple[Document, Sequence[Span]]]
    numbers: dict[str, int]

    @staticmethod
    def of(one: Documents, window: Window) -> _Asked:
        """Make all documents and cut them."""
        own = [
            None if document is None else (document, window.spans(document.starts))
            for document in (one.of(cell, window) for cell in CELLS)
        ]
        others = [(document, window.spans(document.starts)) for document in one.competitors()]
        numbers: dict[str, int] = {}
        for document, chunks in [*filter(None, own), *others]:
            for span in chunks:
                numbers.setdefault(document.text(span), len(numbers))
        return _Asked(one, own, others, numbers)

    @property
    def query_id(self) -> str:
        """The query's id."""
        return self.of_query.material.query.query_id

    @property
    def texts(self) -> dict[str, str]:
        """The distinct chunks by name."""
        return {made_id(self.query_id, number): text for text, number in self.numbers.items()}

    def best(self, document: Document, chunks: Sequence[Span], scores: np.ndarray) -> float:
        """Return a document's score, the maximum of its chunks' ``scores (chunks,)``, which are by number."""
        return float(max(scores[self.numbers[document.text(span)]] for span in chunks))


def _block(system: System, task: Task, block: Sequence[_Asked], reads: Reads, seed: int, told: str) -> list[_Row]:
    made = {name: text for one in block for name, text in one.texts.items()}
    # in a drawn order, as a scorer may depend on the order of its list
    lists = [(one.query_id, drawn_order(one.texts, seed, "chunk grid")) for one in block]
    run = Run("made", ((name, ids, -np.arange(len(ids))) for name, ids in lists))
    scored = system.scored(task, Texts(made, task.collection), run, told, [one.of_query.material.query for one in block])
    rows = []
    for one in block:
        ranking = scored[one.query_id]
        by_name = dict(zip(ranking.passage_ids, np.asarray(ranking.scores, np.float64).tolist(), strict=True))
        scores = np.array([by_name[name] for name in one.texts])
        rows.append(_row(one, scores, reads))
    return rows


def _row(one: _Asked, scores: np.ndarray, reads: Reads) -> _Row:
    others = np.array([one.best(*other, scores) for other in one.others])
    found = np.full((5, len(CELLS)), np.nan)
    evidence_cut = answers_cut = 0
    answer = one.of_query.answer
    for column, (cell, given) in enumerate(zip(CELLS, one.own, strict=True)):
        if given is None:
            continue
        document, chunks = given
        score = one.best(document, chunks, scores)
        held = document.held(document.evidence, chunks)
        read = reads.fits(one.of_query.material.query.text, document.read_to(chunks))
        rank = 1.0 + float((others > score).sum())
        found[:, column] = score - others.mean(), rank, document.starts[document.evidence[0]], held, not any(read)
        if cell.within is Within.ANYWHERE:
            evidence_cut += held == 0
            answers_cut += answer is not None and document.held(_moved(answer, document.evidence[0]), chunks) == 0
    natural = [given for given in one.own[: len(PLACES)] if given is not None]
    stored = [sum(int(document.starts[end] - document.starts[first]) for first, end in chunks) for document, chunks in natural]
    vectors = float(np.mean([len(chunks) for _, chunks in natural]))
    return _Row(
        found, float(others.std()), vectors, float(np.mean(stored)), evidence_cut, None if answer is None else answers_cut
    )


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by
