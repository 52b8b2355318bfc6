"""The audit: what is measured of each system, one after another, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from positionbias.audit.by_position import gain_result, position_results
from positionbias.audit.evidence import evidence_of
from positionbias.audit.examples import worst_queries
from positionbias.audit.needles import Needles, make_needles, needle_curve
from positionbias.audit.rotations import rotate_and_rank, rotation_results
from positionbias.audit.segments import segment_similarity
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task, distinct_names
from positionbias.audit.verdict import RESPONSE, adjusted, verdicts
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.payloads import Statistics
from positionbias.core.result import Result
from positionbias.core.run import Run
from positionbias.core.seeds import key64
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.models.protocols import PassageEncoder, Ranker
from positionbias.probe.passages import sample_passages
from positionbias.probe.term_vectors import probe_model
from positionbias.ranking.config import RankingConfig

__all__ = ["RETRIEVAL", "SEGMENTS", "audit", "make_task"]

SEGMENTS = "segment similarity"
EVIDENCE = "evidence"
RETRIEVAL = "retrieval over the whole collection"


def make_task(
    collection: Collection,
    split: str,
    candidates: Run,
    settings: AuditSettings,
    *,
    queries: int | None = None,
    config: RankingConfig | None = None,
    map_shards: MapShards = map,
) -> Task:
    """The queries of a split that have evidence (or ``queries`` of them, drawn by the seed), with their candidates to ``depth``.

    ``candidates`` are the first stage: what re-rankers rank, and what retrievers stand beside.

    Raises:
        InputError: no evidence, or candidates of another collection.
    """
    check_run(candidates, collection, split)
    qrels = collection.qrels(split)
    evidence = evidence_of(collection, split, qrels, settings.matching, level=settings.relevant_from, map_shards=map_shards)
    if queries is not None and queries < len(evidence.by_query):
        drawn = sorted(evidence.query_ids, key=lambda query_id: (key64(settings.seed, "audit", query_id), query_id))
        evidence = evidence.of(drawn[:queries])
    kept = set(evidence.query_ids)
    clusters = clusters_by_passage(qrels, level=settings.relevant_from)
    return Task(
        collection=collection,
        split=split,
        queries=[query for query in collection.queries(split) if query.query_id in kept],
        qrels=[qrel for qrel in qrels if qrel.query_id in kept],
        evidence=evidence,
        candidates=_of_queries(candidates, evidence.query_ids, settings.depth),
        clusters=[clusters.get(query_id, query_id) for query_id in evidence.query_ids],
        config=config or RankingConfig(),
    )


def _of_queries(run: Run, query_ids: Sequence[str], depth: int) -> Run:
    """A run of these queries alone, to a depth; one that it lacks, or that has nothing, is left out."""
    rankings = ((query_id, run[query_id]) for query_id in query_ids if query_id in run)
    cut = ((query_id, ranking.passage_ids[:depth], ranking.scores[:depth]) for query_id, ranking in rankings)
    found = Run(run.name, (item for item in cut if item[1]))
    if not len(found):
        raise InputError(
            f"run {run.name!r}: wanted candidates for at least one of the {len(query_ids):,} queries with evidence; found none; "
            "check --split and that the run belongs to this collection"
        )
    return found


def audit(
    task: Task, systems: Sequence[System], settings: AuditSettings, *, tell: Callable[[str], None] = lambda line: None
) -> list[Result]:
    """All measures of all systems, p-values corrected over them, and the verdicts in front.

    A run gets the measures by position; a model also those that ask it again: rotated passages, the moved sentence, thirds, term vectors.
    What a retriever will encode is told before it does.

    Raises:
        InputError: two systems of one name, a run that ranks none of the queries, or a model whose scores are no finite numbers.
        SettingError: a measure that does not exist.
    """
    results = [_counted(task)]
    audits = []
    by_name = distinct_names(systems)
    for system in by_name.values():
        if system.retriever is not None:
            tell(f"{system.name}: {system.retriever.cost(settings.draws)}")
    for system in by_name.values():
        tell(f"auditing {system.name}")
        audits.append(_Audit(system, task, settings))
        audits[-1].measure()
    first = next((of_system for of_system in audits if of_system.system.first_stage), None)
    for of_system in audits:
        results += of_system.found
        if first is not None and not of_system.system.first_stage:
            values, before = (one.values[settings.measures[0]] for one in (of_system, first))
            results.append(gain_result(of_system.system, task, values, first.system, before, settings))
    results = adjusted(results)
    return [*verdicts(results), *results]


def _counted(task: Task) -> Result:
    """How many queries have evidence, and what became of the others."""
    count = len(task.query_ids)
    rows = {**task.evidence.counts, "queries audited": count, "queries with candidates": len(task.candidates)}
    return Result(
        EVIDENCE, task.collection.name, task.split, task.candidates.name, None, float(count), None, count, Statistics(rows)
    )


@dataclass
class _Audit:
    """One system's measures."""

    system: System
    task: Task
    settings: AuditSettings
    found: list[Result] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)

    def measure(self) -> None:
        """Fill ``found`` and ``values``."""
        ranked = self.system.ranked(self.task)
        self.values = values = self.task.values(ranked, self.settings.measures)
        self.found = position_results(self.system, self.task, values, self.settings)
        if self.system.model is not None:
            if self.settings.draws:
                self._rotations(ranked, values)
            if self.settings.needles:
                self._needles(ranked)
            # the rows of a sparse model are words and weights, of which no mean stands for the text
            if self.settings.segments and isinstance(self.system.model, PassageEncoder) and self.system.kind != "sparse":
                self._segments(self.system.model)
            if self.settings.probe:
                self._probe()
        if self.system.retriever is not None:
            rows = self.system.retriever.facts()
            count = len(self.task.collection)
            self.found.append(self.system.result(self.task, RETRIEVAL, Statistics(rows), value=float(count), count=count))

    def _rotations(self, ranked: Run, values: dict[str, np.ndarray]) -> None:
        rotated = rotate_and_rank(self.system, self.task, ranked, self.settings)
        self.found += rotation_results(self.system, self.task, values, rotated, self.settings)
        if self.settings.examples:
            first = values[self.settings.measures[0]]
            self.found.append(worst_queries(self.system, self.task, ranked, first, rotated, self.settings))

    def _needles(self, ranked: Run) -> None:
        task, settings = self.task, self.settings
        needles = make_needles(task.collection, task.evidence, most=settings.needles, seed=settings.seed)

        def score(made: Needles) -> Run:
            return self.system.scored(task, made, made.candidates(), f"{self.system.name}, evidence moved")

        curve = needle_curve(needles, score, ranked, seed=settings.seed)
        if curve is not None:
            figures = curve.figures
            value, count = figures.get("slope"), figures["queries"]
            self.found.append(self.system.result(task, RESPONSE, curve, value=value, count=count, seed=settings.seed))

    def _segments(self, model: PassageEncoder) -> None:
        task, settings = self.task, self.settings
        passages = sample_passages(task.collection, min(settings.segments, len(task.collection)), settings.seed)
        payload = segment_similarity(
            model, task.collection, passages, config=task.config, words=settings.matching.words, seed=settings.seed
        )
        value, count = payload.figures["first − last"], payload.counts[0]
        self.found.append(self.system.result(task, SEGMENTS, payload, value=value, count=count, seed=settings.seed))

    def _probe(self) -> None:
        """ATS and MATS of the models whose term vectors can be had; the others have none."""
        checkpoint, settings = self.system.checkpoint, self.settings
        if checkpoint is None or not isinstance(checkpoint.model, Ranker):
            return
        passages = min(settings.probe, len(self.task.collection))
        self.found += probe_model(
            checkpoint,
            self.task.collection,
            layers=settings.layers,
            passages=passages,
            seed=settings.seed,
            system=self.system.name,
        )
