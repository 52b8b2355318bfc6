"""Help as wide as the terminal, which lists settings too with ``--help-all``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from positionbias.cli.options import option_of
from positionbias.core.operation import Parameter
from positionbias.core.progress import set_quiet
from positionbias.core.terminal import LEAST, PIPED, line_width


class WideContext(click.Context):
    """A context whose help is as wide as the terminal, from 80 to 100 columns."""

    def make_formatter(self) -> click.HelpFormatter:
        return click.HelpFormatter(width=min(line_width(piped=LEAST) or PIPED, PIPED) - 2)


class SettingsCommand(click.Command):
    """A command whose ``--help-all`` lists its settings too; they may depend on its first
    argument.
    """

    context_class = WideContext

    def __init__(
        self,
        *args: Any,
        settings: Callable[[str], Sequence[Parameter]] = lambda argument: (),
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.settings = settings

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer ``--help-all``: the help, and what ``--set`` changes."""
        if "--help-all" in args:
            click.echo(self.get_help(ctx))
            argument = next((arg for arg in args if not arg.startswith("-")), "")
            if settings := self.settings(argument):
                formatter = ctx.make_formatter()
                with formatter.section("Settings, by --set NAME=VALUE"):
                    formatter.write_dl([_record(one, ctx) for one in settings])
                click.echo(f"\n{formatter.getvalue().rstrip()}")
            ctx.exit()
        return super().parse_args(ctx, args)


def _record(setting: Parameter, context: click.Context) -> tuple[str, str]:
    """Return a setting as NAME=VALUE, and its help with its range and default."""
    option = option_of(setting, switch=False)
    record = option.get_help_record(context)
    assert record is not None
    return f"{setting.key}={option.make_metavar(context)}", record[1]


def add_quiet(command: click.Command) -> None:
    """Give a command ``--quiet``, which means the same before and after its name."""
    if not any("--quiet" in param.opts for param in command.params):
        told = "No progress, no remarks; results and errors only."
        command.params.append(
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_quiet,
                help=told,
            )
        )


def _quiet(context: click.Context, _option: click.Parameter, on: bool) -> None:
    if on:
        set_quiet(True)
        context.find_root().call_on_close(lambda: set_quiet(False))


class JudgedExit(click.exceptions.Exit):
    """The end of a command with the exit code of its judgement, which is no error."""
