"""Which remedies are dominated: another one of the same model has more quality and less bias, both
beyond chance.

All pairs of a model's remedies, and no remedy, are compared by quality and by the size of the
effect of moved sentences, over trainings and queries. Their p-values are corrected together (Holm),
so that the chance of any false sentence about a model is at most 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from positionbias.evaluation.crossed import Crossed
from positionbias.evaluation.significance import HOLM, corrected
from positionbias.evaluation.trainings import Repeat, Values, change_over, paired
from positionbias.experiments.over_trainings import Find
from positionbias.papers.position_bias import MOVED
from positionbias.results.payloads import Finding, PerQuery
from positionbias.results.result import Result

__all__ = ["dominated"]

LEVEL = 0.05  # of all comparisons of a model together
_Repeats = Mapping[Repeat, Values]


class _Pair(NamedTuple):
    """Two remedies, and the second's quality and size of bias less the first's."""

    first: str
    second: str
    quality: Crossed
    bias: Crossed


def dominated(
    results: Sequence[Result], measure: str, values: Find, clusters: Mapping[str, str]
) -> list[Finding]:
    """Say of each model which remedies are dominated, and by which; nothing of a model with fewer
    than two to compare.

    ``values`` looks up what is compared, of moved sentences sizes.
    """
    found = []
    for model in dict.fromkeys(result.facts.model for result in results if result.measure == MOVED):
        pairs = list(_pairs(results, model, measure, values, clusters))
        if pairs:
            found.append(_sentence(model, pairs))
    return found


def _pairs(
    results: Sequence[Result], model: str, measure: str, values: Find, clusters: Mapping[str, str]
) -> list[_Pair]:
    of = [_repeats(results, model, name, values) for name in (measure, MOVED)]
    variants = [variant for variant in of[0] if variant in of[1]]
    return [
        _Pair(
            first,
            second,
            *(change_over(paired(side[first], side[second]), clusters).difference for side in of),
        )
        for first, second in combinations(variants, 2)
    ]


def _repeats(
    results: Sequence[Result], model: str, measure: str, values: Find
) -> dict[str, _Repeats]:
    """Return each remedy's values by finished training, on original passages."""
    found: dict[str, dict[Repeat, Values]] = {}
    for result in results:
        facts = result.facts
        of_remedy = (
            facts.model == model
            and facts.test == "original"
            and facts.variant
            and not facts.unfinished
        )
        if of_remedy and isinstance(result.payload, PerQuery) and result.measure == measure:
            found.setdefault(facts.variant, {})[facts.seed, None] = values(measure, facts)
    return dict(found)


def _sentence(model: str, pairs: Sequence[_Pair]) -> Finding:
    tests = [side for pair in pairs for side in (pair.quality, pair.bias)]
    known = [side.p for side in tests if side.p is not None]
    adjusted = iter(corrected(known, HOLM))
    sure = [side.p is not None and next(adjusted) < LEVEL for side in tests]
    worse: dict[str, list[str]] = {}
    for pair, quality, bias in zip(pairs, sure[::2], sure[1::2], strict=True):
        signs = (pair.quality.value or 0.0) > 0, (pair.bias.value or 0.0) < 0
        if quality and bias and signs[0] == signs[1]:
            loser, winner = (pair.first, pair.second) if signs[0] else (pair.second, pair.first)
            worse.setdefault(loser, []).append(winner)
    over = f"{len(known)} comparisons of {model}, corrected together"
    if not known:
        return Finding(
            f"{model}: whether a remedy is dominated by another, these data do not decide: two "
            "trainings have no intervals.",
            None,
        )
    if not worse:
        return Finding(
            f"{model}: no remedy is shown to be dominated by another, with less quality and more "
            f"bias ({over}).",
            None,
        )
    named = "; ".join(f"{loser} by {', '.join(winners)}" for loser, winners in worse.items())
    return Finding(f"{model}: dominated, with less quality and more bias: {named} ({over}).", True)
