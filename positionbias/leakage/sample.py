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
from dataclasses import dataclass, replace

from positionbias.core.errors import InputError, SettingError
from positionbias.core.seeds import key64
from positionbias.core.settings import check_settings, seed_setting, setting
from positionbias.leakage.pairs import (
    LEXICAL,
    OVERLAP_DETECTORS,
    SCORES,
    SEMANTIC,
    Pair,
    best_by_pair,
)
from positionbias.results.leakage_pairs import SAMPLE, SampleFigures
from positionbias.results.result import Result

__all__ = ["SampleSettings", "Stratum", "sample_result", "stratified_sample"]

PURPOSE = "leakage sample"


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The number of pairs, the lowest score and the number of strata.

    Raises:
        SettingError: a setting outside its range.
    """

    sample_size: int = setting(100, "Pairs to draw.", metavar="N")
    above: float = setting(
        0.8, "The lowest score of a pair.", least=0, below=1, wanted="a score from 0 to below 1"
    )
    strata: int = setting(10, "Parts of equal width, from --above to 1.", least=1)
    score: str = setting("cosine", "Score of similarity.", choices=SCORES)
    seed: int = seed_setting()
    found_by: str | None = setting(
        None,
        "Draw of the pairs that this detector found.",
        choices=(SEMANTIC, LEXICAL, *OVERLAP_DETECTORS),
        absent="any",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.sample_size < self.strata:
            raise SettingError(
                f"--sample-size: wanted at least one per stratum, {self.strata}; found "
                f"{self.sample_size}; raise it, or lower --strata"
            )


@dataclass(frozen=True, slots=True)
class Stratum:
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
    if settings.found_by is not None:
        pairs = (pair for pair in pairs if settings.found_by in pair.found_by)
    found = best_by_pair(pairs, settings.score)
    key = {pair.ids: (key64(settings.seed, PURPOSE, *pair.ids.named), pair.ids) for pair in found}
    width = (1 - settings.above) / settings.strata
    held: list[list[Pair]] = [[] for _ in range(settings.strata)]
    for pair in found:
        score = pair.scores[settings.score]
        if score >= settings.above:
            held[min(int((score - settings.above) / width + 1e-9), settings.strata - 1)].append(
                pair
            )
    if not any(held):
        raise InputError(
            f"wanted pairs with a {settings.score} from {settings.above:g} up; found none of "
            f"{len(found):,}; lower --above"
        )
    counts = _shared_out([len(part) for part in held], settings.sample_size)
    drawn = [
        replace(pair, weight=len(part) / count)
        for part, count in zip(held, counts, strict=True)
        for pair in sorted(part, key=lambda pair: key[pair.ids])[:count]
    ]
    edges = [settings.above + width * number for number in range(settings.strata)] + [1.0]
    strata = [
        Stratum(round(low, 12), round(high, 12), len(part), count)
        for low, high, part, count in zip(edges, edges[1:], held, counts, strict=False)
    ]
    return sorted(drawn, key=lambda pair: key[pair.ids]), strata


def sample_result(name: str, strata: Sequence[Stratum], settings: SampleSettings) -> Result:
    """Return the numbers of pairs and of drawn pairs in each stratum."""
    rows: dict[str, str] = {}
    for part in strata:
        where = f"{part.low:.3f} to {part.high:.3f}"
        rows |= {f"{where} pairs": f"{part.pairs:,}", f"{where} drawn": f"{part.drawn:,}"}
    drawn = sum(part.drawn for part in strata)
    figures = SampleFigures(score=settings.score, rows=rows, drawn=drawn)
    return Result(
        SAMPLE, name, "", settings.score, settings.seed, float(drawn), None, drawn, figures
    )


def _shared_out(there: list[int], wanted: int) -> list[int]:
    """Allot ``wanted`` to the parts, one per round from the last part on, until all are allotted or
    exhausted.
    """
    counts = [0] * len(there)
    while sum(counts) < min(wanted, sum(there)):
        for part in reversed(range(len(there))):
            if counts[part] < there[part] and sum(counts) < wanted:
                counts[part] += 1
    return counts
