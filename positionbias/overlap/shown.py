"""Presentation of overlap and of what was removed because of it: sentences, a table of counts."""

from __future__ import annotations

from pandas import DataFrame

from positionbias.leakage.pairs import Cause
from positionbias.overlap.find import ANY, STUDY
from positionbias.overlap.removal import STUDY as CLEAN
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Record, records_of, said
from positionbias.report.table import RowTable, Value

_HAVE = {
    "passages": "have a relevant passage in {training}",
    "queries": "are in {training}",
}


def _headline(rows: DataFrame) -> list[str]:
    """Return a sentence for each test set and unit, over all training sets, which come last."""
    last = rows["training"] == rows.groupby(["collection", "subset"])["training"].transform("last")
    keys = ["collection", "subset", "training"]
    exact = {
        tuple(record.keys.values()): record
        for record in records_of(rows[last], keys, "detector == 'exact'")
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
    return (
        f"{text}: {same:,.0f} exact, {(of.value(leaked) or 0) - same:,.0f} near. Precision unknown."
    )


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
    ],
    notes=[
        "Share: of the test queries that can be compared those with an item that was found (of "
        "items, where the test set has no queries), with Wilson's 95 % interval. Not compared: "
        "items with too few words for a run, or none but common ones; posbias leakage find "
        "compares queries by words and meaning.",
        "Passages of a corpus that both sides share are no pairs: {same passage:,}.",
    ],
)
FOUND = Presentation(
    study=STUDY,
    headline=_headline,
    sections=[
        RowSection(
            anchor="overlap",
            title="Test data in training sets",
            introduction="Candidates are not leaks: how many pairs are copies in truth, a labelled "
            "sample of them says (posbias leakage label).",
            tables=[OVERLAP],
        )
    ],
    text=[OVERLAP],
)


def _removal(rows: DataFrame) -> list[str]:
    (removal,) = records_of(rows, ["collection", "split", "measure"], "axis == ''")
    what = "{split} {measure}" if removal.keys["measure"] == "queries" else "{measure}"
    share = removal.rows["share"]
    text = f"{{collection}}: removed {{removed:,}} of {share.count:,} {what} ({share.value:.2%})."
    return [said(text, removal)]


def _by_words(rows: DataFrame) -> str:
    told = (
        "Pairs found by words alone have an unknown precision and stay: label them (posbias "
        "leakage label), or add --lexical."
    )
    return told if (rows["label"] == str(Cause.WORDS_ALONE).replace("_", " ")).any() else ""


COUNTS = RowTable(
    name="removed",
    title="What was removed, and why",
    stub={"label": ""},
    where="statistic == 'number' and value > 0",
    cells=[Value("number", "Number", ",")],
    notes=[_by_words],
)
REMOVED = Presentation(
    study=CLEAN,
    headline=_removal,
    sections=[
        RowSection(
            anchor="removed",
            title="Leaks removed",
            introduction="left_out in the new artefact lists each, with its evidence.",
            tables=[COUNTS],
        )
    ],
    text=[COUNTS],
)
SHOWN = FOUND, REMOVED
