"""Read runs, judgements and the table of systems, and measure them: the commands of pools."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from positionbias.core.blocks import file_lines
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say, track
from positionbias.core.qrels import Qrels
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.evaluation.judged_runs import JudgedRuns, System, judge_runs, pool_measures
from positionbias.pooling.kinds import add_kinds
from positionbias.pooling.pools import NOTES, add_counts, add_coverage, add_reliability, pool_rows
from positionbias.pooling.settings import CoverageSettings, PoolSettings, VerdictSettings
from positionbias.pooling.unjudged import open_runs
from positionbias.pooling.verdict import DEEPEST_OPEN, add_verdict

_ENDING = re.compile(r"(\.(run|trec|txt|res))?(\.(gz|zst))?$")


def measure_coverage(
    runs: Place, qrels: Place, systems: Place, settings: CoverageSettings
) -> Measurements:
    """Count what a collection consists of, and the relevant documents of each kind by depth."""
    made, judged, read = _judged(runs, qrels, systems, settings)
    add_coverage(made, judged, settings.depth, settings.relevant_from)
    return _measured("coverage", made, judged, settings, read)


def measure_reliability(
    runs: Place, qrels: Place, systems: Place, settings: PoolSettings
) -> Measurements:
    """Measure how pools of one kind judge systems of each kind."""
    measures = pool_measures(settings.measures, settings.relevant_from)
    made, judged, read = _judged(runs, qrels, systems, settings)
    add_reliability(made, judged, measures, settings)
    add_kinds(made, judged, measures, settings)
    return replace(_measured("reliability", made, judged, settings, read), notes=NOTES)


def measure_verdict(
    run: Place,
    qrels: Place,
    pool_runs: Place | None,
    systems: Place | None,
    settings: VerdictSettings,
) -> Measurements:
    """Judge whether a collection can score a new run."""
    measures = pool_measures(settings.measures, settings.relevant_from)
    depth = max(settings.depth, *(measure.cutoff or DEEPEST_OPEN for measure in measures))
    table, path = systems and input_place(systems), input_place(run)
    pooled = find_runs(input_place(pool_runs), table) if pool_runs else {}
    if path.resolve() in {other.resolve() for other in pooled.values()}:
        do = "give a run that did not help to make the pool, or move it out of --pool-runs"
        raise bad_input(path, wanted="a new run", found="one of the pooled runs", do=do)
    name = run_name(path)
    named = {system.run: system for system in read_systems(table)} if table else {}
    new = named.get(name, System(name, name, "")), Run.from_file(path, name)
    judgements = Qrels.from_file(input_place(qrels))
    opened = open_runs(lambda: chain(read_runs(pooled), [new]), judgements, depth)
    made = pool_rows(Path(qrels).name)
    add_verdict(made, opened, measures, settings)
    read = _read(pooled, pool_runs, qrels, systems if pool_runs else None)
    return _measured("verdict", made, opened.runs, settings, [*read, Read.file("run", path)])


def _judged(
    runs: Place, qrels: Place, systems: Place, settings: CoverageSettings
) -> tuple[Collected, JudgedRuns, list[Read]]:
    """Read a folder of runs against judgements, and count them."""
    files, made = find_runs(input_place(runs), input_place(systems)), pool_rows(Path(qrels).name)
    judged = judge_runs(read_runs(files), Qrels.from_file(input_place(qrels)))
    add_counts(made, judged, settings.relevant_from)
    return made, judged, _read(files, runs, qrels, systems)


def _read(
    files: Mapping[System, Path], runs: Place | None, qrels: Place, systems: Place | None
) -> list[Read]:
    """Return the inputs; a folder of runs is one, by a checksum of their names and contents."""
    read = [Read("runs", input_place(runs), runs_checksum(files))] if runs else []
    places = {"qrels": qrels, "systems": systems}
    return read + [Read.file(role, input_place(place)) for role, place in places.items() if place]


def _measured(
    command: str, made: Collected, judged: JudgedRuns, settings: Any, read: list[Read]
) -> Measurements:
    if lacking := int((~judged.there[:, :, 0]).sum()):
        say(f"judged queries that a run lacks, over all runs: {lacking:,}")
    chosen = asdict(settings)
    return Measurements(
        rows=made.rows,
        command=f"pool {command}",
        read=read,
        seed=chosen.pop("seed", None),
        settings=chosen,
        name=f"Pools of {made.common['collection']}",
        packages=("numpy", "scipy"),
    )


def read_systems(path: Path | str) -> list[System]:
    """Read tab-separated lines; the first names the columns run, group and kind, in any order.

    Raises:
        InputError: an incomplete line, a repeated run, or no lines.
    """
    lines = (line.removeprefix("\ufeff") for _, line in file_lines(path) if line.strip())
    systems: dict[str, System] = {}
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        system = System(*((row.get(column) or "").strip() for column in System._fields))
        if not all(system) or systems.setdefault(system.run, system) is not system:
            found = ", ".join(str(cell) for cell in row.values())
            wanted = "run, group and kind by tabs, named in the first line, and each run once"
            raise bad_input(path, wanted=wanted, found=repr(found), do="fix or drop the line")
    if not systems:
        raise bad_input(path, wanted="a line for each run", found="none", do="check the path")
    return list(systems.values())


def read_runs(files: Mapping[System, Path]) -> Iterator[tuple[System, Run]]:
    """Yield each system with its run, named as in the table.

    Raises:
        InputError: a malformed line (numbered).
    """
    for system, path in track(files.items(), "runs", len(files), unit="runs"):
        yield system, Run.from_file(path, system.run)


def runs_checksum(files: Mapping[System, Path]) -> str:
    """Return a SHA-256 of the files' names and contents."""
    lines = [f"{sha256_file(path)}  {path.name}\n" for path in sorted(files.values())]
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def run_name(path: Path) -> str:
    """Return the name of a file's run, without ``.run``, ``.run.gz`` and the like."""
    return _ENDING.sub("", path.name)


def find_runs(folder: Path | str, table: Path | str | None) -> dict[System, Path]:
    """Find the file (``NAME``, ``NAME.run``, ``NAME.run.gz`` …) of each system of ``table`` that
    has one in a folder; without a table every run is a group of its own. Hidden files and manifests
    are skipped.

    Raises:
        InputError: no folder, no run in it, a run without a line in the table, two files of a run.
    """
    folder, skipped = Path(folder), re.compile(r"\.|.*\.manifest\.json$")
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    paths = [path for path in files if not skipped.match(path.name)]
    named = {run_name(path): path for path in paths}
    if not named or len(named) < len(paths):
        wanted, found = "a folder of runs in TREC form, one file each", f"{len(named)} runs"
        raise bad_input(folder, wanted=wanted, found=found, do="check the path")
    systems = [System(name, name, "") for name in named] if table is None else read_systems(table)
    if without := sorted(named.keys() - {system.run for system in systems}):
        wanted = f"a line for every run of {folder}"
        found, do = f"none for {', '.join(without)}", "add group and kind, or move the run away"
        raise bad_input(table or folder, wanted=wanted, found=found, do=do)
    return {system: named[system.run] for system in systems if system.run in named}
