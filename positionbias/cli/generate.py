"""A command made of an operation: its options from the parameters, its help from the docstring, its
output from what comes back. Help is as wide as the terminal, and lists settings with
``--help-all``.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
from click.core import ParameterSource

from positionbias.cli.options import (
    assigned,
    configured,
    option_of,
    toml_line,
    toml_lines,
    unknown,
)
from positionbias.core.outcome import Judgement, text_of
from positionbias.core.process import stopped
from positionbias.core.progress import say, set_quiet
from positionbias.core.settings import BY_HAND, REQUIRED, Given, flags_as
from positionbias.core.terminal import (
    LEAST,
    PIPED,
    json_line,
    line_width,
    message,
    to_person,
)
from positionbias.ops.operation import Command, Parameter

_FEW = 12  # settings; a command with more of them has --config and --print-config
_JSON = "Print the results as one JSON object."
_CONFIG = "Read settings and options from a TOML file; the command line counts more."
_PRINT = "Print what would run as such a file, and do nothing."
_MODELS = "--set"  # the flag of a study's parameter for the settings of its models


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
                    formatter.write_dl([_record(parameter, ctx) for parameter in settings])
                click.echo(f"\n{formatter.getvalue().rstrip()}")
            ctx.exit()
        return super().parse_args(ctx, args)


def _record(setting: Parameter, context: click.Context) -> tuple[str, str]:
    """Return a setting as NAME=VALUE, and its help with its range and default."""
    option = option_of(setting, switch=False)
    record = option.get_help_record(context)
    assert record is not None
    return f"{setting.key}={option.make_metavar(context)}", record[1]


class OperationCommand(SettingsCommand):
    """A command that calls an operation, and prints what comes back, if anything.

    Basic parameters are its options; the others are settings, given by ``--set`` and ``--config``.
    """

    def __init__(self, name: str, made: Command) -> None:
        self.made = made
        self.models = next(
            (parameter for parameter in made.parameters if parameter.flag == _MODELS), None
        )
        own = [parameter for parameter in made.parameters if parameter is not self.models]
        hidden = [parameter for parameter in own if not (parameter.shown or parameter.argument)]
        self.own = [parameter for parameter in own if parameter not in hidden]
        shared = [click.Option(["--json", "as_json"], is_flag=True, help=_JSON)]
        if hidden or self.models is not None:
            shared.append(
                click.Option(
                    ["--set", "assignments"],
                    multiple=True,
                    metavar="NAME=VALUE",
                    shell_complete=_names,
                    help="Change a setting (--help-all lists them); repeatable.",
                )
            )
        if len(hidden) > _FEW:
            shared += [
                click.Option(["--config"], metavar="FILE", type=click.Path(), help=_CONFIG),
                click.Option(["--print-config"], is_flag=True, help=_PRINT),
            ]
        super().__init__(
            name,
            params=[*map(option_of, self.own), *shared],
            help="\n\n".join(_paragraphs(made)),
            settings=lambda argument: [*hidden, *made.further(argument)],
        )

    def invoke(self, ctx: click.Context) -> None:
        """Call the operation with what the command line, ``--set`` and ``--config`` give."""
        options = ctx.params
        first = str(
            next((options[parameter.name] for parameter in self.own if parameter.argument), "")
        )
        settings = self.settings(first)
        with flags_as({parameter.flag: parameter.key for parameter in settings}):
            given, others = self._given(ctx, settings)
            for switch in self.own:
                if given[switch.name] and (implied := switch.setting.implies):
                    values = implied(first) if callable(implied) else implied
                    given |= {
                        parameter: value
                        for parameter, value in values.items()
                        if parameter not in given.stated
                    }
            every = [*self.own, *settings]
            for parameter in every:
                if parameter.name in given.stated:
                    parameter.check(given[parameter.name])
            if options.get("print_config"):
                written = (parameter for parameter in every if not parameter.argument)
                lines = [
                    line
                    for parameter in written
                    for line in toml_lines(parameter, given[parameter.name])
                ]
                lines += [toml_line(*text.split("=", 1)) for text in others]
                click.echo("\n".join(lines))
                return
            self._refuse_missing(ctx, given)
            ctx.meta[BY_HAND] = {
                parameter.flag for parameter in every if parameter.name in given.stated
            }
            outcome = self.made.call(given)
        print_outcome(outcome, as_json=options["as_json"])

    def _given(
        self, ctx: click.Context, settings: Sequence[Parameter]
    ) -> tuple[Given, Sequence[str]]:
        """Return the values of all parameters, and the settings of models as NAME=VALUE; of two the
        command line counts more, then ``--set``, then the file.
        """
        given = Given({parameter.name: parameter.default for parameter in settings})
        for parameter in self.own:
            value = ctx.params[parameter.name]
            given[parameter.name] = None if value == () and parameter.default is None else value
            if ctx.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT:
                given.stated.add(parameter.name)
        known = {
            parameter.key: parameter
            for parameter in [*self.own, *settings]
            if not parameter.argument
        }
        config = ctx.params.get("config")
        values = configured(config) if config else {}
        for name, texts in assigned(ctx.params.get("assignments", ())).items():
            several = name not in known or known[name].many
            values[name] = texts if several else texts[-1]
        others: list[str] = []
        for name, value in values.items():
            if name not in known:
                if self.models is None:
                    raise unknown(name, known)
                others += [f"{name}={text}" for text in (value if type(value) is list else [value])]
            elif (setting := known[name]).name not in given.stated:
                given[setting.name] = setting.read(value)
                given.stated.add(setting.name)
        if self.models is not None:
            given[self.models.name] = tuple(others)
        return given, others

    def _refuse_missing(self, ctx: click.Context, given: Given) -> None:
        required = [
            parameter
            for parameter in self.own
            if parameter.default is REQUIRED and not parameter.argument
        ]
        if missing := [
            parameter.flag for parameter in required if given[parameter.name] in (None, ())
        ]:
            raise click.UsageError(f"Missing options {', '.join(missing)}.", ctx)


def _names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return the settings whose names begin so, for a shell to complete."""
    command = context.command
    settings = command.settings("") if isinstance(command, OperationCommand) else ()
    return [f"{parameter.key}=" for parameter in settings if parameter.key.startswith(begun)]


def _paragraphs(made: Command) -> Iterator[str]:
    """Yield a docstring's paragraphs without its sections and Python examples, parameters under
    their flags.
    """
    text = re.split(r"\n\n(?:Args|Returns|Raises|Source):", made.help)[0]
    flags = {parameter.name: parameter.flag for parameter in made.parameters}
    text = re.sub(r"``(\w+)``", lambda name: flags.get(name[1], name[1]), text)
    for block in text.split("\n\n"):
        if not block.lstrip().startswith(">>>"):
            yield f"\b\n{textwrap.dedent(block)}" if block.startswith("    ") else block


def add_quiet(command: click.Command) -> None:
    """Give a command ``--quiet``, which means the same before and after its name."""
    if not any("--quiet" in param.opts for param in command.params):
        help_text = "No progress, no remarks; results and errors only."
        command.params.append(
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_quiet,
                help=help_text,
            )
        )


def _quiet(context: click.Context, _option: click.Parameter, on: bool) -> None:
    if on:
        set_quiet(True)
        context.find_root().call_on_close(lambda: set_quiet(False))


class JudgedExit(click.exceptions.Exit):
    """The end of a command with the exit code of its judgement, which is no error."""


def print_outcome(outcome: Any, *, as_json: bool) -> None:
    """Print the results of what an operation gave back, if anything, and complain or exit as it
    says.

    It may have ``piped``, where the data takes standard output, and ``afterwards``, a remark below
    the results.

    Raises:
        Exit: it has an exit code.
        PositionBiasError: it refuses what it found.
    """
    if stopped():  # a library that takes an interrupted import for a missing package went on
        raise KeyboardInterrupt
    if outcome is None:
        return
    piped = getattr(outcome, "piped", False)
    if as_json:
        from positionbias.report.showing import json_of

        stream = sys.stderr if piped else sys.stdout
        stream.write(json_line(json_of(outcome), getattr(stream, "encoding", None)))
    else:
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
