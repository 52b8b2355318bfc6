"""``--device`` for commands that seldom encode: torch is imported only when they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from positionbias.cli.common import Decorator, Ranking

if TYPE_CHECKING:
    from positionbias.leakage.nearest import Encode
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["device_option", "encoder_on"]

device_option: Decorator = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where --encoder computes; auto is the GPU where there is one.",
)


def encoder_on(device: str, name: str, kind: str | None) -> tuple[Checkpoint, Encode]:
    """``encoder.open_encoder`` on a device, in its usual precision.

    Raises:
        InputError: no such model.
        SettingError: one that gives a text no single vector, or a GPU that is not there.
    """
    from positionbias.cli.leakage.encoder import open_encoder
    from positionbias.ranking.config import RankingConfig, pick_device

    return open_encoder(name, kind, Ranking(pick_device(device), RankingConfig()))
