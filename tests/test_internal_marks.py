"""No mark of ours, and no path that leads up and down again, stands in what a user reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import positionbias as pb
from positionbias.cli.main import main, posbias

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
    assert len(texts) > 70
    assert {name: found for name, text in texts.items() if (found := INTERNAL.findall(text))} == {}


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.ipynb")),
    ],
    ids=lambda page: page.name,
)
def test_on_no_page(page: Path) -> None:
    # a link's address nobody reads
    assert INTERNAL.findall(page.read_text("utf-8").replace("](../../", "](")) == []


@pytest.mark.usefixtures("small_demo")
def test_in_no_report_or_message_of_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    pb.demo(workers=1, out="here/demo")
    made = Path("here/demo")
    page = (made / "report.html").read_text("utf-8")
    assert "Input: collection" in page
    for table in sorted((made / "tables").iterdir()):
        page += table.read_text("utf-8")
    (rotated,) = {
        path.parent for path in made.rglob("manifest.json") if path.parent.name == "rotated-1"
    }
    for arguments in (
        ["show", rotated],
        ["verify", made],
        ["report", made, "--out", "page.html", "--overwrite"],
    ):
        with pytest.raises(SystemExit):
            main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert "input original" in out
    assert {
        name: INTERNAL.findall(text) for name, text in (("page", page), ("out", out), ("err", err))
    } == {
        "page": [],
        "out": [],
        "err": [],
    }
