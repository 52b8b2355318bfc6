"""Score the manipulations behind a verdict, the same evidence at other places of its passage, and
compare them by query.

A pointwise scorer gets a query's texts in a drawn order. A listwise scorer gets one list per text:
the query's candidates in a drawn order, with the text in place of its passage, so that its place in
the list is the same for all texts [decision].
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import RANKS, SCORE, Contrast
from positionbias.audit.made_ids import made_id
from positionbias.audit.missing import filled
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import COLUMNS, PLACEBO_QUERY, Trial
from positionbias.core.records import Qrel, Query
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
        others = [passage_id for passage_id in passage_ids if passage_id not in self.made]
        stored = iter(self.base.texts(others) if others else [])
        return [
            self.made[passage_id] if passage_id in self.made else next(stored)
            for passage_id in passage_ids
        ]


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
    """The contrasts of each query, ``(queries, contrasts)``, by default those of ``COLUMNS``, NaN
    if a query has none, by unit: "score" (of a listwise scorer: minus the rank), "ranks" (gained)
    and the measure. ``units (queries,)`` are deviations of the candidates' scores, the unit where
    no evidence is known. ``whole (queries, contrasts)``: the model reads all texts of the contrast
    whole.

    ``within`` is the variance of one order's ENDS contrast around its query's mean, of ``orders``
    orders. ``unit`` names what "score" holds.
    """

    query_ids: Sequence[str]
    clusters: Sequence[str]
    by_unit: Mapping[str, np.ndarray]
    units: np.ndarray
    whole: np.ndarray
    orders: int
    within: float
    unit: str = SCORE


class Asked(dict[tuple[str, str], float]):
    """The scores so far by (list, text), and the ``seconds`` taken for ``texts`` texts."""

    seconds: float = 0.0
    texts: int = 0

    @property
    def lacks(self) -> bool:
        """True if a score is missing."""
        return any(score != score for score in self.values())


def ask(how: Manipulation, trials: Sequence[Trial], known: Asked, description: str) -> None:
    """Score all texts of the trials that are not yet in ``known``.

    Raises:
        InputError: a scorer that fails, or whose scores are not finite.
    """
    began = time.perf_counter()
    queries = {query.query_id: query.text for query in how.task.queries}
    made = {name: text for one in trials for name, text in zip(one.names, one.texts, strict=True)}
    lists = [each for one in trials for each in _lists(how, one, queries)]
    for rotated, base in ((False, how.task.collection), (True, how.rotated_texts)):
        wanted = [
            (each, ids)
            for each in lists
            if each.rotated == rotated and (ids := each.missing(known))
        ]
        if base is None or not wanted:
            continue
        run = Run("made", ((each.name, ids, -np.arange(len(ids))) for each, ids in wanted))
        asked = [Query(each.name, each.query) for each, _ in wanted]
        scored = how.system.scored(how.task, Texts(made, base), run, description, asked)
        for each, _ in wanted:
            known.update(
                ((each.name, name), score) for name, score in _by_id(scored, each.name).items()
            )
        known.texts += sum(len(ids) for _, ids in wanted)
    known.seconds += time.perf_counter() - began


class _List(NamedTuple):
    """One list to score: its name, the query's text, the ordered ids, whether passages are
    ``rotated``, and whether to score it ``whole``.
    """

    name: str
    query: str
    ids: Sequence[str]
    rotated: bool
    whole: bool

    def missing(self, known: Asked) -> list[str]:
        """Return the ids still to be scored, in order."""
        missing = [name for name in self.ids if (self.name, name) not in known]
        return list(self.ids) if missing and self.whole else missing


def _lists(how: Manipulation, one: Trial, queries: Mapping[str, str]) -> list[_List]:
    """Return the lists to score. Pointwise: all texts of a query in one list, in a drawn order.
    Listwise: each text in its query's list, whose order is drawn once for all texts of the
    query."""
    query = queries[one.query_id]
    if not how.listwise:
        lists = [
            _List(one.query_id, query, _shuffled(one.names, how.seed, one.query_id), False, False)
        ]
        if one.placebo_query:
            name = made_id(one.query_id, PLACEBO_QUERY)
            both = _shuffled([one.names[place] for place in one.rotated], how.seed, name)
            lists.append(_List(name, queries[one.placebo_query], both, False, False))
        return lists
    order = _shuffled([one.passage_id, *_listed(how.task.candidates, one)], how.seed, one.query_id)
    return [
        _List(
            name,
            query,
            [name if passage == one.passage_id else passage for passage in order],
            place in one.rotated,
            True,
        )
        for place, name in enumerate(one.names)
    ]


def measure(
    how: Manipulation,
    trials: Sequence[Trial],
    known: Asked,
    fits: Fits,
    contrasts: Sequence[Contrast] = COLUMNS,
    up: Container[Contrast] = (),
) -> Measured:
    """Return the contrasts of scored trials, a column each. Scores are rounded to 1e-4 of their
    unit: the worth, or else a deviation.

    Where scores are missing, contrasts in ``up`` are as high as these allow, others as low.
    """
    queries = {query.query_id: query.text for query in how.task.queries}
    labels = dict(zip(how.task.query_ids, how.task.clusters, strict=True))
    ways = (False, True) if known.lacks else (None,)
    sides = [
        _scored(how, trials, known if way is None else Asked(filled(known, best=way)))
        for way in ways
    ]
    (answers, qualities), (highest, best) = sides[0], sides[-1]
    by_unit = {
        unit: np.full((len(trials), len(contrasts)), np.nan)
        for unit in ("score", "ranks", how.measure)
    }
    whole = np.ones((len(trials), len(contrasts)), bool)
    within = []
    by_rank = how.listwise and Contrast.WORTH in contrasts
    for row, one in enumerate(trials):
        read = np.array(fits(queries[one.query_id], one.texts))
        answer = answers[row]
        low, high = (
            {"score": of.scores, "ranks": -of.ranks(), how.measure: quality[row]}
            for of, quality in zip((answer, highest[row]), (qualities, best), strict=True)
        )
        if by_rank:
            low["score"], high["score"] = low["ranks"], high["ranks"]
        for column, contrast in enumerate(contrasts):
            pairs = one.of(contrast)
            if not pairs:
                continue
            before, after = [pair.before for pair in pairs], [pair.after for pair in pairs]
            whole[row, column] = read[before + after].all()
            first, last = (low, high) if contrast in up else (high, low)
            for name in low:
                changes = last[name][after] - first[name][before]
                by_unit[name][row, column] = changes.mean() - (
                    answer.placebo if (name, contrast) == _LESS_PLACEBO else 0
                )
                if name == "score" and contrast == Contrast.ENDS and len(changes) > 1:
                    within.append(changes.var(ddof=1))
    units = np.array([answer.unit for answer in answers])
    unit = mean_unit(
        by_unit["score"][:, contrasts.index(Contrast.WORTH)]
        if Contrast.WORTH in contrasts
        else units
    )
    if unit > 0 and not by_rank:
        by_unit["score"] = np.round(by_unit["score"] / unit, ROUNDED) * unit
    return Measured(
        query_ids=[one.query_id for one in trials],
        clusters=[labels[one.query_id] for one in trials],
        by_unit=by_unit,
        units=units,
        whole=whole,
        orders=max((len(one.of(Contrast.ENDS)) for one in trials), default=0),
        within=float(np.mean(within)) if within else 0.0,
        unit=RANKS if by_rank else SCORE,
    )


def _scored(
    how: Manipulation, trials: Sequence[Trial], known: Asked
) -> tuple[list[_Answers], list[np.ndarray]]:
    answers = [_answers(how, one, known) for one in trials]
    return answers, _qualities(how, trials, answers)


def mean_unit(units: np.ndarray) -> float:
    """Return the mean of units by query, without NaN; 0 if none is known or the mean is not
    above 0.
    """
    known = units[~np.isnan(units)]
    return max(float(known.mean()), 0.0) if len(known) else 0.0


# the placebo query has no passage here, so no rank and no quality
_LESS_PLACEBO = ("score", Contrast.ROTATION)


class _Competitors(NamedTuple):
    """The passages with which a text is ranked, best first, with their scores."""

    passage_ids: Sequence[str]
    scores: np.ndarray

    @staticmethod
    def of(passage_ids: Sequence[str], scores: np.ndarray, but: str) -> _Competitors:
        """Return all but one passage, in the order of their scores."""
        keep = [
            place
            for place in np.argsort(-scores, kind="stable").tolist()
            if passage_ids[place] != but
        ]
        return _Competitors([passage_ids[place] for place in keep], scores[keep])


class _Answers(NamedTuple):
    """The scores of one trial: the texts' scores ``(texts,)``, each one's competitors (None:
    unknown), the change of the placebo query's score by rotation, and the deviation of the
    competitors' scores (NaN for fewer than two)."""

    scores: np.ndarray
    competitors: Sequence[_Competitors | None]
    placebo: float
    unit: float

    def ranks(self) -> np.ndarray:
        """Return the rank of each text, ``(texts,)`` float64; NaN if its competitors are
        unknown.
        """
        pairs = zip(self.scores, self.competitors, strict=True)
        return np.array(
            [
                np.nan if others is None else 1.0 + (others.scores > score).sum()
                for score, others in pairs
            ]
        )


def _answers(how: Manipulation, one: Trial, known: Asked) -> _Answers:
    if how.listwise:
        others = _listed(how.task.candidates, one)
        scores = np.array([known.get((name, name), np.nan) for name in one.names])
        lists = [
            _Competitors.of(others, np.array([known[name, other] for other in others]), "")
            if (name, name) in known
            else None
            for name in one.names
        ]
        return _Answers(scores, lists, 0.0, _unit([each for each in lists if each is not None]))
    scores = np.array([known[one.query_id, name] for name in one.names])
    original, rotated = (_competitors(source, one) for source in (how.ranked, how.rotated))
    competitors = [rotated if place in one.rotated else original for place in range(len(one.texts))]
    placebo = 0.0
    if one.placebo_query:
        front, end = (
            known[made_id(one.query_id, PLACEBO_QUERY), one.names[place]] for place in one.rotated
        )
        placebo = end - front
    return _Answers(scores, competitors, placebo, _unit([original] if original is not None else []))


def _shuffled(ids: Sequence[str], seed: int, query_id: str) -> list[str]:
    return drawn_order(ids, seed, "order of a list", query_id)


def _by_id(run: Run, query_id: str) -> dict[str, float]:
    ranking = run[query_id]
    return dict(
        zip(ranking.passage_ids, np.asarray(ranking.scores, np.float64).tolist(), strict=True)
    )


def _listed(candidates: Run, one: Trial) -> list[str]:
    """Return a query's candidates without its own passage."""
    ids = candidates[one.query_id].passage_ids if one.query_id in candidates else []
    return [name for name in ids if name != one.passage_id]


def _competitors(run: Run | None, one: Trial) -> _Competitors | None:
    if run is None or one.query_id not in run:
        return None if run is None else _Competitors([], np.empty(0))
    ranking = run[one.query_id]
    return _Competitors.of(
        ranking.passage_ids, np.asarray(ranking.scores, np.float64), one.passage_id
    )


def _unit(competitors: Sequence[_Competitors]) -> float:
    """Return the mean deviation of scores, over lists of two or more."""
    deviations = [float(others.scores.std()) for others in competitors if len(others.scores) > 1]
    return float(np.mean(deviations)) if deviations else float("nan")


def _qualities(
    how: Manipulation, trials: Sequence[Trial], answers: Sequence[_Answers]
) -> list[np.ndarray]:
    """Return the measure of each query with its passage at each text's rank, ``(texts,)`` per
    trial; NaN if the rank is unknown.

    A query is measured once at each distinct rank; all ranks below the measure's cutoff are equal.
    """
    cutoff = parse_measure(how.measure).params.get("cutoff")
    judged: dict[str, list[Qrel]] = {}
    for qrel in how.task.qrels:
        judged.setdefault(qrel.query_id, []).append(qrel)
    known: dict[tuple, str] = {}
    rankings, qrels, keys = [], [], []
    for one, answer in zip(trials, answers, strict=True):
        tops = {
            id(others): others.passage_ids[:cutoff]
            for others in answer.competitors
            if others is not None
        }
        row: list[str | None] = []
        for rank, others in zip(answer.ranks(), answer.competitors, strict=True):
            if others is None:
                row.append(None)
                continue
            top = tops[id(others)]
            place = min(int(rank), len(top) + 1)
            key = (one.query_id, place, tuple(top))
            if key not in known:
                known[key] = str(len(known))
                ids = [*top[: place - 1], one.passage_id, *top[place - 1 :]][:cutoff]
                rankings.append((known[key], ids, -np.arange(len(ids))))
                qrels += [
                    Qrel(known[key], qrel.passage_id, qrel.grade) for qrel in judged[one.query_id]
                ]
            row.append(known[key])
        keys.append(row)
    if not rankings:
        return [np.full(len(row), np.nan) for row in keys]
    values = per_query(Run("hypothetical", rankings), qrels, [how.measure])[how.measure]
    return [np.array([np.nan if key is None else values[key] for key in row]) for row in keys]
