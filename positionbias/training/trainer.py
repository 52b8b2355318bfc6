"""One step of a training: scores, loss, gradients over devices and batches, the update, and
counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from positionbias.core.errors import InputError, SettingError
from positionbias.core.seeds import below, key64
from positionbias.models.offset import read_from
from positionbias.models.protocols import Ranker
from positionbias.training.batches import Batch
from positionbias.training.config import LOSSES, TrainConfig
from positionbias.training.devices import Devices
from positionbias.training.losses import Scored, group_losses, mean_there
from positionbias.training.memory import fitting_size, out_of_memory, room_for_moments
from positionbias.training.optimizers import clip_gradients, make_optimizers, set_learning_rates
from positionbias.training.record import Trained

# batches between two reads of the losses: on a GPU a read waits for all queued work
_LOOK_EVERY = 16


@dataclass
class _Pending:
    """A batch whose sums of loss, right orders and margin, and number of pairs, are still on the
    device (None: it had no pairs); and whether it is time to save."""

    batch: Batch
    numbers: Tensor | None
    late: bool


class Trainer:
    """A model, its optimisers, and their progress, of ``steps`` at most."""

    def __init__(
        self, model: Ranker, config: TrainConfig, devices: Devices, folder: Path, *, steps: int
    ) -> None:
        assert isinstance(model, nn.Module)
        model.to(devices.device)
        self.model, self.config, self.devices, self.folder, self.steps = (
            model,
            config,
            devices,
            folder,
            steps,
        )
        self.scorer = devices.prepare(model)
        self.optimizers = make_optimizers(model, config)
        self.record = Trained()
        self.due = False
        self._pending: list[_Pending] = []
        self._began = 0.0
        self._settled = time.monotonic()

    def step(self, parts: Sequence[Batch]) -> float:
        """Update the weights once by the mean loss over the groups of ``parts``; return the
        learning rate.
        """
        self._began = self._began or time.monotonic()
        rate = set_learning_rates(self.optimizers, self.record.step, self.steps, self.config)
        try:
            self._compute(parts)
        except torch.OutOfMemoryError:
            parts = sorted(parts, key=lambda part: max(map(len, part.passages), default=0))
        else:
            self.record.step, self.record.epoch, self.record.batch = (
                self.record.step + 1,
                parts[-1].epoch,
                parts[-1].number + 1,
            )
            if len(self._pending) >= _LOOK_EVERY or self.devices.device.type == "cpu":
                self._look()
            return rate
        raise self._too_large(parts[-1])  # here, where the failed step's tensors are freed

    def _compute(self, parts: Sequence[Batch]) -> None:
        config, devices = self.config, self.devices
        # share of a pair in the mean; processes average to it
        share = devices.processes / max(1.0, devices.total_number(float(sum(map(len, parts)))))
        late = (
            devices.main
            and config.save_minutes > 0
            and time.monotonic() - self._settled >= 60 * config.save_minutes
        )
        for number, part in enumerate(parts, 1):
            numbers = None
            if part.inputs:
                # gradients are shared once a step
                alone = number < len(parts) and devices.processes > 1
                with devices.accelerator.no_sync(self.scorer) if alone else nullcontext():
                    numbers = self._backward(part, share)
            self._pending.append(_Pending(part, numbers, late))
        if devices.processes > 1 or any(map(len, parts)):
            self._update()

    def _backward(self, part: Batch, share: float) -> Tensor:
        """Add a part's gradients; return its sums of losses, right orders and margins, and its
        number of groups.

        A group of more than two counts with the share of its negatives in the right order, and the
        mean of its margins.
        """
        devices, pairs = self.devices, len(part)
        # a model's draws (dropout) depend on seed and place only, so that a resumed training draws
        # the same
        torch.manual_seed(
            key64(self.config.seed, "dropout", part.epoch, part.number, devices.place) % 2**63
        )
        self.model.train(self.config.dropout)
        scored = self._scores(part)
        scores, there = scored.student, scored.there
        loss = group_losses(scored, self.config).mean() * pairs  # nothing from an idle part
        devices.scaler.scale(loss * share).backward()
        with torch.no_grad():
            margins = scores[:, :1] - scores[:, 1:]  # (groups, negatives)
            negatives = None if there is None else there[:, 1:]
            shares = [
                mean_there(values, negatives).sum() for values in ((margins > 0).float(), margins)
            ]
            right, margin = shares if pairs else (loss * 0, loss * 0)
            return torch.stack([loss.detach(), right, margin, torch.full_like(loss, pairs)])

    def _scores(self, part: Batch) -> Scored:
        """Return scores ``(groups, passages)``, the positives first, in full precision, and the
        teacher's.

        Raises:
            InputError: the loss needs a teacher's scores, and a group has none.
        """
        if part.teacher is None and LOSSES[str(self.config.loss)].teacher:
            group = next(group for group in part.groups if group.teacher_scores is None)
            raise InputError(
                f"--loss {self.config.loss}: wanted a teacher's scores of every training group; "
                f"found none of query {group.query_id!r} with passage {group.passage_ids[0]!r}; "
                "give --teacher-scores (posbias model teach makes them)"
            )
        device = self.devices.device
        inputs = {
            name: tensor.to(device, non_blocking=True) for name, tensor in part.inputs.items()
        }
        offset = below(
            self.config.offset_positions + 1,
            self.config.seed,
            "position offset",
            part.epoch,
            part.number,
        )
        with self.devices.autocast(), read_from(offset):
            student = self.scorer(**inputs).float().view(-1, len(part.queries)).t()
        as_read, turned = student.chunk(2, dim=1) if part.turned else (student, None)
        return Scored(
            as_read, turned=turned, **part.by_group(lambda held: held.to(device, non_blocking=True))
        )

    def _update(self) -> None:
        devices, scaler = self.devices, self.devices.scaler
        for parameter in self.model.parameter_roles()["embedding"]:
            if parameter.grad is not None:
                parameter.grad = devices.share_sparse(
                    parameter.grad, clipped=bool(self.config.clip)
                )
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
        """Finish and count all queued work before a validation or save; the time since the last
        count is training time.

        Raises:
            SettingError: a loss or a weight is not a finite number.
        """
        self._look()
        # minimum and maximum of each tensor (NaN gives NaN); isfinite would copy it, gigabytes for
        # many words
        ends = [
            torch.stack(torch.aminmax(parameter.detach())) for parameter in self.model.parameters()
        ]
        if not torch.cat([pair.float() for pair in ends]).isfinite().all():
            raise self.diverged(
                "a weight that is not a finite number", f"after step {self.record.step:,}"
            )
        self._settled = time.monotonic()
        seconds = self._settled - self._began
        self._began, self.due = 0.0, False
        self.record.since.seconds += seconds
        self.record.seconds += seconds

    def _look(self) -> None:
        """Count the batches computed since the last count.

        Raises:
            SettingError: a loss is not a finite number. Nothing has been saved since.
        """
        if not self._pending:
            return
        none = torch.zeros(4, device=self.devices.device)
        sums = torch.stack(
            [none if item.numbers is None else item.numbers for item in self._pending]
        )
        others = torch.tensor(
            [[item.batch.dropped, item.late] for item in self._pending],
            dtype=sums.dtype,
            device=sums.device,
        )
        numbers = self.devices.total(torch.cat([sums, others], dim=1)).tolist()
        for item, (loss, right, margin, pairs, dropped, late) in zip(
            self._pending, numbers, strict=True
        ):
            if not math.isfinite(loss):
                raise self.diverged(str(loss), _named(item.batch))
            since = self.record.since
            since.loss, since.right, since.margin = (
                since.loss + loss,
                since.right + right,
                since.margin + margin,
            )
            since.pairs += pairs
            self.record.dropped += int(dropped)
            self.due = self.due or late > 0
        self._pending.clear()

    def diverged(self, found: str, where: str) -> SettingError:
        """Return the one-line error for a diverged training."""
        record = self.record
        best = (
            ""
            if record.best_ndcg is None
            else f" (best nDCG@10 {record.best_ndcg:.4f} at step {record.best_step:,})"
        )
        return SettingError(
            f"--learning-rate: wanted a finite loss; found {found} {where}; lower it, or "
            f"--kernel-learning-rate, or train in float32; what was saved before{best} is in "
            f"{self.folder}"
        )

    def _too_large(self, part: Batch) -> SettingError:
        """Return an error with the size that fits, found by trying in this process only, without
        the wrapper that waits for others.
        """
        self._pending.clear()
        self.scorer = self.model
        count = len(part.queries)
        longest = sorted(range(count), key=lambda i: -max(map(len, part.passages[i::count])))

        def attempt(size: int) -> None:
            self.model.zero_grad()
            queries = [part.queries[i] for i in longest[:size]]
            rows = [
                start + i for start in range(0, len(part.passages), count) for i in longest[:size]
            ]
            inputs = self.model.inputs(queries, [part.passages[i] for i in rows])
            smaller = replace(
                part,
                queries=queries,
                inputs=inputs,
                **part.by_group(lambda held: held[longest[:size]]),
            )
            group_losses(self._scores(smaller), self.config).mean().backward()

        self.model.zero_grad()
        try:
            held = room_for_moments(self.optimizers)
            fits = fitting_size(attempt, count)
            del held
        except torch.OutOfMemoryError:
            fits = 0
        where = f"epoch {part.epoch}, batch {part.number}"
        processes, size = self.devices.processes, self.config.batch_size
        return out_of_memory(
            size,
            fits * processes,
            accumulate=self.config.accumulate,
            where=where,
            folder=self.folder,
        )


def _named(batch: Batch) -> str:
    shown = [
        f"query {group.query_id} with passages {' and '.join(group.passage_ids)}"
        for group in batch.groups[:3]
    ]
    more = f" and {len(batch) - 3} more" if len(batch) > 3 else ""
    return f"in epoch {batch.epoch}, batch {batch.number} ({'; '.join(shown)}{more})"
