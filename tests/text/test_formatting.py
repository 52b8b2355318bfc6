"""Numbers as a reader meets them."""

from __future__ import annotations

import math

import pytest

from positionbias.core.records import Interval
from positionbias.text.formatting import (
    any_value,
    count,
    decimal,
    p_value,
    percent,
    slug,
    with_interval,
)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (-0.0856, "−8.6\u00a0%"),
        (0.0026, "0.3\u00a0%"),
        (-0.0004, "0.0\u00a0%"),
        (12.345, "1,234.5\u00a0%"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_percent(fraction: float | None, text: str) -> None:
    assert percent(fraction) == text


def test_sign_is_given_to_what_is_not_zero() -> None:
    assert [percent(x, sign=True) for x in (0.006, 0.0, -0.0001, -0.094)] == [
        "+0.6\u00a0%",
        "0.0\u00a0%",
        "0.0\u00a0%",
        "−9.4\u00a0%",
    ]
    assert decimal(0.0234, sign=True) == "+0.023"


def test_interval_has_its_values_unit() -> None:
    bounds = Interval(-0.1004, -0.0716)
    assert with_interval("−0.086", bounds) == "−0.086\u00a0[−0.100,\u00a0−0.072]"
    assert with_interval(percent(-0.086), bounds, ".1%") == "−8.6\u00a0%\u00a0[−10.0,\u00a0−7.2]"
    assert with_interval("0.395", None) == "0.395"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0004, "<0.001"),
        (0.0005, "0.001"),
        (0.0314, "0.031"),
        (1.0, "1.000"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_p_value(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_counts_and_settings() -> None:
    assert (count(8_841_823), count(None)) == ("8,841,823", "–")
    assert (
        any_value({"depth": 1000, "rotate": True, "margin": 0.0001})
        == "depth 1,000, rotate yes, margin 0.0001"
    )
    assert any_value(["nDCG@10", None, -2.5]) == "nDCG@10, –, −2.5"
    assert any_value([]) == "–"


def test_slug() -> None:
    assert slug("Queries whose answer was left whole") == "queries-whose-answer-was-left-whole"
    assert slug("../ü$") == "unnamed"
