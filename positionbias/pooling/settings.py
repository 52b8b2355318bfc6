"""Settings of measurements of test collections: drawn pools, coverage by kind, the verdict on one new run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.core.json_text import JsonObject
from positionbias.core.settings import check_settings, refuse_idle, seed_setting, setting

__all__ = ["DEEPEST", "CoverageSettings", "PoolSettings", "ReliabilitySettings", "VerdictSettings"]

DEEPEST = 1_000  # ranks of a run that are read, as in TREC [decision]


def _depth_setting(help: str, default: int | None = 10, *, hidden: bool = False) -> Any:
    return setting(default, help, least=1, most=DEEPEST, hidden=hidden)


def _relevant_setting() -> Any:
    help = "The least grade of a relevant document: 2 for the passages of TREC DL, 1 for most."
    return setting(1, help, least=1, metavar="GRADE")


def _measures_setting(*names: str, more: str = "") -> Any:
    help = f"As ir_measures names it; may be given again.{more}"
    return setting(names, help, flags=("-m", "--measure"), metavar="MEASURE")


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Settings of drawn pools: their depth, their number for each kind, the gold to compare with, the seed.

    ``gold_depth`` is that of a gold pool (default: ``depth``). ``groups``: the number of groups that feed a pool; None: half.

    Raises:
        SettingError: a number outside its range; the message names the flag.
    """

    depth: int = _depth_setting("Of every pool, and of the gold's.")
    pools: int = setting(10, "How many are drawn of each kind.", least=1)
    gold: str = setting(
        "pool",
        "What pools are held against: the judgements in the pool of all runs, or every judgement.",
        choices=("pool", "all"),
    )
    seed: int = seed_setting()
    gold_depth: int | None = _depth_setting("Of the gold's pool.", None, hidden=True)
    groups: int | None = setting(None, "How many groups feed a pool.", least=1, hidden=True)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """Settings of the coverage by kind of system."""

    depth: int = _depth_setting("The pool depth whose counts by query are kept.")
    deepest: int = _depth_setting("Where the curve ends.", 100)
    relevant_from: int = _relevant_setting()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class ReliabilitySettings:
    """Settings of the reliability of drawn pools."""

    drawn: PoolSettings = PoolSettings()
    measures: Sequence[str] = _measures_setting("RR", "nDCG@10")
    relevant_from: int = _relevant_setting()
    leave_out: bool = setting(False, "Also leave each group out of the gold, one at a time.")
    curves: bool = setting(False, "Also by pool depth and by number of groups: several times the work.")
    relabel: float = setting(
        0.0,
        "Also with this share of the kinds changed at random, again and again: what wrong labels do.",
        least=0,
        most=1,
        metavar="SHARE",
    )
    repeats: int = setting(20, "Repetitions of --relabel.", least=1)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.relabel:
            refuse_idle(["--repeats"], wanted="--relabel above 0, whose repeats they are", found="--relabel 0")

    def record(self) -> JsonObject:
        """Return the settings as a manifest has them."""
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

    depth: int = _depth_setting("How far down unjudged documents are counted.")
    measures: Sequence[str] = _measures_setting("nDCG@10", more=" nDCG@k, RR, P@k, AP or RBP.")
    relevant_from: int = _relevant_setting()
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
