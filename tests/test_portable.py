"""A small study on a machine without BlingFire and without what only Unix has, beside the same
here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.progress import set_quiet
from positionbias.text.splitter import USUAL_WORDS, remark_other_splitter
from tests.forked import forked

# Runs each line of the first argument as a command, in one process, without the modules that are
# named, and prints what it told.
SCRIPT = """
import io, json, os, shlex, sys
from contextlib import redirect_stderr, redirect_stdout
commands = sys.argv[1].splitlines()
for name in [name for name in sys.modules if name.partition(".")[0] == "positionbias"]:
    del sys.modules[name]  # imported again, without what is absent
for name in sys.argv[2:]:
    sys.modules[name] = None
if "fcntl" in sys.argv:
    import signal
    for module, names in ((os, ("O_DIRECTORY", "O_NOFOLLOW", "sysconf", "posix_fallocate")), \
(signal, ("pthread_sigmask", "alarm"))):
        for name in names:
            delattr(module, name)
from positionbias.cli.main import main
for line in commands:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as told:
        try:
            main(shlex.split(line))
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([code, out.getvalue(), told.getvalue()]))
"""
ABSENT = ("blingfire", "fcntl", "resource", "termios")
STUDY = """
import planted --queries 80 --passages 240 --out planted
collection show planted --json
histogram planted --split test --json
debias planted --workers 1 --out rotated
histogram rotated --split test --json
retrieve planted --split train --depth 10 --out train.run
retrieve planted --split test --depth 10 --out test.run
train tk planted --candidates train.run --set max_steps=2 --batch-size 4 --out model
rerank planted --model model --candidates test.run --out again.run
evaluate test.run again.run --collection planted --json
"""


def run(folder: Path, commands: str, *absent: str) -> list[Any]:
    """What each command printed, of JSON the object; none may fail."""
    made = forked([commands.strip(), *absent], folder, {**os.environ, "POSBIAS_HOME": "."}, SCRIPT)
    assert made.returncode == 0, made.stderr
    told = [json.loads(line) for line in made.stdout.splitlines()]
    assert [
        (line, code, error)
        for line, (code, _, error) in zip(commands.strip().splitlines(), told, strict=True)
        if code
    ] == []
    return [json.loads(out) if out.startswith("{") else error for _, out, error in told]


def manifest(place: Path) -> Any:
    return json.loads((place / "manifest.json").read_text(encoding="utf-8"))


def test_a_study_runs_without_blingfire_and_unix(tmp_path: Path) -> None:
    pytest.importorskip("filelock")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    usual = run(here, STUDY)
    portable = run(there, STUDY, *ABSENT)
    assert manifest(there / "planted")["content"] == manifest(here / "planted")["content"]
    assert manifest(there / "rotated")["settings"]["words"] == "unicode"
    assert manifest(there / "model")["versions"]["unicode"] == "1"
    assert manifest(there / "rotated")["versions"]["unicode"] == "1"
    # the invented text is plain prose, on which both splitters agree
    assert (
        manifest(there / "rotated")["content"]["checksum"]
        == manifest(here / "rotated")["content"]["checksum"]
    )
    assert portable[1]["rows"] == usual[1]["rows"]
    assert portable[9]["rows"] == usual[9]["rows"]
    for number in (2, 4):
        ours, theirs = (
            json.loads(json.dumps(portable[number]).replace('"unicode"', '"blingfire"')),
            usual[number],
        )
        assert ours["rows"] == theirs["rows"]
    if USUAL_WORDS == "blingfire":
        mixed(there)


def mixed(there: Path) -> None:
    """What was made without BlingFire is used with it: one line names both."""
    said = run(
        there,
        "rerank planted --model model --candidates test.run --out mixed.run\nhistogram rotated "
        "--split test --out h",
    )
    assert (
        "posbias: model: its words were split by unicode, and are split by blingfire here; a "
        "few differ"
    ) in said[0]
    run(
        there,
        "train tk rotated --candidates train.run --set max_steps=1 --batch-size 4 --out other\n"
        "histogram rotated --split test --out g",
    )


def test_what_was_split_otherwise_is_remarked(capsys: pytest.CaptureFixture[str]) -> None:
    set_quiet(False)
    other = "unicode" if USUAL_WORDS == "blingfire" else "blingfire"
    remark_other_splitter("model-x", {other: "1"})
    remark_other_splitter("model-y", {USUAL_WORDS: "1"})
    remark_other_splitter("model-z", {"numpy": "2"})
    assert capsys.readouterr().err.splitlines() == [
        (
            f"posbias: model-x: its words were split by {other}, and are split by {USUAL_WORDS} "
            "here; a few differ, and so may figures"
        ),
    ]
