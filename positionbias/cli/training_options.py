"""The options that say how a model is trained: the same wherever one is."""

from __future__ import annotations

from positionbias.cli.common import Decorator
from positionbias.cli.settings_options import settings_options
from positionbias.models.shapes import TKConfig
from positionbias.training.config import TrainConfig

__all__ = ["embedding_option", "training_options"]

training_options: Decorator = settings_options(
    TrainConfig,
    "batch_size",
    "group_size",
    "accumulate",
    "learning_rate",
    "kernel_learning_rate",
    "warmup_steps",
    "warmup_share",
    "schedule",
    "clip",
    "max_steps",
    "validate_every",
    "validation_queries",
    "patience",
    "bucket",
    "precision",
    "read_ahead",
    "save_every",
    "save_minutes",
    "threads",
)

embedding_option: Decorator = settings_options(TKConfig, "embedding_deviation")
