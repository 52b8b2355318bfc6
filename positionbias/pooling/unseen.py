"""Describe a run's unjudged documents by features from the pooled runs.

A left-out pooled group gives labelled examples: documents that would be unjudged without it, with
their grades. Documents that are unjudged even with it count as not relevant, as in the scores of
pooled runs. So the fit gives the probability that a document would be judged relevant if the run
took part in the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.pooling.judged_runs import NOT_RETRIEVED
from positionbias.pooling.open_runs import OpenRuns
from positionbias.pooling.systems import kinds_of

__all__ = ["NUMBERS", "OPEN_SHARE", "Unseen", "joined", "left_out_documents", "unseen_documents"]

# ranks, from 0, at which the probability may change [decision]
_BINS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
NUMBERS = 7  # the first features are numbers, to be standardised; the others are 0 or 1
OPEN_SHARE = NUMBERS - 1  # the log odds of an unjudged rank of the run


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """Documents of runs: ``query``, ``rank`` from 0, ``document`` number, ``run``, each
    ``(documents,)``; ``features (documents, …)``.

    ``weight`` is 1 / the number of a document's rows, so that a group's runs count it once.
    """

    query: np.ndarray
    rank: np.ndarray
    document: np.ndarray
    run: np.ndarray
    features: np.ndarray
    weight: np.ndarray

    def only(self, chosen: np.ndarray) -> Unseen:
        """Select rows, by number or bool."""
        return Unseen(
            *(
                values[chosen]
                for values in (
                    self.query,
                    self.rank,
                    self.document,
                    self.run,
                    self.features,
                    self.weight,
                )
            )
        )


def joined(parts: Sequence[Unseen]) -> Unseen:
    """Concatenate the rows of several parts."""
    fields = ("query", "rank", "document", "run", "features", "weight")
    return Unseen(*(np.concatenate([getattr(part, field) for part in parts]) for field in fields))


def left_out_documents(pool: OpenRuns, group: int) -> Unseen:
    """Return the documents of a pooled group's runs that would be unjudged without the group."""
    judged, others = pool.judged_without(group), np.arange(len(pool.groups)) != group
    kinds = kinds_of(pool.runs.systems)
    parts = [
        unseen_documents(pool, run, judged, others, kinds)
        for run in np.flatnonzero(pool.group_of == group).tolist()
    ]
    found = joined(parts)
    _, place, count = np.unique(found.document, return_inverse=True, return_counts=True)
    return Unseen(
        found.query, found.rank, found.document, found.run, found.features, 1 / count[place]
    )


def unseen_documents(
    pool: OpenRuns, run: int, judged: np.ndarray, others: np.ndarray, kinds: Sequence[str]
) -> Unseen:
    """Return a run's documents within ``depth`` that are not among ``judged (documents,)``, with
    features from the groups ``others`` (bool) and ``kinds``.

    Numeric features: the logarithm of the rank; the log odds of the groups with the document; the
    logarithm of its best rank there, and a flag for none; the log odds of relevance of judged
    documents in the run, in the run on this query, and of the query; the log odds of an unjudged
    rank.
    """
    top = pool.runs.places[:, run, : pool.depth]
    open_ = ~np.concatenate([judged, [True, True]])[top] & (top < pool.runs.unjudged)
    query, rank = np.nonzero(open_)
    document = top[query, rank]
    best = pool.best_ranks[np.ix_(others, document)]
    held = (best != NOT_RETRIEVED).sum(axis=0)
    first = np.where(
        held > 0, np.log1p(best.min(axis=0, initial=NOT_RETRIEVED).astype(np.float64)), 0
    )
    numbers = [
        np.log1p(rank),
        _log_odds(held, others.sum() - held),
        first,
        *_relevance(pool, top, judged, query),
    ]
    numbers.append(
        np.full(len(rank), _log_odds(open_.sum(), (top < pool.runs.nothing).sum() - open_.sum()))
    )
    kind = pool.runs.systems[run].kind
    marks = [
        held == 0,
        *(np.searchsorted(_BINS, rank, side="right") == bin_ for bin_ in range(1, len(_BINS) + 1)),
    ]
    marks += [np.full(len(rank), kind == other) for other in kinds] if len(kinds) > 1 else []
    features = np.column_stack([*numbers, *marks]).astype(np.float64)
    return Unseen(query, rank, document, np.full(len(rank), run), features, np.ones(len(rank)))


def _relevance(
    pool: OpenRuns, top: np.ndarray, judged: np.ndarray, query: np.ndarray
) -> list[np.ndarray]:
    """Return the log odds of relevance of judged documents: in the run, in the run on the query,
    and of the query, each ``(documents,)``.
    """
    padded = np.concatenate([judged, [False, False]])
    relevant = padded & np.concatenate([pool.runs.grades > 0, [False, False]])
    good, all_ = relevant[top].sum(axis=1), padded[top].sum(axis=1)
    of_query, of_all = pool.runs.by_query(relevant[:-2]), pool.runs.by_query(judged)
    whole = np.full(len(query), _log_odds(good.sum(), (all_ - good).sum()))
    return [
        whole,
        _log_odds(good, all_ - good)[query],
        _log_odds(of_query, of_all - of_query)[query],
    ]


def _log_odds(yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    return np.log((yes + 0.5) / (no + 0.5))
