"""How fast this machine trains and re-ranks: a few real batches of each kind of model, for the estimates of a dry run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup
from positionbias.core.progress import step
from positionbias.core.records import Passage, Query
from positionbias.core.run import Run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.kinds import begins_with, model_over
from positionbias.models.protocols import PassageEncoder, Ranker
from positionbias.ranking.rerank import rescore
from positionbias.training.batches import Batch
from positionbias.training.devices import find_devices
from positionbias.training.from_words import model_of_texts
from positionbias.training.plan import TrainPlan
from positionbias.training.trainer import Trainer

__all__ = ["Calibration", "Rates"]

SAMPLE = 256  # passages, and queries at most
PATIENCE = 1.0  # seconds after which a time is known well enough
DEPTH = 32  # candidates of a query
AT_ONCE = 8  # pairs of a training step of a large model, whose time grows with them


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds: of a training step, of encoding a passage (0 where a pair is read together), of scoring a pair."""

    step: float
    passage: float
    pair: float


@dataclass(frozen=True, slots=True)
class _Texts:
    """A few passages held in memory, as a re-ranker reads them."""

    passages: dict[str, str]

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [self.passages[passage_id] for passage_id in passage_ids]


class Calibration:
    """Rates by kind, shape and batch, each measured once."""

    def __init__(self) -> None:
        self._known: dict[str, Rates] = {}

    def rates(self, plan: TrainPlan, collection: Collection) -> Rates | None:
        """The rates of a plan's model on the collection's first passages; None where it goes on from what is not there yet."""
        shape = asdict(plan.model) if plan.model else None
        begun = [plan.encoder, None if plan.start is None else plan.start.name]
        key = json.dumps([plan.kind, shape, begun, replace(plan.training, seed=0).deciding()], sort_keys=True)
        if key not in self._known:
            passages = list(islice(collection.shard(0), SAMPLE))
            queries = collection.queries(plan.split or collection.splits[0])[:SAMPLE]
            model = _model(plan, passages, queries)
            if model is None or not passages or not queries:
                return None
            with step(f"timing {plan.kind}", None):
                self._known[key] = _measure(model, plan, passages, queries)
        return self._known[key]


def _model(plan: TrainPlan, passages: Sequence[Passage], queries: Sequence[Query]) -> Ranker | None:
    """A model of the plan's shape, its weights of no matter."""
    if plan.start is not None:
        if plan.start.exists():
            return load_checkpoint(plan.start).ranker
        if plan.model is None:
            return None
    if begins_with(plan.kind) != "encoder":
        return model_of_texts(plan, [*(p.text for p in passages), *(q.text for q in queries)])
    if plan.encoder is None:
        return None
    return model_over(plan.kind, plan.model, plan.encoder)


def _measure(model: Ranker, plan: TrainPlan, passages: Sequence[Passage], queries: Sequence[Query]) -> Rates:
    devices = find_devices(plan.training.precision)
    if plan.training.threads:
        torch.set_num_threads(plan.training.threads)
    with devices.own_generator():
        trainer = Trainer(model, plan.training, devices, Path(), steps=plan.training.max_steps)
        wanted = plan.training.batch_size
        size = min(wanted, AT_ONCE) if begins_with(plan.kind) == "encoder" else wanted
        batch = _batch(model, size, plan.training.group_size, passages, queries)

        def train() -> None:
            trainer.step([batch])
            trainer.settle()

        each = _seconds(train) * plan.training.accumulate * wanted / size
        model.eval()
        return Rates(each, *_scoring(model, passages, queries))


def _scoring(model: Ranker, passages: Sequence[Passage], queries: Sequence[Query]) -> tuple[float, float]:
    """Seconds to encode a passage, and to score a pair: by the difference of two runs, so that what a run costs drops out."""
    texts, asked = _Texts(dict(passages)), queries[: len(passages)]

    def seconds(number: int, *, apart: bool) -> float:
        run = _candidates(passages, [query.query_id for query in asked[:number]], apart=apart)
        return _seconds(lambda: rescore(model, texts, asked, run, name="timing"))

    depth = min(DEPTH, len(passages))
    if not isinstance(model, PassageEncoder):
        return 0.0, seconds(1, apart=False) / depth
    few, many = min(3, len(asked)), min(4 * DEPTH, len(asked))
    alone = seconds(1, apart=False)
    passage = max(0.0, seconds(few, apart=True) - alone) / (depth * max(1, few - 1))
    return passage, max(0.0, seconds(many, apart=False) - alone) / (depth * max(1, many - 1))


def _batch(model: Ranker, size: int, group_size: int, passages: Sequence[Passage], queries: Sequence[Query]) -> Batch:
    asked = [queries[i % len(queries)] for i in range(size)]
    read = [passages[i % len(passages)] for i in range(group_size * size)]
    labels = (1, *([0] * (group_size - 1)))
    groups = [TrainingGroup(q.query_id, tuple(p.passage_id for p in read[i::size]), labels) for i, q in enumerate(asked)]
    tokens = model.read_queries([query.text for query in asked]), model.read_passages([passage.text for passage in read])
    teacher = torch.arange(float(group_size)).expand(size, group_size)  # any order will do
    return Batch(0, 0, groups, *tokens, model.inputs(*tokens), 0, teacher=teacher)


def _candidates(passages: Sequence[Passage], query_ids: Sequence[str], *, apart: bool) -> Run:
    """A run over these queries: all with the same candidates, or each with its own."""
    ids = [passage.passage_id for passage in passages]
    rankings = []
    for place, query_id in enumerate(query_ids):
        first = place * DEPTH if apart else 0
        chosen = [ids[i % len(ids)] for i in range(first, first + min(DEPTH, len(ids)))]
        rankings.append((query_id, chosen, [float(-i) for i in range(len(chosen))]))
    return Run("timing", rankings)


def _seconds(call: Callable[[], object]) -> float:
    """The least time of a call, tried until there has been enough of it: what else the machine does only adds to it."""
    times: list[float] = []
    while not times or (sum(times) < PATIENCE and len(times) < 8):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)
