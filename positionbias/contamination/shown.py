"""How suspicions and the groups of a contaminated training set are shown."""

from __future__ import annotations

from collections.abc import Mapping

from pandas import DataFrame

from positionbias.contamination.suspect import Suspected
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import (
    Answer,
    Answered,
    Finding,
    Question,
    first_said,
    records_of,
    said,
)
from positionbias.report.table import RowTable, Value

MODELS = "role == 'model'"
BY = ["model", "measure", "seen", "other"]
BASIS = (
    "over its {excess.trainings:,} controls it gains {excess:+.3f} {measure} more on {seen} than "
    "on {other} (one-sided p {excess.p_adjusted:p})"
)
SENTENCES = {  # by answer; the first whose statistics are there
    Suspected.YES: [f"{{model}} is suspicious: {BASIS}."],
    Suspected.NO: [
        f"{{model}} is not suspicious: {BASIS}; an excess of {{excess.margin:.2f}} or more is "
        "outside the interval."
    ],
    Suspected.UNKNOWN: [
        f"Cannot tell whether {{model}} saw {{seen}}: {BASIS}; both no excess and an excess of "
        "{excess.margin:.2f} remain possible.",
        "Cannot tell whether {model} saw {seen}: {excess.reason}.",
    ],
}
RATES = (
    "Simulated error rates of this call ({excess.trainings:,} controls; spread among trainings "
    "{spread:.3f}): a clean model is called suspicious in {false alarms:.1%} of cases; an excess "
    "of 0.02 is found in {power at a small excess:.0%}, of 0.05 in {power at the margin:.0%}, of "
    "0.1 in {power at a large excess:.0%}."
)
ANSWERS: Mapping[str, Answer] = {
    Suspected.YES: Answer(
        answered=Answered.YES,
        words="Suspicious",
        advice=[
            "Look for the test queries in its training data (posbias leakage find), and test it on "
            "more fresh queries."
        ],
    ),
    Suspected.NO: Answer(answered=Answered.NO, words="Not suspicious", welcome=True),
    Suspected.UNKNOWN: Answer(
        answered=Answered.UNKNOWN,
        words="Cannot tell",
        advice=[
            "Train more controls, or add queries: the spread of {spread:.3f} hides smaller "
            "excesses.",
            "Train at least 2 controls, better 8, with the model's architecture and settings, "
            "other seeds and no test data, and give each once as --control.",
        ],
    ),
}
LIMITS = (
    "An excess is no proof. Whatever sets the two sets of queries apart for this model and not for "
    "its controls looks the same: further training data that is nearer to the one set, another "
    "kind of judging.",
    "No excess clears nobody. A model that became better at everything by what it saw shows none, "
    "and neither does a student that has the gain of a teacher that saw the test.",
)


def _headline(rows: DataFrame) -> list[str]:
    """Return the answer about each model."""
    records = records_of(rows, BY, MODELS)
    return [first_said(SENTENCES[record.rows["excess"].answer], record) for record in records]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return each answer's error rates and what to do next, then the limits of all."""
    findings = []
    for record in records_of(rows, BY, MODELS):
        answer = ANSWERS[record.rows["excess"].answer]
        advice = first_said(answer.advice, record)
        texts = (said("{model}:", record), said(RATES, record), advice and f"Next: {advice}")
        holds = {Answered.YES: True, Answered.NO: False}.get(answer.answered)
        findings.append(Finding(" ".join(filter(None, texts)), holds))
    return [*findings, *map(Finding, LIMITS)]


SYSTEMS = RowTable(
    name="query-sets",
    title="Means on queries that a model may have seen, and on others",
    stub={"model": "System", "role": ""},
    where="statistic in ['mean', 'difference']",
    across=["queries"],
    cells=[Value("mean", form=".4f"), Value("difference", "Difference", "+.4f")],
)
SUSPICIONS = Presentation(
    study="contamination suspect",
    prepare=lambda rows: rows.assign(queries=rows["subset"]),
    headline=_headline,
    findings=_findings,
    questions=[
        Question(
            by=BY,
            where=MODELS,
            statistics=["excess"],
            question="Is it suspiciously good on {seen}?",
            subject="{model}",
            answers=ANSWERS,
            effect=["{excess:+.3f} {measure} over its controls", "{excess.reason}"],
            basis=[
                "margin {excess.margin:.2f}",
                "{excess.trainings:,} controls",
                "finds the margin in {power at the margin:.0%}",
                "false alarms {false alarms:.1%}",
            ],
        ).tiles
    ],
    sections=[
        RowSection(
            anchor="query-sets",
            title="Seen queries and others",
            introduction="The difficulty of the queries affects a model and its controls alike.",
            tables=[SYSTEMS],
        )
    ],
    text=[SYSTEMS],
)
ORIGINS = RowTable(
    name="contaminated-sets",
    title="Groups by origin",
    stub={"split": "Origin"},
    where="measure == 'training set'",
    cells=[
        Value("queries", "Queries", ","),
        Value("groups", "Groups", ","),
        Value("share of groups", "Share", ".1%"),
        Value("judged negatives", "judged", ",", "Negatives"),
        Value("random negatives", "random", ",", "Negatives"),
        Value("positives missing from the corpus", "Missing positives", ","),
        Value("positives without candidates", "Positives without candidates", ",", wide=True),
    ],
)
SETS = Presentation(study="trainset contaminated", sections=[], text=[ORIGINS])
SHOWN = (SUSPICIONS, SETS)
