"""``posbias import planted``."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.common import json_option, out_option, output_place, overwrite_option, seed_option
from positionbias.cli.imports.common import report_import
from positionbias.cli.settings_options import settings_options
from positionbias.planted.settings import PlantedSettings

__all__ = ["planted"]


@click.command()
@settings_options(PlantedSettings)
@seed_option()
@out_option(what="The collection.")
@overwrite_option
@json_option
def planted(seed: int, out: str, overwrite: bool, as_json: bool, **given: Any) -> None:
    """An invented collection whose position bias you set.

    What a model does with it can be held against a known truth.
    """
    from positionbias.planted.generator import write_planted

    settings = PlantedSettings(seed=seed, **given)
    report_import(write_planted(output_place(out), settings, overwrite=overwrite), out, as_json)
