"""The training loop, visible from top to bottom: batches, hinge loss, validation, early stopping, resuming."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.progress import step as progress_step
from positionbias.core.records import Query
from positionbias.models.tk import TK
from positionbias.positions.rotate import Rotation
from positionbias.training.batches import Batch, batches, encode_ragged
from positionbias.training.config import TrainConfig
from positionbias.training.losses import pairwise_hinge
from positionbias.training.state import find_state, load_best, restore_state, save_best, save_state, working_folder
from positionbias.training.trainsets.sample import GroupSource
from positionbias.training.validation import Validation, validate

__all__ = ["Trained", "TrainingData", "forget_state", "make_optimizers", "score_batch", "train"]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a model is trained on."""

    collection: Collection
    queries: Sequence[Query]
    sampler: GroupSource
    rotation: Rotation | None = None


@dataclass
class Trained:
    """How a training went. The log holds one row a validation, step 0 (the untrained model) first."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_step: int = 0
    best_ndcg: float = -1.0
    waited: int = 0
    dropped: int = 0
    seconds: float = 0.0
    depth: int = 0
    stopped: str = ""
    log: list[dict[str, float | None]] = field(default_factory=list)


def make_optimizers(model: TK, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """SparseAdam for the embedding (a dense one would touch every word at each step), Adam for the rest; kernels faster."""
    kernels = list(model.pooling.parameters())
    context = [p for name, p in model.named_parameters() if not name.startswith(("embedding", "pooling"))]
    groups = [{"params": context, "lr": config.learning_rate}, {"params": kernels, "lr": config.kernel_learning_rate}]
    return [torch.optim.SparseAdam([model.embedding.weight], lr=config.learning_rate), torch.optim.Adam(groups)]


def score_batch(model: TK, batch: Batch, *, half: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of the positives and the negatives, each ``(n,)``."""
    with torch.autocast(batch.queries.device.type, dtype=torch.bfloat16, enabled=half):
        query = model.query_vectors(batch.queries)  # (n, query_len, dim)
        passage = encode_ragged(model, batch.passages)  # (2n, passage_len, dim)
    # the kernels are narrow (σ = 0.1): cosines and what follows stay in full precision
    scores = model.interact(
        query.float().repeat(2, 1, 1), (batch.queries != 0).repeat(2, 1), passage.float(), batch.passages != 0
    )
    positive, negative = scores.chunk(2)
    return positive, negative


def take_step(model: TK, batch: Batch, optimizers: Sequence[torch.optim.Optimizer], config: TrainConfig) -> tuple[float, float]:
    """One optimisation step: its loss, and the share of pairs in the right order.

    Raises:
        SettingError: the loss is no finite number: the training has diverged.
    """
    positive, negative = score_batch(model, batch, half=config.precision == "bfloat16")
    loss = pairwise_hinge(positive, negative, config.margin)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise SettingError(f"--learning-rate: wanted a finite loss; found {value}; lower it, or --kernel-learning-rate")
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return value, float((positive > negative).float().mean())


def train(
    model: TK,
    data: TrainingData,
    validation: Validation,
    config: TrainConfig,
    out: Path,
    *,
    settings: Mapping[str, Any],
    resume: bool = False,
    on_validation: Callable[[Mapping[str, float | None]], None] = lambda row: None,
) -> Trained:
    """Train ``model`` in place and leave its best weights in it.

    ``settings`` is everything that decides the outcome; a resumed training must be given the same. The state stands in a
    working folder beside ``out``; the caller removes it (``working_folder``) once the checkpoint is written.

    Raises:
        OutputExistsError: an unfinished training towards ``out`` stands there and ``resume`` is false.
        InputError: nothing to resume, or other settings.
        SettingError: the training diverged.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    folder = working_folder(out)
    saved = find_state(out, settings, resume=resume)
    optimizers = make_optimizers(model, config)
    record = Trained()
    if saved is not None:
        restore_state(out, model, optimizers)
        record = _recorded(saved["record"], folder)
    texts = {query.query_id: query.text for query in data.queries}

    def save() -> None:
        save_state(folder, model, optimizers, {"step": record.step, "settings": dict(settings), "record": asdict(record)})

    if saved is None:
        _validated(model, validation, config, record, folder, {"loss": None, "pair_accuracy": None}, on_validation)
        save()
    with progress_step(f"training {out.stem}", config.max_steps, unit="steps") as bar:
        bar.advance(record.step)
        losses: list[tuple[float, float]] = []
        began = time.monotonic()
        for batch in _stream(model, data, texts, config, record):
            record.dropped += batch.dropped
            if len(batch):
                losses.append(take_step(model, batch, optimizers, config))
            record.step, record.batch = record.step + 1, batch.number + 1
            bar.advance()
            if record.step % config.validate_every and record.step != config.max_steps:
                continue
            record.seconds += time.monotonic() - began
            mean = [sum(column) / len(losses) for column in zip(*losses, strict=True)] or [None, None]
            _validated(model, validation, config, record, folder, {"loss": mean[0], "pair_accuracy": mean[1]}, on_validation)
            bar.note(f"nDCG@10 {record.log[-1]['ndcg']:.4f} (best {record.best_ndcg:.4f} at {record.best_step})")
            save()
            if record.stopped:
                break
            losses, began = [], time.monotonic()
    load_best(folder, model, record.best_step)
    final = validate(model, validation, most_depth=config.most_depth, every_depth=True)
    record.depth = int(final["depth"] or 1)
    return record


def _stream(model: TK, data: TrainingData, texts: dict[str, str], config: TrainConfig, record: Trained) -> Iterator[Batch]:
    """Batches without end, epoch after epoch, from where ``record`` stands unless it has stopped."""
    while not record.stopped:
        where = {"epoch": record.epoch, "start": record.batch}
        yield from batches(data.sampler, model, data.collection, texts, size=config.batch_size, rotation=data.rotation, **where)
        record.epoch, record.batch = record.epoch + 1, 0


def _recorded(record: Mapping[str, Any], folder: Path) -> Trained:
    try:
        return Trained(**record)
    except TypeError as error:
        do = "resume with the version that began it, or remove the folder to begin anew"
        raise bad_input(folder, wanted="a training's counters", found=str(error), do=do) from error


def _validated(
    model: TK,
    validation: Validation,
    config: TrainConfig,
    record: Trained,
    folder: Path,
    means: Mapping[str, float | None],
    on_validation: Callable[[Mapping[str, float | None]], None],
) -> None:
    """Validate, log, keep the best, and decide whether to stop."""
    measured = validate(model, validation, most_depth=config.most_depth)
    row = {"step": record.step, "epoch": record.epoch, **means, **measured, "gate": float(model.gate.detach())}
    record.log.append(row)
    on_validation(row)
    ndcg = measured["ndcg"] or 0.0
    if ndcg > record.best_ndcg:
        record.best_ndcg, record.best_step, record.waited = ndcg, record.step, 0
        save_best(folder, model, record.step)
    else:
        record.waited += 1
    if record.waited >= config.patience:
        record.stopped = f"no better nDCG@10 in {config.patience} validations"
    elif record.step >= config.max_steps:
        record.stopped = f"{config.max_steps} steps"


def forget_state(out: Path) -> None:
    """Remove the working folder of a finished training."""
    shutil.rmtree(working_folder(out), ignore_errors=True)
