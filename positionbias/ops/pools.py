"""Tests of whether a test collection can judge systems that did not help to make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import bad_input
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Overwrite, SavedTo, operation
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say, step
from positionbias.core.publish import atomic_file
from positionbias.core.settings import Setting
from positionbias.ops.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.pooling.settings import CoverageSettings, ReliabilitySettings, VerdictSettings

if TYPE_CHECKING:
    from positionbias.core.rows import Collected
    from positionbias.core.run import Run
    from positionbias.pooling.judged_runs import JudgedRuns
    from positionbias.pooling.open_runs import OpenRuns
    from positionbias.pooling.reliability import Reliability
    from positionbias.pooling.scores import PoolMeasure
    from positionbias.pooling.systems import System
    from positionbias.pooling.verdict import RunVerdict

__all__ = ["pool_coverage", "pool_reliability", "pool_verdict"]

Runs = Annotated[Place, Setting("A folder of TREC runs, plain or .gz.", place="read")]
Qrels = Annotated[Place, Setting("Their judgements.", place="read")]
Systems = Annotated[
    Place,
    Setting(
        "Tab-separated lines of run, group and kind, the first naming the columns; others may "
        "follow.",
        metavar="FILE",
        place="read",
    ),
]


@operation
def pool_coverage(
    runs: Runs,
    qrels: Qrels,
    *,
    systems: Systems,
    settings: CoverageSettings = CoverageSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Count the relevant documents that each kind of system puts into a pool, at each depth: in
    all, and those that no other kind puts there.

    ``runs`` is a folder of TREC runs, plain or .gz; ``qrels`` their judgements. Only judged
    documents can count, so a curve is understated where it goes deeper than the pool that was
    judged; and a kind with more runs finds more.

        posbias pool coverage runs/ qrels.txt --systems systems.tsv --out covered

    Returns:
        What the collection consists of; a curve for each kind, and its counts by query.

    Raises:
        InputError: a file is malformed, or runs, judgements and systems do not belong together.

    Source: test-collection paper (Yilmaz et al. 2020), Figure 1.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_coverage("runs", "qrels.txt", systems="systems.tsv"))
        Relevant documents in pools of depth 10: of traditional runs 69, 38 of them in no other; of
        neural runs 79, 48 of them in no other.
        <BLANKLINE>
        qrels.txt: 6 runs (3 traditional of 3 groups, 3 neural of 3 groups); 6 queries, 780
        judgements, of which 180 are relevant (grade 1 or more).
        <BLANKLINE>
        Relevant documents by pool depth
        <BLANKLINE>
                    traditional               neural
        Pool depth  in its pool  in no other  in its pool  in no other
        ──────────  ───────────  ───────────  ───────────  ───────────
                 1            8            8            9            9
        ...
    """
    from positionbias.pooling.measured import coverage_rows, pool_rows, task_rows

    refuse_outputs(out, overwrite=overwrite)
    judged = _judged(runs, qrels, systems)
    made = pool_rows(judged.name)
    task_rows(made, judged.runs, settings.relevant_from)
    coverage_rows(made, judged.runs, settings)
    told: JsonObject = {
        "depth": settings.depth,
        "deepest": settings.deepest,
        "relevant_from": settings.relevant_from,
    }
    return save_if_asked(judged.measured("coverage", made, told), out, overwrite=overwrite)


@operation
def pool_reliability(
    runs: Runs,
    qrels: Qrels,
    *,
    systems: Systems,
    settings: ReliabilitySettings = ReliabilitySettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Make pools from half of the groups of one kind, and see how they judge systems of each kind.

    ``runs`` is a folder of TREC runs, plain or .gz; ``qrels`` their judgements. Every run is scored
    by the gold judgements and by those of each pool; test systems are those of no drawn group.
    Printed is first whether a kind is judged worse than any groups would be: kinds are permuted
    among groups 2,000 times, which says how often that answer is a false alarm. Then Kendall's tau
    between the two orders and the change of scores: the paper's Tables 1 and 2.

        posbias pool reliability runs/ qrels.txt --systems systems.tsv --pools 100 --out pools

    Returns:
        What the collection and its pools consist of; by pools, test systems and measure the order
        and the change of score; the effects of kinds, a sentence each; and what was asked for
        beside them.

    Raises:
        InputError: a file is malformed, runs, judgements and systems do not belong together, or
            there are fewer than two kinds.
        SettingError: a measure that does not exist.

    Source: test-collection paper (Yilmaz et al. 2020), §3 and Tables 1 and 2.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_reliability("runs", "qrels.txt", systems="systems.tsv"))
        Cannot tell whether pools of one kind judge the other as they judge their own (of 8 tests, 0
        worse, 0 better, 0 within 0.03, 8 cannot tell).
        ...
    """
    from positionbias.evaluation.measures import canonical
    from positionbias.pooling.kind_effects import kind_effects
    from positionbias.pooling.measured import kind_rows, pool_rows, reliability_rows, task_rows
    from positionbias.pooling.pools import NOTES
    from positionbias.pooling.reliability import reliability
    from positionbias.pooling.scores import pool_measures

    refuse_outputs(out, overwrite=overwrite)
    settings = replace(settings, measures=canonical(settings.measures, computed=("RBP",)))
    measures, drawn = pool_measures(settings.measures, settings.relevant_from), settings.drawn
    judged = _judged(runs, qrels, systems)
    made = pool_rows(judged.name)
    task_rows(made, judged.runs, settings.relevant_from)
    found = reliability(judged.runs, measures, drawn, level=settings.relevant_from)
    reliability_rows(made, found, judged.runs)
    kind_rows(made, kind_effects(judged.runs, measures, drawn))
    _asked_beside(made, judged.runs, found, measures, settings)
    measured = judged.measured("reliability", made, settings.record(), drawn.seed, NOTES)
    return save_if_asked(measured, out, overwrite=overwrite)


def _asked_beside(
    made: Collected,
    runs: JudgedRuns,
    found: Reliability,
    measures: Sequence[PoolMeasure],
    settings: ReliabilitySettings,
) -> None:
    """Add what was asked for beside the tables."""
    from positionbias.pooling.curves import curve_depths, depth_curve, groups_curve
    from positionbias.pooling.leave_out import leave_out
    from positionbias.pooling.measured import curve_rows, left_out_rows, relabelled_rows
    from positionbias.pooling.relabelled import relabelled

    drawn, level = settings.drawn, settings.relevant_from
    if settings.leave_out:
        left_out_rows(made, leave_out(runs, measures, drawn, level=level))
    if settings.curves:
        deep = depth_curve(runs, measures, drawn, curve_depths(drawn), level=level)
        curve_rows(made, "depth", deep, runs)
        curve_rows(made, "groups", groups_curve(runs, measures, drawn, level=level), runs)
    if share := settings.relabel:
        again = relabelled(
            runs, measures, drawn, share=share, repeats=settings.repeats, level=level
        )
        relabelled_rows(made, found, again, share=share, drawn=settings.repeats)


@operation
def pool_verdict(
    run: Annotated[Place, Setting("The new run, in TREC form.", place="read")],
    qrels: Qrels,
    *,
    pool_runs: Annotated[
        Place | None,
        Setting(
            "The runs that the judged pool was made from, a folder: needed for a prediction.",
            metavar="DIR",
            place="read",
        ),
    ] = None,
    systems: Annotated[
        Place | None,
        Setting(
            "Lines of run, group and kind of the pooled runs; RUN may have one.",
            metavar="FILE",
            place="read",
        ),
    ] = None,
    settings: VerdictSettings = VerdictSettings(),
    judge_next: Annotated[
        Place | None,
        Setting(
            "Write RUN's unjudged documents in the order in which to judge them, for assessors.",
            metavar="FILE",
            place="written",
        ),
    ] = None,
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Judge whether the collection of ``qrels`` can score ``run``, which did not help to make it.

    With ``pool_runs``: the score that the run would have, had it taken part in the pool, with a
    prediction interval that is calibrated by leaving the pooled groups out in turn; the probability
    that it is better than each pooled run; and which documents to judge next. Beside it stand
    bounds that hold whatever the unjudged documents are. Without: these bounds, and what the judged
    depth allows. ``systems`` tells which runs are of one group.

        posbias pool verdict new.run qrels.txt --pool-runs runs/ --systems systems.tsv \\
                --judge-next next.tsv

    Returns:
        The unjudged share; by each measure the score with the answer, and the lead over each pooled
        run.

    Raises:
        InputError: a file is malformed, or runs, judgements and systems do not belong together.
        SettingError: a measure that does not exist, or whose bounds are not known.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_verdict("new.run", "pool.txt", pool_runs="runs", systems="systems.tsv"))
        new cannot be judged yet by nDCG@10: ... of its first 10 are unjudged, ...
        ...
    """
    from positionbias.evaluation.measures import canonical
    from positionbias.pooling.bounds import check_measure
    from positionbias.pooling.measured import pool_rows, verdict_rows
    from positionbias.pooling.scores import pool_measures
    from positionbias.pooling.verdict import open_depth, verdict

    refuse_outputs(out, judge_next, overwrite=overwrite)
    settings = replace(settings, measures=canonical(settings.measures, computed=("RBP",)))
    measures = pool_measures(settings.measures, settings.relevant_from)
    for measure in measures:
        check_measure(measure)
    opened, judged = _opened(run, qrels, pool_runs, systems, open_depth(measures, settings.depth))
    found = verdict(opened, settings)
    if judge_next is not None:
        sheet = output_place(judge_next)
        listed = _write_judge_next(found, sheet, overwrite=overwrite)
        hint(f"{listed:,} documents to judge written to {pasted(sheet)}, by {measures[0].name}")
    told: JsonObject = {
        "depth": settings.depth,
        "measures": list(settings.measures),
        "relevant_from": settings.relevant_from,
    }
    made = pool_rows(judged.name)
    verdict_rows(made, found)
    return save_if_asked(
        judged.measured("verdict", made, told, settings.seed), out, overwrite=overwrite
    )


def _write_judge_next(found: RunVerdict, path: Path, *, overwrite: bool = False) -> int:
    """Write the new run's unjudged documents in the order in which to judge them, by the first
    measure; return their number.

    Lines have query id, document id and the expected reduction of the variance of the run's score,
    tab-separated, after a header.

    Raises:
        OutputExistsError, StorageError: as for ``atomic_file``.
    """
    unseen, reductions = found.measures[0].guess.unseen, found.measures[0].reductions
    runs = found.runs.runs
    lines = ["query_id\tdocument_id\texpected_reduction"]
    lines += [
        f"{runs.query_ids[unseen.query[place]]}\t{runs.documents[unseen.document[place]]}\t"
        f"{reductions.reduction[place]:.6g}"
        for place in reductions.order.tolist()
    ]
    with atomic_file(path, overwrite=overwrite) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return len(lines) - 1


@dataclass(frozen=True, slots=True)
class _Judged:
    """Runs against judgements; the judgements' name; what was read."""

    runs: JudgedRuns
    name: str
    read: Sequence[Read]

    def measured(
        self,
        command: str,
        made: Collected,
        settings: JsonObject,
        seed: int | None = None,
        notes: Sequence[str] = (),
    ) -> Measurements:
        return Measurements(
            rows=made.rows,
            values=made.values,
            command=f"pool {command}",
            settings=settings,
            read=self.read,
            seed=seed,
            name=f"Pools of {self.name}",
            notes=notes,
            packages=("numpy", "scipy", "ir_measures", "pytrec-eval-terrier"),
        )


def _judged(runs: Place, qrels: Place, systems: Place) -> _Judged:
    """Read a folder of runs against judgements; say what is left out or was not used."""
    from positionbias.core.qrels import read_qrels
    from positionbias.pooling.judged_runs import judge_runs

    judgements = input_place(qrels)
    files, absent = _run_files(input_place(runs), systems)
    read = read_qrels(judgements)
    with step("runs", len(files), unit="runs") as progress:
        judged = judge_runs(_each(files, progress.advance), read)
    _say_unused(judged, runs, systems, absent)
    of_runs = [
        _read_runs(files),
        Read.file("qrels", judgements),
        Read.file("systems", input_place(systems)),
    ]
    return _Judged(judged, judgements.name, of_runs)


def _opened(
    new: Place, qrels: Place, runs: Place | None, systems: Place | None, depth: int
) -> tuple[OpenRuns, _Judged]:
    """Read a new run, the last one, and where there is one a folder of pooled runs, with their
    unjudged documents down to ``depth`` numbered.

    The new run's group and kind are those of its line in the table of systems, where it has one.
    """
    from positionbias.core.qrels import read_qrels
    from positionbias.pooling.open_runs import open_runs

    judgements = input_place(qrels)
    files, absent = _run_files(input_place(runs), systems) if runs else ({}, ())
    judged = list(read_qrels(judgements))
    last = _new_run(input_place(new), list(files.values()), absent)
    with step("runs", 2 * len(files), unit="runs") as progress:
        opened = open_runs(lambda: chain(_each(files, progress.advance), [last]), judged, depth)
    _say_unused(
        opened.runs, runs, systems, [system for system in absent if system.run != last[0].run]
    )
    read = [_read_runs(files)] if runs else []
    read.append(Read.file("qrels", judgements))
    read += [Read.file("systems", input_place(systems))] if systems and runs else []
    return opened, _Judged(
        opened.runs, judgements.name, [*read, Read.file("run", input_place(new))]
    )


def _read_runs(files: Mapping[System, Path]) -> Read:
    """Return the runs of a folder as one input, by a checksum of their names and contents."""
    from positionbias.pooling.systems import runs_checksum

    paths = list(files.values())
    return Read("runs", paths[0].parent, runs_checksum(paths))


def _each(
    files: Mapping[System, Path], advance: Callable[[], object]
) -> Iterator[tuple[System, Run]]:
    from positionbias.pooling.systems import read_runs

    for item in read_runs(files):
        yield item
        advance()


def _say_unused(
    judged: JudgedRuns, folder: Place | None, systems: Place | None, absent: Sequence[System]
) -> None:
    if absent:
        say(
            f"{systems}: {len(absent):,} lines have no run in {folder} and were left out, the "
            f"first {absent[0].run!r}"
        )
    for what, count in judged.skipped.items():
        if count:
            say(f"{what}, over all runs: {count:,}")


def _run_files(
    folder: Path, systems: Place | None
) -> tuple[Mapping[System, Path], Sequence[System]]:
    """Return the file of each system's run, and the systems without one; without a table every run
    is a group of its own.
    """
    from positionbias.pooling.systems import System, find_runs, read_systems, run_name, run_paths

    if systems is not None:
        found = find_runs(folder, read_systems(input_place(systems)), table=systems)
        return found.files, found.absent
    named: dict[System, Path] = {}
    for path in run_paths(folder):
        name = run_name(path)
        other = named.setdefault(System(name, name, ""), path)
        if other != path:
            both = f"{other.name} and {path.name}"
            raise bad_input(
                folder,
                wanted=f"one file of run {name!r}",
                found=both,
                do="rename one of them or move it away",
            )
    return named, ()


def _new_run(path: Path, pooled: Sequence[Path], told: Sequence[System]) -> tuple[System, Run]:
    from positionbias.core.run import read_run
    from positionbias.pooling.systems import System, run_name

    if path.resolve() in {other.resolve() for other in pooled}:
        do = "give a run that did not help to make the pool, or move it out of --pool-runs"
        raise bad_input(path, wanted="a new run", found="one of the pooled runs", do=do)
    name = run_name(path)
    system = next((system for system in told if system.run == name), System(name, name, ""))
    return system, read_run(path, name)
