"""How a TripClick study is shown: the paper's Tables 1 and 2, tests, training sets, and curves by
depth.
"""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.core.formatting import percent
from positionbias.evaluation.answers import LEVEL, Compared, is_significant
from positionbias.experiments.shown import (
    EFFECT_NOTE,
    comparison_cells,
    comparison_question,
    comparison_text,
    named,
)
from positionbias.papers.tripclick import (
    CLEANED,
    HEADLINE,
    JUDGED,
    REGENERATED,
    TESTS,
    Fall,
    paper_test,
)
from positionbias.report.cells import OVER_NOTE, P_NOTE
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, Record, records_of, rows_with, said
from positionbias.report.row_figure import Lines
from positionbias.report.row_table import DOUBTFUL, MARK, RowTable, Value, where_printed
from positionbias.report.trainings import ending_sentences, training_section

__all__ = ["SHOWN"]

PAPER = "Establishing Strong Baselines for TripClick Health Retrieval (ECIR 2022)"
PRINTED = f"Published: {PAPER}. Ours is another experiment, not a repetition of it."
MEAN = "statistic == 'mean' and axis == ''"
OVER_BM25 = "family.str.startswith('against BM25') and seed == -1"
NEGATIVES = "family.str.startswith('training sets') and seed == -1"
MEMBERS = "family.str.startswith('the ensemble') and seed == -1"
TEST = ["split", "measure"]
CURVE = "axis == 'depth' and statistic == 'mean'"
MOST_NAMED = 8  # curves whose ends a caption gives


def _prepared(rows: DataFrame) -> DataFrame:
    """Name systems and training sets; ``sets`` is the number of sets that a model was trained
    on.
    """
    cleaned = {
        name: f"{name.removesuffix(CLEANED)}, false negatives left out"
        for name in rows["variant"].unique()
        if name.endswith(CLEANED)
    }
    rows = named(rows, cleaned)
    trained = rows[rows["whose"] == ""].groupby("system")["variant"].nunique()
    return rows.assign(sets=rows["system"].map(trained).fillna(0))


# --- tables ---------------------------------------------------------------------------------------


def _indexes(rows: DataFrame) -> str:
    names = rows.query("statistic == 'index'")["label"].unique()
    through = ", ".join(names)
    return f"Dense retrieval by an approximate index ({through}), which can miss passages." * bool(
        through
    )


def _reached(rows: DataFrame) -> str:
    """Say which depths not all queries have the candidates for, and which most have not."""
    told = []
    for split in rows["split"].unique():
        own = rows[rows["split"] == split].drop_duplicates(["statistic", "label"])
        some = own.query("statistic == 'queries with so many' and value < 1")
        if len(some):
            shares = "; ".join(f"{row.label}: {percent(row.value, 0)}" for row in some.itertuples())
            told.append(
                f"{split}: queries with so many candidates, by depth: {shares}; of the others all "
                "that they have are re-ranked."
            )
        if beyond := ", ".join(own.query("statistic == 'beyond'")["label"]):
            told.append(
                f"{split}: most queries have no {beyond} candidates; nothing is shown at such a "
                "depth."
            )
    return " ".join(told)


RERANKING = RowTable(
    name="tripclick-reranking",
    title="Re-ranking BM25's candidates",
    stub={"system": "Model", "trained": "Negatives"},
    across=TEST,
    where=f"role != 'retriever' and measure.str.match('nDCG|RR') and ({MEAN} or "
    f"statistic == 'difference' and {OVER_BM25})",
    cells=[Value("mean", mark="difference", brief=True)],
    notes=[
        f"Against BM25, which all re-rank: {DOUBTFUL} p < {LEVEL:g}, uncorrected; {MARK} after "
        "Holm's correction over all systems of a test and measure.",
        P_NOTE,
        f"A query's value is its mean over training seeds; intervals stand in the CSV. {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
RETRIEVAL = RowTable(
    name="tripclick-retrieval",
    title="Retrieval from the whole collection",
    stub={"split": "Test", "system": "Model", "trained": "Negatives"},
    across=["measure"],
    where=f"role in ['first stage', 'retriever'] and measure != 'candidates' and ({MEAN} or "
    "statistic == 'index')",
    only=lambda record: bool(record.keys["split"]),
    cells=[Value("mean")],
    notes=[
        "Judged@10: the share of the first 10 that anybody judged; what nobody judged counts as "
        f"not relevant. {OVER_NOTE}",
        _indexes,
        where_printed(PRINTED),
    ],
)
BM25_TESTS = RowTable(
    name="tripclick-bm25",
    title="Against BM25",
    stub={"split": "Test", "measure": "Measure", "whole": "System"},
    where=OVER_BM25,
    cells=comparison_cells("BM25", "System's"),
    notes=[EFFECT_NOTE, P_NOTE],
)
NEGATIVES_TESTS = RowTable(
    name="tripclick-negatives",
    title="What one training set gains over another",
    stub={
        "split": "Test",
        "measure": "Measure",
        "system": "Model",
        "beside": "Training set A",
        "trained": "Training set B",
    },
    where=NEGATIVES,
    cells=comparison_cells("With A", "With B"),
    notes=[
        "B less A: the same model and seeds. Where negatives come from is not all in which the "
        "sets may differ: so do the numbers of triples, queries and steps.",
        EFFECT_NOTE,
        P_NOTE,
    ],
)
SETS = RowTable(
    name="tripclick-sets",
    title="The training sets",
    stub={"trained": "Training set"},
    where="measure == 'training set' and axis == ''",
    cells=[
        *(
            Value(name, name.capitalize(), ",")
            for name in (
                "groups",
                "queries",
                "positives",
                "negatives",
                "false negatives",
                "distinct negatives",
                "distinct false negatives",
            )
        ),
        Value("share false", "Share false", ".1%"),
    ],
    notes=[
        "Positives: clicked passages of a query, each once. A negative is false where it is "
        "relevant by the complete judgements, which no training saw.",
    ],
)
LEFT_OUT = RowTable(
    name="tripclick-left-out",
    title="Clicked passages by what became of them",
    stub={"trained": "Training set"},
    across=["label"],
    where="measure == 'training set' and axis == 'cause'",
    cells=[Value("left out", form=",")],
    notes=["Those that are judged relevant, and why triples of some were not made, or fewer."],
)
DEPTHS = RowTable(
    name="tripclick-depths",
    title="nDCG@10 by re-ranking depth",
    stub={"split": "Test", "whole": "System"},
    across=["label"],
    where="axis == 'depth'",
    cells=[Value("mean")],
    notes=[OVER_NOTE, _reached],
)

# --- figures --------------------------------------------------------------------------------------


def _ends(rows: DataFrame, chosen: str) -> str:
    """Return the ends of the curves, where these are few."""
    curves = rows.query(f"{CURVE} and {chosen}")
    parts = []
    for (whole, split), own in curves.groupby(["whole", "split"], sort=False):
        first, last = own.loc[own["at"].idxmin()], own.loc[own["at"].idxmax()]
        ends = " and ".join(f"{end['value']:.3f} at {end['label']}" for end in (first, last))
        parts.append(f"{whole} on {split}: {ends}")
    return f" {'; '.join(parts)}." if len(parts) <= MOST_NAMED else ""


DEPTH_FIGURE = Lines(
    name="tripclick-depth",
    where=f"{CURVE} and variant == '{REGENERATED}'",
    caption=lambda rows: (
        "nDCG@10 by how many of BM25's candidates are re-ranked, with intervals over trainings and "
        "queries (of one training seed over queries); models trained on BM25's negatives. A model "
        "that was trained well loses nothing by more candidates. A curve ends at the deepest of "
        "the depths for which half the queries have candidates."
        + _ends(rows, f"variant == '{REGENERATED}'")
    ),
    panel=("split",),
    heading="{split}",
    series="system",
    below="Candidates of BM25 that are re-ranked",
    side=HEADLINE,
    same="y",
    log=True,
    free=True,
    places=2,
    tall=2.5,
)
NEGATIVES_FIGURE = replace(
    DEPTH_FIGURE,
    name="tripclick-negatives",
    where=f"{CURVE} and sets > 1",
    caption=lambda rows: (
        "The same models trained on different sets, with intervals over trainings and queries (of "
        "one training seed over queries)." + _ends(rows, "sets > 1")
    ),
    panel=("system", "split"),
    heading="{system}, {split}",
    series="trained",
)
LOGGED_FIGURE = Lines(
    name="tripclick-logged",
    where="axis == 'step' and measure in ['pair accuracy', 'score margin'] and sets > 1",
    caption=lambda rows: (
        "Share of training triples whose clicked passage scored higher (pair accuracy), and by how "
        "much on average (score margin), since the point before; a line a seed."
    ),
    panel=("system", "measure"),
    heading="{measure}, {system}",
    series="trained",
    below="Training step",
    free=True,
    places=2,
    tall=2.2,
)

# --- sentences and answers ------------------------------------------------------------------------


def _headline(rows: DataFrame) -> list[str]:
    """Return how many systems beat BM25, and how many gains of one training set over another are
    beyond doubt.
    """
    tested = rows.query(f"measure == '{HEADLINE}' and statistic == 'difference'")
    parts = []
    for where, what in ((OVER_BM25, "systems on a test beat BM25"), (NEGATIVES, "comparisons")):
        answers = tested.query(where)["answer"].tolist()
        if answers and where == OVER_BM25:
            parts.append(f"{answers.count(Compared.HIGHER)} of {len(answers)} {what}")
        elif answers:
            sure = answers.count(Compared.HIGHER) + answers.count(Compared.LOWER)
            parts.append(f"{sure} of {len(answers)} {what} of training sets show a difference")
    return [f"{'; '.join(parts)} in {HEADLINE}."] if parts else []


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on false negatives, training, negatives, depth, BM25, the ensemble, recall,
    and the paper's tests.
    """
    return [
        *_false(rows),
        *_seen_in_training(rows),
        *ending_sentences(rows),
        *_as_they_began(rows),
        *_negatives(rows),
        *_shallow(rows),
        *_robust(rows),
        *_against_bm25(rows),
        *_ensemble(rows),
        *_recall(rows),
        *_paper(rows),
    ]


def _false(rows: DataFrame) -> list[Finding]:
    """Report the share of each training set's negatives that are relevant in truth."""
    template = "{trained} {false negatives:,} of {negatives:,} ({share false:.1%})"
    sets = records_of(rows, ["trained"], "measure == 'training set' and axis == ''")
    parts = "; ".join(filter(None, (said(template, one) for one in sets)))
    text = f"Negatives that are relevant in truth, by training set: {parts}."
    return [Finding(text, None)] if parts else []


def _seen_in_training(rows: DataFrame) -> list[Finding]:
    """Report pairwise accuracy and margin of a model's trainings by set, the paper's first evidence
    of bad negatives.
    """
    findings = []
    late = rows.query("measure == 'training' and seed == -1 and sets > 1")
    for system in late["system"].unique():
        trainings = records_of(late[late["system"] == system], ["variant", "trained"])
        parts = [
            said("{trained} {pair accuracy:.3f}", one)
            + (said(", margin {score margin:.2f}", one) or ", margin not logged")
            + _tested(one)
            for one in trainings
        ]
        tests = [
            one.rows["difference of pair accuracy"]
            for one in trainings
            if "difference of pair accuracy" in one.rows
            and not one.keys["variant"].endswith(CLEANED)
        ]
        if any("difference of pair accuracy" in one.rows for one in trainings):
            text = f"{system}, pairwise accuracy in the last half of training: {'; '.join(parts)}."
            findings.append(Finding(text, _lower(tests)))
    return findings


def _tested(record: Record) -> str:
    test = record.rows.get("difference of pair accuracy")
    if test is None:
        return ""
    if test.p_adjusted != test.p_adjusted:
        return f" ({max(test.trainings, 0)} seed{'s' * (test.trainings != 1)}, no test)"
    p = said("{difference of pair accuracy.p_adjusted:p}", record)
    return f" (Holm p {p} over {test.trainings} seeds, against {REGENERATED})"


def _lower(tests: list[object]) -> bool | None:
    """Return True if all sets with false negatives are lower, False if one is higher, None if no
    test decides.
    """
    sure = [test.value for test in tests if is_significant(test.p_adjusted)]  # type: ignore[attr-defined]
    if any(difference > 0 for difference in sure):
        return False
    return True if tests and len(sure) == len(tests) else None


def _as_they_began(rows: DataFrame) -> list[Finding]:
    """Name trainings whose validation kept step 0, so that they have their initial weights,
    whatever their negatives.
    """
    kept = rows.query("measure == 'training' and statistic == 'step kept' and value == 0")
    return [
        Finding(
            f"{whole}: no step was better on validation than the initial weights, which were kept "
            f"(seed {', '.join(map(str, own['seed']))}). Its figures say nothing about its "
            "negatives, and the logs are those of other weights.",
            False,
        )
        for whole, own in kept.groupby("whole", sort=False)
    ]


def _negatives(rows: DataFrame) -> list[Finding]:
    """Compare every model between training sets: BM25's negatives with others, and a set with and
    without its false negatives.
    """
    findings = []
    sets = records_of(rows, ["variant"], "measure == 'training set' and axis == ''")
    sizes = {
        one.keys["variant"]: said("{groups:,} triples of {queries:,} queries", one) for one in sets
    }
    keys = ["split", "system", "trained", "variant", "beside"]
    for record in records_of(rows, keys, f"measure == '{HEADLINE}' and {NEGATIVES}"):
        own, beside = record.keys["variant"], record.keys["variant"].removesuffix(CLEANED)
        alone = ""
        if own != beside and record.keys["beside"] == beside and {own, beside} <= sizes.keys():
            alone = (
                " The source of negatives is the same, and only false ones are left out "
                f"({sizes[own]} instead of {sizes[beside]})."
            )
        text = said(
            f"{{system}} on {{split}}: {HEADLINE} {{candidate mean:.3f}} with negatives "
            "“{trained}”, {baseline mean:.3f} with “{beside}”; difference ",
            record,
        )
        difference = record.rows["difference"]
        holds = difference.value > 0 if is_significant(difference.p_adjusted) else None
        findings.append(Finding(f"{text}{comparison_text(record)}.{alone}", holds))
    return findings


def _shallow(rows: DataFrame) -> list[Finding]:
    """Name tests with queries that have too few candidates for the study's depth."""
    template = (
        "{split}: {queries with so many:.0%} of the queries have the {depth:,} candidates that are "
        "re-ranked (the median has {median:,}); for the others, all their candidates are."
    )
    tests = records_of(rows, ["split"], "measure == 'candidates'")
    few = [one for one in tests if (one.value("queries with so many") or 0.0) < 1]
    return [Finding(said(template, one), None) for one in few]


def _robust(rows: DataFrame) -> list[Finding]:
    """Report the change from the study's depth, or the shallowest, to the deepest, the paper's test
    of training data.

    A model is called robust only if candidates deeper than the study's depth were re-ranked.
    """
    findings = []
    changes = rows.query("statistic == 'change' and axis == 'depth'")
    for (whole, split), own in changes.groupby(["whole", "split"], sort=False):
        starts = own["against"].str.removeprefix("depth=").astype(int)
        (row,) = own.loc[[starts.idxmax()]].itertuples()
        there = rows_with(rows, {"whole": whole, "split": split, "label": row.label})
        (deepest,) = records_of(there[there["against"] == ""], ["label"], "axis == 'depth'")
        share = deepest.value("queries with so many") or 0.0
        some = f", which {percent(share, 0)} of the queries have," if share < 1 else ""
        change = said("{change:+.3f}", Record({}, {"change": row}))
        text = (
            f"{whole} on {split}: from re-ranking depth {starts.max()} to {row.label}{some} "
            f"{HEADLINE} changes by {change} to {said('{mean.value:.3f}', deepest)}: {row.answer}."
        )
        findings.append(Finding(text, HOLDS[Fall(row.answer)]))
    return findings


HOLDS = {
    Fall.RISES: True,
    Fall.NONE: True,
    Fall.FALLS: False,
    Fall.UNKNOWN: None,
    Fall.SHALLOW: None,
}


def _against_bm25(rows: DataFrame) -> list[Finding]:
    """Count the systems above BM25 by test, and name the others."""
    findings = []
    tested = rows.query(f"measure == '{HEADLINE}' and {OVER_BM25}")
    for split in tested["split"].unique():
        systems = records_of(tested[tested["split"] == split], ["whole"])
        rest = [one for one in systems if not _above(one)]
        text = said(
            f"{split}: of {len(systems)} systems {len(systems) - len(rest)} are above BM25's "
            f"{HEADLINE} ({{baseline mean:.3f}}) after Holm's correction",
            systems[0],
        )
        named_ = [said("{whole} ({difference:+.3f})", one) for one in rest]
        text += f"; not so: {'; '.join(named_)}." if rest else "."
        findings.append(Finding(text, not rest))
    return findings


def _above(record: Record) -> bool:
    difference = record.rows["difference"]
    return is_significant(difference.p_adjusted) and difference.value > 0


def _ensemble(rows: DataFrame) -> list[Finding]:
    """Compare the ensemble with the best of its models on each test."""
    findings = []
    tested = rows.query(f"measure == '{HEADLINE}' and {MEMBERS}")
    for split in tested["split"].unique():
        members = records_of(tested[tested["split"] == split], ["against", "beside"])
        best = max(members, key=lambda one: one.value("baseline mean") or 0.0)
        text = said(
            f"{split}: the ensemble has {HEADLINE} {{candidate mean:.3f}}, the best of its models "
            "({beside}) {baseline mean:.3f}; difference ",
            best,
        )
        significant = is_significant(best.rows["difference"].p_adjusted)
        holds = _above(best) if significant else None
        findings.append(Finding(f"{text}{comparison_text(best)}.", holds))
    return findings


def _recall(rows: DataFrame) -> list[Finding]:
    """Compare the recall of dense retrieval and BM25 by cutoff."""
    findings = []
    means = rows.query(f"{MEAN} and whose == '' and role in ['first stage', 'retriever']")
    cuts = means.query(f"measure == '{JUDGED}' or measure.str.match(r'R[(@]')")
    retrieved = cuts[cuts["role"] == "retriever"]
    for (whole, split), own in retrieved.groupby(["whole", "split"], sort=False):
        first = cuts[(cuts["role"] == "first stage") & (cuts["split"] == split)]
        beside = first.set_index("measure")["value"]
        parts = [
            f"{name} {percent(value, 0)} ({percent(beside[name], 0)})"
            if name == JUDGED
            else f"{name} {value:.3f} ({beside[name]:.3f})"
            for name, value in zip(own["measure"], own["value"], strict=True)
            if name in beside
        ]
        text = f"{whole} on {split}, BM25's in brackets: {', '.join(parts)}."
        findings.append(Finding(text, None))
    return findings


def _paper(rows: DataFrame) -> list[Finding]:
    """Report that no test is the paper's."""
    tests = rows.query(MEAN)["split"].unique()
    if not len(tests) or any(paper_test(test) for test in tests):
        return []
    names = ", ".join(TESTS.values())
    text = f"No test is one of the paper's ({names}), so its tables are not compared."
    return [Finding(text, None)]


BM25_QUESTION = comparison_question(
    ["split", "measure", "whole"],
    f"measure == '{HEADLINE}' and {OVER_BM25}",
    "Does it beat BM25 on {split}?",
    "{whole}",
    good=True,
    advice="Say nothing about models that do not beat BM25: train them longer, or on other "
    "negatives.",
)
NEGATIVES_QUESTION = comparison_question(
    ["split", "measure", "system", "trained", "beside"],
    f"measure == '{HEADLINE}' and {NEGATIVES}",
    "Is training on {trained} better than on {beside}?",
    "{system} on {split}",
    good=True,
    advice="Train on the better negatives of the two.",
)

# --- page and terminal ----------------------------------------------------------------------------

SHOWN = Presentation(
    study="tripclick",
    prepare=_prepared,
    headline=_headline,
    findings=_findings,
    questions=[BM25_QUESTION, NEGATIVES_QUESTION],
    sections=(
        RowSection(
            anchor="tripclick",
            title="Re-ranking and retrieval on clicks",
            introduction="Every re-ranker reorders the same candidates of BM25; dense retrieval "
            "searches the whole collection, through an index that can miss passages where the "
            "table says so. Each test is judged by its own set of judgements.",
            figures=[DEPTH_FIGURE],
            tables=[RERANKING, RETRIEVAL],
            folded=[BM25_TESTS, DEPTHS],
        ),
        RowSection(
            anchor="tripclick-negatives",
            title="What models were trained on",
            introduction="Results that nobody clicked may well be relevant. What speaks for such "
            "false negatives in a training set, by the paper: pairs are ordered rightly less often "
            "in training, by smaller margins, and a model ranks worse the more candidates it "
            "re-ranks.",
            figures=[NEGATIVES_FIGURE, LOGGED_FIGURE],
            tables=[SETS, NEGATIVES_TESTS],
            folded=[LEFT_OUT],
        ),
        training_section("tripclick"),
    ),
    text=[],
    main=("tripclick-negatives", "tripclick-depth"),
    after_study=(
        "tripclick-reranking",
        "tripclick-retrieval",
        "tripclick-sets",
        "tripclick-negatives",
    ),
)
