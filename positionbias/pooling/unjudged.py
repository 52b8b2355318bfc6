"""Number the unjudged documents of runs, and describe them by features from the pooled runs.

All documents at the top of a run are numbered, so that unjudged documents shared by runs are
recognised; the judgements are a pool within these documents. A left-out pooled group gives labelled
examples: documents that would be unjudged without it, with their grades. Documents that are
unjudged even with it count as not relevant, as in the scores of pooled runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas
from pandas import DataFrame

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.evaluation.judged_runs import (
    NO_GRADE,
    NOT_RETRIEVED,
    JudgedRuns,
    System,
    grades_in,
    judge_runs,
    kinds_of,
)

JUDGED = 0.95  # the least judged share of a run's top that is judged to its depth [decision]
_UNJUDGED = -(1 << 20)  # below every grade, so that unjudged documents are last in their query
_BINS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)  # ranks where the probability may change [decision]


@dataclass(frozen=True)
class OpenRuns:
    """``runs`` over all numbered documents; ``known (documents,)`` bool marks judged ones. Every
    run's documents are numbered to rank ``depth``.

    ``deep``: every document that two groups retrieved would be judged without either of them, not
    only documents within their judged depths.
    """

    runs: JudgedRuns
    known: np.ndarray
    depth: int
    deep: bool = False

    @cached_property
    def grades(self) -> np.ndarray:
        """Return the judged grades, ``(documents,)`` int16."""
        return grades_in(self.runs, self.known)

    @cached_property
    def known_places(self) -> np.ndarray:
        """Return the mask of ranks with a judged document, ``(queries, runs, depth)`` bool."""
        return np.pad(self.known, (0, 2))[self.runs.places]

    @cached_property
    def groups(self) -> np.ndarray:
        """Return the groups, sorted by name."""
        return np.unique(self.runs.groups)

    @cached_property
    def group_of(self) -> np.ndarray:
        """Return the group of each run, ``(runs,)``, as an index of ``groups``."""
        return np.searchsorted(self.groups, self.runs.groups)

    def by_group(self, ranks: np.ndarray) -> np.ndarray:
        """Return each document's best rank in each group, ``(groups, documents)``, of ``ranks``."""
        members = [self.group_of == group for group in range(len(self.groups))]
        return np.stack([ranks[runs].min(axis=0) for runs in members])

    @cached_property
    def retrieved(self) -> np.ndarray:
        """Return the best rank, from 0, of each document in each group, ``(groups, documents)``."""
        return self.by_group(self.runs.ranks)

    @cached_property
    def within(self) -> np.ndarray:
        """Return the mask of documents within the judged depth of a group's run, the lowest rank to
        which 95 % of its documents over all queries are judged, ``(groups, documents)`` bool.
        """
        there = self.runs.there.sum(axis=0).cumsum(axis=-1)
        enough = self.known_places.sum(axis=0).cumsum(axis=-1) >= JUDGED * np.maximum(there, 1)
        ranks = np.arange(1, enough.shape[-1] + 1)
        depths = (enough * ranks).max(axis=-1)
        return ~self.by_group(self.runs.ranks >= depths[:, None])

    def judged_without(self, group: int) -> np.ndarray:
        """Return the mask of documents that would be judged without a group, ``(documents,)`` bool:
        not those within the judged depths of its runs and of no other group's (``deep``: at any
        rank).
        """
        kept = self.retrieved != NOT_RETRIEVED if self.deep else self.within
        return self.known & ~(self.within[group] & (kept.sum(axis=0) == kept[group]))

    def judged_below(self, run: int) -> float:
        """Return the judged share of the documents in a run's top that other groups retrieved only
        below their judged depths, near 1 if ``deep`` describes the judgements; 0 without any.
        """
        others = np.arange(len(self.groups)) != self.group_of[run]
        below = (self.retrieved[others] != NOT_RETRIEVED).any(axis=0)
        top = below & ~self.within[others].any(axis=0) & (self.runs.ranks[run] < self.depth)
        return float(self.known[top].mean()) if top.any() else 0.0

    def without(
        self, runs: Sequence[int] | np.ndarray, known: np.ndarray, *, deep: bool = False
    ) -> OpenRuns:
        """Return the same documents without ``runs``, and with ``known`` as the judged ones."""
        rest = np.setdiff1d(np.arange(len(self.runs.systems)), runs)
        return OpenRuns(self.runs.only(rest), known, self.depth, deep)


def open_runs(
    read: Callable[[], Iterable[tuple[System, Run]]], qrels: Sequence[Qrel], depth: int
) -> OpenRuns:
    """Number the documents that are judged or among the first ``depth`` of any run. ``read`` yields
    the runs and is called twice.

    Raises:
        InputError: as for ``judge_runs``, or no relevant document.
    """
    if not any(qrel.grade > 0 for qrel in qrels):
        raise InputError(
            "judgements: wanted a document of grade 1 or more; found none; check the qrels"
        )
    judged, queries = {qrel[:2] for qrel in qrels}, {qrel.query_id for qrel in qrels}
    tops = (run[query_id] for _, run in read() for query_id in queries.intersection(run))
    seen = {(top.query_id, document) for top in tops for document in top.passage_ids[:depth]}
    runs = judge_runs(read(), [*qrels, *(Qrel(*ids, _UNJUDGED) for ids in seen - judged)])
    known = runs.grades != _UNJUDGED
    return OpenRuns(replace(runs, grades=np.where(known, runs.grades, NO_GRADE)), known, depth)


def left_out_documents(pool: OpenRuns, group: int) -> DataFrame:
    """Return the documents of a pooled group's runs that would be unjudged without the group; a
    document's rows have the weight of one together.
    """
    judged, kinds = pool.judged_without(group), kinds_of(pool.runs.systems)
    runs = np.flatnonzero(pool.group_of == group).tolist()
    documents = pandas.concat([unseen_documents(pool, run, judged, kinds) for run in runs])
    rows = documents.groupby("document")["document"].transform("size")
    return documents.assign(weight=1 / rows)


def unseen_documents(
    pool: OpenRuns, run: int, judged: np.ndarray, kinds: Sequence[str]
) -> DataFrame:
    """Return a run's documents within ``depth`` that are not among ``judged (documents,)``, with
    features from the other groups and ``kinds``: first ``PLACES`` (rank from 0), then numbers, then
    marks (0 or 1).
    """
    runs, others = pool.runs, np.arange(len(pool.groups)) != pool.group_of[run]
    top, padded = runs.places[:, run, : pool.depth], np.pad(judged, (0, 2))
    is_open = ~padded[top] & (top < runs.unjudged)
    query, rank = np.nonzero(is_open)
    document = top[query, rank]
    best = pool.retrieved[np.ix_(others, document)]
    held = (best != NOT_RETRIEVED).sum(axis=0)
    best_rank = best.min(axis=0, initial=NOT_RETRIEVED).astype(np.float64)
    relevant = padded & np.pad(runs.grades > 0, (0, 2))
    good, seen = relevant[top].sum(axis=1), padded[top].sum(axis=1)
    of_query = _log_odds(runs.by_query(relevant[:-2]), runs.by_query(judged))
    features = {
        "log rank": np.log1p(rank),
        "groups with the document": _log_odds(held, others.sum()),
        "log of its best rank there": np.where(held > 0, np.log1p(best_rank), 0),
        "relevance of the run": _log_odds(good.sum(), seen.sum()),
        "relevance of the run on the query": _log_odds(good, seen)[query],
        "relevance of the query": of_query[query],
        "unjudged": _log_odds(is_open.sum(), runs.there[:, run, : pool.depth].sum()),
        "mark: nowhere else": held == 0,
    }
    bins = np.searchsorted(_BINS, rank, side="right")
    features |= {f"mark: bin {place}": bins == place for place in range(1, len(_BINS) + 1)}
    if len(kinds) > 1:
        features |= {f"mark: {kind}": runs.systems[run].kind == kind for kind in kinds}
    places = {"query": query, "rank": rank, "document": document, "run": run, "weight": 1.0}
    return DataFrame({**places, **features}, index=range(len(rank)))


def _log_odds(yes: np.ndarray, all_: np.ndarray) -> np.ndarray:
    return np.log((yes + 0.5) / (all_ - yes + 0.5))
