"""Where positionbias installs from wheels alone, with the versions of ``constraints.txt``: ``python benchmarks/wheels.py [UV]``.

For each Python and platform the requirements of ``setup.cfg`` are resolved by uv (``pip install uv``), which reads environment markers as that platform would;
nothing is installed. A cell has the number of packages, or the first that has no wheel. Writes ``benchmarks/results/wheels_DATE.md``; the exit code is 1 where
something that `PROMISED` names does not resolve.
"""

from __future__ import annotations

import argparse
import configparser
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11.9", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "macOS 14 arm64": "aarch64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
SETS = ("base", "models", "sbert", "pyterrier", "lucene", "test")
PROMISED = ("base", "models")
_LINE = re.compile(r"^[A-Za-z0-9_.-]+==", re.MULTILINE)
_WITHOUT = re.compile(r"[Bb]ecause (\S+?)(?:==(\S+))? has no|(\S+?)==(\S+) has no (?:usable )?wheels|and (\S+?)==(\S+) has no")


def requirements(config: configparser.ConfigParser, name: str) -> Iterator[str]:
    """The lines of the base install and of an extra, with those of extras that it names."""
    extras = config["options.extras_require"]
    lines = config["options"]["install_requires"].splitlines() + ([] if name == "base" else extras[name].splitlines())
    for line in filter(None, map(str.strip, lines)):
        if inner := re.fullmatch(r"positionbias\[(\w+)\]", line):
            yield from extras[inner[1]].splitlines()
        else:
            yield line


def resolved(uv: str, lines: list[str], python: str, platform: str) -> tuple[bool, str]:
    """Return whether all resolves, and the number of packages or why not; where one has no wheel, without it."""
    works, told = _compiled(uv, lines, python, platform, "--only-binary", ":all:")
    if works:
        return True, told
    built, count = _compiled(uv, lines, python, platform)
    return built, f"{count}, {told}" if built else told


def _compiled(uv: str, lines: list[str], python: str, platform: str, *more: str) -> tuple[bool, str]:
    asked = ["--python-version", python, "--python-platform", platform, *more]
    done = subprocess.run(
        [uv, "pip", "compile", "-", "-c", "constraints.txt", *asked, "--no-header", "--no-annotate", "--quiet"],
        input="\n".join(lines),
        cwd=ROOT,
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never", "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return True, str(len(_LINE.findall(done.stdout)))
    told = " ".join(done.stderr.split())
    found = _WITHOUT.search(told)
    return False, f"no wheel of {next(filter(None, found.groups()))}" if found else told[:120]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uv", nargs="?", default="uv")
    given = parser.parse_args()
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    told = subprocess.run([given.uv, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    rows, failed = [], []
    for name in SETS:
        lines = list(requirements(config, name))
        for python in PYTHONS:
            cells = []
            for platform, target in PLATFORMS.items():
                works, cell = resolved(given.uv, lines, python, target)
                cells.append(cell)
                if not works and name in PROMISED:
                    failed.append(f"{name}, Python {python}, {platform}: {cell}")
            rows.append(f"| {name} | {python} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    text = (
        f"""# Installs from wheels

uv {told}, positionbias {version("positionbias")}; {date.today().isoformat()}.

    python benchmarks/wheels.py

Each set is the base install with one extra, resolved with `constraints.txt` for that Python and platform, from wheels alone. A number counts packages.

| set | Python | {" | ".join(PLATFORMS)} |
|---|---|{"---|" * len(PLATFORMS)}
"""
        + "\n".join(rows)
        + "\n"
    )
    (ROOT / f"benchmarks/results/wheels_{date.today().isoformat()}.md").write_text(text, encoding="utf-8")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
