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

ORDER = "order of a list"
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
    """How a system is scored. ``ranked`` is its ranking of the original passages, ``rotated`` that
    of ``rotated_texts``, all rotated by one draw (None: not measured).
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
    by unit: "score" (of a listwise scorer: minus the rank, as ``unit`` says), "ranks" (gained) and
    the measure. ``whole (queries, contrasts)``: the model reads all texts of the contrast whole.
    ``within`` is the variance of one order's ENDS contrast around its query's mean.
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
        lacking = {name for names, score in self.items() if score != score for name in names}
        return [trial for trial in trials if lacking.isdisjoint(trial.names)]


def ask(how: Manipulation, trials: Sequence[Trial], known: Asked, description: str) -> None:
    """Score all texts of the trials that are not yet in ``known``."""
    began, queries = time.perf_counter(), how.task.texts
    made: dict[str, str] = {}
    lists: dict[bool, dict[str, tuple[str, Sequence[str]]]] = {False: {}, True: {}}
    for trial in trials:
        made |= zip(trial.names, trial.texts, strict=True)
        for name, query, ids, rotated in _lists(how, trial, queries):
            missing = [text for text in ids if (name, text) not in known]
            if missing:  # of a listwise scorer's list all or none
                lists[rotated][name] = query, ids if how.listwise else missing
    for base, wanted in ((how.task.collection, lists[False]), (how.rotated_texts, lists[True])):
        if base is None or not wanted:
            continue
        scored = how.system.scores(how.task, Texts(made, base), wanted, description)
        for name, scores in scored.items():
            known.update(((name, text), score) for text, score in scores.items())
            known.texts += len(scores)
    known.seconds += time.perf_counter() - began


def _lists(
    how: Manipulation, trial: Trial, queries: Mapping[str, str]
) -> Iterator[tuple[str, str, Sequence[str], bool]]:
    """Yield the lists to score: name, the query's text, the ordered ids, and whether passages are
    rotated. Pointwise: all texts of a query in one list, in a drawn order. Listwise: each text in
    its query's list, whose order is drawn once for all texts of the query."""
    query_id, query, names = trial.query_id, queries[trial.query_id], trial.names
    if not how.listwise:
        yield query_id, query, drawn_order(names, how.seed, ORDER, query_id), False
        if trial.placebo_query:
            name = made_id(query_id, PLACEBO_QUERY)
            both = drawn_order([names[place] for place in trial.rotated], how.seed, ORDER, name)
            yield name, queries[trial.placebo_query], both, False
        return
    order = drawn_order([trial.passage_id, *_listed(how.task, trial)], how.seed, ORDER, query_id)
    rotated = trial.rotated
    for place, name in enumerate(names):
        ids = [name if passage == trial.passage_id else passage for passage in order]
        yield name, query, ids, place in rotated


def measure(how: Manipulation, trials: Sequence[Trial], known: Asked, fits: Fits) -> Measured:
    """Return the contrasts of scored trials, a column each. Scores are rounded to 1e-4 of the mean
    worth.
    """
    queries, shape = how.task.texts, (len(trials), len(COLUMNS))
    clusters = dict(zip(how.task.query_ids, how.task.clusters, strict=True))
    by_unit = {unit: np.full(shape, np.nan) for unit in (SCORE, RANKS, how.measure)}
    whole, within = np.ones(shape, bool), []
    for row, (trial, figures) in enumerate(zip(trials, _figures(how, trials, known), strict=True)):
        read = np.array(fits(queries[trial.query_id], trial.texts))
        for column, contrast in enumerate(COLUMNS):
            before, after = trial.of(contrast).T
            if not len(before):
                continue
            whole[row, column] = read[before].all() and read[after].all()
            for unit, values in figures.items():
                by_unit[unit][row, column] = (values[after] - values[before]).mean()
            if contrast == Contrast.ENDS and len(before) > 1:
                within.append((figures[SCORE][after] - figures[SCORE][before]).var(ddof=1))
            if contrast == Contrast.ROTATION and trial.placebo_query and not how.listwise:
                # the placebo query has no passage here, so no rank and no quality
                name = made_id(trial.query_id, PLACEBO_QUERY)
                front, end = (known[name, trial.names[place]] for place in trial.rotated)
                by_unit[SCORE][row, column] -= end - front
    worth = mean_unit(by_unit[SCORE][:, COLUMNS.index(Contrast.WORTH)])
    if worth > 0 and not how.listwise:
        by_unit[SCORE] = np.round(by_unit[SCORE] / worth, ROUNDED) * worth
    query_ids = [trial.query_id for trial in trials]
    return Measured(
        query_ids,
        [clusters[query_id] for query_id in query_ids],
        by_unit,
        whole,
        float(np.mean(within)) if within else 0.0,
        RANKS if how.listwise else SCORE,
    )


def mean_unit(units: np.ndarray) -> float:
    """Return the mean of units by query, without NaN; 0 if none is known or the mean is not
    above 0.
    """
    known = units[~np.isnan(units)]
    return max(float(known.mean()), 0.0) if len(known) else 0.0


def _figures(
    how: Manipulation, trials: Sequence[Trial], known: Mapping[tuple[str, str], float]
) -> list[dict[str, np.ndarray]]:
    """Return the scores, ranks gained and qualities of each trial's texts, ``(texts,)``; ranks and
    qualities are NaN if the competitors are unknown.

    A query is measured once at each distinct rank; all ranks below the measure's cutoff are equal.
    """
    cutoff = parse_measure(how.measure).params.get("cutoff")
    figures: list[dict[str, np.ndarray]] = []
    rankings: dict[tuple[str, Sequence[str]], str] = {}  # hypothetical ones, by query
    names: list[list[str]] = []
    for trial in trials:
        lists = trial.names if how.listwise else [trial.query_id] * len(trial.names)
        scores = np.array([known.get(key, np.nan) for key in zip(lists, trial.names, strict=True)])
        ranks, row = np.full(len(scores), np.nan), [""] * len(scores)
        for place, competitors in enumerate(_competitors(how, trial, known)):
            if competitors is None:
                continue
            passage_ids, others = competitors
            better = int((others > scores[place]).sum())
            top = passage_ids[:cutoff]
            ids = (*top[:better], trial.passage_id, *top[better:])[:cutoff]
            ranks[place] = 1 + better
            row[place] = rankings.setdefault((trial.query_id, ids), str(len(rankings) + 1))
        figures.append({SCORE: -ranks if how.listwise else scores, RANKS: -ranks})
        names.append(row)
    judged: dict[str, list[Qrel]] = defaultdict(list)
    for qrel in how.task.qrels:
        judged[qrel.query_id].append(qrel)
    values = {"": np.nan}
    if rankings:
        made = ((name, ids, -np.arange(len(ids))) for (_, ids), name in rankings.items())
        qrels = [
            Qrel(name, qrel.passage_id, qrel.grade)
            for (query_id, _), name in rankings.items()
            for qrel in judged[query_id]
        ]
        values |= per_query(Run("hypothetical", made), qrels, [how.measure])[how.measure]
    for figure, row in zip(figures, names, strict=True):
        figure[how.measure] = np.array([values[name] for name in row])
    return figures


def _competitors(
    how: Manipulation, trial: Trial, known: Mapping[tuple[str, str], float]
) -> list[tuple[list[str], np.ndarray] | None]:
    """Return the passages that each text is ranked with, best first; None: unknown."""
    if how.listwise:
        ids = _listed(how.task, trial)
        return [
            _ranked({passage_id: known[name, passage_id] for passage_id in ids})
            if (name, name) in known
            else None
            for name in trial.names
        ]
    original, rotated = (
        None if run is None else _ranked(scores_of(run, trial.query_id), trial.passage_id)
        for run in (how.ranked, how.rotated)
    )
    turned = trial.rotated
    return [rotated if place in turned else original for place in range(len(trial.names))]


def _ranked(scores: Mapping[str, float], without: str = "") -> tuple[list[str], np.ndarray]:
    """Return passages in the order of their scores, ``without`` one, and these scores."""
    ids = sorted((name for name in scores if name != without), key=lambda name: -scores[name])
    return ids, np.array([scores[name] for name in ids])


def _listed(task: Task, trial: Trial) -> list[str]:
    """Return a query's candidates without its own passage."""
    return [name for name in task.candidates_of(trial.query_id) if name != trial.passage_id]
