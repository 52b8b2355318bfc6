"""Presentation of pairs of training and test queries: those found, drawn and reviewed, thresholds,
and training sets with leaked queries.
"""

from __future__ import annotations

import math

from pandas import DataFrame

from positionbias.leakage.measured import MEANING, PAPER, STUDY, WORDS
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.table import RowTable, Value, where_printed

PUBLISHED = (
    f"{PAPER}, whose threshold is a cosine of 0.91 by paraphrase-MiniLM-L6-v2; its union is of "
    "title, description and variants."
)
FOUND = {
    MEANING: "near-duplicate training queries by meaning.",
    WORDS: "candidates found by words alone: precision unknown; label them (posbias leakage "
    "label).",
}
SUBSETS = {
    "labelled": "all labelled",
    "calibrated": "from the lowest threshold up",
    "given": "from the given threshold up",
}


def _candidates(name: str, measure: str) -> RowTable:
    """Return the paper's Table 1 of a detector."""
    return RowTable(
        name=name,
        title=f"Training queries like test queries: {measure}",
        stub={"subset": "Field"},
        across=["source"],
        where=f"measure == '{measure}' and subset != ''",
        cells=[Value("topics", "Topics", ","), Value("queries", "Queries", ",")],
        notes=[where_printed(PUBLISHED)],
    )


SAMPLE = RowTable(
    name="leakage-sample",
    title="Pairs to label, by score",
    stub={"axis": "Score", "label": "Range"},
    where="measure == 'sample'",
    cells=[Value("pairs", "Pairs", ","), Value("drawn", "Drawn", ",")],
)
REVIEWED = RowTable(
    name="reviewed-pairs",
    title="Labelled as leaks (true) or not (false)",
    stub={"subset": "Candidates"},
    where="measure == 'reviewed pairs'",
    cells=[Value("pairs", "Pairs", ","), Value("test queries", "Test queries", ",")],
    notes=[where_printed(PAPER)],
)
TYPES = RowTable(
    name="reformulation-types",
    title="Pairs by label",
    stub={"label": "Label"},
    where="measure == 'reformulation types'",
    cells=[Value("pairs", "Pairs", ",")],
    notes=[where_printed(f"{PAPER}: all three collections together.")],
)
THRESHOLDS = RowTable(
    name="leakage-thresholds",
    title="Precision of labelled pairs",
    stub={"variant": "Score", "pairs": "Pairs"},
    where="subset in ['labelled', 'calibrated', 'given']",
    cells=[
        Value("applied", "Threshold", ".4f"),
        Value("share", "Number", ",", show="count"),
        Value("number", "Leaks", ","),
        Value("share", "Precision"),
        Value("share kept", "Labelled leaks kept", ".1%"),
    ],
    notes=[
        "The labelled pairs were preselected by a score, so they give no recall: leaks with a "
        "lower score were never labelled. Nor do they say anything about pairs found by words "
        "alone."
    ],
)
SETS = RowTable(
    name="leaked-sets",
    title="Training sets",
    stub={"variant": "Set"},
    where="measure == 'training set'",
    cells=[
        Value("instances", "Instances", ","),
        Value("leaked", "Leaked queries", ","),
        Value("leaked share", "Share", ".1%"),
        Value("filling", "Queries that fill up", ","),
    ],
)


def _headline(rows: DataFrame) -> list[str]:
    """Return how many test queries have candidates, and each score's threshold."""
    found = [
        f"{round(row.value * row.count):,} of {row.count:,} test queries ({row.value:.1%}) have "
        f"{FOUND[row.measure]}"
        for row in rows.query("statistic == 'share' and counted == 'test queries'").itertuples()
    ]
    best = rows[rows["statistic"] == "best"].set_index(["variant", "label"])["value"]
    for row in rows[rows["statistic"] == "lowest"].itertuples():
        paper, wanted = row.label == "paper", f"a precision of {row.expected:g}"
        if math.isnan(row.value):
            highest = best[row.variant, row.label]
            reached = "" if paper else f" (the best lower bound is {highest:.3f})"
            found.append(
                f"{row.variant}: no threshold {'keeps' if paper else 'surely keeps'} {wanted}"
                f"{reached}; label more pairs, or ask for less."
            )
        else:
            sure = (
                "as these pairs have it, which others keep about half of the time"
                if paper
                else "with 95 % confidence"
            )
            found.append(
                f"{row.variant}: from {_down(row.value)} on, the precision is at least "
                f"{row.expected:g} {sure}."
            )
    return found


def _down(threshold: float) -> str:
    """Round a threshold down to four digits, so that it still keeps the pair whose score it is."""
    return f"{math.floor(threshold * 1e4) / 1e4:.4f}"


TABLES = [
    _candidates("candidates", MEANING),
    _candidates("candidates-by-words", WORDS),
    SAMPLE,
    REVIEWED,
    TYPES,
    THRESHOLDS,
    SETS,
]
SHOWN = Presentation(
    study=STUDY,
    prepare=lambda rows: rows.assign(
        pairs=rows["subset"].map(lambda name: SUBSETS.get(name, name))
    ),
    headline=_headline,
    sections=[
        RowSection(
            anchor="leaked-queries",
            title="Training queries that leak test queries",
            introduction="A training query that near-duplicates a test query makes it easier for a "
            "model that was trained on it. Pairs found by meaning have a cosine that people's "
            "labels support; those found by words alone are candidates.",
            tables=TABLES,
            together=True,
        )
    ],
    text=TABLES,
)
