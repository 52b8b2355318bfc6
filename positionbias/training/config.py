"""How a training goes: one frozen record, checked when made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from positionbias.core.errors import SettingError

__all__ = ["PRECISIONS", "TrainConfig"]

PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """Settings of one training (position-bias paper, §3, and the reference where the paper is silent).

    A *step* is one batch. ``patience`` counts validations without a better nDCG@10. ``most_depth`` bounds the re-ranking
    depths tried at a validation. ``probe_passages`` is the fixed sample on which MATS is logged; 0 turns it off. ``threads`` 0
    leaves their number to torch.
    """

    batch_size: int = 32
    learning_rate: float = 1e-4
    kernel_learning_rate: float = 1e-3
    margin: float = 1.0
    max_steps: int = 100_000
    validate_every: int = 2_000
    patience: int = 30
    most_depth: int = 100
    probe_passages: int = 500
    precision: str = "float32"
    threads: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        least = dict.fromkeys(("batch_size", "max_steps", "validate_every", "patience", "most_depth"), 1)
        for name, minimum in {**least, "probe_passages": 0, "threads": 0, "seed": 0}.items():
            if getattr(self, name) < minimum:
                flag = name.replace("_", "-")
                raise SettingError(f"--{flag}: wanted at least {minimum}; found {getattr(self, name)}; raise it")
        for name in ("learning_rate", "kernel_learning_rate", "margin"):
            if not 0 < getattr(self, name) < math.inf:
                raise SettingError(
                    f"--{name.replace('_', '-')}: wanted a number above 0; found {getattr(self, name)}; give another"
                )
        if self.precision not in PRECISIONS:
            raise SettingError(f"--precision: wanted {' or '.join(PRECISIONS)}; found {self.precision!r}; pick one")
