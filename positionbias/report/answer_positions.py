"""How histograms of answers are shown: whether answers sit at the front, a chart, the figures
beside those of an unbiased collection, and what became of answers.
"""

from __future__ import annotations

from typing import Any

from pandas import DataFrame

from positionbias.core.formatting import decimal, interval, percent, with_interval
from positionbias.core.screen import encodable, wrapped
from positionbias.positions.histogram import POINTS, Beside
from positionbias.positions.measured import ANSWERS
from positionbias.report.figure import Histogram
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Record, bounds_of, records_of
from positionbias.report.table import RowTable, Value
from positionbias.report.tiles import Answer, Answered, Question

__all__ = ["CAUSES", "FIGURE", "OUTCOMES", "POSITIONS", "QUESTION", "SECTION", "SHOWN", "chart"]

PARTS, BOTH, LONGEST = 10, 2, 60  # bars, histograms drawn with them, and columns of a bar
BINS = f"measure == '{ANSWERS}' and axis == 'bin' and low == low"
SUMMARY = f"measure == '{ANSWERS}' and axis == ''"

POSITIONS = RowTable(
    name="positions",
    title="Where answers start in their passages",
    stub={"passages": "Answers of"},
    where=SUMMARY,
    cells=[
        *(
            Value(name, heading, show=show, group=group)
            for name, group in (
                ("first fifth", "First fifth"),
                ("mean", "Mean position"),
                ("total variation", "Total variation"),
            )
            for show, heading in (("value", "observed"), ("expected", "if unbiased"))
        ),
        Value("total variation by chance", "by chance", group="Total variation", wide=True),
        Value("mean", "Answers", ",", show="count", wide=True),
        Value("passages counted", "Passages", ",", wide=True),
        Value("mean", "Undefined", show="reason"),
    ],
    notes=[
        "If unbiased: every answer equally likely at each start that it could have, given its "
        "length and its passage's. By chance alone: the mean after rotating every passage, for a "
        "figure that noise cannot lower below 0. Intervals resample passages."
    ],
)
OUTCOMES = RowTable(
    name="answers",
    title="What became of the answers",
    stub={"outcome": "Outcome"},
    across=["passages"],
    where=f"measure == '{ANSWERS}' and axis == 'cause' and statistic == 'answers'",
    cells=[Value("answers", form=",")],
)
CAUSES = RowTable(
    name="matching",
    title="Answers that were not found, and how well matching finds the source's own spans",
    stub={"passages": "Answers of", "label": "Cause"},
    where=f"measure == '{ANSWERS}' and axis == 'cause' and statistic != 'answers'",
    cells=[
        Value("unmatched", "Not found", ","),
        Value("missed", "Spans missed", ","),
        Value("extra match", "Further matches", ","),
    ],
)
FIGURE = Histogram(
    name="answers",
    where=BINS,
    caption=lambda rows: (
        "Where answers start in their passages, as a share of the passage's length, beside an "
        "unbiased collection: every answer equally likely at each start that it could have."
    ),
    panel=("passages",),
    heading="{passages}",
    expected="what unbiased looks like",
    below="Start of the answer: 0 first word, 1 passage end",
    side="Share of answers",
)
FRONT = (
    "Models may learn where answers sit: audit them (posbias audit), or train on rotated passages "
    "(posbias debias)."
)
QUESTION = Question(
    by=["passages"],
    where=SUMMARY,
    statistics=["first fifth"],
    question="Do answers sit at the front of their passages?",
    subject="{passages}",
    answers={
        Beside.ABOVE: Answer(
            answered=Answered.YES, words="More than unbiased", welcome=False, advice=[FRONT]
        ),
        Beside.BELOW: Answer(answered=Answered.NO, words="Fewer than unbiased", welcome=False),
        Beside.WITHIN: Answer(answered=Answered.NO, words="Not beyond the margin", welcome=True),
        Beside.UNKNOWN: Answer(answered=Answered.UNKNOWN, words="Too few answers"),
        Beside.COARSE: Answer(answered=Answered.UNKNOWN, words="Too coarse to tell"),
    },
    effect=["{first fifth:.1%} in the first fifth", "{first fifth.reason}"],
    basis=[
        "unbiased: {first fifth.expected:.1%}",
        "margin ±{first fifth.margin:.0%}",
        "{first fifth.count:,} answers",
    ],
)


def _prepared(rows: DataFrame) -> DataFrame:
    named = rows["collection"] + ", " + rows["split"]
    return rows.assign(passages=named, outcome=rows["label"].str.capitalize())


def _checked(rows: DataFrame) -> list[str]:
    """Say how many of the source's spans are among the matches."""
    return [
        f"{one.keys['passages']}: {one.value('spans among matches'):,.0f} of "
        f"{one.value('spans checked'):,.0f} of the source's spans are among the words' matches."
        for one in records_of(rows, ["passages"], SUMMARY)
        if one.value("spans checked")
    ]


def _headline(rows: DataFrame) -> list[str]:
    """Return whether answers start nearer the front than unbiased ones would: what the interval of
    the difference leaves out.
    """
    return [_placed(one) for one in records_of(rows, ["passages"], SUMMARY)]


def _placed(record: Record) -> str:
    name, mean = record.keys["passages"], record.rows["mean"]
    if mean.reason:
        return f"{name}: {mean.reason}."
    less = record.rows["mean less unbiased"]
    answers = {
        Beside.BELOW: "answers start nearer the front than unbiased ones",
        Beside.ABOVE: "answers start nearer the end than unbiased ones",
        Beside.WITHIN: f"answers start where unbiased ones do, to within {POINTS:g} of the passage",
        Beside.UNKNOWN: "cannot tell whether answers start nearer the front",
    }
    return (
        f"{name}: {answers[mean.answer]}: mean position {_value(mean)}, unbiased "
        f"{decimal(mean.expected)} (difference {_value(less, sign=True)})."
    )


def _value(row: Any, *, sign: bool = False) -> str:
    bounds = interval(bounds_of(row), sign=sign)
    return with_interval(decimal(row.value, sign=sign), bounds)


def chart(rows: DataFrame) -> str:
    """Draw one or two histograms as bars, at most ten each, with the share if unbiased marked."""
    drawn = [(name, bins) for name, bins in rows.query(BINS).groupby("passages", sort=False)]
    if len(drawn) > BOTH:
        return ""
    return "\n\n".join("\n".join(_bars(str(name), bins)) for name, bins in drawn)


def _bars(name: str, bins: DataFrame) -> list[str]:
    """Return the shares of answers in parts of a passage, as bins fall together, a line each."""
    number = len(bins)
    several = next(n for n in range(1, number + 1) if number % n == 0 and number // n <= PARTS)
    parts = bins[["value", "expected"]].groupby(bins.reset_index().index // several).sum()
    longest = parts.to_numpy().max() or 1.0
    block, mark = ("█", "┃") if encodable("█┃") else ("#", "|")
    lines = [
        wrapped(
            f"{name}: share of answers by place in the passage; the mark is the share if unbiased"
        )
    ]
    for at, part in parts.iterrows():
        first, last = (100 * several * edge / number for edge in (int(at), int(at) + 1))
        drawn = (block * round(LONGEST * part["value"] / longest)).ljust(LONGEST + 1)
        unbiased = round(LONGEST * part["expected"] / longest)
        drawn = f"{drawn[:unbiased]}{mark}{drawn[unbiased + 1 :]}"
        place = f"{first:.0f}–{last:.0f} %"
        lines.append(f"{place:>8}  {drawn} {percent(part['value']):>7}")
    return lines


SECTION = RowSection(
    anchor="histogram-answers",
    title="Where answers sit",
    introduction="An answer of several words cannot start in the last few, so a flat histogram is "
    "not what an unbiased collection shows.",
    figures=[FIGURE],
    tables=[POSITIONS],
    folded=[OUTCOMES, CAUSES],
    together=True,
)
SHOWN = Presentation(
    study="histogram",
    prepare=_prepared,
    headline=_headline,
    run=_checked,
    chart=chart,
    questions=[QUESTION],
    sections=[SECTION],
    text=[POSITIONS, OUTCOMES, CAUSES],
    main=("answers",),
    after_study=("positions",),
)
