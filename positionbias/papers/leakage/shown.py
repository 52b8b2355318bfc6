"""Presentation of a leakage study: the paper's Tables 3 to 8 and Figure 2, tests, orders of models,
training sets.
"""

from __future__ import annotations

from pandas import DataFrame

from positionbias.evaluation.answers import LEVEL
from positionbias.experiments.shown import capital, comparison_question, named
from positionbias.leakage.measured import PAPER
from positionbias.papers.leakage import (
    CONDITIONS,
    HEADLINE,
    LEAKED,
    NO,
    OFFSET,
    RANK,
    SCORE,
    Remembered,
)
from positionbias.report.figure import Lines
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Answer, Answered, Finding, Question, records_of, said
from positionbias.report.table import DOUBTFUL, MARK, RowTable, Value, where_printed

PRINTED = (
    f"Published: {PAPER}; its marks are by Student's paired t-test. Ours is another experiment, "
    "not a repetition of it. Beside BERT_CAT stands monoBERT, which is BERT_CAT with the pointwise "
    "loss."
)
TESTS = f"against == 'variant={CONDITIONS[NO]}' and seed == -1"
TESTED = f"statistic == 'difference' and {TESTS}"
MEAN = "statistic == 'mean' and axis == ''"
BY_SIZE = "axis == 'instances' and subset != ''"
CORRECTION = "Bonferroni"


EFFECTIVENESS = RowTable(
    name="leakage",
    title="Effectiveness with and without leakage",
    stub={"system": "Model"},
    across=["measure", "trained"],
    where=f"{MEAN} and variant != '' or {TESTED}",
    cells=[Value("mean", mark="difference", brief=True)],
    notes=[
        f"Differs from training without leakage: {DOUBTFUL} p < {LEVEL:g}, uncorrected; {MARK} "
        "after Bonferroni's correction over the models and leakages of a measure.",
        "The size of the training set is chosen for each measure on the other folds of topics. "
        "Lower is better for MFR, an arithmetic mean of first relevant ranks.",
        where_printed(PRINTED),
    ],
)
FIRST_STAGE = RowTable(
    name="leakage-bm25",
    title="BM25, which is re-ranked",
    stub={"system": "First stage"},
    across=["measure"],
    where=f"{MEAN} and role == 'first stage'",
    cells=[Value("mean")],
)
ORDERS = RowTable(
    name="leakage-orders",
    title="The order of the models",
    stub={"measure": "Measure", "trained": "Leakage"},
    where="statistic == 'swaps'",
    cells=[
        Value("swaps", "Swaps", ","),
        Value("swaps", "which", show="label"),
    ],
    notes=["Against the order of the models without leakage. A < B: A was better, and B is."],
)


def _memory(name: str, measure: str, explained: str, places: int = 3) -> RowTable:
    form = f".{places}f"
    return RowTable(
        name=f"memory-{name}",
        title=capital(measure),
        stub={"trained": "Leakage", "system": "Model"},
        where=f"measure == '{measure}'",
        cells=[
            Value("with", "Mean", form, "With leakage"),
            Value("with deviation", "Deviation", form, "With leakage"),
            Value("without", "Mean", form, "Without leakage"),
            Value("without deviation", "Deviation", form, "Without leakage"),
            Value("difference", "Difference", f"+{form}"),
            Value("difference deviation", "Its deviation", form, wide=True),
            Value("difference", "Number", ",", show="count"),
            Value("difference", "Models", ",", show="trainings", wide=True),
        ],
        notes=[
            explained,
            "Each model with leakage stands against the one that was trained alike without it "
            "(size, seed); intervals over topics.",
            where_printed(PRINTED),
        ],
    )


MEMORIES = (
    _memory(
        "ranks",
        RANK,
        "The rank in the re-ranked candidates, of a passage that was not retrieved by its score "
        "among them.",
        2,
    ),
    _memory("scores", SCORE, "The model's own score; models have scales of their own."),
    _memory(
        "offsets",
        OFFSET,
        "By topic the mean of (rank of the leaked non-relevant passage − rank of the leaked "
        "relevant one); the difference is the increase by leakage.",
    ),
)


def _sizes_caption(rows: DataFrame) -> str:
    topics = rows.query(f"{BY_SIZE} and subset == '{LEAKED}'")["count"].max()
    return (
        f"{HEADLINE} by training set size on the {topics:,} topics with leaked queries, with "
        "intervals over topics."
    )


SIZES_FIGURE = Lines(
    name="leakage-sizes",
    where=f"{BY_SIZE} and subset == '{LEAKED}' and statistic == 'mean'",
    caption=_sizes_caption,
    panel=("system",),
    heading="{system}",
    series="trained",
    below="Training instances",
    side=HEADLINE,
    log=True,
    one_scale=True,
)


def _headline(rows: DataFrame) -> list[str]:
    """Return how many models leakage lifts beyond doubt."""
    parts = []
    tested = rows.query(f"measure == '{HEADLINE}' and {TESTED}")
    for trained, own in tested.groupby("trained", sort=False):
        lifted = int(((own["p_adjusted"] < LEVEL) & (own["value"] > 0)).sum())
        parts.append(f"{trained} lifts {lifted} of {len(own)} models")
    told = "; ".join(parts)
    return [f"{capital(told)} in {HEADLINE} (Bonferroni p < {LEVEL:g})."] if parts else []


def _memories(rows: DataFrame) -> list[Finding]:
    """Report the gap between leaked passages, in a sentence per model and leakage."""
    where = f"measure == '{OFFSET}' and whose == ''"
    return [
        Finding(
            said(
                "{system} with {trained}: the gap between leaked relevant and other passages "
                "changes by {difference:+.2f} ranks, over {difference.count:,} topics: "
                f"{one.rows['difference'].answer}.",
                one,
            ),
            HOLDS[Remembered(one.rows["difference"].answer)],
        )
        for one in records_of(rows, ["system", "trained"], where)
    ]


HOLDS = {Remembered.YES: True, Remembered.OPPOSITE: False, Remembered.UNKNOWN: None}

CLEAN = "Remove near-duplicates of the test queries from the training set (posbias leakage clean)."
LEAKAGE_QUESTION = comparison_question(
    ["measure", "system", "trained"],
    f"measure == '{HEADLINE}' and {TESTS}",
    "Does {trained} lift {measure}?",
    "{system}",
    good=False,
    advice=CLEAN,
    correction=CORRECTION,
    counted="topics",
)
MEMORY_QUESTION = Question(
    by=["system", "trained"],
    where=f"measure == '{OFFSET}' and whose == ''",
    statistics=["difference"],
    question="Are leaked passages remembered?",
    subject="{system}, {trained}",
    answers={
        Remembered.YES: Answer(
            answered=Answered.YES, words="Remembers", welcome=False, advice=[CLEAN]
        ),
        Remembered.OPPOSITE: Answer(
            answered=Answered.NO, words="The opposite of remembering", welcome=True
        ),
        Remembered.UNKNOWN: Answer(answered=Answered.UNKNOWN, words="Not shown"),
    },
    effect=["{difference:+.2f} ranks"],
    basis=[
        "the gap between leaked relevant and other passages",
        "{difference.count:,} topics",
    ],
)

SHOWN = Presentation(
    study="leakage",
    prepare=named,
    headline=_headline,
    findings=_memories,
    questions=[LEAKAGE_QUESTION.tiles, MEMORY_QUESTION.tiles],
    sections=(
        RowSection(
            anchor="leakage",
            title="Effectiveness with and without leakage",
            introduction="Each model was trained on sets that differ in a fixed number of leaked "
            "queries alone: none; training queries that near-duplicate the test queries (MSM "
            "leakage); the test queries themselves, with their judged passages (test leakage), "
            "which bounds what leakage can do.",
            figures=[SIZES_FIGURE],
            tables=[EFFECTIVENESS, ORDERS],
            folded=[FIRST_STAGE],
        ),
        RowSection(
            anchor="memories",
            title="What the models remember of leaked passages",
            introduction="Where the passages of leaked training instances stand among a test "
            "query's candidates, in models that were trained on them and in models that were not. "
            "Remembering lifts the relevant passage, lowers the other, and widens the gap between "
            "them.",
            tables=MEMORIES,
        ),
    ),
    text=[],
)
