"""Audited systems: a run, or a model that can score other texts, as a re-ranker or a retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from positionbias.audit.answers import Verdict
from positionbias.audit.evidence import FoundEvidence
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.models.protocols import AnyRanker
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.ranking.scored import PassageTexts
from positionbias.text.sentences import Parts, parts_of

if TYPE_CHECKING:
    from positionbias.audit.retriever import Retriever
    from positionbias.models.checkpoint import Checkpoint

__all__ = [
    "RERANKER",
    "RETRIEVER",
    "RUN",
    "Measurement",
    "RotatedRun",
    "Rows",
    "System",
    "Task",
    "counted",
    "check_names",
    "made_id",
    "scores_of",
]

# roles of what is measured
RERANKER, RETRIEVER, RUN = "re-ranker", "retriever", "run"


Rows = Sequence[Mapping[str, Any]]  # as ``Collected.add`` takes them


class Measurement(NamedTuple):
    """A verdict on a system, or rows of what was measured of it, with its name and its role."""

    system: str
    role: str
    figures: Verdict | Rows


def made_id(query_id: str, what: int | str) -> str:
    """Return the id of a text or list made for a query, by its number or another label."""
    return f"{query_id}\x1f{what}"


def counted(measure: str, numbers: Mapping[str, float | str]) -> Rows:
    """Return counts and words as rows of one measure."""
    return [
        {"measure": measure, "statistic": name, "value": None, "label": number}
        if isinstance(number, str)
        else {"measure": measure, "statistic": name, "value": number}
        for name, number in numbers.items()
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
        held = query_id in self.candidates
        return list(self.candidates[query_id].passage_ids) if held else []

    def values(self, run: Run, measure: str) -> np.ndarray:
        """Return the measure of every audited query, ``(queries,)``; 0 without candidates."""
        values = per_query(run, self.qrels, [measure], query_ids=self.query_ids)[measure]
        return np.array([values[query_id] for query_id in self.query_ids])


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
        if self.model is None:
            return RUN
        return RETRIEVER if self.retriever else RERANKER

    def measured(self, figures: Verdict | Rows) -> Measurement:
        """Return figures of this system."""
        return Measurement(self.name, self.role, figures)

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
            texts = rotated or task.collection
            return _with_scores(self.scored(task, texts, task.candidates, description))
        run = self.run
        if not any(name in run and len(run.numbers(name)) for name in task.query_ids):
            raise InputError(
                f"run {self.name!r}: wanted rankings of at least one of the "
                f"{len(task.query_ids):,} audited queries; found none; check --split and that the "
                "run belongs to this collection"
            )
        return run

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
        options: dict[str, Any] = {
            "name": self.name,
            "config": task.config,
            "description": description,
            "missing": True,
        }
        inputs = (texts, task.queries if queries is None else queries, candidates)
        try:
            if self.spread is None or self.checkpoint is None:
                return rescore(self.model, *inputs, **options).run
            carried = not isinstance(texts, Collection | RotatedTexts)
            return rescore_by_blocks(
                self.checkpoint, *inputs, self.spread, carried=carried, **options
            ).run
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


def _with_scores(run: Run) -> Run:
    """Leave out the passages without a score, and queries without any."""
    rankings = list(run.rankings())
    if not any(np.isnan(scores).any() for *_, scores in rankings):
        return run
    known = (
        (
            query_id,
            [name for name, score in zip(ids, scores, strict=True) if score == score],
            scores[~np.isnan(scores)],
        )
        for query_id, ids, scores in rankings
    )
    return Run(run.name, (one for one in known if one[1]))


def scores_of(run: Run, query_id: str) -> dict[str, float]:
    """Return a query's scores by passage, best first; none if the run does not rank it."""
    if query_id not in run:
        return {}
    ranking = run[query_id]
    scores = np.asarray(ranking.scores, np.float64).tolist()
    return dict(zip(ranking.passage_ids, scores, strict=True))


def check_names(systems: Sequence[System]) -> None:
    """Refuse two systems with one name.

    Raises:
        InputError: there are such.
    """
    names = [system.name for system in systems]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"systems: wanted a name each; found {name!r} twice; rename one of the folders or "
                "runs' tags"
            )
