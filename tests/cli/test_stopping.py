"""Ctrl-C and SIGTERM: one line, exit code 130 or 143, nothing half-written, from the first import
on and with worker processes.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage

from ..engine.session import processes_of_session

BOTH = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)

# A process started in the background of a script ignores Ctrl-C, and so would this test's: Python's
# own handler is put back.
RUN = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("STOP_AT") and not os.environ.pop("STOPPED", None):
            os.environ["STOPPED"] = "yes"
            try:
                os.kill(os.getpid(), int(os.environ["STOP_BY"]))
            except KeyboardInterrupt as error:
                if "SWALLOW" in os.environ:
                    raise ImportError("initialization failed") from error
                raise
sys.meta_path.insert(0, Stop())
from positionbias.__main__ import main
main()
"""


def run(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The console entry point in a process of its own; ``STOP_AT`` names a module at whose import
    ``STOP_BY`` is sent.
    """
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@BOTH
@pytest.mark.parametrize("module", ["click", "positionbias.core.errors"])
def test_a_stop_before_the_command_line_is_read(
    tmp_path: Path, number: int, code: int, module: str
) -> None:
    done = run(tmp_path, "collection", "show", "nowhere", STOP_AT=module, STOP_BY=str(int(number)))
    assert (done.returncode, done.stdout, done.stderr) == (
        code,
        "",
        "posbias: stopped before it began\n",
    )


@BOTH
@pytest.mark.parametrize("more", [{}, {"SWALLOW": "yes"}], ids=["", "made an ImportError"])
def test_a_stop_while_a_command_imports(
    small_collection: Collection,
    tmp_path: Path,
    posbias_home: Path,
    number: int,
    code: int,
    more: dict[str, str],
) -> None:
    done = run(
        tmp_path,
        "collection",
        "show",
        small_collection.path,
        STOP_AT="pyarrow",
        STOP_BY=str(int(number)),
        **more,
    )
    line = "posbias: stopped; nothing half-written was left under a final name\n"
    assert (done.returncode, done.stdout, done.stderr) == (code, "", line)
    assert list(posbias_home.iterdir()) == []


@BOTH
def test_on_a_terminal_the_line_stands_below_its_own_mark_of_ctrl_c(
    small_collection: Collection, tmp_path: Path, number: int, code: int
) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "STOP_AT": "pyarrow", "STOP_BY": str(int(number))}
    command = [sys.executable, "-c", RUN, "collection", "show", str(small_collection.path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=slave, check=False)
    os.close(slave)
    shown = os.read(master, 65_536).decode()
    os.close(master)
    line = "posbias: stopped; nothing half-written was left under a final name\r\n"
    assert (done.returncode, shown) == (code, f"\r\n{line}" if number == signal.SIGINT else line)


def stop(
    arguments: list[str], folder: Path, started: str, number: int, *, group: bool, times: int = 1
) -> subprocess.CompletedProcess[str]:
    """Signal the command, or its whole process group as a terminal does, once something matching
    ``started`` stands in ``folder``.
    """
    with subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not list(folder.glob(started)):
            assert process.poll() is None, "it ended before it was stopped"
            time.sleep(0.01)
        for _ in range(times):
            (os.killpg if group else os.kill)(process.pid, number)
        out, err = process.communicate()
        while processes_of_session(process.pid):
            time.sleep(0.01)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@BOTH
def test_a_stopped_import_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    paragraphs = [{"context": f"one two three {number}", "qas": []} for number in range(100_000)]
    (tmp_path / "train.json").write_text(
        json.dumps({"version": "1.1", "data": [{"title": "x", "paragraphs": paragraphs}]})
    )
    arguments = [
        "import",
        "squad",
        "--train",
        "train.json",
        "--test",
        "train.json",
        "--out",
        "./squad",
    ]
    times = 3 if number == signal.SIGTERM else 1  # ``timeout`` sends it twice
    done = stop(
        arguments, tmp_path, ".squad.work/content/passages/*.arrow", number, group=True, times=times
    )
    line = "posbias: stopped; nothing half-written was left under a final name\n"
    assert (done.returncode, done.stdout, done.stderr) == (code, "", line)
    assert [path.name for path in tmp_path.iterdir()] == ["train.json"]


@pytest.mark.parametrize(
    ("number", "code", "workers", "group"),
    [
        (signal.SIGTERM, 143, "1", True),
        (signal.SIGINT, 130, "2", False),
    ],
    ids=["1", "2, the parent alone"],
)
def test_a_stopped_debias_goes_on_when_run_again(
    tmp_path: Path, number: int, code: int, workers: str, group: bool
) -> None:
    with create_collection(tmp_path / "many") as writer:
        for start in range(0, 60_000, 12_000):
            writer.add_passages(
                Passage(f"p{number}", "one two three " * 20)
                for number in range(start, start + 12_000)
            )
        writer.finish(Manifest("collection", "many", "a test"))
    arguments = ["debias", "./many", "--out", "./rotated", "--workers", workers]
    done = stop(arguments, tmp_path, ".rotated.work/content/passages/*.arrow", number, group=group)
    assert (done.returncode, done.stdout, done.stderr) == (
        code,
        "",
        "posbias: stopped; run the same command again to go on\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rotated.work", "many"]
    again = run(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "rotated"]


def test_what_is_told_to_ignore_a_signal_ignores_it(
    small_collection: Collection, tmp_path: Path
) -> None:
    ignoring = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{RUN}"
    done = subprocess.run(
        [sys.executable, "-c", ignoring, "collection", "show", str(small_collection.path)],
        cwd=tmp_path,
        env={**os.environ, "STOP_AT": "pyarrow", "STOP_BY": str(int(signal.SIGTERM))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_little_is_imported_before_signals_are_handled() -> None:
    code = (
        "import sys; before = {*sys.modules}; import positionbias.__main__; "
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"typing", "contextlib", "re", "click"} & set(done.stdout.split()), done.stdout
