"""What all commands share: options, one-line errors, exit codes, results as JSON or as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from positionbias.cli.guard import guarded
from positionbias.cli.settings_options import Decorator, all_of, option_of, settings_as, settings_options
from positionbias.core.operation import Parameter, made_of
from positionbias.core.places import input_place, model_place, output_place
from positionbias.core.progress import say
from positionbias.core.settings import SEED_HELP
from positionbias.core.terminal import json_line
from positionbias.engine.choose import Engine
from positionbias.models.kinds import READ_AS
from positionbias.positions.settings import Matching
from positionbias.ranking.config import DEVICES, Computing, RankingConfig

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = [
    "Decorator",
    "Engine",
    "all_of",
    "compute_options",
    "emit",
    "engine_options",
    "input_place",
    "json_option",
    "kind_option",
    "matching_options",
    "model_place",
    "out_option",
    "output_place",
    "overwrite_option",
    "print_results",
    "ranking_options",
    "say",
    "seed_option",
    "stated",
    "workers_option",
]


def seed_option(default: int = 1) -> Decorator:
    """``--seed``: every draw is keyed by it."""
    return click.option("--seed", type=click.IntRange(min=0), default=default, show_default=True, help=SEED_HELP)


def out_option(*, required: bool = True, what: str = "Where to write.") -> Decorator:
    """``--out``: a path, or a plain name under $POSBIAS_HOME."""
    return click.option("--out", required=required, metavar="PATH|NAME", help=f"{what} A plain name lands under $POSBIAS_HOME.")


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")


def overwrite_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--overwrite``: of artefacts of ours, and never of what the command reads."""
    return click.option("--overwrite", is_flag=True, help="Replace what stands at --out.")(guarded(command))


kind_option: Decorator = option_of(Parameter("kind", "kind", str, False, None, READ_AS))
workers_option: Decorator = settings_options(Engine, "workers")
engine_options: Decorator = settings_as(Engine, "engine")

matching_options: Decorator = settings_as(Matching, "matching")


def compute_options(*, device: str = "Where to compute; auto is the GPU where there is one.") -> Decorator:
    """``--device``, with what its help says here, ``--precision`` and ``--batch-tokens`` as they were given: no torch is imported for them."""
    return all_of(
        click.option("--device", type=click.Choice(DEVICES), default=DEVICES[0], show_default=True, help=device),
        settings_options(RankingConfig, "precision", "batch_tokens"),
    )


def ranking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--device``, ``--precision`` and ``--batch-tokens``, which the command gets as one ``computing``."""

    @wraps(command)
    def with_computing(*given: Any, **named: Any) -> Any:
        own = {name: named.pop(name) for name in ("device", "precision", "batch_tokens")}
        computing = made_of(Computing, own)
        computing.pick_device()  # a GPU that is not there is said before anything is read
        return command(*given, computing=computing, **named)

    return compute_options()(with_computing)


def stated(name: str) -> bool:
    """Whether the command that runs was given this option, rather than having it by default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def print_results(results: Sequence[Result], *, as_json: bool) -> None:
    """Print results on standard output: one JSON object, or as text."""
    from positionbias.report.text import text_of

    emit(results, as_json=as_json, table=lambda: text_of(results))


def emit(
    results: Sequence[Result],
    *,
    as_json: bool,
    table: Callable[[], str],
    beside: Mapping[str, Any] | None = None,
    aside: bool = False,
) -> None:
    """Print results: one JSON object, in which ``beside`` stands before them, or the table; ``aside`` on standard error."""
    if as_json:
        stream = sys.stderr if aside else sys.stdout
        stream.write(json_line({**(beside or {}), "results": [result.to_json() for result in results]}))
    elif aside:
        say(table())
    else:
        sys.stdout.write(f"{table()}\n")
