"""The options that say how a model is trained: the same wherever one is, in ``train`` and in a study."""

from __future__ import annotations

import click

from positionbias.cli.common import Decorator
from positionbias.cli.settings_options import settings_options
from positionbias.models.kinds import Kind
from positionbias.models.shapes import TKConfig
from positionbias.training.config import TrainConfig

__all__ = ["embedding_option", "encoder_option", "training_options", "vectors_option"]

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
vectors_option: Decorator = click.option(
    "--word-vectors",
    metavar="FILE",
    help="Vectors to start from: GloVe's, word2vec's or ours; by default words start at random.",
)


def encoder_option(kind: Kind) -> Decorator:
    """What a kind over an encoder starts from."""
    return click.option("--encoder", metavar="PATH|ID", help=f"{kind.sources} [default: {kind.encoder}]")
