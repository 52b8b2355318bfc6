"""How a leakage study is shown: the paper's Tables 3 to 8 and Figure 2, tests, orders of models,
training sets.
"""

from __future__ import annotations

from typing import Any

from pandas import DataFrame

from positionbias.evaluation.answers import LEVEL, is_significant
from positionbias.experiments.shown import (
    beside_zero,
    capital,
    comparison_cells,
    comparison_question,
    comparison_text,
    named,
)
from positionbias.leakage.published import PAPER, TARGETS
from positionbias.papers.leakage import (
    CONDITIONS,
    HEADLINE,
    LEAKED,
    LOWER_IS_BETTER,
    NEGATIVE_RANK,
    NO,
    OFFSET,
    RANK,
    SCORE,
    Remembered,
)
from positionbias.report.cells import OVER_NOTE, P_NOTE
from positionbias.report.presentation import Answer, Presentation, Question, RowSection
from positionbias.report.record import Finding, Record, records_of, said
from positionbias.report.row_figure import Lines
from positionbias.report.row_table import DOUBTFUL, MARK, RowTable, Value, where_printed
from positionbias.report.tiles import Answered

__all__ = ["SHOWN", "SIZES_FIGURE"]

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


# --- tables ---------------------------------------------------------------------------------------


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
CHOSEN = RowTable(
    name="leakage-chosen",
    title="Training instances chosen, fold by fold",
    stub={"measure": "Measure", "system": "Model", "trained": "Training set"},
    across=["label"],
    where="statistic == 'chosen instances'",
    cells=[Value("chosen instances", form=",")],
)
LEAKAGE_TESTS = RowTable(
    name="leakage-tests",
    title="Leakage against none",
    stub={"measure": "Measure", "system": "Model", "trained": "Leakage"},
    where=TESTS,
    cells=comparison_cells("Without", "With", CORRECTION),
    notes=[
        "Difference = with − without leakage, topic by topic; effect size: its mean over its "
        "deviation (d_z).",
        P_NOTE,
        OVER_NOTE,
    ],
)
SIZES = RowTable(
    name="leakage-sizes",
    title="Effectiveness by training set size",
    stub={"system": "Model", "subset": "Topics", "label": "Instances"},
    across=["trained"],
    where=BY_SIZE,
    cells=[
        Value("mean", HEADLINE),
        Value("change", "less no leakage", "+.3f"),
    ],
    notes=["Means over the training seeds; intervals over topics."],
)
ORDERS = RowTable(
    name="leakage-orders",
    title="The order of the models",
    stub={"measure": "Measure", "trained": "Leakage"},
    where="statistic in ['tau_b', 'swaps', 'overtakes']",
    cells=[
        Value("tau_b", "Kendall's τ"),
        Value("swaps", "Swaps", ",", "All models with it"),
        Value("swaps", "which", group="All models with it", show="label"),
        Value("overtakes", "Swaps", ",", "One of two with it"),
        Value("overtakes", "which", group="One of two with it", show="label"),
    ],
    notes=[
        "Against the order of the models without leakage. A < B: A was better, and B is; in the "
        "last column B alone has seen the leakage."
    ],
)
SETS = RowTable(
    name="leakage-sets",
    title="The training sets",
    stub={"trained": "Training set", "label": "Instances"},
    where="measure == 'training set'",
    cells=[
        Value("leaked instances", "Leaked instances", ","),
        Value("leaked queries", "Leaked queries", ","),
        Value("topics leaked", "Topics leaked", ","),
        Value("topics leaked without candidates", "Topics leaked without candidates", ","),
        Value("share leaked", "Leaked share", ".1%"),
    ],
    notes=[
        "An instance is a query with one passage; a leaked query stands in two instances or more."
    ],
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
            f"{explained} Number: of topics, of passages in the other tables."
            if measure == OFFSET
            else explained,
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
    _memory("other-ranks", NEGATIVE_RANK, "As the ranks of the relevant ones.", 2),
)

# --- the figure -----------------------------------------------------------------------------------


def _sizes_caption(rows: DataFrame) -> str:
    chosen = rows.query(f"{BY_SIZE} and subset == '{LEAKED}' and statistic == 'mean'")
    parts = []
    for (system, trained), own in chosen.groupby(["system", "trained"], sort=False):
        ends = own.sort_values("at").iloc[[0, -1][: len(own)]]
        shown = ", ".join(
            f"{row.value:.3f} with {row.label} instances" for row in ends.itertuples()
        )
        parts.append(f"{system}, {trained}: {shown}")
    topics = chosen["count"].max()
    return (
        f"{HEADLINE} by training set size on the {topics:,} topics with leaked queries, with "
        f"intervals over topics. {'; '.join(parts)}."
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
    same="y",
    log=True,
    free=True,
    places=2,
)

# --- sentences and answers ------------------------------------------------------------------------


def _headline(rows: DataFrame) -> list[str]:
    """Return how many models leakage lifts beyond doubt."""
    parts = []
    tested = rows.query(f"measure == '{HEADLINE}' and {TESTED}")
    for trained, own in tested.groupby("trained", sort=False):
        lifted = int(((own["p_adjusted"] < LEVEL) & (own["value"] > 0)).sum())
        parts.append(f"{trained} lifts {lifted} of {len(own)} models")
    told = "; ".join(parts)
    return [f"{capital(told)} in {HEADLINE} (Bonferroni p < {LEVEL:g})."] if parts else []


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on leaked shares, effects and their change with size, orders, memories, and
    the paper's target.
    """
    return [
        *_shares(rows),
        *_effects(rows),
        *_others(rows),
        *_weak(rows),
        *_by_size(rows),
        *_orders(rows),
        *_memories(rows),
        *_target(rows),
    ]


def _shares(rows: DataFrame) -> list[Finding]:
    """Report the leaked share of the smallest and the largest set of each kind."""
    findings = []
    for trained in rows["trained"].unique():
        own = rows[(rows["measure"] == "training set") & (rows["trained"] == trained)]
        sets = sorted(records_of(own, ["at"]), key=lambda one: float(one.keys["at"]))
        if not sets or not sets[-1].value("share leaked"):
            continue
        shares = [said("{share leaked:.1%} of {instances:,}", one) for one in (sets[0], sets[-1])]
        more = f" to {shares[1]}" if len(sets) > 1 else ""
        text = said(
            f"{capital(trained)}: {shares[0]} training instances{more} leaked, from "
            "{leaked queries:,} queries that leak {topics leaked:,} topics.",
            sets[0],
        )
        findings.append(Finding(text, None))
    return findings


def _effects(rows: DataFrame) -> list[Finding]:
    """Compare each leakage with none in the headline measure."""
    findings = []
    for one in records_of(rows, ["system", "trained"], f"measure == '{HEADLINE}' and {TESTS}"):
        text = said(
            f"{capital(one.keys['trained'])} of {{system}}: {HEADLINE} {{candidate mean:.3f}} "
            "against {baseline mean:.3f} without, difference ",
            one,
        )
        significant = is_significant(one.rows["difference"].p_adjusted)
        text += f"{comparison_text(one, CORRECTION)}; {'' if significant else 'not '}significant."
        findings.append(Finding(text, significant or None))
    return findings


def _others(rows: DataFrame) -> list[Finding]:
    """Name the significant differences in the other measures."""
    tests = records_of(
        rows, ["measure", "system", "trained"], f"measure != '{HEADLINE}' and {TESTS}"
    )
    if not tests:
        return []
    sure = [one for one in tests if is_significant(one.rows["difference"].p_adjusted)]
    others = ", ".join(dict.fromkeys(one.keys["measure"] for one in tests))
    if not sure:
        text = f"Of {others} no difference is significant after Bonferroni's correction."
        return [Finding(text, None)]
    listed = "; ".join(
        said(f"{{measure}} of {{system}}, {{trained}} ({_better(one)} by {{difference:+.3f}})", one)
        for one in sure
    )
    return [Finding(f"Of {others}, significant after Bonferroni's correction: {listed}.", True)]


def _better(record: Record) -> str:
    higher = record.rows["difference"].value > 0
    return "better" if higher != (record.keys["measure"] in LOWER_IS_BETTER) else "worse"


def _weak(rows: DataFrame) -> list[Finding]:
    """Name the models below the first stage's mean in the headline measure with every training
    set.
    """
    means = rows.query(f"measure == '{HEADLINE}' and {MEAN} and whose == ''")
    first = means[means["role"] == "first stage"]["value"]
    if first.empty:
        return []
    best = means[means["variant"] != ""].groupby("system", sort=False)["value"].max()
    weak = list(best[best < first.iloc[0]].index)
    text = (
        f"{', '.join(weak)}: below BM25's {HEADLINE} of {first.iloc[0]:.3f} with every training "
        "set, so these findings are about weak models."
    )
    return [Finding(text, None)] if weak else []


def _by_size(rows: DataFrame) -> list[Finding]:
    """Report leakage's effect with the smallest and the largest sets on topics with leaked queries,
    and whether it shrinks.
    """
    findings = []
    leaked = rows.query(f"measure == '{HEADLINE}' and subset == '{LEAKED}'")
    for grown in leaked.query("statistic == 'change with size'").itertuples():
        own = leaked[(leaked["system"] == grown.system) & (leaked["trained"] == grown.trained)]
        gains = own[own["statistic"] == "change"].sort_values("at")
        first, last = next(gains.head(1).itertuples()), next(gains.tail(1).itertuples())
        shown = {
            name: Record({}, {"it": row})
            for name, row in (("first", first), ("last", last), ("grown", grown))
        }
        changes = {name: said("{it:+.3f}", record) for name, record in shown.items()}
        verdict, holds = _shrinks(first, last, grown)
        text = (
            f"On the {grown.count:,} topics with leaked queries {grown.trained} changes {HEADLINE} "
            f"of {grown.system} by {changes['first']} with {first.label} instances and by "
            f"{changes['last']} with {last.label}; the second less the first is "
            f"{changes['grown']}: {verdict}."
        )
        findings.append(Finding(text, holds))
    return findings


def _shrinks(first: Any, last: Any, grown: Any) -> tuple[str, bool | None]:
    """Describe how the effect, a gain or a loss, changes with size, and whether it shrinks (None:
    cannot tell).

    An effect that may be 0 at the end has shrunk.
    """
    if not beside_zero(grown):
        return "these data cannot tell whether it shrinks", None
    if first.value * last.value < 0 and beside_zero(last):
        return "the effect changes its sign as the sets grow", None
    if abs(last.value) < abs(first.value):
        return "the effect shrinks as the sets grow", True
    return "the effect grows with the sets, which goes against the paper", False


def _orders(rows: DataFrame) -> list[Finding]:
    """Name the models that change places: all with leakage, and one of two with leakage."""
    findings = []
    for one in records_of(rows, ["measure", "trained"], "statistic in ['swaps', 'overtakes']"):
        swapped, overtaken = one.rows["swaps"], one.rows["overtakes"]
        if swapped.value or overtaken.value:
            alone = f"; of two models, one with it: {overtaken.label}" if overtaken.value else ""
            text = said(
                f"By {{measure}}, of all models with {{trained}}: {swapped.label}{alone} (A < B: A "
                "was better, and B is).",
                one,
            )
            findings.append(Finding(text, True))
        else:
            text = "By {measure}, {trained} changes no place in the order of the models."
            findings.append(Finding(said(text, one), False))
    return findings


def _memories(rows: DataFrame) -> list[Finding]:
    """Report ranks, scores and offsets of leaked passages, in a sentence per model and leakage."""
    findings = []
    chosen = rows.query("statistic == 'difference' and whose == '' and against == ''")
    for (system, trained), own in chosen.groupby(["system", "trained"], sort=False):
        changes = {row.measure: row for row in own.itertuples()}
        offset = changes[OFFSET]
        shown = {
            measure: said(
                f"{{it:{'+.3f' if measure == SCORE else '+.2f'}}}", Record({}, {"it": row})
            )
            for measure, row in changes.items()
        }
        text = (
            f"{system} with {trained}: the {changes[RANK].count:,} leaked relevant passages change "
            f"their rank by {shown[RANK]} and their score by {shown[SCORE]}, the "
            f"{changes[NEGATIVE_RANK].count:,} leaked others their rank by "
            f"{shown[NEGATIVE_RANK]}; the gap between them changes by {shown[OFFSET]} ranks, over "
            f"{offset.count:,} topics: {offset.answer}."
        )
        findings.append(Finding(text, HOLDS[Remembered(offset.answer)]))
    return findings


HOLDS = {Remembered.YES: True, Remembered.OPPOSITE: False, Remembered.UNKNOWN: None}


def _target(rows: DataFrame) -> list[Finding]:
    if rows.query("statistic == 'published figures'").empty:
        return []
    text = (
        f"The target is not one of the paper's collections ({', '.join(TARGETS)}), so its tables "
        "are not compared."
    )
    return [Finding(text, None)]


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

# --- page and terminal ----------------------------------------------------------------------------

SHOWN = Presentation(
    study="leakage",
    prepare=named,
    headline=_headline,
    findings=_findings,
    questions=[LEAKAGE_QUESTION, MEMORY_QUESTION],
    sections=(
        RowSection(
            anchor="leakage",
            title="Effectiveness with and without leakage",
            introduction="Each model was trained on sets that differ in a fixed number of leaked "
            "queries alone: none; training queries that near-duplicate the test queries (MSM "
            "leakage); the test queries themselves, with their judged passages (test leakage), "
            "which bounds what leakage can do.",
            figures=[SIZES_FIGURE],
            tables=[EFFECTIVENESS, LEAKAGE_TESTS, ORDERS, SETS],
            folded=[FIRST_STAGE, SIZES, CHOSEN],
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
    main=("leakage-sizes",),
    after_study=("leakage", "memory"),
)
