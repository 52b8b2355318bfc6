"""Settings of the measures of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.core.settings import Seeded, setting
from positionbias.core.shared_settings import JudgementSet, Split, WithoutOwn

DEEPEST = 1_000  # ranks of a run that pools are measured on, as in TREC [decision]


@dataclass(frozen=True, slots=True)
class Measuring(Seeded):
    """Measures of runs, and the judgements of a collection to use."""

    split: Split = "test"
    qrels_name: JudgementSet = None
    measures: Sequence[str] = setting(
        ("nDCG@10", "RR@10", "R@10"),
        "As ir_measures names it: nDCG@10, AP(rel=2), RR(rel=2)@10, J@10 …; repeatable.",
        flags=("-m", "--measure"),
        metavar="MEASURE",
    )
    without_own: WithoutOwn = False
