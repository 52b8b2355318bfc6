"""The command line's reference, a page for each command or group of commands, from what click says
of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from positionbias.cli.main import posbias
from positionbias_site.markdown import fence, page, plain, toctree


def pages() -> dict[str, str]:
    """Return the Markdown of the pages by their paths, the list of commands first."""
    context = click.Context(posbias, info_name="posbias")
    names = posbias.list_commands(context)
    lists = [
        block
        for heading, below in posbias.headings.items()
        for block in (f"## {heading}", _list(below))
    ]
    start = page("# Commands", plain(posbias.get_short_help_str(limit=200)), *lists, toctree(names))
    made = {"cli/index.md": start}
    for name in names:
        made[f"cli/{name}.md"] = page(*_sections(posbias, name, context, 1))
    return made


def _list(names: Iterable[str]) -> str:
    rows = [
        f"| [`posbias {name}`]({name}.md) | {plain(posbias.commands_at[name][2])} |"
        for name in names
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _sections(group: click.Group, name: str, above: click.Context, level: int) -> Iterator[str]:
    """Yield a command's heading, usage, help and options; those of a group's commands follow."""
    command = group.get_command(above, name)
    assert command is not None, name
    context = click.Context(command, info_name=name, parent=above)
    yield f"{'#' * level} posbias {context.command_path.removeprefix('posbias ')}"
    yield fence(" ".join([context.command_path, *command.collect_usage_pieces(context)]))
    yield from _help(command.help or "")
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _sections(command, below, context, level + 1)
    else:
        yield from _options(command, context)


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click would not wrap are code."""
    for block in text.split("\n\n"):
        kept = block.removeprefix("\b\n")
        yield (
            plain(block)
            if kept == block
            else fence("\n".join(line.strip() for line in kept.splitlines()), "console")
        )


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the options as a list of definitions: what is typed, and what it does."""
    for option in command.get_params(context):
        if record := option.get_help_record(context):
            typed, does = record
            yield f"`{typed}`\n: {plain(does)}"
