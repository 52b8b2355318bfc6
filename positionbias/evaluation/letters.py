"""Assign significance letters as in the position-bias paper's Table 5: ``0.792ab`` is better than
rows a and b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.evaluation.bootstrap import cluster_labels
from positionbias.evaluation.significance import HOLM, clustered_p, corrected
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    change_over,
    differences_by_query,
    paired,
)

__all__ = [
    "LEVEL",
    "Compared",
    "Letters",
    "compared",
    "is_significant",
    "letter_of",
    "significance_letters",
]

LEVEL = 0.05


def is_significant(p: float | None) -> bool:
    """Return True if a p-value is defined and below 0.05."""
    return p is not None and p < LEVEL


class Compared(StrEnum):
    """The answer of a comparison, after the correction for its family."""

    HIGHER = "significantly higher"
    LOWER = "significantly lower"
    NONE = "no significant difference"
    UNTESTED = "no test"
    UNFINISHED = "training not finished"


def compared(difference: float, p: float | None) -> Compared:
    """Return the answer of a comparison with this p-value after correction."""
    if p is None:
        return Compared.UNTESTED
    if not is_significant(p):
        return Compared.NONE
    return Compared.HIGHER if difference > 0 else Compared.LOWER


class Letters(NamedTuple):
    """For each system, the letters of the systems it is significantly better than: uncorrected, and
    corrected by Holm.

    ``p_values`` and ``p_holm`` are by pair of rows, the earlier first; None if no query differs.
    """

    plain: tuple[str, ...]
    holm: tuple[str, ...]
    p_values: Mapping[tuple[int, int], float | None]
    p_holm: Mapping[tuple[int, int], float | None]


def letter_of(row: int) -> str:
    """Return the letter of a row, from 0.

    Raises:
        InputError: no letters left.
    """
    if row >= len(ascii_lowercase):
        raise InputError(
            f"letters: wanted at most {len(ascii_lowercase)} systems; found row {row + 1}; compare "
            "fewer at once"
        )
    return ascii_lowercase[row]


def significance_letters(
    systems: Sequence[Mapping[Repeat, Values]],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
    level: float = LEVEL,
) -> Letters:
    """Compare each pair of systems on their common trainings and queries; row 0 is a, row 1 is b …

    A system gets another's letter if its mean is higher and the two-sided p is below ``level``.
    With one training seed, p is by sign flips of ``clusters`` (by query id); with three or more, by
    ``crossed``'s t; with two, there is none. The position-bias paper's Table 5 uses Wilcoxon's p,
    "between training variants per model with Wilcoxon (p<0.05)", uncorrected and without clusters.
    Holm's correction treats all pairs as one family.

    Raises:
        InputError: more systems than letters, or two systems without a common query.
    """
    letter_of(len(systems) - 1)
    p_values: dict[tuple[int, int], float | None] = {}
    better: dict[tuple[int, int], int] = {}
    for pair in combinations(range(len(systems)), 2):
        one, other = (systems[row] for row in pair)
        repeats = paired(one, other)
        differences = differences_by_query(repeats)
        if not differences:
            rows = " and ".join(map(letter_of, pair))
            raise InputError(
                f"systems {rows}: wanted queries that both have; found none; compare runs of one "
                "split"
            )
        change = change_over(repeats, clusters).difference
        labels = cluster_labels(clusters, list(differences))
        alone = len(change.by_seed) == 1
        p_values[pair] = (
            clustered_p(np.array(list(differences.values())), labels, seed=seed)
            if alone
            else change.p
        )
        better[pair] = pair[1] if (change.value or 0.0) > 0 else pair[0]
    defined = {pair: p for pair, p in p_values.items() if p is not None}
    holm = dict(zip(defined, corrected(list(defined.values()), HOLM), strict=True))
    p_holm = {pair: holm.get(pair) for pair in p_values}
    plain, strict = (_letters(len(systems), better, found, level) for found in (p_values, p_holm))
    return Letters(plain, strict, p_values, p_holm)


def _letters(
    count: int,
    better: Mapping[tuple[int, int], int],
    p_values: Mapping[tuple[int, int], float | None],
    level: float,
) -> tuple[str, ...]:
    found = [""] * count
    for (one, other), p in p_values.items():
        winner = better[one, other]
        if p is not None and p < level:
            found[winner] += letter_of(other if winner == one else one)
    return tuple("".join(sorted(letters)) for letters in found)
