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
    out_option,
    output_place,
    say,
    seed_option,
    workers_option,
)
from positionbias.cli.quick import DEPTH, quick_study_option
from positionbias.cli.settings_options import settings_options
from positionbias.cli.studies.models import Decorator, model_options, models_of
from positionbias.firststage.settings import Bm25Settings
from positionbias.positions.rotate import Rotation

if TYPE_CHECKING:
    from positionbias.results.artefacts import PlannedStep
    from positionbias.studies.position_bias import StudySettings
    from positionbias.studies.step import Planned, Steps
    from positionbias.studies.workshop import Workshop

Made = TypeVar("Made", bound="Steps | Workshop")

__all__ = [
    "Asked",
    "Running",
    "candidates_option",
    "draws_option",
    "dry_run_option",
    "keys",
    "run_options",
    "runs_by_split",
    "say_steps_before",
    "seeds_option",
    "study_options",
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
_repeat_options: Decorator = all_of(seeds_option, draws_option)
candidates_option: Decorator = click.option(
    "--candidates", multiple=True, metavar="SPLIT=RUN", help="A run to take instead of BM25's; may be given again."
)
_candidate_options: Decorator = all_of(
    click.option(
        "--depth", type=click.IntRange(min=1), default=100, show_default=True, help="Candidates a validation or test query."
    ),
    click.option(
        "--train-depth",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        help="Candidates from which negatives are drawn.",
    ),
    settings_options(Bm25Settings),
    candidates_option,
    click.option(
        "--validation-split", "validation", default="validation", show_default=True, help="Queries to validate and tune on."
    ),
)
_measure_options: Decorator = all_of(
    click.option(
        "--test",
        "tests",
        multiple=True,
        default=("test",),
        show_default=True,
        help="A split to test on; several are one set of queries.",
    ),
    click.option(
        "--test-queries", type=click.IntRange(min=1), metavar="N", help="Of each test split, drawn by --seed. [default: all]"
    ),
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        help="As ir_measures names it; may be given again. [default: nDCG@10, RR@10, R@10]",
    ),
    click.option(
        "--relevant-from",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Grade from which a test passage is relevant, in RR and R.",
    ),
)


_text_options: Decorator = all_of(
    click.option(
        "--rotate-at-reading", is_flag=True, help="Train on fresh rotations at every read, not on a collection rotated once."
    ),
    click.option("--only", "trainings", multiple=True, metavar="TRAINING", help="Only this training: original or rotated."),
    click.option(
        "--probe-passages", type=click.IntRange(min=1), help="Passages MATS is measured on at the end; by default all."
    ),
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study of positions was asked for, by the options that all of these have."""

    settings: StudySettings
    running: Running


def study_options(*, both_texts: bool = True) -> Decorator:
    """The options of a study, which the command gets as one ``asked`` beside its own.

    ``both_texts``: it trains on original and on rotated passages, and probes the models.
    """
    options: tuple[Decorator, ...] = (
        out_option(what="The study, a folder."),
        model_options,
        _repeat_options,
        _candidate_options,
        _measure_options,
        settings_options(Rotation, "words"),
    )
    sizes = {"depth": DEPTH, "train_depth": DEPTH, "test_queries": 1_000}
    if both_texts:
        options += (_text_options,)
        sizes["probe_passages"] = 2_000
    options += (quick_study_option("10 candidates a query, 1,000 test queries", **sizes), run_options)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_study(*, running: Running, **given: Any) -> Any:
            return command(asked=Asked(_settings(given), running), **given)

        return all_of(*options)(with_study)

    return decorate


def _settings(given: dict[str, Any]) -> StudySettings:
    """The study's settings; what makes them is taken out of ``given``."""
    from positionbias.studies.position_bias import StudySettings

    quick, seed = given["quick"], given.pop("seed")
    models = models_of(given, depth=given["depth"])
    made: dict[str, Any] = {
        "seeds": keys(given.pop("seeds"), seed, quick=quick),
        "draws": keys(given.pop("draws"), seed, DRAWS, quick=quick),
        "rotation": Rotation(words=given.pop("words")),
        "bm25": Bm25Settings(given.pop("k1"), given.pop("b")),
        "candidates": runs_by_split(given.pop("candidates")),
    }
    asked = {name: given.pop(name) for name in StudySettings.__dataclass_fields__ if name in given}
    # an option that was not given leaves the setting its own default
    made |= {name: value for name, value in asked.items() if value not in ((), None)}
    return StudySettings(models=models, seed=seed, **made)


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
