"""Move the same evidence through five places of texts of several lengths, padded with other
passages of the collection.

A text of length L holds a *piece* and fillers, as many whole sentences of other passages, in a
drawn order, as fit into L. A query has one sequence of fillers: a longer text begins with the
fillers of a shorter one, and the piece is put at the sentence boundary nearest to each place, a
share of the fillers. Decisions [decision]:

- The piece is the sentence with the evidence and as many of its neighbours as fit into half of the
  shortest length, so that texts stay natural and all lengths have the same piece. If no answer is
  known, it is the whole relevant passage. Longer evidence is skipped and counted.
- Competitors are the query's first ``COMPETITORS`` candidates that are not judged relevant, each a
  drawn sentence with its neighbours, in texts of the same length with the same fillers. They stand
  at place 0, so every place of a length is compared with the same competitors in the same unit, and
  the effect of length at place 0 is separate from that of place.
- Fillers are neither among the query's first ``TOP`` candidates nor judged relevant, contain none
  of its answers as text, and come from other articles if the collection records articles.
- At most ``MOST`` queries are scored, as long texts are slow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from positionbias.audit.made_ids import made_id
from positionbias.audit.manipulate import Texts
from positionbias.audit.perturb import has_end
from positionbias.audit.reads import Reads
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.schema import converted
from positionbias.core.seeds import below, choose, drawn_order
from positionbias.evaluation.length_grid import PLACES, GridFigures, LengthGrid, Scored, grid_of
from positionbias.models.protocols import token_reader
from positionbias.text.sentences import sentence_spans
from positionbias.text.words import split_words

__all__ = [
    "COMPETITORS",
    "MOST",
    "Material",
    "Piece",
    "length_grid",
    "make_materials",
    "sizes_of",
    "texts_to_score",
]

MOST = 100
COMPETITORS = 10
TOP = 30  # candidates that cannot be fillers
LONG, LONELY, UNFILLED = (
    "evidence longer than half of the shortest length",
    "fewer than two irrelevant candidates",
    "too few other passages to fill the longest text",
)
Sizes = Callable[[Sequence[str]], list[int]]


class Piece(NamedTuple):
    """Consecutive sentences of a passage: their text and size, and the text up to the end of the
    sentence with the evidence.
    """

    text: str
    size: int
    needed: str


@dataclass(frozen=True)
class Material:
    """The material of a query's texts: its piece, those of its competitors, and the sentences of
    its fillers with their sizes.
    """

    query: Query
    cluster: str
    piece: Piece
    others: Sequence[Piece]
    fill: Sequence[str]
    sizes: Sequence[int]

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def split(self, piece: Piece, length: int, place: float) -> tuple[list[str], list[str], int]:
        """Return the fillers before and after a piece, and the token or word at which it starts."""
        starts = self._starts
        count = int(np.searchsorted(starts, length - piece.size, side="right")) - 1
        before = int(np.argmin(np.abs(starts[: count + 1] - place * starts[count])))
        return [*self.fill[:before]], [*self.fill[before:count]], int(starts[before])

    def text(self, piece: Piece, length: int, place: float) -> str:
        """Return the text of this length with a piece at a place."""
        before, behind, _ = self.split(piece, length, place)
        return " ".join([*before, piece.text, *behind])

    @property
    def names(self) -> list[str]:
        """The names of a length's texts: of the evidence at each place, then of the competitors."""
        return [
            made_id(self.query.query_id, number) for number in range(len(PLACES) + len(self.others))
        ]

    def texts(self, length: int) -> dict[str, str]:
        """Return all texts of one length by name."""
        made = [self.text(self.piece, length, place) for place in PLACES]
        made += [self.text(other, length, PLACES[0]) for other in self.others]
        return dict(zip(self.names, made, strict=True))


def sizes_of(system: System) -> tuple[Sizes, str]:
    """Return the function that measures texts, and its unit: a model's tokens if it has a
    tokenizer, else words.
    """
    if (reader := token_reader(system.model)) is not None:
        return lambda texts: [len(row) for row in reader.read_passages(list(texts))], "tokens"
    return lambda texts: [len(text.split()) for text in texts], "words"


class _Articles(msgspec.Struct):
    articles: list[tuple[str, int]]


class _Source(msgspec.Struct):
    files: list[_Articles]


def _articles(collection: Collection) -> np.ndarray | None:
    """Return the article number of each stored passage, ``(passages,)``; None if the collection
    does not record articles.
    """
    try:
        source = converted(_Source, collection.manifest.content.get("source"), more=True)
    except msgspec.ValidationError:
        return None
    titles: dict[str, int] = {}
    of = [
        (titles.setdefault(title, len(titles)), count)
        for file in source.files
        for title, count in file.articles
    ]
    found = np.repeat(*np.array(of, np.int64).reshape(-1, 2).T)
    return found if len(found) == len(collection) else None


def make_materials(
    task: Task,
    query_ids: Sequence[str],
    lengths: Sequence[int],
    sizes: Sizes,
    *,
    most: int,
    seed: int,
    level: int,
) -> tuple[list[Material], dict[str, int], str]:
    """Make the material of the first ``most`` of these queries; also return the skipped ones by
    reason, and how far fillers are from the evidence.
    """
    articles = _articles(task.collection)
    queries = {query.query_id: query for query in task.queries}
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    relevant: dict[str, set[str]] = {}
    for qrel in task.qrels:
        if qrel.grade >= level:
            relevant.setdefault(qrel.query_id, set()).add(qrel.passage_id)
    answers: dict[str, set[str]] = {}
    for answer in task.collection.answers(task.split):
        answers.setdefault(answer.query_id, set()).add(_plain(answer.text))
    found: list[Material] = []
    counts: Counter[str] = Counter()
    for query_id in query_ids:
        if len(found) == most:
            break
        own = relevant.get(query_id, set()) | {task.evidence.by_query[query_id].passage_id}
        candidates = (
            list(task.candidates[query_id].passage_ids) if query_id in task.candidates else []
        )
        piece = _evidence(task, query_id, lengths[0] // 2, sizes)
        irrelevant = [name for name in candidates if name not in own][:COMPETITORS]
        found_others = [
            _competitor(
                text,
                below(len(text) or 1, seed, "competitor", query_id, name),
                lengths[0] // 2,
                sizes,
            )
            for name, text in zip(irrelevant, task.collection.texts(irrelevant), strict=True)
        ]
        others = [other for other in found_others if other is not None]
        if piece is None or len(others) < 2:
            counts[LONG if piece is None else LONELY] += 1
            continue
        apart = _Apart(
            task.collection,
            own.union(candidates[:TOP]),
            own,
            articles,
            answers.get(query_id, set()) - {"  "},
        )
        fill, filled = _fillers(apart, lengths[-1], sizes, seed, query_id)
        if sum(filled) < lengths[-1]:
            counts[UNFILLED] += 1
            continue
        found.append(Material(queries[query_id], clusters[query_id], piece, others, fill, filled))
    known = (
        "of other articles"
        if articles is not None
        else "of unknown articles, none a candidate of the query"
    )
    return sorted(found, key=lambda one: one.query.query_id), dict(counts), known


def _evidence(task: Task, query_id: str, room: int, sizes: Sizes) -> Piece | None:
    item = task.evidence.by_query[query_id]
    text = task.collection.texts([item.passage_id])[0]
    return _piece(
        text, (0, len(text)) if task.evidence.whole else (item.start, item.end), room, sizes
    )


def _competitor(text: str, at: int, room: int, sizes: Sizes) -> Piece | None:
    return _piece(text, (at, at + 1), room, sizes)


def _piece(text: str, span: tuple[int, int], room: int, sizes: Sizes) -> Piece | None:
    """Return the sentences with a span of characters and as many neighbours in turn as fit; None if
    even these sentences do not.
    """
    spans = sentence_spans(text)
    if not spans:
        return None
    touched = [place for place, (_, end) in enumerate(spans) if end > span[0]]
    first = touched[0] if touched else len(spans) - 1
    last = max([first, *(place for place, (start, _) in enumerate(spans) if start < span[1])])
    of_evidence = last
    size = sizes([_ended(text[start:end]) for start, end in spans])
    if not 0 < sum(size[first : last + 1]) <= room:
        return None
    grown = True
    while grown:
        grown = False
        for low, high in ((first, last + 1), (first - 1, last)):
            if (
                low >= 0
                and high < len(spans)
                and (low, high) != (first, last)
                and sum(size[low : high + 1]) <= room
            ):
                first, last, grown = low, high, True
    begin = spans[first][0]
    held, needed = (_ended(text[begin : spans[end][1]]) for end in (last, of_evidence))
    return Piece(held, sum(size[first : last + 1]), needed)


def _ended(text: str) -> str:
    return text if has_end(text) else f"{text}."


class _Apart(NamedTuple):
    """The conditions on passages that pad a query's texts."""

    collection: Collection
    excluded: set[str]
    relevant: set[str]
    articles: np.ndarray | None
    answers: set[str]

    def of(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of the rows that meet them."""
        drawn = np.array(rows, np.int64)
        if self.articles is not None:
            own = self.articles[self.collection.rows(sorted(self.relevant))]
            drawn = drawn[~np.isin(self.articles[drawn], own)]
        ids, texts = self.collection.passage_ids_at(drawn), self.collection.texts_at(drawn)
        free = [text for name, text in zip(ids, texts, strict=True) if name not in self.excluded]
        return [text for text in free if not any(answer in _plain(text) for answer in self.answers)]


def _plain(text: str) -> str:
    """Return a text's words in lower case between spaces, so that one text contains another if it
    contains its words.
    """
    return f" {' '.join(split_words(text).words).casefold()} "


def _fillers(
    apart: _Apart, size: int, sizes: Sizes, seed: int, query_id: str
) -> tuple[list[str], list[int]]:
    """Return sentences of drawn passages with their sizes, until they fill ``size`` or no passage
    is left.
    """
    fill, filled, used, wanted = list[str](), list[int](), 0, 32
    total, number = 0, len(apart.collection)
    while total < size and used < number:
        rows = choose(number, wanted, seed, "length grid", query_id)[used:]
        for text in apart.of(rows):
            every = [_ended(text[start:end]) for start, end in sentence_spans(text) if end > start]
            fill += every
            filled += sizes(every) if every else []
        total, used, wanted = sum(filled), min(wanted, number), 2 * wanted
    return fill, filled


def texts_to_score(
    materials: Sequence[Material], lengths: Sequence[int], room: int | None
) -> tuple[int, float]:
    """Return the number of texts, and the tokens or words of them that are read."""
    each = sum(len(PLACES) + len(one.others) for one in materials)
    return each * len(lengths), float(each * sum(min(length, room or length) for length in lengths))


def length_grid(
    system: System,
    task: Task,
    materials: Sequence[Material],
    lengths: Sequence[int],
    reads: Reads,
    *,
    unmoved: dict[str, int],
    unit: str,
    apart: str,
    seed: int,
) -> LengthGrid | None:
    """Score all texts, a length at a time; None if no query has texts or all competitors score
    alike.
    """
    if not materials:
        return None
    by_length = [_scored(system, task, materials, length, reads, seed) for length in lengths]
    leads, units, ranks, starts, beyond, cut = (
        np.stack(column, axis=1) for column in zip(*by_length, strict=True)
    )
    labels = [one.cluster for one in materials]
    cells, effects = grid_of(Scored(lengths, leads, units, ranks, starts, beyond, cut, labels))
    if not cells:
        return None
    figures = GridFigures(
        unit=unit,
        queries=len(materials),
        clusters=len(set(labels)),
        competitors=max(len(one.others) for one in materials),
        apart=apart,
        limit=reads.found,
        unmoved=unmoved,
    )
    measured = {cell.length for cell in cells}
    shown = [place for place, length in enumerate(lengths) if length in measured]
    deviations = units.mean(axis=0)[shown].tolist()
    return LengthGrid(
        [lengths[place] for place in shown], deviations, PLACES, cells, effects, figures
    )


def _scored(
    system: System, task: Task, materials: Sequence[Material], length: int, reads: Reads, seed: int
) -> tuple[np.ndarray, ...]:
    """Return leads, units, ranks, starts, and whether the evidence starts beyond the limit or is
    cut by it, one row per query.
    """
    made = {name: text for one in materials for name, text in one.texts(length).items()}
    # in a drawn order, as a scorer may depend on the order of its list
    lists = [(one.query.query_id, drawn_order(one.names, seed, "length grid")) for one in materials]
    run = Run("made", ((name, ids, -np.arange(len(ids))) for name, ids in lists))
    queries = [one.query for one in materials]
    scored = system.scored(
        task, Texts(made, task.collection), run, f"{system.name}: texts of {length:,}", queries
    )
    leads, units, ranks, starts, beyond, cut = [], [], [], [], [], []
    for one in materials:
        ranking = scored[one.query.query_id]
        by_name = dict(
            zip(ranking.passage_ids, np.asarray(ranking.scores, np.float64).tolist(), strict=True)
        )
        every = np.array([by_name[name] for name in one.names])
        own, others = every[: len(PLACES)], every[len(PLACES) :]
        leads.append(own - others.mean())
        units.append(others.std())
        ranks.append(1.0 + (others[None, :] > own[:, None]).sum(axis=1))
        split = [one.split(one.piece, length, place) for place in PLACES]
        starts.append([float(start) for _, _, start in split])
        words = one.piece.text.split()
        if reads.from_end:
            versions = [
                [[part, *after] for _, after, _ in split] for part in (words[-1], one.piece.text)
            ]
        else:
            versions = [
                [[*before, part] for before, _, _ in split] for part in (words[0], one.piece.needed)
            ]
        begins, ends = (
            reads.fits(one.query.text, list(map(" ".join, texts))) for texts in versions
        )
        beyond.append([not fits for fits in begins])
        cut.append([begun and not ended for begun, ended in zip(begins, ends, strict=True)])
    return tuple(np.array(column) for column in (leads, units, ranks, starts, beyond, cut))
