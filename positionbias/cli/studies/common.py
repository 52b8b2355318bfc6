"""Options that all studies' commands have, and what they say before a long study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from positionbias.cli.before import say_before
from positionbias.cli.common import Decorator
from positionbias.core.places import input_place

if TYPE_CHECKING:
    from positionbias.experiments.step import Planned
    from positionbias.results.artefacts import PlannedStep

__all__ = [
    "candidates_option",
    "draws_option",
    "dry_run_option",
    "keys",
    "runs_by_split",
    "say_steps_before",
    "seeds_option",
]

SEEDS, DRAWS = 3, 2  # where none are named: what an interval over trainings takes
seeds_option: Decorator = click.option(
    "--seeds",
    multiple=True,
    type=click.IntRange(min=0),
    help=f"Of a training; may be given again. Three or more have intervals over trainings. [default: {SEEDS}, from --seed on; 1 with --quick]",
)
draws_option: Decorator = click.option(
    "--rotations",
    "draws",
    multiple=True,
    type=click.IntRange(min=0),
    help=f"Seed of a rotation draw; may be given again; every training seed meets every draw. [default: {DRAWS}, from --seed on; 1 with --quick]",
)
candidates_option: Decorator = click.option(
    "--candidates", multiple=True, metavar="SPLIT=RUN", help="A run to take instead of BM25's; may be given again."
)
dry_run_option: Decorator = click.option(
    "--dry-run", is_flag=True, help="Show the steps, which are done and about how long the others take; write nothing."
)


def say_steps_before(planned: Sequence[Planned | PlannedStep], *, yes: bool, shorter: str) -> None:
    """Say how long the steps take that are not done, and ask a terminal where that is long; ``shorter`` says what to do instead."""
    left = [one for one in planned if not one.done]
    if left:
        known = [one.seconds for one in left if one.seconds is not None]
        open_ = len(left) - len(known)
        more = f" ({open_} of them not counted: nothing tells their time)" if open_ else ""
        say_before(f"{len(left)} steps to be made{more}", sum(known) if known else None, yes=yes, shorter=shorter)


def keys(named: tuple[int, ...], seed: int, number: int = SEEDS, *, quick: bool) -> tuple[int, ...]:
    """The seeds that were named, or as many as a study has where none are, one where it is quick, from ``seed`` on."""
    return named or tuple(range(seed, seed + (1 if quick else number)))


def runs_by_split(texts: Sequence[str]) -> dict[str, Path]:
    """The runs that ``--candidates SPLIT=RUN`` names, by split."""
    from positionbias.core.errors import SettingError

    runs = {}
    for text in texts:
        split, equals, place = text.partition("=")
        if not equals or not split or not place:
            raise SettingError(f"--candidates: wanted SPLIT=RUN; found {text!r}; write it so")
        runs[split] = input_place(place)
    return runs
