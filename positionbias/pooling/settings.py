"""Settings of measuring test collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.core.settings import check_settings, seed_setting, setting

DEEPEST = 1_000  # ranks to read of a run, as in TREC [decision]


def _depth_setting(help: str) -> Any:
    return setting(10, help, least=1, most=DEEPEST)


def _relevant_setting() -> Any:
    help = "The lowest grade of a relevant document: 2 for the passages of TREC DL, 1 for most."
    return setting(1, help, least=1, metavar="GRADE")


def _measures_setting(*names: str) -> Any:
    help = "Measure, as ir_measures names it: nDCG@k, RR or P@k; repeatable."
    return setting(names, help, flags=("-m", "--measure"), metavar="MEASURE")


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """Settings of the coverage by kind of system."""

    depth: int = _depth_setting("Pool depth at which kinds are compared.")
    relevant_from: int = _relevant_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Settings of drawn pools.

    Raises:
        SettingError: a number outside its range (with its flag).
    """

    depth: int = _depth_setting("Depth of every pool, and of the gold's.")
    pools: int = setting(10, "Number of pools to draw per kind.", least=1)
    gold: str = setting(
        "pool",
        "Gold to compare pools with: the judgements in the pool of all runs, or every judgement.",
        choices=("pool", "all"),
    )
    measures: Sequence[str] = _measures_setting("RR", "nDCG@10")
    relevant_from: int = _relevant_setting()
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class VerdictSettings:
    """Settings of the verdict on one new run."""

    depth: int = _depth_setting("Depth down to which unjudged documents are counted.")
    measures: Sequence[str] = _measures_setting("nDCG@10")
    relevant_from: int = _relevant_setting()
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
