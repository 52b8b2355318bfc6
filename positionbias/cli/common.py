"""Shared parts of all commands: options, and results as JSON or as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from positionbias.cli.settings_options import Decorator, all_of, settings_options
from positionbias.core.json_text import JsonObject
from positionbias.core.progress import say
from positionbias.core.settings import SEED_HELP
from positionbias.core.terminal import json_line
from positionbias.engine.choose import Engine

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = [
    "Decorator",
    "all_of",
    "emit",
    "json_option",
    "out_option",
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


workers_option: Decorator = settings_options(Engine, "workers")


def stated(name: str) -> bool:
    """Return True if the running command was given this option, not a default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def emit(
    results: Sequence[Result],
    *,
    as_json: bool,
    table: Callable[[], str],
    beside: JsonObject | None = None,
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
