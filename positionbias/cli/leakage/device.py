"""``--device`` for commands that seldom encode: torch is imported only when they do."""

from __future__ import annotations

import click

from positionbias.cli.common import Decorator, Ranking
from positionbias.ranking.config import DEVICES, RankingConfig, pick_device

__all__ = ["device_option", "on_device"]

device_option: Decorator = click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=DEVICES[0],
    show_default=True,
    help="Where --encoder computes; auto is the GPU where there is one.",
)


def on_device(device: str) -> Ranking:
    """How a model computes on a device, in its usual precision.

    Raises:
        SettingError: a GPU that is not there.
    """
    return Ranking(pick_device(device), RankingConfig())
