"""``posbias verify``: are artefacts what they were when they were written? It exits with 2 where they are not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from positionbias.cli.common import all_of, json_option
from positionbias.cli.generate import help_of
from positionbias.cli.settings_options import option_of
from positionbias.core.operation import gathered, parameters_of
from positionbias.core.terminal import json_line
from positionbias.ops import artefacts

__all__ = ["verify"]


@click.command(help=help_of(artefacts.verify))
@all_of(*map(option_of, parameters_of(artefacts.verify)), json_option)
def verify(as_json: bool, **given: Any) -> None:
    """Print what was found of each artefact, and refuse damaged ones."""
    found = artefacts.verify(**gathered(artefacts.verify, given))
    every = [{**asdict(one), "path": str(one.path)} for one in found.artefacts]
    click.echo(json_line({"artefacts": every}) if as_json else f"{found}\n", nl=False)
    found.check()
