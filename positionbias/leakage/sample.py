"""Draw pairs to label for calibrating a threshold: the leakage paper's stratified sample, 100 pairs
from 0.8 up.

[decision] The paper names no strata; ours are 10 of equal width between 0.8 and 1 (scores above 1
by rounding are in the highest). Each gives the same number of pairs; if one is too small, the
others make up for it, highest first. In a stratum the pairs with the smallest keys by (seed, both
ids) are drawn. A pair's weight is its stratum's number of pairs divided by its number of drawn
pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from positionbias.core.errors import InputError
from positionbias.core.rows import Collected
from positionbias.core.seeds import key64
from positionbias.leakage.pairs import Pair, best_by_pair
from positionbias.leakage.settings import SampleSettings

__all__ = ["Stratum", "sample_rows", "stratified_sample"]

PURPOSE = "leakage sample"


class Stratum(NamedTuple):
    """A range of scores [``low``, ``high``), with its number of pairs and of drawn pairs."""

    low: float
    high: float
    pairs: int
    drawn: int


def stratified_sample(
    pairs: Iterable[Pair], settings: SampleSettings
) -> tuple[list[Pair], list[Stratum]]:
    """Draw weighted pairs in the order of their keys, which reveals no score; also return the
    strata in increasing order.

    Raises:
        InputError: a pair without the score, or none at or above ``above``.
    """
    found = best_by_pair(
        (pair for pair in pairs if settings.found_by in (None, *pair.found_by)), settings.score
    )
    width = (1 - settings.above) / settings.strata
    strata: list[list[Pair]] = [[] for _ in range(settings.strata)]
    found.sort(key=lambda pair: (key64(settings.seed, PURPOSE, *pair.ids.named), pair.ids))
    for pair in found:
        above = pair.scores[settings.score] - settings.above
        if above >= 0:
            strata[min(int(above / width + 1e-9), settings.strata - 1)].append(pair)
    if not any(strata):
        raise InputError(
            f"wanted pairs with a {settings.score} from {settings.above:g} up; found none of "
            f"{len(found):,}; lower --above"
        )
    counts = _shared_out([len(part) for part in strata], settings.sample_size)
    weights = {
        pair.ids: len(part) / count
        for part, count in zip(strata, counts, strict=True)
        for pair in part[:count]
    }
    drawn = [
        msgspec.structs.replace(pair, weight=weights[pair.ids])
        for pair in found
        if pair.ids in weights
    ]
    edges = [round(settings.above + width * n, 12) for n in range(settings.strata)] + [1.0]
    return drawn, [
        Stratum(low, high, len(part), count)
        for low, high, part, count in zip(edges, edges[1:], strata, counts, strict=False)
    ]


def _shared_out(there: Sequence[int], wanted: int) -> list[int]:
    """Allot ``wanted`` to the parts, one per round from the last part on, until all are allotted or
    exhausted.
    """
    counts = [0] * len(there)
    while sum(counts) < min(wanted, sum(there)):
        for part in reversed(range(len(there))):
            if counts[part] < there[part] and sum(counts) < wanted:
                counts[part] += 1
    return counts


def sample_rows(made: Collected, strata: Sequence[Stratum], score: str) -> None:
    """Add the numbers of pairs and of drawn pairs in each stratum."""
    for part in strata:
        where: dict[str, Any] = {
            "axis": score,
            "at": part.low,
            "label": f"{part.low:.3f} to {part.high:.3f}",
        }
        made.add("sample", "pairs", part.pairs, **where)
        made.add("sample", "drawn", part.drawn, **where)
