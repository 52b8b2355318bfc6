"""How a contamination study is shown: the paper's Tables 1 and 2, inflation, training sets."""

from __future__ import annotations

from dataclasses import replace

from pandas import DataFrame

from positionbias.contamination.shown import ORIGINS
from positionbias.evaluation.answers import LEVEL, Compared
from positionbias.evaluation.convergence import UNFINISHED
from positionbias.experiments.endings import ending_sentences, training_section
from positionbias.experiments.shown import (
    EFFECT_NOTE,
    OVER_NOTE,
    capital,
    comparison_cells,
    comparison_question,
    comparison_text,
    named,
)
from positionbias.papers.contamination import HEADLINE
from positionbias.report.figure import Forest, Mark
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding, records_of, said
from positionbias.report.table import (
    DOUBTFUL,
    MARK,
    P_NOTE,
    RowTable,
    Value,
    where_printed,
)

PAPER = "Training on the Test Model: Contamination in Ranking Distillation (2024)"
PRINTED = (
    f"Published: {PAPER}; its marks of significance are left out. Ours is another experiment, not "
    "a repetition of it: beside BERT_CAT stands a model that began with ELECTRA; beside BERT_DOT "
    "stands a model that began with BERT."
)
LOSSES = {"lce": "LCE", "margin_mse": "MarginMSE", "kl": "KL\u00a0div.", "ranknet": "RankNet"}
SYSTEM = {"role": "Role", "system": "Model", "losses": "Loss"}
MEAN = "statistic == 'mean'"
OVER_CLEAN = "against == 'clean' and seed == -1"
INFLATION = f"{OVER_CLEAN} and own"  # on what contaminated
STANDARD = "against == 'the clean teacher' and seed == -1"
HEADLINE_INFLATION = f"measure == '{HEADLINE}' and statistic == 'difference' and {INFLATION}"


def _prepared(rows: DataFrame) -> DataFrame:
    """Name systems and losses. ``own``: measured on what contaminated it, if anything."""
    rows = named(rows)
    losses = rows["loss"].map(lambda name: LOSSES.get(name, name))
    source = rows["source"].map(lambda name: name and f", contaminated with {name}")
    ended = rows["finished"].map({True: "", False: f", {UNFINISHED}"})
    system = rows["role"] + " " + rows["system"].str.removesuffix(f", {UNFINISHED}")
    contaminated = rows["source"].map(lambda name: "yes" if name else "no")
    return rows.assign(
        losses=losses,
        whole=system + losses.map(" ({})".format) + source + ended,
        contaminated=contaminated.where(rows["role"] != "first stage", ""),
        own=(rows["source"] == "") | (rows["source"] == rows["split"]),
        source=rows["source"].replace("", "none"),
    )


# --- tables and the figure ------------------------------------------------------------------------

EFFECTIVENESS = RowTable(
    name="contamination",
    title="Effectiveness with clean and with contaminated teachers",
    stub={**SYSTEM, "contaminated": "Contaminated"},
    across=["split", "measure"],
    where=f"own and split != '' and ({MEAN} or statistic == 'difference' and {STANDARD})",
    cells=[Value("mean", mark="difference", brief=True)],
    notes=[
        "A contaminated teacher was trained on the judgements of the target in whose column it "
        "stands, beside its other training data; a contaminated student was distilled from it and "
        "saw none of them. BM25 is what all of them re-rank.",
        f"Against the clean teacher: {DOUBTFUL} p < {LEVEL:g}, uncorrected as in the paper; {MARK} "
        f"p < {LEVEL:g} after Holm's correction over all of a measure.",
        P_NOTE,
        f"A query's value is its mean over training seeds. {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
SOURCES = RowTable(
    name="contamination-sources",
    title="Contamination source and target",
    stub={**SYSTEM, "source": "Source of contamination"},
    across=["split"],
    where=f"measure == '{HEADLINE}' and role in ['teacher', 'student'] and "
    f"({MEAN} or statistic == 'difference' and {OVER_CLEAN})",
    cells=[Value("mean", mark="difference")],
    notes=[
        f"{HEADLINE}. Against the same system with nothing contaminated: {DOUBTFUL} p < {LEVEL:g}, "
        f"uncorrected; {MARK} after Holm's correction, over all systems on the targets that "
        "contaminated them, and over all on the other targets.",
        f"{P_NOTE} {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
INFLATED = RowTable(
    name="contamination-inflation",
    title="Inflation: contaminated against clean",
    stub={"measure": "Measure", "split": "Target", **SYSTEM},
    where=INFLATION,
    cells=comparison_cells("Clean", "Contaminated"),
    notes=[
        "The paired clean model has the same role, model, loss and seeds, so that the difference "
        "is what contamination itself makes.",
        EFFECT_NOTE,
        P_NOTE,
    ],
)
SETS = replace(
    ORIGINS,
    title="The teachers' training sets",
    stub={"source": "Source of contamination", "split": "Origin"},
)
INFLATION_FIGURE = Forest(
    name="contamination-inflation",
    where=HEADLINE_INFLATION,
    caption=lambda rows: (
        f"{HEADLINE} with a teacher that saw the target's judgements, less that with one that did "
        "not, with intervals over trainings and queries (of one training seed over queries)."
    ),
    panel=("split",),
    heading="{split}",
    series="role",
    below=f"Change of {HEADLINE} by contamination with the target",
    line=("role", "system", "losses"),
    name_of="{role} {system}, {losses}",
    marks=[Mark("statistic == 'difference'", "contaminated less clean")],
)

# --- sentences and answers ------------------------------------------------------------------------

VERDICTS = {
    Compared.HIGHER: ("inflation is established", True),
    Compared.LOWER: ("deflation is established", False),
}


def _headline(rows: DataFrame) -> list[str]:
    """Return how many systems are lifted by contamination, beyond doubt."""
    answers = rows.query(HEADLINE_INFLATION)
    parts = [
        f"{(own['answer'] == Compared.HIGHER).sum()} of {len(own)} {role}s"
        for role, own in answers.groupby("role", sort=False)
    ]
    told = f"Judgements that the teacher saw lift {' and '.join(parts)} on that test"
    return [f"{told} (Holm p < {LEVEL:g})."] if parts else []


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on learning, unfinished trainings, inflation, and other targets."""
    return [*_weak(rows), *ending_sentences(rows), *_inflation(rows), *_elsewhere(rows)]


def _weak(rows: DataFrame) -> list[Finding]:
    """Name teachers and students that do not beat their first stage."""
    means = rows.query(f"measure == '{HEADLINE}' and {MEAN} and whose == ''")
    first = means[means["role"] == "first stage"].set_index("split")["value"]
    weak = means[(means["role"] != "first stage") & (means["value"] <= means["split"].map(first))]
    return [
        Finding(
            f"Not learned: {row.whole}: {HEADLINE} {row.value:.3f} on {row.split}, where BM25 has "
            f"{first[row.split]:.3f}.",
            False,
        )
        for row in weak.itertuples()
    ]


def _inflation(rows: DataFrame) -> list[Finding]:
    """Compare each contaminated system with its clean paired model on its source."""
    findings = []
    keys = ["split", "measure", *SYSTEM]
    for one in records_of(rows, keys, f"measure == '{HEADLINE}' and {INFLATION}"):
        text = said(
            "{role} {system} ({losses}) on {split}: {measure} {candidate mean:.3f} if its teacher "
            "saw the judgements, {baseline mean:.3f} if not, difference "
            if one.keys["role"] == "student"
            else "{role} {system} ({losses}) on {split}: {measure} {candidate mean:.3f} if it saw "
            "the judgements, {baseline mean:.3f} if not, difference ",
            one,
        )
        open_ = ("neither inflation nor deflation is established", None)
        verdict, holds = VERDICTS.get(one.rows["difference"].answer, open_)
        findings.append(Finding(f"{capital(text)}{comparison_text(one)}; {verdict}.", holds))
    return findings


def _elsewhere(rows: DataFrame) -> list[Finding]:
    """Report the effect of contamination with one target on the others, the control."""
    tests = rows.query(
        f"measure == '{HEADLINE}' and statistic == 'difference' and {OVER_CLEAN} and not own"
    )
    sure = tests[tests["answer"].isin(list(VERDICTS))]
    listed = "; ".join(f"{row.whole} on {row.split} {row.value:+.3f}" for row in sure.itertuples())
    text = (
        f"On targets other than the one that contaminated them ({len(tests)} comparisons of "
        f"{HEADLINE} with paired clean models), significant after Holm's correction: "
        f"{listed or 'none'}."
    )
    return [Finding(text)] if len(tests) else []


QUESTIONS = [
    comparison_question(
        ["split", "measure", "whole"],
        f"measure == '{HEADLINE}' and {INFLATION} and role == '{role}'",
        "Does contamination with {split} lift {measure}?",
        "{whole}",
        good=False,
        advice=advice,
    )
    for role, advice in (
        (
            "teacher",
            "Keep the test's judgements out of the teacher's training set (posbias leakage find).",
        ),
        ("student", "Distil from a teacher that never saw the test's judgements."),
    )
]
SHOWN = Presentation(
    study="contamination",
    prepare=_prepared,
    headline=_headline,
    findings=_findings,
    questions=[question.tiles for question in QUESTIONS],
    sections=(
        RowSection(
            anchor="contamination",
            title="Teachers that saw the test, and their students",
            introduction="Each contaminated teacher was trained on a target's own judgements "
            "beside its other training data; its students were trained on its scores alone. What a "
            "contaminated system gains on that target over its paired clean model is inflation: it "
            "says nothing of other queries.",
            figures=[INFLATION_FIGURE],
            tables=[EFFECTIVENESS, SOURCES, INFLATED, SETS],
        ),
        training_section("contamination"),
    ),
    text=[],
)
