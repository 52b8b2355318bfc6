"""Settings of measuring test collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from positionbias.core.settings import Seed, Setting, Settings, setting
from positionbias.evaluation.settings import DEEPEST

Measures = Annotated[
    Sequence[str],
    Setting(
        "Measure, as ir_measures names it: nDCG@k, RR or P@k; repeatable.",
        flags=("-m", "--measure"),
        metavar="MEASURE",
    ),
]


@dataclass(frozen=True, slots=True)
class CoverageSettings(Settings):
    """Settings of the coverage by kind of system.

    Raises:
        SettingError: a number outside its range (with its flag).
    """

    depth: int = setting(
        10, "Depth of pools, and down to which a new run is looked at.", least=1, most=DEEPEST
    )
    relevant_from: int = setting(
        1,
        "The lowest grade of a relevant document: 2 for the passages of TREC DL, 1 for most.",
        least=1,
        metavar="GRADE",
    )


@dataclass(frozen=True, slots=True)
class VerdictSettings(CoverageSettings):
    """Settings of the verdict on one new run."""

    measures: Measures = ("nDCG@10",)
    seed: Seed = 1


@dataclass(frozen=True, slots=True)
class PoolSettings(VerdictSettings):
    """Settings of drawn pools."""

    measures: Measures = ("RR", "nDCG@10")
    pools: int = setting(10, "Number of pools to draw per kind.", least=1)
    gold: str = setting(
        "pool",
        "Gold to compare pools with: the judgements in the pool of all runs, or every judgement.",
        choices=("pool", "all"),
    )
