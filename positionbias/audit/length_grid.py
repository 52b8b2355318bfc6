"""Move the same evidence through five places of texts of several lengths, padded by other passages.

A text of length L holds a *piece* and fillers, as many whole sentences of other passages, in a
drawn order, as fit into L. A query has one sequence of fillers: a longer text begins with the
fillers of a shorter one, and the piece is put at the sentence boundary nearest to each place, a
share of the fillers.

- The piece is the sentence with the evidence and as many of its neighbours as fit into half of the
  shortest length. Longer evidence is skipped and counted.
- Fillers are neither among the query's first ``TOP`` candidates nor judged relevant, contain none
  of its answers as text, and come from other articles if the collection records articles.
- Competitors are the query's first ``COMPETITORS`` candidates that are not judged relevant, each a
  drawn sentence with its neighbours at the start of a text with the same fillers [decision].

A *lead* is the evidence's score less the competitors' mean, in deviations of their scores at that
length. No verdict rests on it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from positionbias.audit.manipulate import Texts
from positionbias.audit.perturb import has_end
from positionbias.audit.reads import Reads
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Rows, System, Task, counted, made_id
from positionbias.core.collection import Collection
from positionbias.core.interval import interval_of
from positionbias.core.records import Query
from positionbias.core.seeds import below, choose, drawn_order
from positionbias.evaluation.simultaneous import Simultaneous, simultaneous
from positionbias.models.protocols import token_reader
from positionbias.text.sentences import sentence_spans
from positionbias.text.words import split_words

__all__ = ["LENGTHS", "PLACES", "Material", "length_rows", "make_materials"]

LENGTHS = "length by place"
MOST = 100  # queries, as long texts are slow
PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
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


def _articles(collection: Collection) -> np.ndarray | None:
    """Return the article number of each stored passage, ``(passages,)``; None if the collection
    does not record articles.
    """
    source: Any = collection.manifest.content.get("source")
    try:
        pairs = [pair for file in source["files"] for pair in file["articles"]]
        titles, counts = zip(*pairs, strict=True)
        articles = np.repeat(np.unique(titles, return_inverse=True)[1], counts)
    except (KeyError, TypeError, ValueError):
        return None
    return articles if len(articles) == len(collection) else None


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
    articles, room = _articles(task.collection), lengths[0] // 2
    queries = {query.query_id: query for query in task.queries}
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    relevant: dict[str, set[str]] = defaultdict(set)
    for qrel in task.qrels:
        if qrel.grade >= level:
            relevant[qrel.query_id].add(qrel.passage_id)
    answers: dict[str, set[str]] = defaultdict(set)
    for answer in task.collection.answers(task.split):
        answers[answer.query_id].add(_plain(answer.text))
    materials: list[Material] = []
    counts: Counter[str] = Counter()
    for query_id in query_ids:
        if len(materials) == most:
            break
        item, candidates = task.evidence.by_query[query_id], task.candidates_of(query_id)
        own = relevant[query_id] | {item.passage_id}
        names = [name for name in candidates if name not in own][:COMPETITORS]
        text, *texts = task.collection.texts([item.passage_id, *names])
        piece, others = _piece(text, (item.start, item.end), room, sizes), []
        for name, other in zip(names, texts, strict=True):
            at = below(len(other) or 1, seed, "competitor", query_id, name)
            others.append(_piece(other, (at, at + 1), room, sizes))
        competitors = [other for other in others if other is not None]
        if piece is None or len(competitors) < 2:
            counts[LONG if piece is None else LONELY] += 1
            continue
        apart = _Apart(
            task.collection,
            own.union(candidates[:TOP]),
            own,
            articles,
            answers[query_id] - {"  "},
        )
        fill, filled = _fillers(apart, lengths[-1], sizes, seed, query_id)
        if sum(filled) < lengths[-1]:
            counts[UNFILLED] += 1
            continue
        materials.append(
            Material(queries[query_id], clusters[query_id], piece, competitors, fill, filled)
        )
    known = (
        "of other articles"
        if articles is not None
        else "of unknown articles, none a candidate of the query"
    )
    return sorted(materials, key=lambda one: one.query.query_id), dict(counts), known


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
    number = len(apart.collection)
    while sum(filled) < size and used < number:
        rows = choose(number, wanted, seed, "length grid", query_id)[used:]
        for text in apart.of(rows):
            every = [_ended(text[start:end]) for start, end in sentence_spans(text) if end > start]
            fill += every
            filled += sizes(every) if every else []
        used, wanted = min(wanted, number), 2 * wanted
    return fill, filled


# -- measuring -------------------------------------------------------------------------------------


def sizes_of(system: System) -> tuple[Sizes, str]:
    """Return the function that measures texts, and its unit: a model's tokens if it has a
    tokenizer, else words.
    """
    if (reader := token_reader(system.model)) is not None:
        return lambda texts: [len(row) for row in reader.read_passages(list(texts))], "tokens"
    return lambda texts: [len(text.split()) for text in texts], "words"


def length_rows(
    system: System,
    task: Task,
    query_ids: Sequence[str],
    reads: Reads,
    settings: AuditSettings,
    tell: Callable[[str], None],
) -> Rows:
    """Return the evidence's lead at every place of texts of ``settings.lengths``, each place less
    the start, and the share of queries whose evidence is not read there to its end; none if no
    query has texts or all competitors score alike.
    """
    sizes, unit = sizes_of(system)
    most, level = min(MOST, settings.needles), settings.relevant_from
    materials, skipped, fillers = make_materials(
        task, query_ids, settings.lengths, sizes, most=most, seed=settings.seed, level=level
    )
    scored = [
        _scored(system, task, materials, length, reads, settings.seed)
        for length in (settings.lengths if materials else ())
    ]
    kept = [
        (length, own)
        for length, own in zip(settings.lengths, scored, strict=False)
        if own[1].mean() > 0
    ]
    if not kept:
        tell(f"{system.name}: no text of these lengths could be compared: {skipped or 'all tie'}")
        return []
    clusters = [one.cluster for one in materials]
    leads = np.hstack([own[0] for _, own in kept])
    units = np.hstack([np.repeat(own[1], len(PLACES), axis=1) for _, own in kept])
    starts = np.repeat(np.arange(len(kept)) * len(PLACES), len(PLACES))
    moved = np.flatnonzero(np.arange(leads.shape[1]) != starts)
    means = simultaneous(leads, clusters, units)
    differences = simultaneous((leads - leads[:, starts])[:, moved], clusters, units[:, moved])
    cells = [
        {"measure": LENGTHS, "length": str(length), "axis": "place", "at": at, "label": f"{at:g}"}
        for length, _ in kept
        for at in PLACES
    ]
    counts = {"counted": "queries", "count": len(materials), "interval": "simultaneous"}
    unread = np.hstack([own[2].mean(axis=0) for _, own in kept])
    numbers: dict[str, float | str] = {"unit of lengths": unit, "fillers": fillers}
    numbers |= {f"left out: {reason}": number for reason, number in skipped.items()}
    return [
        *counted(LENGTHS, numbers),
        *(
            {**cells[place], **counts, "statistic": "mean", **_estimated(one)}
            for place, one in enumerate(means)
        ),
        *(
            {**cells[place], **counts, "statistic": "difference", "against": "place=0"}
            | _estimated(one)
            for place, one in zip(moved, differences, strict=True)
        ),
        *(
            {**cell, "statistic": "share not read", "value": float(share)}
            for cell, share in zip(cells, unread, strict=True)
        ),
    ]


def _estimated(one: Simultaneous) -> dict[str, Any]:
    return {"value": one.value, "bounds": interval_of(one.low, one.high)}


def _scored(
    system: System, task: Task, materials: Sequence[Material], length: int, reads: Reads, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return leads ``(queries, places)``, the competitors' deviations ``(queries, 1)``, and a mask
    of evidence that is not read to its end ``(queries, places)``.
    """
    made: dict[str, str] = {}
    names = {}
    for one in materials:
        texts = [one.text(one.piece, length, place) for place in PLACES]
        texts += [one.text(other, length, PLACES[0]) for other in one.others]
        names[one.query.query_id] = [
            made_id(one.query.query_id, number) for number in range(len(texts))
        ]
        made |= zip(names[one.query.query_id], texts, strict=True)
    # in a drawn order, as a scorer may depend on the order of its list
    lists = {
        one.query.query_id: (
            one.query.text,
            drawn_order(names[one.query.query_id], seed, "length grid"),
        )
        for one in materials
    }
    description = f"{system.name}: texts of {length:,}"
    scores = system.scores(task, Texts(made, task.collection), lists, description)
    leads, units, unread = [], [], []
    for one in materials:
        every = np.array([scores[one.query.query_id][name] for name in names[one.query.query_id]])
        own, others = every[: len(PLACES)], every[len(PLACES) :]
        leads.append(own - others.mean())
        units.append([others.std()])
        split = [one.split(one.piece, length, place) for place in PLACES]
        needed = [
            [one.piece.text, *behind] if reads.from_end else [*before, one.piece.needed]
            for before, behind, _ in split
        ]
        unread.append(~np.array(reads.fits(one.query.text, list(map(" ".join, needed)))))
    return np.array(leads), np.array(units), np.array(unread)
