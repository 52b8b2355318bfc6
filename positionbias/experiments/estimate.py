"""Estimate the duration of steps from past steps, else from a few timed batches of the model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup
from positionbias.core.progress import step
from positionbias.core.timing import seconds_each
from positionbias.training.plan import TrainPlan

__all__ = ["Estimator", "ModelWork", "Work", "training"]

SAMPLE = 256  # texts per side to time a model, which takes three timings


class ModelWork(NamedTuple):
    """The work of the model of ``plan`` on texts of ``collection``: training steps, passages encoded, pairs scored."""

    plan: TrainPlan
    collection: Collection
    steps: float = 0
    passages: float = 0
    pairs: float = 0


@dataclass(frozen=True, slots=True)
class Work:
    """The size of a step: ``amount`` of ``unit``, whose name contains all that changes the time of one.

    ``by`` is the model's work or, without a model, the seconds of one unit on one of two cores of an AMD EPYC.
    """

    unit: str
    amount: float
    by: float | ModelWork


class Estimator:
    """An estimator by ``taken``, the seconds of one by unit, else by timing the model, once per kind, shape and batch."""

    def __init__(self, taken: Mapping[str, float]) -> None:
        self.taken = taken
        self._rates: dict[Hashable, tuple[float, float, float] | None] = {}

    def seconds(self, work: Work) -> float | None:
        """Return the seconds of the work; None if its model starts from one that does not exist yet."""
        each = self.taken.get(work.unit, work.by)
        if not isinstance(each, ModelWork):
            return each * work.amount
        plan, collection, *amounts = each
        key = (plan.kind, plan.model, plan.encoder, replace(plan.training, seed=0))
        rates = self._rates[key] = self._rates.get(key) or _timed(plan, collection)
        return None if rates is None else sum(amount * rate for amount, rate in zip(amounts, rates, strict=True))


def training(collection: Collection, plan: TrainPlan, state: Path | None, groups: int | None = None) -> tuple[Work, str]:
    """Return the most steps, less those that an interrupted training has done, as work and in words.

    ``groups`` is the size of the training set, for candidates about the number of queries.
    """
    config = plan.training
    done = int(state.name.rpartition("-")[2]) if state else 0
    steps = max(1, config.steps(collection.count_queries(plan.split or "train") if groups is None else groups))
    left = max(0, steps - done)
    passages, pairs, validated = 0.0, 0.0, "without validation"
    if plan.validation_candidates:
        validated = f"validated every {config.validate_every}"
        queries = collection.count_queries(plan.validation_split)
        looks = left / config.validate_every + 1  # the first precedes the first step
        for times, watched in ((looks, min(queries, config.validation_queries or queries)), (1, queries)):
            pairs += times * watched * config.most_depth
            passages += times * min(watched * config.most_depth, len(collection))
    unit = f"steps of {plan.named}, {config.batch_size} groups of {config.group_size} each, {validated}"
    note = f"at most {steps:,} steps" + (f", from {done:,}" if done else "")
    return Work(unit, left, ModelWork(plan, collection, left, passages, pairs)), note


def _timed(plan: TrainPlan, collection: Collection) -> tuple[float, float, float] | None:
    """Time a step of the plan's model on first texts, an encoded passage (0: pairs are read together), and a scored pair."""
    import torch

    from positionbias.models.protocols import PassageEncoder
    from positionbias.models.torch_threads import torch_threads
    from positionbias.ranking.config import RankingConfig
    from positionbias.training.batches import Batch
    from positionbias.training.build import model_like
    from positionbias.training.devices import find_devices
    from positionbias.training.trainer import Trainer

    texts = [passage.text for passage in islice(collection.shard(0), SAMPLE)]
    asked = [query.text for query in collection.queries(plan.split or collection.splits[0])[:SAMPLE]]
    model = model_like(plan, [*texts, *asked])
    if model is None:
        return None
    queries, passages = list(filter(len, model.read_queries(asked))), list(filter(len, model.read_passages(texts)))
    if not queries or not passages:
        return None
    config = replace(plan.training, loss="hinge")  # all losses take as long, and a teacher's scores may not exist yet
    devices = find_devices(config.precision)
    trainer = Trainer(model, config, devices, Path(), steps=config.max_steps)

    def train(groups: int) -> None:
        tokens = list(islice(cycle(queries), groups)), list(islice(cycle(passages), groups * config.group_size))
        trainer.step([Batch(0, 0, [TrainingGroup("", (), ())] * groups, *tokens, model.inputs(*tokens), 0)])
        trainer.settle()

    def score(pairs: int) -> None:
        inputs = model.inputs(queries[:1], passages[:pairs])
        model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}).sum().item()

    with torch_threads(config.threads), step(f"timing {plan.kind}", None), devices.own_generator():
        trained = config.accumulate * config.batch_size * seconds_each(train, config.batch_size)
        model.eval()
        with torch.inference_mode(), RankingConfig().autocast(model.device):
            passage, pair = 0.0, seconds_each(score, len(passages))
            if isinstance(model, PassageEncoder):
                interact, passage = model.interact, pair
                sides = *model.encode_queries(queries[:8]), *model.encode_passages(passages[:8])

                def meet(pairs: int) -> None:
                    interact(*(side[torch.arange(pairs) % len(side)] for side in sides)).sum().item()

                pair = seconds_each(meet, SAMPLE)
    return trained, passage, pair
