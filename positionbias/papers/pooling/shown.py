"""How pools are shown: tables, figures, answers and sentences over their rows."""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.pooling.kinds import Contrast, KindAnswer
from positionbias.pooling.verdict import SURE, RunAnswer
from positionbias.report.figure import Forest, Lines, Mark, Scatter
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Answer, Answered, Finding, Question, records_of, said
from positionbias.report.table import RowTable, Value
from positionbias.text.formatting import NBSP

UNDER = {"measure": "Measure", "pool": "Pools", "kind": "Test systems"}
FOUND = "measure == 'relevant documents'"
SETS = "variant == '' and axis == '' and pool != '' and kind != ''"
KIND = f"variant in {[str(contrast) for contrast in Contrast]}"

# --- tables ---------------------------------------------------------------------------------------


def _drawn(rows: DataFrame) -> str:
    mean = "Means of {pools:,} pools of depth {depth of pools:,}, each of half of a kind's groups."
    return next((said(mean, one) for one in records_of(rows, ["measure"], "pool == ''")), "")


def _printed(rows: DataFrame) -> str:
    places = "; ".join(sorted(set(rows.query("whose == 'published'")["family"])))
    return places and f"Published: {places}; it prints no intervals, and its pools are other draws."


COLLECTION = RowTable(
    name="pool-task",
    title="Runs, groups and judgements",
    stub={"kind": "Kind"},
    where="measure == 'collection' and kind != ''",
    cells=[
        Value("systems", "Runs", ","),
        Value("groups", "Groups", ","),
        Value("queries", "Queries", ","),
        Value("judgements", "Judgements", ","),
        Value("relevant", "Relevant", ","),
        Value("relevant from", "from grade", ","),
    ],
)
COVERAGE = RowTable(
    name="pool-coverage",
    title="Relevant documents by pool depth",
    stub={"label": "Pool depth"},
    across=["kind"],
    where=FOUND,
    cells=[Value("found", "in its pool", ","), Value("alone", "in no other", ",")],
)
ORDER = RowTable(
    name="pool-order",
    title="Kendall's τ by pools and test systems",
    stub={"pool": "Pools"},
    across=["measure", "kind"],
    where=f"statistic == 'tau_b' and {SETS}",
    cells=[Value("tau_b")],
    notes=[
        "Rows: the kind whose groups feed the pools; columns: the kind of the test systems. "
        "Kendall's τ_b between the systems' order by gold and by a pool's judgements, mean over "
        f"pools [95{NBSP}%], t over the pools: it covers other draws of pools, not other queries.",
        _printed,
    ],
)
CHANGES = RowTable(
    name="pool-bias",
    title="Change of score by kind of system",
    stub=UNDER,
    where=f"whose == '' and ({SETS} or statistic in ['pools', 'depth of pools'])",
    needs="change",
    cells=[
        Value("gold", "by gold", group="Mean score"),
        Value("by the pool", "by a pool", group="Mean score"),
        Value("change", "Change", "+.3f"),
    ],
    notes=[
        _drawn,
        "Change: the pool's score minus the gold score, mean over systems, queries and pools. "
        "Every unseen system loses; the table of kinds says whether one loses more than another.",
    ],
)
KINDS = RowTable(
    name="pool-kinds",
    title="Does kind matter?",
    stub={**UNDER, "variant": "Against"},
    where=KIND,
    cells=[
        Value("effect of kind", "Answer", show="answer"),
        Value("gap", "Gap", "+.3f"),
        Value("effect of kind", "Effect", "+.3f"),
        Value("effect of kind", "p (Holm)", "p", show="p_adjusted"),
        Value("false alarms", "false alarms", ".1%", "Error rates"),
        Value("power", "power", ".1%", "Error rates"),
    ],
    notes=[
        lambda rows: "".join(
            f"Cannot tell: {reason}." for reason in rows["reason"].unique() if reason
        ),
        "Gap: how much more (+) or less (−) the score of a test system changes than that of an "
        "unseen system of the pool's kind with an equal gold score; beyond mixed pools: minus the "
        "same under pools of as many groups of any kind. Effect: the gap minus its mean with kinds "
        "permuted among groups; intervals treat groups and topics as random, p is by permutation.",
        "False alarms: how often the answer is worse or better with kinds permuted again, "
        "{false alarms.count:,} times. Power: how often a gap of {effect of kind.margin:.2f} is "
        "called worse.",
    ],
)
VERDICT = RowTable(
    name="pool-verdict",
    title="Score of the new run",
    stub={"measure": "Measure", "run": "Run"},
    where="run != ''",
    needs="predicted",
    cells=[
        Value("predicted", "Answer", show="answer"),
        Value("score", "as judged", group="Score"),
        Value("predicted", "predicted", group="Score"),
        Value("least", "at least", group="Score"),
        Value("most", "at most", group="Score"),
    ],
    notes=[
        f"Predicted: the score if its group had taken part in the pool, with a 95{NBSP}% "
        "prediction interval; at least and at most: for any grades of the unjudged documents."
    ],
)
LEADS = RowTable(
    name="pool-comparisons",
    title="The new run against each pooled run",
    stub={"measure": "Measure", "run": "Pooled run", "kind": "Kind"},
    where="run != ''",
    needs="probability",
    order="score",
    cells=[
        Value("score", "Its score"),
        Value("predicted lead", "New run's score minus its, predicted", "+.3f"),
        Value("probability", "Probability of being better", ".2f"),
        Value("probability", "The new run is", show="answer"),
    ],
)

# --- figures --------------------------------------------------------------------------------------


def _depth(rows: DataFrame) -> float:
    """Return the depth of the pools that kinds are compared at."""
    return float(rows.query("statistic == 'pool depth'")["value"].max())


def _covered(rows: DataFrame) -> str:
    kinds = records_of(rows, ["kind"], f"{FOUND} and at == {_depth(rows)}")
    parts = [said("of {kind} runs {found:,}, {alone:,} of them in no other", one) for one in kinds]
    return f"Relevant documents in pools of depth {_depth(rows):.0f}: {'; '.join(parts)}."


def _coverage_caption(rows: DataFrame) -> str:
    return (
        f"{_covered(rows)} Only judged documents count, so curves are understated where they go "
        "deeper than what was judged; and a kind with more runs finds more."
    )


def _scatter_caption(rows: DataFrame) -> str:
    taus = records_of(rows, ["measure", "pool", "kind"], "variant == 'pool 0' and run == ''")
    parts = [said("{measure}, {pool} pool, {kind}: {tau_b:.3f}", one) for one in taus]
    return (
        "Each test system's score by the judgements of one drawn pool against its score by gold; "
        f"below the line it is underestimated. Kendall's τ: {'; '.join(filter(None, parts))}."
    )


def _bias_caption(rows: DataFrame) -> str:
    others = records_of(rows, list(UNDER), f"{SETS} and kind != pool and kind != 'all'")
    parts = [said("{kind} runs by {pool} pools, {measure}: {change:+.3f}", one) for one in others]
    return (
        "How far pools of one kind move the scores of systems that did not feed them (left of 0: "
        "underestimated); hollow: how much more than permuted kinds would, with "
        f"95{NBSP}% intervals over groups and queries. Of other kinds than the pools': "
        f"{'; '.join(filter(None, parts))}."
    )


COVERAGE_FIGURE = Lines(
    name="pool-coverage",
    where=FOUND,
    caption=_coverage_caption,
    panel=("statistic",),
    heading="Relevant, {statistic}",
    below="Pool depth",
    side="Documents",
    from_zero=True,
)
SCATTER = Scatter(
    name="pool-scatter",
    where="variant == 'pool 0' and run != ''",
    caption=_scatter_caption,
    panel=("measure", "pool"),
    heading="{measure}, {pool} pool",
    below="By the gold judgements",
    side="By this pool",
    across="gold",
    up="by the pool",
)
BIAS = Forest(
    name="pool-bias",
    where="axis == '' and pool != '' and kind not in ['', 'all'] and run == '' and "
    "statistic in ['change', 'effect of kind']",
    caption=_bias_caption,
    below="Mean change of score, from gold to a pool's judgements",
    line=("kind", "pool"),
    name_of="{kind} by {pool} pools",
    marks=[
        Mark("statistic == 'change'", "change", lower=-0.2),
        Mark(
            f"variant == '{Contrast.UNSEEN}'",
            "its excess beside unseen runs of the pool's kind",
            full=False,
            lower=0.06,
        ),
        Mark(
            f"variant == '{Contrast.MIXED}'",
            "its excess beyond mixed pools",
            marker="v",
            full=False,
            lower=0.3,
        ),
    ],
)

# --- sentences and answers ------------------------------------------------------------------------


def _findings(rows: DataFrame) -> list[Finding]:
    """Return whether kind matters, what each kind's pool covers, and the verdict on a new run."""
    findings = []
    for _, own in rows.groupby("collection", sort=False):
        answers = own.query("statistic == 'effect of kind'")["answer"].value_counts()
        if len(answers):
            findings.append(_kind_matters({one: int(answers.get(one, 0)) for one in KindAnswer}))
        if own["measure"].eq("relevant documents").any():
            findings.append(Finding(_covered(own)))
        for record in records_of(own, ["collection", "measure", "run"], "run != ''"):
            if "predicted" in record.rows:
                leads = own.query(f"measure == '{record.keys['measure']}'")
                answer = record.rows["predicted"].answer
                lines = [said(line, record) for line in (ANSWERED[answer], *JUDGED)]
                text = "\n".join([*filter(None, lines), *_orders(leads)])
                findings.append(Finding(text, answer == RunAnswer.YES))
    return findings


def _kind_matters(counts: dict[KindAnswer, int]) -> Finding:
    own = "pools of one kind judge the other as they judge their own"
    listed = ", ".join(f"{number} {answer}" for answer, number in counts.items())
    tests = f"(of {sum(counts.values())} tests, {listed})."
    if counts[KindAnswer.WORSE] + counts[KindAnswer.BETTER]:
        return Finding(f"No: {own.replace('judge', 'do not judge', 1)} {tests}", True)
    if counts[KindAnswer.UNKNOWN]:
        return Finding(f"Cannot tell whether {own} {tests}")
    return Finding(f"Yes: {own}, within 0.03 {tests}", False)


ANSWERED = {
    **dict.fromkeys([RunAnswer.YES, RunAnswer.MORE], "{run} {predicted.answer} by {measure}."),
    RunAnswer.UNKNOWN: "Cannot tell whether {run} can be judged by {measure}: {predicted.reason}.",
}
JUDGED = (  # without the sentences whose figures are missing
    "{unjudged.value:.1%} of its first {unjudged.label} are unjudged: {score:.3f} by the judged "
    "documents, {least:.3f} to {most:.3f} possible for any grades of the rest.",
    f"Predicted {{measure}}: {{predicted.value:.3f}}, 95{NBSP}% prediction interval "
    "{predicted.low:.3f} to {predicted.high:.3f}; the choice of queries leaves ±{half over "
    "queries:.3f}.",
    "Left out of the pool in turn, {covered:.0%} of the pooled runs score within such an interval "
    "({covered.count:,} runs of {covered.clusters:,} groups, a group counted once).",
)


def _orders(rows: DataFrame) -> list[str]:
    answers = rows.query("statistic == 'probability'")["answer"].value_counts()
    if answers.empty:
        return []
    better, worse, still = (answers.get(one, 0) for one in ("better", "worse", "open"))
    return [
        f"On these queries better than {better:,} and worse than {worse:,} of {answers.sum():,} "
        f"pooled runs with a probability of {SURE:.0%} or more; {still:,} are open."
    ]


def _answer(answered: Answered, words: str, welcome: bool, *advice: str) -> Answer:
    return Answer(answered=answered, words=words, welcome=welcome, advice=advice)


JUDGE = "Judge its {unjudged documents:,} unjudged documents, and ask again."
RUN_QUESTION = Question(
    by=["collection", "measure", "run"],
    where="run != ''",
    statistics=["predicted"],
    question="Can {collection} judge {run} by {measure}?",
    subject="{run}",
    answers={
        RunAnswer.YES: _answer(Answered.YES, "Can be judged", True),
        RunAnswer.MORE: _answer(
            Answered.NO,
            "Cannot be judged yet",
            False,
            JUDGE,
        ),
        RunAnswer.UNKNOWN: _answer(Answered.UNKNOWN, "Cannot tell", False, JUDGE),
    },
    effect=["predicted {predicted:.3f} {measure}", "{measure} between {least:.3f} and {most:.3f}"],
    basis=[
        "{unjudged.value:.1%} of its first {unjudged.label} unjudged",
        "queries leave ±{half over queries:.3f} open",
        "such intervals covered {covered:.0%} of pooled runs",
    ],
)
KIND_QUESTION = Question(
    by=["collection", "measure", "pool", "kind", "variant"],
    where=KIND,
    statistics=["effect of kind"],
    question="Do {pool} pools underestimate {kind} runs?",
    subject="{collection}, {measure}, {variant}",
    answers={
        KindAnswer.WORSE: _answer(
            Answered.YES,
            "Underestimated",
            False,
            "Add groups of {kind} runs to the pool, or compare {kind} runs only with each other.",
        ),
        KindAnswer.BETTER: _answer(
            Answered.NO,
            "Overestimated",
            False,
            "Compare {pool} and {kind} runs only under pools of both kinds.",
        ),
        KindAnswer.CLOSE: _answer(Answered.NO, "Within 0.03", True),
        KindAnswer.UNKNOWN: _answer(
            Answered.UNKNOWN,
            "Cannot tell",
            False,
            "Add groups of runs: fewer decide less.",
        ),
    },
    effect=["{effect of kind:+.3f} {measure}", "{gap:+.3f} {measure}"],
    basis=[
        "Holm p {effect of kind.p_adjusted:p}",
        "finds {effect of kind.margin:.2f} in {power:.0%}",
        "false alarms {false alarms.value:.1%}",
    ],
)

# --- page and terminal ----------------------------------------------------------------------------

SECTIONS = [
    RowSection(
        anchor="pool-bias",
        title="Whom pools of one kind underestimate",
        introduction="A system that did not feed a pool has documents in it that nobody judged, "
        "and they count as not relevant: every unseen system loses. The pool is unfair to a kind "
        "where it loses more than equally good unseen systems of the pool's own kind do, and more "
        "than it would if kinds were permuted among the groups.",
        figures=[BIAS],
        tables=[KINDS, CHANGES],
    ),
    RowSection(
        anchor="pool-coverage",
        title="What each kind of system finds",
        introduction="If the pool of a test collection were made of one kind of system alone, "
        "these relevant documents would be in it.",
        figures=[COVERAGE_FIGURE],
        folded=[COVERAGE],
    ),
    RowSection(
        anchor="pool-order",
        title="Do pools of one kind put systems in the right order?",
        introduction="Half of the groups of one kind feed a pool; its judgements rank the systems "
        "that did not feed it, and their order is compared with that by the gold judgements. A τ "
        "of 1 is the same order, of 0 an order by chance.",
        figures=[SCATTER],
        tables=[ORDER, COLLECTION],
    ),
    RowSection(
        anchor="pool-verdict",
        title="Can the collection judge this run?",
        introduction="The run did not help to make the pool. What it would score, had it, is "
        "predicted from the pooled runs, each group of which is left out in turn; beside that "
        "stand bounds that hold whatever the unjudged documents are.",
        tables=[VERDICT],
        folded=[LEADS],
    ),
]
DEPTHS = [1, 2, 3, 5, 10, 20, 50, 100]  # in a terminal
SHOWN = Presentation(
    study="pooling",
    findings=_findings,
    questions=[RUN_QUESTION.tiles, KIND_QUESTION.tiles],
    sections=SECTIONS,
    text=[
        COLLECTION,
        replace(COVERAGE, where=f"{FOUND} and at in {DEPTHS}"),
        KINDS,
        ORDER,
        CHANGES,
        VERDICT,
        LEADS,
    ],
)
