"""``posbias study``: a paper's study, end to end. One module a study, and one for those of ``positionbias.papers``."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup
from positionbias.papers import PAPERS

__all__ = ["STUDIES", "study"]

PAPER = "positionbias.cli.studies.paper"  # makes the command of any of them

# name -> (module, attribute, one line of help)
STUDIES: dict[str, tuple[str, str, str]] = {
    "position-bias": (
        "positionbias.cli.studies.position_bias",
        "position_bias",
        "Do re-rankers lean on where answers sit, and does rotation cure it?",
    ),
    "dose": ("positionbias.cli.studies.dose", "dose", "Does the bias grow with how front-loaded the training answers are?"),
    "architecture": (
        "positionbias.cli.studies.architecture",
        "architecture",
        "Is rotating the data better than changing the model?",
    ),
    **{name: (PAPER, name, text) for name, text in PAPERS.items()},
    "pooling": (
        "positionbias.cli.studies.pooling",
        "pooling",
        "Can test collections made by one kind of system judge another?",
    ),
    "transfer": ("positionbias.cli.studies.transfer", "transfer", "Does training on rotated passages first help elsewhere?"),
}


@click.group(cls=LazyGroup, commands_at=STUDIES)
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was. --dry-run shows the steps and their time.
    """
