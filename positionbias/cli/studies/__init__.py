"""``posbias study``: a paper's study, end to end. One module a study, and one for those of ``positionbias.papers``."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup
from positionbias.papers import PAPERS

__all__ = ["STUDIES", "study"]

PAPER = "positionbias.cli.studies.paper"  # makes the command of any of them

# name -> (module, attribute, one line of help)
STUDIES: dict[str, tuple[str, str, str]] = {
    **{name: (PAPER, name, text) for name, text in PAPERS.items()},
    "leakage": (
        "positionbias.cli.studies.leakage",
        "leakage",
        "Do queries that leak into training change what models are worth?",
    ),
    "contamination": (
        "positionbias.cli.studies.contamination",
        "contamination",
        "Does a teacher that saw the test make its students look better?",
    ),
}


@click.group(cls=LazyGroup, commands_at=STUDIES)
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was. --dry-run shows the steps and their time.
    """
