"""Presentation of a study of position: the paper's Tables 1 to 5 and Figures 1 and 2, changes by
rotation, remedies, trainings.

The paper calls rotated passages "debiased", and prints Δ = (debiased − original) / debiased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pandas import DataFrame, Series

from positionbias.evaluation.answers import LEVEL, MARGIN, Compared
from positionbias.evaluation.convergence import UNFINISHED
from positionbias.evaluation.crossed import (
    ENOUGH,
    LEAST,
    OVER_QUERIES,
    OVER_TRAININGS,
    speaks_of_method,
)
from positionbias.experiments.endings import ending_sentences, training_section
from positionbias.experiments.shown import IDLE, NAMES, TRAIN_LONGER, comparison_question, parts_of
from positionbias.papers.position_bias import (
    AT_INFERENCE,
    BASELINES,
    CUT,
    IN_TRAINING,
    INSTEAD,
    MOVED,
    NO_REMEDY,
    PAPER,
    REMEDIES,
    TEST_SETS,
    TRAININGS,
    WHOLE,
    Shift,
)
from positionbias.positions.histogram import POINTS, Beside
from positionbias.positions.measured import ANSWERS
from positionbias.probe.measured import MATS
from positionbias.probe.shown import SECTION as SIMILARITY
from positionbias.report.answer_positions import OUTCOMES
from positionbias.report.answer_positions import SECTION as PLACES
from positionbias.report.figure import Forest, Mark
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import (
    Answer,
    Answered,
    Finding,
    Question,
    Record,
    bounds_of,
    records_of,
    said,
)
from positionbias.report.table import DOUBTFUL, MARK, RowTable, Value, where_printed
from positionbias.text.formatting import as_form, percent

PRINTED = f"Published: {PAPER}. Ours is another experiment, not a repetition of it."
MODELS = "role == 're-ranker'"
OVERALL = "axis == '' and subset == '' and seed == -1 and rotation == -1"


def _along(family: str, statistic: str = "difference") -> str:
    """Return what chooses a statistic of comparisons over all trainings."""
    chosen = f"family.str.startswith('{family}: ') and seed == -1"
    return f"{chosen} and statistic == '{statistic}'" if statistic else chosen


CHANGED = f"{_along(TEST_SETS, 'relative')} and {MODELS} and first"


ADVICE = {  # where rotation changes a model, by its training
    "original": "Train on rotated passages (posbias debias, or train --rotate-at-reading) and "
    "measure again.",
    "rotated": "It was trained on rotated passages: compare other remedies (posbias study "
    "remedies).",
    REMEDIES: "Look at “Remedies: quality and bias”: what each does to the effect of a moved "
    "sentence and to quality on original passages.",
}


def _prepared(rows: DataFrame) -> DataFrame:
    """Name models, trainings, baselines, passages and prices; ``first`` are the rows of the study's
    first measure, ``advice`` is what to do where rotation changes a model.
    """
    remedies = NO_REMEDY in set(rows["variant"])
    transfer = bool((rows["source"] != "").any())

    def trained(cells: Mapping[str, Any]) -> str:
        if remedies:
            return cells["variant"]
        if transfer and not cells["variant"]:
            began = cells["source"]
            return f"{began}, then these passages" if began else "these passages alone"
        return ", ".join(filter(None, (f"{cells['training']} passages", cells["variant"])))

    def beside(cells: Mapping[str, Any]) -> str:
        parts = parts_of(cells["against"])
        if "test" in parts:
            return f"{parts['test']} test"
        named = parts.get("model", "")
        return NAMES.get(named, named) or trained({**cells, **parts})

    every = rows.to_dict("records")
    ended = rows["finished"].map({True: "", False: f", {UNFINISHED}"})
    name = rows["model"].map(lambda model: NAMES.get(model, model)) + ended
    how = Series([trained(row) if row["role"] == "re-ranker" else "" for row in every], rows.index)
    glue = ", " if remedies else " trained on "
    draws = rows["rotation"].map(lambda draw: f", draw {draw}" if draw >= 0 else "")
    measures = rows[rows["family"].str.startswith((BASELINES, TEST_SETS))]["measure"]
    return rows.assign(
        name=name,
        trained=how,
        whole=name + how.map(lambda text: text and f"{glue}{text}"),
        beside=[beside(row) if row["against"] else "" for row in every],
        passages=rows["variant"].where(rows["variant"] != "", rows["test"] + " passages" + draws),
        price=rows["variant"].map(_price),
        place=rows["test"].map(lambda test: f"{test} test" if test else ""),
        among=rows["subset"].map(
            lambda subset: f", over queries with the {subset}," * bool(subset)
        ),
        outcome=rows["label"].str.capitalize(),
        first=rows["measure"] == (measures.iloc[0] if len(measures) else ""),
        remedies=remedies,
        advice=rows["training"].map(lambda text: ADVICE.get(REMEDIES if remedies else text, "")),
    )


def _price(variant: str) -> str:
    """Return what a remedy costs beside a training, and readings, without it.

    >>> _price("rotated once"), _price("rotate:4 at inference")
    ('none', 'reads each variant')
    """
    return IN_TRAINING.get(variant, "reads each variant" * variant.endswith(AT_INFERENCE))


def _over(rows: DataFrame) -> str:
    """Explain the intervals of the trainings that there are."""
    notes = {
        LEAST: "Of several trainings: the mean over seeds and rotation draws, with its 95 % t "
        f"interval {OVER_TRAININGS}, paired by seed. It speaks of the method where it leaves out "
        f"0, or from {ENOUGH} seeds.",
        1: f"95 % intervals of one training: {OVER_QUERIES}.",
        2: "Two trainings have no interval.",
    }
    trainings = {min(number, LEAST) for number in rows["trainings"]}
    return " ".join(note for number, note in notes.items() if number in trainings)


EFFECTIVENESS = RowTable(
    name="effectiveness",
    title="Trainings on original and on rotated test passages",
    stub={"name": "Model", "trained": "Trained on", "start": "Began with"},
    across=["measure", "place"],
    where=f"{MODELS} and measure not in ['{MATS}', '{MOVED}'] and {OVERALL} and not remedies and "
    f"(statistic in ['mean', 'Δ as printed'] or {_along(TEST_SETS, 'relative')} or "
    f"{_along(TRAININGS)})",
    cells=[
        Value("mean", mark="difference"),
        Value("Δ as printed", "Δ as printed", "+.1%", wide=True),
        Value("relative", "Change", "+.1%"),
    ],
    notes=[
        lambda rows: (
            "Δ as printed = (rotated − original) / rotated, the form of the paper's Tables 3 and "
            "4. Change = (rotated − original) / original. Both leave out trainings that re-rank "
            "nothing, where others do."
            if (rows["statistic"] == "relative").any()
            else ""
        ),
        f"Against the first training of the same model: {DOUBTFUL} p < {LEVEL:g}, uncorrected; "
        f"{MARK} after Holm's correction over all trainings and test passages of a measure.",
        _over,
        where_printed(f"{PRINTED} It prints the letters of rows that are worse by Wilcoxon's p."),
    ],
)
REMEDY_TABLE = RowTable(
    name="remedies",
    title="Remedies: quality and bias",
    stub={"name": "Model", "trained": "Remedy", "price": "Price"},
    across=["measure", "place"],
    where=f"remedies and {MODELS} and {OVERALL} and (measure == '{MOVED}' or first) and "
    f"(statistic == 'mean' and test == 'original' or {_along(TEST_SETS, 'relative')} or "
    f"{_along(REMEDIES)})",
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
CONTENTS = RowTable(
    name="collections",
    title="The collections",
    stub={"source": "First collection", "measure": "What", "split": "Split"},
    where="statistic == 'count' and measure in ['passages', 'queries', 'judgements', 'answers']",
    cells=[Value("count", "Number", ",")],
    notes=[where_printed(PRINTED)],
)

CHANGE_FIGURE = Forest(
    name="change",
    where=CHANGED,
    caption=lambda rows: (
        "Change in effectiveness when the test passages are rotated, with its interval."
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
    where=f"remedies and statistic == 'mean' and {OVERALL} and test == 'original' and {MODELS} and "
    f"(first or measure == '{MOVED}')",
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

CHANGE_QUESTION = Question(
    by=["whole", "advice", "measure"],
    where=f"{CHANGED} and subset == ''",
    statistics=["relative"],
    question="Does rotating the test passages change {measure}?",
    subject="{whole}",
    answers={
        Shift.FALLS: Answer(answered=Answered.YES, words="Falls", advice=["{advice}"]),
        Shift.RISES: Answer(answered=Answered.YES, words="Rises", advice=["{advice}"]),
        Shift.NONE: Answer(answered=Answered.NO, words="Not beyond the margin", welcome=True),
        Shift.UNKNOWN: Answer(answered=Answered.UNKNOWN, words="Too uncertain"),
        Shift.UNFINISHED: Answer(
            answered=Answered.UNKNOWN, words="Training not finished", advice=[TRAIN_LONGER]
        ),
        Shift.IDLE: Answer(answered=Answered.UNKNOWN, words="Leaves BM25's order", advice=[IDLE]),
    },
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


def _shown(row: Any, form: str = "+.1%") -> str:
    """Return a value with its interval, what that is over and what it is about."""
    value = as_form(row.value, form)
    if row.low != row.low:
        few = "two trainings have no interval" if row.trainings == 2 else "no interval"
        return f"{value} ({few})"
    over = OVER_QUERIES
    if row.trainings >= LEAST:
        known = speaks_of_method(bounds_of(row), row.trainings)
        speaks = "the method" if known else "these trainings, not yet of the method"
        over = f"over {row.trainings} trainings and queries: speaks of {speaks}"
    ends = f"{as_form(row.low, form)} to {as_form(row.high, form)}"
    return f"{value} (95 % interval {ends}, {over})"


class Sentence(NamedTuple):
    """A sentence about each record of rows: its ``template`` may name {verdict}, the words of the
    answer, {shown}, the value with its interval, and {p}; answers without words have no sentence.
    """

    by: Sequence[str]
    where: str
    template: str
    statistic: str = "difference"
    form: str = "+.3f"
    verdicts: Mapping[str, tuple[str, bool | None]] = {"": ("", None)}

    def findings(self, rows: DataFrame) -> list[Finding]:
        """Return the sentences, with whether they hold."""
        findings = []
        for record in records_of(rows, self.by, self.where):
            row = record.rows[self.statistic]
            words, holds = self.verdicts.get(row.answer, ("", None))
            p = said(f"; Holm p {{{self.statistic}.p_adjusted:p}}", record)
            known = {"verdict": words, "shown": _shown(row, self.form), "p": p}
            if words or row.answer == "":
                text = said(self.template, Record({**record.keys, **known}, record.rows))
                findings += [Finding(text, holds)] if text else []
        return findings


def _between(higher: str, lower: str, open_: str, *, good: bool = True) -> dict[str, Any]:
    """Return the verdicts of a comparison."""
    undecided = (open_, None)
    return {
        Compared.HIGHER: (higher, good),
        Compared.LOWER: (lower, not good),
        Compared.NONE: undecided,
        Compared.UNTESTED: undecided,
        Compared.UNFINISHED: undecided,
    }


def _of_trainings(family: str) -> Sentence:
    return Sentence(
        ["measure", "place", "whole", "beside"],
        f"{_along(family, '')} and first",
        "On the {place} passages {whole} {verdict} one trained on {beside}: {measure} "
        "{candidate mean:.3f} against {baseline mean:.3f}, difference {shown}{p}.",
        verdicts=_between("is better than", "is worse than", "is not distinguishable from"),
    )


IDLE_TRAININGS = Sentence(
    ["whole", "seed"],
    "measure == 'training' and statistic == 'depth' and seed >= 0 and value == 1",
    "{whole}, seed {seed:,}, does not beat its first stage on validation: no re-ranking depth did "
    f"better there than BM25's own order, so its scores change nothing. {IDLE}",
    statistic="depth",
)
CHANGES = Sentence(
    ["whole", "subset", "among", "measure"],
    CHANGED,
    "{whole}: when the test passages are rotated, {measure}{among} {verdict}: {shown}.",
    statistic="relative",
    form="+.1%",
    verdicts={
        Shift.FALLS: ("falls", True),
        Shift.RISES: ("rises", True),
        Shift.NONE: (f"does not change beyond ±{percent(MARGIN, 0)}", False),
        Shift.UNKNOWN: ("may change, cannot tell", None),
        Shift.UNFINISHED: ("may change, as the training is not finished", None),
    },
)
SENTENCES = (
    Sentence(
        ["passages"],
        f"measure == '{ANSWERS}' and axis == '' and variant == ''",
        "In the {passages}, {first fifth.value:.1%} of {first fifth.count:,} answers start in the "
        "first fifth (95 % interval {first fifth.low:.1%} to {first fifth.high:.1%}): {verdict} "
        "({first fifth.expected:.1%}).",
        statistic="first fifth",
        verdicts={
            Beside.ABOVE: ("more than in an unbiased collection", True),
            Beside.BELOW: ("less than in an unbiased collection", True),
            Beside.WITHIN: (f"as in an unbiased collection, to within {percent(POINTS, 0)}", False),
            Beside.UNKNOWN: ("cannot tell whether more than in an unbiased collection", None),
        },
    ),
    IDLE_TRAININGS,
    CHANGES,
    Sentence(
        ["passages"],
        "measure == 'test queries'",
        f"The rotation of the {{passages}} cut through the answer of {{{CUT}:,}} test queries, and "
        f"left that of {{{WHOLE}:,}} whole.",
        statistic=CUT,
    ),
    _of_trainings(INSTEAD),
    _of_trainings(TRAININGS),
    Sentence(
        ["whole", "measure"],
        f"{_along(REMEDIES)} and measure != '{MOVED}'",
        f"{{whole}}, against {NO_REMEDY}: {{verdict}}, {{measure}} on original passages {{shown}}.",
        verdicts=_between("more quality", "less quality", "no difference in quality is shown"),
    ),
    Sentence(
        ["whole"],
        f"{_along(REMEDIES)} and measure == '{MOVED}'",
        f"{{whole}}, against {NO_REMEDY}: {{verdict}}, size of the effect of a moved sentence "
        "{shown}.",
        verdicts=_between("more bias", "less bias", "no difference in bias is shown", good=False),
    ),
    Sentence(
        ["whole", "beside", "place"],
        f"{_along(BASELINES)} and first and answer != '{Compared.HIGHER}'",
        "{whole} is not shown to beat {beside} on the {place}, so its use of position matters "
        "little: difference {shown}{verdict}.",
        verdicts=dict.fromkeys(Compared, (", after Holm's correction", False)),
    ),
)


def _headline(rows: DataFrame) -> list[str]:
    """Return what helps, of remedies; else what rotation does to the first models, or how trainings
    compare.
    """
    if rows["remedies"].any():
        return [_helpful(rows).text]
    findings = CHANGES.findings(rows[rows["subset"] == ""])
    for sentence in (_of_trainings(TRAININGS), IDLE_TRAININGS):
        findings = findings or sentence.findings(rows)
    return [finding.text for finding in findings[:2]]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return findings on places of answers, ends of trainings, and comparisons."""
    return [
        *ending_sentences(rows),
        *(finding for sentence in SENTENCES for finding in sentence.findings(rows)),
        *([_helpful(rows)] if rows["remedies"].any() else []),
    ]


def _helpful(rows: DataFrame) -> Finding:
    """Name the remedies that lower the bias without a loss of quality that the data show; intervals
    must leave out 0 and speak of more than one checkpoint.
    """
    sides: dict[str, dict[bool, Any]] = {}
    for row in rows.query(_along(REMEDIES)).itertuples():
        sides.setdefault(row.whole, {})[row.measure == MOVED] = row
    good = []
    for whole, of in sides.items():
        quality, bias = of.get(False), of.get(True)
        if quality is None or bias is None or not speaks_of_method(bounds_of(bias), bias.trainings):
            continue
        if bias.high < 0 and quality.high >= 0:
            good.append(f"{whole} (at worst {as_form(quality.low, '+.3f')} {quality.measure})")
    if good:
        text = f"Remedies that lower the bias, with no loss of quality shown: {'; '.join(good)}."
        return Finding(text, True)
    text = (
        "No remedy is shown to lower the bias without a loss of quality: these data decide "
        "nothing, or each has its price."
    )
    return Finding(text, None)


SHOWN = Presentation(
    study="position-bias",
    prepare=_prepared,
    headline=_headline,
    findings=_findings,
    questions=(REMEDY_QUESTION.tiles, CHANGE_QUESTION.tiles, TRAINING_QUESTION.tiles),
    sections=(
        RowSection(
            anchor="remedies",
            title="Remedies: quality and bias",
            introduction="A remedy makes its own manipulation harmless by construction, so each is "
            "measured by two: rotated passages, and the answering sentence moved from the front to "
            "the end.",
            figures=[REMEDY_FIGURE],
        ),
        RowSection(
            anchor="effectiveness",
            title="What training and rotation change",
            introduction="Each model re-ranks the same candidates twice: with the passages as they "
            "are, and with every passage rotated. What a model loses by the rotation is what it "
            "owed to position. A rotation can also cut through an answer; the queries whose answer "
            "was left whole leave that out.",
            figures=[CHANGE_FIGURE],
            tables=[EFFECTIVENESS, REMEDY_TABLE],
        ),
        replace(PLACES, anchor="answers", folded=[OUTCOMES, CONTENTS]),
        replace(SIMILARITY, anchor="similarity"),
        training_section("position-bias"),
    ),
    text=[],
)
