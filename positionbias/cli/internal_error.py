"""A bug's report: the traceback in a file to send, one line for the reader. Imported only when there is a bug."""

from __future__ import annotations

import platform
import shlex
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from positionbias.core.errors import printable
from positionbias.core.files import atomic_file, log_folder
from positionbias.core.manifest import package_versions

__all__ = ["describe", "in_one_line", "write_report"]

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


def in_one_line(error: BaseException) -> str:
    """Return the error's type and message on one printable line."""
    try:
        message = " ".join(str(error).split())
    except Exception:
        message = "its message cannot be read"
    return printable(f"{type(error).__name__}: {message}".removesuffix(": "))


def describe(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the whole report: when, versions, platform, command line, traceback."""
    versions = package_versions(*(name for name in _PACKAGES if name in sys.modules))
    return "\n".join(
        [
            f"posbias: internal error: {in_one_line(error)}",
            "",
            f"time: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}",
            f"command: {shlex.join(['posbias', *arguments])}",
            f"versions: {', '.join(f'{name} {version}' for name, version in versions.items())}",
            f"platform: {platform.platform()}, {platform.python_implementation()}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )


def write_report(report: str) -> Path:
    """Write a report to a new file in the log folder and return its path.

    Raises:
        StorageError: the file system refused.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    place = log_folder().absolute() / f"internal-error-{moment}-{uuid4().hex[:8]}.txt"
    with atomic_file(place) as partial:
        partial.write_text(report, encoding="utf-8", errors="backslashreplace")
    return place
