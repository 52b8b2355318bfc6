"""An audit as rows, and its verdicts read back from them.

An effect is a row: its contrast is the measure, its unit the statistic; rows "in scores" have
the values by query. A verdict is rows of its question: the answer, and what it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame

from positionbias.audit.answers import WORTH, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.systems import Rows, Task
from positionbias.core.records import interval_of
from positionbias.core.rows import Collected
from positionbias.evaluation.simultaneous import simultaneous

KEYS = ("rule", "length")
ANSWER, WITHIN, AMONG = "answer", "answer within what it reads", "candidates"
RAW = "in scores"  # the statistic of an effect with its values by query
NUMBERS: Mapping[str, tuple[str, type]] = {  # of a verdict: the field, its statistic and type
    "wanted": ("queries wanted", int),
    "reads": ("words read", float),
    "unread": ("share not read whole", float),
    "drawn": ("queries drawn", int),
    "from_end": ("read from the end", bool),
    "noise": ("change of a repeated call", float),
    "rotations": ("rotations", int),
}
SIDES: Mapping[Question, Sequence[Contrast]] = {  # the contrasts of each question
    Question.PASSAGE: (
        Contrast.ENDS,
        Contrast.MIDDLE,
        Contrast.ROTATION,
        Contrast.RUNS,
        Contrast.WORTH,
    ),
    Question.LIST: (Contrast.ORDER, Contrast.ORDER_MIDDLE),
}


def collected(task: Task) -> Collected:
    """Return the rows of an audit, to which a system's are added as those of a ``model``."""
    named = {"collection": task.collection.name, "split": task.split, "rule": task.rule}
    return Collected({"study": "audit", **named}, KEYS)


def verdict_rows(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Yield the rows of a verdict: its answer, what it rests on, and its effects."""
    head = verdict.leading

    def fact(statistic: str, value: float | None = None, **more: Any) -> dict[str, Any]:
        return {"measure": str(verdict.question), "statistic": statistic, "value": value, **more}

    said: dict[str, Any] = {"answer": str(verdict.preference), "reason": verdict.reason}
    said |= {"margin": verdict.margin, "count": verdict.queries, "counted": "queries"}
    said |= {"unit": head.unit, "label": str(head.contrast)} if head else {}
    yield fact(ANSWER, subset=verdict.subset, **said)
    for name, (statistic, _) in NUMBERS.items():
        if getattr(verdict, name) != Verdict.__dataclass_fields__[name].default:
            yield fact(statistic, float(getattr(verdict, name)))
    if verdict.within is not None:
        yield fact(WITHIN, answer=str(verdict.within))
    if verdict.among:
        yield fact(AMONG, verdict.depth, label=verdict.among)
    for effect in verdict.effects:
        yield {
            "measure": str(effect.contrast),
            "statistic": effect.unit,
            "value": effect.value,
            "bounds": interval_of(effect.low, effect.high),
            "subset": effect.subset,
            "detectable": effect.detectable,
            "count": effect.queries,
            "counted": "queries",
            "interval": "queries" if effect.contrast is Contrast.RUNS else "simultaneous",
            "unit": effect.unit,
        }


def raw_rows(
    task: Task, by_query: Mapping[tuple[Contrast, str], Mapping[str, float]], verdict: Verdict
) -> Rows:
    """Return the effects in scores with their values by query, and the clusters that intervals are
    over.
    """
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    known = {
        (effect.contrast, effect.subset): effect.raw for effect in verdict.effects if effect.raw
    }
    rows = []
    for (contrast, subset), scores in by_query.items():
        value: float | None
        if (raw := known.get((contrast, subset))) is not None:
            value, bounds = raw[0], interval_of(*raw[1:])
        else:  # of the worth, which is no contrast
            column = np.array([*scores.values()])[:, None]
            (mean,) = simultaneous(column, [clusters[name] for name in scores])
            value, bounds = mean.value, interval_of(mean.low, mean.high)
        rows.append(
            {
                "measure": str(contrast),
                "statistic": RAW,
                "value": value,
                "bounds": bounds,
                "items": scores,
                "cluster_of": clusters,
                "subset": subset,
                "count": len(scores),
                "counted": "queries",
            }
        )
    return rows


class Given(NamedTuple):
    """A verdict with the system's name and role, and the test set."""

    system: str
    role: str
    collection: str
    split: str
    verdict: Verdict


def given_in(rows: DataFrame) -> list[Given]:
    """Return the verdicts among the rows, in their order."""
    given = []
    for answer in rows[rows["statistic"] == ANSWER].itertuples():
        key = (answer.model, answer.role, answer.collection, answer.split)
        own = rows[(rows[["model", "role", "collection", "split"]] == list(key)).all(axis=1)]
        question = Question(answer.measure)
        facts = {row.statistic: row for row in own[own["measure"] == question].itertuples()}
        numbers = {
            name: type_(facts[statistic].value)
            for name, (statistic, type_) in NUMBERS.items()
            if statistic in facts
        }
        if AMONG in facts:
            numbers |= {"depth": int(facts[AMONG].value), "among": facts[AMONG].label}
        verdict = Verdict(
            question,
            Preference(answer.answer),
            _effects_in(own[own["measure"].isin(SIDES[question])]),
            _number(answer.margin),
            queries=answer.count,
            reason=answer.reason,
            rule=answer.rule if question is Question.PASSAGE else "",
            within=Preference(facts[WITHIN].answer) if WITHIN in facts else None,
            **numbers,
        )
        given.append(Given(*key, verdict))
    return given


def _effects_in(rows: DataFrame) -> list[Effect]:
    """Return the effects among rows of contrasts, those of the worth with their ``raw`` ones."""
    by_query = rows[(rows["statistic"] == RAW) & rows["low"].notna()]
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
        for row in rows[rows["statistic"] != RAW].itertuples()
    ]


def _number(value: float) -> float | None:
    return None if value != value else float(value)
