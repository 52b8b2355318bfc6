"""The groups of a contaminated training set by origin, as rows, and how they are shown."""

from __future__ import annotations

from typing import Any

from positionbias.core.groups import Groups
from positionbias.core.rows import Collected
from positionbias.core.schema import converted
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.table import RowTable, Value

__all__ = ["KEYS", "ORIGINS", "SHOWN", "add_origins"]

KEYS = ("set",)
MEASURE = "training set"


def add_origins(made: Collected, groups: Groups, **cells: Any) -> None:
    """Add the counts of a set's groups, by the split that they come from."""
    origins = converted(dict[str, dict[str, int]], groups.manifest.content["origins"])
    for split, counts in origins.items():
        made.add(MEASURE, "share of groups", counts["groups"] / len(groups), split=split, **cells)
        for statistic, number in counts.items():
            made.add(MEASURE, statistic, number, split=split, **cells)


ORIGINS = RowTable(
    name="contaminated-sets",
    title="Groups by origin",
    stub={"split": "Origin"},
    where=f"measure == '{MEASURE}'",
    cells=[
        Value("queries", "Queries", ","),
        Value("groups", "Groups", ","),
        Value("share of groups", "Share", ".1%"),
        Value("judged negatives", "judged", ",", "Negatives"),
        Value("random negatives", "random", ",", "Negatives"),
        Value("positives missing from the corpus", "positives", ",", "Missing from the corpus"),
        Value("negatives missing from the corpus", "negatives", ",", "Missing from the corpus"),
        Value("queries without a positive", "Queries without a positive", ",", wide=True),
        Value("positives without candidates", "Positives without candidates", ",", wide=True),
    ],
)
SHOWN = Presentation(
    study="trainset contaminated",
    sections=[
        RowSection(
            anchor="contaminated-sets",
            title="Groups by origin",
            introduction="The training split has ordinary groups; the others are test judgements.",
            tables=[ORIGINS],
        )
    ],
    text=[ORIGINS],
)
