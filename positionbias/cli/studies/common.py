"""What the studies' commands share: options, the plan of a dry run, the report at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from positionbias.cli.before import say_before, yes_option
from positionbias.cli.common import (
    all_of,
    emit,
    input_place,
    json_option,
    output_place,
    say,
    seed_option,
    workers_option,
)
from positionbias.cli.studies.models import Decorator

if TYPE_CHECKING:
    from positionbias.results.artefacts import PlannedStep
    from positionbias.studies.step import Planned, Steps
    from positionbias.studies.workshop import Workshop

Made = TypeVar("Made", bound="Steps | Workshop")

__all__ = [
    "Running",
    "candidates_option",
    "draws_option",
    "dry_run_option",
    "keys",
    "run_options",
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


@dataclass(frozen=True, slots=True)
class Running:
    """How a study's command runs: where, in how many processes, whether for show, and how it answers."""

    out: str
    workers: int
    dry_run: bool
    yes: bool
    as_json: bool

    def run(self, study: Callable[[Workshop], Path], collection: str) -> None:
        """Say how long ``study`` takes, ask where that is long, run it in its folder and answer with its report; after a dry run with its plan."""
        from positionbias.studies.workshop import Workshop

        shorter = "--dry-run shows the steps; --quick, or fewer --seeds and --models, take less"
        self._run(partial(Workshop, output_place(self.out), say, workers=self.workers), study, collection, shorter)

    def _run(self, opened: Callable[..., Made], study: Callable[[Made], Path], what: str, shorter: str) -> None:
        from positionbias.ops.studies import StudyPlan, reported
        from positionbias.studies.step import Steps

        made = opened(dry_run=True)
        study(made)
        if self.dry_run:
            plan = StudyPlan([(made if isinstance(made, Steps) else made.steps).plan(what)])
            emit(plan.results, as_json=self.as_json, table=plan.__str__)
        else:
            say_steps_before(made.planned, yes=self.yes, shorter=shorter)
            found = reported(study(opened()), output_place(self.out))
            emit(found.results, as_json=self.as_json, table=found.__str__)


def _as_running(options: Decorator) -> Decorator:
    """These options, which the command gets as one ``running``, with its --out."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_running(*, out: str, dry_run: bool, yes: bool, as_json: bool, workers: int = 1, **given: Any) -> Any:
            return command(running=Running(out, workers, dry_run, yes, as_json), **given)

        return options(with_running)

    return decorate


run_options = _as_running(all_of(dry_run_option, seed_option(), workers_option, yes_option, json_option))


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
