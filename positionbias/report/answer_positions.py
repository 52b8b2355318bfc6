"""How histograms of answers are shown: whether answers sit at the front, a chart, the figures
beside those of an unbiased collection, and what became of answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from pandas import DataFrame

from positionbias.core.terminal import encodable, wrapped
from positionbias.positions.histogram import POINTS, Beside
from positionbias.positions.measured import ANSWERS
from positionbias.report.figure import Histogram
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Answer, Answered, Question, sentences
from positionbias.report.table import RowTable, Value
from positionbias.text.formatting import percent

PARTS, LONGEST = 10, 60  # bars, and columns of a bar
BARS = "share of answers by place in the passage; the mark is the share if unbiased"
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
        Beside.ABOVE: Answer(answered=Answered.YES, words="More than unbiased", advice=[FRONT]),
        Beside.BELOW: Answer(answered=Answered.NO, words="Fewer than unbiased"),
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


PLACED = {
    Beside.BELOW: "answers start nearer the front than unbiased ones",
    Beside.ABOVE: "answers start nearer the end than unbiased ones",
    Beside.WITHIN: f"answers start where unbiased ones do, to within {POINTS:g} of the passage",
    Beside.UNKNOWN: "cannot tell whether answers start nearer the front",
}


def _prepared(rows: DataFrame) -> DataFrame:
    return rows.assign(
        passages=rows["collection"] + ", " + rows["split"],
        outcome=rows["label"].str.capitalize(),
        placed=rows["answer"].map(PLACED),
    )


def chart(rows: DataFrame) -> str:
    """Draw histograms as bars, at most ten each, with the share if unbiased marked."""
    drawn = rows.query(BINS).groupby("passages", sort=False)
    return "\n\n".join("\n".join(_bars(f"{name}: {BARS}", bins)) for name, bins in drawn)


def _bars(title: str, bins: DataFrame) -> Iterator[str]:
    """Yield the title, then the shares of answers in parts of a passage, a line each."""
    yield wrapped(title)
    number = len(bins)
    several = next(n for n in range(1, number + 1) if number % n == 0 and number // n <= PARTS)
    shares = bins[["value", "expected"]].to_numpy().reshape(-1, several, 2).sum(axis=1)
    block, mark = ("█", "┃") if encodable("█┃") else ("#", "|")
    for at, (share, expected) in enumerate(shares):
        length, unbiased = (round(LONGEST * part / shares.max()) for part in (share, expected))
        drawn = (block * length).ljust(LONGEST + 1)
        place = f"{100 * several * at / number:.0f}–{100 * several * (at + 1) / number:.0f} %"
        line = f"{drawn[:unbiased]}{mark}{drawn[unbiased + 1 :]}"
        yield f"{place:>8}  {line} {percent(share):>7}"


SECTION = RowSection(
    anchor="histogram-answers",
    title="Where answers sit",
    introduction="An answer of several words cannot start in the last few, so a flat histogram is "
    "not what an unbiased collection shows.",
    figures=[FIGURE],
    tables=[POSITIONS],
    folded=[OUTCOMES],
    together=True,
)
SHOWN = Presentation(
    study="histogram",
    prepare=_prepared,
    headline=sentences(
        ["passages"],
        SUMMARY,
        "{passages}: {mean.placed}: mean position {mean:.3f}, unbiased {mean.expected:.3f} "
        "(difference {mean less unbiased:+.3f}).",
        "{passages}: {mean.reason}.",
    ),
    run=sentences(
        ["passages"],
        SUMMARY,
        "{passages}: {spans among matches:,} of {spans checked:,} of the source's spans are among "
        "the words' matches.",
    ),
    chart=chart,
    questions=[QUESTION.tiles],
    sections=[SECTION],
    text=[POSITIONS, OUTCOMES],
)
