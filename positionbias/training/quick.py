"""Settings of trainings that take minutes on two cores; docs/studies.md has their results."""

from __future__ import annotations

from typing import Any

from positionbias.models.kinds import begins_with

DEPTH = 10  # candidates of a query

_ENCODER = {
    "batch_size": 16,
    "learning_rate": 3e-5,
    "warmup_share": 0.1,
    "schedule": "linear",
    "max_steps": 200,
    "validate_every": 50,  # at least four, to tell whether it is finished
    # a validation of 1,000 takes longer than the steps between two validations
    "validation_queries": 200,
    "dropout": False,
    "bucket": 16,
}
_WORDS = {
    "warmup_share": 0.05,
    "schedule": "linear",
    "max_steps": 1_000,
    "validate_every": 100,
    "threads": 1,
}
_TK = {"learning_rate": 2e-3, "kernel_learning_rate": 1e-2}
_SHAPE = {"layers": 1, "heads": 8, "head_size": 16, "feed_forward": 64}


def quick_training(kind: str) -> dict[str, Any]:
    """Return the settings of a kind's quick training, by their names in ``TrainConfig``."""
    if begins_with(kind) == "encoder":
        return dict(_ENCODER)
    return _WORDS | (_TK if kind == "tk" else {})


def quick_shape(kind: str) -> dict[str, int]:
    """Return the smaller sizes of a kind's shape in a quick training, by the names in its
    config.
    """
    return dict(_SHAPE) if kind == "tk" else {}
