"""What the pool commands share: their options, runs and judgements as they are read, results as they are saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import Decorator, all_of, input_place, json_option, out_option, overwrite_option, say

if TYPE_CHECKING:
    from positionbias.core.manifest import InputRef
    from positionbias.core.run import Run
    from positionbias.pooling.judged_runs import JudgedRuns
    from positionbias.pooling.open_runs import OpenRuns
    from positionbias.pooling.systems import System
    from positionbias.results.result import Result

__all__ = [
    "Judged", "depth_option", "judged_pool", "measure_option", "opened_pool", "relevant_option", "result_options", "runs_arguments", "save",
]  # fmt: skip

result_options: Decorator = all_of(
    out_option(required=False, what="A folder for the results, for posbias report."), overwrite_option, json_option
)
relevant_option: Decorator = click.option(
    "--relevant-from",
    "level",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="GRADE",
    help="The least grade of a relevant document: 2 for the passages of TREC DL, 1 for most.",
)
runs_arguments: Decorator = all_of(
    click.argument("runs", metavar="RUNS"),
    click.argument("qrels", metavar="QRELS"),
    click.option(
        "--systems",
        required=True,
        metavar="FILE",
        help="Lines of run, group and kind, parted by tabs, the first line naming the columns; others may follow.",
    ),
)


def depth_option(what: str) -> Decorator:
    """``--depth``: of a pool, or of what is looked at."""
    return click.option("--depth", type=click.IntRange(min=1, max=1_000), default=10, show_default=True, help=what)


def measure_option(default: Sequence[str], more: str = "") -> Decorator:
    """``-m``, which may be given again."""
    return click.option(
        "-m", "--measure", "measures", multiple=True, default=default, show_default=True, metavar="MEASURE",
        help=f"As ir_measures names it; may be given again.{more}",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """Runs against judgements; the judgements' name; the files, for a manifest, by the part they play."""

    runs: JudgedRuns
    name: str
    files: Mapping[str, Sequence[Path]]


def judged_pool(runs: str, qrels: str, systems: str | None, *, measures: Sequence[str] = ()) -> Judged:
    """Read a folder of runs against judgements; say what is left out or was not used.

    Measures that do not exist are refused before anything is read.
    """
    from positionbias.core.progress import step
    from positionbias.evaluation.measures import parse_measure
    from positionbias.formats.trec import read_qrels
    from positionbias.pooling.judged_runs import judge_runs

    for measure in measures:
        parse_measure(measure)
    folder, judgements = input_place(runs), input_place(qrels)
    files, absent = _run_files(folder, systems)
    read = read_qrels(judgements)
    with step("runs", len(files), unit="runs") as progress:
        judged = judge_runs(_each(files, progress.advance), read)
    _say_unused(judged, folder, systems, absent)
    given = {"runs": list(files.values()), "qrels": [judgements]}
    given |= {"systems": [input_place(systems)]} if systems else {}
    return Judged(judged, judgements.name, given)


def opened_pool(new: str, qrels: str, runs: str | None, systems: str | None, depth: int) -> tuple[OpenRuns, Judged]:
    """Read a new run, the last one, and where there is one a folder of pooled runs, with their unjudged documents down to ``depth`` numbered.

    The new run's group and kind are those of its line in the table of systems, where it has one.
    """
    from positionbias.core.progress import step
    from positionbias.formats.trec import read_qrels
    from positionbias.pooling.open_runs import open_runs

    judgements = input_place(qrels)
    files, absent = _run_files(input_place(runs), systems) if runs else ({}, ())
    read = list(read_qrels(judgements))
    last = _new_run(new, list(files.values()), absent)
    with step("runs", 2 * len(files), unit="runs") as progress:
        opened = open_runs(lambda: chain(_each(files, progress.advance), [last]), read, depth)
    _say_unused(opened.runs, runs, systems, [system for system in absent if system.run != last[0].run])
    given = {"runs": list(files.values())} if runs else {}
    given |= {"qrels": [judgements]} | ({"systems": [input_place(systems)]} if systems and runs else {})
    return opened, Judged(opened.runs, judgements.name, given | {"run": [input_place(new)]})


def _each(files: Mapping[System, Path], advance: Callable[[], object]) -> Iterator[tuple[System, Run]]:
    from positionbias.pooling.systems import read_runs

    for item in read_runs(files):
        yield item
        advance()


def _say_unused(judged: JudgedRuns, folder: Path | str | None, systems: str | None, absent: Sequence[System]) -> None:
    if absent:
        say(f"{systems}: {len(absent):,} lines have no run in {folder} and were left out, the first {absent[0].run!r}")
    for what, count in judged.skipped.items():
        if count:
            say(f"{what}, over all runs: {count:,}")


def _run_files(folder: Path, systems: str | None) -> tuple[Mapping[System, Path], Sequence[System]]:
    from positionbias.core.errors import bad_input
    from positionbias.pooling.systems import System, find_runs, read_systems, run_name, run_paths

    if systems:
        found = find_runs(folder, read_systems(input_place(systems)), table=systems)
        return found.files, found.absent
    named: dict[System, Path] = {}
    for path in run_paths(folder):
        name = run_name(path)
        other = named.setdefault(System(name, name, ""), path)
        if other != path:
            both = f"{other.name} and {path.name}"
            raise bad_input(folder, wanted=f"one file of run {name!r}", found=both, do="rename one of them or move it away")
    return named, ()


def _new_run(new: str, pooled: Sequence[Path], told: Sequence[System]) -> tuple[System, Run]:
    from positionbias.core.errors import bad_input
    from positionbias.core.run import read_run
    from positionbias.pooling.systems import System, run_name

    path = input_place(new)
    if path.resolve() in {other.resolve() for other in pooled}:
        do = "give a run that did not help to make the pool, or move it out of --pool-runs"
        raise bad_input(path, wanted="a new run", found="one of the pooled runs", do=do)
    name = run_name(path)
    system = next((system for system in told if system.run == name), System(name, name, ""))
    return system, read_run(path, name)


def save(
    place: Path, results: Sequence[Result], judged: Judged, command: str, settings: Mapping[str, Any], *, seed: int | None, overwrite: bool,
    notes: Sequence[str] = (),
) -> None:  # fmt: skip
    """Write the results; the runs of a folder are one input, by a checksum of their names and contents."""
    from positionbias.core.manifest import Manifest, package_versions, provenance
    from positionbias.results.result import save_results

    inputs = [_input(role, paths, place) for role, paths in judged.files.items()]
    manifest = Manifest(
        kind="results",
        name=f"Pools of {judged.name}",
        command=command,
        settings=settings,
        seed=seed,
        inputs=tuple(inputs),
        notes=tuple(notes),
        versions=package_versions("numpy", "scipy", "ir_measures", "pytrec-eval-terrier"),
        provenance=provenance(),
    )
    save_results(place, results, manifest, overwrite=overwrite)
    say(f"results written to {place}")


def _input(role: str, paths: Sequence[Path], place: Path) -> InputRef:
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.pooling.systems import runs_checksum

    if role != "runs":
        return input_ref(role, paths[0], sha256_file(paths[0]), artefact=place)
    return input_ref(role, paths[0].parent, runs_checksum(paths), artefact=place)
