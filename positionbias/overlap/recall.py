"""Measure what each detector finds of planted duplicates of the test texts: its recall, by kind of duplicate.

The duplicates go through the searches as one more training set. One counts as found if it is found with its own test text. Each test text gives one
duplicate of a kind, so a kind's interval is Wilson's; that over all kinds is clustered by test text (``leakage.precision``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from positionbias.leakage.precision import Labelled, at_threshold
from positionbias.overlap.detectors import Search, Texts
from positionbias.overlap.planted import Duplicate, DuplicateKind, plan_duplicates
from positionbias.results.overlap import ANY, RECALL, FoundOfPlanted, RecallFigures
from positionbias.results.result import Result

__all__ = ["planted_recall"]

_BATCH = 2_048  # duplicates searched at once


def planted_recall(
    tests: Texts, of_set: slice, searches: Mapping[str, Search], *, test_set: str, unit: str, number: int, seed: int
) -> Iterator[Result]:
    """Plant duplicates of ``number`` drawn texts of a test set, and yield a result for each detector, and one for any of them.

    ``searches`` are those for the texts of all test sets, of which ``of_set`` are this one's.
    """
    texts = list(zip(tests.ids[of_set], tests.texts[of_set], strict=True))
    planted = plan_duplicates(texts, number, seed)
    if not planted:
        return
    found = {name: _found(planted, of_set.start, search) for name, search in searches.items()}
    found[ANY] = np.any(list(found.values()), axis=0)
    for name, hits in found.items():
        yield _result(planted, hits, name, test_set, unit, seed)


def _found(planted: list[Duplicate], first: int, search: Search) -> np.ndarray:
    """Return which duplicates are found with their own test text ``(d,)`` bool; the test set's texts are numbered from ``first``."""
    own, there = np.array([first + one.test for one in planted]), np.zeros(len(planted), bool)
    for start in range(0, len(planted), _BATCH):
        part = planted[start : start + _BATCH]
        hits = search(Texts([str(start + place) for place in range(len(part))], [one.text for one in part]))
        there[start + hits.train[own[start + hits.train] == hits.test]] = True
    return there


def _result(planted: list[Duplicate], found: np.ndarray, detector: str, test_set: str, unit: str, seed: int) -> Result:
    tests = [str(one.test) for one in planted]
    kinds = {}
    for kind in DuplicateKind:
        if places := [place for place, one in enumerate(planted) if one.kind is kind]:
            share = at_threshold(Labelled(np.zeros(len(places)), found[places], [tests[place] for place in places]), 0.0)
            low, high = (share.interval.low, share.interval.high) if share.interval else (None, None)
            kinds[kind.value] = FoundOfPlanted(share.pairs, share.leaks, low, high)
    share = at_threshold(Labelled(np.zeros(len(planted)), found, tests), 0.0)
    figures = RecallFigures(unit=unit, detector=detector, tests=len(set(tests)), kinds=kinds)
    return Result(f"{RECALL}{unit}", test_set, "", detector, seed, share.value, share.interval, len(planted), figures)
