"""Significance letters, as the position-bias paper's Table 5 prints them: ``0.792ab`` is better than rows a and b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.evaluation.significance import corrected, wilcoxon

__all__ = ["LEVEL", "Letters", "letter_of", "significance_letters"]

LEVEL = 0.05


class Letters(NamedTuple):
    """For each system the letters of those that it is significantly better than: uncorrected, and corrected by Holm.

    ``p_values`` and ``p_holm`` by pair of rows, the earlier first; None where no query differs.
    """

    plain: tuple[str, ...]
    holm: tuple[str, ...]
    p_values: Mapping[tuple[int, int], float | None]
    p_holm: Mapping[tuple[int, int], float | None]


def letter_of(row: int) -> str:
    """The letter of a row, from 0.

    Raises:
        InputError: there are no letters left.
    """
    if row >= len(ascii_lowercase):
        raise InputError(f"letters: wanted at most {len(ascii_lowercase)} systems; found row {row + 1}; compare fewer at once")
    return ascii_lowercase[row]


def significance_letters(systems: Sequence[Mapping[str, float]], *, level: float = LEVEL) -> Letters:
    """Each pair of systems compared by Wilcoxon's signed-rank test on the queries both have; row 0 is a, row 1 is b …

    A system gets another's letter where p < ``level`` and both the mean and the signed ranks of the differences are in its
    favour (where these point apart, neither gets one [decision]). Zero differences are dropped (position-bias paper, Table 5:
    "between training variants per model with Wilcoxon (p<0.05)", uncorrected); Holm's correction takes all pairs as one family.

    Raises:
        InputError: more systems than letters, or two that share no query.
    """
    letter_of(len(systems) - 1)
    p_values: dict[tuple[int, int], float | None] = {}
    better: dict[tuple[int, int], int | None] = {}
    for pair in combinations(range(len(systems)), 2):
        one, other = (systems[row] for row in pair)
        queries = sorted(one.keys() & other.keys())
        if not queries:
            rows = " and ".join(map(letter_of, pair))
            raise InputError(f"systems {rows}: wanted queries that both have; found none; compare runs of one split")
        differences = np.array([other[query_id] - one[query_id] for query_id in queries])
        p_values[pair] = wilcoxon(differences)
        favours = {np.sign(differences.mean()), _sign_of_ranks(differences)}
        better[pair] = {frozenset({1.0}): pair[1], frozenset({-1.0}): pair[0]}.get(frozenset(favours))
    defined = {pair: p for pair, p in p_values.items() if p is not None}
    holm = dict(zip(defined, corrected(list(defined.values()), "holm"), strict=True))
    p_holm = {pair: holm.get(pair) for pair in p_values}
    plain, strict = (_letters(len(systems), better, found, level) for found in (p_values, p_holm))
    return Letters(plain, strict, p_values, p_holm)


def _sign_of_ranks(differences: np.ndarray) -> float:
    """1 where the ranks of the positive differences outweigh those of the negative ones, -1 where they do not, 0 where equal."""
    from scipy import stats

    rounded = np.round(differences, 12)
    kept = rounded[rounded != 0]
    return float(np.sign((np.sign(kept) * stats.rankdata(np.abs(kept))).sum()))


def _letters(
    count: int,
    better: Mapping[tuple[int, int], int | None],
    p_values: Mapping[tuple[int, int], float | None],
    level: float,
) -> tuple[str, ...]:
    found = [""] * count
    for (one, other), p in p_values.items():
        winner = better[one, other]
        if winner is not None and p is not None and p < level:
            found[winner] += letter_of(other if winner == one else one)
    return tuple("".join(sorted(letters)) for letters in found)
