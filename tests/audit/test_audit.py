"""The audit on a planted collection: scorers of a known preference get the verdict they deserve,
and order changes nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from positionbias.audit.answers import Contrast, Preference, Question
from positionbias.audit.audit import audit, make_task, orders_wanted
from positionbias.audit.manipulate import Measured
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.checkpoint import load_checkpoint
from positionbias.planted.settings import PlantedSettings
from tests.audit.tasks import verdict_of
from tests.tiny import planted

SETTINGS = AuditSettings(needles=60, depth=8)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=120, passages=300, test_share=0.6, validation_share=0.1, front_loading=0.3
    )
    return planted(tmp_path_factory.mktemp("audit") / "planted", settings)


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return make_task(
        collection,
        "test",
        retrieve(collection, collection.queries("test"), 8, Bm25Settings()),
        SETTINGS,
    )


def system(name: str) -> System:
    return System.of(load_checkpoint(f"tests.audit.scorers:{name}"), name)


@pytest.fixture(scope="module")
def results(task: Task) -> Collected:
    return audit(task, [system("blind"), system("front_lover"), system("end_lover")], SETTINGS)


def test_each_preference_is_named_by_its_side(results: Collected) -> None:
    for name, preference, sign in (
        ("front_lover", Preference.FRONT, -1),
        ("end_lover", Preference.END, 1),
    ):
        found = verdict_of(results, name)
        assert (found.preference, found.exceeds, found.queries) == (preference, True, 60)
        assert sentences_of(name, found)[0].startswith(f"{name} {preference}: end − front ")
        ends = {one.unit: one for one in found.effects if one.contrast == Contrast.ENDS}
        # 3 on the scale of words in common from front to end; the evidence is worth about four
        # words
        assert sign * (ends["worth"].value or 0) > 0.5
        assert sign * (ends["ranks"].value or 0) > 2
        assert sign * (ends["nDCG@10"].value or 0) > 0.4
        # rotation says the same, and the middle is between
        by_contrast = {one.contrast: one for one in found.effects if one.unit == "worth"}
        rotation = by_contrast[Contrast.ROTATION]
        assert min(sign * (rotation.low or 0), sign * (rotation.high or 0)) > 0.3
        assert abs(by_contrast[Contrast.MIDDLE].value or 0) < 0.2
    of_blind = verdict_of(results, "blind")
    assert (of_blind.preference, of_blind.exceeds) == (Preference.NONE, None)
    moved = [
        one for one in of_blind.effects if one.contrast != Contrast.ROTATION or one.unit == "worth"
    ]
    assert {(one.value, one.low, one.high) for one in moved if one.unit != "nDCG@10"} == {(0, 0, 0)}
    # 60 queries that agree: at most 3 / 60 of all differ
    assert {(one.value, one.low, one.high) for one in moved if one.unit == "nDCG@10"} == {
        (0, -0.05, 0.05)
    }
    for name in ("blind", "front_lover", "end_lover"):
        found = verdict_of(results, name, Question.LIST)
        assert (found.preference, list(found.effects)) == (Preference.NONE, [])


@pytest.mark.parametrize(
    ("spread", "noise", "queries", "orders"),
    [
        (0.0, 0.0, 1_000, 2),
        # of 1,000 queries: 2.4 · √(0.25 + 0.5 / 2) / √1,000 = 0.054; with four orders 0.046, which
        # is within half the margin
        (0.5, 0.5**0.5, 1_000, 4),
        # noise within queries is a quarter of what they differ by: more orders would not help
        (2.0, 1.0, 100, 2),
    ],
)
def test_orders_are_asked_for_as_noise_within_queries_wants_them(
    spread: float, noise: float, queries: int, orders: int
) -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(size=(2_000, 1))
    means = spread * (means - means.mean()) / means.std()
    changes = means + noise * rng.normal(size=(2_000, 2))
    contrasts = np.full((2_000, 4), np.nan)
    contrasts[:, 0], contrasts[:, 3] = changes.mean(axis=1), 1
    names = [f"q{number}" for number in range(2_000)]
    within = float(changes.var(axis=1, ddof=1).mean())
    pilot = Measured(
        names,
        names,
        {"score": 5 * contrasts},
        contrasts > 0,
        25 * within,
    )
    assert orders_wanted(pilot, queries, 0.1) == orders


def test_order_of_queries_candidates_and_judgements_changes_nothing(
    collection: Collection, task: Task, results: Collected
) -> None:
    backwards = Run(
        task.candidates.name,
        [
            (
                query_id,
                task.candidates[query_id].passage_ids[::-1],
                task.candidates[query_id].scores[::-1],
            )
            for query_id in reversed(list(task.candidates))
        ],
    )
    again = audit(
        make_task(collection, "test", backwards, SETTINGS), [system("front_lover")], SETTINGS
    )
    of_one = (made.rows.query("model == 'front_lover'") for made in (results, again))
    kept, compared = (rows.drop(columns="row").reset_index(drop=True) for rows in of_one)
    assert_frame_equal(kept, compared, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["broken", "short"])
def test_a_scorer_that_gives_no_scores_is_one_line_that_names_the_query(
    task: Task, name: str
) -> None:
    with pytest.raises(InputError, match=rf"{name}.* query ") as caught:
        audit(task, [system(name)], SETTINGS)
    assert "\n" not in str(caught.value)


def test_a_run_of_other_queries_and_two_of_one_name_are_refused(task: Task) -> None:
    with pytest.raises(InputError, match="wanted rankings of at least one of"):
        audit(task, [System("other", run=Run("other", [("nobody", ["p1"], [1.0])]))], SETTINGS)
    with pytest.raises(InputError, match="systems: wanted a name each; found 'blind' twice"):
        audit(task, [system("blind"), system("blind")], SETTINGS)


def test_one_query_alone_is_measured_as_far_as_it_goes(collection: Collection) -> None:
    run = retrieve(collection, collection.queries("test"), 8, Bm25Settings())
    task = make_task(collection, "test", run, SETTINGS, queries=1)
    found = audit(task, [system("blind")], SETTINGS)
    assert verdict_of(found, "blind").preference == Preference.UNKNOWN
