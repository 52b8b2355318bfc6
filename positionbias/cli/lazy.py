"""A group whose commands are imported when they are called, so that no command pays for another's
libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import click

from positionbias.cli.help import WideContext, add_quiet

# name -> (module, attribute, one line of help): there stands a command, or an operation of which
# one is made
Commands: TypeAlias = Mapping[str, tuple[str, str, str]]


class LazyGroup(click.Group):
    """A group whose ``commands_at`` is asked for its commands once they are needed.

    Of a ``family``, the function that stands there returns the member of a name: what its command
    is made of. ``headings`` part the list of commands in the help.
    """

    context_class = WideContext

    def __init__(
        self,
        *args: Any,
        commands_at: Callable[[], Commands],
        family: bool = False,
        headings: Mapping[str, Sequence[str]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._find, self.family, self._headings = commands_at, family, headings
        add_quiet(self)

    @property
    def headings(self) -> Mapping[str, Sequence[str]]:
        """The commands under each heading of the help."""
        return self._headings or {"Commands": list(self.commands_at)}

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
            from positionbias.cli.generate import OperationCommand
            from positionbias.core.operation import Command, command_for

            if not isinstance(found, Command):
                found = found(cmd_name) if self.family else command_for(found)
            found = OperationCommand(cmd_name, found)
        add_quiet(found)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; click knows no others that may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                args[0], possibilities=self.commands_at, ctx=ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the options."""
        for heading, names in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands_at[name][2]) for name in names])
        click.Command.format_options(self, ctx, formatter)
