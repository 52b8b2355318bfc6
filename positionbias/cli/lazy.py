"""A group whose commands are imported when they are called, so that no command pays for another's libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import click

from positionbias.core.settings import check_whole

__all__ = ["Commands", "LazyGroup"]

# name -> (module, attribute, one line of help): there stands a command, or an operation of which one is made
Commands: TypeAlias = Mapping[str, tuple[str, str, str]]


def _check_whole_numbers(command: click.Command) -> None:
    """Have each whole number that a command, or one below it, is given checked."""
    for below in getattr(command, "commands", {}).values():
        _check_whole_numbers(below)
    for param in command.params:
        if isinstance(param.type, click.types.IntParamType) and param.callback is None:
            param.callback = _whole


def _whole(context: click.Context, param: click.Parameter, given: Any) -> Any:
    for value in given if isinstance(given, tuple) else (given,):
        if value is not None:
            check_whole(param.opts[-1], value)
    return given


class LazyGroup(click.Group):
    """A group whose ``commands_at`` is asked for its commands once they are needed.

    Of a ``family``, the function that stands there returns the member of a name: what its command is made of.
    """

    def __init__(self, *args: Any, commands_at: Callable[[], Commands], family: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self._find, self.family = commands_at, family

    @cached_property
    def commands_at(self) -> Commands:
        """The place of each command, and its help."""
        return self._find()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_at:
            return None
        module, attribute, _ = self.commands_at[cmd_name]
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, click.Command):
            from positionbias.cli.generate import command_of
            from positionbias.core.operation import command_for

            found = command_of(cmd_name, found(cmd_name) if self.family else command_for(found))
        _check_whole_numbers(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in self.commands_at.items()])
