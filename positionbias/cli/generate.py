"""A command made of an operation: its options from the parameters, its help from the docstring, its
output from what comes back.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, get_args

import click
from click.core import ParameterSource

from positionbias.cli.judged_exit import JudgedExit
from positionbias.cli.panels import PanelCommand, PanelOption
from positionbias.cli.settings_options import option_of
from positionbias.core.errors import SettingError
from positionbias.core.operation import Command, Given, Parameter, SavedTo
from positionbias.core.progress import say
from positionbias.core.screen import lines_of, message
from positionbias.core.settings import Panel, given_by_hand
from positionbias.core.terminal import json_line, to_person

__all__ = ["command_of", "print_outcome"]

_wide_option = click.option(
    "--wide",
    is_flag=True,
    cls=PanelOption,
    panel=Panel.SHARED,
    help="Print every column and both ends of intervals, however wide.",
)
_SAVED = get_args(SavedTo)[1]  # of a command that measures
_per_query_option = click.option(
    "--per-query",
    is_flag=True,
    cls=PanelOption,
    panel=Panel.SHARED,
    help="Add each query's values to --json.",
)
_json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    cls=PanelOption,
    panel=Panel.SHARED,
    help="Print the results as one JSON object.",
)


def command_of(name: str, made: Command) -> click.Command:
    """Return the command ``name``, which prints what comes back, if anything."""

    def run(as_json: bool, wide: bool, per_query: bool = False, **given: Any) -> None:
        if per_query and not as_json:
            raise SettingError(
                "--per-query: wanted --json, which it is for; found none; add --json"
            )
        stated = frozenset(filter(_stated, given))
        with given_by_hand(one.flag for one in made.parameters if one.name in stated):
            outcome = made.call(Given(given, stated))
        print_outcome(outcome, as_json=as_json, wide=wide, per_query=per_query)

    measures = any(one.of is _SAVED for one in made.parameters)
    printed: list[Any] = [_json_option, *([_per_query_option] if measures else []), _wide_option]
    for option in reversed([*map(option_of, made.parameters), *printed]):
        run = option(run)
    return click.command(name, cls=PanelCommand, help=_help_text(made.help, made.parameters))(run)


def _stated(name: str) -> bool:
    """Return True if the running command was given this option, not a default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def print_outcome(
    outcome: Any, *, as_json: bool, wide: bool = False, per_query: bool = False
) -> None:
    """Print the results of what an operation gave back, if anything, and complain or exit as it
    says.

    It may have ``piped``, where the data takes standard output, and ``afterwards``, a remark below
    the results.

    Raises:
        Exit: it has an exit code.
        PositionBiasError: it refuses what it found.
    """
    from positionbias.ops.outcome import Judgement, json_of, text_of

    if outcome is None:
        return
    piped = getattr(outcome, "piped", False)
    if as_json:
        stream = sys.stderr if piped else sys.stdout
        stream.write(
            json_line(json_of(outcome, per_query=per_query), getattr(stream, "encoding", None))
        )
    else:
        with lines_of(None) if wide else nullcontext():
            text = text_of(outcome)
            say(text) if piped else sys.stdout.write(f"{text}\n")
    if afterwards := getattr(outcome, "afterwards", ""):
        say(afterwards)
    if isinstance(outcome, Judgement):
        for line in outcome.complaints:
            to_person(message(line))
        outcome.check()
        if outcome.exit_code:
            raise JudgedExit(outcome.exit_code)


def _help_text(text: str, parameters: Iterable[Parameter]) -> str:
    """Return a docstring without its sections and Python examples, parameters under their flags."""
    text = re.split(r"\n\n(?:Args|Returns|Raises|Source):", text)[0]
    flags = {one.name: one.flag for one in parameters}
    text = re.sub(r"``(\w+)``", lambda found: flags.get(found[1], found[1]), text)
    blocks = [block for block in text.split("\n\n") if not block.lstrip().startswith(">>>")]
    return "\n\n".join(
        f"\b\n{_half_indented(one)}" if one.startswith("    ") else one for one in blocks
    )


def _half_indented(block: str) -> str:
    return re.sub("^ +", lambda found: found[0].replace("    ", "  "), block, flags=re.M)
