"""How a training goes: one frozen record, checked when made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from positionbias.core.errors import SettingError

__all__ = ["LEARNING_RATES", "LOSSES", "PRECISIONS", "SCHEDULES", "LossKind", "TrainConfig"]

PRECISIONS = ("float32", "bfloat16", "float16")

SCHEDULES = ("constant", "linear")


class LossKind(NamedTuple):
    """What a loss takes: scores that are log-probabilities of "relevant"; a teacher's scores beside them, or their order alone."""

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

# of a kind's body, and of TK's word vectors (position-bias paper, §3); monoT5's paper has 1e-3, with Adafactor: that is much for Adam [decision]
# those over an encoder alike; KNRM's, ConvKNRM's and PACRR's are of their authors (Adam); Duet's paper has plain gradient descent, so its rate is theirs [decision]
LEARNING_RATES = {
    "tk": 1e-4,
    **dict.fromkeys(("bert_cat", "bert_dot", "colbert"), 7e-6),
    "mono_t5": 1e-4,
    **dict.fromkeys(("knrm", "conv_knrm", "duet", "pacrr"), 1e-3),
}

# what changes how fast or how safely a training goes, and not where it ends
_MEANS = ("threads", "read_ahead", "save_every", "save_minutes")


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """Settings of one training (position-bias paper, §3, and the reference where the paper is silent).

    A *batch* is ``batch_size`` groups, over all processes together; a *step* is ``accumulate`` batches and one update of the
    weights. A *group* is a query with ``group_size`` passages, a positive and negatives drawn for it (a pair of passages: 2).
    ``learning_rate`` None is the kind's own. It grows linearly over ``warmup_steps``, or over the share ``warmup_share`` of all steps, and
    then stays [decision: the position-bias paper names no schedule, its reference has none], or with ``schedule`` "linear" falls to
    nothing at the last step (contaminated-distillation paper, §4). ``clip`` bounds the norm of a step's gradient; 0 leaves it.

    ``loss`` is one of ``LOSSES``; None is the model's own: pointwise where its scores are log-probabilities, else hinge, with
    its ``margin``; ``temperature`` is that of kl. At most ``max_steps`` steps are made, or, where ``epochs`` is given, those of so many passes over the groups.

    ``dropout`` false turns off an encoder's own (TK has none): on a CPU drawing it can take as long as the rest of a step.

    ``bucket`` batches at a time are sorted by length before they are cut, so that little is padded; 1 leaves the epoch's order.
    ``patience`` counts validations without a better nDCG@10. ``least_depth`` and ``most_depth`` bound the re-ranking
    depths tried at a validation: alike, that depth alone. ``validation_queries`` is how many drawn queries a validation during training
    looks at; None: all. The depth of the finished model is always tuned on all. ``probe_passages`` is the fixed sample on which MATS is logged; 0 turns it off.

    What follows decides nothing but speed and what an interruption costs: ``read_ahead`` batches are read in the background,
    the state is saved at each validation, every ``save_every`` steps (0: no) and after ``save_minutes`` (0: no); ``threads``
    0 leaves their number to torch. (Another number of threads may round otherwise.)
    """

    batch_size: int = 32
    group_size: int = 2
    learning_rate: float | None = None
    kernel_learning_rate: float = 1e-3
    loss: str | None = None
    margin: float = 1.0
    temperature: float = 1.0
    max_steps: int = 100_000
    epochs: int | None = None
    validate_every: int = 2_000
    patience: int = 30
    least_depth: int = 1
    most_depth: int = 100
    validation_queries: int | None = None
    probe_passages: int = 500
    precision: str = "float32"
    warmup_steps: int = 0
    warmup_share: float = 0.0
    schedule: str = "constant"
    accumulate: int = 1
    clip: float = 0.0
    dropout: bool = True
    bucket: int = 1
    read_ahead: int = 4
    save_every: int = 0
    save_minutes: float = 10.0
    threads: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        one = ("batch_size", "max_steps", "validate_every", "patience", "least_depth", "most_depth", "accumulate", "bucket")
        none = ("probe_passages", "warmup_steps", "read_ahead", "save_every", "threads", "seed")
        for name, least in {**dict.fromkeys(one, 1), **dict.fromkeys(none, 0)}.items():
            if getattr(self, name) < least:
                raise SettingError(f"{_flag(name)}: wanted at least {least}; found {getattr(self, name)}; raise it")
        if self.least_depth > self.most_depth:
            wanted, found = f"at most --most-depth ({self.most_depth})", f"{self.least_depth}"
            raise SettingError(f"--least-depth: wanted {wanted}; found {found}; lower it")
        for name in ("epochs", "validation_queries"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{_flag(name)}: wanted at least 1; found {value}; raise it")
        if self.loss not in (None, *LOSSES):
            raise SettingError(f"--loss: wanted one of {', '.join(LOSSES)}; found {self.loss!r}; pick one")
        if self.group_size < 2:
            raise SettingError(f"--group-size: wanted a positive and a negative or more; found {self.group_size}; raise it")
        if self.schedule not in SCHEDULES:
            raise SettingError(f"--schedule: wanted one of {', '.join(SCHEDULES)}; found {self.schedule!r}; pick one")
        if not 0 <= self.warmup_share <= 1 or (self.warmup_share and self.warmup_steps):
            found = f"{self.warmup_share}" + (f" beside --warmup-steps {self.warmup_steps}" if self.warmup_steps else "")
            raise SettingError(
                f"--warmup-share: wanted a share from 0 to 1, or --warmup-steps; found {found}; give one of the two"
            )
        for name in ("learning_rate", "kernel_learning_rate", "margin", "temperature"):
            value = getattr(self, name)
            if not (0 < (1.0 if value is None else value) < math.inf):
                raise SettingError(f"{_flag(name)}: wanted a number above 0; found {value}; give another")
        for name in ("clip", "save_minutes"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SettingError(f"{_flag(name)}: wanted a number from 0; found {getattr(self, name)}; give another")
        if self.precision not in PRECISIONS:
            raise SettingError(f"--precision: wanted one of {', '.join(PRECISIONS)}; found {self.precision!r}; pick one")

    def of_kind(self, kind: str, *, log_probabilities: bool = False) -> TrainConfig:
        """These settings with the learning rate and the loss of a kind of model, where none was given.

        ``log_probabilities``: whether the model's scores are.
        """
        rate = LEARNING_RATES[kind] if self.learning_rate is None else self.learning_rate
        own = next(name for name, wanted in LOSSES.items() if wanted.log_probabilities == log_probabilities)
        return replace(self, learning_rate=rate, loss=self.loss or own)

    def steps(self, groups: int) -> int:
        """The steps made at most over so many groups: of the last of some ``epochs`` fewer batches may be left."""
        if self.epochs is None:
            return self.max_steps
        return -(-self.epochs * -(-groups // self.batch_size) // self.accumulate)

    def deciding(self) -> dict[str, Any]:
        """The settings that decide the outcome: what a manifest records and a resumed training must be given again.

        ``least_depth`` and ``validation_queries`` are named where they are given: trainings from before there were any stay what they are.
        """
        later = {"least_depth": 1, "validation_queries": None}
        left_out = (*_MEANS, *(name for name, value in later.items() if getattr(self, name) == value))
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    def means(self) -> dict[str, Any]:
        """The other settings: provenance."""
        return {name: getattr(self, name) for name in _MEANS}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
