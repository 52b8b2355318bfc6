"""Exit code 1 means a failed check and nothing else: a bug exits with 70 and leaves a report,
whatever it raises.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import torch

from positionbias import __version__
from positionbias.cli.internal_error import describe
from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.engine.local import map_shards

from .conftest import POSBIAS, RunPosbias


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Panic(BaseException):
    """As extensions written in Rust raise it: no ``Exception``."""


def recurse(depth: int = 0) -> int:
    return recurse(depth + 1)


def raises(error: BaseException) -> Callable[[], Any]:
    def run() -> None:
        raise error

    return run


def ends(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any], name: str = "histogram") -> int:
    """The exit code of a command that does ``run`` and nothing else."""
    module = {
        "histogram": "positionbias.ops.positions.histogram",
        "check": "positionbias.ops.audit.check",
    }[name]
    monkeypatch.setattr(module, click.Command(name, callback=run))
    with pytest.raises(SystemExit) as stop:
        main([name])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def reports(home: Path) -> list[Path]:
    return sorted((home / ".log").iterdir()) if (home / ".log").exists() else []


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (
            raises(TypeError("'int' is\nno \x1b[2J string")),
            r"TypeError: 'int' is no \x1b[2J string",
        ),
        (raises(Unprintable()), "Unprintable: its message cannot be read"),
        (raises(DeprecationWarning("old")), "DeprecationWarning: old"),
        (raises(Panic("index out of bounds")), "Panic: index out of bounds"),
        (raises(SystemExit(1)), "UnexpectedExit: a library called sys.exit(1)"),
        (
            raises(SystemExit("wanted a flag")),
            "UnexpectedExit: a library called sys.exit('wanted a flag')",
        ),
        (raises(click.exceptions.Exit(3)), "UnexpectedExit: histogram exited with 3"),
        (recurse, "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_bug_is_one_line_a_report_and_exit_code_70(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    posbias_home: Path,
    run: Callable[[], Any],
    what: str,
) -> None:
    assert ends(monkeypatch, run) == 70
    out, err = capsys.readouterr()
    [report] = reports(posbias_home)
    assert out == ""
    assert err.startswith(f"posbias: internal error: {what}")
    assert err.endswith(
        f"; this is a bug in posbias; details in {report}; please report it with that file\n"
    )
    assert err.count("\n") == 1
    text = report.read_text()
    for told in (
        f"positionbias {__version__}",
        f"python {platform.python_version()}",
        "command: posbias histogram\n",
        "Traceback",
    ):
        assert told in text
    assert f"in {getattr(run, '__name__', 'run')}\n" in text  # the frame that raised


def test_a_bug_in_check_is_no_failed_check(
    monkeypatch: pytest.MonkeyPatch, posbias_home: Path
) -> None:
    assert ends(monkeypatch, raises(KeyError("psi")), "check") == 70
    assert ends(monkeypatch, raises(SystemExit(1)), "check") == 70
    assert len(reports(posbias_home)) == 2


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_verdicts_are_checks_own(
    monkeypatch: pytest.MonkeyPatch, posbias_home: Path, code: int
) -> None:
    assert ends(monkeypatch, raises(click.exceptions.Exit(code)), "check") == code
    assert reports(posbias_home) == []


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (click.ClickException("no such thing"), "posbias: no such thing"),
        (click.FileError("a.tsv", "gone"), "posbias: Could not open file 'a.tsv': gone"),
        (
            click.BadParameter("wanted more"),
            "posbias: posbias histogram: Invalid value: wanted more (see posbias histogram --help)",
        ),
        (
            MemoryError("Unable to allocate 3.00 GiB"),
            "posbias: wanted more memory; found: Unable to allocate 3.00 GiB; give the command "
            "less at once (fewer --workers), or more memory",
        ),
    ],
)
def test_what_is_no_bug_exits_with_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    posbias_home: Path,
    error: Exception,
    line: str,
) -> None:
    assert ends(monkeypatch, raises(error)) == 2
    assert capsys.readouterr().err == f"{line}\n"
    assert reports(posbias_home) == []


@pytest.mark.parametrize(
    "shape",
    [
        (1 << 60,),
    ],
)
def test_a_tensor_that_no_memory_holds_is_no_bug(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    posbias_home: Path,
    shape: tuple[int, ...],
) -> None:
    assert ends(monkeypatch, lambda: torch.empty(shape)) == 2
    assert capsys.readouterr().err.startswith("posbias: wanted more memory; found: ")
    assert reports(posbias_home) == []


def fails_in_a_worker(number: int) -> int:
    if number:
        raise SystemExit(1)
    raise ZeroDivisionError("in a worker")


@pytest.mark.parametrize("number", [0, 1])
def test_a_bug_in_a_worker_process_is_reported_with_the_workers_traceback(
    monkeypatch: pytest.MonkeyPatch, posbias_home: Path, number: int
) -> None:
    assert ends(monkeypatch, lambda: list(map_shards(fails_in_a_worker, [number], 2))) == 70
    [report] = reports(posbias_home)
    assert "in fails_in_a_worker" in report.read_text()


PASSAGE = "the lamp of Orvell burns\n  green oil"


def fails_on(passage: str) -> int:
    return int(passage)


def chained() -> None:
    try:
        {"a": 1}[PASSAGE]
    except KeyError as error:
        error.add_note(PASSAGE)
        raise RuntimeError(f"cannot read {PASSAGE}") from error


@pytest.mark.parametrize(
    "run",
    [
        raises(ValueError(PASSAGE)),
        raises(TypeError(PASSAGE)),
        lambda: fails_on(PASSAGE),
        lambda: f"{PASSAGE} é".encode("ascii"),
        lambda: list(map_shards(fails_on, [PASSAGE], 2)),
        chained,
    ],
    ids=[
        "raised",
        "raised, of a type of Python's",
        "by Python",
        "in a codec",
        "in a worker",
        "with a cause and a note",
    ],
)
def test_a_report_holds_no_text_of_the_user(
    monkeypatch: pytest.MonkeyPatch, posbias_home: Path, run: Callable[[], Any]
) -> None:
    assert ends(monkeypatch, run) == 70
    [report] = reports(posbias_home)
    text = report.read_text()
    assert not {"lamp", "Orvell", "green"} & set(text.replace("'", " ").split()), text
    assert "Error (its message of " in text


def test_the_command_in_a_report_holds_names_and_no_texts(tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    assert _command(
        [
            "collection",
            "show",
            "lamp oil",
            "--title=green oil",
            "--seed=1",
            "x/y.tsv",
            str(tmp_path / "my data"),
            "灯油の話",
        ]
    ) == (f"command: posbias collection show … --title=… --seed=1 x/y.tsv '{tmp_path}/my data' …")


def _command(arguments: list[str]) -> str:
    lines = (
        describe(TypeError(), arguments)
        .replace("'…'", "…")
        .replace("'--title=…'", "--title=…")
        .splitlines()
    )
    return next(line for line in lines if line.startswith("command: "))


def test_a_report_that_cannot_be_written_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "file"))
    assert ends(monkeypatch, raises(TypeError("a bug"))) == 70
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == (
        "posbias: internal error: TypeError: a bug; this is a bug in posbias; no file for the "
        f"details (NotADirectoryError: [Errno 20] Not a directory: '{tmp_path}/file/.log'); please "
        "report it with:"
    )
    assert "Traceback (most recent call last):" in rest
    assert rest[-2:] == [
        "TypeError (its message of 5 characters is left out, as it may quote data)",
        "",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


INJECTED = """
import click, sys
from positionbias.ops import positions
from positionbias.cli.main import main
from positionbias.ops import audit

def fail():
    sys.stdout.write("half a result")
    None + 1

positions.histogram = click.Command("histogram", callback=fail)
main()
"""


def run_injected(
    *arguments: str, stderr: Any = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INJECTED, *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        check=False,
    )


def test_a_process_with_a_bug_exits_with_70(posbias_home: Path) -> None:
    done = run_injected("--quiet", "histogram")
    [report] = reports(posbias_home)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (70, "half a result", 1)
    assert str(report) in done.stderr
    assert "command: posbias --quiet histogram\n" in report.read_text()


FAILED_CHECK = """
import click, sys
from positionbias.cli.main import main
from positionbias.ops import audit

def fail():
    sys.stdout.write("a result")
    raise click.exceptions.Exit(1)

audit.check = click.Command("check", callback=fail)
main(["check"])
"""


def test_a_failed_check_whose_result_could_not_be_written_exits_with_2() -> None:
    run = [sys.executable, "-c", FAILED_CHECK]
    assert subprocess.run(run, capture_output=True, check=False).returncode == 1
    with open("/dev/full", "w") as full:
        done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "posbias: wanted to read or write; found: No space left on device; check the path and "
        "the disk\n"
    )


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_bug(
    small_collection: Collection, posbias_home: Path, closed: str
) -> None:
    command = [*POSBIAS, "collection", "show", str(small_collection.path)]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, reports(posbias_home)) == (0, "", [])
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_an_output_that_cannot_encode_a_character_gets_its_escape(
    run_posbias: RunPosbias, small_collection: Collection, tmp_path: Path, encoding: str
) -> None:
    small_collection.path.rename(tmp_path / "東京")
    done = run_posbias("collection", "show", "東京", "--json", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    done = run_posbias("collection", "show", "無", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_data_for_a_closed_standard_output_is_refused(posbias_home: Path) -> None:
    command = [*POSBIAS, "-q", "debias", "-", "--set", "format=tsv"]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command],
        input="p\tone two\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "posbias: --out: wanted an open standard output; found it closed; give --out FILE\n"
    )


@pytest.mark.parametrize("elsewhere", [False, True], ids=["an argument", "the working folder"])
def test_names_that_are_not_utf8_are_refused(
    tmp_path: Path, posbias_home: Path, elsewhere: bool
) -> None:
    folder = os.fsencode(tmp_path) + b"/d\xff"
    os.mkdir(folder)
    arguments = [b"collection", b"show", b"squad" if elsewhere else folder]
    done = subprocess.run(
        [*map(os.fsencode, POSBIAS), *arguments],
        cwd=folder if elsewhere else None,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, reports(posbias_home)) == (2, [])
    assert b"wanted arguments and a working folder in UTF-8" in done.stderr
    assert done.stderr.count(b"\n") == 1
