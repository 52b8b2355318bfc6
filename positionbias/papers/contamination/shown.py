"""How a contamination study is shown: the paper's Tables 1 and 2, inflation, shares, inheritance,
training sets.
"""

from __future__ import annotations

from typing import Any

from pandas import DataFrame

from positionbias.core.formatting import as_form
from positionbias.evaluation.answers import LEVEL, is_significant
from positionbias.experiments.against import APART, LOOK
from positionbias.experiments.shown import (
    EFFECT_NOTE,
    beside_zero,
    capital,
    comparison_cells,
    comparison_question,
    comparison_text,
    named,
)
from positionbias.papers.contamination import HEADLINE, TARGETS, target_of
from positionbias.report.cells import OVER_NOTE, P_NOTE
from positionbias.report.presentation import Presentation, Question, RowSection
from positionbias.report.record import Finding, Record, records_of, rows_with, said
from positionbias.report.row_figure import Forest, Lines, Mark
from positionbias.report.row_table import DOUBTFUL, MARK, RowTable, Value, where_printed
from positionbias.report.trainings import ending_sentences, training_section

__all__ = ["INFLATION_FIGURE", "SHOWN"]

PAPER = "Training on the Test Model: Contamination in Ranking Distillation (2024)"
PRINTED = (
    f"Published: {PAPER}; its marks of significance are left out. Ours is another experiment, not "
    "a repetition of it: beside BERT_CAT stands a model that began with ELECTRA; beside BERT_DOT "
    "stands a model that began with BERT."
)
LOSSES = {
    "lce": "LCE",
    "margin_mse": "MarginMSE",
    "kl": "KL\u00a0div.",
    "ranknet": "RankNet",
    "hinge": "hinge",
    "pointwise": "pointwise",
}
SYSTEM = {"role": "Role", "system": "Model", "losses": "Loss"}
MEAN = "statistic == 'mean'"
OVER_CLEAN = "against == 'clean' and seed == -1"
INFLATION = f"{OVER_CLEAN} and own and largest"  # on what contaminated
STANDARD = "against == 'the clean teacher' and seed == -1"
BY_SHARE = "axis == 'share' and statistic == 'change'"
MOST_NAMED = 8  # curves whose ends a caption gives


def _prepared(rows: DataFrame) -> DataFrame:
    """Name systems and losses. ``own``: measured on what contaminated it, if anything; ``largest``:
    with the largest share of its source; ``shares``: how many shares there are of its source;
    ``who`` is the system without its contamination.
    """
    rows = named(rows)
    share = rows["share"].map(lambda text: float(text) if text else 0.0)
    keys = [rows[name] for name in ("whose", "role", "model", "start", "loss", "source")]
    largest = share == share.groupby(keys).transform("max")
    shares = share.groupby(keys).transform("nunique")
    model = rows["model"] + rows["start"].map(lambda name: name and f", {name}")
    losses = rows["loss"].map(lambda name: name and f" ({name})")
    ended = rows["finished"].map({True: "", False: ", not finished"})
    who = (rows["role"] + " " + model + losses + ended).where(rows["role"] != "", model)
    source = rows["source"].map(lambda name: name and f", contaminated with {name}")
    part = rows["share"].map(lambda text: "" if text in ("", "1") else f", share {text}")
    return rows.assign(
        losses=rows["loss"].map(lambda name: LOSSES.get(name, name)),
        who=who,
        whole=(rows["role"] + " " + model + losses + source + part + ended),
        trained=rows["source"] + part,
        contaminated=(rows["source"].map(lambda name: "yes" if name else "no") + part).where(
            rows["role"] != "first stage", ""
        ),
        own=(rows["source"] == "") | (rows["source"] == rows["split"]),
        largest=largest,
        shares=shares,
    )


# --- tables ---------------------------------------------------------------------------------------


EFFECTIVENESS = RowTable(
    name="contamination",
    title="Effectiveness with clean and with contaminated teachers",
    stub={**SYSTEM, "contaminated": "Contaminated"},
    across=["split", "measure"],
    where=f"own and largest and split != '' and ({MEAN} and axis == '' or "
    f"statistic == 'difference' and {STANDARD})",
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
    where=f"measure == '{HEADLINE}' and largest and role in ['teacher', 'student'] and "
    f"({MEAN} or statistic == 'difference' and {OVER_CLEAN})",
    only=lambda record: bool(record.keys["role"]),
    cells=[Value("mean", mark="difference")],
    blank="none",
    notes=[
        f"{HEADLINE}. Against the same system with nothing contaminated: {DOUBTFUL} p < {LEVEL:g}, "
        f"uncorrected; {MARK} after Holm's correction, over all systems on the targets that "
        "contaminated them, and over all on the other targets.",
        f"{P_NOTE} {OVER_NOTE}",
        where_printed(PRINTED),
    ],
)
TESTED = {"measure": "Measure", "split": "Target", **SYSTEM}
INFLATED = RowTable(
    name="contamination-inflation",
    title="Inflation: contaminated against clean",
    stub=TESTED,
    where=INFLATION,
    cells=comparison_cells("Clean", "Contaminated"),
    notes=[
        "The paired clean model has the same role, model, loss and seeds, so that the difference "
        "is what contamination itself makes.",
        EFFECT_NOTE,
        P_NOTE,
    ],
)
AGAINST_STANDARD = RowTable(
    name="contamination-standard",
    title="Against the clean teacher",
    stub={**TESTED, "contaminated": "Contaminated"},
    where=STANDARD,
    cells=comparison_cells("Clean teacher", "Mean"),
    notes=["Contaminated systems on what contaminated them alone.", EFFECT_NOTE, P_NOTE],
)
INHERITED = RowTable(
    name="contamination-inherited",
    title="What a student inherits of its teacher's inflation",
    stub={"measure": "Measure", "split": "Target", "system": "Student", "losses": "Loss"},
    where="statistic in ['share inherited', \"teacher's change\", \"student's change\"]",
    cells=[
        Value("teacher's change", "Teacher's change", "+.3f"),
        Value("student's change", "Student's change", "+.3f"),
        Value("share inherited", "Share inherited", ".1%"),
        Value("share inherited", "Queries", ",", show="count"),
    ],
    notes=[
        "Change: contaminated less clean. Share: the student's over the teacher's, with Fieller's "
        "interval of one training seed, of three or more a t interval over trainings and queries; "
        "it has none where the teacher's own change cannot be told from 0.",
    ],
)
BEYOND = RowTable(
    name="contamination-beyond",
    title="Inflation beyond the change on other targets",
    stub={"split": "Contaminated with", **SYSTEM, "elsewhere": "Other target"},
    where="elsewhere != ''",
    cells=[
        Value("change here", "Change, seen", "+.3f"),
        Value("change there", "Change, other target", "+.3f"),
        Value("beyond", "Difference", "+.3f"),
    ],
    notes=[
        f"{HEADLINE}. Judgements of a target are more training data too, which may help on any: "
        "what they add beyond that shows as a difference. Welch's interval, over the queries of "
        "both.",
    ],
)
SHARES = RowTable(
    name="contamination-shares",
    title="Inflation by contaminated share",
    stub={"split": "Target", **SYSTEM, "label": "Share of queries"},
    across=["subset"],
    where=BY_SHARE,
    cells=[Value("change", "Change", "+.3f"), Value("change", "Queries", ",", show="count")],
    notes=[
        f"{HEADLINE}, contaminated less clean, on the target that contaminated; a query is seen "
        "where its judgements were in the teacher's training set.",
    ],
)
SETS = RowTable(
    name="contaminated-sets",
    title="The teachers' training sets",
    stub={"source": "Source", "share": "Share of queries"},
    where="measure == 'training set'",
    blank="none",
    cells=[
        *(
            Value(name, name.capitalize(), ",")
            for name in (
                "groups",
                "groups of the target",
                "queries of the target",
                "judged negatives",
                "random negatives",
                "positives missing from the corpus",
            )
        ),
        Value("share of groups", "Share of groups", ".1%"),
    ],
)

# --- figures --------------------------------------------------------------------------------------


def _inflation_caption(rows: DataFrame) -> str:
    chosen = f"measure == '{HEADLINE}' and statistic == 'difference' and {INFLATION}"
    changes = records_of(rows, ["split", "who"], chosen)
    parts = [said("{split}, {who}: {difference:+.3f}", one) for one in changes]
    told = f" {'; '.join(parts)}." if len(parts) <= MOST_NAMED else ""
    return (
        f"{HEADLINE} with a teacher that saw the target's judgements, less that with one that did "
        f"not, with intervals over trainings and queries (of one training seed over queries).{told}"
    )


def _shares_caption(rows: DataFrame) -> str:
    parts = []
    curves = rows.query(f"{BY_SHARE} and subset == 'all queries' and shares > 1")
    for (who, split), own in curves.groupby(["who", "split"], sort=False):
        first, last = own.loc[own["at"].idxmin()], own.loc[own["at"].idxmax()]
        ends = ", ".join(
            f"{as_form(end['value'], '+.3f')} with {end['label']}" for end in (first, last)
        )
        parts.append(f"{who} on {split}: {ends}")
    told = f" {'; '.join(parts)}." if len(parts) <= MOST_NAMED else ""
    return (
        "What contamination changes by the share of the target's queries whose judgements the "
        "teacher saw, with intervals over trainings and queries (of one training seed over "
        f"queries). A smaller share is the beginning of a larger one.{told}"
    )


INFLATION_FIGURE = Forest(
    name="contamination-inflation",
    where=f"measure == '{HEADLINE}' and statistic == 'difference' and {INFLATION}",
    caption=_inflation_caption,
    panel=("split",),
    heading="{split}",
    series="role",
    below=f"Change of {HEADLINE} by contamination with the target",
    line=("role", "system", "losses"),
    name_of="{role} {system}, {losses}",
    marks=[Mark("statistic == 'difference'", "contaminated less clean")],
    same="x",
)
SHARES_FIGURE = Lines(
    name="contamination-shares",
    where=f"{BY_SHARE} and shares > 1",
    caption=_shares_caption,
    panel=("who", "split"),
    heading="{who}, {split}",
    series="subset",
    below="Share of the target's queries whose judgements the teacher saw",
    side=f"Change of {HEADLINE}",
    same="y",
    zero=True,
    whole=False,
    places=2,
    tall=2.2,
)

# --- sentences and answers ------------------------------------------------------------------------


def _headline(rows: DataFrame) -> list[str]:
    """Return how many systems are lifted by contamination, beyond doubt."""
    tested = rows.query(
        f"measure == '{HEADLINE}' and statistic == 'difference' and {INFLATION} and role != ''"
    )
    parts = []
    for role in ("teacher", "student"):
        own = tested[tested["role"] == role]
        sure = own[own["p_adjusted"] < LEVEL]
        if len(own):
            lifted = int((sure["value"] > 0).sum())
            parts.append(f"{lifted} of {len(own)} {role}s")
    if not parts:
        return []
    lifted_ = " and ".join(parts)
    return [f"Judgements that the teacher saw lift {lifted_} on that test (Holm p < {LEVEL:g})."]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on data, learning, inflation, other measures and targets, shares, and the
    paper's targets.
    """
    return [
        *_sets(rows),
        *_learned(rows),
        *ending_sentences(rows),
        *_as_they_began(rows),
        *_inflation(rows),
        *_other_measures(rows),
        *_above_the_standard(rows),
        *_elsewhere(rows),
        *_by_share(rows),
        *_students_by_share(rows),
        *_paper(rows),
    ]


def _sets(rows: DataFrame) -> list[Finding]:
    """Report each target's part in the teachers' training sets, with the smallest and the largest
    share.
    """
    template = (
        "{groups of the target:,} of {groups:,} training groups ({share of groups:.2%}; "
        "{queries of the target:,} queries)"
    )
    sets = rows.query("measure == 'training set' and source != ''")
    parts = []
    for source in sets["source"].unique():
        by_share = records_of(sets[sets["source"] == source], ["share"])
        by_share.sort(key=lambda one: float(one.keys["share"]))
        ends = dict.fromkeys(said(template, one) for one in (by_share[0], by_share[-1]))
        parts.append(f"{source} {' to '.join(ends)}")
    text = f"Test judgements in the teachers' training sets: {'; '.join(parts)}."
    return [Finding(text, None)] if parts else []


def _weak(rows: DataFrame) -> DataFrame:
    """Return the systems that are not above BM25 on a target, with BM25's mean as ``first``."""
    means = rows.query(f"measure == '{HEADLINE}' and {MEAN} and whose == '' and axis == ''")
    first = means[means["role"] == "first stage"].set_index("split")["value"]
    own = means.query("role in ['teacher', 'student'] and largest")
    own = own.assign(first=own["split"].map(first))
    return own[own["value"] <= own["first"]]


def _learned(rows: DataFrame) -> list[Finding]:
    """Report teachers and students that do not beat their first stage as not learned."""
    weak = _weak(rows)
    if weak.empty:
        if rows.query("role == 'student'").empty:
            return []
        text = f"Every teacher and student is above BM25's {HEADLINE} on every target."
        return [Finding(text, True)]
    findings = []
    for whole, own in weak.groupby("whole", sort=False):
        where = "; ".join(
            f"{row.value:.3f} on {row.split}, where BM25 has {row.first:.3f}"
            for row in own.itertuples()
        )
        findings.append(Finding(f"Not learned: {whole}, {HEADLINE} {where}.", False))
    return findings


def _as_they_began(rows: DataFrame) -> list[Finding]:
    """Name the systems whose validation kept step 0, so that they have their initial weights,
    whatever their teacher.
    """
    began = rows.query("measure == 'training' and statistic == 'step kept' and value == 0")
    if began.empty:
        return []
    text = (
        "No step was better on validation than the initial weights, which were kept: "
        f"{', '.join(began['whole'].unique())}. Their figures say nothing about a teacher."
    )
    return [Finding(text, False)]


def _inflation(rows: DataFrame) -> list[Finding]:
    """Compare each contaminated system with its clean paired model on its source, and a student's
    inflation with its teacher's.
    """
    weak = set(zip(_weak(rows)["who"], _weak(rows)["split"], strict=True))
    keys = ["split", "role", "who", "share"]
    findings = []
    for one in records_of(rows, keys, f"measure == '{HEADLINE}' and {INFLATION}"):
        share = "" if one.keys["share"] in ("", "1") else " (share {share} of its queries)"
        with_, without = (
            (f"when it saw its judgements{share}", "when it did not")
            if one.keys["role"] == "teacher"
            else (f"with a teacher that saw its judgements{share}", "with one that did not")
        )
        text = said(
            f"{capital(one.keys['who'])} on {{split}}: {HEADLINE} {{candidate mean:.3f}} {with_}, "
            f"{{baseline mean:.3f}} {without}, difference ",
            one,
        )
        text += f"{comparison_text(one)}; {_verdict(one)}"
        if (one.keys["who"], one.keys["split"]) in weak:
            text += (
                "; without contamination it does not beat BM25 there, so this is about a model "
                "that did not learn"
            )
        test = one.rows["difference"]
        more = _inherits(rows, one) + _elsewhere_too(rows, one)
        holds = test.value > 0 if is_significant(test.p_adjusted) else None
        findings.append(Finding(f"{text}.{more}", holds))
    return findings


def _verdict(record: Record) -> str:
    test = record.rows["difference"]
    if not is_significant(test.p_adjusted):
        return "neither inflation nor deflation is established"
    return f"{'inflation' if test.value > 0 else 'deflation'} is established"


def _same(rows: DataFrame, record: Record, statistic: str, by: str) -> list[Record]:
    """Return what else was measured of the same contaminated system on the same target."""
    own = rows_with(rows, {name: record.keys[name] for name in ("split", "who", "share")})
    chosen = own[(own["measure"] == HEADLINE) & (own["source"] == record.keys["split"])]
    return [one for one in records_of(chosen, [by]) if statistic in one.rows]


def _inherits(rows: DataFrame, record: Record) -> str:
    """Report the share of the teacher's inflation that a student has, as a sentence after its
    own.
    """
    for one in _same(rows, record, "share inherited", "measure"):
        if one.rows["share inherited"].low != one.rows["share inherited"].low:
            return said(
                " The teacher's own change, {teacher's change:+.3f}, is not distinguishable from "
                "0, so the inherited share is undefined.",
                one,
            )
        change = "inflation" if (one.value("teacher's change") or 0.0) > 0 else "deflation"
        return said(
            f" Of the teacher's {change}, {{teacher's change:+.3f}}, it inherits "
            "{share inherited:.0%}.",
            one,
        )
    return ""


def _elsewhere_too(rows: DataFrame, record: Record) -> str:
    """Report the same contamination's change on other targets, which shows the effect of more
    training data.
    """
    template = (
        " On {elsewhere}, of which nothing was seen, the change is {change there:+.3f}; the first "
        "change less this is {beyond:+.3f}."
    )
    beside = _same(rows, record, "beyond", "elsewhere")
    return "".join(
        said(template, one) for one in beside if one.rows["beyond"].low == one.rows["beyond"].low
    )


def _other_measures(rows: DataFrame) -> list[Finding]:
    """Count the systems with higher and lower values of each further measure on their own target;
    name the lower ones.
    """
    findings = []
    tested = rows.query(f"measure != '{HEADLINE}' and {INFLATION} and role != ''")
    for measure in tested["measure"].unique():
        tests = records_of(tested[tested["measure"] == measure], ["whole", "split"])
        sure = [one for one in tests if is_significant(one.rows["difference"].p_adjusted)]
        lower = [_listed(one) for one in sure if one.rows["difference"].value < 0]
        text = (
            f"{measure} on the contaminating target: of {len(tests)} comparisons with paired clean "
            f"models, after Holm's correction {len(sure) - len(lower)} are higher and {len(lower)} "
            f"lower{': ' * bool(lower)}{'; '.join(lower)}."
        )
        findings.append(Finding(text, None))
    return findings


def _listed(record: Record) -> str:
    word = "higher" if record.rows["difference"].value > 0 else "lower"
    return said(f"{{whole}} on {{split}} {word} by {{difference:+.3f}}", record)


def _above_the_standard(rows: DataFrame) -> list[Finding]:
    """Name the students of contaminated teachers above the clean teacher on their source, as
    compared in Table 1.
    """
    chosen = f"measure == '{HEADLINE}' and {STANDARD} and role == 'student' and source != ''"
    students = records_of(rows, ["whole", "split"], chosen)
    if not students:
        return []
    above = [one for one in students if one.rows["difference"].value > 0]
    sure = [
        said("{whole} ({difference:+.3f})", one)
        for one in above
        if is_significant(one.rows["difference"].p_adjusted)
    ]
    text = (
        f"Of {len(students)} students of contaminated teachers, on the target that contaminated "
        f"theirs, {len(above)} have a higher {HEADLINE} than the clean teacher; significantly so "
        f"after Holm's correction: {'; '.join(sure) or 'none'}."
    )
    return [Finding(text, True if sure else None)]


def _elsewhere(rows: DataFrame) -> list[Finding]:
    """Report the effect of contamination with one target on the others."""
    chosen = f"measure == '{HEADLINE}' and {OVER_CLEAN} and not own and largest"
    tests = records_of(rows, ["whole", "split"], chosen)
    if not tests:
        return []
    sure = [_listed(one) for one in tests if is_significant(one.rows["difference"].p_adjusted)]
    start = (
        f"On targets other than the one that contaminated them ({len(tests)} comparisons of "
        f"{HEADLINE} with paired clean models)"
    )
    if sure:
        return [Finding(f"{start}, significant after Holm's correction: {'; '.join(sure)}.", None)]
    return [Finding(f"{start}, no change is significant after Holm's correction.", None)]


def _by_share(rows: DataFrame) -> list[Finding]:
    """Report whether a teacher's inflation grows with the share, and is larger on seen queries."""
    findings = []
    teachers = rows.query(f"measure == '{HEADLINE}' and role == 'teacher' and source == split")
    for (who, split), own in teachers.groupby(["who", "split"], sort=False):
        points = own.query(BY_SHARE)
        shares = sorted(points["at"].unique())
        for row in own.query("statistic == 'change with the share'").itertuples():
            findings.append(_with_the_share(who, split, points, shares, row))
        parts = own[own["axis"] == "share"]
        split_ = [
            one for one in records_of(parts, ["label", "at"]) if "seen less others" in one.rows
        ]
        if split_:
            findings.append(_by_query(who, split, parts, split_[-1]))
    return findings


def _with_the_share(
    who: str, split: str, points: DataFrame, shares: list[float], row: Any
) -> Finding:
    whole = points[points["subset"] == "all queries"]
    ends = [
        said("{change:+.3f}", records_of(whole[whole["at"] == share], ["at"])[0])
        for share in (shares[0], shares[-1])
    ]
    if not beside_zero(row):
        verdict, holds = "these data cannot tell whether the share matters", None
    else:
        holds = row.value > 0
        verdict = f"it {'rises' if holds else 'falls'} with the share"
    change = said("{change:+.3f}", Record({}, {"change": row}))
    text = (
        f"{capital(who)}: with a share of {shares[0]:g} of the queries of {split} seen, "
        f"{HEADLINE} on all of them changes by {ends[0]}, with {shares[-1]:g} by {ends[1]}; the "
        f"second less the first is {change}: {verdict}."
    )
    return Finding(text, holds)


def _by_query(who: str, split: str, parts: DataFrame, record: Record) -> Finding:
    """Compare seen and unseen queries, for the largest share with unseen queries."""
    here = parts[parts["label"] == record.keys["label"]]
    seen, others = (
        said(
            "{change:+.3f} on the {change.count:,}",
            records_of(here[here["subset"] == one], ["at"])[0],
        )
        for one in ("seen", "others")
    )
    apart = record.rows["seen less others"]
    text = (
        f"{capital(who)}, share {record.keys['label']} of {split}: {HEADLINE} changes by {seen} "
        f"queries that were seen, by {others} others; the first less the second is "
    )
    text += said("{seen less others:+.3f}", record)
    if not beside_zero(apart):
        return Finding(f"{text}: these data do not distinguish them.", None)
    more = "more" if apart.value > 0 else "less"
    return Finding(f"{text}: {more} where the judgements were seen.", apart.value > 0)


def _students_by_share(rows: DataFrame) -> list[Finding]:
    """Count the students whose inflation grows with the share, by target."""
    findings = []
    changes = rows.query("statistic == 'change with the share' and role == 'student'")
    for target, own in changes.groupby("split", sort=False):
        sure = own[(own["low"] > 0) | (own["high"] < 0)]
        grows, falls = int((sure["value"] > 0).sum()), int((sure["value"] < 0).sum())
        rest = "; for the others these data cannot tell" if grows + falls < len(own) else ""
        text = (
            f"Students on {target}: from the smallest to the largest share of its queries that "
            f"their teacher saw, {HEADLINE} rises for {grows} of {len(own)} and falls for {falls}"
            f"{rest}."
        )
        holds = True if grows and not falls else False if falls and not grows else None
        findings.append(Finding(text, holds))
    return findings


def _paper(rows: DataFrame) -> list[Finding]:
    """Report that no target is the paper's, or the contradictions of its printed findings."""
    means = rows.query(f"{MEAN} and axis == ''")
    if not any(target_of(target) for target in means["split"].unique()):
        names = ", ".join(TARGETS.values())
        text = f"No target is one of the paper's ({names}), so its tables are not compared."
        return [Finding(text, None)]
    keys = ["split", "role", "model", "loss", "measure", "source"]
    printed = means[means["whose"] == "published"].set_index(keys)["value"]
    findings = []
    for one in records_of(rows, keys, f"measure == '{HEADLINE}' and {INFLATION}"):
        own, test = tuple(one.keys[name] for name in keys), one.rows["difference"]
        clean = (*own[:-1], "")
        if not {own, clean} <= set(printed.index) or not is_significant(test.p_adjusted):
            continue
        change = printed[own] - printed[clean]
        if abs(change) >= APART and (change > 0) != (test.value > 0):
            text = said(
                "Against the paper: for the {role} {model} ({loss}) on {split} it prints {measure} "
                f"{printed[clean]:.3f}, and {printed[own]:.3f} contaminated; here the order is the "
                f"other; {LOOK}.",
                one,
            )
            findings.append(Finding(text, None))
    return findings


def _question(role: str, advice: str) -> Question:
    return comparison_question(
        ["split", "measure", "whole"],
        f"measure == '{HEADLINE}' and {INFLATION} and role == '{role}'",
        "Does contamination with {split} lift {measure}?",
        "{whole}",
        good=False,
        advice=advice,
    )


# --- page and terminal ----------------------------------------------------------------------------

SHOWN = Presentation(
    study="contamination",
    prepare=_prepared,
    headline=_headline,
    findings=_findings,
    questions=[
        _question(
            "teacher",
            "Keep the test's judgements out of the teacher's training set (posbias leakage find).",
        ),
        _question("student", "Distil from a teacher that never saw the test's judgements."),
    ],
    sections=(
        RowSection(
            anchor="contamination",
            title="Teachers that saw the test, and their students",
            introduction="Each contaminated teacher was trained on a target's own judgements "
            "beside its other training data; its students were trained on its scores alone. What a "
            "contaminated system gains on that target over its paired clean model is inflation: it "
            "says nothing of other queries.",
            figures=[INFLATION_FIGURE, SHARES_FIGURE],
            tables=[EFFECTIVENESS, SOURCES, INFLATED, INHERITED, BEYOND, SETS],
            folded=[AGAINST_STANDARD, SHARES],
        ),
        training_section("contamination"),
    ),
    text=[],
    main=("contamination-inflation",),
    after_study=("contamination",),
)
