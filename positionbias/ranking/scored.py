"""Input and output types of scoring candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from positionbias.core.run import Run


class PassageTexts(Protocol):
    """A source of texts: a Collection, or a view of one."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]: ...


class TextsById(dict[str, str]):
    """Texts by id, as a source of texts."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return these texts."""
        return [self[passage_id] for passage_id in passage_ids]


@dataclass
class Scored:
    """Scores by query id, ``(candidates,)`` float32 each, in the candidates' order, and counts.
    NaN: an endpoint gave none.

    ``truncated``: passages (or pairs) at the model's limit, which may have been cut; ``again``:
    repeated encodings of passages; ``empty``: queries without a word; ``batch_tokens``: the batch
    size to which the device's memory forced a cut.
    """

    scores: dict[str, np.ndarray] = field(default_factory=dict)
    truncated: int = 0
    again: int = 0
    empty: set[str] = field(default_factory=set)
    batch_tokens: int | None = None

    def add(self, other: Scored) -> None:
        """Add the scores and counts of other pairs."""
        self.scores |= other.scores
        self.truncated += other.truncated
        self.again += other.again
        self.empty |= other.empty
        self.batch_tokens = min(filter(None, (self.batch_tokens, other.batch_tokens)), default=None)


def missing_scores(run: Run) -> dict[str, list[str]]:
    """Return the passages without a score, by query."""
    without = ((ranking, np.isnan(ranking.scores)) for ranking in run.rankings())
    return {
        ranking.query_id: [
            name for name, gone in zip(ranking.passage_ids, missing.tolist(), strict=True) if gone
        ]
        for ranking, missing in without
        if missing.any()
    }


def missing_behind(run: Run) -> Run:
    """Return the run with scores for the missing ones: they fall below the others in steps of 1, in
    their order.
    """

    def scores(given: np.ndarray) -> np.ndarray:
        missing = np.isnan(given)
        below = np.floor(np.nanmin(given)) if not missing.all() else 0.0
        return np.where(missing, below - np.cumsum(missing), given)

    return Run(
        run.name,
        (
            (ranking.query_id, ranking.passage_ids, scores(ranking.scores))
            for ranking in run.rankings()
        ),
    )
