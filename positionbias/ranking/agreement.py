"""How far results in int8 are from those in float32, measured on a drawn part of the user's own input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order

__all__ = ["SAMPLE", "ListAgreement", "VectorAgreement", "drawn_lists", "drawn_texts", "list_agreement", "vector_agreement"]

SAMPLE = 200  # pairs or texts [decision]
_QUERIES, _LEAST, _MOST = 20, 20, 200  # queries, and the candidates of each [decision]
_SHARE = 50  # of the pairs one in so many, where these are more: both precisions together take 5 % of the work
_FIRST = 10
_PURPOSE, _SEED = "int8 beside float32", 1


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """Means over queries: Kendall's tau of the lists, and of those with more than ten candidates how many of the first ten are the same."""

    queries: int
    pairs: int
    tau: float
    first_ten: float | None

    def told(self) -> str:
        """Say it in a line."""
        first = "" if self.first_ten is None else f", {self.first_ten:.1f} of the first {_FIRST} the same"
        return f"int8 beside float32, {self.pairs:,} pairs of {self.queries} queries: Kendall's tau {self.tau:.3f}{first}"


@dataclass(frozen=True, slots=True)
class VectorAgreement:
    """The mean and least cosine of a text's two vectors."""

    texts: int
    mean: float
    least: float

    def told(self) -> str:
        """Say it in a line."""
        return f"int8 beside float32, {self.texts:,} texts: cosine {self.mean:.4f} on average, {self.least:.4f} at least"


def drawn_lists(candidates: Run) -> Run:
    """Return the first candidates of up to 20 drawn queries with two or more: 200 pairs, or a fiftieth of all if that is more."""
    budget = max(SAMPLE, candidates.pairs // _SHARE)
    asked = [query_id for query_id in candidates if len(candidates.numbers(query_id)) > 1]
    depth = min(_MOST, max(_LEAST, budget // _QUERIES))
    lists = []
    for query_id in drawn_order(asked, _SEED, _PURPOSE)[:_QUERIES]:
        whole = candidates[query_id]
        size = min(depth, budget, len(whole.passage_ids))
        if size < 2:
            break
        lists.append((query_id, whole.passage_ids[:size], whole.scores[:size]))
        budget -= size
    return Run(candidates.name, lists)


def list_agreement(expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> ListAgreement:
    """Compare scores by query, ``(candidates,)`` each, of one query or more with two candidates or more."""
    taus, same = [], []
    for query_id, scores in expected.items():
        one, other = _places(scores), _places(found[query_id])
        upper = np.triu_indices(len(one), 1)
        taus.append(float(np.mean([np.sign(one[upper[0]] - one[upper[1]]) * np.sign(other[upper[0]] - other[upper[1]])])))
        if len(one) > _FIRST:  # the first ten of ten are always the same
            same.append(int(((one < _FIRST) & (other < _FIRST)).sum()))
    pairs = sum(map(len, expected.values()))
    return ListAgreement(len(expected), pairs, float(np.mean(taus)), float(np.mean(same)) if same else None)


def _places(scores: np.ndarray) -> np.ndarray:
    """Return each candidate's place by falling score; equal scores stay in order."""
    places = np.empty(len(scores), np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return places


def vector_agreement(expected: np.ndarray, found: np.ndarray) -> VectorAgreement:
    """Compare vectors ``(n, dim)`` of the same texts, n at least 1. Two zeros agree."""
    one, other = expected.astype(np.float64), found.astype(np.float64)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    zeros = ~one.any(axis=1) & ~other.any(axis=1)
    cosines = np.where(zeros, 1.0, (one * other).sum(axis=1) / np.where(lengths > 0, lengths, 1.0))
    return VectorAgreement(len(one), float(cosines.mean()), float(cosines.min()))


def drawn_texts(texts: Sequence[str]) -> list[str]:
    """Return up to 200 drawn texts, different ones."""
    return drawn_order(set(texts), _SEED, _PURPOSE)[:SAMPLE]
