"""Settings of training sets from clicks."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.settings import Seeded, setting
from positionbias.core.shared_settings import JudgementSet, RelevantFrom, Split


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickSettings(Seeded):
    """Settings of the draw: the split and its judgement set, the lowest grade of a positive, the
    numbers of negatives, candidates and triples (None: all).

    Raises:
        SettingError: a setting outside its range.
    """

    split: Split = "train"
    qrels_name: JudgementSet = None
    relevant_from: RelevantFrom = 1
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
