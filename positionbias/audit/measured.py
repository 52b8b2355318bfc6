"""An audit as rows, and its verdicts read back from them.

An effect is a row: its contrast is the measure, its unit the statistic; rows "in scores" have
the values by query. A verdict is rows of its question: the answer, and what it rests on.
Descriptions are curves, a row a bucket or place, and the statistics over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from positionbias.audit.answers import (
    WORTH,
    Contrast,
    Effect,
    Missing,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.query_effects import QueryEffects
from positionbias.audit.rotations import Gap
from positionbias.audit.systems import Measurement, Task
from positionbias.core.formatting import count, decimal
from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.described import (
    Correlation,
    Psi,
    QueryBuckets,
    ResponseCurve,
    SegmentBuckets,
    Slope,
    bounds_of,
)
from positionbias.evaluation.length_grid import LENGTHS, LengthGrid
from positionbias.evaluation.simultaneous import simultaneous

__all__ = [
    "ANSWER",
    "CUT",
    "KEYS",
    "LEAD",
    "RAW",
    "RESPONSE",
    "SIDES",
    "Given",
    "audit_rows",
    "given_in",
]

KEYS = ("rule", "scale", "length")
ANSWER, WITHIN, AMONG = "answer", "answer within what it reads", "candidates"
RAW = "in scores"  # the statistic of an effect with its values by query
LEAD, RESPONSE, CUT = LENGTHS, "score by place", "limit"
MISSING = "missing scores: "
NUMBERS = {  # of a verdict: the field, and its statistic
    "exceeds": "beyond the margin",
    "wanted": "queries wanted",
    "reads": "words read",
    "unread": "share not read whole",
    "drawn": "queries drawn",
    "from_end": "read from the end",
    "noise": "change of a repeated call",
    "rotations": "rotations",
    "alike": "same run",
    "shared": "share of first passages in common",
}
SIDES: Mapping[Question, Sequence[Contrast]] = {  # the contrasts of each question
    Question.PASSAGE: (
        Contrast.ENDS,
        Contrast.MIDDLE,
        Contrast.ROTATION,
        Contrast.RUNS,
        Contrast.WORTH,
    ),
    Question.TEXT: (
        Contrast.TURNED,
        Contrast.HALVES,
        Contrast.TURNED_MORE,
        Contrast.HALVES_MORE,
    ),
    Question.LIST: (Contrast.ORDER, Contrast.ORDER_MIDDLE),
}
THIRDS = ("first third", "middle third", "last third")


def audit_rows(task: Task, found: Sequence[Measurement]) -> Collected:
    """Return what an audit measured; the system's name is ``model``."""
    common = {
        "study": "audit",
        "collection": task.collection.name,
        "split": task.split,
        "rule": task.rule,
    }
    made = Collected(common, KEYS)
    for one in found:
        cells: dict[str, Any] = {"model": one.system, "role": one.role}
        match one.figures:
            case Verdict() as verdict:
                _verdict(made, verdict, cells)
            case QueryEffects() as effects:
                verdicts = [
                    other.figures
                    for other in found
                    if other.system == one.system and isinstance(other.figures, Verdict)
                ]
                _by_query(made, task, effects, verdicts, cells)
            case QueryBuckets() as buckets:
                _buckets(made, buckets, cells)
            case SegmentBuckets() as thirds:
                _thirds(made, thirds, cells)
            case ResponseCurve() as curve:
                _response(made, curve, cells)
            case LengthGrid() as grid:
                _grid(made, grid, cells)
            case Gap() as gap:
                _gap(made, gap, cells)
            case counts:
                for name, number in counts.items():
                    text = number if isinstance(number, str) else ""
                    made.add(one.measure, name, None if text else number, label=text, **cells)
    return made


# -- verdicts ------------------------------------------------------------------------------------


def _verdict(made: Collected, verdict: Verdict, cells: Mapping[str, Any]) -> None:
    question, head = str(verdict.question), verdict.leading
    made.add(
        question,
        ANSWER,
        None,
        answer=str(verdict.preference),
        reason=verdict.reason,
        margin=verdict.margin,
        count=verdict.queries,
        counted="queries",
        unit=head.unit if head else "",
        subset=verdict.subset,
        label=str(head.contrast) if head else "",
        **cells,
    )
    unset = Verdict(verdict.question, verdict.preference)
    for name, statistic in NUMBERS.items():
        if (number := getattr(verdict, name)) != getattr(unset, name):
            made.add(question, statistic, float(number), **cells)
    if verdict.within is not None:
        made.add(question, WITHIN, None, answer=str(verdict.within), **cells)
    if verdict.among:
        made.add(question, AMONG, verdict.depth, label=verdict.among, **cells)
    if verdict.missing is not None:
        for name in Missing.__dataclass_fields__:
            made.add(question, f"{MISSING}{name}", getattr(verdict.missing, name), **cells)
    for effect in verdict.effects:
        made.add(
            str(effect.contrast),
            effect.unit,
            effect.value,
            _bounds(effect.low, effect.high),
            subset=effect.subset,
            detectable=effect.detectable,
            count=effect.queries,
            counted="queries",
            interval="queries" if effect.contrast is Contrast.RUNS else "simultaneous",
            unit=effect.unit,
            **cells,
        )


def _bounds(low: float | None, high: float | None, level: float = 0.95) -> Interval | None:
    return None if low is None or high is None else Interval(low, high, level)


def _by_query(
    made: Collected,
    task: Task,
    effects: QueryEffects,
    verdicts: Iterable[Verdict],
    cells: Mapping[str, Any],
) -> None:
    """Add the figures by query, with the passage of each in place of its cluster; and the effects
    in scores, with the clusters that intervals are over.
    """
    passages = {query_id: item.passage_id for query_id, item in task.evidence.by_query.items()}

    def add(measure: str, statistic: str, values: np.ndarray | None) -> None:
        pairs = zip(task.query_ids, [] if values is None else values.tolist(), strict=False)
        items = {query_id: value for query_id, value in pairs if value == value}
        if items:
            mean = float(np.mean(list(items.values())))
            own = {"count": len(items), "counted": "queries", **cells}
            made.add(measure, statistic, mean, items=items, cluster_of=passages, **own)

    add(effects.quality, "as it is", effects.before)
    add(effects.quality, "rotated once", effects.after)
    add("rank", "as it is", effects.ranks_before)
    add("rank", "rotated once", effects.ranks_after)
    add("evidence", "place", effects.places)
    add("evidence", "words of the passage", effects.words)
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    raw = {
        (str(effect.contrast), effect.subset): effect.raw
        for verdict in verdicts
        for effect in verdict.effects
        if effect.raw is not None
    }
    for (contrast, subset), scores in effects.moved.items():
        known = raw.get((str(contrast), subset))
        if known is None:  # of the worth, which is no contrast
            values, labels = np.array(list(scores.values())), [clusters[item] for item in scores]
            (worth,) = simultaneous(values[:, None], labels)
            value, low, high = worth.value, worth.low, worth.high
        else:
            value, low, high = known
        made.add(
            str(contrast),
            RAW,
            value,
            _bounds(low, high),
            items=scores,
            cluster_of=clusters,
            subset=subset,
            count=len(scores),
            counted="queries",
            **cells,
        )


class Given(NamedTuple):
    """A verdict with the system's name and role, and the test set."""

    system: str
    role: str
    collection: str
    split: str
    verdict: Verdict

    @property
    def place(self) -> tuple[str, str, str, str]:
        """All but the verdict."""
        return self.system, self.role, self.collection, self.split


def given_in(rows: DataFrame) -> list[Given]:
    """Return the verdicts among the rows, in their order."""
    return list(_verdicts_in(rows))


def _verdicts_in(rows: DataFrame) -> Iterator[Given]:
    for answer in rows[rows["statistic"] == ANSWER].itertuples():
        question = Question(answer.measure)
        own = rows[(rows["model"] == answer.model) & (rows["role"] == answer.role)]
        own = own[(own["collection"] == answer.collection) & (own["split"] == answer.split)]
        facts = {row.statistic: row for row in own[own["measure"] == question].itertuples()}
        numbers = {name: facts[key].value for name, key in NUMBERS.items() if key in facts}
        whole = {"wanted", "drawn", "rotations"} & numbers.keys()
        truths = {"exceeds", "from_end", "alike"} & numbers.keys()
        numbers |= {name: int(numbers[name]) for name in whole}
        numbers |= {name: bool(numbers[name]) for name in truths}
        lacking = {
            name: int(facts[f"{MISSING}{name}"].value)
            for name in Missing.__dataclass_fields__
            if f"{MISSING}{name}" in facts
        }
        among = facts.get(AMONG)
        yield Given(
            answer.model,
            answer.role,
            answer.collection,
            answer.split,
            Verdict(
                question,
                Preference(answer.answer),
                _effects_in(own, SIDES[question], raw=not lacking),
                _number(answer.margin),
                queries=answer.count,
                reason=answer.reason,
                rule=answer.rule if question is Question.PASSAGE else "",
                within=Preference(facts[WITHIN].answer) if WITHIN in facts else None,
                missing=Missing(**lacking) if lacking else None,
                depth=int(among.value) if among else 0,
                among=among.label if among else "",
                **numbers,
            ),
        )


def _effects_in(rows: DataFrame, contrasts: Sequence[Contrast], *, raw: bool) -> list[Effect]:
    own = rows[rows["measure"].isin(contrasts)]
    by_query = own[(own["statistic"] == RAW) & own["low"].notna()] if raw else own[:0]
    scores = {
        (row.measure, row.subset): (row.value, row.low, row.high) for row in by_query.itertuples()
    }
    return [
        Effect(
            Contrast(row.measure),
            row.unit,
            _number(row.value),
            _number(row.low),
            _number(row.high),
            _number(row.detectable),
            row.count,
            row.subset,
            scores.get((row.measure, row.subset)) if row.unit == WORTH else None,
        )
        for row in own[own["statistic"] != RAW].itertuples()
    ]


def _number(value: float) -> float | None:
    return None if value != value else float(value)


# -- descriptions --------------------------------------------------------------------------------


def _buckets(made: Collected, buckets: QueryBuckets, cells: Mapping[str, Any]) -> None:
    """Add the mean of each bucket of positions, and the tests over buckets or queries."""
    figures, measure = buckets.figures, buckets.quality
    own = {**cells, "scale": buckets.scale, "subset": buckets.group}
    even = buckets.scale == "characters"  # unequal buckets stand at equal distances
    places = [(low + high) / 2 for low, high in pairwise(buckets.edges)]
    for place, label in enumerate(_bucket_labels(buckets)):
        made.add(
            measure,
            "mean",
            buckets.means[place],
            _bounds(buckets.lows[place], buckets.highs[place], buckets.level),
            axis="position",
            at=float(place) if even else places[place],
            label=label,
            count=buckets.counts[place],
            counted="queries",
            **own,
        )
    psi = figures.psi
    _test(made, measure, "PSI", psi, None, sum(buckets.counts), own, expected=psi.null_mean)
    made.add(measure, "debiased PSI", psi.debiased, bounds_of(psi, buckets.level), **own)
    named: dict[str, Slope | Correlation] = {
        "slope": figures.slope,
        "Spearman": figures.spearman,
        "Kendall": figures.kendall,
    }
    for name, test in named.items():
        bounds = bounds_of(test, buckets.level)
        _test(made, measure, name, test, bounds, figures.queries, own)
    numbers = {
        "queries without a position": figures.without_position,
        "buckets left out": figures.left_out,
    }
    for name, number in numbers.items():
        made.add(measure, name, number, **own)


def _test(
    made: Collected,
    measure: str,
    statistic: str,
    test: Psi | Slope | Correlation,
    bounds: Interval | None,
    number: int,
    cells: Mapping[str, Any],
    **more: Any,
) -> None:
    detectable = test.detectable if isinstance(test, Slope) else None
    made.add(
        measure,
        statistic,
        test.value,
        bounds,
        p=test.p,
        detectable=detectable,
        reason=test.undefined,
        count=number,
        counted="queries",
        **more,
        **cells,
    )


def _bucket_labels(buckets: QueryBuckets) -> list[str]:
    """Return each bucket's label: characters in whole numbers, shares in as many decimals as they
    need.
    """
    edges = list(buckets.edges)
    if buckets.scale == "characters":
        shown = [count(edge) for edge in edges]
    else:
        sign = buckets.scale == "moved"
        places = next(
            (p for p in (1, 2, 3) if all(abs(edge - round(edge, p)) < 1e-9 for edge in edges)), 3
        )
        shown = [decimal(edge, places, sign=sign) for edge in edges]
    return [f"{low} to {high}" for low, high in pairwise(shown)]


def _thirds(made: Collected, thirds: SegmentBuckets, cells: Mapping[str, Any]) -> None:
    """Add the cosine of each third of a passage with the whole."""
    for place, label in enumerate(THIRDS):
        made.add(
            "cosine",
            "mean",
            thirds.means[place],
            _bounds(thirds.lows[place], thirds.highs[place]),
            axis="part",
            at=float(place),
            label=label,
            count=thirds.count,
            counted="passages",
            **cells,
        )
    made.add("cosine", "first − last", thirds.difference, thirds.bounds, **cells)
    made.add("cosine", "passages left out", thirds.left_out, **cells)


def _response(made: Collected, curve: ResponseCurve, cells: Mapping[str, Any]) -> None:
    """Add the score and the reciprocal rank of the evidence at each place."""
    figures = curve.figures
    for place, at in enumerate(curve.places):
        own = {**cells, "axis": "place", "at": at, "label": f"{at:.2f}"}
        own |= {"count": curve.counts[place], "counted": "queries"}
        bounds = _bounds(curve.score_lows[place], curve.score_highs[place], figures.level)
        made.add(RESPONSE, "score", curve.scores[place], bounds, **own)
        made.add(RESPONSE, "reciprocal rank", curve.ranks[place], **own)
    for name, slope in (("slope", figures.slope), ("slope of ranks", figures.rank_slope)):
        bounds = bounds_of(slope, figures.level)
        _test(made, RESPONSE, name, slope, bounds, figures.queries, cells)
    made.add(RESPONSE, "deviation of the candidates' scores", figures.unit, **cells)
    for reason, number in figures.unmoved.items():
        made.add(RESPONSE, f"left out: {reason}", number, **cells)


def _grid(made: Collected, grid: LengthGrid, cells: Mapping[str, Any]) -> None:
    """Add the lead of the evidence over its competitors by length and place, and the effects."""
    figures = grid.figures
    for cell in grid.cells:
        own = {**cells, "length": str(cell.length), "axis": "place"}
        own |= {"at": cell.place, "label": f"{cell.place:.2f}"}
        made.add(
            LEAD,
            "mean",
            cell.score,
            _bounds(cell.low, cell.high),
            interval="simultaneous",
            count=figures.queries,
            counted="queries",
            **own,
        )
        for name, number in (
            ("rank", cell.rank),
            ("start", cell.start),
            ("share not read", cell.beyond),
            ("share cut", cell.cut),
        ):
            made.add(LEAD, name, number, **own)
    for effect in grid.effects:
        made.add(
            LEAD,
            str(effect.of),
            effect.value,
            _bounds(effect.low, effect.high),
            interval="simultaneous",
            p=effect.p,
            detectable=effect.detectable,
            length="" if effect.length is None else str(effect.length),
            axis="" if effect.place is None else "place",
            at=effect.place,
            label="" if effect.place is None else f"{effect.place:.2f}",
            **cells,
        )
    for length, deviation in zip(grid.lengths, grid.deviations, strict=True):
        made.add(LEAD, "deviation of the competitors", deviation, length=str(length), **cells)
    texts = {"unit": figures.unit, "fillers": figures.apart, CUT: figures.limit}
    for name, text in texts.items():
        made.add(LEAD, name, None, label=text, **cells)
    numbers = {"competitors": figures.competitors, "clusters": figures.clusters}
    numbers |= {f"left out: {reason}": number for reason, number in figures.unmoved.items()}
    for name, number in numbers.items():
        made.add(LEAD, name, number, **cells)


def _gap(made: Collected, gap: Gap, cells: Mapping[str, Any]) -> None:
    """Add the change of a quality when the whole collection is rotated."""
    own = {**cells, "scale": "rotation"}
    for test, mean in (("original", gap.original), ("rotated", gap.rotated)):
        made.add(gap.quality, "mean", mean, test=test, count=gap.queries, counted="queries", **own)
    made.add(
        gap.quality,
        "difference",
        gap.change,
        gap.interval,
        test="rotated",
        against="test=original",
        p=gap.p,
        detectable=gap.detectable,
        count=gap.queries,
        counted="queries",
        **own,
    )
    for name, number in (
        ("top passage changed", gap.first_changed),
        ("rank-biased overlap", gap.overlap),
        ("answers cut", gap.cut),
        ("answers truncated", gap.truncated),
        ("rotations", gap.draws),
    ):
        made.add(gap.quality, name, number, **own)
