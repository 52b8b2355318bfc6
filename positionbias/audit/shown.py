"""How an audit is shown: the verdicts in sentences, tiles and a table, the effects behind them, and
the descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from positionbias.audit.length_grid import CUT
from positionbias.audit.measured import ANSWER, RAW, SIDES, Given, given_in
from positionbias.audit.systems import FIRST_STAGE
from positionbias.audit.words import as_share, in_words, sentences_of, sized, step_of, unread_part
from positionbias.core.formatting import count, decimal, percent, plural
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.length_grid import LENGTHS
from positionbias.report.figure import Forest, Lines, Mark
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding
from positionbias.report.table import Cell, Column, RowTable, Table, Value, number_cell
from positionbias.report.tiles import Answered, Tile

__all__ = ["SHOWN"]

LARGEST, DRAWN = 20, 5  # queries of the table of single ones
BY_QUERY = (RAW, "as it is", "rotated once")
NAMES: dict[str, str] = {
    Contrast.ENDS: "end − front",
    Contrast.MIDDLE: "middle − ends",
    Contrast.ROTATION: "rotation: end − front",
    Contrast.RUNS: "two runs: end − front",
    Contrast.WORTH: "worth of the evidence",
    Contrast.ORDER: "first to last",
    Contrast.ORDER_MIDDLE: "ends to middle",
}
SIGNS = {  # the direction of an effect, and what units are, in words
    Contrast.ENDS: "End − front: evidence moved to the passage's end less the same evidence at its "
    "front; below 0 the front is preferred.",
    Contrast.MIDDLE: "Middle − ends: evidence in the middle less the mean of both ends; below 0 "
    "both ends are preferred.",
    Contrast.ROTATION: "Rotation: evidence rotated to the end less rotated to the front; below 0 "
    "the front is preferred.",
    Contrast.RUNS: "Two runs: evidence moved to the end less moved to the front; below 0 the front "
    "is preferred.",
    Contrast.WORTH: "Worth of the evidence: the passage less the same passage with an equally long "
    "sentence of another one in the evidence's place; not shown to be above 0.",
    Contrast.ORDER: "List: ranks lost from the list's first place to its last; above 0 the first "
    "places are preferred.",
    Contrast.ORDER_MIDDLE: "List: ranks lost from the list's ends to its middle; above 0 the ends "
    "are preferred.",
    WORTH: "Worth: effects are shares of what the evidence is worth to the system, its score of "
    "the passage less that with an equally long sentence of another passage in the evidence's "
    "place, averaged over queries.",
    RANKS: "Ranks: places gained; −2 falls two places.",
    READ_WHOLE: "If a system does not read all texts to the end, effects are over those that it "
    "reads whole.",
}
KEPT = ("statistic", "unit", "margin")
FORMS = {WORTH: "+.1%", RANKS: "+.1f"}


# -- rows as tables and figures take them --------------------------------------------------------


def _prepared(rows: DataFrame) -> DataFrame:
    """Add the words of tables and figures: of systems, contrasts, units and parts. ``stated`` and
    ``own`` keep the statistic and unit of the measurement.
    """
    name = rows["model"].where(rows["role"] != FIRST_STAGE, rows["model"] + " (first stage)")
    name += rows["rule"].where(rows["rule"] == "", ", sentence chosen by " + rows["rule"])
    tests = rows["collection"] + ", " + rows["split"]
    if tests.nunique() > 1:
        name += " on " + tests
    part = [_part(row) for row in rows.itertuples()]
    made = rows.assign(stated=rows["statistic"], own=rows["unit"], name=name, part=part)
    several = made[made["part"] == "verdict"]["name"].nunique() > 1
    verdicts = {
        (*given[:4], measure): given.verdict
        for given in given_in(rows)
        for measure in (given.verdict.question, *SIDES[given.verdict.question])
    }
    empty = {
        **dict.fromkeys(("question", "contrast", "line", "in_unit", "answered", "beyond"), ""),
        "form": "",
        **dict.fromkeys(("deciding", "leading"), False),
    }
    cells = []
    for row in made.itertuples():
        own = empty | {name: getattr(row, name) for name in KEPT}
        verdict = verdicts.get((row.model, row.role, row.collection, row.split, row.measure))
        if row.part == "count":
            whole = row.value != row.value or row.value % 1 == 0
            own |= {"statistic": "count", "form": "," if whole else ".3f"}
        elif row.test:
            own["statistic"] = f"{row.statistic}, {row.test}"
        elif row.part in ("effect", "verdict") and verdict is not None:
            own |= _beside(row, verdict, several)
        cells.append(own)
    return made.assign(
        **DataFrame(cells, index=rows.index, columns=[*empty, *KEPT]),
        sample=rows["count"].map(count),
        texts=rows["subset"].where(rows["subset"] != "", "all"),
        what=rows["statistic"],
        place=rows["label"].replace({"0.00": "start", "1.00": "end"}),
        in_words=rows["unit"].map(in_words),
    )


def _part(row: Any) -> str:
    """Return the part of an audit to which a row belongs."""
    if row.statistic in BY_QUERY:
        return "by query"
    if row.measure in list(Question):
        return "verdict" if row.statistic == ANSWER else "of verdict"
    if row.measure in list(Contrast):
        return "effect"
    if row.scale:
        return "rotation" if row.scale == "rotation" else "quality"
    return "length" if row.measure == LENGTHS and row.axis else "count"


def _beside(row: Any, verdict: Verdict, several: bool) -> dict[str, Any]:
    """Return what tables show beside a verdict or one of its effects."""
    head = verdict.leading
    if verdict.question is Question.LIST and head is None:  # the sentence says it all
        return {}
    within = f" (within it: {verdict.within})" if verdict.within is not None else ""
    cells = {
        "question": "passage" if verdict.question is Question.PASSAGE else "list",
        "answered": f"{verdict.preference.removeprefix('prefers ')}{within}",
        "contrast": NAMES[head.contrast] if head else "",
        "beyond": _margin(verdict),
    }
    if row.part == "verdict" or head is None:
        return cells
    contrast, deciding = NAMES[row.measure], row.subset == verdict.subset
    return cells | {
        "contrast": contrast,
        "line": f"{row.name}: {contrast}" if several else contrast,
        "in_unit": row.unit.capitalize() if row.unit in FORMS else row.unit,
        "deciding": deciding,
        "leading": deciding and row.measure == head.contrast,
        "margin": verdict.margin if row.unit == head.unit and _margin(verdict) else np.nan,
        "form": FORMS.get(row.unit, "+.3f"),
        "statistic": "effect",
        "unit": "share" if row.unit == WORTH else row.unit,
    }


def _margin(verdict: Verdict) -> str:
    """Return the margin of a verdict, and whether its effect lies beyond it."""
    head, margin = verdict.leading, verdict.margin
    if head is None or margin is None or head.contrast is Contrast.WORTH:
        return ""
    beyond = {True: "beyond ", False: "perhaps within ", None: ""}[verdict.exceeds]
    return f"{beyond}±{as_share(margin) if head.unit == WORTH else f'{margin:g}'}"


def _given(rows: DataFrame) -> list[Given]:
    """Return the verdicts among prepared rows."""
    return given_in(rows.assign(statistic=rows["stated"], unit=rows["own"]))


# -- sentences -----------------------------------------------------------------------------------


def _decides(given: Given) -> bool:
    """Return whether a verdict belongs to the headline: all but that on the list of a scorer that
    reads passages alone.
    """
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
        start = f"{one.system}: " if several and _decides(one) else ""
        holds = {Answered.YES: True, Answered.NO: False}.get(_answer(one.verdict))
        if sentences:
            findings.append(Finding(f"{start}{' '.join(sentences)}", holds))
    return findings


def _run(rows: DataFrame) -> list[str]:
    """Return how many queries were audited, or that nothing was asked for."""
    queries = rows[rows["what"] == "queries audited"]["value"]
    lines = [f"{plural(int(number), 'query')} audited." for number in queries]
    limits = rows[(rows["measure"] == LENGTHS) & (rows["what"] == CUT)]
    lines += [
        f"{row.model}: its length limit is not known: a place that is not read looks like one that "
        "it dislikes (--reads N gives the limit)."
        for row in limits[limits["label"] == "no limit found"].itertuples()
    ]
    if rows["part"].isin(["count", "by query"]).all():
        lines.append("No verdict was asked for (--needles 0), and no description (--describe).")
    return lines


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


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """The tiles of an audit: question, answer, deciding effect, margin and power, next step."""

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return a tile for each verdict."""
        names = {row[:4]: row[4] for row in rows[[*KEYS, "name"]].itertuples(index=False)}
        return [_tile(given.system, names[given[:4]], given.verdict) for given in _given(rows)]


KEYS = ["model", "role", "collection", "split"]


def _tile(name: str, label: str, verdict: Verdict) -> Tile:
    head, basis = verdict.leading, []
    lost = verdict.effect(Contrast.ENDS, verdict.measure) if verdict.within is not None else None
    shown = lost or head
    words = f"{verdict.preference[:1].upper()}{verdict.preference[1:]}"
    if verdict.preference is Preference.UNREAD:
        words = f"Loses {unread_part(verdict)}"
    elif verdict.preference is Preference.NONE and verdict.subset == READ_WHOLE:
        words += " within what it reads"
    if verdict.within is not None:
        basis.append(f"within what it reads: {verdict.within}")
    if head is not None:
        if margin := _margin(verdict):
            basis.append(f"margin {margin} {in_words(head.unit)}")
        if head.detectable is not None:
            detects = percent(head.detectable) if head.unit == WORTH else decimal(head.detectable)
            basis.append(f"detects {detects} with 80 % power")
        basis.append(f"{count(head.queries)} queries")
    elif verdict.preference is Preference.NONE:
        words = "Scores each passage by itself"
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


VERDICTS = RowTable(
    name="verdicts",
    title="Verdicts",
    stub={
        "name": "System",
        "question": "Place in",
        "answered": "Prefers",
        "contrast": "Effect",
        "beyond": "Margin",
    },
    across=["in_unit"],
    where='question != "" and (leading or part == "verdict")',
    cells=[Value("effect")],
    notes=[_signs],
)
EFFECTS = RowTable(
    name="effects",
    title="Effects of moved evidence",
    stub={"name": "System", "contrast": "Effect", "texts": "Texts", "sample": "Queries"},
    across=["in_unit"],
    where='part == "effect"',
    cells=[Value("effect")],
    notes=[_signs],
)
PSI = RowTable(
    name="psi",
    title="Description: quality by the answer's place",
    stub={"measure": "Quality", "name": "System"},
    where='part == "quality" and axis == ""',
    cells=[
        Value("PSI", "Queries", ",", show="count"),
        Value("PSI", "PSI"),
        Value("PSI", "By chance", show="expected"),
        Value("debiased PSI", "Excess"),
        Value("PSI", "p", "p", show="p"),
        Value("PSI", "Undefined", show="reason", wide=True),
    ],
    notes=[
        "PSI = 1 − worst bucket / best bucket. By chance: its mean when positions are shuffled "
        "over queries. Excess: an estimate without the part of noise; 0 if noise explains all of "
        "it. It mixes preference with the questions' difficulty."
    ],
)
BUCKETS = RowTable(
    name="buckets",
    title="Quality by the answer's start",
    stub={"measure": "Quality", "label": "Answer starts at"},
    across=["name"],
    where='part == "quality" and axis == "position"',
    cells=[Value("mean"), Value("mean", "Queries", ",", show="count", wide=True)],
)
GAP = RowTable(
    name="rotation-gap",
    title="Description: what rotation changes",
    stub={"measure": "Quality", "name": "System"},
    where='part == "rotation"',
    cells=[
        Value("mean, original", "Queries", ",", show="count"),
        Value("mean, original", "Original"),
        Value("mean, rotated", "Rotated"),
        Value("difference, rotated", "Change", "+.3f"),
        Value("difference, rotated", "p", "p", show="p"),
        Value("difference, rotated", "Detectable", show="detectable", wide=True),
    ],
    notes=[
        "Change = rotated − original, paired by query. It mixes the answer's new place with broken "
        "sentences and truncation."
    ],
)
BY_LENGTH = RowTable(
    name="length-by-place",
    title="Length of the text and place of the evidence",
    stub={"name": "System", "length": "Length", "place": "Place"},
    where='part == "length"',
    cells=[
        Value("mean", "Lead", "+.3f"),
        Value("place", "less the start", "+.3f", group="Lead"),
        Value("length", "less the shortest", "+.3f", group="Lead"),
        Value("truncation", "by truncation", "+.3f", group="Lead"),
        Value("share not read", "Not read", ".0%"),
        Value("share cut", "Cut", ".0%", wide=True),
    ],
    notes=[
        "Lead over the query's competitors, in deviations of their scores, in texts that other "
        "passages pad to one length; intervals hold for all effects of a system together. A place "
        "that is not read is truncation, no preference; so may be one where the evidence is cut: "
        "it starts within what the system reads and ends beyond.",
    ],
)
COUNTS = RowTable(
    name="counts",
    title="What was counted",
    stub={"name": "System", "measure": "Of", "what": "What"},
    where='part == "count"',
    cells=[Value("count", "Number", ","), Value("count", "Kind", show="label")],
)


def _largest(rows: DataFrame, values: DataFrame) -> Table:
    """Return the queries with the largest effects, and a few drawn ones; ties by id [decision].
    Effects are shares of the evidence's mean worth.
    """
    own = rows[(rows["part"] == "by query") & (rows["subset"] == "")]
    heading = own["measure"].map(NAMES).fillna(own["measure"] + ", " + own["stated"])
    named = own.assign(heading=heading)[["row", "name", "heading"]]
    keys = ["item", "name", "cluster"]
    wide = values.merge(named, on="row").pivot_table("value", keys, "heading")
    headings = [one for one in heading.unique() if one != NAMES[Contrast.WORTH]]
    moved = [one for one in headings if one in NAMES.values()]
    if moved:
        worth = wide[NAMES[Contrast.WORTH]].groupby("name").transform("mean")
        wide[moved] = wide[moved].div(worth.where(worth > 0), axis=0)
    changes = wide[moved] if moved else wide[headings].diff(axis=1)
    sizes = changes.abs().max(axis=1).sort_values(ascending=False, kind="stable")
    largest = list(sizes.index[:LARGEST])
    drawn = drawn_order(sorted({key[0] for key in sizes.index}), 1, "shown queries")[:DRAWN]
    chosen = [(key, "largest") for key in largest]
    chosen += [(key, "drawn") for key in sizes.index if key[0] in drawn and key not in largest]
    body = [
        [
            *map(Cell, (*key, why)),
            *(
                number_cell(number, "+.1%" if one in moved else ".3f")
                for one, number in wide.loc[key, headings].astype(object).items()
                for number in [None if number != number else number]
            ),
        ]
        for key, why in chosen
    ]
    stub = [Column(name, numeric=False) for name in ("Query", "System", "Passage", "Chosen as")]
    note = (
        "The largest are extremes of all queries, and one query says little; those drawn are "
        "usual. Effects are shares of the evidence's mean worth."
    )
    return Table(
        "largest-effects",
        "Single queries: the largest effects, and some drawn",
        [*stub, *map(Column, headings)],
        body,
        [note],
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
QUALITY = Lines(
    name="quality-by-position",
    where='part == "quality" and axis == "position"',
    caption=lambda rows: (
        "Quality of the queries whose answer starts at each place. Bands are 95 % intervals; a "
        "line breaks where a bucket has too few queries. The first stage, on the same queries, "
        "shows some of their difficulty."
    ),
    series="name",
    below="Start of the answer: 0 first word, 1 last possible start",
    whole=False,
    free=True,
    places=2,
)
LONGER = Lines(
    name="length-by-place",
    where='part == "length" and statistic == "mean"',
    caption=lambda rows: (
        "How far the evidence stands above the query's competitors, in deviations of their scores, "
        "by its place in texts that other passages pad to one length. Bands are simultaneous 95 % "
        "intervals. The table says where the evidence is not read."
    ),
    panel=("name",),
    heading="{name}",
    series="length",
    entry="length {}",
    below="Place of the evidence: 0 start, 1 end",
    whole=False,
    zero=True,
    places=2,
)

SHOWN = Presentation(
    study="audit",
    prepare=_prepared,
    headline=_headline,
    run=_run,
    findings=_findings,
    questions=[_Verdicts()],
    sections=[
        RowSection(
            anchor="response",
            title="The same evidence at another place",
            introduction="Only the evidence moves: the words and the question stay. The verdicts "
            "rest on the effects in the table.",
            figures=[FOREST],
            tables=[VERDICTS],
            folded=[EFFECTS, COUNTS],
            by_query=[_largest],
            together=True,
        ),
        RowSection(
            anchor="length-by-place",
            title="The same evidence in longer texts",
            introduction="The evidence, with the sentences around it, stands at five places of "
            "texts padded to each length by other passages. Every length and place has the same "
            "evidence and fillers, so the effects of place, of length and of truncation are apart. "
            "No verdict rests on them.",
            figures=[LONGER],
            tables=[BY_LENGTH],
        ),
        RowSection(
            anchor="sensitivity",
            title="Description: quality by answer position, and rotation",
            introduction="Nothing is concluded from what follows: grouped by where answers start, "
            "different questions are compared; and where every passage is cut at a random word and "
            "its parts are exchanged, the answer's new place mixes with broken sentences.",
            figures=[QUALITY],
            tables=[PSI, GAP],
            folded=[BUCKETS],
        ),
    ],
    text=[VERDICTS, PSI, GAP, BY_LENGTH],
    main=("effects", "length-by-place"),
)
