"""Runs measured and compared, and several runs as one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike, QrelsLike, RunLike
from positionbias.core.operation import Out, Overwrite, SavedTo, operation
from positionbias.core.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import (
    Setting,
    check_settings,
    declared_setting,
    seed_setting,
    setting,
)
from positionbias.evaluation.fusing import Fusing
from positionbias.firststage.own_passages import WITHOUT_OWN, own_queries, own_remarks, without_own
from positionbias.overlap.settings import UNITS

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.qrels import Qrels
    from positionbias.core.run import Run
    from positionbias.evaluation.fusion import Fused
    from positionbias.evaluation.records import Result

__all__ = ["Measuring", "ensemble", "evaluate"]

_RUNS = Setting("Runs in TREC form, plain or .gz.", metavar="RUN…", place="read")


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measures of runs, and the judgements of a collection to use."""

    split: str = setting("test", "Whose queries.", metavar="SPLIT")
    qrels_name: str | None = setting(
        None,
        "Which of the split's further judgement sets to use.",
        metavar="NAME",
        shown=False,
    )
    measures: Sequence[str] = setting(
        ("nDCG@10", "RR@10", "R@10"),
        "As ir_measures names it: nDCG@10, AP(rel=2), RR(rel=2)@10, J@10 …; repeatable.",
        flags=("-m", "--measure"),
        metavar="MEASURE",
    )
    without_own: bool = declared_setting(False, WITHOUT_OWN)
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@operation
def evaluate(
    runs: Annotated[Sequence[RunLike], _RUNS],
    *,
    collection: Annotated[
        CollectionLike | None, Setting("Whose judgements to use.", place="read")
    ] = None,
    qrels: Annotated[
        QrelsLike | None,
        Setting(
            "Judgements in TREC form, instead of a collection's.", metavar="FILE", place="read"
        ),
    ] = None,
    measuring: Measuring = Measuring(),
    leaked: Annotated[
        Place | None,
        Setting(
            "Measure apart the queries that leak: what posbias leakage find or overlap wrote, or a "
            "labelled sheet.",
            metavar="DIR|FILE",
            place="read",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        Setting(
            "With --leaked, what of a query is in training: its text, or a relevant passage.",
            choices=UNITS,
            absent="queries",
            shown=False,
        ),
    ] = None,
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Measure each run (TREC form, plain or .gz) against judgements; compare each further run with
    the first.

    Means are over all judged queries; one without candidates counts 0. Queries with the same single
    relevant passage are one cluster. Intervals are over clusters: percentile bootstrap, or t by the
    jackknife for 30 clusters and fewer. p is two-sided, by sign flips of clusters, corrected by
    Holm and Bonferroni for the number of runs compared with the first on a measure. Wilcoxon and t
    take queries one by one, as papers print them. nDCG's gain is linear in the grade.

    J@k (Judged@k in JSON), for each cutoff k of the measures, is the share of a run's first k that
    have a judgement; what has none counts as not relevant. A query without candidates counts 0 in
    it, as in the measures.

    With ``leaked``, each measure also on leaked and on clean queries, and their difference. A query
    is leaked where a pair names it that no person labelled as of a different topic; with the folder
    of posbias leakage overlap, by its text or a relevant passage (--unit). Whether leakage
    changes the order of the runs comes first: Kendall's tau between leaked and clean queries, with
    its p against random splits of the same sizes and difficulty.

        posbias evaluate bm25.run tk.run --collection squad -m nDCG@10
        posbias evaluate bm25.run tk.run --qrels qrels.txt --out compared

    Returns:
        Rows: the mean of each run and measure, the difference of each further run from the first,
        J@k, leaked and clean queries; and the values by query.

    Raises:
        SettingError: neither or both of ``collection`` and ``qrels``, or an unknown measure.
        InputError: a run given twice, of other queries or passages than the collection's, or
            without judged queries.

    Example:
        >>> import positionbias as pb
        >>> print(pb.evaluate(["test.run"], collection="planted"))
        bm25: nDCG@10 0.814...[0.735,...0.893] over 18 queries; give a second run to compare...
        <BLANKLINE>
        Run           nDCG@10            RR@10             R@10             J@10
        ────  ───────────────  ───────────────  ───────────────  ───────────────
        bm25  0.8137...0.0791  0.7778...0.1450  1.0000...0.1667  0.7037...0.0355
        <BLANKLINE>
        95...intervals are over clusters of queries, those with the same single relevant passage.
        ± is the larger side...
        >>> from positionbias.settings import Measuring
        >>> run, qrels = pb.Run({"q1": {"p1": 2.0, "p2": 1.0}}), pb.Qrels({"q1": {"p2": 1}})
        >>> print(pb.evaluate([run], qrels=qrels, measuring=Measuring(measures=["RR"])))
        run: RR 0.500 over 1 query; give a second run to compare with it.
        ...
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.core.run import Run
    from positionbias.evaluation.evaluate import evaluate_runs
    from positionbias.evaluation.measured import evaluation_rows
    from positionbias.evaluation.measures import canonical
    from positionbias.evaluation.significance import clusters_by_passage

    _check_asked(qrels, measuring, leaked, unit)
    measuring = replace(measuring, measures=canonical(measuring.measures))
    refuse_outputs(out, overwrite=overwrite)
    opened = find_collection(collection) if collection is not None else None
    judged = _judgements(opened, qrels, measuring)
    loaded = _read_runs(runs, opened, measuring.split)
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
        measuring.measures,
        collection=judged.name,
        split=judged.split,
        seed=measuring.seed,
        clusters=clusters,
    )
    apart, pairs = _leaked_apart(results, leaked, unit, judged, opened, clusters, measuring)
    made = Collected({"study": "evaluate", "collection": judged.name})
    evaluation_rows(made, [*results, *shares, *apart], remarks)
    for line in (
        *_remarks(results, remarks),
        *own_remarks(own, opened, measuring.split, left_out=measuring.without_own),
    ):
        say(line)
    found = Measurements(
        rows=made.rows,
        values=made.values,
        command="evaluate",
        settings={
            "measures": list(measuring.measures),
            "split": judged.split,
            **({"without_own": True} if measuring.without_own else {}),
        },
        read=[*judged.read, *pairs, *(Read.file("run", path) for _, path in files)],
        seed=measuring.seed,
        packages=("ir_measures", "pytrec-eval-terrier", "scipy"),
    )
    return save_if_asked(found, out, overwrite=overwrite)


def _check_asked(
    qrels: QrelsLike | None,
    measuring: Measuring,
    leaked: Place | None,
    unit: str | None,
) -> None:
    """Refuse options that do not go together."""
    if measuring.qrels_name and qrels is not None:
        raise SettingError(
            "--qrels-name: wanted --collection beside it, whose judgements it picks; found "
            "--qrels; leave one out"
        )
    if leaked is None and unit is not None:
        raise SettingError(
            "--unit: wanted --leaked beside it; found none; give the folder of posbias leakage "
            "overlap"
        )


def _read_runs(runs: Sequence[RunLike], collection: Collection | None, split: str) -> list[Run]:
    """Read runs under names of their own: of a file its tag, else its name, else its path.

    Raises:
        InputError: a run given twice, or of other queries or passages than the collection's.
    """
    from positionbias.core.run import find_run
    from positionbias.evaluation.evaluate import check_run

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
    from positionbias.core.manifest import manifest_if_any
    from positionbias.evaluation.convergence import ended_name, ending_of_run

    found = {}
    for run, path in files:
        manifest = manifest_if_any(path)
        ending = ending_of_run(manifest.content, path) if manifest else None
        if manifest is not None and ending is not None:
            run.name = ended_name(run.name, ending.unfinished)
            found[run.name] = ending.remarks(manifest.depth)
    return found


class _Judged(NamedTuple):
    """Judgements: the name of their collection or file, their split ("" of a file), and their
    source, if they lie anywhere.
    """

    name: str
    split: str
    qrels: Qrels
    read: Sequence[Read] = ()


def _judgements(
    collection: Collection | None, qrels: QrelsLike | None, measuring: Measuring
) -> _Judged:
    """Return the judgements of a collection's split or of a file, or those given.

    Raises:
        SettingError: neither or both of the sources.
    """
    from positionbias.core.qrels import Qrels

    if collection is not None and qrels is None:
        judgements = collection.qrels(measuring.split, measuring.qrels_name)
        split = ".".join(filter(None, (measuring.split, measuring.qrels_name)))
        return _Judged(
            collection.name,
            split,
            judgements,
            [Read("collection", collection.path, collection.checksum)],
        )
    if collection is None and qrels is not None:
        if not isinstance(qrels, Place):
            return _Judged("qrels", "", Qrels(qrels))
        path = input_place(qrels)
        return _Judged(path.name, "", Qrels.from_file(path), [Read.file("qrels", path)])
    found = "both" if qrels is not None else "neither"
    raise SettingError(
        f"--qrels: wanted judgements from one source; found {found}; give --collection, or --qrels "
        "FILE, and not both"
    )


def _leaked_apart(
    results: Sequence[Result],
    pairs: Place | None,
    unit: str | None,
    judged: _Judged,
    collection: Collection | None,
    clusters: Mapping[str, str],
    measuring: Measuring,
) -> tuple[list[Result], list[Read]]:
    """Return measures apart on the test queries that ``pairs`` name as leaked and on the others,
    and the files read; empty without pairs.
    """
    from positionbias.evaluation.leaked import leaked_results

    if pairs is None:
        return [], []
    from positionbias.overlap.find import is_overlap, leaked_of

    checksum = collection.checksum if collection is not None else ""
    queries, files = leaked_of(pairs, unit, judged.qrels, checksum, measuring.split)
    read = [Read.file("leaked", file) for file in files]
    if is_overlap(pairs) and queries.isdisjoint(qrel.query_id for qrel in judged.qrels):
        say(
            f"--leaked: no judged query leaks by {unit or 'queries'}: there is nothing to measure "
            "apart"
        )
        return [], read
    return leaked_results(results, queries, clusters=clusters, seed=measuring.seed), read


def _remarks(results: Sequence[Result], remarks: Mapping[str, Sequence[str]]) -> list[str]:
    """Return remarks: counts, a line a run; how intervals were made; undefined values, with
    reasons.
    """
    from positionbias.evaluation.bootstrap import FEWEST, TOO_FEW
    from positionbias.evaluation.records import Comparison, PerQuery, of_type

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


@operation
def ensemble(
    runs: Annotated[Sequence[Place], _RUNS],
    *,
    fusing: Fusing = Fusing(),
    name: Annotated[str, Setting("The run's tag.")] = "ensemble",
    out: Out,
    overwrite: Overwrite = False,
) -> Fused:
    """Write several runs over the same queries and collection as one.

    A passage that a run lacks for a query gets the least of the run's z-scores, or no reciprocal
    rank; how many these are is said. Of a re-ranked run z-scores take what its model scored, down
    to the depth in its manifest; reciprocal ranks take every rank.

        posbias model ensemble bm25.run dense.run --out both.run
        posbias model ensemble bm25.run dense.run --by reciprocal-ranks --out both.run

    Returns:
        The run, and what each of the runs lacks.

    Raises:
        SettingError: fewer than two runs, or one given twice.
        InputError: runs of other queries, passages or collections than the first.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> reranked = pb.rerank("planted", model="tk.ckpt", candidates="test.run", out="tk.run")
        >>> pb.ensemble(["test.run", "tk.run"], out="both.run").run
        Run('ensemble', 18 queries, 108 pairs)
    """
    from positionbias.evaluation.fusion import fuse_runs

    place = output_place(out)
    fused = fuse_runs(
        [input_place(run) for run in runs],
        place,
        fusing,
        name=name,
        overwrite=overwrite,
    )
    for line in _lacking(fused, fusing.by):
        say(line)
    hint(
        f"written to {pasted(place)}; next: posbias evaluate {pasted(place)} --collection "
        "COLLECTION --split SPLIT"
    )
    return fused


def _lacking(fused: Fused, by: str) -> Iterator[str]:
    """Describe what each run lacks."""
    for label, missing in fused.missing.items():
        counts = (
            (missing.queries, "queries that others have"),
            (missing.passages, "passages that others have"),
        )
        if parts := [f"{count:,} {what}" for count, what in counts if count]:
            yield f"{label} is without {' and '.join(parts)}"
        if missing.equal:
            but = (
                "which it says nothing of"
                if by == "z-scores"
                else "whose ranks are those of their ids"
            )
            yield f"{label} scores all passages alike for {missing.equal:,} queries, {but}"
        if missing.below:
            yield (
                f"{label} was re-ranked down to {fused.scored[label]}: {missing.below:,} passages "
                "below have no score of its own, and get its least z-score of their query"
            )
