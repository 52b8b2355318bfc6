"""The systems of a test for contamination: models and runs, opened and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain

import pandas
from pandas import DataFrame

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.contamination.suspect import suspicion_rows
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run, find_run
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.measures import parse_measure, per_query
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.ranking.config import Computing


def suspect_systems(
    collection: CollectionLike, suspects: Suspects, computing: Computing, settings: SuspectSettings
) -> Measurements:
    """Compare models with controls on queries that they may have seen, and on others.

    Raises:
        SettingError: two systems of one name, a model without candidates, or no such measure.
        InputError: a query in both splits, a run of other queries or passages, or rankings without
            a judged query of a split.
    """
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
    models, controls = (DataFrame(values, index=queries.index) for values in systems.values())
    common = {"study": "contamination suspect", "collection": opened.name, "split": splits[0]}
    made = Collected(common, ("seen", "other"))
    suspicion_rows(made, models, controls, queries, settings)
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
