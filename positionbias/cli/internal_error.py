"""A bug's report: the traceback in a file to send, one line for the reader. Imported only when
there is a bug.

The file is sent to others, so nothing of the user's data may stand in it: messages and arguments
that may quote data are left out.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import platformdirs

from positionbias.core.errors import message_of, printable
from positionbias.core.files import home
from positionbias.core.manifest import package_versions
from positionbias.core.publish import atomic_file

# distributions whose module has the same name; only those that the command had loaded are reported
_PACKAGES = (
    "accelerate",
    "bm25s",
    "click",
    "numpy",
    "pandas",
    "pyarrow",
    "ray",
    "safetensors",
    "scipy",
    "torch",
    "transformers",
)
# Python raises these with names and types in the message, and no values; where code raises them, it
# may say anything
_OF_PYTHON = (
    AttributeError,
    ImportError,
    IndexError,
    ModuleNotFoundError,
    NameError,
    RecursionError,
    TypeError,
    UnboundLocalError,
    ZeroDivisionError,
)
_PLAIN = re.compile(r"[\w./:=,@+~%*-]{1,200}", re.ASCII)  # an option, a number, a path, a name
_FRAME = re.compile(r'^ +File "[^"\n]+", line \d+, in \S+$', re.MULTILINE)
_REMOTE = ("_RemoteTraceback", "RayTaskError")  # whose text is the traceback in another process


def log_folder() -> Path:
    """Return the folder for reports of internal errors: ``$POSBIAS_HOME/.log``, else the user's log
    folder.

    No name that is looked up begins with a dot, so no collection can be called ``.log``.
    """
    if os.environ.get("POSBIAS_HOME"):
        return home() / ".log"

    return platformdirs.user_log_path("posbias", appauthor=False)


def in_one_line(error: BaseException) -> str:
    """Return the error's type and message on one printable line."""
    message = " ".join(message_of(error).split())
    return printable(f"{type(error).__name__}: {message}".removesuffix(": "))


def describe(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the whole report: when, versions, platform, command line, traceback."""
    versions = package_versions(*(name for name in _PACKAGES if name in sys.modules))
    return "\n".join(
        [
            f"posbias: internal error: {type(error).__name__}",
            "",
            f"time: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}",
            f"command: {shlex.join(['posbias', *map(_without_text, arguments)])}",
            f"versions: {', '.join(f'{name} {version}' for name, version in versions.items())}",
            f"platform: {platform.platform()}, {platform.python_implementation()}",
            "",
            *_tracebacks(error),
        ]
    )


def _without_text(argument: str) -> str:
    """Return the argument if it is a plain word or a path, else without what may be text, such as a
    title.
    """
    if _PLAIN.fullmatch(argument) or os.path.exists(argument):
        return argument
    option, equals, _ = argument.partition("=")
    return f"{option}=…" if equals and option.startswith("--") and _PLAIN.fullmatch(option) else "…"


def _tracebacks(error: BaseException) -> list[str]:
    """Return the tracebacks of an error and of those behind it, the first cause first."""
    tracebacks: list[str] = []
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        seen.add(id(behind))
        remote = (
            _FRAME.findall(message_of(behind)) if type(behind).__name__.startswith(_REMOTE) else []
        )
        frames = [*traceback.format_tb(behind.__traceback__), *(f"{frame}\n" for frame in remote)]
        tracebacks.append(
            "".join(["Traceback (most recent call last):\n", *frames, _last_line(behind), "\n"])
        )
        behind = behind.__cause__ or (None if behind.__suppress_context__ else behind.__context__)
    return tracebacks[::-1]


def _last_line(error: BaseException) -> str:
    """Return the error's type, with its message where that quotes no data."""
    text = message_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    raised_by_code = not frames or not frames[-1].line or frames[-1].line.startswith("raise")
    if text and (raised_by_code or type(error) not in _OF_PYTHON):
        return (
            f"{type(error).__name__} (its message of {len(text):,} characters is left out, as it "
            "may quote data)"
        )
    return in_one_line(error)


def write_report(report: str) -> Path:
    """Write a report to a new file in the log folder and return its path.

    Raises:
        StorageError: the file system refused.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    place = log_folder().absolute() / f"internal-error-{moment}-{uuid4().hex[:8]}.txt"
    with atomic_file(place) as partial:
        partial.write_text(report, encoding="utf-8", errors="backslashreplace", newline="\n")
    return place
