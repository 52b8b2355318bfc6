"""The training loop, visible from top to bottom: batches, hinge loss, validation, early stopping, resuming.

In several processes (``accelerate launch``, ``torchrun``) each computes its part of every batch, and gradients are averaged, so that
a step is the same whatever their number, but for rounding. The main process alone validates and writes; the others are told
what it found.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from positionbias.core.ahead import ahead
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.progress import step as progress_step
from positionbias.core.seeds import key64
from positionbias.models.protocols import Ranker
from positionbias.training.batches import Batch, TrainingTexts, batches
from positionbias.training.config import TrainConfig
from positionbias.training.devices import Devices
from positionbias.training.losses import pairwise_hinge
from positionbias.training.memory import fitting_size, out_of_memory, room_for_moments
from positionbias.training.optimizers import clip_gradients, make_optimizers, set_learning_rates
from positionbias.training.record import Board, Row, Sums, Trained, write_log
from positionbias.training.state import find_state, load_best, restore_state, save_best, save_state, working_folder
from positionbias.training.validation import Validation, validate

__all__ = ["Trainer", "forget_state", "train"]

_LOOK_EVERY = 16  # steps between two looks at the losses: on a GPU a look waits for all that is under way


def train(
    model: Ranker,
    texts: TrainingTexts,
    validation: Validation,
    config: TrainConfig,
    out: Path,
    devices: Devices,
    *,
    settings: Mapping[str, Any],
    resume: bool = False,
    on_validation: Callable[[Row], None] = lambda row: None,
    tensorboard: Path | None = None,
) -> Trained:
    """Train ``model`` in place and leave its best weights in it (in the main process).

    ``settings`` is everything that decides the outcome; a resumed training must be given the same. The state stands in a
    working folder beside ``out``; the caller removes it (``forget_state``) once the checkpoint is written.

    Raises:
        OutputExistsError: an unfinished training towards ``out`` stands there and ``resume`` is false.
        InputError: nothing to resume, or other settings.
        SettingError: the training diverged, or a batch is too large for the GPU's memory.
    """
    saved = find_state(out, settings, resume=resume)
    folder = working_folder(out)
    trainer = Trainer(model, config, devices, folder)
    if saved is not None:
        restore_state(out, model, trainer.optimizers, devices.scaler)
        trainer.record = _recorded(saved["record"], folder)
    record = trainer.record
    board = Board(tensorboard if devices.main else None, record.step + 1 if saved is not None else 0)

    def save() -> None:
        if devices.main:
            state = {"step": record.step, "settings": dict(settings), "record": asdict(record)}
            save_state(folder, model, trainer.optimizers, devices.scaler, state)

    def look(rate: float | None) -> None:
        _validated(trainer, validation, rate, on_validation)
        board.add(record.log[-1])
        save()

    quiet = Lock()  # a tokenizer serves one thread at a time: nothing is read ahead while the model is validated
    with closing(board), progress_step(f"training {out.stem}", config.max_steps, unit="steps") as bar:
        if saved is None:
            look(None)
        bar.advance(record.step)
        stream = _batches(model, texts, config, devices, (record.epoch, record.batch), quiet)
        with closing(ahead(stream, config.read_ahead) if config.read_ahead else stream) as read:
            while not record.stopped:
                rate = trainer.step(list(islice(read, config.accumulate)))
                bar.advance()
                if record.step % config.validate_every == 0 or record.step == config.max_steps:
                    trainer.settle()
                    with quiet:
                        look(rate)
                    bar.note(f"nDCG@10 {record.log[-1]['ndcg']:.4f} (best {record.best_ndcg:.4f} at {record.best_step})")
                elif trainer.due or (config.save_every and record.step % config.save_every == 0):
                    trainer.settle()
                    save()
    if devices.main:
        load_best(folder, model, record.best_step)
        model.eval()
        final = validate(model, validation, most_depth=config.most_depth, every_depth=True)
        record.depth = int(final["depth"] or 1)
    record.depth = devices.from_main(record.depth)
    return record


@dataclass
class _Pending:
    """A batch whose numbers have not been looked at: loss, right, margin, pairs, dropped, whether to save; on the device."""

    batch: Batch
    numbers: Tensor


class Trainer:
    """A model, its optimisers, and how far they are."""

    def __init__(self, model: Ranker, config: TrainConfig, devices: Devices, folder: Path) -> None:
        assert isinstance(model, nn.Module)
        model.to(devices.device)
        self.model, self.config, self.devices, self.folder = model, config, devices, folder
        self.scorer = devices.prepare(model)
        self.optimizers = make_optimizers(model, config)
        self.record = Trained()
        self.due = False
        self._pending: list[_Pending] = []
        self._began = 0.0
        self._settled = time.monotonic()

    def step(self, parts: Sequence[Batch]) -> float:
        """One update of the weights: mean hinge loss over the pairs of ``parts``; gives back the learning rate."""
        self._began = self._began or time.monotonic()
        rate = set_learning_rates(self.optimizers, self.record.step, self.config.warmup_steps)
        try:
            self._compute(parts)
        except torch.OutOfMemoryError:
            parts = sorted(parts, key=lambda part: max(map(len, part.passages), default=0))
        else:
            self.record.step, self.record.epoch, self.record.batch = self.record.step + 1, parts[-1].epoch, parts[-1].number + 1
            if len(self._pending) >= _LOOK_EVERY or self.devices.device.type == "cpu":
                self._look()
            return rate
        raise self._too_large(parts[-1])  # here, where nothing holds the failed step's tensors any more

    def _compute(self, parts: Sequence[Batch]) -> None:
        config, devices = self.config, self.devices
        pairs = torch.tensor(float(sum(map(len, parts))), device=devices.device)
        share = devices.processes / devices.total(pairs).clamp(min=1)  # of a pair in the mean, which processes average to
        late = devices.main and config.save_minutes and time.monotonic() - self._settled >= 60 * config.save_minutes
        for number, part in enumerate(parts, 1):
            numbers = torch.zeros(6, device=devices.device)
            if part.inputs:
                alone = number < len(parts) and devices.processes > 1  # gradients meet once a step
                with devices.accelerator.no_sync(self.scorer) if alone else nullcontext():
                    numbers[:4] = self._backward(part, share)
            numbers[4], numbers[5] = part.dropped, float(late)
            self._pending.append(_Pending(part, numbers))
        if devices.processes > 1 or any(map(len, parts)):
            self._update()

    def _backward(self, part: Batch, share: Tensor) -> Tensor:
        """Add a part's gradients; its sums of hinge losses, of pairs in the right order and of margins, and its pairs."""
        devices, pairs = self.devices, len(part)
        # what a model draws (dropout) is a function of seed and place, so that a resumed training draws the same
        torch.manual_seed(key64(self.config.seed, "dropout", part.epoch, part.number, devices.place) % 2**63)
        self.model.train()
        positive, negative = self._scores(part)
        hinge = pairwise_hinge(positive, negative, self.config.margin) * pairs  # nothing of an idle part
        devices.scaler.scale(hinge * share).backward()
        with torch.no_grad():
            margins = positive - negative
            right, margin = ((margins > 0).sum(), margins.sum()) if pairs else (hinge * 0, hinge * 0)
            return torch.stack([hinge.detach(), right.float(), margin, torch.full_like(hinge, pairs)])

    def _scores(self, part: Batch) -> tuple[Tensor, Tensor]:
        """Scores of the positives and of the negatives, each ``(n,)``, in full precision."""
        inputs = {name: tensor.to(self.devices.device, non_blocking=True) for name, tensor in part.inputs.items()}
        with self.devices.autocast():
            positive, negative = self.scorer(**inputs).float().chunk(2)
        return positive, negative

    def _update(self) -> None:
        devices, scaler = self.devices, self.devices.scaler
        for parameter in self.model.parameter_roles()["embedding"]:
            if parameter.grad is not None:
                parameter.grad = devices.share_sparse(parameter.grad)
        if self.config.clip:
            for optimizer in self.optimizers:
                scaler.unscale_(optimizer)
            clip_gradients(self.model.parameters(), self.config.clip)
        for optimizer in self.optimizers:
            scaler.step(optimizer)
        scaler.update()
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def settle(self) -> None:
        """Count all that is under way; the time since the last such look is training time."""
        self._look()
        self._settled = time.monotonic()
        seconds = self._settled - self._began
        self._began, self.due = 0.0, False
        self.record.since.seconds += seconds
        self.record.seconds += seconds

    def _look(self) -> None:
        """Count the batches computed since the last look.

        Raises:
            SettingError: a loss is no finite number. Nothing has been saved since.
        """
        if not self._pending:
            return
        numbers = self.devices.total(torch.stack([item.numbers for item in self._pending])).tolist()
        for item, (loss, right, margin, pairs, dropped, late) in zip(self._pending, numbers, strict=True):
            if not math.isfinite(loss):
                raise self._diverged(item.batch, loss)
            since = self.record.since
            since.loss, since.right, since.margin = since.loss + loss, since.right + right, since.margin + margin
            since.pairs += pairs
            self.record.dropped += int(dropped)
            self.due = self.due or late > 0
        self._pending.clear()

    def _diverged(self, batch: Batch, loss: float) -> SettingError:
        shown = [f"query {group.query_id} with passages {' and '.join(group.passage_ids)}" for group in batch.groups[:3]]
        more = f" and {len(batch) - 3} more" if len(batch) > 3 else ""
        return SettingError(
            f"--learning-rate: wanted a finite loss; found {loss} in epoch {batch.epoch}, batch {batch.number} "
            f"({'; '.join(shown)}{more}); lower it, or --kernel-learning-rate, or train in float32; what was saved before "
            f"(best nDCG@10 {self.record.best_ndcg:.4f} at step {self.record.best_step:,}) stands in {self.folder}"
        )

    def _too_large(self, part: Batch) -> SettingError:
        """What fits instead, found by trying; by this process alone, so without the wrapper that waits for others."""
        self._pending.clear()
        self.scorer = self.model
        half = len(part.groups)
        longest = sorted(range(half), key=lambda i: -max(len(part.passages[i]), len(part.passages[half + i])))

        def attempt(size: int) -> None:
            self.model.zero_grad()
            rows = [*longest[:size], *(half + i for i in longest[:size])]
            inputs = self.model.inputs([part.queries[i] for i in longest[:size]], [part.passages[i] for i in rows])
            positive, negative = self._scores(replace(part, inputs=inputs))
            pairwise_hinge(positive, negative).backward()

        self.model.zero_grad()
        try:
            held = room_for_moments(self.optimizers)
            fits = fitting_size(attempt, half)
            del held
        except torch.OutOfMemoryError:
            fits = 0
        where = f"epoch {part.epoch}, batch {part.number}"
        processes, size = self.devices.processes, self.config.batch_size
        return out_of_memory(size, fits * processes, accumulate=self.config.accumulate, where=where, folder=self.folder)


def _batches(
    model: Ranker, texts: TrainingTexts, config: TrainConfig, devices: Devices, start_at: tuple[int, int], quiet: Lock
) -> Generator[Batch]:
    """Batches without end, epoch after epoch, from this (epoch, batch) on."""
    epoch, start = start_at
    while True:
        own = batches(
            model,
            texts,
            size=config.batch_size,
            epoch=epoch,
            start=start,
            bucket=config.bucket,
            seed=config.seed,
            part=(devices.place, devices.processes),
        )
        while True:
            with quiet:
                batch = next(own, None)
            if batch is None:
                break
            yield batch
        epoch, start = epoch + 1, 0


def _recorded(record: Mapping[str, Any], folder: Path) -> Trained:
    try:
        return Trained.from_json(record)
    except (TypeError, KeyError) as error:
        do = "resume with the version that began it, or remove the folder to begin anew"
        raise bad_input(folder, wanted="a training's counters", found=str(error), do=do) from error


def _validated(trainer: Trainer, validation: Validation, rate: float | None, on_validation: Callable[[Row], None]) -> None:
    """Validate, log, keep the best, and decide whether to stop; the main process does, and all of them know."""
    model, record, config, devices = trainer.model, trainer.record, trainer.config, trainer.devices
    measured: Row | None = None
    if devices.main:
        model.eval()
        measured = validate(model, validation, most_depth=config.most_depth)
    measured = devices.from_main(measured)
    gate = getattr(model, "gate", None)
    since, record.since = record.since, Sums()
    row: Row = {"step": record.step, "epoch": record.epoch, **since.means(), **measured}
    row |= {"gate": None if gate is None else float(gate.detach()), "learning_rate": rate, "pairs": since.pairs}
    row |= {"seconds": since.seconds, "pairs_per_second": since.pairs / since.seconds if since.seconds else None}
    record.log.append(row)
    ndcg = measured["ndcg"] or 0.0
    better = ndcg > record.best_ndcg
    if better:
        record.best_ndcg, record.best_step, record.waited = ndcg, record.step, 0
    else:
        record.waited += 1
    if devices.main:
        write_log(trainer.folder / "log.jsonl", record.log)
        on_validation(row)
        if better:
            save_best(trainer.folder, model, record.step)
    if record.waited >= config.patience:
        record.stopped = f"no better nDCG@10 in {config.patience} validations"
    elif record.step >= config.max_steps:
        record.stopped = f"{config.max_steps} steps"


def forget_state(out: Path) -> None:
    """Remove the working folder of a finished training."""
    shutil.rmtree(working_folder(out), ignore_errors=True)
