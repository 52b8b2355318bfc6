"""Run a command or a script in a process of its own, forked from one that has the large libraries
loaded: a test does not wait for their import.

The package's modules are loaded before the fork as well: what only a cold start shows is tested in
processes of its own (``tests/test_imports.py``, ``tests/cli/test_quick.py``,
``tests/cli/test_base_install.py``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import positionbias

__all__ = ["LIBRARIES", "POSBIAS", "forked", "package_modules", "serve"]

LIBRARIES = (
    *(
        "numpy",
        "pandas",
        "pyarrow.parquet",
        "scipy.stats",
        "torch",
        "transformers",
        "rich.console",
        "click",
        "msgspec",
    ),
    # what trainings and pages load
    *("accelerate", "torch.distributed.tensor", "torch._dynamo", "ir_measures", "bm25s", "jinja2"),
    *(
        "matplotlib.backends.backend_svg",
        "matplotlib.figure",
        "matplotlib.style",
        "sentence_transformers",
    ),
)
POSBIAS = "from positionbias.cli.main import main; main()"


class _Server(NamedTuple):
    process: subprocess.Popen[str]
    folder: TemporaryDirectory[str]


def forked(
    arguments: Sequence[object], cwd: Path, environment: Mapping[str, str], code: str = POSBIAS
) -> subprocess.CompletedProcess[str]:
    """Run the code with warnings as errors. Python's own settings are those of a start, whatever
    ``environment`` says of them.
    """
    process, folder = _server()
    out, err = Path(folder.name, "out"), Path(folder.name, "err")
    assert process.stdin is not None
    assert process.stdout is not None
    given = {"code": code, "arguments": list(map(str, arguments)), "environment": dict(environment)}
    request = {**given, "cwd": str(cwd), "out": str(out), "err": str(err)}
    print(json.dumps(request), file=process.stdin, flush=True)
    ended = int(process.stdout.readline())
    return subprocess.CompletedProcess(
        given["arguments"], ended, *(path.read_text(encoding="utf-8") for path in (out, err))
    )


@cache
def _server() -> _Server:
    folder = TemporaryDirectory(prefix="posbias-forked-")
    process = subprocess.Popen(
        [sys.executable, "-c", "from tests.forked import serve; serve()"],
        cwd=Path(__file__).parents[1],
        # a fork has the thread alone that asked for it
        env={**os.environ, "PYTHONWARNINGS": "error", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def stop() -> None:
        with process:
            process.kill()
        folder.cleanup()

    atexit.register(stop)
    return _Server(process, folder)


def serve() -> None:
    """Answer each request, a line of JSON, with the exit code of a fork that runs the command."""
    for name in (*LIBRARIES, *package_modules()):
        importlib.import_module(name)
    gc.freeze()
    # not sys.stdin and sys.stdout: the forks need them as at a start
    requests, answers = os.fdopen(os.dup(0)), os.dup(1)
    while line := requests.readline():
        child = os.fork()
        if not child:
            requests.close()
            os.close(answers)
            request = json.loads(line)
            code = request.pop("code")
            _become(**request)
            _end(_run(code))
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def package_modules() -> Iterator[str]:
    """Yield the package's modules, but for those that start the command or need a package that may
    be missing.
    """
    for module in pkgutil.walk_packages(positionbias.__path__, "positionbias."):
        if not module.name.endswith((".__main__", ".pyterrier", ".sbert")):
            yield module.name


def _become(
    arguments: list[str], cwd: str, environment: dict[str, str], out: str, err: str
) -> None:
    for number, path in enumerate((os.devnull, out, err)):
        file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv[1:] = arguments


def _run(code: str) -> int:
    try:
        exec(compile(code, "<string>", "exec"), sys.modules["__main__"].__dict__)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """End as Python does, but for taking every library apart, which takes a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
