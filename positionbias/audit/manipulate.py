"""Score the manipulations behind a verdict, the same evidence at other places of its passage, and
compare them by query.

A pointwise scorer gets a query's texts in a drawn order. A listwise scorer gets one list per text:
the query's candidates in a drawn order, with the text in place of its passage, so that its place in
the list is the same for all texts [decision].
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import RANKS, SCORE, Contrast
from positionbias.audit.systems import System, Task, made_id, scores_of
from positionbias.audit.trials import COLUMNS, PLACEBO_QUERY, Trial
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.measures import parse_measure, per_query
from positionbias.ranking.scored import PassageTexts

__all__ = ["Asked", "Fits", "Manipulation", "Measured", "Texts", "ask", "mean_unit", "measure"]

ROUNDED = 4  # decimals of the unit: the order of a float32 sum changes less than this

# (query, texts) → mask of those that the model reads whole
Fits = Callable[[str, Sequence[str]], list[bool]]


class Texts(NamedTuple):
    """Texts made for an audit, and those of a collection or a rotated one."""

    made: Mapping[str, str]
    base: PassageTexts

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return texts by id: made ones, and others from the collection."""
        others = [name for name in passage_ids if name not in self.made]
        stored = dict(zip(others, self.base.texts(others) if others else [], strict=True))
        return [self.made[name] if name in self.made else stored[name] for name in passage_ids]


@dataclass(frozen=True, slots=True)
class Manipulation:
    """The settings for scoring a system: ``listwise`` or not, and its competitors.

    ``ranked`` is its ranking of the original passages, ``rotated`` that with all passages rotated
    by one draw (None: not measured), whose texts are ``rotated_texts``.
    """

    system: System
    task: Task
    measure: str
    seed: int
    listwise: bool
    ranked: Run
    rotated: Run | None = None
    rotated_texts: PassageTexts | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The contrasts ``COLUMNS`` of each query, ``(queries, contrasts)``, NaN if a query has none,
    by unit: "score" (of a listwise scorer: minus the rank), "ranks" (gained) and the measure.
    ``whole (queries, contrasts)``: the model reads all texts of the contrast whole.

    ``within`` is the variance of one order's ENDS contrast around its query's mean. ``unit`` names
    what "score" holds.
    """

    query_ids: Sequence[str]
    clusters: Sequence[str]
    by_unit: Mapping[str, np.ndarray]
    whole: np.ndarray
    within: float
    unit: str = SCORE


class Asked(dict[tuple[str, str], float]):
    """The scores so far by (list, text), and the ``seconds`` taken for ``texts`` texts."""

    seconds: float = 0.0
    texts: int = 0

    def full(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the trials without a missing score."""
        lacking = {name for (name, _), score in self.items() if score != score}
        return [one for one in trials if lacking.isdisjoint(one.lists)]


def ask(how: Manipulation, trials: Sequence[Trial], known: Asked, description: str) -> None:
    """Score all texts of the trials that are not yet in ``known``.

    Raises:
        InputError: a scorer that fails, or whose scores are not finite.
    """
    began, queries = time.perf_counter(), how.task.texts
    made = {name: text for one in trials for name, text in zip(one.names, one.texts, strict=True)}
    lists = [each for one in trials for each in _lists(how, one, queries)]
    for rotated, base in ((False, how.task.collection), (True, how.rotated_texts)):
        wanted = {
            name: (query, ids)
            for name, query, all_ids, of_rotated in lists
            if of_rotated == rotated and (ids := _unscored(how, known, name, all_ids))
        }
        if base is None or not wanted:
            continue
        scored = how.system.scores(how.task, Texts(made, base), wanted, description)
        for name, scores in scored.items():
            known.update(((name, text), score) for text, score in scores.items())
            known.texts += len(scores)
    known.seconds += time.perf_counter() - began


def _unscored(how: Manipulation, known: Asked, name: str, ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of a list to be scored: of a listwise scorer all or none."""
    missing = [text for text in ids if (name, text) not in known]
    return ids if missing and how.listwise else missing


def _lists(
    how: Manipulation, one: Trial, queries: Mapping[str, str]
) -> Iterator[tuple[str, str, Sequence[str], bool]]:
    """Yield the lists to score: name, the query's text, the ordered ids, and whether passages are
    rotated. Pointwise: all texts of a query in one list, in a drawn order. Listwise: each text in
    its query's list, whose order is drawn once for all texts of the query."""
    query_id, query = one.query_id, queries[one.query_id]
    if not how.listwise:
        yield query_id, query, _shuffled(one.names, how.seed, query_id), False
        if one.placebo_query:
            name = made_id(query_id, PLACEBO_QUERY)
            both = _shuffled([one.names[place] for place in one.rotated], how.seed, name)
            yield name, queries[one.placebo_query], both, False
        return
    order = _shuffled([one.passage_id, *_listed(how.task, one)], how.seed, query_id)
    for place, name in enumerate(one.names):
        ids = [name if passage == one.passage_id else passage for passage in order]
        yield name, query, ids, place in one.rotated


def measure(how: Manipulation, trials: Sequence[Trial], known: Asked, fits: Fits) -> Measured:
    """Return the contrasts of scored trials, a column each. Scores are rounded to 1e-4 of the mean
    worth.
    """
    queries, shape = how.task.texts, (len(trials), len(COLUMNS))
    labels = dict(zip(how.task.query_ids, how.task.clusters, strict=True))
    by_unit = {unit: np.full(shape, np.nan) for unit in (SCORE, RANKS, how.measure)}
    whole, within = np.ones(shape, bool), []
    for row, (one, figures) in enumerate(zip(trials, _figures(how, trials, known), strict=True)):
        read = np.array(fits(queries[one.query_id], one.texts))
        for column, contrast in enumerate(COLUMNS):
            pairs = np.array([pair[1:] for pair in one.of(contrast)])
            if not len(pairs):
                continue
            whole[row, column] = read[pairs].all()
            for unit, table in by_unit.items():
                changes = figures[unit][pairs[:, 1]] - figures[unit][pairs[:, 0]]
                table[row, column] = changes.mean()
                if unit == SCORE and contrast == Contrast.ENDS and len(changes) > 1:
                    within.append(changes.var(ddof=1))
            if contrast == Contrast.ROTATION and one.placebo_query and not how.listwise:
                # the placebo query has no passage here, so no rank and no quality
                name = made_id(one.query_id, PLACEBO_QUERY)
                front, end = (known[name, one.names[place]] for place in one.rotated)
                by_unit[SCORE][row, column] -= end - front
    worth = mean_unit(by_unit[SCORE][:, COLUMNS.index(Contrast.WORTH)])
    if worth > 0 and not how.listwise:
        by_unit[SCORE] = np.round(by_unit[SCORE] / worth, ROUNDED) * worth
    return Measured(
        query_ids=[one.query_id for one in trials],
        clusters=[labels[one.query_id] for one in trials],
        by_unit=by_unit,
        whole=whole,
        within=float(np.mean(within)) if within else 0.0,
        unit=RANKS if how.listwise else SCORE,
    )


def mean_unit(units: np.ndarray) -> float:
    """Return the mean of units by query, without NaN; 0 if none is known or the mean is not
    above 0.
    """
    known = units[~np.isnan(units)]
    return max(float(known.mean()), 0.0) if len(known) else 0.0


class _Competitors(NamedTuple):
    """The passages with which a text is ranked, best first, with their scores."""

    passage_ids: Sequence[str]
    scores: np.ndarray

    @staticmethod
    def of(scores: Mapping[str, float]) -> _Competitors:
        """Return passages in the order of their scores."""
        ids = sorted(scores, key=lambda name: -scores[name])
        return _Competitors(ids, np.array([scores[name] for name in ids]))


def _figures(
    how: Manipulation, trials: Sequence[Trial], known: Mapping[tuple[str, str], float]
) -> list[dict[str, np.ndarray]]:
    """Return the scores, ranks gained and qualities of each trial's texts, ``(texts,)``."""
    scores = [
        np.array(
            [
                known.get((name if how.listwise else one.query_id, name), np.nan)
                for name in one.names
            ]
        )
        for one in trials
    ]
    competitors = [_competitors(how, one, known) for one in trials]
    ranks = [
        np.array(
            [
                np.nan if others is None else 1.0 + (others.scores > score).sum()
                for score, others in zip(own, beside, strict=True)
            ]
        )
        for own, beside in zip(scores, competitors, strict=True)
    ]
    qualities = _qualities(how, trials, competitors, ranks)
    return [
        {SCORE: -place if how.listwise else score, RANKS: -place, how.measure: quality}
        for score, place, quality in zip(scores, ranks, qualities, strict=True)
    ]


def _competitors(
    how: Manipulation, one: Trial, known: Mapping[tuple[str, str], float]
) -> list[_Competitors | None]:
    """Return the competitors of each text; None: unknown."""
    if how.listwise:
        others = _listed(how.task, one)
        return [
            _Competitors.of({other: known[name, other] for other in others})
            if (name, name) in known
            else None
            for name in one.names
        ]
    original, rotated = (
        None
        if run is None
        else _Competitors.of(
            {
                name: score
                for name, score in (
                    scores_of(run, one.query_id) if one.query_id in run else {}
                ).items()
                if name != one.passage_id
            }
        )
        for run in (how.ranked, how.rotated)
    )
    return [rotated if place in one.rotated else original for place in range(len(one.texts))]


def _shuffled(ids: Sequence[str], seed: int, query_id: str) -> list[str]:
    return drawn_order(ids, seed, "order of a list", query_id)


def _listed(task: Task, one: Trial) -> list[str]:
    """Return a query's candidates without its own passage."""
    return [name for name in task.candidates_of(one.query_id) if name != one.passage_id]


def _qualities(
    how: Manipulation,
    trials: Sequence[Trial],
    competitors: Sequence[Sequence[_Competitors | None]],
    ranks: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Return the measure of each query with its passage at each text's rank, ``(texts,)`` per
    trial; NaN if the rank is unknown.

    A query is measured once at each distinct rank; all ranks below the measure's cutoff are equal.
    """
    cutoff = parse_measure(how.measure).params.get("cutoff")
    judged: dict[str, list[Qrel]] = defaultdict(list)
    for qrel in how.task.qrels:
        judged[qrel.query_id].append(qrel)
    rankings: dict[tuple[str, Sequence[str]], str] = {}  # hypothetical ones, by query
    names: list[list[str]] = []
    for one, beside, places in zip(trials, competitors, ranks, strict=True):
        tops = {id(others): others.passage_ids[:cutoff] for others in beside if others is not None}
        row = []
        for others, rank in zip(beside, places, strict=True):
            if others is None:
                row.append("")
                continue
            top, place = tops[id(others)], min(int(rank) - 1, len(tops[id(others)]))
            ids = (*top[:place], one.passage_id, *top[place:])[:cutoff]
            row.append(rankings.setdefault((one.query_id, ids), str(len(rankings) + 1)))
        names.append(row)
    if not rankings:
        return [np.full(len(row), np.nan) for row in names]
    run = Run(
        "hypothetical", ((name, ids, -np.arange(len(ids))) for (_, ids), name in rankings.items())
    )
    qrels = [
        Qrel(name, qrel.passage_id, qrel.grade)
        for (query_id, _), name in rankings.items()
        for qrel in judged[query_id]
    ]
    values = per_query(run, qrels, [how.measure])[how.measure] | {"": np.nan}
    return [np.array([values[name] for name in row]) for row in names]
