"""Audited systems: a run, or a model that can score other texts, as a re-ranker or a retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from positionbias.audit.evidence import FoundEvidence
from positionbias.audit.made_ids import own_ids
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.settings import MEMORY
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.models.protocols import AnyRanker
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.ranking.config import RankingConfig, Spread
from positionbias.ranking.scored import PassageTexts

if TYPE_CHECKING:
    from positionbias.audit.retriever import Retriever
    from positionbias.dense.vectors import Vectors
    from positionbias.models.checkpoint import Checkpoint

__all__ = [
    "FIRST_STAGE",
    "RERANKER",
    "RETRIEVER",
    "RUN",
    "Measurement",
    "System",
    "Task",
    "distinct_names",
    "retrievers",
]

# roles of what is measured
FIRST_STAGE = "first stage"  # the ranking that models re-rank
RERANKER, RETRIEVER, RUN = "re-ranker", "retriever", "run"


class Measurement(NamedTuple):
    """Figures of one measure of a system, by its name and its role."""

    system: str
    role: str
    measure: str
    figures: Any


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

    def values(self, run: Run, measures: Sequence[str]) -> dict[str, np.ndarray]:
        """Return each measure's value of every audited query, ``(queries,)``; 0 without
        candidates.
        """
        found = per_query(run, self.qrels, measures, query_ids=self.query_ids)
        return {
            name: np.array([values[query_id] for query_id in self.query_ids])
            for name, values in found.items()
        }


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
    first_stage: bool = False
    retriever: Retriever | None = None
    rotated: Sequence[RotatedRun] = ()
    spread: Spread | None = None

    @staticmethod
    def of(checkpoint: Checkpoint, name: str | None = None, spread: Spread | None = None) -> System:
        """Return a loaded model as a re-ranker, under its own name or another."""
        return System(
            name or checkpoint.ended_name,
            model=checkpoint.model,
            checkpoint=checkpoint,
            spread=spread,
        )

    @staticmethod
    def retrieving(
        checkpoint: Checkpoint,
        task: Task,
        *,
        depth: int,
        memory: float = MEMORY,
        vectors: Vectors | None = None,
        spread: Spread | None = None,
    ) -> System:
        """Return a loaded model as a retriever over the whole collection, named accordingly.

        Raises:
            SettingError, InputError: as ``Retriever``.
        """
        from positionbias.audit.retriever import WHOLE, Retriever

        retriever = Retriever(
            checkpoint,
            task.collection,
            task.queries,
            depth=depth,
            config=task.config,
            vectors=vectors,
            memory=memory,
            spread=spread,
        )
        return System(
            f"{checkpoint.ended_name}, {WHOLE}",
            model=checkpoint.model,
            checkpoint=checkpoint,
            retriever=retriever,
        )

    @property
    def kind(self) -> str:
        """The kind of model; empty for a run."""
        return self.model.kind if self.model is not None else ""

    @staticmethod
    def of_candidates(task: Task) -> System:
        """Return the first stage as a system."""
        return System(task.candidates.name, run=task.candidates, first_stage=True)

    @property
    def role(self) -> str:
        """The part that it plays in the audit."""
        if self.first_stage:
            return FIRST_STAGE
        if self.model is None:
            return RUN
        return RETRIEVER if self.retriever else RERANKER

    def measured(self, measure: str, figures: Any) -> Measurement:
        """Return figures of this system."""
        return Measurement(self.name, self.role, measure, figures)

    def ranked(self, task: Task, rotated: RotatedTexts | None = None, description: str = "") -> Run:
        """Return the run itself, or the model's ranking, over original or ``rotated`` passages.

        Raises:
            InputError: the run ranks none of the audited queries, or the model's scores are not
                finite.
        """
        if self.retriever is not None:
            return self.retriever.rank(self.name, description or self.name, rotated)
        if self.run is None:
            return self.scored(
                task, rotated or task.collection, task.candidates, description or self.name
            )
        if not any(
            query_id in self.run and len(self.run.numbers(query_id)) for query_id in task.query_ids
        ):
            raise InputError(
                f"run {self.name!r}: wanted rankings of at least one of the "
                f"{len(task.query_ids):,} audited queries; found none; check --split and that the "
                "run belongs to this collection"
            )
        return self.run

    def advise(self, task: Task) -> None:
        """Remark where another precision would be faster for a re-ranker."""
        if self.model is not None and self.retriever is None:
            task.config.advise(self.model, task.candidates.pairs)

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
        asked, config = task.queries if queries is None else queries, task.config
        with own_ids(
            {query_id: item.passage_id for query_id, item in task.evidence.by_query.items()}
        ):
            if self.spread is None or self.checkpoint is None:
                return rescore(
                    self.model,
                    texts,
                    asked,
                    candidates,
                    name=self.name,
                    config=config,
                    description=description,
                    missing=True,
                ).run
            return rescore_by_blocks(
                self.checkpoint,
                texts,
                asked,
                candidates,
                self.spread,
                name=self.name,
                config=config,
                description=description,
                carried=not isinstance(texts, Collection | RotatedTexts),
                missing=True,
            ).run


def retrievers(
    checkpoints: Sequence[Checkpoint],
    task: Task,
    *,
    depth: int,
    memory: float = MEMORY,
    vectors: Sequence[Vectors] = (),
    spreads: Sequence[Spread | None] = (),
) -> list[System]:
    """Return each model as a retriever, with its vectors, and if given the processes that encode
    with it.

    Raises:
        InputError, SettingError: as ``fitting_vectors``, or too little memory for one pass over the
            passages.
    """
    from positionbias.audit.retriever import fitting_vectors

    own = fitting_vectors(
        checkpoints, task.collection, vectors, depth=depth, config=task.config, memory=memory
    )
    return [
        System.retrieving(checkpoint, task, depth=depth, memory=memory, vectors=of, spread=spread)
        for checkpoint, of, spread in zip(
            checkpoints, own, spreads or [None] * len(own), strict=True
        )
    ]


def distinct_names(systems: Sequence[System]) -> Mapping[str, System]:
    """Return the systems by name.

    Raises:
        InputError: two systems with one name.
    """
    by_name: dict[str, System] = {}
    for system in systems:
        if system.name in by_name:
            raise InputError(
                f"systems: wanted a name each; found {system.name!r} twice; rename one of the "
                "folders or runs' tags"
            )
        by_name[system.name] = system
    return by_name
