"""Runs measured against judgements and compared, as results, with remarks on what was measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike, QrelsLike, RunLike
from positionbias.core.manifest import manifest_if_any
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.core.qrels import Qrels
from positionbias.core.rows import Collected
from positionbias.core.run import Run, find_run
from positionbias.evaluation.bootstrap import FEWEST, TOO_FEW
from positionbias.evaluation.convergence import ended_name, ending_of_run
from positionbias.evaluation.evaluate import check_run, evaluate_runs
from positionbias.evaluation.leaked import leaked_results
from positionbias.evaluation.measured import evaluation_rows
from positionbias.evaluation.measures import canonical
from positionbias.evaluation.records import Comparison, PerQuery, Result, of_type
from positionbias.evaluation.settings import Measuring
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.firststage.own_passages import own_queries, own_remarks, without_own

# finds, of judgements of a collection (by its checksum) and split, the queries that leak, and the
# files that name them; None: none of these queries can leak
FindLeaked: TypeAlias = Callable[[Qrels, str, str], tuple[set[str] | None, list[Path]]]


class Judged(NamedTuple):
    """Judgements: the name of their collection or file, their split ("" of a file), their source,
    if they lie anywhere, and their collection.
    """

    name: str
    split: str
    qrels: Qrels
    read: Sequence[Read] = ()
    collection: Collection | None = None

    @classmethod
    def of(
        cls, collection: CollectionLike | None, qrels: QrelsLike | None, measuring: Measuring
    ) -> Judged:
        """Return the judgements of a collection's split or of a file, or those given.

        Raises:
            SettingError: neither or both of the sources, or a name of judgements without the
                collection.
        """
        if measuring.qrels_name and qrels is not None:
            raise SettingError(
                "--qrels-name: wanted --collection beside it, whose judgements it picks; found "
                "--qrels; leave one out"
            )
        if collection is not None and qrels is None:
            opened = find_collection(collection)
            judgements = opened.qrels(measuring.split, measuring.qrels_name)
            split = ".".join(filter(None, (measuring.split, measuring.qrels_name)))
            read = [Read("collection", opened.path, opened.checksum)]
            return cls(opened.name, split, judgements, read, opened)
        if collection is None and qrels is not None:
            if not isinstance(qrels, Place):
                return cls("qrels", "", Qrels(qrels))
            path = input_place(qrels)
            return cls(path.name, "", Qrels.from_file(path), [Read.file("qrels", path)])
        found = "neither" if qrels is None else "both"
        raise SettingError(
            f"--qrels: wanted judgements from one source; found {found}; give --collection, or "
            "--qrels FILE, and not both"
        )


def evaluate(
    runs: Sequence[RunLike],
    judged: Judged,
    measuring: Measuring,
    find_leaked: FindLeaked | None = None,
) -> Measurements:
    """Measure each run, compare each further one with the first, and say what is to be known; with
    ``find_leaked`` also measure leaked and clean queries apart.

    Raises:
        InputError: a run given twice, of other queries or passages, or without judged queries.
        SettingError: an unknown measure.
    """
    collection, split = judged.collection, measuring.split
    measures = canonical(measuring.measures)
    loaded = _read_runs(runs, collection, split)
    own = {run.name: (own_queries(run), len(run)) for run in loaded}
    if measuring.without_own:
        loaded = [Run(run.name, map(without_own, run.rankings())) for run in loaded]
    files = [
        (run, input_place(given))
        for given, run in zip(runs, loaded, strict=True)
        if isinstance(given, Place)
    ]
    clusters = clusters_by_passage(judged.qrels)
    remarks = _remarks_of_trainings(files)
    results, shares = evaluate_runs(
        loaded,
        judged.qrels,
        measures,
        collection=judged.name,
        split=judged.split,
        seed=measuring.seed,
        clusters=clusters,
    )
    apart: Sequence[Result] = ()
    pairs: Sequence[Path] = ()
    if find_leaked is not None:
        checksum = collection.checksum if collection is not None else ""
        queries, pairs = find_leaked(judged.qrels, checksum, split)
        if queries is not None:
            apart = leaked_results(results, queries, clusters=clusters, seed=measuring.seed)
    made = Collected({"study": "evaluate", "collection": judged.name})
    evaluation_rows(made, [*results, *shares, *apart], remarks)
    for line in (
        *_remarks(results, remarks),
        *own_remarks(own, collection, split, left_out=measuring.without_own),
    ):
        say(line)
    leaked = [Read.file("leaked", file) for file in pairs]
    return Measurements(
        rows=made.rows,
        values=made.values,
        command="evaluate",
        settings={
            "measures": list(measures),
            "split": judged.split,
            **({"without_own": True} if measuring.without_own else {}),
        },
        read=[*judged.read, *leaked, *(Read.file("run", path) for _, path in files)],
        seed=measuring.seed,
        packages=("ir_measures", "pytrec-eval-terrier", "scipy"),
    )


def _read_runs(runs: Sequence[RunLike], collection: Collection | None, split: str) -> list[Run]:
    """Read runs under names of their own: of a file its tag, else its name, else its path.

    Raises:
        InputError: a run given twice, or of other queries or passages than the collection's.
    """
    paths = [os.path.realpath(input_place(run)) for run in runs if isinstance(run, Place)]
    if len(set(paths)) < len(paths):
        raise InputError(
            "RUN: wanted different runs to compare; found one file twice; give each once"
        )
    loaded = [find_run(run) for run in runs]
    for choose in (lambda path: path.name.removesuffix(".gz").removesuffix(".run"), str):
        names = [run.name for run in loaded]
        for given, run in zip(runs, loaded, strict=True):
            if isinstance(given, Place) and names.count(run.name) > 1:
                run.name = choose(input_place(given))
    names = [run.name for run in loaded]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"RUN: wanted runs with names of their own; found {twice!r} twice; name them: Run(…, "
            "name=…)"
        )
    if collection is not None:
        for run in loaded:
            check_run(run, collection, split)
    return loaded


def _remarks_of_trainings(files: Sequence[tuple[Run, Path]]) -> dict[str, list[str]]:
    """Return what the runs' manifests record of their trainings, by run; a run's name says so where
    its training is not finished.
    """
    remarks = {}
    for run, path in files:
        manifest = manifest_if_any(path)
        ending = ending_of_run(manifest.content, path) if manifest else None
        if manifest is not None and ending is not None:
            run.name = ended_name(run.name, ending.unfinished)
            remarks[run.name] = ending.remarks(manifest.depth)
    return remarks


def _remarks(results: Sequence[Result], remarks: Mapping[str, Sequence[str]]) -> list[str]:
    """Return remarks: counts, a line a run; how intervals were made; undefined values, with
    reasons.
    """
    lines: dict[str, None] = {}  # in order, each once
    for result, payload in of_type(results, PerQuery):
        lines |= {f"{result.system}: {remark}": None for remark in remarks.get(result.system, ())}
        counts = "".join(f"; {what}: {count:,}" for what, count in payload.notes.items() if count)
        lines[f"{result.system}: {result.count:,} judged queries{counts}"] = None
    for result in results:
        if isinstance(result.payload, PerQuery) and result.interval:
            lines[f"intervals: {result.interval.level:.0%} {result.interval.method}"] = None
        elif isinstance(result.payload, PerQuery):
            few = len(set(result.payload.clusters or result.payload.query_ids)) < FEWEST
            lines[f"{result.measure}: no interval: {TOO_FEW if few else 'nothing varies'}"] = None
        if isinstance(result.payload, Comparison):
            undefined = (
                (what, why) for what, why in result.payload.notes.items() if "undefined" in str(why)
            )
            lines |= {
                f"{result.payload.candidate}, {result.measure}: {what} {why}": None
                for what, why in undefined
            }
    return list(lines)
