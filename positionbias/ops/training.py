"""Re-rankers trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.places import CollectionLike, Place, input_place, model_place, output_place
from positionbias.core.progress import say, set_quiet
from positionbias.core.settings import Setting, flag_of
from positionbias.training.plan import INPUTS, TrainPlan

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.results.result import Result
    from positionbias.training.record import Row

__all__ = ["Before", "Training", "train"]

Source = Annotated[CollectionLike, Setting("A collection, its folder, or its name under $POSBIAS_HOME.", place="read")]
Before = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class Training:
    """A trained model, where it stands, and how its validations went."""

    path: Path
    model: Checkpoint
    results: Sequence[Result]


@operation
def train(
    collection: Source,
    plan: TrainPlan,
    *,
    tensorboard: Annotated[Place | None, Setting("Also log there, for TensorBoard.", metavar="DIR")] = None,
    resume: Annotated[bool, Setting("Continue an interrupted training with the same settings.")] = False,
    before: Annotated[
        Before | None,
        Setting(
            "Called before the first step with what begins, and the seconds that it takes at most, where known.", hidden=True
        ),
    ] = None,
    out: Out,
    overwrite: Overwrite = False,
) -> Training | None:
    """Train a re-ranker on ``collection``.

    Started by ``accelerate launch`` or ``torchrun``, every process calls this; ``out`` is a place that all of them see.

        >>> from positionbias.training.config import TrainConfig
        >>> from positionbias.training.plan import TrainPlan
        >>> TrainPlan(kind="tk", candidates="train.run", training=TrainConfig(max_steps=1_000)).training.loss
        'hinge'

    Returns:
        The model and a result, whose value is validation nDCG@10, None without validation; None in all but the main process.

    Raises:
        SettingError: a precision that the device has not, a training that diverged, a batch that memory has no room for.
        InputError: candidates that do not fit collection and split, nothing to resume, other settings than it began with.
        OutputExistsError: ``out``, or an unfinished training towards it, stands there.
        DependencyError: ``tensorboard`` without its package.
    """
    from positionbias.core.collection import find_collection
    from positionbias.training.train import train_model, training_result

    main = os.environ.get("RANK", "0") == "0"  # one of several processes says what there is to say
    if not main:
        set_quiet(True)
    opened, place, plan = find_collection(collection), output_place(out), _placed(plan)
    checkpoint = train_model(
        opened,
        plan,
        place,
        resume=resume,
        overwrite=overwrite,
        before=partial(_announce, before, opened, plan, place),
        on_validation=lambda row: _say_row(row),
        tensorboard=Path(tensorboard) / place.stem if tensorboard is not None else None,
    )
    _leave_group()
    if not main:
        return None
    for line in _remarks(checkpoint, plan):
        say(line)
    say(f"written to {place}; next: posbias rerank --model {place} {opened.path} --split test --candidates RUN --out RUN2")
    return Training(place, checkpoint, [training_result(checkpoint, opened.name)])


def _placed(plan: TrainPlan) -> TrainPlan:
    """The plan with its files and its encoder where they are.

    Raises:
        InputError: one of the files is not there; its flag is named.
    """
    given = {name: value for name in INPUTS if (value := getattr(plan, name)) is not None}
    placed: dict[str, Any] = {name: input_place(value, flag=flag_of(name)) for name, value in given.items()}
    if plan.encoder is not None:
        placed["encoder"] = str(model_place(plan.encoder))
    return replace(plan, **placed)


def _announce(before: Before | None, collection: Collection, plan: TrainPlan, place: Path) -> None:
    """Call ``before``, where it was given and no other process trains too."""
    if before is None or os.environ.get("WORLD_SIZE", "1") != "1":
        return
    from positionbias.studies.estimate import Estimator, training
    from positionbias.training.state import unfinished

    work, _ = training(collection, plan, unfinished(place))
    before(f"training of {work.amount:,.0f} steps", Estimator({}).seconds(work))


def _leave_group() -> None:
    """Several processes take leave of each other; else torch complains at the end."""
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _remarks(checkpoint: Checkpoint, plan: TrainPlan) -> Sequence[str]:
    """What was counted, and what to know of the model."""
    from positionbias.results.payloads import TrainingNotes

    content = checkpoint.manifest.content
    lines = [
        f"{content['training_groups']:,} training groups; left out: {content['groups_without_negatives']:,} without a candidate to "
        f"set against them, {content['groups_without_their_passage']:,} whose passage is not in the collection, "
        f"{content['groups_with_an_empty_side']:,} reads with an empty side"
    ]
    notes = TrainingNotes.of_facts(content)
    if (seen := notes.validation_queries_seen) and (queries := notes.validation_queries):
        lines.append(
            f"{seen:,} of {queries:,} validation queries ({seen / queries:.1%}) have a relevant passage that is a training positive too: early "
            "stopping and the depth are tuned on passages that were trained on; posbias import --validation N --validation-by passage draws others"
        )
    if plan.word_vectors:
        lines.append(f"{content['words_with_a_given_vector']:,} of {content['words']:,} words started from a given vector")
    return [*lines, *(f"{checkpoint.name}: {remark}" for remark in checkpoint.ending.remarks())]


def _say_row(row: Row) -> None:
    parts = [f"step {row['step']:,}"]
    for key, label in (
        ("loss", "loss"),
        ("pair_accuracy", "pair accuracy"),
        ("score_margin", "margin"),
        ("ndcg", "nDCG@10"),
        ("mats", "MATS"),
    ):
        if row[key] is not None:
            at = f" (depth {row['depth']:.0f})" if key == "ndcg" else ""
            parts.append(f"{label} {row[key]:.4f}{at}")
    if row["pairs_per_second"] is not None:
        parts.append(f"{row['pairs_per_second']:,.1f} pairs/s")
    say("  ".join(parts))
