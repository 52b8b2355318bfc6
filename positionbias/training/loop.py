"""The training loop, visible from top to bottom: batches, steps, validation, early stopping,
resuming.

In several processes (``accelerate launch``, ``torchrun``) each computes its part of every batch,
and gradients are averaged, so that a step is the same for any number of processes, up to rounding.
Only the main process validates and writes; the others get its results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from threading import Lock

from positionbias.core.errors import InputError
from positionbias.core.files import remove
from positionbias.core.json_text import Json, read_as
from positionbias.core.progress import step as progress_step
from positionbias.core.publish import work_folder
from positionbias.engine.ahead import ahead
from positionbias.models.protocols import Ranker
from positionbias.training.batches import Batch, TrainingTexts, batches, pinned
from positionbias.training.config import TrainConfig
from positionbias.training.devices import Devices
from positionbias.training.record import Board, Row, Sums, Trained, write_log
from positionbias.training.state import (
    Towards,
    find_state,
    load_best,
    restore_state,
    save_best,
    save_state,
    working_folder,
)
from positionbias.training.trainer import Trainer
from positionbias.training.validation import MEASURED, Validation, first_stage, validate

READ_AHEAD = 4  # batches read in the background


def train(
    model: Ranker,
    texts: TrainingTexts,
    validation: Validation | None,
    config: TrainConfig,
    towards: Towards,
    devices: Devices,
    *,
    on_validation: Callable[[Row], None] = lambda row: None,
) -> Trained:
    """Train ``model`` in place and load its best weights (in the main process), or without
    ``validation`` keep the last.

    A resumed training needs the settings it began with. The state is in a working folder beside
    ``towards.out``; the caller removes it (``forget_state``) once the checkpoint is written.

    Raises:
        OutputExistsError: there is an unfinished training and ``towards.resume`` is false.
        InputError: nothing to resume, or other settings.
        SettingError: the training diverged, or a batch is too large for the GPU's memory.
    """
    out, saved = towards.out, find_state(towards)
    folder = working_folder(out)
    steps = config.steps(len(texts.source))
    trainer = Trainer(model, config, devices, folder, steps=steps)
    if saved is not None:
        restore_state(out, model, trainer.optimizers, devices.scaler)
        trainer.record = _recorded(saved["record"], folder)
    record = trainer.record
    watched = (
        None if validation is None else validation.drawn(config.validation_queries, config.seed)
    )
    board = Board(
        devices.accelerator if devices.main else None,
        out.stem,
        record.step + 1 if saved is not None else 0,
    )

    def save() -> None:
        if devices.main:
            state = {
                "step": record.step,
                "settings": dict(towards.settings),
                "record": asdict(record),
            }
            save_state(folder, model, trainer.optimizers, devices.scaler, state)

    def look(rate: float | None) -> None:
        _look(trainer, watched, rate, steps, on_validation)
        board.add(record.log[-1])
        save()

    # a tokenizer serves one thread at a time, so nothing is read ahead during validation
    quiet = Lock()
    with closing(board), progress_step(f"training {out.stem}", steps, unit="steps") as bar:
        if saved is None and validation is not None:
            look(None)
        bar.advance(record.step)
        stream = _batches(model, texts, config, devices, (record.epoch, record.batch), quiet)
        with closing(ahead(stream, READ_AHEAD)) as read:
            while not record.stopped:
                rate = trainer.step(list(islice(read, config.accumulate)))
                bar.advance()
                if record.step % config.validate_every == 0 or record.step == steps:
                    trainer.settle()
                    with quiet:
                        look(rate)
                    if record.best_ndcg is not None:
                        now = record.log[-1]
                        bar.note(
                            f"nDCG@10 {now['ndcg']:.4f} at depth {now['depth']:.0f} (best "
                            f"{record.best_ndcg:.4f} at step {record.best_step})"
                        )
                elif trainer.due or (config.save_every and record.step % config.save_every == 0):
                    trainer.settle()
                    save()
    model.eval()
    if validation is not None:
        if devices.main:
            load_best(folder, model, record.best_step)
            depths = {"least_depth": config.least_depth, "most_depth": config.most_depth}
            final = validate(model, validation, **depths, every_depth=True)
            record.depth, record.ndcg, record.first_stage = (
                int(final["depth"] or 1),
                final["ndcg"],
                first_stage(validation),
            )
        record.depth = devices.from_main(record.depth)
    return record


def _batches(
    model: Ranker,
    texts: TrainingTexts,
    config: TrainConfig,
    devices: Devices,
    start_at: tuple[int, int],
    quiet: Lock,
) -> Generator[Batch]:
    """Yield batches epoch by epoch from (epoch, batch) ``start_at`` on: endlessly, or for the given
    number of epochs.
    """
    epoch, start = start_at
    while config.epochs is None or epoch < config.epochs:
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
            yield pinned(batch) if devices.device.type == "cuda" else batch
        epoch, start = epoch + 1, 0


def _recorded(record: Json, folder: Path) -> Trained:
    return read_as(
        Trained,
        record,
        folder,
        do="resume with the version that began it, or remove the folder to start over",
    )


def _validated(trainer: Trainer, validation: Validation) -> Row:
    """Validate in the main process and share the result with all."""
    model, record, devices, config = trainer.model, trainer.record, trainer.devices, trainer.config
    measured: Row | None = None
    if devices.main:
        model.eval()
        try:
            measured = validate(
                model, validation, least_depth=config.least_depth, most_depth=config.most_depth
            )
        except InputError as error:
            if not record.step:
                raise
            # candidates and judgements passed the first validation, so the scores are at fault
            raise trainer.diverged(
                "scores that are not finite numbers", f"validating step {record.step:,}"
            ) from error
    return devices.from_main(measured)


def _look(
    trainer: Trainer,
    validation: Validation | None,
    rate: float | None,
    steps: int,
    on_validation: Callable[[Row], None],
) -> None:
    """Validate if possible, log, keep the best, and decide whether to stop after ``steps`` or
    before.
    """
    model, record, config = trainer.model, trainer.record, trainer.config
    measured: Row = (
        dict.fromkeys(MEASURED) if validation is None else _validated(trainer, validation)
    )
    gate = getattr(model, "gate", None)
    since, record.since = record.since, Sums()
    row: Row = {"step": record.step, "epoch": record.epoch, **since.means(), **measured}
    row |= {
        "gate": None if gate is None else float(gate.detach()),
        "learning_rate": rate,
        "pairs": since.pairs,
    }
    row |= {
        "seconds": since.seconds,
        "pairs_per_second": since.pairs / since.seconds if since.seconds else None,
    }
    record.log.append(row)
    better = False
    if validation is None:
        record.best_step = record.step
    else:
        ndcg = measured["ndcg"] or 0.0
        better = record.best_ndcg is None or ndcg > record.best_ndcg
        record.waited += 1
        if better:
            record.best_ndcg, record.best_step, record.waited = ndcg, record.step, 0
    if trainer.devices.main:
        write_log(trainer.folder / "log.jsonl", record.log)
        on_validation(row)
        if better:
            save_best(trainer.folder, model, record.step)
    if record.waited >= config.patience:
        record.stopped = f"no better nDCG@10 in {config.patience} validations"
    elif record.step >= steps:
        record.stopped = f"{steps} steps"


def forget_state(out: Path) -> None:
    """Remove the working folder of a finished training: rename it in one step, and leave any
    remains to the next writer of ``out``.
    """
    with suppress(OSError):
        stale = work_folder(out)
        remove(stale)
        working_folder(out).rename(stale)
        remove(stale)
