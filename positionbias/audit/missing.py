"""Let the scores that an endpoint did not give enter an audit at their worst, both ways.

Nothing replaces a missing score. Where one is missing, each effect is computed twice: as high as
any score in its place could make it, and as low. A verdict stands only if it is the same both ways;
its effects then span both intervals. Otherwise it is *cannot tell*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.core.formatting import count, decimal
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.results.payloads import Effect, Preference, Verdict

__all__ = ["Missing", "agreed", "completed", "filled", "missing_in"]


class Missing(NamedTuple):
    """The scores and the answers (lists) that are missing, of how many; an answer is missing if one
    of its scores is.
    """

    scores: int
    all_scores: int
    answers: int
    all_answers: int
    queries: int

    def __str__(self) -> str:
        queries = "query" if self.queries == 1 else "queries"
        return (
            f"{count(self.answers)} of {count(self.all_answers)} answers, on {count(self.queries)} "
            f"{queries}, could not be read or left passages out: {count(self.scores)} of "
            f"{count(self.all_scores)} scores are missing and enter at their worst, both ways."
        )


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


def agreed(name: str, verdicts: Sequence[Verdict], missing: Missing) -> Verdict:
    """Return the verdict of several on the same queries that differ only by what missing scores
    are: one if they agree, else *cannot tell*.
    """
    first = verdicts[0]
    effects = _spanning([verdict.effects for verdict in verdicts])
    same = len({verdict.preference for verdict in verdicts}) == 1
    head = effects[0] if effects else None
    size = ""
    if head is not None:
        bounds = (
            "any value"
            if head.low is None or head.high is None
            else f"[{decimal(head.low)}, {decimal(head.high)}]"
        )
        size = f": {head.contrast} {bounds} {head.unit}"
    if same and first.preference is not Preference.UNKNOWN:
        said = (
            f"{name}: {first.preference}, whatever its missing scores are{size} "
            f"({count(first.queries)} queries)."
        )
    else:
        said = (
            f"{name}: cannot tell, as scores are missing{size} with these at their worst "
            f"({count(first.queries)} queries)."
        )
    exceeds = (
        first.exceeds if same and len({verdict.exceeds for verdict in verdicts}) == 1 else None
    )
    return replace(
        first,
        preference=first.preference if same else Preference.UNKNOWN,
        sentences=[
            said,
            str(missing),
            "Run it again to ask for these again, or audit a model whose answers can be read.",
        ],
        effects=effects,
        exceeds=exceeds,
        wanted=None,
        missing=missing.scores,
    )


def _spanning(found: Sequence[Sequence[Effect]]) -> list[Effect]:
    """Return each effect from its lowest to its highest; only those that all have."""
    by_key = [
        {(effect.contrast, effect.unit, effect.subset): effect for effect in effects}
        for effects in found
    ]
    spans = []
    for key, effect in by_key[0].items():
        if not all(key in effects for effects in by_key):
            continue
        ways = [effects[key] for effects in by_key]
        values = [way.value for way in ways if way.value is not None]
        low, high = [way.low for way in ways], [way.high for way in ways]
        spans.append(
            replace(
                effect,
                value=(min(values) + max(values)) / 2 if values else None,
                low=None if None in low else min(number for number in low if number is not None),
                high=None if None in high else max(number for number in high if number is not None),
                detectable=None,
            )
        )
    return spans
