"""A duration in words, at and around every bound between two forms."""

from __future__ import annotations

import pytest

from positionbias.core.progress import duration_in_words

HOUR = 3_600


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "under 10 seconds"),
        (9.99, "under 10 seconds"),
        (10, "about 10 seconds"),
        (14.9, "about 10 seconds"),
        (15, "about 20 seconds"),
        (54.9, "about 50 seconds"),
        (55, "about 1 minute"),
        (89.9, "about 1 minute"),
        (90, "about 2 minutes"),
        (150, "about 3 minutes"),
        (9_000 / 55, "about 3 minutes"),  # 163.6 s: 9,000 pairs at 55 a second
        (59.4 * 60, "about 59 minutes"),
        (59.5 * 60, "about 1 hour"),
        (64.9 * 60, "about 1 hour"),
        (65 * 60, "about 1 hour 10 minutes"),
        (115 * 60, "about 2 hours"),
        (2.5 * HOUR, "about 2 hours 30 minutes"),
        (11 * HOUR + 54 * 60, "about 11 hours 50 minutes"),
        (11 * HOUR + 55 * 60, "about 12 hours"),
        (12.5 * HOUR, "about 13 hours"),
        (47.4 * HOUR, "about 47 hours"),
        (47.5 * HOUR, "about 2 days"),
        (49 * HOUR, "about 2 days 1 hour"),
        (60 * HOUR, "about 2 days 12 hours"),
        (365 * 24 * HOUR, "about 365 days"),
    ],
)
def test_each_form_and_its_bounds(seconds: float, words: str) -> None:
    assert duration_in_words(seconds) == words


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_what_is_no_duration_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="wanted a finite number of seconds, at least 0; found"):
        duration_in_words(seconds)
