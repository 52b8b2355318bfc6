"""How term similarity is shown: MATS with its basis, and the curves."""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.probe.measured import MATS, SIMILARITY
from positionbias.report.figure import Lines
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import sentences
from positionbias.report.table import RowTable, Value, where_printed

SUMMARY = f"measure == '{MATS}' and axis == ''"
DISTANCES = [0, 1, 2, 3, 5, 10, 20, 30, 50, 100, 150, 200]  # in a terminal
CURVE = f"measure == '{SIMILARITY}' and statistic == 'mean'"
PRINTED = "Published: the paper's Table 2. Ours is another experiment, not a repetition of it."

TABLE = RowTable(
    name="mats",
    title="Term similarity by distance in position (MATS)",
    stub={
        "passages": "Passages probed",
        "name": "Model",
        "trained": "Trained on",
        "start": "Began with",
        "seed": "Seed",
        "rotation": "Draw",
    },
    where=SUMMARY,
    cells=[
        Value("mean", "printed", group="MATS"),
        Value("plain mean", "plain mean", group="MATS"),
        Value("deviation", "deviation", group="MATS"),
        Value("largest Δ", "Largest Δ", ","),
        Value("fewest terms", "Fewest terms at a Δ", ",", wide=True),
        Value("pairs", "Pairs", ",", wide=True),
        Value("mean", "Undefined", show="reason"),
    ],
    notes=[
        "Printed: Σ (ATS(0) − ATS(Δ)) / (max Δ − 1), the paper's Eq. 9; plain mean: divided by the "
        "number of Δ. Deviation: of ATS(0) − ATS(Δ) over Δ. Lower MATS means less position "
        "dependence. An interval is over trainings alone.",
        where_printed(PRINTED),
    ],
)
CURVE_TABLE = RowTable(
    name="ats",
    title="Average term similarity (ATS)",
    stub={"name": "Model", "label": "Δ"},
    where=f"measure == '{SIMILARITY}'",
    cells=[
        Value("mean", "ATS", brief=True),
        Value("mean", "Terms", ",", show="count"),
        Value("pairs", "Pairs", ","),
        Value("over terms", "over terms", group="Deviation"),
        Value("over pairs", "over pairs", group="Deviation", wide=True),
    ],
)
FIGURE = Lines(
    name="ats",
    where=CURVE,
    caption=lambda rows: (
        "How alike a term's vectors are by how far apart their positions are (ATS); the band is "
        "one deviation over pairs, a line a training. The more a curve falls, the more a model's "
        "vectors depend on position."
    ),
    panel=("passages",),
    heading="probed on {passages}",
    series="whole",
    below="Distance in position Δ (words)",
    side="ATS(Δ)",
)


def _prepared(rows: DataFrame) -> DataFrame:
    named = {"name": rows["model"], "whole": rows["model"], "trained": ""}
    return rows.assign(passages=rows["collection"], **named)


SECTION = RowSection(
    anchor="mats-similarity",
    title="Term similarity by distance",
    introduction="How alike a model's vectors for one word are in different passages, by how far "
    "apart their positions are. The more they fall apart with distance, the more position they "
    "carry.",
    figures=[FIGURE],
    tables=[TABLE],
)
OF_MODELS = Presentation(
    study="mats",
    prepare=_prepared,
    headline=sentences(
        ["whole", "passages"],
        SUMMARY,
        "{whole} on {passages}: where positions differ, a word's vectors are {plain mean:.3f} less "
        "alike (cosine) than at equal ones; MATS {mean.value:.3f}, and 0 is no dependence on "
        "position.",
        "{whole} on {passages}: cannot tell how its term vectors depend on position: MATS is "
        "undefined. {mean.reason}.",
    ),
    run=sentences(
        ["whole"],
        SUMMARY,
        "{whole}: {mean.count:,} passages, {words:,} words, {unknown words:,} unknown ones left "
        "out.",
    ),
    sections=[SECTION],
    text=[TABLE],
)
CURVES = replace(
    OF_MODELS,
    study="ats",
    text=[replace(CURVE_TABLE, where=f"{CURVE_TABLE.where} and at in {DISTANCES}")],
    sections=[replace(SECTION, anchor="ats-similarity", folded=[CURVE_TABLE])],
)
SHOWN = (OF_MODELS, CURVES)
