"""Weights of training queries by the inverse propensity of their answers' places.

With b bins and p_k the share of bin k in the split's located answers, an answer in bin k has the weight 1 / (b · p_k), at most ``most``. In
the shares a query's answers count as one together, as its loss does: an answer may occur many times in its passage.
A query's weight is the mean over its answers' starts, scaled so that queries with located answers have the mean 1; others have the
weight 1 [our decisions], as do those whose answers have one possible start. A bin without answers has no weight: what a model does with answers there is not identified by this data, and
no weight repairs that. The same holds in part for a clipped bin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.formatting import percent
from positionbias.core.progress import track
from positionbias.core.shard_work import MapShards
from positionbias.positions.answers import SHARD_PASSAGES, AnswerShard, answer_shards, answers_by_query, counted_answers
from positionbias.positions.settings import Matching, PlaceWeights

__all__ = ["PlaceWeighting", "place_weights", "weights_of"]


@dataclass(frozen=True, slots=True)
class PlaceWeighting:
    """Weights by query, of mean 1 over queries with located answers; answers by bin; the bins that are clipped."""

    weights: Mapping[str, float]
    counts: tuple[int, ...]
    clipped: tuple[int, ...]

    @property
    def empty(self) -> tuple[int, ...]:
        """The bins without an answer."""
        return tuple(place for place, count in enumerate(self.counts) if not count)

    @property
    def effective(self) -> float:
        """Kish's effective sample size of the weighted queries, (Σw)² / Σw²."""
        values = np.array(list(self.weights.values()))
        return float(values.sum() ** 2 / (values**2).sum())

    def told(self) -> str:
        """Say what the weights do, and what they cannot."""
        line = f"weights by place: {len(self.weights):,} queries with located answers count as {self.effective:,.0f} of equal weight"
        unidentified = [
            f"{name}: {', '.join(self._part(place) for place in places)}"
            for name, places in (("without answers, not identified here", self.empty), ("clipped", self.clipped))
            if places
        ]
        return "; ".join([line, *unidentified])

    def _part(self, place: int) -> str:
        return f"{percent(place / len(self.counts), 0)} to {percent((place + 1) / len(self.counts), 0)}"


def place_weights(
    collection: Collection, split: str, settings: PlaceWeights | None = None, *, map_shards: MapShards = map
) -> PlaceWeighting:
    """Return the weights of a split's queries.

    Raises:
        InputError: no such split, or none of its answers can be found in its passage.
    """
    starts: defaultdict[str, list[float]] = defaultdict(list)
    shards = answer_shards(collection, split, SHARD_PASSAGES)
    for found in track(map_shards(partial(_starts, Matching()), shards), "answers", unit="shards"):
        for query_id, place in found:
            starts[query_id].append(place)
    if not starts:
        raise InputError(
            f"{collection.path}: wanted answers of split {split!r} within their passages, to weigh queries by their places; found none; "
            "leave the weights out, or attach answers (posbias attach)"
        )
    return weights_of(starts, settings or PlaceWeights())


def weights_of(starts: Mapping[str, list[float]], settings: PlaceWeights) -> PlaceWeighting:
    """Return the weights of queries with answers at these relative starts, each in [0, 1)."""
    bins = settings.bins
    by_query = {query_id: np.minimum((np.array(places) * bins).astype(int), bins - 1) for query_id, places in starts.items()}
    places = np.concatenate(list(by_query.values()))
    counts = np.bincount(places, minlength=bins)
    parts = np.concatenate([np.full(len(own), 1 / len(own)) for own in by_query.values()])
    with np.errstate(divide="ignore"):
        inverse = len(by_query) / (bins * np.bincount(places, parts, minlength=bins))
    clipped = np.flatnonzero((inverse > settings.most) & (counts > 0))
    kept = np.minimum(inverse, settings.most)
    raw = {query_id: float(kept[places].mean()) for query_id, places in by_query.items()}
    mean = sum(raw.values()) / len(raw)
    return PlaceWeighting(
        {query_id: weight / mean for query_id, weight in raw.items()},
        tuple(counts.tolist()),
        tuple(clipped.tolist()),
    )


def _starts(matching: Matching, shard: AnswerShard) -> list[tuple[str, float]]:
    """Return query and relative start of each located answer of a shard; a pure function of the shard."""
    return [
        (answer.query_id, passage.words_at(span).first / len(passage))
        for passage, answers in answers_by_query(matching, shard)
        for answer, _, spans, _ in counted_answers(passage, answers)
        for span in spans
        if passage.may_start_elsewhere(span)
    ]
