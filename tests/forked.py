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
import select
import shutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import positionbias

__all__ = ["LIBRARIES", "OF_WORKERS", "POSBIAS", "forked", "package_modules", "serve"]

OF_WORKERS = (  # what a process that scores or trains loads
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
    *("accelerate", "torch.distributed.tensor", "torch._dynamo", "ir_measures", "bm25s"),
)
LIBRARIES = (  # and one that makes pages
    *OF_WORKERS,
    *("jinja2", "matplotlib.backends.backend_svg", "matplotlib.figure", "matplotlib.style"),
    "sentence_transformers",
)
POSBIAS = "from positionbias.cli.main import main; main()"
RUN = "PYTEST_XDIST_TESTRUNUID"


def forked(
    arguments: Sequence[object], cwd: Path, environment: Mapping[str, str], code: str = POSBIAS
) -> subprocess.CompletedProcess[str]:
    """Run the code with warnings as errors. Python's own settings are those of a start, whatever
    ``environment`` says of them.
    """
    server = _server()
    given = {"code": code, "arguments": list(map(str, arguments)), "environment": dict(environment)}
    with TemporaryDirectory(prefix="posbias-fork-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request = {**given, "cwd": str(cwd), "out": str(out), "err": str(err)}
        server.write(json.dumps(request).encode() + b"\n")
        server.flush()
        ended = int(server.readline())
        said = [path.read_text(encoding="utf-8") for path in (out, err)]
    return subprocess.CompletedProcess(given["arguments"], ended, *said)


@cache
def _server() -> Any:
    """A connection to the server of all workers of pytest-xdist, which is started by the first that
    asks, and ends when all are gone.
    """
    import fcntl

    folder = Path(gettempdir(), f"posbias-forked-{os.environ.get(RUN) or os.getpid()}")
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder.mkdir(exist_ok=True)  # a server that ended has taken it away
        if not (folder / "socket").exists():
            process = subprocess.Popen(
                [sys.executable, "-c", "from tests.forked import serve; serve()", folder],
                cwd=Path(__file__).parents[1],
                # a fork has the thread alone that asked for it
                env={**os.environ, "PYTHONWARNINGS": "error", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            assert process.stdout is not None
            with process.stdout as told:
                assert told.readline() == b"ready\n"
            process.returncode = 0  # it outlives this process
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(folder / "socket"))
    atexit.register(connection.close)
    return connection.makefile("rwb")


def serve() -> None:
    """Answer each request of each connection, a line of JSON, with the exit code of a fork that
    runs the command.
    """
    for name in (*LIBRARIES, *package_modules()):
        importlib.import_module(name)
    gc.freeze()
    folder, clients = Path(sys.argv[1]), dict[socket.socket, Any]()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            for ready in select.select([listener, *clients], [], [])[0]:
                if ready is listener:
                    client, _ = listener.accept()
                    clients[client] = client.makefile("rb")
                elif line := clients[ready].readline():
                    _answer(line, ready, [listener, *clients])
                else:
                    clients.pop(ready)
            if not clients and _nobody_comes(folder, listener):
                return
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _nobody_comes(folder: Path, listener: socket.socket) -> bool:
    """Take the folder away, unless somebody is about to connect."""
    import fcntl

    with open(folder / "lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if not select.select([listener], [], [], 0)[0]:
            shutil.rmtree(folder)
            return True
    return False


def _answer(line: bytes, client: socket.socket, sockets: Sequence[socket.socket]) -> None:
    """Fork twice: the command, and what waits for it and answers."""
    if os.fork():
        return
    child = os.fork()
    if not child:
        for each in sockets:
            os.close(each.fileno())
        request = json.loads(line)
        code = request.pop("code")
        _become(**request)
        _end(_run(code))
    client.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


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
