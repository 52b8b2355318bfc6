"""How much a step is said to do, by hand, and what is taken for its time: receipts, a rate, or the model itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from positionbias.core import timing
from positionbias.core.collection import Collection
from positionbias.experiments import estimate
from positionbias.experiments.estimate import Estimator, ModelWork, Work, training
from positionbias.experiments.workspace import Workspace
from positionbias.models.kinds import begins_with
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

from ..models.t5 import saved_t5
from ..tiny import TINY, planted, saved_tk, tiny_encoder

CONFIG = TrainConfig(batch_size=4, max_steps=10, validate_every=5, most_depth=6, validation_queries=8, threads=1)
PLAN = TrainPlan(model=TINY, candidates=Path("train.run"), validation_candidates=Path("validation.run"), training=CONFIG)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """150 passages; 30 training, 12 validation and 18 test queries."""
    return planted(tmp_path_factory.mktemp("estimate") / "planted")


def test_steps_of_a_training_and_its_validations(collection: Collection) -> None:
    work, note = training(collection, PLAN, None)
    # three looks (before the first step, after 5 and 10) at 8 queries to depth 6, and one at all 12
    expected = ModelWork(PLAN, collection, steps=10, passages=3 * 48 + 72, pairs=3 * 48 + 72)
    assert work == Work("steps of tk, 4 groups of 2 each, validated every 5", 10, expected)
    assert note == "at most 10 steps"


def test_no_passage_is_encoded_twice_in_a_validation(collection: Collection) -> None:
    deep = replace(PLAN, training=replace(CONFIG, most_depth=100, validation_queries=None, max_steps=5))
    work, _ = training(collection, deep, None)
    assert work.by == ModelWork(deep, collection, steps=5, passages=3 * 150, pairs=3 * 12 * 100)


def test_an_interrupted_training_has_steps_behind_it(collection: Collection) -> None:
    alone = replace(PLAN, validation_candidates=None)
    work, note = training(collection, alone, Path("state-7"))
    assert work == Work("steps of tk, 4 groups of 2 each, without validation", 3, ModelWork(alone, collection, steps=3))
    assert note == "at most 10 steps, from 7"


@pytest.mark.parametrize(("groups", "steps"), [(None, 16), (9, 6)])
def test_epochs_are_of_the_queries_or_of_the_groups_that_are_known(
    collection: Collection, groups: int | None, steps: int
) -> None:
    twice = replace(PLAN, training=replace(CONFIG, epochs=2))  # 2 × ⌈30 / 4⌉ and 2 × ⌈9 / 4⌉ batches
    work, _ = training(collection, twice, None, groups)
    assert work.amount == steps


def test_receipts_come_before_rates_and_models(collection: Collection) -> None:
    unit = "steps of tk, 4 groups of 2 each, validated every 5"
    estimator = Estimator({unit: 0.5, "passages": 3.0})
    assert estimator.seconds(training(collection, PLAN, None)[0]) == 5.0
    assert estimator.seconds(Work("passages", 4, by=1.0)) == 12.0
    assert estimator.seconds(Work("queries", 4, by=1.0)) == 4.0


def test_a_model_is_timed_once_whatever_its_seed_and_a_sum_of_its_parts(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[TrainPlan] = []

    def rates(plan: TrainPlan, _: Collection) -> tuple[float, float, float]:
        timed.append(plan)
        return 2.0, 0.5, 0.25

    monkeypatch.setattr(estimate, "_timed", rates)
    estimator = Estimator({})
    assert estimator.seconds(Work("pairs", 80, ModelWork(PLAN, collection, 3, 40, 80))) == 3 * 2 + 40 * 0.5 + 80 * 0.25
    other = replace(PLAN, training=replace(CONFIG, seed=2), candidates=Path("other.run"))
    assert estimator.seconds(Work("passages", 10, ModelWork(other, collection, passages=10))) == 5
    assert timed == [PLAN]
    wider = replace(PLAN, training=replace(CONFIG, batch_size=5))
    assert estimator.seconds(Work("steps", 1, ModelWork(wider, collection, steps=1))) == 2
    assert timed == [PLAN, wider]


@pytest.mark.parametrize("kind", ["tk", "knrm", "duet", "bert_cat", "bert_dot", "colbert", "mono_t5"])
def test_kinds_of_models(collection: Collection, kind: str, tmp_path: Path) -> None:
    encoder = None
    if begins_with(kind) == "encoder":
        encoder = str(saved_t5(tmp_path / "t5") if kind == "mono_t5" else tiny_encoder(tmp_path / "encoder"))
    plan = replace(PLAN, kind=kind, model=TINY if kind == "tk" else None, encoder=encoder, training=replace(CONFIG, loss=None))
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    rates = estimate._timed(plan, collection)
    assert rates is not None
    step, passage, pair = rates
    assert step > 0
    assert pair > 0
    assert (passage > 0) == (kind not in ("bert_cat", "mono_t5"))  # these read query and passage together
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_a_model_that_goes_on_from_what_is_not_there_yet(collection: Collection, tmp_path: Path) -> None:
    plan = replace(PLAN, model=None, start=tmp_path / "tk.ckpt")
    work = Work("passages", 10, ModelWork(plan, collection, passages=10))
    estimator = Estimator({})
    assert estimator.seconds(work) is None
    saved_tk(tmp_path / "tk.ckpt", collection)
    assert estimator.seconds(work) is not None


def test_a_teacher_s_scores_are_not_needed(collection: Collection) -> None:
    config = replace(CONFIG, loss="kl")
    assert estimate._timed(replace(PLAN, training=config, teacher_scores=Path("not there yet")), collection) is not None


@pytest.mark.parametrize(("each", "calls"), [(0.0, [1, 1, 2, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5]), (0.5, [1, 1, 2]), (2.0, [1, 1])])
def test_calls_grow_while_there_is_time(monkeypatch: pytest.MonkeyPatch, each: float, calls: list[int]) -> None:
    """Of a clock that goes on by ``each`` for one: at 0.5 s a call of 1 and one of 2 take 1.5 s, and one of 4 would pass 2.5 s."""
    clock, made = [0.0], list[int]()

    def call(number: int) -> None:
        made.append(number)
        clock[0] += each * number

    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    assert timing.seconds_each(call, 5, patience=2.5) == each
    assert made == calls


def test_candidates_of_some_queries_are_scored_to_the_depth(collection: Collection, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "study", dry_run=True)
    model, runs = tmp_path / "study" / "models" / "m", tmp_path / "some.run"
    assert workspace._reranking(model, collection.path, "test", runs, 5) is None  # nothing tells what it is
    workspace._plans[model] = PLAN
    work = workspace._reranking(model, collection.path, "test", runs, 5)
    assert work is not None
    assert (work.unit, work.amount) == ("pairs re-ranked by tk", 18 * 5)
    assert isinstance(work.by, ModelWork)
    assert work.by[2:] == (0, 90, 90)
    workspace._drawn[runs] = 4
    work = workspace._reranking(model, collection.path, "test", runs, None)  # as deep as a validation looks
    assert work is not None
    assert work.amount == 4 * 6
