"""Make needles: a query's answering sentence at every place of its passage, with the other
sentences in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.audit.evidence import Evidence, FoundEvidence
from positionbias.audit.made_ids import made_id
from positionbias.audit.perturb import Needle, move_sentence
from positionbias.core.collection import Collection
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order, key64
from positionbias.evaluation.described import ResponseCurve
from positionbias.evaluation.response import Moved, response_curve

__all__ = ["Needles", "make_needles", "needle_curve"]


@dataclass(frozen=True, slots=True)
class Needles:
    """The versions of each query's passage, with ids of their own."""

    needles: Mapping[str, Needle]
    passages: Mapping[str, str]
    counts: Mapping[str, int]
    versions: Mapping[str, str]

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the texts of these versions."""
        return [self.versions[passage_id] for passage_id in passage_ids]

    def candidates(self, seed: int) -> Run:
        """Return every query's versions in a drawn order, as a scorer may depend on the order of
        its list.
        """
        lists = (
            (
                query_id,
                sorted(
                    (made_id(query_id, place) for place in range(len(found.texts))),
                    key=lambda name: (key64(seed, "order of a list", name), name),
                ),
            )
            for query_id, found in self.needles.items()
        )
        return Run(
            "needle", ((query_id, names, -np.arange(len(names))) for query_id, names in lists)
        )


def make_needles(
    collection: Collection, evidence: FoundEvidence, *, most: int, seed: int
) -> Needles:
    """Make versions for up to ``most`` queries drawn by the seed; count drawn queries without
    versions by reason.
    """
    drawn = drawn_order(evidence.query_ids, seed, "needle")
    needles: dict[str, Needle] = {}
    counts: Counter[str] = Counter()
    for query_id in drawn:
        if len(needles) == most:
            break
        item: Evidence = evidence.by_query[query_id]
        found = move_sentence(collection.texts([item.passage_id])[0], item.start, item.end)
        if isinstance(found, str):
            counts[found] += 1
        else:
            needles[query_id] = found
    needles = dict(sorted(needles.items()))
    versions = {
        made_id(query_id, place): text
        for query_id, found in needles.items()
        for place, text in enumerate(found.texts)
    }
    passages = {query_id: evidence.by_query[query_id].passage_id for query_id in needles}
    return Needles(needles, passages, dict(counts), versions)


def needle_curve(
    needles: Needles, score: Callable[[Needles], Run], ranked: Run, *, seed: int
) -> ResponseCurve | None:
    """Return the model's response to the place of the evidence; None if no passage had a sentence
    to move.

    ``score`` returns the model's scores of the versions; ``ranked`` is its run over the original
    passages (its candidates, or for a retriever the whole collection to its depth). Each version is
    ranked there in place of its passage, at worst after the last.
    """
    if not needles.needles:
        return None
    scored = score(needles)
    moved, deviations = [], []
    for query_id, found in needles.needles.items():
        ranking = scored[query_id]
        by_id = dict(zip(ranking.passage_ids, ranking.scores.tolist(), strict=True))
        scores = np.array([by_id[made_id(query_id, place)] for place in range(len(found.texts))])
        others = _others(ranked, query_id, needles.passages[query_id])
        ranks = 1 + (others[None, :] > scores[:, None]).sum(axis=1)
        places = np.arange(len(scores)) / (len(scores) - 1)
        moved.append(
            Moved(query_id, f"passage {needles.passages[query_id]}", places, scores, 1 / ranks)
        )
        if len(others) > 1:
            deviations.append(float(others.std()))
    unit = float(np.mean(deviations)) if deviations and np.mean(deviations) > 0 else 1.0
    curve = response_curve(moved, unit=unit, seed=seed)
    return replace(curve, figures=replace(curve.figures, unmoved=needles.counts))


def _others(ranked: Run, query_id: str, passage_id: str) -> np.ndarray:
    """Return the scores of a query's candidates without its own passage, float64."""
    if query_id not in ranked:
        return np.empty(0)
    ranking = ranked[query_id]
    keep = [place for place, name in enumerate(ranking.passage_ids) if name != passage_id]
    return np.asarray(ranking.scores, np.float64)[keep]
