"""Let the scores that an endpoint did not give enter an audit at their worst, both ways.

Nothing replaces a missing score. Where one is missing, each effect is computed twice: as high as
any score in its place could make it, and as low. A verdict stands only if it is the same both ways;
its effects then span both intervals. Otherwise it is *cannot tell*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from positionbias.audit.answers import Missing
from positionbias.core.records import Qrel
from positionbias.core.run import Run

__all__ = ["completed", "filled", "missing_in"]


def missing_in(lists: Mapping[str, Iterable[float]], query_of: Mapping[str, str]) -> Missing | None:
    """Count missing scores in lists by name, of the queries in ``query_of``; None if there are
    none.
    """
    gone = {name: np.isnan(np.fromiter(scores, np.float64)) for name, scores in lists.items()}
    lacking = [name for name, missing in gone.items() if missing.any()]
    if not lacking:
        return None
    return Missing(
        sum(int(missing.sum()) for missing in gone.values()),
        sum(map(len, gone.values())),
        len(lacking),
        len(gone),
        len({query_of.get(name, name) for name in lacking}),
    )


def filled(known: Mapping[tuple[str, str], float], *, best: bool) -> dict[tuple[str, str], float]:
    """Return scores by (list, text) with missing ones at the end that is best for the list's own
    text, which has the list's name, or worst.

    A missing score of that text is above all others, or below; of other texts of its list it is the
    other way round.
    """
    given = np.fromiter(known.values(), np.float64, len(known))
    missing = np.isnan(given)
    if not missing.any():
        return dict(known)
    finite = given[~missing]
    low, high = (finite.min() - 1, finite.max() + 1) if len(finite) else (-1.0, 1.0)
    return {
        key: (high if best == (key[0] == key[1]) else low) if gone else score
        for (key, score), gone in zip(known.items(), missing.tolist(), strict=True)
    }


def completed(run: Run, qrels: Sequence[Qrel], *, best: bool) -> Run:
    """Return a run with its missing passages at the places that are best for any measure of
    quality, or worst: relevant ones before all others and irrelevant ones behind them, or the other
    way round."""
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in qrels}
    rankings, changed = [], False
    for query_id, names, scores in run.rankings():
        missing = np.isnan(scores)
        if missing.any():
            changed = True
            lost = [name for name, gone in zip(names, missing.tolist(), strict=True) if gone]
            grade_of = {name: grades.get((query_id, name), 0) for name in lost}
            by_grade = sorted(lost, key=lambda name: -grade_of[name], reverse=not best)
            split = [name for name in by_grade if (grade_of[name] > 0) == best]
            read = [name for name, gone in zip(names, missing.tolist(), strict=True) if not gone]
            names = [*split, *read, *(name for name in by_grade if name not in split)]
            scores = np.arange(len(names), dtype=np.float32)[::-1]
        rankings.append((query_id, names, scores))
    return Run(run.name, rankings) if changed else run
