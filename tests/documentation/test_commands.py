"""Every command in a code block of README and docs is one that posbias accepts: its name, its
options and what is required.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from positionbias.cli.groups import GROUPS
from positionbias.cli.main import posbias
from tests.documentation.blocks import PAGES, codes


def parsed(arguments: list[str]) -> None:
    """Parse without running: the groups by name, then the command's own options."""
    command: click.Command = posbias
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = click.Context(command, info_name="posbias", parent=context)
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, name
        command = found
    command.make_context("posbias", arguments, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_accepted(page: Path) -> None:
    wrong = []
    for command, python, _ in codes(page):
        if python:
            continue
        try:
            parsed(shlex.split(command)[1:])
        except (click.ClickException, AssertionError) as error:
            wrong.append(f"{command}: {error}")
        except click.exceptions.Exit:  # --help and the like
            continue
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_writes_where_it_reads(page: Path) -> None:
    for command, python, _ in codes(page):
        if python:
            continue
        before, _, out = command.partition(" --out ")
        given = shlex.split(before)[1:]
        while {*given[:1]} & {group.split()[-1] for group in GROUPS}:
            given = given[1:]
        given = given[1:]
        read = {place.rstrip("/") for word in given for place in (word, word.partition("=")[2])}
        assert not out or out.split()[0].rstrip("/") not in read, command


def test_there_are_commands() -> None:
    assert sum(1 for page in PAGES for code in codes(page) if not code.python) > 100
