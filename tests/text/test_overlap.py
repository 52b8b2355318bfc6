"""Scorers that know only surface: what they count, worked by hand."""

from __future__ import annotations

import pytest

from positionbias.text.overlap import content_words, position_only

PASSAGE = "The gate is iron. The lamp burns oil. The lamp of the gate burns."


def test_content_words_leave_out_stop_words_and_signs() -> None:
    assert content_words("What is the price of 2 lamps, then?") == {"price", "2", "lamps", "then"}


def test_position_only_looks_at_the_first_of_the_best_sentences() -> None:
    # "lamp" stands in the second and third sentence; the second starts at character 18 of 65
    assert len(PASSAGE) == 65
    assert position_only("lamp", PASSAGE) == pytest.approx(1 - 18 / 65)
    # both words stand together in the third only, which starts at 38
    assert position_only("lamp gate", PASSAGE) == pytest.approx(1 - 38 / 65)
    assert position_only("gate", PASSAGE) == 1.0


def test_position_only_without_any_word_is_zero() -> None:
    assert position_only("tower", PASSAGE) == 0.0
    assert position_only("tower", "") == 0.0
    assert position_only("the", PASSAGE) == 0.0
