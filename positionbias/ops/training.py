"""Re-rankers trained, and what a teacher's scores are for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import check_models
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite, Source
from positionbias.engine.choose import Engine
from positionbias.ops.operation import operation
from positionbias.ranking.config import Computing, TaughtPassages, Teacher
from positionbias.training.config import TRACKERS
from positionbias.training.plan import TrainPlan

if TYPE_CHECKING:
    from positionbias.ranking.taught import Taught
    from positionbias.training.train import Training


@operation
def train(
    collection: Source,
    plan: TrainPlan,
    *,
    tracker: Annotated[
        str | None,
        Setting(
            "Also log to this tracker; TensorBoard's events lie in the folder tensorboard beside "
            "--out.",
            choices=TRACKERS,
            shown=False,
        ),
    ] = None,
    resume: Annotated[
        bool, Setting("Continue an interrupted training with the same settings.")
    ] = False,
    out: Out,
    overwrite: Overwrite = False,
) -> Training | None:
    """Train a re-ranker on ``collection``.

    Started by ``accelerate launch`` or ``torchrun``, every process calls this; ``out`` is a place
    that all of them see.

    Returns:
        The model, and rows of how its training went; None in all but the main process.

    Raises:
        SettingError: a precision that the device has not, a training that diverged, a batch that
            memory has no room for.
        InputError: candidates that do not fit collection and split, nothing to resume, other
            settings than it began with.
        OutputExistsError: ``out``, or an unfinished training towards it, stands there.
        DependencyError: ``tracker`` without its package.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import TrainConfig, TrainPlan
        >>> short = TrainConfig(max_steps=2, validate_every=1, batch_size=4, probe_passages=9)
        >>> plan = TrainPlan(
        ...     kind="tk",
        ...     candidates="train.run",
        ...     validation_candidates="validation.run",
        ...     training=short,
        ... )
        >>> print(pb.train("planted", plan, out="new.ckpt"))
        nDCG@10 on validation: 0.7...
        stopped after 2 steps: 2 steps
    """
    check_models("a training")
    from positionbias.training.train import train_checkpoint

    return train_checkpoint(
        collection, plan, out, tracker=tracker, resume=resume, overwrite=overwrite
    )


@operation
def teach(
    collection: Source,
    *,
    teacher: Teacher,
    passages: TaughtPassages = TaughtPassages(),
    computing: Computing = Computing(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Taught:
    """Write a teacher's scores of the passages that a student of ``collection`` learns from.

    Interrupted, the same command goes on. Each of the --workers loads the teacher: on a GPU of its
    own while there are enough, on a CPU with its share of the threads.

        posbias model teach msmarco --model teacher.ckpt --candidates train.run --depth 100 \\
                --out scores
        posbias train bert_dot msmarco --loss kl --teacher-scores scores --out student.ckpt

    Or only the pairs of a training set:

        posbias model teach msmarco --model teacher.ckpt --trainset sets/plain --out scores
        posbias train tk msmarco --loss margin_mse --trainset sets/plain --teacher-scores scores \\
                --out student.ckpt

    A teacher that runs elsewhere writes a file, of lines with six columns (query Q0 passage rank
    score tag), three (query passage score) or five (positive_score negative_score query positive
    negative). Of a ranking whose scores are made up, the order is left:

        posbias model teach msmarco --scores commercial.run --order-only --out scores
        posbias train bert_dot msmarco --loss ranknet --teacher-scores scores --out student.ckpt

    Returns:
        The scores, and a result with what was counted; its value is the mean score, None of a
        teacher with an order only.

    Raises:
        SettingError: settings that do not go together, or a device whose memory does not hold one
            text.
        InputError: candidates, groups or scores of queries or passages that are not there, or
            scores that distinguish no passages.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import TaughtPassages, Teacher
        >>> teacher, passages = (
        ...     Teacher(model="tk.ckpt"),
        ...     TaughtPassages(candidates="train.run", depth=4),
        ... )
        >>> print(pb.teach("planted", teacher=teacher, passages=passages, out="scores"))
        tk: 50 queries, 201 pairs, 1 relevant passages added, mean score ...
    """
    from positionbias.ranking.taught import teach as write

    return write(collection, teacher, passages, computing, engine, out, overwrite=overwrite)
