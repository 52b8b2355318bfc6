"""A command made of an operation: its options from the operation's parameters, its help from the docstring, its output from what comes back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import click

from positionbias.cli.common import all_of, emit, json_option, stated
from positionbias.cli.settings_options import option_of
from positionbias.core.operation import Parameter, gathered, parameters_of
from positionbias.core.progress import say
from positionbias.core.settings import given_by_hand

__all__ = ["command_of", "help_text", "print_outcome"]


def command_of(name: str, operation: Callable[..., Any]) -> click.Command:
    """Return the command ``name``, which calls the operation and prints the results of what it returns, if anything."""

    parameters = parameters_of(operation)

    def run(as_json: bool, **given: Any) -> None:
        with given_by_hand(one.flag for one in parameters if stated(one.name)):
            outcome = operation(**gathered(operation, given))
        print_outcome(outcome, as_json=as_json)

    options = all_of(*map(option_of, parameters), json_option)
    return click.command(name, help=help_of(operation))(options(run))


def print_outcome(outcome: Any, *, as_json: bool) -> None:
    """Print the results of what an operation gave back, if anything."""
    from positionbias.ops.outcome import results_of, text_of

    if outcome is not None:
        piped = getattr(outcome, "piped", False)  # the data takes standard output
        emit(results_of(outcome), as_json=as_json, table=lambda: text_of(outcome), aside=piped)
        if afterwards := getattr(outcome, "afterwards", ""):
            say(afterwards)


def help_of(operation: Callable[..., Any]) -> str:
    """Return the docstring for readers of the command's help."""
    return help_text(inspect.getdoc(inspect.unwrap(operation)) or "", parameters_of(operation))


def help_text(text: str, parameters: Iterable[Parameter]) -> str:
    """Return a docstring without its sections and Python examples, parameters under their flags."""
    text = re.split(r"\n\n(?:Args|Returns|Raises|Source):", text)[0]
    flags = {one.name: one.flag for one in parameters}
    text = re.sub(r"``(\w+)``", lambda found: flags.get(found[1], found[1]), text)
    blocks = [block for block in text.split("\n\n") if not block.lstrip().startswith(">>>")]
    return "\n\n".join(f"\b\n{_half_indented(one)}" if one.startswith("    ") else one for one in blocks)


def _half_indented(block: str) -> str:
    return re.sub("^ +", lambda found: found[0].replace("    ", "  "), block, flags=re.M)
