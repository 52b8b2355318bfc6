"""What a command writes is never what it reads, nor in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import click

from positionbias.core.places import refuse_inputs as refuse_written_inputs
from positionbias.core.settings import flag_of

__all__ = ["guarded", "refuse_inputs"]

_OUTPUTS = {"judge_next", "out", "plot", "tables"}
_NO_PATHS = {"configuration", "name", "split", "splits", "title", "validation_split"}


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Check before the command runs."""

    @wraps(command)
    def checked(*given: Any, **named: Any) -> Any:
        refuse_inputs()
        return command(*given, **named)

    return checked


def refuse_inputs() -> None:
    """Compare every output of the command that runs with everything that it was given to read.

    Raises:
        SettingError: an output is an input, a folder that holds one, or a place in an artefact that is one.
    """
    context = click.get_current_context()
    written = {flag_of(name): context.params[name] for name in _OUTPUTS & context.params.keys()}
    outputs = {flag: value for flag, value in written.items() if isinstance(value, str)}
    refuse_written_inputs(outputs, _inputs(context))


def _inputs(context: click.Context) -> Iterator[Any]:
    """What the command may read, as it was given."""
    for param in context.command.params:
        if param.name is not None and param.name not in _OUTPUTS | _NO_PATHS and param.metavar != "SPLIT":
            yield context.params.get(param.name)
