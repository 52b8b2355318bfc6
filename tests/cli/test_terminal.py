"""What a terminal gets to see: names, tags and ids of other people's files can send it no
commands.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query

OSC = "\x1b]0;owned\x07"
COMMAND = [sys.executable, "-m", "positionbias"]
OF_A_BAR = re.compile(rb"\x1b\[[?\d;]*[a-zA-Z]|\r")


def on_a_terminal(
    folder: Path, *arguments: object, stdin: int = subprocess.DEVNULL
) -> tuple[int, bytes]:
    """The exit code of a command, and what a terminal on both outputs shows."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], cwd=folder, stdin=stdin, stdout=slave, stderr=slave
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 65_536):
                shown += chunk
        except OSError:  # Linux says EIO when the other end has gone
            pass
        os.close(master)
    return process.returncode, shown


@pytest.fixture
def hostile(tmp_path: Path) -> Collection:
    """A collection with such codes in all that may hold them; a name in a manifest may not."""
    place = tmp_path / f"p{OSC}"
    with create_collection(place) as writer:
        writer.add_passages([Passage(f"d{OSC}", f"a {OSC} b c"), Passage("e", "d e f")])
        writer.add_split(
            "test",
            [Query(f"q{OSC}", "a")],
            [Qrel(f"q{OSC}", "e", 1)],
            [Answer(f"q{OSC}", "e", "d")],
        )
        writer.finish(
            Manifest(
                "collection",
                "n[red] owned",
                f"made{OSC}",
                settings={OSC: OSC},
                licence=OSC,
                notes=(OSC,),
            )
        )
    (tmp_path / "x.run").write_text(
        f"q{OSC} Q0 e 1 2.0 tag{OSC}\nq{OSC} Q0 d{OSC} 2 1.0 tag{OSC}\n"
    )
    return Collection(place)


@pytest.mark.parametrize(
    "arguments",
    [
        ["collection", "show", "COLLECTION"],
        ["evaluate", "x.run", "--collection", "COLLECTION"],
        ["debias", "data.tsv", "--out", "-"],
        ["collection", "show", f"--{OSC}"],
    ],
    ids=lambda arguments: ascii(" ".join(arguments)),
)
def test_no_name_reaches_a_terminal_raw(
    hostile: Collection, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "data.tsv").write_text(f"i{OSC}\ta {OSC} b\n")
    named = [str(hostile.path) if argument == "COLLECTION" else argument for argument in arguments]
    code, shown = on_a_terminal(tmp_path, *named)
    assert code in (0, 2), shown
    text = OF_A_BAR.sub(b"", shown).decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), ascii(text)
    assert "owned" in text


def test_json_with_such_names_reads_back_equal(hostile: Collection, tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "collection", "show", str(hostile.path), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {row["collection"] for row in json.loads(done.stdout)["rows"]} == {hostile.manifest.name}
