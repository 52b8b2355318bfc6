"""A command made of an operation: its options from the parameters, its help from the docstring, its
output from what comes back.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from positionbias.cli.given_settings import as_toml, from_config, from_texts
from positionbias.cli.help import JudgedExit, SettingsCommand, SharedOption
from positionbias.cli.settings_options import option_of
from positionbias.core.errors import SettingError
from positionbias.core.operation import REQUIRED, Command, Given, Parameter
from positionbias.core.outcome import Judgement, text_of
from positionbias.core.progress import say
from positionbias.core.settings import flags_as, given_by_hand
from positionbias.core.terminal import json_line, message, to_person
from positionbias.engine.stopping import stopped

FEW = 12  # settings; a command with more of them has --config and --print-config


def _names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return the settings whose names begin so, for a shell to complete."""
    settings = getattr(context.command, "settings", ())
    return [f"{one.key}=" for one in settings if one.key.startswith(begun)]


_set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    cls=SharedOption,
    metavar="NAME=VALUE",
    shell_complete=_names,
    help="Change a setting (--help-all lists them); repeatable.",
)
_config_option = click.option(
    "--config",
    cls=SharedOption,
    metavar="FILE",
    help="Read settings and options from a TOML file; the command line counts more.",
)
_print_config_option = click.option(
    "--print-config",
    is_flag=True,
    cls=SharedOption,
    help="Print what would run as such a file, and do nothing.",
)
_json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    cls=SharedOption,
    help="Print the results as one JSON object.",
)


def command_of(name: str, made: Command) -> click.Command:
    """Return the command ``name``, which prints what comes back, if anything.

    Basic parameters are its options; the others are settings, given by ``--set`` and ``--config``.
    """
    inner = next((one for one in made.parameters if one.flag == "--set"), None)
    by_key = {one.key: one for one in made.parameters if not one.argument and one is not inner}
    hidden = [one for one in by_key.values() if not one.shown]
    shown = [one for one in made.parameters if one not in hidden and one is not inner]

    def run(
        as_json: bool,
        assignments: Sequence[str] = (),
        config: str | None = None,
        print_config: bool = False,
        **options: Any,
    ) -> None:
        first = next((options[one.name] for one in shown if one.argument), "")
        further = made.further(str(first))
        settings, known = [*hidden, *further], by_key | {one.key: one for one in further}
        with flags_as({one.flag: one.key for one in settings}):
            stated = set(filter(_stated, options))
            given = Given({one.name: one.default for one in settings} | options)
            others: list[str] = []
            for values, more in (
                from_texts(known, assignments, inner=inner is not None),
                from_config(known, config, inner=inner is not None)
                if config is not None
                else ({}, []),
            ):
                others = [*more, *others]
                fresh = {one: value for one, value in values.items() if one not in stated}
                given.update(fresh)
                stated |= fresh.keys()
            given.stated = frozenset(stated)
            if inner is not None:
                given[inner.name] = tuple(others)
            for switch in shown:
                if not given.get(switch.name):
                    continue
                implied = switch.of.implies
                implied = implied(str(first)) if callable(implied) else implied
                given.update({one: value for one, value in implied.items() if one not in stated})
            for one in [*by_key.values(), *further]:
                if one.name in stated:
                    one.check(given[one.name])
            if print_config:
                sys.stdout.write(f"{as_toml(list(known.values()), given, others)}\n")
                return
            required = [one for one in shown if one.default is REQUIRED and not one.argument]
            if missing := [one.flag for one in required if given[one.name] in (None, ())]:
                flags = ", ".join(missing)
                path = click.get_current_context().command_path
                raise SettingError(
                    f"{path}: wanted {flags}; found none; give it (see {path} --help)"
                )
            with given_by_hand(
                one.flag for one in [*made.parameters, *further] if one.name in stated
            ):
                outcome = made.call(given)
        print_outcome(outcome, as_json=as_json)

    added: list[Any] = [_json_option]
    if hidden or inner is not None:
        added.append(_set_option)
    if len(hidden) > FEW:
        added += [_config_option, _print_config_option]
    for option in reversed([*map(option_of, shown), *added]):
        run = option(run)
    command = click.command(name, cls=SettingsCommand, help=_help_text(made.help, made.parameters))(
        run
    )
    command.settings, command.further = hidden, made.further
    return command


def _stated(name: str) -> bool:
    """Return True if the running command was given this option, not a default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


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
