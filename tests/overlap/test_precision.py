"""Precision of detectors from labelled sheets: numbers worked by hand, what is no sample, and how
often the bound holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from positionbias.leakage.labels import DIFFERENT, UNTYPED, Label
from positionbias.leakage.pairs import Pair
from positionbias.leakage.sample import stratified_sample
from positionbias.leakage.settings import SampleSettings
from positionbias.overlap.precision import KnownPairs, Precision

LEAK, NONE = Label(UNTYPED), Label(DIFFERENT)
Rows = list[Pair]


def pair(train: str, test: str, *found_by: str, score: float = 1.0, **more: Any) -> Pair:
    more.setdefault("source", "msmarco")
    return Pair(train, test, {"of_test": score}, found_by=found_by, **more)


def row(of: Pair, weight: float, label: Label | None) -> Pair:
    """A row of a sheet."""
    more = {"source": of.source, "weight": weight, "label": label}
    return pair(of.train_id, of.test_id, *of.found_by, **more)


def sheet(*rows: tuple[Pair, float, Label | None]) -> Rows:
    return [row(*each) for each in rows]


def measured(
    found: Rows, sheets: list[Rows], *detectors: str, source: str = ""
) -> Precision | None:
    given = {Path(str(number)): rows for number, rows in enumerate(sheets)}
    return KnownPairs(found, given).precision(set(detectors or ["ngram"]), source)


def value(*given: Any, **more: Any) -> float | None:
    known = measured(*given, **more)
    return None if known is None else known.value


FOUND = [pair(f"d{number}", f"q{number}", "ngram") for number in range(10)]


def test_the_estimate_and_its_bound_by_hand() -> None:
    filled = sheet(
        (FOUND[0], 3, LEAK), (FOUND[1], 3, LEAK), (FOUND[2], 2, NONE), (FOUND[3], 2, LEAK)
    )
    # (3 + 3 + 2) / 10. Kish: 10² / (9 + 9 + 4 + 4) = 3.846; p(1 − p) / v = 0.16 / 0.0344 = 4.65, so
    # n* = 3.846. Wilson, z = 1.6449: (0.8 + 2.7055 / 7.692 − 1.6449 √(0.16 / 3.846 + 2.7055 /
    # 59.17)) / (1 + 2.7055 / 3.846)
    assert measured(FOUND, [filled]) == pytest.approx((0.8, 0.3908), abs=1e-4)


def test_what_is_no_sample_says_nothing() -> None:
    assert measured(FOUND, []) is None
    other = [*FOUND, pair("d77", "q1", "exact")]
    assert measured(other, [sheet((other[-1], 1, LEAK))]) is None  # all of exact
    # two pairs, which stand for two of ten
    assert measured(FOUND, [sheet((FOUND[0], 1, LEAK), (FOUND[1], 1, LEAK))]) is None
    assert measured(FOUND, [sheet((FOUND[0], 5, LEAK), (FOUND[1], 5, None))]) is None


def test_one_test_text_gives_no_bound() -> None:
    found = [pair("d1", "q1", "ngram"), pair("d2", "q1", "ngram")]
    assert measured(found, [sheet((found[0], 1, LEAK), (found[1], 1, LEAK))]) == (1.0, 0.0)


def test_a_sheet_of_all_pairs_stands_for_each_detector() -> None:
    found = [
        *(pair(f"d{n}", f"q{n}", "exact", "ngram") for n in range(4)),
        *(pair(f"d{n}", f"q{n}", "ngram") for n in range(4, 8)),
    ]
    filled = sheet(
        (found[0], 2, LEAK), (found[1], 2, LEAK), (found[4], 2, LEAK), (found[5], 2, NONE)
    )
    assert value(found, [filled], "exact") == 1.0
    assert value(found, [filled], "ngram") == value(found, [filled], "exact", "ngram") == 0.75
    # all pairs of exact, half of those of ngram
    of_exact = sheet((found[0], 2, NONE), (found[1], 2, LEAK))
    assert value(found, [of_exact], "exact") == 0.5
    assert measured(found, [of_exact], "ngram") is None


def test_a_training_set_has_the_precision_of_its_own_rows() -> None:
    other = pair("d0", "q0", "ngram", source="nq")
    filled = sheet((FOUND[0], 5, LEAK), (FOUND[1], 4, NONE), (other, 2, LEAK))
    assert value([*FOUND, other], [filled], source="nq") == 1.0
    assert value([*FOUND, other], [filled], source="msmarco") == pytest.approx(5 / 9)


def test_the_sheet_with_most_rows_decides() -> None:
    small = sheet((FOUND[0], 5, LEAK), (FOUND[1], 5, LEAK))
    large = sheet(*((FOUND[n], 2.5, NONE if n else LEAK) for n in range(4)))
    assert value(FOUND, [small, large]) == 0.25


@pytest.mark.parametrize(
    ("share", "tests", "a_test"), [(0.5, 150, 1.3), (0.9, 60, 5.0), (0.9, 20, 15.0)]
)
def test_the_bound_holds_in_nineteen_of_twenty_sheets(
    share: float, tests: int, a_test: float
) -> None:
    """Of 60 simulated sheets at most 9 bounds lie above the truth (if 95 % hold, more do less than
    once in 1,000).
    """
    held = 0
    for turn in range(60):
        random = np.random.default_rng([turn, tests])
        found, leaks = _population(random, share, tests, a_test)
        drawn, _ = stratified_sample(found, SampleSettings(50, 0.0, 5, "of_test", turn + 1))
        labels = [LEAK if leaks[each.train_id] else NONE for each in drawn]
        filled = [row(each, each.weight, label) for each, label in zip(drawn, labels, strict=True)]
        got = measured(found, [filled])
        assert got is not None
        held += got.lower <= np.mean(list(leaks.values()))
    assert held >= 51


def _population(
    random: np.random.Generator, share: float, tests: int, a_test: float
) -> tuple[list[Pair], dict[str, bool]]:
    found, leaks = [], {}
    for test in range(tests):
        # test texts differ in their share of leaks
        own = random.beta(share / 0.5, (1 - share) / 0.5)
        for number in range(int(random.geometric(1 / a_test))):
            train_id = f"d{test}-{number}"
            found.append(pair(train_id, f"q{test}", "ngram", score=float(random.random())))
            leaks[train_id] = bool(random.random() < own)
    return found, leaks
