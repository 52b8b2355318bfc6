"""The effect on single queries, and the two texts behind each: they are made again of the
collection when a page is written, and stored nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os.path import normpath
from typing import Any

import pyarrow.compute as pc

from positionbias.audit.answers import READ_WHOLE, WORTH, Contrast
from positionbias.audit.evidence import BY_TERMS, chosen_evidence, collection_terms
from positionbias.audit.measured import RAW, Given, given_in
from positionbias.audit.systems import Task
from positionbias.audit.trials import make_trials
from positionbias.core.collection import find_collection
from positionbias.core.errors import PositionBiasError
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.positions.answers import AnswerShard
from positionbias.positions.evidence import evidence_of
from positionbias.ranking.config import RankingConfig
from positionbias.report.presentation import Study
from positionbias.report.table import Cell, Column, Table
from positionbias.text.formatting import percent, slug

EXTREMES, DRAWN = 20, 5
NOTE = (
    f"Extremes are the {EXTREMES} queries that the effect moves most, and say nothing of the "
    f"others; {DRAWN} of all are drawn by the seed."
)


def chosen_queries(effects: Mapping[str, float], seed: int) -> list[tuple[str, str]]:
    """Return the queries with the largest effects, whatever their sign, then some of all, drawn by
    the seed, each with why it was chosen.

    >>> chosen_queries({"q1": 0.1, "q2": -0.3}, 1)[:2]
    [('extreme', 'q2'), ('extreme', 'q1')]
    """
    extremes = sorted(effects, key=lambda name: (-abs(effects[name]), name))[:EXTREMES]
    drawn = drawn_order(effects, seed, "shown queries")[:DRAWN]
    return [*(("extreme", name) for name in extremes), *(("drawn", name) for name in drawn)]


def query_tables(study: Study, texts: bool) -> list[Table]:
    """Return a table of single queries for each verdict that rests on moved texts: their share in
    the effect that decided, with ``texts`` also these where the collection is at its place.
    """
    seed, tables = study.manifest.seed or 0, []
    for given in given_in(study.rows):
        head = given.verdict.leading
        if head is None or head.unit != WORTH:
            continue
        effects = _effects(study, given.system, head.contrast, head.subset)
        chosen = chosen_queries(effects, seed)
        ids = {query_id for _, query_id in chosen}
        known = _texts(study, given, head.contrast, ids) if texts and ids else {}
        after, before = (side.capitalize() for side in head.contrast.split(" − "))
        names = ["Chosen as", "Query", f"{head.contrast}, of the worth"]
        names += ["Question", before, after] if known else []
        columns = [Column(name, numeric=place == 2) for place, name in enumerate(names)]
        none = [""] * (len(names) - 3)
        rows = [
            [
                *map(Cell, (why, name)),
                Cell(percent(effects[name], sign=True), effects[name]),
                *map(Cell, known.get(name, none)),
            ]
            for why, name in chosen
        ]
        name, title = f"queries-{slug(given.system)}", f"{given.system}: single queries"
        tables.append(Table(name, title, columns, rows, [NOTE], stub=2))
    return tables


def _effects(study: Study, system: str, contrast: Contrast, subset: str) -> Mapping[str, float]:
    """Return a contrast by query over the mean worth, which is of texts that are read whole."""
    raw = study.rows[(study.rows["statistic"] == RAW) & (study.rows["model"] == system)]
    values = study.values.merge(raw[["row", "measure", "subset"]], on="row")
    worths = values[values["measure"] == Contrast.WORTH]
    whole = worths[worths["subset"] == READ_WHOLE]
    own = values[(values["measure"] == contrast) & (values["subset"] == subset)]
    worth = (worths if whole.empty else whole)["value"].mean()
    return dict(zip(own["item"], own["value"] / worth, strict=True))


def _of_queries(
    query_ids: Collection[str], locate: Callable[[AnswerShard], Any], shards: Iterable[AnswerShard]
) -> Iterator[Any]:
    """Map a function over shards of answers, with those of these queries alone."""
    asked = pc.field("query_id").isin(list(query_ids))
    return map(locate, (replace(shard, answers=shard.answers.filter(asked)) for shard in shards))


def _texts(
    study: Study, given: Given, contrast: Contrast, query_ids: Collection[str]
) -> Mapping[str, Sequence[str]]:
    """Return each query's question and its first pair of texts of a contrast; none without the
    collection at its place, or if a model chose the evidence."""
    made: Mapping[str, Any] = study.manifest.settings
    seed, rule, split = study.manifest.seed or 0, given.verdict.rule, given.split
    try:
        (item,) = (one for one in study.manifest.inputs if one.role == "collection")
        opened = find_collection(normpath(study.place.absolute() / item.path))
    except (ValueError, PositionBiasError):
        return {}
    if opened.checksum != item.checksum or rule not in ("", BY_TERMS):
        return {}
    level = made["relevant_from"]
    qrels = [qrel for qrel in opened.qrels(split) if qrel.query_id in query_ids]
    if rule:
        terms = collection_terms(opened)
        evidence = chosen_evidence(opened, split, qrels, terms, level=level, seed=seed)
    else:
        wanted = partial(_of_queries, query_ids)
        evidence = evidence_of(opened, split, qrels, level=level, map_shards=wanted)
    queries = [query for query in opened.queries(split) if query.query_id in query_ids]
    none = Run("none", [])
    task = Task(opened, split, queries, qrels, evidence, none, [], RankingConfig(), rule)
    trials, _ = make_trials(task, task.query_ids, most=len(queries), orders=1, seed=seed)
    return {
        trial.query_id: [task.texts[trial.query_id], *pair[1:]]
        for trial in trials
        for pair in reversed(trial.compared)  # the first is kept
        if pair[0] == contrast
    }
