"""How an audit is shown: the verdicts in sentences, tiles and a table, and a chart of effects."""

from __future__ import annotations

import numpy as np
from pandas import DataFrame

from positionbias.audit.answers import (
    RANKS,
    READ_WHOLE,
    WORTH,
    Contrast,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.describe import POSITION, PSI
from positionbias.audit.length_grid import LENGTHS
from positionbias.audit.measured import ANSWER, RAW, SIDES, Given, given_in
from positionbias.audit.single_queries import query_tables
from positionbias.audit.words import (
    in_unit,
    in_words,
    sentences_of,
    size_of,
    sized,
    step_of,
    unread_part,
)
from positionbias.report.figure import Forest, Mark
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Answered, Finding, Tile
from positionbias.report.table import RowTable, Value
from positionbias.text.formatting import count, percent, plural

BY_QUERY = (RAW, "as it is", "rotated once")
SIGNS = {  # the direction of an effect, and what units are, in words
    Contrast.ENDS: "End − front: below 0 the front is preferred; so for rotation and two runs.",
    Contrast.MIDDLE: "Middle − ends: below 0 both ends are preferred.",
    Contrast.ORDER: "List: ranks lost; above 0 the first places, or the ends, are preferred.",
    WORTH: "Worth: shares of what the evidence is worth to the system, its score of the passage "
    "less that with an equally long sentence of another passage in the evidence's place, averaged "
    "over queries.",
    RANKS: "Ranks: places gained; −2 falls two places.",
    READ_WHOLE: "If a system does not read all texts to the end, effects are over those that it "
    "reads whole.",
}
FORMS = {WORTH: "+.1%", RANKS: "+.1f"}
KEYS = ["model", "role", "collection", "split"]
ASKED = {str(contrast): str(question) for question, own in SIDES.items() for contrast in own}


# -- rows as tables and figures take them --------------------------------------------------------


def _prepared(rows: DataFrame) -> DataFrame:
    """Add the words of tables and figures, and the margin of effects in the unit of their verdict.
    ``stated`` and ``own`` keep the statistic and unit of the measurement.
    """
    name = rows["model"] + (", sentence chosen by " + rows["rule"]).where(rows["rule"] != "", "")
    tests = rows["collection"] + ", " + rows["split"]
    if tests.nunique() > 1:
        name += " on " + tests
    asked, value = rows["measure"].map(ASKED), rows["value"]
    answers = rows[rows["statistic"] == ANSWER].set_index([*KEYS, "measure"])
    answers = answers[["subset", "unit", "margin"]].add_prefix("deciding ")
    verdicts = rows.assign(asked=asked).join(answers, on=[*KEYS, "asked"])
    parts = {
        "by query": rows["statistic"].isin(BY_QUERY),
        "length": (rows["measure"] == LENGTHS) & (rows["axis"] != ""),
        "description": (rows["axis"] == POSITION) | (rows["statistic"] == PSI),
        "verdict": rows["measure"].isin([*QUESTIONS]),
        "effect": asked.notna(),
    }
    part = np.select([*parts.values()], [*parts], "count")
    effect, counted = part == "effect", part == "count"
    of_scores = rows["unit"].map(FORMS).fillna("+.3f")
    whole = np.where(value.isna() | (value % 1 == 0), ",", ".3f")
    in_unit = (rows["unit"] == verdicts["deciding unit"]) & (rows["measure"] != Contrast.WORTH)
    several = name[effect].nunique() > 1
    return rows.assign(
        name=name,
        part=part,
        stated=rows["statistic"],
        own=rows["unit"],
        statistic=np.select([effect, counted], ["effect", "count"], rows["statistic"]),
        unit=rows["unit"].replace(WORTH, "share"),
        in_words=rows["unit"].map(in_words),
        heading=[unit.capitalize() if unit in FORMS else unit for unit in rows["unit"]],
        form=np.select([effect, counted], [of_scores, whole], ""),
        line=name + ": " + rows["measure"] if several else rows["measure"],
        deciding=effect & (rows["subset"] == verdicts["deciding subset"]),
        margin=np.where(effect, verdicts["deciding margin"].where(in_unit), rows["margin"]),
    )


def _given(rows: DataFrame) -> list[Given]:
    """Return the verdicts among prepared rows."""
    return given_in(rows.assign(statistic=rows["stated"], unit=rows["own"]))


# -- sentences -----------------------------------------------------------------------------------


def _decides(given: Given) -> bool:
    """Return False for the list of a scorer that reads passages alone: no headline needs it."""
    return given.verdict.question is not Question.LIST or bool(given.verdict.effects)


def _headline(rows: DataFrame) -> list[str]:
    """Return the first sentence of each verdict."""
    return [sentences_of(one.system, one.verdict)[0] for one in _given(rows) if _decides(one)]


def _findings(rows: DataFrame) -> list[Finding]:
    """Return what each verdict means and what to do next, of several systems with their names."""
    every, findings = _given(rows), []
    several = len({one.system for one in every}) > 1
    for one in every:
        sentences = sentences_of(one.system, one.verdict)[_decides(one) :]
        holds = {Answered.YES: True, Answered.NO: False}.get(_answer(one.verdict))
        if sentences:
            named = sentences[0].startswith(tuple(f"{one.system}{after}" for after in ":, "))
            start = f"{one.system}: " if several and not named else ""
            findings.append(Finding(f"{start}{' '.join(sentences)}", holds))
    return findings


def _run(rows: DataFrame) -> list[str]:
    """Return how many queries were audited."""
    queries = rows[rows["stated"] == "queries audited"]["value"]
    return [f"{plural(int(number), 'query')} audited." for number in queries]


# -- tiles ---------------------------------------------------------------------------------------

QUESTIONS = {
    Question.PASSAGE: "Does the place of the evidence in its passage matter?",
    Question.LIST: "Does the order of the candidates matter?",
}
ANSWERS = {
    Preference.NONE: Answered.NO,
    Preference.UNKNOWN: Answered.UNKNOWN,
    Preference.UNREACTIVE: Answered.UNKNOWN,
}


def _answer(verdict: Verdict) -> Answered:
    return ANSWERS.get(verdict.preference, Answered.YES)


def _tiles(rows: DataFrame) -> list[Tile]:
    """Return a tile for each verdict."""
    names = {row[:4]: row[4] for row in rows[[*KEYS, "name"]].itertuples(index=False)}
    return [_tile(given.system, names[given[:4]], given.verdict) for given in _given(rows)]


def _tile(name: str, label: str, verdict: Verdict) -> Tile:
    head, basis = verdict.leading, []
    lost = verdict.effect(Contrast.ENDS, verdict.measure) if verdict.within is not None else None
    shown = lost or head
    words = f"{verdict.preference[:1].upper()}{verdict.preference[1:]}"
    if verdict.preference is Preference.UNREAD:
        words = f"Loses {unread_part(verdict)}"
    elif verdict.preference is Preference.NONE and head is None:
        words = "Scores each passage by itself"
    elif verdict.preference is Preference.NONE and verdict.subset == READ_WHOLE:
        words += " within what it reads"
    if verdict.within is not None:
        basis.append(f"within what it reads: {verdict.within}")
    if head is not None and shown is not None:
        if verdict.margin is not None and head.contrast is not Contrast.WORTH and not lost:
            beyond = {True: "beyond the ", False: "perhaps within the ", None: ""}[verdict.exceeds]
            basis.append(f"{beyond}margin of {in_unit(verdict.margin, head.unit)}")
        if shown.detectable is not None:
            basis.append(f"detects {size_of(shown.detectable, shown.unit)} with 80 % power")
        basis.append(f"{count(shown.queries)} queries")
    if verdict.unread:
        share = percent(verdict.unread)
        basis.append(f"{share} of queries have texts that it does not read to the end")
    known = shown is not None and shown.value is not None
    return Tile(
        question=QUESTIONS[verdict.question],
        subject=label,
        answer=_answer(verdict),
        words=words,
        welcome=_answer(verdict) is Answered.NO,
        effect=f"{sized(shown)} {in_words(shown.unit)}" if shown and known else "",
        basis=basis,
        advice=step_of(name, verdict),
    )


# -- tables --------------------------------------------------------------------------------------


def _signs(rows: DataFrame) -> str:
    """Explain the contrasts and units of these effects."""
    effects = rows[rows["part"] == "effect"]
    named = {*effects["measure"], *effects["own"], *effects["subset"]}
    return "\n".join(text for name, text in SIGNS.items() if name in named)


EFFECTS = RowTable(
    name="effects",
    title="Effects of moving the evidence",
    stub={"name": "System", "measure": "Effect"},
    across=["heading"],
    where="deciding",
    cells=[Value("effect")],
    notes=[_signs],
)
COUNTS = RowTable(
    name="counts",
    title="What was counted",
    stub={"name": "System", "measure": "Of", "stated": "What"},
    where='part == "count"',
    cells=[Value("count", "Number", ","), Value("count", "Kind", show="label")],
)


BY_LENGTH = RowTable(
    name="lengths",
    title="The same evidence in longer texts",
    stub={"name": "System", "length": "Length", "label": "Place"},
    where='part == "length"',
    cells=[
        Value("mean", "Lead", "+.3f"),
        Value("difference", "less the start", "+.3f", group="Lead"),
        Value("share not read", "Not read", ".0%"),
    ],
    notes=[
        "Lead over the query's competitors, in deviations of their scores, in texts that other "
        "passages pad to one length; intervals hold together. Where the evidence is not read to "
        "its end a loss is truncation, no preference."
    ],
)
BY_POSITION = RowTable(
    name="positions",
    title="Quality by the place of the evidence",
    stub={"name": "System", "measure": "Measure", "label": "Share of the passage"},
    where='part == "description" and axis != ""',
    cells=[Value("mean", "Queries", ",", show="count"), Value("mean", "Mean", ".3f")],
    notes=["It mixes a preference with the difficulty of the questions: nothing is concluded."],
)
DESCRIBED = RowTable(
    name="psi",
    title="Position sensitivity index",
    stub={"name": "System", "measure": "Measure"},
    where='part == "description" and axis == ""',
    cells=[
        Value(PSI, "Queries", ",", show="count"),
        Value(PSI, "PSI", ".3f"),
        Value(PSI, "By chance", ".3f", show="expected"),
        Value(PSI, "p", "p", show="p"),
        Value(PSI, "Undefined", show="reason", wide=True),
    ],
    notes=[
        "PSI = 1 − worst mean / best mean of the shares. By chance: its mean where values are "
        "shuffled over the queries."
    ],
)


# -- figures -------------------------------------------------------------------------------------


FOREST = Forest(
    name="effects",
    where='part == "effect" and margin == margin',
    caption=lambda rows: (
        "The effects of moved evidence with their 95 % intervals: below 0 the place named second "
        "is preferred, above 0 the first. Grey: the margin, the smallest effect of interest."
    ),
    panel=("in_words",),
    heading="{in_words}",
    series="name",
    line=["line"],
    name_of="{line}",
    most=1,
    marks=[
        Mark(where="deciding", label="effect with its 95 % interval"),
        Mark(where="not deciding", label="over all texts", full=False, lower=0.25),
    ],
)
SHOWN = Presentation(
    study="audit",
    prepare=_prepared,
    headline=_headline,
    run=_run,
    findings=_findings,
    questions=[_tiles],
    queries=query_tables,
    sections=[
        RowSection(
            anchor="response",
            title="The same evidence at another place",
            introduction="Only the evidence moves: the words and the question stay. The verdicts "
            "rest on the effects in the table.",
            figures=[FOREST],
            tables=[EFFECTS],
            folded=[BY_LENGTH, BY_POSITION, DESCRIBED, COUNTS],
            together=True,
        ),
    ],
    text=[BY_LENGTH, BY_POSITION, DESCRIBED],
)
