"""Rows of an audit: a verdict of every kind is read back from them, with its sentences, and values
by query add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from positionbias.audit.answers import (
    RANKS,
    READ_WHOLE,
    SCORE,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.audit import audit, make_task
from positionbias.audit.evidence import BY_TERMS, collection_terms
from positionbias.audit.measured import RAW, given_in, raw_rows
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import RERANKER, Task
from positionbias.audit.verdict import (
    ALONE,
    NOTHING_MOVED,
    SHORT_LISTS,
    TOO_LONG,
)
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.rows import Collected, check
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.planted.settings import PlantedSettings
from tests.audit.figures import Figures, audit_rows
from tests.audit.scorers import blind, end_lover, first_placed, front_lover
from tests.audit.tasks import system
from tests.audit.test_reads import stopping
from tests.audit.test_worth import by_length
from tests.tiny import planted

NDCG = "nDCG@10"
SETTINGS = AuditSettings(depth=6, needles=30)
PASSAGE, LIST = Question.PASSAGE, Question.LIST
UNKNOWN, NONE = Preference.UNKNOWN, Preference.NONE


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(queries=60, passages=120, test_share=0.8, validation_share=0.1)
    return planted(tmp_path_factory.mktemp("measured") / "planted", settings)


def task_of(collection: Collection, rule: bool = False) -> Task:
    run = retrieve(collection, collection.queries("test"), 6, Bm25Settings())
    chosen = collection_terms(collection) if rule else None
    return make_task(collection, "test", run, SETTINGS, rule=chosen)


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return task_of(collection)


def read_back(task: Task, results: Sequence[Figures]) -> None:
    """Refuse rows that do not give every verdict back, with equal sentences."""
    made = audit_rows(task, results)
    check(made.rows)
    given = given_in(made.rows)
    measured = [one for one in results if isinstance(one.figures, Verdict)]
    assert [one[:2] for one in given] == [one[:2] for one in measured]
    for one, (name, *_, verdict) in zip(measured, given, strict=True):
        assert replace(verdict, effects=list(verdict.effects)) == replace(
            one.figures, effects=list(one.figures.effects)
        )
        assert sentences_of(name, verdict) == sentences_of(name, one.figures)


def scores_add_up(task: Task, made: Collected) -> None:
    """Refuse effects in scores that are not the means of their values by query."""
    scores = made.rows[made.rows.statistic == RAW]
    means = made.values.groupby("row")["value"].agg(["mean", "count"]).loc[scores.row]
    assert len(scores)
    assert scores.value.tolist() == pytest.approx(means["mean"].tolist())
    assert scores["count"].tolist() == means["count"].tolist()
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    own = made.values[made.values.row.isin(scores.row)]
    assert own.cluster.tolist() == [clusters[query_id] for query_id in own["item"]]


@pytest.fixture(scope="module")
def of_models(task: Task) -> Collected:
    """Scorers with a preference, without one, with a length limit, with a list's order, and one to
    which the evidence is worth nothing.
    """
    scorers = {
        "blind": blind,
        "front": front_lover,
        "end": end_lover,
        "listwise": first_placed,
        "stops": stopping(20),
        "short": by_length,
    }
    systems = [system(scorer, name) for name, scorer in scorers.items()]
    return audit(task, systems, SETTINGS)


def test_verdicts_on_models_are_read_back(task: Task, of_models: Collected) -> None:
    verdicts = [one.verdict for one in given_in(of_models.rows)]
    assert {one.preference for one in verdicts if one.question is PASSAGE} >= {
        NONE,
        Preference.FRONT,
        Preference.END,
        Preference.UNREAD,
        Preference.UNREACTIVE,
    }
    assert {one.preference for one in verdicts if one.question is LIST} == {NONE, Preference.FIRST}
    scores_add_up(task, of_models)


def effect(
    contrast: Contrast,
    unit: str,
    value: float | None,
    half: float | None = None,
    subset: str = "",
    queries: int = 60,
) -> Effect:
    low, high = (None, None) if value is None or half is None else (value - half, value + half)
    detectable = None if half is None else 1.3 * half
    return Effect(contrast, unit, value, low, high, detectable, queries, subset)


def moved(ends: float, middle: float, half: float | None, subset: str = "") -> list[Effect]:
    """The effects of a moved sentence and of rotation in three units."""
    sizes = (
        (Contrast.ENDS, ends),
        (Contrast.MIDDLE, middle),
        (Contrast.ROTATION, ends / 2),
    )
    return [
        effect(contrast, unit, scale * size, None if half is None else scale * half, subset)
        for unit, scale in ((WORTH, 1.0), (RANKS, 10.0), (NDCG, 0.1))
        for contrast, size in sizes
    ]


def passage(preference: Preference, effects: Sequence[Effect] = (), **more: object) -> Verdict:
    given = {"margin": 0.1, "queries": 60, "drawn": 70, **more}
    return Verdict(PASSAGE, preference, effects, **given)  # type: ignore[arg-type]


WITHIN_IT = moved(0.01, -0.02, 0.03, READ_WHOLE)
RUNS = [effect(Contrast.RUNS, NDCG, -0.05, 0.02), effect(Contrast.RUNS, RANKS, -1.5, 0.5)]
ORDER = [effect(Contrast.ORDER, RANKS, 0.1, 0.2), effect(Contrast.ORDER_MIDDLE, RANKS, 0.0, 0.3)]
BY_HAND = {
    "leans": passage(NONE, moved(0.05, -0.01, 0.02), depth=30, among="bm25"),
    "front, perhaps small": passage(Preference.FRONT, moved(-0.15, 0.0, 0.1)),
    "middle": passage(
        Preference.MIDDLE,
        sorted(moved(0.3, 0.5, 0.1), key=lambda one: one.contrast != Contrast.MIDDLE),
        depth=1_000,
        among="the whole collection",
    ),
    "unknown": passage(UNKNOWN, moved(0.02, 0.0, 0.3), wanted=1_600),
    "no interval": passage(UNKNOWN, moved(0.02, 0.0, None)),
    "unread": passage(
        Preference.UNREAD,
        [*moved(-0.6, 0.0, 0.1), *WITHIN_IT],
        reads=100.0,
        unread=0.25,
        within=NONE,
    ),
    "unread front": passage(
        Preference.UNREAD,
        [*moved(0.6, 0.0, 0.1), *WITHIN_IT],
        unread=1.0,
        within=NONE,
        from_end=True,
    ),
    "too long": passage(
        Preference.UNREAD,
        moved(-0.6, 0.0, 0.1),
        reads=10.0,
        unread=0.95,
        within=UNKNOWN,
        reason=TOO_LONG,
    ),
    "unreactive": passage(
        Preference.UNREACTIVE,
        [effect(Contrast.WORTH, SCORE, -0.1, 0.5), *moved(0.01, 0.0, 0.02)[3:]],
        wanted=4_000,
    ),
    "no trial": passage(UNKNOWN, reason=NOTHING_MOVED, queries=0),
    "run alone": passage(UNKNOWN, margin=None, queries=0, drawn=0, reason=ALONE),
    "runs": passage(Preference.FRONT, RUNS, margin=0.02, rotations=2),
    "runs, undefined": passage(
        UNKNOWN,
        [effect(Contrast.RUNS, NDCG, None), effect(Contrast.RUNS, RANKS, None)],
        margin=0.02,
        rotations=1,
        reason="the answers never move",
    ),
    "pointwise": Verdict(LIST, NONE, margin=0.5),
    "list, unsteady": Verdict(LIST, Preference.ENDS, ORDER[::-1], 0.5, 60, drawn=70, noise=0.07),
    "short lists": Verdict(LIST, UNKNOWN, margin=0.5, reason=SHORT_LISTS, noise=0.07),
}


@pytest.mark.parametrize("rule", ["", BY_TERMS])
def test_verdicts_by_hand_are_read_back(task: Task, rule: str) -> None:
    results = [
        Figures(
            name,
            RERANKER,
            replace(verdict, rule=rule if verdict.question is PASSAGE else ""),
        )
        for name, verdict in BY_HAND.items()
    ]
    read_back(replace(task, rule=rule), results)


def test_raw_effects_are_those_of_shares_alone(task: Task) -> None:
    share, ranks, quality = (
        effect(Contrast.ENDS, unit, -0.3, 0.1) for unit in (WORTH, RANKS, NDCG)
    )
    scores = dict(zip(task.query_ids, np.linspace(-2, 1, len(task.query_ids)), strict=True))
    # of raw scores that exclude 0 by another interval than that of the shares
    verdict = passage(Preference.FRONT, [replace(share, raw=(-0.5, -0.9, -0.1)), ranks, quality])
    results = [
        Figures("mine", RERANKER, verdict),
        Figures("mine", RERANKER, raw_rows(task, {(Contrast.ENDS, ""): scores}, verdict)),
    ]
    read_back(task, results)
    scores_add_up(task, audit_rows(task, results))
