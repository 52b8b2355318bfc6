"""``posbias study``: a paper's study, end to end, one command for each of ``positionbias.papers``."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup
from positionbias.papers import PAPERS

__all__ = ["STUDIES", "study"]

PAPER = "positionbias.cli.studies.paper"

# name -> (module, attribute, one line of help)
STUDIES: dict[str, tuple[str, str, str]] = {name: (PAPER, name, text) for name, text in PAPERS.items()}


@click.group(cls=LazyGroup, commands_at=lambda: STUDIES)
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was. --dry-run shows the steps and their time.
    """
