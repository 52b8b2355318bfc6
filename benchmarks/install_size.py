"""Size and time of the install with and without models: ``python benchmarks/install_size.py``.

Each is made in a new virtual environment from the last commit, with the versions of ``constraints.txt``, by this Python's own pip. Counted are the packages and
the bytes of all files (compiled ones too) that it adds to an environment with nothing but pip and setuptools. Processor seconds are those of pip and
its children; the time on the clock includes what is downloaded or read from a cache or a local folder, and other work on the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from measuring import hardware, measured, result_place

ROOT = Path(__file__).parents[1]
MEGA = 1_000_000
INSTALLS = {"base": ".", "models": ".[models]"}
LARGEST = 6


class Size(NamedTuple):
    """Packages, and bytes by the name of a file or folder in site-packages."""

    packages: int
    parts: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return sum(self.parts.values())


def size(environment: Path) -> Size:
    """Count what is installed."""
    (place,) = environment.glob("lib/python*/site-packages")
    parts = {part.name: sum(_bytes(part)) for part in place.iterdir()}
    return Size(sum(name.endswith(".dist-info") for name in parts), parts)


def _bytes(part: Path) -> Iterator[int]:
    files = [part] if part.is_file() else part.rglob("*")
    yield from (path.stat().st_size for path in files if path.is_file() and not path.is_symlink())


def row(name: str, spec: str, source: Path, folder: Path) -> str:
    """Install into a new environment and return its line of the table."""
    environment = folder / name
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, env=_clean())
    before = size(environment)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "-c", "constraints.txt", spec]
    script = ["/bin/sh", "-c", f'cd "{source}" && exec "$@"', "sh", *pip]
    done = measured(script, environment=_clean())
    found = size(environment)
    largest = sorted(found.parts.items(), key=lambda part: -part[1])[:LARGEST]
    told = ", ".join(f"{part} {count / MEGA:.0f}" for part, count in largest)
    torch = "".join(f", {part.removesuffix('.dist-info')}" for part in found.parts if part.startswith("torch-"))
    counts = f"{found.packages - before.packages} | {(found.total - before.total) / MEGA:,.0f}"
    return f"| `pip install {spec!r}`{torch} | {counts} | {done.processor:.0f} | {done.seconds:.0f} | {told} |"


def _clean() -> dict[str, str]:
    """The environment without what points at this one's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}


def main() -> None:
    """Install each and write the table."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = []
        for name, spec in INSTALLS.items():
            source = folder / f"source-{name}"
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
            with tarfile.open(fileobj=BytesIO(archive)) as files:
                files.extractall(source, filter="data")
            rows.append(row(name, spec, source, folder))
            print(rows[-1], flush=True)
    lines = [
        "# Size and time of the install",
        "",
        f"{hardware()}; {date.today().isoformat()}; Python {sys.version.split()[0]}; load {os.getloadavg()[0]:.1f}.",
        "",
        "    python benchmarks/install_size.py",
        "",
        *(__doc__ or "").strip().splitlines()[2:],
        "",
        "| install | packages | MB | processor seconds | seconds | the largest parts, MB |",
        "|---|---:|---:|---:|---:|---|",
        *rows,
    ]
    result_place("install_size").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
