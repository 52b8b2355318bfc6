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
from positionbias.models.kinds import model_class
from positionbias.models.protocols import PassageEncoder, Ranker
from positionbias.models.tk import TK
from positionbias.ranking.rerank import rescore
from positionbias.text.vocabulary import Vocabulary, count_words
from positionbias.training.batches import Batch
from positionbias.training.devices import find_devices
from positionbias.training.loop import Trainer
from positionbias.training.plan import TrainPlan

__all__ = ["Calibration", "Rates"]

SAMPLE = 256  # passages, and queries at most
PATIENCE = 2.0  # seconds after which a rate is known well enough
PAIRS = (4, 32)  # queries, and candidates of each


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
        key = json.dumps([plan.kind, shape, replace(plan.training, seed=0).deciding()], sort_keys=True)
        if key not in self._known:
            passages = list(islice(collection.shard(0), SAMPLE))
            queries = collection.queries(plan.split)[:SAMPLE]
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
            return load_checkpoint(plan.start).model
        if plan.model is None:
            return None
    if plan.kind == "tk":
        return TK(plan.model, Vocabulary.build(count_words([*(p.text for p in passages), *(q.text for q in queries)])))
    if plan.encoder is None:
        return None
    from positionbias.models.encoder import load_encoder

    return model_class(plan.kind)(plan.model, load_encoder(plan.encoder))  # type: ignore[call-arg]


def _measure(model: Ranker, plan: TrainPlan, passages: Sequence[Passage], queries: Sequence[Query]) -> Rates:
    devices = find_devices(plan.training.precision)
    if plan.training.threads:
        torch.set_num_threads(plan.training.threads)
    with devices.own_generator():
        trainer = Trainer(model, plan.training, devices, Path())
        batches = [_batch(model, plan, passages, queries)] * plan.training.accumulate

        def train() -> None:
            trainer.step(batches)
            trainer.settle()

        each = _seconds(train)
        model.eval()
        texts, asked = _Texts(dict(passages)), {query.query_id: query for query in queries}
        wide, narrow = _candidates(passages, list(asked), 1), _candidates(passages, list(asked), PAIRS[0])
        seconds = [
            _seconds(lambda run=run: rescore(model, texts, list(asked.values()), run, name="timing"))  # type: ignore[misc]
            for run in (wide, narrow)
        ]
    if not isinstance(model, PassageEncoder):
        return Rates(each, 0.0, seconds[0] / wide.pairs)
    # both score as many pairs; the second encodes fewer passages
    passage = max(0.0, seconds[0] - seconds[1]) / (len(wide.passage_ids) - len(narrow.passage_ids))
    return Rates(each, passage, max(0.0, seconds[0] / wide.pairs - passage))


def _batch(model: Ranker, plan: TrainPlan, passages: Sequence[Passage], queries: Sequence[Query]) -> Batch:
    size = plan.training.batch_size
    asked = [queries[i % len(queries)] for i in range(size)]
    read = [passages[i % len(passages)] for i in range(2 * size)]
    groups = [TrainingGroup(q.query_id, (read[i].passage_id, read[size + i].passage_id), (1, 0)) for i, q in enumerate(asked)]
    tokens = model.read_queries([query.text for query in asked]), model.read_passages([passage.text for passage in read])
    return Batch(0, 0, groups, *tokens, model.inputs(*tokens), 0)


def _candidates(passages: Sequence[Passage], query_ids: Sequence[str], shared_by: int) -> Run:
    """A run in which each passage is a candidate of so many queries."""
    number, depth = PAIRS
    ids = [passage.passage_id for passage in passages]
    rankings = []
    for place, query_id in enumerate(query_ids[:number]):
        first = place // shared_by * depth
        chosen = [ids[i % len(ids)] for i in range(first, first + min(depth, len(ids)))]
        rankings.append((query_id, chosen, [float(-i) for i in range(len(chosen))]))
    return Run("timing", rankings)


def _seconds(call: Callable[[], object]) -> float:
    """The least time of a call, tried until there has been enough of it; the first call warms up where it is quick."""
    times: list[float] = []
    while not times or (sum(times) < PATIENCE and len(times) < 5):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)
