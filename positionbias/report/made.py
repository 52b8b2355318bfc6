"""How collections, runs and models that a command made are shown: what was counted."""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Sentences, sentences
from positionbias.report.table import RowTable, Value
from positionbias.text.formatting import as_form, count, plural


def _counted(rows: DataFrame) -> list[str]:
    """Return one sentence: what was made, and every count that is not 0."""
    chosen = rows[(rows["axis"] == "") & (rows["value"] != 0)]
    parts = [
        f"{count(row.value)} {row.measure}"
        if row.statistic == "count"
        else f"{row.statistic} {row.measure} {as_form(row.value, '.4f')}"
        for row in sorted(chosen.itertuples(), key=lambda row: row.statistic != "count")
    ]
    model, collection = rows[["model", "collection"]].iloc[0]
    return [f"{model or collection}: {', '.join(parts)}"]


def _held(rows: DataFrame) -> list[str]:
    """Return what each collection holds."""
    lines = []
    for name, counts in rows[rows["statistic"] == "count"].groupby("collection", sort=False):
        held = counts.groupby("measure")["value"].sum().astype(int)
        queries = counts[counts["measure"] == "queries"]
        splits = ", ".join(f"{row.split} {count(row.value)}" for row in queries.itertuples())
        lines.append(
            f"{name}: {plural(held['passages'], 'passage')}, "
            f"{plural(held.get('queries', 0), 'query')} ({splits or 'no split'}) and "
            f"{plural(held.get('answers', 0), 'answer')}."
        )
    return lines


CONTENTS = RowTable(
    name="collections",
    title="What the collection holds",
    stub={"split": "Split"},
    across=["measure"],
    where="statistic == 'count' and split != ''",
    cells=[Value("count", form=",")],
)
LENGTHS = RowTable(
    name="lengths",
    title="Lengths of texts in words",
    stub={"measure": "", "split": "Split"},
    where="unit == 'words' or statistic == 'truncated'",
    cells=[
        Value("mean", "Mean", ".1f"),
        Value("median", "Median", ","),
        Value("95 %", "95 %", ","),
        Value("maximum", "Maximum", ","),
        Value("empty", "Empty", ","),
        Value("truncated", "Truncated", ".1%"),
    ],
    notes=[
        "Words by BlingFire. Truncated: texts that a re-ranker does not read to the end, which "
        "reads 200 words of a passage and 30 of a query."
    ],
)
COUNTS = RowTable(
    name="counts",
    title="What was counted",
    stub={"measure": "", "split": "Split", "label": "Of"},
    where="(axis == 'cause' or split != '') and value > 0 and unit != 'share'",
    cells=[
        Value("count", "Number", ","),
        Value("passages", "Passages", ","),
        Value("answers", "Answers", ","),
        Value("kept", "Kept", ","),
        Value("cut", "Cut and dropped", ","),
    ],
)
TITLES = {"collection": "What collections hold", "debias": "What was rotated"}


def _presentation(study: str, headline: Sentences, *tables: RowTable) -> Presentation:
    title = TITLES.get(study, "What was counted")
    section = RowSection(anchor=study, title=title, tables=tables)
    return Presentation(
        study=study, headline=headline, sections=[section] if tables else [], text=tables
    )


CHANGED = {  # of a collection that is made of another
    "debias": "{collection}: {share changed.count:,} passages, {share changed:.1%} rotated",
    "select": "{collection}: {kept:,} of {share kept.count:,} {split} queries kept",
    "place": "{collection}: {share moved.count:,} passages, {share moved:.1%} with their evidence "
    "moved",
}
MADE = ("export", "retrieve", "rerank", "encode", "teach", "remedy", "vectors")
SHOWN = (
    _presentation("collection", _held, CONTENTS, LENGTHS),
    *(
        _presentation(study, sentences(["collection", "split"], "axis == ''", template), COUNTS)
        for study, template in CHANGED.items()
    ),
    _presentation("ensemble", _counted, replace(COUNTS, where="axis == 'run' and value > 0")),
    *(_presentation(study, _counted) for study in MADE),
)
