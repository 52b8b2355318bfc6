"""Settings of measuring test collections: drawn pools, coverage by kind, the verdict on one new
run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.core.json_text import JsonObject
from positionbias.core.settings import Panel, check_settings, refuse_idle, seed_setting, setting

__all__ = ["DEEPEST", "CoverageSettings", "PoolSettings", "ReliabilitySettings", "VerdictSettings"]

DEEPEST = 1_000  # ranks to read of a run, as in TREC [decision]


def _depth_setting(help: str, default: int | None = 10, *, hidden: bool = False) -> Any:
    return setting(default, help, least=1, most=DEEPEST, hidden=hidden)


def _relevant_setting() -> Any:
    help = "The lowest grade of a relevant document: 2 for the passages of TREC DL, 1 for most."
    return setting(1, help, least=1, metavar="GRADE")


def _measures_setting(*names: str, more: str = "") -> Any:
    help = f"Measure, as ir_measures names it; may be given again.{more}"
    return setting(names, help, flags=("-m", "--measure"), metavar="MEASURE")


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Settings of drawn pools: their depth, their number per kind, the gold to compare with, the
    seed.

    ``gold_depth`` is the depth of a gold pool (default: ``depth``). ``groups`` is the number of
    groups that feed a pool; None: half.

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
    seed: int = seed_setting()
    gold_depth: int | None = _depth_setting("Depth of the gold's pool.", None, hidden=True)
    groups: int | None = setting(None, "Number of groups that feed a pool.", least=1, hidden=True)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """Settings of the coverage by kind of system."""

    depth: int = _depth_setting("Pool depth of the counts by query.")
    deepest: int = _depth_setting("Last depth of the curve.", 100)
    relevant_from: int = _relevant_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class ReliabilitySettings:
    """Settings of the reliability of drawn pools."""

    drawn: PoolSettings = PoolSettings()
    measures: Sequence[str] = _measures_setting("RR", "nDCG@10")
    relevant_from: int = _relevant_setting()
    leave_out: bool = setting(
        False, "Also leave each group out of the gold, one at a time.", panel=Panel.ADVANCED
    )
    curves: bool = setting(
        False,
        "Also measure by pool depth and by number of groups: several times the work.",
        panel=Panel.ADVANCED,
    )
    relabel: float = setting(
        0.0,
        "Also measure with this share of the kinds changed at random, repeatedly: the effect of "
        "wrong labels.",
        least=0,
        most=1,
        metavar="SHARE",
        panel=Panel.ADVANCED,
    )
    repeats: int = setting(20, "Repetitions of --relabel.", least=1, panel=Panel.ADVANCED)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.relabel:
            refuse_idle(["--repeats"], wanted="--relabel above 0", found="--relabel 0")

    def record(self) -> JsonObject:
        """Return the settings for a manifest."""
        drawn: JsonObject = {
            "depth": self.drawn.depth,
            "pools": self.drawn.pools,
            "measures": list(self.measures),
            "gold": self.drawn.gold,
        }
        more = {
            "relevant_from": self.relevant_from,
            "leave_out": self.leave_out,
            "curves": self.curves,
            "relabel": self.relabel,
        }
        return {**drawn, **more, "repeats": self.repeats if self.relabel else None}


@dataclass(frozen=True, slots=True)
class VerdictSettings:
    """Settings of the verdict on one new run."""

    depth: int = _depth_setting("Depth down to which unjudged documents are counted.")
    measures: Sequence[str] = _measures_setting("nDCG@10", more=" nDCG@k, RR, P@k, AP or RBP.")
    relevant_from: int = _relevant_setting()
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
