"""Help: options under two headings, as wide as the terminal; settings with --help-all."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from positionbias.core.operation import Parameter
from positionbias.core.progress import set_quiet
from positionbias.core.terminal import LEAST, PIPED, line_width

OWN, SHARED = "Options", "Every command"  # headings


class SharedOption(click.Option):
    """An option that many commands have, listed behind a command's own."""


class WideContext(click.Context):
    """A context whose help is as wide as the terminal, from 80 to 100 columns."""

    def make_formatter(self) -> click.HelpFormatter:
        return click.HelpFormatter(width=min(line_width(piped=LEAST) or PIPED, PIPED) - 2)


class SettingsCommand(click.Command):
    """A command whose ``--help-all`` lists its settings too."""

    context_class = WideContext
    settings: Sequence[Parameter] = ()
    further: Callable[[str], Sequence[Parameter]] = staticmethod(lambda argument: ())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer ``--help-all``: the help, and what ``--set`` changes."""
        if "--help-all" in args:
            click.echo(self.get_help(ctx))
            first = next((one for one in args if not one.startswith("-")), "")
            if settings := [*self.settings, *self.further(first)]:
                formatter = ctx.make_formatter()
                with formatter.section("Settings, by --set NAME=VALUE"):
                    formatter.write_dl([(one.key, told_of(one)) for one in settings])
                click.echo(f"\n{formatter.getvalue().rstrip()}")
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, with examples that are longer than a line as lines that end in a
        backslash.
        """
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(
                _folded(
                    inspect.cleandoc(self.help or ""), formatter.width - formatter.current_indent
                )
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)


def told_of(setting: Parameter) -> str:
    """Return the help of a setting with its choices and its default."""
    default: Any = False if setting.turns_off else setting.default
    choices = f" One of: {', '.join(setting.of.choices)}." if setting.of.choices else ""
    if default is None:
        default = setting.of.absent
    elif setting.many:
        default = ", ".join(map(str, default))
    return f"{setting.of.help}{choices}" + (f" [default: {default}]" if default != "" else "")


def _folded(text: str, width: int) -> str:
    """Break the commands in a help text that are longer than ``width``, between an option and the
    next.
    """
    blocks = text.split("\n\n")
    return "\n\n".join(
        "\n".join(line if len(line) <= width else _fold(line, width) for line in block.splitlines())
        if block.startswith("\b\n")
        else block
        for block in blocks
    )


def _fold(line: str, width: int) -> str:
    """Break a command before words that are no option's value."""
    indent = line[: len(line) - len(line.lstrip())]
    lines = [""]
    parts = [
        part
        for run in re.split(r" +(?=--?[a-z])", line.strip())
        for part in (run.split() if len(indent + run) > width - 2 else [run])
    ]
    for part in parts:
        joined = f"{lines[-1]} {part}" if lines[-1] else f"{indent}{part}"
        if len(lines[-1]) and len(joined) > width - 2:
            lines.append(f"{indent}    {part}")
        else:
            lines[-1] = joined
    return " \\\n".join(lines)


def write_options(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command under their headings."""
    for heading, options in by_heading(command, context):
        with formatter.section(heading):
            formatter.write_dl([option.get_help_record(context) or ("", "") for option in options])


def by_heading(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, Sequence[click.Option]]]:
    """Yield the options of a command under the headings that they stand under."""
    listed: dict[str, list[click.Option]] = {OWN: [], SHARED: []}
    for option in command.get_params(context):
        if isinstance(option, click.Option) and not option.hidden:
            shared = isinstance(option, SharedOption) or "--help" in option.opts
            listed[SHARED if shared else OWN].append(option)
    yield from ((heading, options) for heading, options in listed.items() if options)


def add_quiet(command: click.Command) -> None:
    """Give a command ``--quiet``, which means the same before and after its name."""
    if not any("--quiet" in param.opts for param in command.params):
        told = "No progress, no remarks; results and errors only."
        command.params.append(
            SharedOption(
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
