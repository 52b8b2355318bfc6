"""How overlap is shown: a sentence for each test set and unit, and a table of counts."""

from __future__ import annotations

from pandas import DataFrame

from positionbias.overlap.measured import ANY, EXACT, STUDY
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Record, records_of, said
from positionbias.report.row_table import RowTable, Value

__all__ = ["SHOWN"]

_HAVE = {
    "passages": "have a relevant passage in {training}",
    "queries": "are in {training}",
    "pairs": "are in {training} together with a relevant passage",
}


def _headline(rows: DataFrame) -> list[str]:
    """Return a sentence for each test set and unit, over all training sets, which come last."""
    last = rows["training"] == rows.groupby(["collection", "subset"])["training"].transform("last")
    keys = ["collection", "subset", "training"]
    exact = {
        tuple(record.keys.values()): record
        for record in records_of(rows[last], keys, f"detector == '{EXACT}'")
    }
    return [
        _sentence(record, exact[tuple(record.keys.values())])
        for record in records_of(rows[last], keys, f"detector == '{ANY}'")
    ]


def _sentence(of: Record, exact: Record) -> str:
    unit = of.keys["subset"]
    share = of.rows["share"]
    if share.value != share.value:
        return said(
            f"{{of:,}} {unit} of {{collection}} cannot be compared: they have no words.", of
        )
    leaked = "queries" if share.counted == "queries" else "found"
    have = _HAVE[unit] if leaked == "queries" else _HAVE["queries"]
    training = of.keys["training"].replace("all training sets", "training")
    named = Record({**of.keys, "training": training}, of.rows)
    text = said(
        f"{{{leaked}:,}} of {share.count:,} {share.counted} of {{collection}} ({share.value:.1%}) "
        f"{have}",
        named,
    )
    if not of.value(leaked):
        return f"{text}."
    same = exact.value(leaked) or 0
    near = f"{same:,.0f} exact, {(of.value(leaked) or 0) - same:,.0f} near"
    known = said(
        "Precision {precision.value:.2f} (at least {least precision.value:.2f} with 95 % "
        "confidence).",
        of,
    )
    return f"{text}: {near}. {known or 'Precision unknown.'}"


OVERLAP = RowTable(
    name="overlap",
    title="Overlap by unit and detector",
    stub={
        "collection": "Test set",
        "subset": "Unit",
        "training": "Training set",
        "detector": "Detector",
    },
    cells=[
        Value("found", "Found", ","),
        Value("of", "Of", ","),
        Value("not compared", "Not compared", ","),
        Value("queries", "Test queries", ","),
        Value("share", "Share", ".1%"),
        Value("pairs", "Pairs", ","),
        Value("precision", "Precision", ".2f"),
        Value("least precision", "At least", ".2f"),
    ],
    notes=[
        "Share: of the test queries that can be compared those with an item that was found (of "
        "items, where the test set has no queries), with Wilson's 95 % interval. Not compared: "
        "items with too few words for a run, or none but common ones; posbias leakage find "
        "compares queries by words and meaning.",
        "Passages of a corpus that both sides share are no pairs: {same passage:,}.",
    ],
)
SHOWN = Presentation(
    study=STUDY,
    headline=_headline,
    sections=[
        RowSection(
            anchor="overlap",
            title="Test data in training sets",
            introduction="Candidates are not leaks: how many pairs are copies in truth, a labelled "
            "sample of them says.",
            tables=[OVERLAP],
        )
    ],
    text=[OVERLAP],
)
