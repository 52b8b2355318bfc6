"""Environments of the peers: one of each requirements file in ``benchmarks/peers``, made when it is
first asked for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from harness.records import OURS
from harness.sides import SideFailed

__all__ = ["python_of"]

REQUIREMENTS = Path(__file__).resolve().parents[1] / "peers"
DONE = "made_of.txt"  # the requirements that an environment was made of, written last


def python_of(environment: str, folder: Path | None) -> Path:
    """The Python of an environment, made or made anew where its requirements changed; that of the
    runner for ``ours``.

    Raises:
        SideFailed: no folder for environments was given, or pip failed.
    """
    if environment == OURS:
        return Path(sys.executable)
    wanted = REQUIREMENTS / f"{environment}.txt"
    if folder is None:
        raise SideFailed(
            f"{environment}: needs an environment of its own; give --environments FOLDER"
        )
    place = folder / environment
    python, done = place / "bin" / "python", place / DONE
    if done.exists() and done.read_text("utf-8") == wanted.read_text("utf-8"):
        return python
    shutil.rmtree(place, ignore_errors=True)
    print(f"making the environment {environment} in {place}", file=sys.stderr, flush=True)
    venv.create(place, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "-r", str(wanted)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        said = (made.stderr.strip() or "nothing said").splitlines()[-1]
        raise SideFailed(f"{environment}: pip could not install {wanted.name}: {said}")
    done.write_text(wanted.read_text("utf-8"), "utf-8")
    return python
