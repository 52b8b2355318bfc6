"""Read the groups and kinds of runs: ``systems.tsv``, and the folder of runs that it describes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from positionbias.core.blocks import file_lines
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.run import Run, read_run

__all__ = [
    "RunFiles",
    "System",
    "find_runs",
    "groups_of",
    "kinds_of",
    "read_runs",
    "read_systems",
    "run_name",
    "run_paths",
    "runs_checksum",
]

COLUMNS = ("run", "group", "kind")
_PACKED = (".gz", ".zst")
_ENDINGS = (".run", ".trec", ".txt", ".res")


class System(NamedTuple):
    """A run's name, its group, and the kind of its system ("traditional", "neural", any label)."""

    run: str
    group: str
    kind: str


def kinds_of(systems: Sequence[System]) -> tuple[str, ...]:
    """Return the kinds, in order of first occurrence."""
    return tuple(dict.fromkeys(system.kind for system in systems))


def groups_of(systems: Sequence[System], kind: str) -> tuple[str, ...]:
    """Return the groups with a run of this kind, sorted by name."""
    return tuple(sorted({system.group for system in systems if system.kind == kind}))


def read_systems(path: Path | str) -> list[System]:
    """Read tab-separated lines; the first names the columns run, group and kind, in any order;
    other columns are ignored.

    Raises:
        InputError: missing columns, a line of another width or with an empty one of the three
            (numbered), a repeated run, or no lines.
    """
    path = Path(path)
    systems: list[System] = []
    lines: dict[str, int] = {}
    header, *names = _rows(path)
    places = _places(header[1], path)
    for number, row in names:
        if len(row) != len(header[1]):
            wanted = f"{len(header[1])} columns, as in the first line"
            raise bad_input(
                path, line=number, wanted=wanted, found=f"{len(row)}", do="fix or drop the line"
            )
        system = System(*(row[place].strip() for place in places))
        for column, value in zip(COLUMNS, system, strict=True):
            if not value:
                raise bad_input(
                    path,
                    line=number,
                    wanted=f"a {column}",
                    found="nothing",
                    do="fill it in or drop the line",
                )
        if system.run in lines:
            found = f"run {system.run!r} again, first at line {lines[system.run]}"
            raise bad_input(
                path, line=number, wanted="each run once", found=found, do="drop one of the lines"
            )
        lines[system.run] = number
        systems.append(system)
    if not systems:
        raise bad_input(path, wanted="a line per run", found="none", do="check the path")
    return systems


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    rows = [(number, line.split("\t")) for number, line in file_lines(path) if line.strip()]
    if not rows:
        raise bad_input(
            path, wanted=f"columns {', '.join(COLUMNS)}", found="an empty file", do="check the path"
        )
    return rows


def _places(header: Sequence[str], path: Path) -> list[int]:
    names = [name.strip().removeprefix("\ufeff") for name in header]
    for column in COLUMNS:
        if names.count(column) != 1:
            found = ", ".join(names) if column not in names else f"{column} more than once"
            do = "name the columns in the first line, tab-separated"
            raise bad_input(
                path, line=1, wanted=f"columns {', '.join(COLUMNS)}", found=found, do=do
            )
    return [names.index(column) for column in COLUMNS]


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The file of each system's run. ``absent`` are systems of the table without a file, which are
    left out and shown.
    """

    files: Mapping[System, Path]
    absent: tuple[System, ...]


def run_name(path: Path) -> str:
    """Return a run's name: its file's name without ``.gz`` or ``.zst``, and without ``.run``,
    ``.trec``, ``.txt`` or ``.res``.
    """
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    for ending in _ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


def find_runs(folder: Path | str, systems: Sequence[System], *, table: Path | str) -> RunFiles:
    """Find the runs in a folder (``NAME``, ``NAME.run``, ``NAME.run.gz`` …) by the systems of
    ``table``; hidden files and manifests are skipped.

    A file is also found by its whole name without ``.gz``, as a run's own name may end like a
    file's.

    Raises:
        InputError: no folder, no run in it, a run without a line in the table, two files for one
            run.
    """
    folder = Path(folder)
    by_name = {system.run: system for system in systems}
    found: dict[System, Path] = {}
    without: list[str] = []
    for path in run_paths(folder):
        names = (path.name, path.name.removesuffix(".gz").removesuffix(".zst"), run_name(path))
        system = next((by_name[name] for name in names if name in by_name), None)
        if system is None:
            without.append(names[-1])
        elif system in found:
            both = f"{found[system].name} and {path.name}"
            raise bad_input(
                folder, wanted=f"one file for run {system.run!r}", found=both, do="move one away"
            )
        else:
            found[system] = path
    if without:
        what = (
            f"{len(without):,} of {len(without) + len(found):,} runs without one, the first "
            f"{without[0]!r}"
        )
        raise bad_input(
            table,
            wanted=f"a line for every run of {folder}",
            found=what,
            do="add its group and kind, or move it away",
        )
    files = {system: found[system] for system in systems if system in found}
    return RunFiles(files, tuple(system for system in systems if system not in found))


def run_paths(folder: Path | str) -> list[Path]:
    """Return the files of a folder of runs, sorted by name.

    Raises:
        InputError: no folder, or no run in it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise bad_input(
            folder, wanted="a folder of runs in TREC form", found=found, do="check the path"
        )
    paths = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file()
        and not path.name.startswith(".")
        and not path.name.endswith(".manifest.json")
    ]
    if not paths:
        raise bad_input(
            folder, wanted="runs in TREC form, plain or .gz", found="no file", do="check the path"
        )
    return paths


def read_runs(files: Mapping[System, Path]) -> Iterator[tuple[System, Run]]:
    """Yield each system with its run, named as in the table.

    Raises:
        InputError: a malformed line (numbered).
    """
    for system, path in files.items():
        yield system, read_run(path, system.run)


def runs_checksum(paths: Iterable[Path]) -> str:
    """Return a SHA-256 of the names and contents of a folder's runs."""
    lines = "".join(f"{sha256_file(path)}  {path.name}\n" for path in sorted(paths))
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
