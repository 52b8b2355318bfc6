"""Whether two sides did the same work: each function takes what was expected and what was found,
and says how far ``apart`` they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["named_numbers", "numbers", "ordered_scores", "top_lists"]


def numbers(expected: Sequence[float], found: Sequence[float]) -> dict[str, float]:
    """The largest difference of values that stand in the same order."""
    if len(expected) != len(found):
        return {"apart": math.inf}
    return {"apart": max((abs(a - b) for a, b in zip(expected, found, strict=True)), default=0.0)}


def ordered_scores(expected: Sequence[float], found: Sequence[float]) -> dict[str, float]:
    """The largest difference of scores, and Kendall's tau of their order (ties count as
    neither).
    """
    said = numbers(expected, found)
    if math.isinf(said["apart"]):
        return said
    both = same = 0
    for first in range(len(expected)):
        for second in range(first):
            one, other = expected[first] - expected[second], found[first] - found[second]
            if one * other:
                both += 1
                same += one * other > 0
    return {**said, "tau": 2 * same / both - 1 if both else 1.0}


def top_lists(
    expected: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]
) -> dict[str, float]:
    """The share of the expected lists' members that the found ones lack, lists side by side."""
    if len(expected) != len(found):
        return {"apart": math.inf}
    missing = sum(len(set(a) - set(b)) for a, b in zip(expected, found, strict=True))
    return {"apart": missing / max(1, sum(map(len, expected)))}


def named_numbers(expected: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """The largest difference of values of the same names."""
    if expected.keys() != found.keys():
        return {"apart": math.inf}
    return numbers(list(expected.values()), [found[name] for name in expected])
