"""Training: it learns, stops early, tunes its depth, and says at once what it cannot use."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import ir_measures
import pytest
import torch

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.depth import apply_depth
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.tensors import load_tensors
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.ranking.rerank import rescore
from positionbias.training.batches import Batch, TrainingTexts, batches
from positionbias.training.build import build_model
from positionbias.training.devices import find_devices
from positionbias.training.record import TIMES
from positionbias.training.state import restore_state, save_state, unfinished, working_folder
from positionbias.training.trainer import Trainer
from positionbias.training.trainsets.sample import make_sampler
from positionbias.training.validation import Validation, validate

from ..tiny import tiny_tk
from .conftest import QUICK, Task

# -- steps -----------------------------------------------------------------------------------------


def made(
    task: Task, folder: Path, kind: str = "tk", **changes: object
) -> tuple[Trainer, TrainingTexts]:
    """A trainer before its first step, and what its batches are made of."""
    collection = task.collection
    config = replace(QUICK, **changes).of_kind(kind)  # type: ignore[arg-type]
    model, _ = build_model(collection, task.plan(kind))
    source = make_sampler(collection.qrels("train"), Run.from_file(task.runs["train"]), seed=1)
    texts = TrainingTexts(
        collection, {query.query_id: query.text for query in collection.queries("train")}, source
    )
    return Trainer(
        model, config, find_devices(config.precision), folder, steps=config.max_steps
    ), texts


def first_batches(
    trainer: Trainer, texts: TrainingTexts, size: int = 4, count: int = 1
) -> list[Batch]:
    return list(islice(batches(trainer.model, texts, size=size, epoch=0), count))


def test_a_first_step_moves_each_part_by_its_learning_rate(task: Task, tmp_path: Path) -> None:
    # Adam's first step is lr · g / (|g| + 1e−8): the learning rate itself wherever there is a
    # gradient
    trainer, texts = made(task, tmp_path, learning_rate=1e-3, kernel_learning_rate=1e-2)
    before = {
        name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()
    }
    (batch,) = first_batches(trainer, texts)
    assert trainer.step([batch]) == 1e-3
    moved = {
        name: (parameter - before[name]).abs().detach()
        for name, parameter in trainer.model.named_parameters()
    }
    for name, change in moved.items():
        rate = 1e-2 if name.startswith("pooling") else 1e-3
        # attention does not change when all keys shift alike: its gradient is rounding
        if not name.endswith("key.bias"):
            assert change.max().item() == pytest.approx(rate, rel=1e-2), name
    words = {number for row in (*batch.queries, *batch.passages) for number in row}
    rows = set(torch.nonzero(moved["embedding.weight"].sum(dim=1)).flatten().tolist())
    assert rows <= words
    # the sparse optimiser touches what was read, and never padding
    assert len(rows) > 0.9 * len(words)


def test_the_loss_of_a_step_is_that_of_its_scores(task: Task, tmp_path: Path) -> None:
    trainer, texts = made(task, tmp_path)
    (batch,) = first_batches(trainer, texts)
    with torch.no_grad():
        positive, negative = (
            trainer.model(**trainer.model.inputs(batch.queries, side)).tolist()
            for side in (batch.passages[:4], batch.passages[4:])
        )
    trainer.step([batch])
    margins = [p - n for p, n in zip(positive, negative, strict=True)]
    since = trainer.record.since
    assert (since.pairs, since.right) == (4, sum(margin > 0 for margin in margins))
    assert since.loss == pytest.approx(sum(max(0.0, 1 - margin) for margin in margins), abs=1e-5)
    assert since.margin == pytest.approx(sum(margins), abs=1e-5)
    assert since.means()["loss"] == pytest.approx(since.loss / 4)


@pytest.mark.parametrize("kind", ["bert_cat"])
def test_dropout_acts_in_training_is_keyed_by_the_batch_and_can_be_left_out(
    task: Task, tmp_path: Path, kind: str
) -> None:
    losses = {}
    for name, changes in {
        "drawn": {},
        "again": {},
        "other": {"seed": 2},
        "none": {"dropout": False},
    }.items():
        trainer, texts = made(task, tmp_path, kind, **changes)
        (batch,) = first_batches(trainer, texts)
        with torch.no_grad():
            scores = trainer.model.eval()(**batch.inputs)
        trainer.step([batch])
        losses[name] = trainer.record.since.loss
    still = (1 - scores[:4] + scores[4:]).clamp(min=0).sum().item()
    assert losses["none"] == pytest.approx(still, rel=1e-5)
    assert losses["drawn"] == losses["again"]
    assert len({losses[name] for name in ("drawn", "other", "none")}) == 3


@pytest.mark.parametrize("kind", ["tk"])
def test_float16_scales_its_gradients_and_goes_on_with_the_same_scale(
    task: Task, tmp_path: Path, kind: str
) -> None:
    # what a GPU would be asked to do, done by the CPU: sparse and dense gradients, clipped, under a
    # scale that grows
    def started() -> Trainer:
        trainer = made(
            task, tmp_path, kind, learning_rate=1e-3, kernel_learning_rate=1e-3, clip=1.0
        )[0]
        trainer.devices.half = torch.float16
        trainer.devices.scaler = torch.amp.GradScaler("cpu", growth_interval=2)
        return trainer

    full, texts = made(
        task, tmp_path, kind, learning_rate=1e-3, kernel_learning_rate=1e-3, clip=1.0
    )
    whole, cut, again = started(), started(), started()
    read = first_batches(whole, texts, count=5)
    for batch in read:
        full.step([batch])
        whole.step([batch])
    assert whole.record.since.loss == pytest.approx(full.record.since.loss, rel=1e-2)
    assert whole.devices.scaler.get_scale() != 65_536  # it has moved
    for batch in read[:3]:
        cut.step([batch])
    record = {"step": 3, "settings": {}, "record": {"best_step": 0}}
    save_state(
        working_folder(tmp_path / "m"), cut.model, cut.optimizers, cut.devices.scaler, record
    )
    restore_state(tmp_path / "m", again.model, again.optimizers, again.devices.scaler)
    again.record.step = 3
    for batch in read[3:]:
        again.step([batch])
    assert again.devices.scaler.state_dict() == whole.devices.scaler.state_dict()
    for (name, one), other in zip(
        whole.model.named_parameters(), again.model.parameters(), strict=True
    ):
        assert torch.equal(one, other), name


def test_a_loss_that_is_no_number_names_its_batch_and_leaves_what_was_saved(
    task: Task, tmp_path: Path
) -> None:
    out = tmp_path / "tk.ckpt"
    plan = task.plan(learning_rate=1e30, validate_every=50, max_steps=50, probe_passages=0)
    with pytest.raises(
        SettingError,
        match="--learning-rate: wanted a finite loss; found (nan|inf) in epoch 0, batch",
    ) as stop:
        task.train(out, plan)
    message = str(stop.value)
    place = re.search(
        r"epoch (\d), batch (\d) \(query (\S+) with passages (\S+) and (\S+);", message
    )
    assert place is not None
    epoch, number, query_id, positive, negative = place.groups()
    source = make_sampler(task.collection.qrels("train"), Run.from_file(task.runs["train"]), seed=1)
    _, group = next(source.epoch(int(epoch), 8 * int(number)))
    assert (group.query_id, group.passage_ids) == (query_id, (positive, negative))
    assert f"at step 0) is in {working_folder(out)}" in message
    assert unfinished(out) is not None
    weights = load_tensors(unfinished(out) / "model.safetensors")  # type: ignore[operator]
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


@pytest.mark.parametrize(
    "rate",
    [
        1e30,
    ],
)
def test_weights_that_are_no_numbers_are_never_saved(
    task: Task, tmp_path: Path, rate: float
) -> None:
    # looked at after every step, where the loss may still be finite and the weights no more
    out = tmp_path / "tk.ckpt"
    plan = task.plan(learning_rate=rate, validate_every=1, max_steps=9, probe_passages=0)
    with pytest.raises(
        SettingError,
        match=(
            "wanted a finite loss; found (nan|inf|a weight that is|scores that are) .*(epoch|step) "
        ),
    ):
        task.train(out, plan)
    state = unfinished(out)
    assert state is not None
    for place in (state, *working_folder(out).glob("best-*")):
        weights = load_tensors(place / "model.safetensors")
        assert all(torch.isfinite(tensor).all() for tensor in weights.values()), place


# -- a training ------------------------------------------------------------------------------------


def test_it_learns(task: Task, tmp_path: Path) -> None:
    plan = task.plan(
        max_steps=80,
        validate_every=10,
        learning_rate=0.02,
        kernel_learning_rate=0.05,
        probe_passages=0,
    )
    rows: list[dict] = []
    checkpoint = task.train(tmp_path / "tk.ckpt", plan, on_validation=rows.append)
    assert [row["step"] for row in rows] == list(range(0, 81, 10))
    assert rows[0]["loss"] is None
    assert rows[-1]["loss"] < 0.5 * rows[1]["loss"]
    assert rows[-1]["pair_accuracy"] > 0.9 > rows[1]["pair_accuracy"]
    assert checkpoint.training.log == [
        {k: v for k, v in row.items() if k not in TIMES} for row in rows
    ]
    assert [
        json.loads(line) for line in (checkpoint.path / "log.jsonl").read_text().splitlines()
    ] == rows
    assert [row["learning_rate"] for row in rows] == [None] + [0.02] * 8
    # ten batches, of 8, 8, 8 and 6 pairs in turn
    assert [row["pairs"] for row in rows] == [0] + [76, 74] * 4
    assert all(
        row["score_margin"] > previous["score_margin"] for previous, row in pairwise(rows[1:4])
    )
    best = max(rows, key=lambda row: row["ndcg"])
    assert checkpoint.training.best_step == best["step"]
    content, ending = checkpoint.manifest.content, checkpoint.ending
    assert (content["validation_ndcg@10"], content["first_stage_ndcg@10"]) == (
        ending.ndcg,
        ending.first_stage,
    )
    # at the depth that is best of all, where while training only 5 and 6 were tried
    assert ending.ndcg >= best["ndcg"]
    assert ending.depth == checkpoint.depth
    assert (ending.depth == 1) == (ending.ndcg == ending.first_stage)
    # padding is where it was, after eighty steps
    assert checkpoint.model.embedding.weight[0].abs().sum() == 0


def test_what_a_checkpoint_says_of_itself(task: Task, uninterrupted: Checkpoint) -> None:
    content = dict(uninterrupted.manifest.content)
    assert (
        content["training_groups"],
        content["groups_without_negatives"],
        content["groups_with_an_empty_side"],
    ) == (30, 0, 0)
    assert (content["steps"], content["stopped"]) == (6, "6 steps")
    assert content["words"] == len(uninterrupted.model.vocabulary.words)
    assert content["words_with_a_given_vector"] == 0
    log = uninterrupted.training.log
    # 30 pairs: four batches an epoch
    assert [(row["step"], row["epoch"]) for row in log] == [(0, 0), (2, 0), (4, 0), (6, 1)]
    assert all(row["mats"] is not None and 0 < row["gate"] < 1 for row in log)
    assert log[0]["gate"] == 0.5
    assert not working_folder(uninterrupted.path).exists()


def test_it_stops_when_nothing_gets_better(task: Task, tmp_path: Path) -> None:
    # steps too small to change a rank: the untrained model stays the best
    plan = task.plan(
        learning_rate=1e-12, kernel_learning_rate=1e-12, patience=3, max_steps=100, probe_passages=0
    )
    checkpoint = task.train(tmp_path / "tk.ckpt", plan)
    assert checkpoint.manifest.content["stopped"] == "no better nDCG@10 in 3 validations"
    assert checkpoint.manifest.content["steps"] == 3 * 2
    assert checkpoint.training.best_step == 0
    assert len(checkpoint.training.log) == 4
    assert all(row["mats"] is None for row in checkpoint.training.log)


def test_the_depth_is_the_best_of_all(task: Task, uninterrupted: Checkpoint) -> None:
    validation, run = task.collection.qrels("validation"), Run.from_file(task.runs["validation"])
    scored = rescore(
        uninterrupted.model, task.collection, task.collection.queries("validation"), run, name="tk"
    ).run
    values = {}
    for depth in range(1, run.depth + 1):
        ranked = apply_depth(run, scored, depth)
        items = [
            ir_measures.ScoredDoc(r.query_id, p, -rank)
            for r in ranked.rankings()
            for rank, p in enumerate(r.passage_ids)
        ]
        judged = [ir_measures.Qrel(*qrel) for qrel in validation]
        values[depth] = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, items)[
            ir_measures.nDCG @ 10
        ]
    best = max(values.values())
    assert uninterrupted.depth == min(
        depth for depth, value in values.items() if value > best - 1e-9
    )
    assert len({round(value, 6) for value in values.values()}) > 1


# -- what is validated -----------------------------------------------------------------------------


class Asked:
    """Passages of one text, and which of them were asked for."""

    def __init__(self) -> None:
        self.passage_ids: set[str] = set()

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        self.passage_ids |= set(passage_ids)
        return ["the lamp burns oil"] * len(passage_ids)


def test_validation_scores_no_deeper_than_it_looks(task: Task) -> None:
    run = Run("bm25", [("q", [f"p{i}" for i in range(9)], range(9, 0, -1))])
    asked = Asked()
    validation = Validation(
        asked, [Query("q", "the lamp")], [Qrel("q", "p5", 1)], run, task.collection, []
    )
    found = validate(tiny_tk(["the lamp burns oil"] * 2), validation, most_depth=4)
    assert asked.passage_ids == {"p0", "p1", "p2", "p3"}
    # all texts are alike, so the four tie and stand by id descending; the relevant one stays sixth
    assert (found["ndcg"], found["mats"]) == (pytest.approx(1 / math.log2(7)), None)


@pytest.mark.parametrize(("least", "most", "depth"), [(1, 8, 6), (7, 8, 7), (20, 20, 8)])
def test_validation_looks_no_shallower_than_it_is_told(
    task: Task, least: int, most: int, depth: int
) -> None:
    run = Run("bm25", [("q", [f"p{i}" for i in range(8)], range(8, 0, -1))])
    validation = Validation(
        Asked(), [Query("q", "the lamp")], [Qrel("q", "p5", 1)], run, task.collection, []
    )
    model = tiny_tk(["the lamp burns oil"] * 2)
    found = validate(model, validation, least_depth=least, most_depth=most, every_depth=True)
    # all tie and stand by id descending: at depth 6, where it enters, p5 is first; each deeper
    # candidate comes before it
    assert (found["depth"], found["ndcg"]) == (depth, pytest.approx(1 / math.log2(depth - 4)))


def test_a_validation_of_drawn_queries(task: Task) -> None:
    names = [f"q{i}" for i in range(40)]
    # half of them have candidates
    run = Run("bm25", [(name, ["p1", "p2"], [2, 1]) for name in names[::2]])
    qrels = [Qrel(name, "p2", 1) for name in names]
    whole = Validation(
        Asked(), [Query(name, "the lamp") for name in names], qrels, run, task.collection, []
    )
    drawn = whole.drawn(10, seed=1)
    kept = {query.query_id for query in drawn.queries}
    assert len(kept) == 10
    assert {qrel.query_id for qrel in drawn.qrels} == kept
    assert list(drawn.candidates) == [name for name in run if name in kept]
    assert whole.drawn(10, seed=1).queries == drawn.queries != whole.drawn(10, seed=2).queries
    assert kept < {query.query_id for query in whole.drawn(20, seed=1).queries}
    assert whole.drawn(40, seed=1) is whole is whole.drawn(None, seed=1)
    with pytest.raises(
        SettingError,
        match="--validation-queries: wanted candidates of one of 1 drawn queries; found none",
    ):
        replace(whole, candidates=run.only(list(run)[:1], "few")).drawn(1, seed=1)


def test_validation_text_follows_the_training_text(task: Task, tmp_path: Path) -> None:
    rotation = Rotation(seed=1)
    rotated = debias(task.collection, tmp_path / "rotated", rotation)
    plan = task.plan(max_steps=2)
    at_reading = task.train(tmp_path / "a.ckpt", replace(plan, rotate=rotation)).training.log
    stored = task.train(tmp_path / "b.ckpt", plan, collection=rotated).training.log
    # before training, both are the same model on the same rotated passages, and MATS is of the
    # original ones
    assert at_reading[0] == stored[0]
    assert at_reading[1]["loss"] != stored[1]["loss"]  # then each epoch reads other cuts
    plain = task.train(tmp_path / "c.ckpt", plan).training.log
    assert plain[0]["mats"] == stored[0]["mats"]
    assert plain[1]["loss"] != stored[1]["loss"]


# -- faults ----------------------------------------------------------------------------------------


def refused(task: Task, out: Path, **options: object) -> str:
    """The message of a training that must fail before it begins."""
    with pytest.raises(InputError) as stop:
        task.train(out, **options)  # type: ignore[arg-type]
    assert "\n" not in str(stop.value)
    assert list(out.parent.glob(".*")) == []
    return str(stop.value)


def test_float16_needs_a_gpu(task: Task, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(
        SettingError, match="--precision: float16 needs a GPU; found cpu; give bfloat16 or float32"
    ):
        task.train(tmp_path / "tk.ckpt", task.plan(precision="float16"))
