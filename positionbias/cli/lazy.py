"""A group whose commands are imported when they are called, so that no command pays for another's
libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import click

from positionbias.cli.help import WideContext, add_quiet, write_options
from positionbias.core.errors import or_closest

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
            from positionbias.cli.generate import command_of
            from positionbias.core.operation import Command, command_for

            if not isinstance(found, Command):
                found = found(cmd_name) if self.family else command_for(found)
            found = command_of(cmd_name, found)
        add_quiet(found)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, or refuse it with the one that may have been meant.

        Raises:
            UsageError: there is none of this name.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            do = self._elsewhere(ctx, args[0]) or or_closest(
                args[0], self.commands_at, "pick one of its list"
            )
            raise click.UsageError(f"wanted a command; found {args[0]!r}; {do}", ctx) from error

    def _elsewhere(self, ctx: click.Context, name: str) -> str:
        """Return whether a command of a group below has this name."""
        for group in self.commands_at:
            below = (
                self.get_command(ctx, group)
                if self.commands_at[group][0].startswith("positionbias.cli")
                else None
            )
            if isinstance(below, LazyGroup) and name in below.commands_at:
                return f"did you mean {group} {name}?"
        return ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the options."""
        for heading, names in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands_at[name][2]) for name in names])
        write_options(self, ctx, formatter)
