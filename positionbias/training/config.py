"""Settings of a training, checked when made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import Given, Seeded, Setting, check_settings, refuse_idle, setting
from positionbias.models.kinds import kind_named, learning_rates

AT_READING = Setting("Rotate every passage anew at each read in training.")
SHUFFLED = Setting("Put every passage's sentences in a new order at each read in training.")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")

SCHEDULES = ("constant", "linear")

# accelerate's; "all" is left out
TRACKERS = (
    "aim",
    "clearml",
    "comet_ml",
    "dvclive",
    "mlflow",
    "swanlab",
    "tensorboard",
    "trackio",
    "wandb",
)


class LossKind(NamedTuple):
    """The inputs of a loss: log-probabilities of "relevant", or also a teacher's scores, or only
    their order.
    """

    log_probabilities: bool = False
    teacher: bool = False
    order_alone: bool = False


# the losses of ``training.losses``
LOSSES = {
    "hinge": LossKind(),
    "pointwise": LossKind(log_probabilities=True),
    "lce": LossKind(),
    "margin_mse": LossKind(teacher=True),
    "kl": LossKind(teacher=True),
    "ranknet": LossKind(teacher=True, order_alone=True),
}

# settings that change the speed or safety of a training, not its result
_MEANS = ("threads", "save_every", "save_minutes")


@dataclass(frozen=True, slots=True)
class TrainConfig(Seeded):
    """Settings of one training (position-bias paper, §3, and the reference where the paper is
    silent).

    A *batch* is ``batch_size`` groups, over all processes together; a *step* is ``accumulate``
    batches and one update of the weights. A *group* is a query with ``group_size`` passages, a
    positive and negatives drawn for it (a pair of passages: 2). ``learning_rate`` None is the
    kind's own. It grows linearly over ``warmup_steps``, or the share ``warmup_share`` of all steps,
    and then stays [decision: the position-bias paper names no schedule, its reference has none], or
    with ``schedule`` "linear" falls to 0 at the last step (contaminated-distillation paper, §4).
    ``clip`` bounds the norm of a step's gradient; 0 means no limit.

    ``loss`` is one of ``LOSSES``; None is the model's own: pointwise where its scores are
    log-probabilities, else hinge. A
    training has at most ``max_steps`` steps, or with ``epochs`` those of so many passes over the
    groups.

    ``consistency`` adds, with this weight, the mean squared difference between a passage's score
    and that of its rotation, drawn anew at each read.

    ``offset_positions`` N shifts the positions of each batch by 0 to N, drawn evenly
    (``models.offset``).

    ``dropout`` false turns off an encoder's dropout (TK has none): on a CPU, drawing it can take as
    long as the rest of a step.

    ``bucket`` batches at a time are sorted by length before they are cut, to save padding; 1 keeps
    the epoch's order. ``patience`` counts validations without a better nDCG@10. ``least_depth`` and
    ``most_depth`` bound the depths tried at a validation; equal ones fix the depth.
    ``validation_queries`` are drawn for validations during training (None: all); the finished
    model's depth is always tuned on all. ``probe_passages`` is the fixed sample for MATS; 0 turns
    it off.

    The rest affects only speed and the cost of an interruption: the state is saved at each
    validation, every ``save_every`` steps (0: never) and after ``save_minutes`` (0: never);
    ``threads`` 0 is torch's default. (Another number of threads may round differently.)
    """

    SHOWN = False

    batch_size: int = setting(32, "Training groups (a query and its passages) a batch.", least=1)
    group_size: int = setting(
        2,
        "Passages of a query in a step: a positive, and negatives drawn for it.",
        least=2,
    )
    learning_rate: float | None = setting(
        None,
        "Learning rate of all weights but the kernels'.",
        above=0,
        absent="; ".join(
            f"{rate:.0e} for {', '.join(names)}".replace("e-0", "e-")
            for rate, names in learning_rates().items()
        ),
    )
    kernel_learning_rate: float = setting(
        1e-3, "Learning rate of tk's and knrm's kernel weights.", above=0
    )
    loss: str | None = setting(
        None,
        "Over a query's passages: pairwise hinge; pointwise, cross-entropy of relevant and not; "
        "lce, cross-entropy of the positive among all; of distillation margin_mse, kl, ranknet.",
        choices=LOSSES.keys(),
        absent="hinge; pointwise for mono_t5",
        shown=True,
    )
    consistency: float = setting(
        0.0,
        "Weight of the mean squared difference between the scores of a passage and of a rotation "
        "of it, added to the loss; 0: none.",
        least=0,
    )
    offset_positions: int = setting(
        0,
        "Most positions by which the passages of a batch are shifted, drawn anew for each; 0: "
        "none. Of tk and encoders with absolute positions.",
        least=0,
        metavar="N",
    )
    max_steps: int = setting(100_000, "Most steps.", least=1)
    epochs: int | None = setting(
        None,
        "Passes over the training groups, instead of --max-steps.",
        least=1,
        absent="as many as these steps take",
    )
    validate_every: int = setting(
        2_000, "Steps between validations; without any, between lines of the log.", least=1
    )
    patience: int = setting(30, "Validations without a better nDCG@10 before stopping.", least=1)
    least_depth: int = 1
    most_depth: int = setting(100, "Deepest re-ranking depth tried in validation.", least=1)
    validation_queries: int | None = setting(
        None,
        "Queries of each validation during training, drawn by --seed; the final depth is tuned on "
        "all.",
        least=1,
        metavar="N",
        absent="all",
    )
    probe_passages: int = setting(
        500, "Passages on which MATS is logged; 0: no MATS.", least=0, metavar="N"
    )
    precision: str = setting(
        "auto",
        "Precision of training; auto is bfloat16 on a GPU that has it, else float32; float16 needs "
        "a GPU.",
        choices=PRECISIONS,
        shown=False,
    )
    warmup_steps: int = setting(0, "Steps over which the learning rate grows from 0.", least=0)
    warmup_share: float = setting(
        0.0, "Warm-up as a share of all steps, instead of --warmup-steps."
    )
    schedule: str = setting(
        "constant",
        "Learning rate after the warm-up: constant, or falling to 0 at the last step.",
        choices=SCHEDULES,
    )
    accumulate: int = setting(
        1, "Batches a training step, for more groups than fit in memory.", least=1
    )
    clip: float = setting(0.0, "Largest norm of a step's gradient; 0: no limit.", least=0)
    dropout: bool = setting(
        True, "Use the encoder's dropout in training; steps are faster without."
    )
    bucket: int = setting(
        1,
        "Batches sorted by length together, to save padding; 1: not sorted.",
        least=1,
        shown=False,
    )
    save_every: int = setting(
        0, "Steps between saves for --resume; 0: only by time.", least=0, shown=False
    )
    save_minutes: float = setting(
        10.0,
        "Minutes between saves for --resume, in addition to those at validations; 0: none.",
        least=0,
        shown=False,
    )
    threads: int = setting(
        0, "CPU threads in training; 0 leaves it to torch.", least=0, shown=False
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not 1 <= self.least_depth <= self.most_depth:
            wanted, found = f"from 1 to --most-depth ({self.most_depth})", f"{self.least_depth}"
            raise SettingError(f"least_depth: wanted {wanted}; found {found}; give another")
        if not 0 <= self.warmup_share <= 1 or (self.warmup_share and self.warmup_steps):
            found = f"{self.warmup_share}" + (
                f" beside --warmup-steps {self.warmup_steps}" if self.warmup_steps else ""
            )
            raise SettingError(
                f"--warmup-share: wanted a share from 0 to 1, or --warmup-steps; found {found}; "
                "give one of the two"
            )

    def of_kind(self, kind: str, *, log_probabilities: bool = False) -> TrainConfig:
        """Fill in the learning rate and the loss of a kind of model, where none was given.

        ``log_probabilities``: whether the model's scores are.
        """
        rate = kind_named(kind).learning_rate if self.learning_rate is None else self.learning_rate
        own = next(
            name for name, wanted in LOSSES.items() if wanted.log_probabilities == log_probabilities
        )
        return replace(self, learning_rate=rate, loss=self.loss or own)

    def steps(self, groups: int) -> int:
        """Return the most steps over so many groups; with ``epochs``, the last may have fewer
        batches.
        """
        if self.epochs is None:
            return self.max_steps
        return -(-self.epochs * -(-groups // self.batch_size) // self.accumulate)

    def deciding(self) -> JsonObject:
        """Return the settings that decide the outcome, which a manifest records and a resumed
        training must repeat.
        """
        record = {**asdict(self), "precision": settled_precision(self.precision)}
        return {name: value for name, value in record.items() if name not in _MEANS}

    def means(self) -> JsonObject:
        """Return the other settings, which belong to the provenance."""
        return {name: getattr(self, name) for name in _MEANS}


def settled_precision(precision: str) -> str:
    """Return a precision of ``PRECISIONS`` with ``auto`` replaced by this machine's."""
    if precision != "auto":
        return precision
    import torch

    return (
        "bfloat16"
        if torch.cuda.is_available() and torch.cuda.is_bf16_supported(False)
        else "float32"
    )


def refuse_validating(found: str) -> None:
    """Refuse options of validation on a command line without validation.

    Raises:
        SettingError: one was given.
    """
    of_validation = ("--patience", "--validation-queries", "--most-depth", "--probe-passages")
    refuse_idle(of_validation, wanted="a validation", found=found)


def settle_steps(given: Given) -> None:
    """Let given warm-up steps replace the default share.

    Raises:
        SettingError: both epochs and steps were given.
    """
    if given.get("epochs") is not None and {"epochs", "max_steps"} <= given.stated:
        found = f"{given['epochs']} and {given['max_steps']}"
        raise SettingError(f"--epochs, --max-steps: wanted one of the two; found {found}; give one")
    if given["warmup_steps"] and "warmup_share" not in given.stated:
        given["warmup_share"] = 0.0
