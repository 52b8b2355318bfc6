"""Move the same evidence through five places of texts of several lengths, padded by *fillers*,
whole sentences of other passages.

A query has one sequence of fillers, so a longer text begins with those of a shorter one. The
evidence is a *piece*, its sentence with neighbours, at the sentence boundary nearest to each place,
a share of the fillers. Competitors are the query's first candidates that are not judged relevant,
each a drawn sentence with its neighbours at the start of a text with the same fillers [decision].
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from positionbias.audit.manipulate import Texts
from positionbias.audit.reads import Reads
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Rows, System, Task, counted, made_id
from positionbias.core.records import Query, interval_of
from positionbias.core.seeds import below, choose, drawn_order
from positionbias.evaluation.simultaneous import simultaneous
from positionbias.models.protocols import token_reader
from positionbias.text.sentences import ended, sentence_spans, sentences
from positionbias.text.words import split_words

LENGTHS = "length by place"
MOST = 100  # queries, as long texts are slow
PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
COMPETITORS = 10
TOP = 30  # candidates that cannot be fillers
Sizes = Callable[[Sequence[str]], list[int]]


class Piece(NamedTuple):
    """Consecutive sentences of a passage: their text and size, and the text up to the end of the
    sentence with the evidence.
    """

    text: str
    size: int
    needed: str


class Material(NamedTuple):
    """The material of a query's texts: its piece, those of its competitors, and the sentences of
    its fillers with their sizes.
    """

    query: Query
    cluster: str
    piece: Piece
    competitors: Sequence[Piece]
    fill: Sequence[str]
    sizes: Sequence[int]

    def split(self, piece: Piece, length: int, place: float) -> tuple[list[str], list[str]]:
        """Return the fillers before and after a piece in a text of this length."""
        starts = np.cumsum([0, *self.sizes])
        count = int(np.searchsorted(starts, length - piece.size, side="right")) - 1
        before = int(np.argmin(np.abs(starts[: count + 1] - place * starts[count])))
        return [*self.fill[:before]], [*self.fill[before:count]]

    def text(self, piece: Piece, length: int, place: float) -> str:
        """Return the text of this length with a piece at a place."""
        before, behind = self.split(piece, length, place)
        return " ".join([*before, piece.text, *behind])


def make_materials(
    task: Task,
    query_ids: Sequence[str],
    lengths: Sequence[int],
    sizes: Sizes,
    *,
    most: int,
    seed: int,
    level: int,
) -> tuple[list[Material], dict[str, int]]:
    """Make the material of the first ``most`` of these queries; also count the skipped ones by
    reason.
    """
    room = lengths[0] // 2
    queries = {query.query_id: query for query in task.queries}
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    relevant, answers = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for qrel in task.qrels:
        if qrel.grade >= level:
            relevant[qrel.query_id].add(qrel.passage_id)
    for answer in task.collection.answers(task.split):
        answers[answer.query_id].add(_plain(answer.text))
    materials, skipped = list[Material](), Counter[str]()
    for query_id in query_ids:
        if len(materials) == most:
            break
        evidence, candidates = task.evidence.by_query[query_id], task.candidates_of(query_id)
        held = relevant[query_id] | {evidence.passage_id}
        names = [name for name in candidates if name not in held][:COMPETITORS]
        text, *others = task.collection.texts([evidence.passage_id, *names])
        piece = _piece(text, evidence.start, evidence.end, room, sizes)
        competitors = []
        for name, other in zip(names, others, strict=True):
            at = below(len(other) or 1, seed, "competitor", query_id, name)
            if (competitor := _piece(other, at, at + 1, room, sizes)) is not None:
                competitors.append(competitor)
        if piece is None or len(competitors) < 2:
            long = "evidence longer than half of the shortest length"
            skipped[long if piece is None else "fewer than two irrelevant candidates"] += 1
            continue
        fill, filled = _fillers(task, query_id, held, answers[query_id], lengths[-1], sizes, seed)
        if sum(filled) < lengths[-1]:
            skipped["too few other passages to fill the longest text"] += 1
            continue
        query, cluster = queries[query_id], clusters[query_id]
        materials.append(Material(query, cluster, piece, competitors, fill, filled))
    return sorted(materials, key=lambda material: material.query.query_id), dict(skipped)


def _fillers(
    task: Task,
    query_id: str,
    relevant: set[str],
    answers: set[str],
    size: int,
    sizes: Sizes,
    seed: int,
) -> tuple[list[str], list[int]]:
    """Return sentences of drawn passages with their sizes, to fill ``size`` where passages last:
    none is among the query's first candidates or contains one of its answers as text.
    """
    collection = task.collection
    excluded = relevant.union(task.candidates_of(query_id)[:TOP])
    fill, filled, drawn = list[str](), list[int](), 0
    while sum(filled) < size and drawn < len(collection):
        count = max(32, 2 * drawn)
        rows = np.array(choose(len(collection), count, seed, "length grid", query_id)[drawn:])
        drawn += len(rows)
        lines = []
        names, texts = collection.passage_ids_at(rows), collection.texts_at(rows)
        for name, text in zip(names, texts, strict=True):
            words = _plain(text)
            if name not in excluded and not any(answer in words for answer in answers):
                lines += [ended(line) for line in sentences(text) if line]
        fill += lines
        filled += sizes(lines) if lines else []
    return fill, filled


def _plain(text: str) -> str:
    """Return a text's words in lower case between spaces, as those of another may be in it."""
    return f" {' '.join(split_words(text).words).casefold()} "


def _piece(text: str, start: int, end: int, room: int, sizes: Sizes) -> Piece | None:
    """Return the sentences with the characters ``[start, end)``, with as many others before them,
    then behind them, as fit; None if even these sentences do not.
    """
    spans = sentence_spans(text)
    if not spans:
        return None
    first = min(sum(high <= start for _, high in spans), len(spans) - 1)
    last = evidence = max(first, sum(low < end for low, _ in spans) - 1)
    before = np.cumsum([0, *sizes([ended(text[low:high]) for low, high in spans])])
    if not 0 < before[last + 1] - before[first] <= room:
        return None
    first = int(np.searchsorted(before, before[last + 1] - room))
    last = int(np.searchsorted(before, before[first] + room, side="right")) - 2
    whole, needed = (ended(text[spans[first][0] : spans[at][1]]) for at in (last, evidence))
    return Piece(whole, int(before[last + 1] - before[first]), needed)


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
    most, level, seed = min(MOST, settings.needles), settings.relevant_from, settings.seed
    materials, skipped = make_materials(
        task, query_ids, settings.lengths, sizes, most=most, seed=seed, level=level
    )
    scored = {
        length: _scored(system, task, materials, length, reads, seed)
        for length in (settings.lengths if materials else ())
    }
    scored = {length: arrays for length, arrays in scored.items() if arrays[1].mean() > 0}
    if not scored:
        tell(f"{system.name}: no text of these lengths could be compared: {skipped or 'all tie'}")
        return []
    leads, units, unread = (np.hstack(arrays) for arrays in zip(*scored.values(), strict=True))
    cells = [
        {"measure": LENGTHS, "length": str(length), "axis": "place", "at": at, "label": f"{at:g}"}
        for length in scored
        for at in PLACES
    ]
    clusters = [material.cluster for material in materials]
    counts = {"counted": "queries", "count": len(materials), "interval": "simultaneous"}
    starts = [place - place % len(PLACES) for place in range(len(cells))]
    moved = [place for place, start in enumerate(starts) if place != start]
    means = simultaneous(leads, clusters, units)
    changes = simultaneous((leads - leads[:, starts])[:, moved], clusters, units[:, moved])
    left_out = {f"left out: {reason}": number for reason, number in skipped.items()}
    rows: list[Mapping[str, Any]] = [*counted(LENGTHS, {"unit of lengths": unit, **left_out})]
    for statistic, against, places, estimates in (
        ("mean", "", range(len(cells)), means),
        ("difference", "place=0", moved, changes),
    ):
        for place, estimate in zip(places, estimates, strict=True):
            bounds = interval_of(estimate.low, estimate.high)
            row = {"statistic": statistic, "against": against, "bounds": bounds}
            rows.append({**cells[place], **counts, **row, "value": estimate.value})
    shares = zip(cells, unread.mean(axis=0).tolist(), strict=True)
    rows += [{**cell, "statistic": "share not read", "value": share} for cell, share in shares]
    return rows


def _scored(
    system: System, task: Task, materials: Sequence[Material], length: int, reads: Reads, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return leads, competitors' deviations and unread evidence, ``(queries, places)`` each."""
    made: dict[str, str] = {}
    lists: dict[str, tuple[str, list[str]]] = {}
    for material in materials:
        query_id = material.query.query_id
        texts = [material.text(material.piece, length, place) for place in PLACES]
        texts += [material.text(other, length, PLACES[0]) for other in material.competitors]
        names = [made_id(query_id, number) for number in range(len(texts))]
        made |= zip(names, texts, strict=True)
        # in a drawn order, as a scorer may depend on the order of its list
        lists[query_id] = (material.query.text, drawn_order(names, seed, "length grid"))
    description = f"{system.name}: texts of {length:,}"
    scores = system.scores(task, Texts(made, task.collection), lists, description)
    leads, units, unread = [], [], []
    for material in materials:
        query, piece = material.query, material.piece
        by_name = scores[query.query_id]
        every = np.array([by_name[made_id(query.query_id, at)] for at in range(len(by_name))])
        others = every[len(PLACES) :]
        leads.append(every[: len(PLACES)] - others.mean())
        units.append(np.full(len(PLACES), others.std()))
        around = [material.split(piece, length, place) for place in PLACES]
        needed = [
            " ".join([piece.text, *behind] if reads.from_end else [*before, piece.needed])
            for before, behind in around
        ]
        unread.append(~np.array(reads.fits(query.text, needed)))
    return np.array(leads), np.array(units), np.array(unread)
