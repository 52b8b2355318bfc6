"""The help of every command is what it was: a change is made on purpose, and its diff read.

``python tests/cli/test_help_snapshots.py`` writes the snapshots anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

KEPT = Path(__file__).parent / "snapshots" / "help"


def test_the_help_of_every_command_is_its_snapshot(tmp_path: Path) -> None:
    # in a process of its own, as other tests leave commands and settings changed in this one
    subprocess.run([sys.executable, __file__, tmp_path], check=True, capture_output=True)
    shown, kept = (
        {path.stem: path.read_text("utf-8") for path in place.iterdir()}
        for place in (tmp_path, KEPT)
    )
    differing = sorted(
        name for name in shown.keys() | kept.keys() if shown.get(name) != kept.get(name)
    )
    assert not differing, (
        f"the help of {', '.join(differing)} has changed; if on purpose: python {__file__}"
    )


def _commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that call every command, groups before what is in them."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from _commands(inner, (*words, name))


def _write(folder: Path) -> None:
    from click.testing import CliRunner

    from positionbias.cli.main import posbias

    for place in folder.glob("*.txt"):
        place.unlink()
    for words in _commands(posbias):
        text = CliRunner().invoke(posbias, [*words, "--help"]).output
        (folder / f"{'-'.join(words) or 'posbias'}.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    _write(Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT)
