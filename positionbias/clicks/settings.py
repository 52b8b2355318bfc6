"""Settings of training sets from clicks."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.settings import Seeded, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickSettings(Seeded):
    """Settings of the draw: the split and its judgement set, the lowest grade of a positive, the
    numbers of negatives, candidates and triples (None: all).

    Raises:
        SettingError: a setting outside its range.
    """

    split: str = setting("train", "The split with the queries and clicks.", metavar="SPLIT")
    qrels_name: str | None = setting(
        None,
        "Another judgement set of the split, to take positives from.",
        metavar="NAME",
        shown=False,
    )
    relevant_from: int = setting(
        1, "Lowest grade of a positive.", least=1, metavar="GRADE", shown=False
    )
    negatives: int = setting(20, "Negatives per positive, if there are enough.", least=1)
    train_depth: int | None = setting(
        None,
        "Candidates per query to draw negatives from.",
        least=1,
        absent="all",
        shown=False,
    )
    triples: int | None = setting(
        None, "How many of the shuffled triples to keep.", least=1, absent="all"
    )
