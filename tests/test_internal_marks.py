"""No mark of ours, and no path that leads up and down again, stands in what a user reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from positionbias.cli.main import posbias

ROOT = Path(__file__).parents[1]
INTERNAL = re.compile(r"\[decision\]|(?:\.\./){2}")


def helps(
    command: click.Command = posbias, context: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The help of a command and of all below it."""
    context = context or click.Context(posbias, info_name="posbias")
    yield context.command_path, command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, name)
        assert below is not None
        yield from helps(below, click.Context(below, info_name=name, parent=context))


def test_in_no_help() -> None:
    texts = dict(helps())
    assert len(texts) > 60
    assert {name: found for name, text in texts.items() if (found := INTERNAL.findall(text))} == {}


def test_on_no_page() -> None:
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", *docs.glob("*.md"), *docs.rglob("*.ipynb")]
    # a link's address nobody reads
    texts = {page.name: page.read_text("utf-8").replace("](../../", "](") for page in pages}
    assert {name: found for name, text in texts.items() if (found := INTERNAL.findall(text))} == {}
