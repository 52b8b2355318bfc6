"""How a study of position is shown: the paper's Tables 1 to 5 and Figures 1 and 2, changes by
rotation, remedies, trainings.

The paper calls rotated passages "debiased", and prints Δ = (debiased − original) / debiased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas
from pandas import DataFrame

from positionbias.core.convergence import UNFINISHED
from positionbias.core.formatting import as_form, decimal, percent
from positionbias.evaluation.answers import LEVEL, Compared, is_significant
from positionbias.evaluation.crossed import (
    ENOUGH,
    LEAST,
    OVER_QUERIES,
    OVER_TRAININGS,
    speaks_of_method,
)
from positionbias.experiments.against import APART, LOOK, MARGIN
from positionbias.experiments.shown import (
    EFFECT_NOTE,
    IDLE,
    NAMES,
    TRAIN_LONGER,
    comparison_cells,
    comparison_question,
    parts_of,
)
from positionbias.papers.position_bias import (
    AT_INFERENCE,
    BASELINES,
    CUT,
    DOMINANCE,
    IN_TRAINING,
    INSTEAD,
    LEVELS,
    MOVED,
    NO_REMEDY,
    PAPER,
    REMEDIES,
    TEST_SETS,
    TRAININGS,
    VARIANTS,
    WHOLE,
    Shift,
    price_of,
)
from positionbias.positions.histogram import POINTS, Beside
from positionbias.positions.measured import ANSWERS
from positionbias.probe.measured import MATS
from positionbias.report.answer_positions import OUTCOMES
from positionbias.report.answer_positions import SECTION as PLACES
from positionbias.report.cells import OVER_NOTE, P_NOTE
from positionbias.report.presentation import Answer, Presentation, Question, RowSection
from positionbias.report.record import Finding, bounds_of, records_of, said
from positionbias.report.row_figure import Forest, Mark
from positionbias.report.row_table import DOUBTFUL, MARK, RowTable, Value, where_printed
from positionbias.report.similarity import SECTION as SIMILARITY
from positionbias.report.tiles import Answered
from positionbias.report.trainings import ending_sentences, training_section

__all__ = ["SHOWN"]

PRINTED = f"Published: {PAPER}. Ours is another experiment, not a repetition of it."
PRINTED_NOTE = (
    "Δ as printed = (rotated − original) / rotated, the form of the paper's Tables 3 and 4. Change "
    "= (rotated − original) / original."
)
MODELS = "role == 're-ranker'"
MOST_NAMED = 8  # systems whose numbers a caption repeats
MEAN = "statistic == 'mean' and axis == '' and subset == '' and seed == -1 and rotation == -1"


def _along(family: str, statistic: str = "difference") -> str:
    """Return what chooses a statistic of comparisons over all trainings."""
    chosen = f"family.str.startswith('{family}: ') and seed == -1"
    return f"{chosen} and statistic == '{statistic}'" if statistic else chosen


CHANGED = f"{_along(TEST_SETS, 'relative')} and {MODELS}"


# --- names ----------------------------------------------------------------------------------------


def _prepared(rows: DataFrame) -> DataFrame:
    """Name models, trainings, baselines, passages and prices; ``first`` are the rows of the study's
    first measure, ``cure`` is a training of the same model and arm that rotation does not change.
    """
    arms = set(rows["variant"])
    remedies = NO_REMEDY in arms
    transfer = bool((rows["source"] != "")[rows["role"] == "re-ranker"].any())

    def trained(row: Any) -> str:
        if row.role != "re-ranker":
            return ""
        if remedies:
            return row.variant
        if transfer and not row.variant:
            return f"{row.source}, then these passages" if row.source else "these passages alone"
        return f"{row.training} passages{', ' * bool(row.variant)}{row.variant}"

    def beside(against: str) -> str:
        parts = parts_of(against)
        if "model" in parts:
            return NAMES.get(parts["model"], parts["model"])
        if "source" in parts:
            first = parts["source"]
            return f"{first}, then these passages" if first else "these passages alone"
        training = f"{parts['training']} passages" if "training" in parts else ""
        return ", ".join(filter(None, (training, parts.get("variant", "")))) or against

    def passages(row: Any) -> str:
        draw = f", draw {row.rotation}" if row.rotation >= 0 else ""
        return row.variant or f"{row.test} passages{draw}"

    ended = rows["finished"].map({True: "", False: f", {UNFINISHED}"})
    name = rows["model"].map(lambda model: NAMES.get(model, model)) + ended
    of = pandas.Series([trained(row) for row in rows.itertuples()], rows.index, dtype=object)
    measures = rows[rows["family"].str.startswith((BASELINES, TEST_SETS))]["measure"]
    first = rows["measure"] == (measures.iloc[0] if len(measures) else "")
    whole = name + of.map(lambda text: text and f"{', ' if remedies else ' trained on '}{text}")
    steady = first & (rows["answer"] == Shift.NONE) & (rows["subset"] == "")
    arm = name + rows["variant"]
    cures = dict(zip(arm[steady], whole[steady], strict=True))
    return rows.assign(
        name=name,
        trained=of,
        whole=whole,
        beside=rows["against"].map(beside),
        passages=[passages(row) for row in rows.itertuples()],
        price=[_price(row) for row in rows.itertuples()],
        place=rows["test"].map(lambda test: f"{test} test" if test else ""),
        outcome=rows["label"].str.capitalize(),
        first=first,
        remedies=remedies,
        transfer=transfer,
        cure=arm.map(lambda one: cures.get(one, "")),
    )


def _price(row: Any) -> str:
    known = row.variant in IN_TRAINING or row.variant.endswith(AT_INFERENCE)
    return price_of(row.variant) if known else ""


# --- tables ---------------------------------------------------------------------------------------


def _over(rows: DataFrame) -> str:
    """Explain the intervals of the trainings that there are."""
    trainings = set(rows["trainings"])
    notes = []
    if max(trainings, default=0) >= LEAST:
        notes.append(
            "Of several trainings: the mean over seeds and rotation draws, with its 95 % t "
            f"interval {OVER_TRAININGS}, paired by seed. It speaks of the method where it leaves "
            f"out 0, or from {ENOUGH} seeds."
        )
    if 1 in trainings:
        notes.append(f"95 % intervals of one training: {OVER_QUERIES}.")
    if 2 in trainings:
        notes.append("Two trainings have no interval.")
    return " ".join(notes)


EFFECTIVENESS = RowTable(
    name="effectiveness",
    title="Trainings on original and on rotated test passages",
    stub={"name": "Model", "trained": "Trained on", "start": "Began with"},
    across=["measure", "place"],
    where=f"{MODELS} and measure not in ['{MATS}', '{MOVED}'] and subset == '' and seed == -1 and "
    f"rotation == -1 and axis == '' and not remedies and (statistic in ['mean', 'Δ as printed'] or "
    f"family.str.startswith('{TEST_SETS}: ') and statistic == 'relative' or {_along(TRAININGS)})",
    cells=[
        Value("mean", mark="difference"),
        Value("Δ as printed", "Δ as printed", "+.1%", wide=True),
        Value("relative", "Change", "+.1%"),
    ],
    notes=[
        lambda rows: (
            f"{PRINTED_NOTE} Both leave out trainings that re-rank nothing, where others do."
            if (rows["statistic"] == "relative").any()
            else ""
        ),
        f"Against the first training of the same model: {DOUBTFUL} p < {LEVEL:g}, uncorrected; "
        f"{MARK} after Holm's correction over all trainings and test passages of a measure.",
        _over,
        where_printed(f"{PRINTED} It prints the letters of rows that are worse by Wilcoxon's p."),
    ],
)
CHANGES = RowTable(
    name="changes",
    title="The same queries on original and on rotated test passages",
    stub={"measure": "Measure", "whole": "System", "subset": "Test queries"},
    where=_along(TEST_SETS, ""),
    cells=[
        Value("baseline mean", "Original test"),
        Value("candidate mean", "Rotated test"),
        Value("Δ as printed", "Δ as printed", "+.1%", wide=True),
        Value("relative", "Change", "+.1%"),
        Value("difference", "p Holm", "p", show="p_adjusted"),
        Value("difference", "Queries", ",", show="count", wide=True),
    ],
    notes=[PRINTED_NOTE, P_NOTE, OVER_NOTE],
    blank="all",
)


def _tests(family: str, name: str, title: str, *, note: str = "") -> RowTable:
    """Return the table of the comparisons of a family."""
    return RowTable(
        name=name,
        title=title,
        stub={
            "measure": "Measure",
            "place": "Test passages",
            "whole": "System B",
            "beside": "System A",
        },
        where=_along(family, ""),
        cells=comparison_cells("A", "B"),
        notes=[*([note] if note else []), EFFECT_NOTE, P_NOTE],
    )


TRAINING_TESTS = _tests(TRAININGS, "trainings", "Trainings compared")
INSTEAD_TESTS = _tests(
    INSTEAD, "architecture", "The usual model on rotated data, against changed models"
)
BASELINE_TESTS = _tests(
    BASELINES,
    "baselines",
    "Against the baselines",
    note="A model that beats neither BM25 nor position alone shows nothing.",
)
SYSTEMS = RowTable(
    name="systems",
    title="Every system on every test",
    stub={"whole": "System", "seed": "Seed", "rotation": "Draw"},
    across=["measure", "place"],
    where=f"role != '' and statistic == 'mean' and axis == '' and measure != '{MATS}' and "
    "whose == ''",
    cells=[Value("mean", brief=True)],
    notes=["Without a seed or draw: over all of them. Intervals stand in the CSV."],
)
LEVEL_TABLE = RowTable(
    name="levels",
    title="Levels of front-loading",
    stub={"variant": "Training queries"},
    where=f"measure == '{ANSWERS}' and axis == '' and variant != ''",
    cells=[
        Value("mean", "Answers", ",", show="count"),
        Value("first fifth", "In the first fifth"),
        Value("mean", "Mean position"),
    ],
    notes=[
        "Every level has the same number of training queries; validation and test queries are the "
        "same for all."
    ],
)
REMEDY_TABLE = RowTable(
    name="remedies",
    title="Remedies: quality and bias",
    stub={"name": "Model", "trained": "Remedy", "price": "Price"},
    across=["measure", "place"],
    where=f"remedies and {MODELS} and subset == '' and seed == -1 and rotation == -1 and "
    f"axis == '' and (measure == '{MOVED}' or first) and (statistic == 'mean' and "
    f"test == 'original' or {_along(TEST_SETS, 'relative')} or {_along(REMEDIES)})",
    cells=[
        Value("mean"),
        Value("difference", f"against {NO_REMEDY}", "+.3f"),
        Value("relative", "Change", "+.1%"),
    ],
    notes=[
        "Change = (rotated − original) / original test. Moved sentence: the answering sentence at "
        "the end less at the front, as a share of the evidence's worth; below 0: the front is "
        "preferred; against no remedy: its size. Price: beside one training that reads each "
        "passage once, and beside reading it once at inference.",
        "Judge a remedy by rotation (rotate:K, rotated, consistent) by the moved sentence, one by "
        "shuffling or moving sentences by rotation. Effects are over all texts, also those that a "
        "model does not read to the end: a model without positions shows how much of them that is.",
        _over,
    ],
)
CHOICES = RowTable(
    name="choices",
    title="Settings that validation chose from",
    stub={"whole": "System", "seed": "Seed", "label": "Setting"},
    where="statistic == 'validation' and axis == 'setting'",
    cells=[
        Value("validation", "On rotated validation passages"),
        Value("validation", "Chosen", show="answer"),
    ],
)
CONTENTS = RowTable(
    name="collections",
    title="The collections",
    stub={"source": "First collection", "measure": "What", "split": "Split"},
    where="statistic == 'count' and measure in ['passages', 'queries', 'judgements', 'answers']",
    cells=[Value("count", "Number", ",")],
    notes=[where_printed(PRINTED)],
)
ROTATIONS = RowTable(
    name="rotation",
    title="What became of the answers of rotated passages",
    stub={"rotation": "Draw", "split": "Split"},
    where="measure == 'rotation' and axis == '' and split != ''",
    cells=[Value(name, name.capitalize(), ",") for name in ("answers", "kept", "cut")],
)
# --- figures --------------------------------------------------------------------------------------


def _listed(rows: DataFrame, where: str, template: str) -> str:
    """Return the records in words, where these are few."""
    parts = [said(template, one) for one in records_of(rows, ["whole", "measure"], where)]
    return f" {'; '.join(filter(None, parts))}." if 0 < len(parts) <= MOST_NAMED else ""


CHANGE_FIGURE = Forest(
    name="change",
    where=f"{CHANGED} and first",
    caption=lambda rows: (
        "Change in effectiveness when the test passages are rotated, with its interval."
        + _listed(rows, f"{CHANGED} and first and subset == ''", "{whole}: {relative:+.1%}")
    ),
    below="Change from original to rotated test passages",
    series="whole",
    line=["whole"],
    name_of="{whole}",
    marks=[
        Mark("subset == ''", "all test queries", "o", lower=-0.12),
        Mark(f"subset == '{WHOLE}'", f"queries whose {WHOLE[:6]} was {WHOLE[7:]}", "s", False, 0.2),
    ],
)
REMEDY_FIGURE = Forest(
    name="remedies",
    where=f"remedies and {MEAN} and test == 'original' and {MODELS} and (first or "
    f"measure == '{MOVED}')",
    caption=lambda rows: (
        "Quality on original passages, and the effect of moving the answering sentence from the "
        "front to the end (0: none) as a share of the evidence's worth, by remedy."
    ),
    series="measure",
    line=["whole"],
    name_of="{whole}",
    marks=[Mark("statistic == 'mean'", "mean with its interval")],
    zero=False,
)
TRANSFER_FIGURE = replace(
    REMEDY_FIGURE,
    name="transfer",
    where=f"transfer and {MEAN} and {MODELS} and first",
    caption=lambda rows: (
        "Effectiveness on original passages, by what a model was trained on, with its interval."
        + _listed(rows, f"transfer and {MEAN} and {MODELS} and first", "{whole}: {mean:.3f}")
    ),
)

# --- answers --------------------------------------------------------------------------------------

CURED = "Use {cure}: its {measure} does not fall by more than the margin when passages are rotated."
ROTATE = (
    "Train on rotated passages (posbias debias, or train --rotate-at-reading) and measure again."
)
OTHERS = "It was trained on rotated passages: compare other remedies (posbias study remedies)."
COMPARE = (
    "Look at “Remedies: quality and bias”: what each does to the effect of a moved sentence and to "
    "quality on original passages."
)


def _change_question(where: str, advice: str) -> Question:
    """Return the question whether rotation changes a model, with what to do where it does."""
    open_ = {
        Shift.UNKNOWN: ("Too uncertain", ()),
        Shift.UNFINISHED: ("Training not finished", (TRAIN_LONGER,)),
        Shift.IDLE: ("Leaves BM25's order", (IDLE,)),
    }
    decided = {Shift.FALLS: "Falls", Shift.RISES: "Rises"}
    answers: dict[str, Answer] = {
        **{
            answer: Answer(answered=Answered.YES, words=words, welcome=False, advice=(advice,))
            for answer, words in decided.items()
        },
        Shift.NONE: Answer(answered=Answered.NO, words="Not beyond the margin", welcome=True),
        **{
            answer: Answer(answered=Answered.UNKNOWN, words=words, advice=do)
            for answer, (words, do) in open_.items()
        },
    }
    return Question(
        by=["whole", "cure", "measure"],
        where=f"{CHANGED} and first and subset == '' and {where}",
        statistics=["relative"],
        question="Does rotating the test passages change {measure}?",
        subject="{whole}",
        answers=answers,
        effect=["{relative:+.1%}"],
        basis=["margin ±{relative.margin:.0%}", "{relative.count:,} queries"],
    )


TRAINING_QUESTION = comparison_question(
    ["whole", "beside", "place", "measure"],
    f"{_along(TRAININGS, '')} and first",
    "Is {whole} better than on {beside}?",
    "on the {place} passages",
    good=True,
    advice="Keep the other training, or train longer.",
)
REMEDY_QUESTION = comparison_question(
    ["whole", "beside", "measure"],
    f"{_along(REMEDIES, '')} and measure == '{MOVED}'",
    "Does a remedy change the size of the effect of a moved sentence?",
    "{whole}",
    good=False,
    advice="It raises the bias: choose another.",
)

# --- sentences ------------------------------------------------------------------------------------


def _scope(row: Any) -> str:
    """Describe what an interval is over, and what it is about."""
    if row.trainings < LEAST:
        return OVER_QUERIES
    known = speaks_of_method(bounds_of(row), row.trainings)
    speaks = "the method" if known else "these trainings, not yet of the method"
    return f"over {row.trainings} trainings and queries: speaks of {speaks}"


def _shown(row: Any, form: str = "+.1%") -> str:
    """Return a value with its interval and what that is over."""
    value = as_form(row.value, form)
    if row.low != row.low:
        few = "two trainings have no interval" if row.trainings == 2 else "no interval"
        return f"{value} ({few})"
    ends = f"{as_form(row.low, form)} to {as_form(row.high, form)}"
    return f"{value} (95 % interval {ends}, {_scope(row)})"


def _amount(row: Any) -> str:
    """Describe a change by rotation by its answer."""
    words = {
        Shift.FALLS: f"falls: {_shown(row)}",
        Shift.RISES: f"rises: {_shown(row)}",
        Shift.NONE: f"does not change beyond ±{percent(MARGIN, 0)}: {_shown(row)}",
    }
    undefined = row.value != row.value
    open_ = "cannot be said" if undefined else f"changes by {_shown(row)}: cannot tell"
    return words.get(row.answer, open_)


HOLDS: Mapping[str, bool] = {
    Shift.FALLS: True,
    Shift.RISES: True,
    Shift.NONE: False,
    Compared.HIGHER: True,
    Compared.LOWER: False,
}


def _headline(rows: DataFrame) -> list[str]:
    """Return what rotation does to the first model that answers, by training; of remedies those
    that help, of another first collection the comparison of trainings.
    """
    if rows["remedies"].any():
        return [_advice(rows).text]
    changed = records_of(
        rows, ["name", "trained", "measure"], f"{CHANGED} and first and subset == ''"
    )
    model = next((one.keys["name"] for one in changed), "")
    told = [
        f"trained on {one.keys['trained']} {_brief(one.rows['relative'])}"
        for one in changed
        if one.keys["name"] == model
    ]
    if told:
        measure = changed[0].keys["measure"]
        return [f"When the test passages are rotated, {measure} of {model} {'; '.join(told)}."]
    compared = [finding.text for finding in _trainings(rows, TRAININGS)]
    nothing = "No model re-ranks: none beats its first stage on validation, so nothing is decided."
    return [*compared, *([nothing] if _idle(rows) else [])][:1]


def _brief(row: Any) -> str:
    ends = (
        "" if row.low != row.low else f" [{as_form(row.low, '+.1%')}, {as_form(row.high, '+.1%')}]"
    )
    change = f"{as_form(row.value, '+.1%')}{ends}"
    return {
        Shift.FALLS: f"falls by {as_form(abs(row.value), '.1%')}{ends}",
        Shift.RISES: f"rises by {as_form(abs(row.value), '.1%')}{ends}",
        Shift.NONE: f"does not change beyond ±{percent(MARGIN, 0)} ({change})",
        Shift.IDLE: "is BM25's, as nothing is re-ranked",
    }.get(row.answer, f"may change ({change}): cannot tell")


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on places of answers, ends of trainings, rotation, trainings, levels,
    remedies, baselines, term similarity.
    """
    return [
        *_positions(rows),
        *ending_sentences(rows),
        *_idle(rows),
        *_changes(rows),
        *_cuts(rows),
        *_levels(rows),
        *_trainings(rows, INSTEAD),
        *_trainings(rows, TRAININGS),
        *_remedies(rows),
        *_chosen(rows),
        *_baselines(rows),
        *_similarity(rows),
        *_invariant(rows),
        *_against_paper(rows),
    ]


def _positions(rows: DataFrame) -> list[Finding]:
    """Say of the original and of each rotated text whether answers crowd its front."""
    verdicts = {
        Beside.ABOVE: ("more than in an unbiased collection", True),
        Beside.BELOW: ("less than in an unbiased collection", True),
        Beside.WITHIN: (f"as in an unbiased collection, to within {percent(POINTS, 0)}", False),
        Beside.UNKNOWN: ("cannot tell whether more than in an unbiased collection", None),
    }
    findings = []
    where = f"measure == '{ANSWERS}' and axis == '' and variant == ''"
    for one in records_of(rows, ["passages"], where):
        row = one.rows["first fifth"]
        place = f"In the {one.keys['passages']}"
        if row.reason:
            findings.append(Finding(f"{place}, where answers start is {row.reason}.", None))
            continue
        words, holds = verdicts[Beside(row.answer)]
        text = (
            f"{place}, {percent(row.value)} of {row.count:,} answers start in the first fifth "
            f"(95 % interval {percent(row.low)} to {percent(row.high)}): {words} "
            f"({percent(row.expected)})."
        )
        findings.append(Finding(text, holds))
    return findings


def _idle(rows: DataFrame) -> list[Finding]:
    """Name the trainings whose tuned re-ranking depth is 1."""
    ends = rows.query("measure == 'training' and statistic == 'depth' and seed >= 0")
    idle = ends[ends["value"] == 1]
    if idle.empty:
        return []
    named = [
        whole
        if len(own) == (number := int((ends["whole"] == whole).sum()))
        else f"{whole} ({len(own)} of {number} trainings)"
        for whole, own in idle.groupby("whole", sort=False)
    ]
    text = (
        f"Does not beat its first stage on validation: {', '.join(named)}. No re-ranking depth did "
        "better there than BM25's own order, so these scores change nothing: depth 1. The "
        "effectiveness is BM25's and says nothing about the model, so the sentences about models "
        "leave it out; train longer, start from word vectors or an encoder, or add BM25's scores "
        "to its own in an ensemble."
    )
    return [Finding(text, None)]


def _changes(rows: DataFrame) -> list[Finding]:
    """Say what rotating the test passages does to each model that re-ranks."""
    findings = []
    for one in records_of(rows, ["whole", "subset", "measure"], f"{CHANGED} and first"):
        row = one.rows["relative"]
        if row.answer == Shift.IDLE:
            continue
        over = f", over the {row.count:,} queries whose answer was left whole,"
        where = over if one.keys["subset"] else ""
        text = said("{whole}: when the test passages are rotated, {measure}", one)
        findings.append(Finding(f"{text}{where} {_amount(row)}.", HOLDS.get(row.answer)))
    return findings


def _cuts(rows: DataFrame) -> list[Finding]:
    findings = []
    for one in records_of(rows, ["passages"], "measure == 'test queries'"):
        whole, cut = one.value(WHOLE) or 0.0, one.value(CUT) or 0.0
        if cut:
            text = (
                f"The rotation of the {one.keys['passages']} cut through the answer of {cut:,.0f} "
                f"of the {whole + cut:,.0f} test queries whose answer's place is known "
                f"({percent(cut / (whole + cut))})."
            )
            findings.append(Finding(text, None))
    return findings


def _levels(rows: DataFrame) -> list[Finding]:
    """Describe the levels' answers, and say whether the most front-loaded level loses more by
    rotation than the least.
    """
    levels = records_of(
        rows, ["variant"], f"measure == '{ANSWERS}' and axis == '' and variant != ''"
    )
    if not levels:
        return []
    template = "{variant}, {first fifth.value:.1%} start in the first fifth (mean {mean.value:.3f})"
    listed = "; ".join(
        said(template, one) or f"{one.keys['variant']}, {one.rows['mean'].reason}" for one in levels
    )
    findings = [Finding(f"The training answers of each level: {listed}.", None)]
    compared = records_of(rows, ["name", "training", "beside", "variant"], _along(LEVELS))
    for one in compared:
        row = one.rows["difference"]
        text = (
            f"{one.keys['name']} trained on {one.keys['training']} passages: the change by "
            f"rotation with {one.keys['variant']} less that with {one.keys['beside']} is "
            f"{_shown(row, '+.3f')}"
        )
        meaning = {
            Compared.LOWER: "the more front-loaded training loses more",
            Compared.HIGHER: (
                "the more front-loaded training loses less, which goes against the expectation"
            ),
        }.get(row.answer, "these data do not distinguish the two levels")
        holds = {Compared.LOWER: True, Compared.HIGHER: False}.get(row.answer)
        findings.append(Finding(f"{text}: {meaning}.", holds))
    if not compared:
        text = "Levels are not compared: that needs a model that re-ranks at both ends."
        findings.append(Finding(text, None))
    return findings


def _trainings(rows: DataFrame, family: str) -> list[Finding]:
    """Compare two trainings on each kind of test passages."""
    verdicts = {Compared.HIGHER: "is better than", Compared.LOWER: "is worse than"}
    findings = []
    keys = ["measure", "place", "whole", "beside"]
    for one in records_of(rows, keys, f"{_along(family, '')} and first"):
        row = one.rows["difference"]
        if row.answer == Compared.IDLE:
            continue
        verdict = verdicts.get(row.answer, "is not distinguishable from")
        text = said(
            f"On the {{place}} passages {{whole}} {verdict} one trained on {{beside}}: {{measure}} "
            "{candidate mean:.3f} against {baseline mean:.3f}, difference ",
            one,
        )
        p = (
            ""
            if row.p_adjusted != row.p_adjusted
            else said("; Holm p {difference.p_adjusted:p}", one)
        )
        findings.append(Finding(f"{text}{_shown(row, '+.3f')}{p}.", HOLDS.get(row.answer)))
    return findings


def _side(row: Any) -> bool | None:
    """Return whether an interval is above 0 (None: neither above nor below)."""
    return None if row.low != row.low or row.low <= 0 <= row.high else row.value > 0


def _remedies(rows: DataFrame) -> list[Finding]:
    """Say of each remedy what it does to bias and to quality, or that the data do not decide, and
    which are dominated.
    """
    if not rows["remedies"].any():
        return []
    meanings = {
        (None, None): "these data decide neither",
        (False, None): "less quality, and these data do not decide whether the bias falls",
        (True, None): "more quality, and these data do not decide whether the bias falls",
        (None, False): "less bias, and no difference in quality that these data show",
        (False, False): "less bias, at a price in quality",
        (True, False): "less bias and more quality",
    }
    findings = []
    for whole, (quality, bias) in _sides(rows).items():
        if quality.answer == Compared.IDLE:
            continue
        text = (
            f"{whole}, against {NO_REMEDY}: {quality.measure} on original passages "
            f"{_shown(quality, '+.3f')}"
        )
        if bias is None:
            findings.append(Finding(f"{text}.", None))
            continue
        sides = _side(quality), _side(bias)
        meaning = meanings.get(sides, "no remedy here: the bias does not fall")
        text += f"; size of the effect of a moved sentence {_shown(bias, '+.3f')}: {meaning}."
        findings.append(Finding(text, None if sides[1] is None else not sides[1]))
    return [*findings, *_dominated(rows), _advice(rows)]


def _sides(rows: DataFrame) -> dict[str, tuple[Any, Any]]:
    """Return each remedy's difference in quality, and in the size of the bias if it is known."""
    found: dict[str, dict[bool, Any]] = {}
    for row in rows.query(_along(REMEDIES)).itertuples():
        found.setdefault(row.whole, {})[row.measure == MOVED] = row
    return {whole: (of[False], of.get(True)) for whole, of in found.items() if False in of}


def _dominated(rows: DataFrame) -> list[Finding]:
    """Say of each model which remedies another one surpasses in both quality and bias."""
    findings = []
    compared = rows.query(f"statistic == '{DOMINANCE}'")
    for name, own in compared.groupby("name", sort=False):
        number = int(own["p"].notna().sum())
        over = f"{number} comparisons of {name}, corrected together"
        worse: dict[str, list[str]] = {}
        for one in records_of(own.assign(statistic=own["measure"]), ["variant", "beside"]):
            quality, bias = (
                next(row for measure, row in one.rows.items() if (measure == MOVED) is moved)
                for moved in (False, True)
            )
            both = is_significant(quality.p_adjusted) and is_significant(bias.p_adjusted)
            if both and (quality.value > 0) == (bias.value < 0):
                pair = one.keys["beside"], one.keys["variant"]
                loser, winner = pair if quality.value > 0 else reversed(pair)
                worse.setdefault(loser, []).append(winner)
        if not number:
            text = (
                "whether a remedy is dominated by another, these data do not decide: there is no "
                "test"
            )
        elif worse:
            named = "; ".join(f"{one} by {', '.join(by)}" for one, by in worse.items())
            text = f"dominated, with less quality and more bias: {named} ({over})"
        else:
            text = (
                "no remedy is shown to be dominated by another, with less quality and more bias "
                f"({over})"
            )
        findings.append(Finding(f"{name}: {text}.", True if worse else None))
    return findings


def _advice(rows: DataFrame) -> Finding:
    """Name the remedies that lower the bias without a loss of quality that the data show; intervals
    must leave out 0 and speak of more than one checkpoint.
    """
    good = []
    changed = rows.query(f"{_along(REMEDIES, 'relative')} and measure != '{MOVED}'")
    relative = {row.whole: row for row in changed.itertuples()}
    for whole, (quality, bias) in _sides(rows).items():
        known = bias is not None and bias.low == bias.low and quality.low == quality.low
        method = known and speaks_of_method(bounds_of(bias), bias.trainings)
        if method and bias.high < 0 and quality.high >= 0:
            least = relative[whole].low if whole in relative else float("nan")
            most = f" (at worst {percent(least, sign=True)} {quality.measure})"
            good.append(whole + most * (least == least))
    if good:
        text = f"Remedies that lower the bias, with no loss of quality shown: {'; '.join(good)}."
        return Finding(text, True)
    text = (
        "No remedy is shown to lower the bias without a loss of quality: these data decide "
        "nothing, or each has its price."
    )
    return Finding(text, None)


def _chosen(rows: DataFrame) -> list[Finding]:
    """Say which settings of a remedy validation chose, and what it measured of each."""
    findings = []
    choices = rows.query("statistic == 'validation' and axis == 'setting'")
    for (whole, seed), own in choices.groupby(["whole", "seed"], sort=False):
        chosen = own[own["answer"] != ""].iloc[0]
        equal = int((own["value"] == chosen["value"]).sum())
        many = f"is the first of {equal} settings that share the best"
        values = ", ".join(f"{row.value:.3f} with {row.label}" for row in own.itertuples())
        text = (
            f"{whole}, seed {seed}: {chosen['label']} was chosen, as it "
            f"{many if equal > 1 else 'has the best'} {chosen['measure']} on rotated passages of "
            f"{chosen['split']} ({values})."
        )
        findings.append(Finding(text, None))
    return findings


def _baselines(rows: DataFrame) -> list[Finding]:
    """Report whether every model beats every baseline, and name those not shown to."""
    tested = rows.query(f"{_along(BASELINES)} and first")
    if tested.empty:
        return []
    lost = tested[tested["answer"] != Compared.HIGHER]
    if lost.empty:
        names = " and ".join(tested["beside"].unique())
        return [Finding(f"Every model beats {names}, after Holm's correction.", True)]
    named = "; ".join(
        f"{whole} against {beside} on {' and '.join(own['place'])}"
        for (whole, beside), own in lost.groupby(["whole", "beside"], sort=False)
    )
    text = f"Not shown to beat a baseline, so its use of position matters little: {named}."
    return [Finding(text, False)]


def _similarity(rows: DataFrame) -> list[Finding]:
    """Report MATS on the original passages by training, as a mean over seeds and draws."""
    findings = []
    own = rows.query(f"measure == '{MATS}' and {MEAN} and test == 'original' and whose == ''")
    for name, of in own.groupby("name", sort=False):
        listed = "; ".join(f"{decimal(row.value)} {_by(row)}" for row in of.itertuples())
        text = (
            f"{name}, MATS on the original passages: {listed}. An untrained TK depends strongly on "
            "position, so MATS also falls with longer training: see the training curves."
        )
        findings.append(Finding(text, None))
    return findings


def _by(row: Any) -> str:
    return f"with {row.trained}" if row.remedies else f"trained on {row.trained}"


def _invariant(rows: DataFrame) -> list[Finding]:
    """Explain a MATS above 0 of a model without absolute positions."""
    probed = set(rows.query(f"measure == '{MATS}'")["variant"])
    named = [name for kind, name in VARIANTS.items() if kind != "sinusoid" and name in probed]
    text = (
        f"With {' and '.join(named)} a term's vector cannot depend on its place in the passage as "
        "such: MATS then reflects the words around that place, and a passage's ends."
    )
    return [Finding(text, None)] if named else []


# --- the paper ------------------------------------------------------------------------------------


def _against_paper(rows: DataFrame) -> list[Finding]:
    """Report where our data decide otherwise than what the paper prints of the same thing."""
    theirs: Printed = {
        (row.model, row.training, row.source, row.test, row.measure, row.statistic): row
        for row in rows[rows["whose"] != ""].itertuples()
    }
    ours = rows[(rows["whose"] == "") & rows["finished"]]
    return [
        Finding(f"Against the paper: {text}; {LOOK}.", None)
        for text in (*_other_change(ours, theirs), *_other_order(ours, theirs))
    ]


Printed = Mapping[tuple[Any, ...], Any]


def _other_change(rows: DataFrame, theirs: Printed) -> Iterable[str]:
    """Yield the changes by rotation of another kind than the printed ones."""
    for row in rows.query(f"{CHANGED} and subset == ''").itertuples():
        key = (row.model, row.training, row.source, "rotated", row.measure, "Δ as printed")
        kinds: Mapping[str, Callable[[float], bool]] = {
            Shift.FALLS: lambda printed: printed < -MARGIN,
            Shift.RISES: lambda printed: printed > MARGIN,
            Shift.NONE: lambda printed: abs(printed) <= MARGIN,
        }
        if key in theirs and row.answer in kinds and not kinds[row.answer](theirs[key].value):
            printed = theirs[key]
            yield (
                f"of {row.whole} it prints Δ {percent(printed.value, sign=True)} "
                f"({printed.family}); here {row.measure} {_brief(row)}"
            )


def _other_order(rows: DataFrame, theirs: Printed) -> Iterable[str]:
    """Yield the pairs of trainings, and of their MATS, in another order than the printed ones."""
    decided = rows[rows["answer"].isin([Compared.HIGHER, Compared.LOWER])]
    for row in decided.query(_along(TRAININGS)).itertuples():
        parts = parts_of(row.against)
        training, source = parts.get("training", row.training), parts.get("source", row.source)
        keys = [
            (row.model, *of, row.test, row.measure, "mean")
            for of in ((training, source), (row.training, row.source))
        ]
        if not all(key in theirs for key in keys):
            continue
        base, own = (theirs[key] for key in keys)
        apart = own.value - base.value
        if abs(apart) >= APART and (apart > 0) != (row.answer == Compared.HIGHER):
            yield (
                f"on the {row.place} passages it prints {row.measure} {base.value:.3f} "
                f"({base.family}) and {own.value:.3f} ({own.family}); here the order is the other"
            )
    own = rows.query(f"measure == '{MATS}' and {MEAN} and test == 'original' and variant == ''")
    for model, of in own.groupby("model"):
        values = dict(zip(of["training"], of["value"], strict=False))
        keys = [(model, text, "", "original", MATS, "mean") for text in ("original", "rotated")]
        if len(values) == 2 and values["rotated"] >= values["original"] and keys[0] in theirs:
            before, after = (theirs[key] for key in keys)
            yield (
                f"it prints MATS {before.value:.3f} ({before.family}) and {after.value:.3f} "
                f"({after.family}), a fall; here it does not fall"
            )


SHOWN = Presentation(
    study="position-bias",
    prepare=_prepared,
    headline=_headline,
    findings=_findings,
    questions=(
        REMEDY_QUESTION,
        _change_question("not remedies and cure != ''", CURED),
        _change_question("not remedies and cure == '' and training == 'original'", ROTATE),
        _change_question("not remedies and cure == '' and training == 'rotated'", OTHERS),
        _change_question("remedies", COMPARE),
        TRAINING_QUESTION,
    ),
    sections=(
        RowSection(
            anchor="effectiveness",
            title="What training and rotation change",
            introduction="Each model re-ranks the same candidates twice: with the passages as they "
            "are, and with every passage rotated. What a model loses by the rotation is what it "
            "owed to position. A rotation can also cut through an answer; the queries whose answer "
            "was left whole leave that out.",
            figures=[CHANGE_FIGURE, TRANSFER_FIGURE],
            tables=[EFFECTIVENESS, REMEDY_TABLE, LEVEL_TABLE],
            folded=[CHANGES, TRAINING_TESTS, INSTEAD_TESTS, BASELINE_TESTS, SYSTEMS],
        ),
        RowSection(
            anchor="remedies",
            title="Remedies: quality and bias",
            introduction="A remedy makes its own manipulation harmless by construction, so each is "
            "measured by two: rotated passages, and the answering sentence moved from the front to "
            "the end.",
            figures=[REMEDY_FIGURE],
            folded=[CHOICES],
        ),
        replace(PLACES, anchor="answers", folded=[OUTCOMES, ROTATIONS, CONTENTS]),
        replace(SIMILARITY, anchor="similarity"),
        training_section("position-bias"),
    ),
    text=[],
    main=("remedies", "change", "transfer"),
    after_study=("effectiveness", "remedies", "levels", "positions"),
)
