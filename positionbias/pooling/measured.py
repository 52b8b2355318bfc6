"""Pools and runs as they are given, measured: what the commands of pools give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from positionbias.core.errors import bad_input
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.core.qrels import Qrels
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.pooling.kinds import add_kinds
from positionbias.pooling.pools import NOTES, add_counts, add_coverage, add_reliability, pool_rows
from positionbias.pooling.runs import (
    JudgedRuns,
    System,
    find_runs,
    judge_runs,
    read_runs,
    read_systems,
    run_name,
    runs_checksum,
)
from positionbias.pooling.scores import pool_measures
from positionbias.pooling.settings import CoverageSettings, PoolSettings, VerdictSettings
from positionbias.pooling.unjudged import open_runs
from positionbias.pooling.verdict import DEEPEST_OPEN, add_verdict


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
