"""Studies as functions: what their settings read is no place to write."""

from __future__ import annotations

from pathlib import Path

from positionbias.leakage.settings import LeakingPairs
from positionbias.papers.run import _places_in


def test_what_settings_read_is_known_also_as_text() -> None:
    assert list(_places_in(LeakingPairs(pairs=["leaks", Path("labelled.tsv")]))) == [
        "leaks",
        Path("labelled.tsv"),
    ]
