"""Test whether a model is suspiciously good on queries that it may have been trained on, compared
with queries that it cannot have seen and with controls, clean trainings of its configuration
(``evaluation.single_case``). All models of a call are one family (Holm).

The answer is *suspicious* if a corrected p is at most 0.05; *not suspicious* if the interval lies
below ``MARGIN``; else *cannot tell*, as with fewer than two controls, or without any spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import chain
from typing import Any

import pandas
from pandas import DataFrame

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.records import Interval, Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run, find_run
from positionbias.evaluation.clustered import family_wise
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.measures import parse_measure, per_query
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.evaluation.single_case import (
    Excess,
    Obstacle,
    differences,
    excess_of,
    simulated_rates,
)
from positionbias.ranking.config import Computing

MARGIN = 0.05  # the smallest excess of interest, in the measure [decision]
EFFECTS = {
    "false alarms": 0.0,
    "power at a small excess": 0.02,
    "power at the margin": MARGIN,
    "power at a large excess": 0.1,
}
ALPHA = 0.05  # of the one-sided p, corrected for all models of a call


class Suspected(StrEnum):
    """The answer."""

    YES = "suspicious"
    NO = "not suspicious"
    UNKNOWN = "cannot tell"


def suspect_systems(
    collection: CollectionLike, suspects: Suspects, computing: Computing, settings: SuspectSettings
) -> Measurements:
    """Compare models with controls on queries that they may have seen, and on others."""
    settings = replace(settings, measure=str(parse_measure(settings.measure)))
    opened, splits = find_collection(collection), (suspects.split, suspects.fresh)
    qrels = {split: opened.qrels(split) for split in splits}
    queries = pandas.concat([_queries(split, judgements) for split, judgements in qrels.items()])
    if both := queries.index[queries.index.duplicated()].tolist():
        raise InputError(
            f"--fresh: wanted queries that are not in {splits[0]!r}; found {len(both):,} that are, "
            f"the first {both[0]!r}; give other queries"
        )
    read = [Read("collection", opened.path, opened.checksum)]
    read += [Read.file("candidates", input_place(name)) for name in suspects.candidates]
    runs, rankings = list(map(find_run, suspects.candidates)), dict[tuple[str, str], list[Run]]()
    candidates = _joined(runs) if runs else None
    for role, names in (("model", suspects.models), ("control", suspects.controls)):
        for name in names:
            run, source = _ranked(name, role, opened, suspects, candidates, computing)
            rankings.setdefault((run.name, role), []).append(run)
            read.append(source)
    if len({name for name, _ in rankings}) < len(rankings):
        raise SettingError(
            "--model, --control: wanted a name for each; found "
            f"{', '.join(name for name, _ in rankings)}; rename folders or the tags of runs"
        )
    systems: dict[str, dict[str, dict[str, float]]] = {"model": {}, "control": {}}
    for (name, role), parts in rankings.items():
        run = _joined(parts)
        check_run(run, opened, suspects.split)
        lacking = set(splits).difference(queries["subset"][queries.index.isin(list(run))])
        if lacking:
            raise InputError(
                f"run {name!r}: wanted rankings of the judged queries of {min(lacking)!r}; found "
                "none; give those of each split, with the same tag"
            )
        values = per_query(run, chain(*qrels.values()), [settings.measure])
        systems[role][name] = values[settings.measure]
    frames = {role: DataFrame(values, index=queries.index) for role, values in systems.items()}
    common = {"study": "contamination suspect", "collection": opened.name, "split": splits[0]}
    made = Collected(common, ("seen", "other"))
    suspicion_rows(made, frames, queries, settings)
    return Measurements(
        rows=made.rows,
        values=made.values,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(splits)},
        read=read,
        seed=settings.seed,
        packages=("ir_measures", "numpy", "scipy"),
    )


def _queries(split: str, qrels: Sequence[Qrel]) -> DataFrame:
    """Return the judged queries of a split, sorted, with their clusters."""
    known = clusters_by_passage(qrels)
    queries = sorted({qrel.query_id for qrel in qrels})
    clusters = [known.get(query_id, query_id) for query_id in queries]
    return DataFrame({"subset": split, "cluster": clusters}, index=queries)


def _ranked(
    name: Place,
    role: str,
    collection: Collection,
    suspects: Suspects,
    candidates: Run | None,
    computing: Computing,
) -> tuple[Run, Read]:
    """Return a system's rankings: those of a file, or the candidates in a model's order, down to
    the depth that it was tuned to where it was; and what they were read from.
    """
    path = input_place(name)
    if path.is_file():
        return Run.from_file(path), Read.file(role, path)
    from positionbias.ranking.rerank import rescore  # needs torch

    if candidates is None:
        raise SettingError(
            "--candidates: wanted runs for models to re-rank; found none; make one of each "
            f"split: posbias retrieve {collection.name} --split {suspects.split}"
        )
    checkpoint = computing.load(name, suspects.kind)
    depth = checkpoint.depth or max(1, candidates.depth)
    scored = rescore(
        checkpoint.model,
        collection,
        [*collection.queries(suspects.split), *collection.queries(suspects.fresh)],
        candidates.top(depth),
        config=computing.config,
        name=checkpoint.name,
        description=checkpoint.name,
    )
    run = apply_depth(candidates, scored.run, depth, name=checkpoint.name)
    return run, Read(role, checkpoint.path, checkpoint.manifest.checksum)


def _joined(runs: Sequence[Run]) -> Run:
    """Return runs of different queries as one, under the name of the first."""
    rankings = (ranking for run in runs for ranking in run.rankings())
    return Run(runs[0].name, ((one.query_id, one.passage_ids, one.scores) for one in rankings))


def suspicion_rows(
    made: Collected, systems: Mapping[str, DataFrame], queries: DataFrame, settings: SuspectSettings
) -> None:
    """Add each system's mean on both sets with its values by query, their difference, and the
    answer about each model with its error rates. ``systems`` are columns, by "model" and "control".
    """
    measure, subsets = settings.measure, queries.groupby("subset", sort=False)
    names: dict[str, Any] = dict(zip(("seen", "other"), queries["subset"].unique(), strict=True))
    models, controls = systems["model"], systems["control"]
    for role, frame in systems.items():
        for name, values in frame.items():
            cells = {**names, "model": name, "role": role}
            for subset, part in subsets:
                of_set, clusters = values[part.index], dict(part["cluster"])
                row = {"subset": subset, "count": len(part), "counted": "queries", **cells}
                items = of_set.to_dict()
                made.add(measure, "mean", of_set.mean(), items=items, cluster_of=clusters, **row)
            made.add(measure, "difference", differences(values, queries), **cells)
    tested = {name: excess_of(model, controls, queries) for name, model in models.items()}
    holm = family_wise({name: one.p() for name, one in tested.items() if isinstance(one, Excess)})
    for name, excess in tested.items():
        cells = {**names, "model": name, "role": "model", "trainings": controls.shape[1]}
        verdict: dict[str, Any] = {"margin": MARGIN, "family": "suspicions", **cells}
        if isinstance(excess, Obstacle):
            verdict |= {"answer": Suspected.UNKNOWN, "reason": str(excess)}
            made.add(measure, "excess", None, **verdict)
            continue
        half, p = float(excess.least(ALPHA)), holm[name] or 0.0
        bounds = Interval(excess.value - half, excess.value + half, 1 - 2 * ALPHA)
        clear = Suspected.NO if bounds.high < MARGIN else Suspected.UNKNOWN
        verdict |= {"answer": Suspected.YES if p <= ALPHA else clear, "p": excess.p()}
        verdict |= {"p_adjusted": p, "interval": "trainings and queries"}
        made.add(measure, "excess", excess.value, bounds, **verdict)
        made.add(measure, "spread", excess.spread, **cells)
        level, effects = ALPHA / len(holm), list(EFFECTS.values())
        rates = simulated_rates(excess, level, effects, seed=settings.seed)
        for statistic, effect, rate in zip(EFFECTS, effects, rates, strict=True):
            made.add(measure, statistic, rate, axis="excess", at=effect, **cells)
