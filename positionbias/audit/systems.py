"""Audited systems: a run, or a model that can score other texts, as a re-ranker or a retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.models.protocols import AnyRanker
from positionbias.positions.evidence import FoundEvidence
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.ranking.scored import PassageTexts
from positionbias.text.sentences import Parts, parts_of

if TYPE_CHECKING:
    from positionbias.dense.retriever import Retriever
    from positionbias.models.checkpoint import Checkpoint

RERANKER, RETRIEVER, RUN = "re-ranker", "retriever", "run"  # roles of what is measured
Rows = Sequence[Mapping[str, Any]]  # as ``Collected.add`` takes them


def made_id(query_id: str, what: int | str) -> str:
    """Return the id of a text or list made for a query, by its number or another label."""
    return f"{query_id}\x1f{what}"


def counted(measure: str, numbers: Mapping[str, float | str]) -> Rows:
    """Return counts and words as rows of one measure."""
    return [
        {"measure": measure, "statistic": name}
        | ({"value": None, "label": value} if isinstance(value, str) else {"value": value})
        for name, value in numbers.items()
    ]


class RotatedRun(NamedTuple):
    """A rotated collection, such as ``posbias debias`` writes, and the system's run over it."""

    collection: Collection
    run: Run


@dataclass(frozen=True, slots=True)
class Task:
    """The audited queries with their evidence, judgements and first-stage candidates, which
    re-rankers rank.

    ``rule`` names what chose the evidence; empty: it is the answers."""

    collection: Collection
    split: str
    queries: Sequence[Query]
    qrels: Sequence[Qrel]
    evidence: FoundEvidence
    candidates: Run
    clusters: Sequence[str]
    config: RankingConfig
    rule: str = ""

    @property
    def query_ids(self) -> list[str]:
        """The audited queries, sorted."""
        return self.evidence.query_ids

    @property
    def texts(self) -> dict[str, str]:
        """The text of each audited query."""
        return {query.query_id: query.text for query in self.queries}

    def parts(self, query_id: str) -> Parts | str:
        """Return the sentences of the passage with a query's evidence, or the reason why that
        cannot be moved.
        """
        item = self.evidence.by_query[query_id]
        return parts_of(self.collection.texts([item.passage_id])[0], item.start, item.end)

    def candidates_of(self, query_id: str) -> list[str]:
        """Return the candidates of a query, best first."""
        return self.candidates[query_id].passage_ids if query_id in self.candidates else []

    def values(self, run: Run, measure: str) -> np.ndarray:
        """Return the measure of every audited query, ``(queries,)``; 0 without candidates."""
        ids = self.query_ids
        values = per_query(run, self.qrels, [measure], query_ids=ids)[measure]
        return np.array([values[query_id] for query_id in ids])


@dataclass(frozen=True, slots=True)
class System:
    """A run, or a model with its checkpoint, if it has one.

    A model re-ranks the task's candidates, or with a ``retriever`` ranks the whole collection. A
    run may have runs of the same system over ``rotated`` collections. ``spread`` has other
    processes score with the model, which needs its checkpoint.
    """

    name: str
    run: Run | None = None
    model: AnyRanker | None = None
    checkpoint: Checkpoint | None = None
    retriever: Retriever | None = None
    rotated: Sequence[RotatedRun] = ()
    spread: Spread | None = None

    @staticmethod
    def of(checkpoint: Checkpoint, name: str | None = None, spread: Spread | None = None) -> System:
        """Return a loaded model as a re-ranker, under its own name or another."""
        name = name or checkpoint.ended_name
        return System(name, model=checkpoint.model, checkpoint=checkpoint, spread=spread)

    @property
    def role(self) -> str:
        """The part that it plays in the audit."""
        return RUN if self.model is None else RETRIEVER if self.retriever else RERANKER

    def ranked(self, task: Task, rotated: RotatedTexts | None = None, description: str = "") -> Run:
        """Return the run itself, or the model's ranking, over original or ``rotated`` passages.

        Raises:
            InputError: the run ranks none of the audited queries, or the model's scores are not
                finite.
        """
        description = description or self.name
        if self.retriever is not None:
            return self.retriever.rank(self.name, description, rotated)
        if self.run is None:
            scored = self.scored(task, rotated or task.collection, task.candidates, description)
            return _with_scores(scored)
        if not any(scores_of(self.run, query_id) for query_id in task.query_ids):
            raise InputError(
                f"run {self.name!r}: wanted rankings of at least one of the "
                f"{len(task.query_ids):,} audited queries; found none; check --split and that the "
                "run belongs to this collection"
            )
        return self.run

    def scored(
        self,
        task: Task,
        texts: PassageTexts,
        candidates: Run,
        description: str,
        queries: Sequence[Query] | None = None,
    ) -> Run:
        """Return the model's scores of these candidates, read from ``texts``, for the task's
        queries or others; NaN where an endpoint gives none.
        """
        from positionbias.ranking.rerank import rescore, rescore_by_blocks

        assert self.model is not None
        options: dict[str, Any] = {"name": self.name, "config": task.config, "missing": True}
        options["description"] = description
        inputs = texts, task.queries if queries is None else queries, candidates
        try:
            if self.spread is None or self.checkpoint is None:
                return rescore(self.model, *inputs, **options).run
            options["carried"] = not isinstance(texts, Collection | RotatedTexts)
            return rescore_by_blocks(self.checkpoint, *inputs, self.spread, **options).run
        except InputError as error:
            raise type(error)(str(error).replace("\\x1f", ", made text ")) from error

    def scores(
        self,
        task: Task,
        texts: PassageTexts,
        lists: Mapping[str, tuple[str, Sequence[str]]],
        description: str,
    ) -> dict[str, dict[str, float]]:
        """Return the model's scores of lists by name, each with its query's text and its ordered
        passages: a score by passage.
        """
        run = Run("made", ((name, ids, -np.arange(len(ids))) for name, (_, ids) in lists.items()))
        queries = [Query(name, text) for name, (text, _) in lists.items()]
        scored = self.scored(task, texts, run, description, queries)
        return {name: scores_of(scored, name) for name in lists}


def retriever_of(
    checkpoint: Checkpoint, task: Task, depth: int, spread: Spread | None = None
) -> System:
    """Return a model as a retriever over the whole collection; ``spread`` has other processes
    encode with it.
    """
    from positionbias.dense.retriever import Retriever  # with torch

    retriever = Retriever(
        checkpoint, task.collection, task.queries, depth=depth, config=task.config, spread=spread
    )
    name = f"{checkpoint.ended_name}, whole collection"
    return System(name, model=checkpoint.model, checkpoint=checkpoint, retriever=retriever)


def _with_scores(run: Run) -> Run:
    """Leave out the passages without a score, and queries without any."""
    known = []
    for query_id, ids, scores in run.rankings():
        held = ~np.isnan(scores)
        if held.any():
            known.append((query_id, np.array(ids, object)[held].tolist(), scores[held]))
    return Run(run.name, known)


def scores_of(run: Run, query_id: str) -> dict[str, float]:
    """Return a query's scores by passage, best first; none if the run does not rank it."""
    if query_id not in run:
        return {}
    ranking = run[query_id]
    scores = np.asarray(ranking.scores, np.float64).tolist()
    return dict(zip(ranking.passage_ids, scores, strict=True))


def check_names(systems: Sequence[System]) -> None:
    """Refuse two systems with one name."""
    (name, times), *_ = [*Counter(system.name for system in systems).most_common(1), ("", 0)]
    if times > 1:
        raise InputError(
            f"systems: wanted a name each; found {name!r} twice; rename one of the folders or "
            "runs' tags"
        )
