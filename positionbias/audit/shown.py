"""How an audit is shown: the verdicts in sentences, tiles and a table, the effects behind them, and
the descriptions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pandas import DataFrame

from positionbias.audit.answers import (
    DEVIATIONS,
    RANKS,
    READ_WHOLE,
    SCORE,
    SIZES,
    UNITS,
    WORTH,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.measured import ANSWER, CUT, LEAD, RAW, RESPONSE, SIDES, Given, given_in
from positionbias.audit.systems import FIRST_STAGE
from positionbias.audit.verdict import TOO_LONG, queries_beyond
from positionbias.audit.words import (
    as_share,
    in_words,
    sentences_of,
    sized,
    unread_part,
    what_helps,
)
from positionbias.core.formatting import count, decimal, percent, plural
from positionbias.evaluation.described import BLIND, STANDARDISED
from positionbias.report.cells import decimal_cell, drop_empty, percent_cell, text_cell
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import Finding
from positionbias.report.row_figure import Forest, Lines, Mark
from positionbias.report.row_table import RowTable, Value
from positionbias.report.table import Cell, Column, Table
from positionbias.report.tiles import Answered, Tile

__all__ = ["SHOWN"]

UNKNOWN_LIMIT = ("no limit found", "not tried: no answer is located")
LARGEST = 20  # queries of the table of single ones
NAMES = {  # of contrasts, with the places that an effect below and above 0 prefers
    Contrast.ENDS: ("end − front", "front", "end"),
    Contrast.MIDDLE: ("middle − ends", "ends", "middle"),
    Contrast.ROTATION: ("rotation: end − front", "front", "end"),
    Contrast.RUNS: ("two runs: end − front", "front", "end"),
    Contrast.WORTH: ("worth of the evidence", "another sentence", "the evidence"),
    Contrast.TURNED: ("rotated: size of change", "", ""),
    Contrast.HALVES: ("halves exchanged: size of change", "", ""),
    Contrast.TURNED_MORE: ("rotated: relevant − irrelevant", "irrelevant", "relevant"),
    Contrast.HALVES_MORE: ("halves exchanged: relevant − irrelevant", "irrelevant", "relevant"),
    Contrast.ORDER: ("list: first to last place", "last", "first"),
    Contrast.ORDER_MIDDLE: ("list: ends to middle", "middle", "ends"),
}
PREFERS = {
    Preference.FRONT: "front",
    Preference.END: "end",
    Preference.MIDDLE: "middle",
    Preference.ENDS: "both ends",
    Preference.FIRST: "first places",
    Preference.LAST: "last places",
    Preference.NONE: "none",
    Preference.UNREACTIVE: "ignores evidence",
    Preference.UNREAD: "what it reads",
    Preference.SENSITIVE: "sensitive",
    Preference.INSENSITIVE: "insensitive",
    Preference.UNKNOWN: "cannot tell",
}
SIGNS = {  # the direction of an effect in words
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
    Contrast.TURNED: "Rotated: the mean size of a relevant passage's change, whichever way, when "
    "it is cut at a drawn word and its parts are exchanged.",
    Contrast.HALVES: "Halves exchanged: the same, when it is cut at the sentence boundary nearest "
    "to its middle.",
    Contrast.TURNED_MORE: "Rotated, relevant − irrelevant: the size less that of an irrelevant "
    "candidate of the same query.",
    Contrast.HALVES_MORE: "Halves exchanged, relevant − irrelevant: likewise.",
    Contrast.ORDER: "List: ranks lost from the list's first place to its last; above 0 the first "
    "places are preferred.",
    Contrast.ORDER_MIDDLE: "List: ranks lost from the list's ends to its middle; above 0 the ends "
    "are preferred.",
}
UNIT_NOTES = {
    WORTH: "Worth: effects are shares of what the evidence is worth to the system, its score of "
    "the passage less that with an equally long sentence of another passage in the evidence's "
    "place, averaged over queries.",
    DEVIATIONS: "Deviations: of the scores of a query's candidates.",
    RANKS: "Ranks: places gained; −2 falls two places.",
}
READ = "If a system does not read all texts to the end, effects are over those that it reads whole."
SCALES = {"relative": "share of the passage", "characters": "characters"}
KINDS = {FIRST_STAGE: "first stage", BLIND: "position-blind"}
TESTS = ("PSI", "debiased PSI", "slope", "Spearman", "Kendall")


# -- rows as tables and figures take them --------------------------------------------------------


def _prepared(rows: DataFrame) -> DataFrame:
    """Add the words of tables and figures: of systems, contrasts, units and parts. ``stated`` and
    ``own`` keep the statistic and unit of the measurement.
    """
    audited = set(rows[~rows["role"].isin(["", FIRST_STAGE, BLIND])]["model"])
    name = rows["model"].where(rows["role"] != FIRST_STAGE, rows["model"] + " (first stage)")
    name += rows["rule"].where(rows["rule"] == "", ", sentence chosen by " + rows["rule"])
    tests = rows["collection"] + ", " + rows["split"]
    if tests.nunique() > 1:
        name += " on " + tests
    made = rows.assign(
        stated=rows["statistic"],
        own=rows["unit"],
        name=name,
        several=name[rows["model"].isin(audited)].nunique() > 1,
        part=[_part(row, audited) for row in rows.itertuples()],
        sample=rows["count"].map(count),
        texts=rows["subset"].where(rows["subset"] != "", "all"),
        kind=rows["role"].map(KINDS).fillna("audited"),
        scale_name=rows["scale"].map(SCALES).fillna(rows["scale"]),
    )
    return _effects(_descriptions(made), given_in(rows))


def _part(row: Any, audited: Collection[str]) -> str:
    """Return the part of an audit to which a row belongs; a position-blind scorer is no control of
    itself.
    """
    if row.statistic == RAW:
        return "by query"
    for question, contrasts in SIDES.items():
        if row.measure in contrasts:
            return "effect"
        if row.measure == question:
            return "verdict"
    if row.scale:
        measure = row.measure.partition(" ")[0]
        if row.role == BLIND:
            return "itself" if row.model in audited else "blind"
        kinds = {"gain": "gain", "moved": "movement", "rotation": "rotation"}
        return kinds.get(measure if measure == "gain" else row.scale, "quality")
    if row.measure == LEAD and not (row.axis or row.length):
        return "count"
    known = {RESPONSE: "response", LEAD: "length", "cosine": "thirds"}
    by_query = row.statistic in ("as it is", "rotated once", "place", "words of the passage")
    return known.get(row.measure, "by query" if by_query else "count")


def _effects(rows: DataFrame, every: Sequence[Given]) -> DataFrame:
    """Add to verdicts and effects what their tables show beside them."""
    columns: dict[str, list[Any]] = {
        name: [""] * len(rows)
        for name in (
            "question",
            "contrast",
            "in_unit",
            "in_words",
            "answered",
            "beyond",
            "queries",
            "panel",
        )
    }
    columns |= {name: [False] * len(rows) for name in ("deciding", "leading", "plain")}
    columns |= {"form": list(rows["form"]), "margin": list(rows["margin"])}
    columns |= {name: list(rows[name]) for name in ("statistic", "unit")}
    known = {(*one.place, one.verdict.question): one.verdict for one in every}
    for at, row in enumerate(rows.itertuples()):
        if row.part not in ("effect", "verdict"):
            continue
        question = next(q for q, sides in SIDES.items() if row.measure in (*sides, q))
        verdict = known.get((row.model, row.role, row.collection, row.split, question))
        if verdict is None or (row.part == "verdict" and row.statistic != ANSWER):
            continue
        head = verdict.leading
        if question is Question.LIST and head is None:  # the sentence says it all
            continue
        named = Contrast(row.measure) if row.part == "effect" else head and head.contrast
        cells: dict[str, Any] = {
            "question": str(question),
            "contrast": NAMES[named][0] if named else "",
            "answered": _prefers(verdict),
            "beyond": _beside_margin(verdict),
            "queries": count((head.queries if head else verdict.queries) or None),
        }
        if row.part == "effect":
            contrast = Contrast(row.measure)
            decides = row.subset == verdict.subset
            in_own_unit = head is not None and head.unit == row.unit and _has_margin(head)
            cells |= {
                "in_unit": row.unit.capitalize() if row.unit in UNITS else row.unit,
                "in_words": in_words(row.unit),
                "deciding": decides,
                "leading": decides and head is not None and head.contrast == contrast,
                "plain": row.unit == _plain_unit(verdict, contrast),
                "panel": _panel(contrast, row.unit),
                "form": _form(row.unit, contrast),
                "statistic": "effect",
                "unit": "share" if row.unit == WORTH else row.unit,
                "margin": verdict.margin if in_own_unit else None,
            }
        for name, cell in cells.items():
            columns[name][at] = cell
    return rows.assign(**columns).astype({"margin": "float64"})


def _descriptions(rows: DataFrame) -> DataFrame:
    """Add which measure and passages figures describe, and the forms of counts."""
    described = rows[(rows["part"] == "quality") & (rows["statistic"] == "PSI")]
    measures = list(described["measure"].unique())
    main = "nDCG@10" if "nDCG@10" in measures or not measures else measures[0]
    group = STANDARDISED if STANDARDISED in set(described["subset"]) else ""
    counted, gap = rows["part"] == "count", (rows["part"] == "rotation") & (rows["test"] != "")
    forms = (rows["value"].isna() | (rows["value"] % 1 == 0)).map({True: ",", False: ".3f"})
    statistic = rows["statistic"].where(~gap, rows["statistic"] + ", " + rows["test"])
    return rows.assign(
        main=rows["measure"] == main,
        described=rows["subset"] == group,
        within=~rows["subset"].isin(["", STANDARDISED]),
        what=rows["statistic"],
        form=forms.where(counted, ""),
        statistic=statistic.where(~counted, "count"),
        place=rows["label"].replace({"0.00": "start", "1.00": "end"}),
    )


def _has_margin(head: Effect) -> bool:
    return head.contrast is not Contrast.WORTH


def _margin(verdict: Verdict, head: Effect) -> str:
    margin = verdict.margin or 0.0
    return f"±{as_share(margin) if head.unit == WORTH else f'{margin:g}'}"


def _beside_margin(verdict: Verdict) -> str:
    """Return the margin of a verdict, and whether its effect lies beyond it."""
    head = verdict.leading
    if head is None or verdict.margin is None or not _has_margin(head):
        return ""
    beyond = {True: "beyond ", False: "perhaps within ", None: ""}[verdict.exceeds]
    return f"{beyond}{_margin(verdict, head)}"


def _form(unit: str, contrast: Contrast) -> str:
    form = {WORTH: ".1%", RANKS: ".1f"}.get(unit, ".3f")
    return form if contrast in SIZES else f"+{form}"


def _plain_unit(verdict: Verdict, contrast: Contrast) -> str:
    """Return the unit in which figures show a contrast: ranks for the list, else shares of the
    worth or deviations if there are any, else the measure.
    """
    units = [effect.unit for effect in verdict.effects if effect.contrast == contrast]
    first = (RANKS,) if contrast is Contrast.ORDER else (WORTH, DEVIATIONS)
    order = (*first, *(unit for unit in units if unit not in UNITS), RANKS, SCORE)
    return next((unit for unit in order if unit in units), "")


def _panel(contrast: Contrast, unit: str) -> str:
    name, below, above = NAMES[contrast]
    sides = f"\n← {below} | {above} →" if below else ""
    return f"{name[:1].upper()}{name[1:]}, {'share of worth' if unit == WORTH else unit}{sides}"


def _prefers(verdict: Verdict) -> str:
    within = f" (within it: {PREFERS[verdict.within]})" if verdict.within is not None else ""
    return f"{PREFERS[verdict.preference]}{within}"


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
    every, found = _given(rows), []
    several = len({one.system for one in every}) > 1
    for one in every:
        first, *more = sentences_of(one.system, one.verdict)
        sentences = more if _decides(one) else [first]
        holds = {Answered.YES: True, Answered.NO: False}.get(_answer(one.verdict))
        text = " ".join(sentences)
        if several and _decides(one):
            text = f"{one.system}: {text}"
        if sentences:
            found.append(Finding(text, holds))
    return found


def _run(rows: DataFrame) -> list[str]:
    """Return how many queries were audited, or that nothing was asked for."""
    counts = rows[(rows["measure"] == "evidence") & (rows["role"] == "")]
    queries = counts[counts["what"] == "queries audited"]["value"]
    told = [f"{plural(int(number), 'query')} audited." for number in queries]
    limits = rows[(rows["measure"] == LEAD) & (rows["what"] == CUT)]
    told += [
        f"{row.model}: its length limit is not known: a place that is not read looks like one that "
        "it dislikes (--reads N gives the limit)."
        for row in limits[limits["label"].isin(UNKNOWN_LIMIT)].itertuples()
    ]
    if rows["part"].isin(["count", "by query"]).all():
        told.append("No verdict was asked for (--needles 0), and no description (--describe).")
    return told


# -- tiles ---------------------------------------------------------------------------------------

QUESTIONS = {
    Question.PASSAGE: "Does the place of the evidence in its passage matter?",
    Question.TEXT: "Does the order of a passage's text matter?",
    Question.LIST: "Does the order of the candidates matter?",
}
_STEPS = ("To find out: ", "Audit ", "Accept ")  # begin a verdict's sentence on the next step
_NONE = (Preference.NONE, Preference.INSENSITIVE)
_OPEN = (Preference.UNKNOWN, Preference.UNREACTIVE)


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """The tiles of an audit: question, answer, deciding effect, margin and power, next step."""

    def tiles(self, rows: DataFrame) -> list[Tile]:
        """Return a tile for each verdict."""
        keys = ["model", "role", "collection", "split"]
        named = rows.drop_duplicates(keys).set_index(keys)["name"]
        return [_tile(one.system, named[one.place], one.verdict) for one in _given(rows)]


def _tile(name: str, label: str, verdict: Verdict) -> Tile:
    first, answer = verdict.leading, _answer(verdict)
    lost = verdict.effect(Contrast.ENDS, verdict.measure) if verdict.within is not None else None
    shown = lost or first
    # a change has no side
    welcome = None if verdict.preference is Preference.SENSITIVE else answer is Answered.NO
    effect = ""
    if shown is not None and shown.value is not None:
        effect = f"{sized(shown, sign=shown.contrast not in SIZES)} {in_words(shown.unit)}"
    return Tile(
        question=QUESTIONS[verdict.question],
        subject=label,
        answer=answer,
        words=_words(verdict),
        welcome=welcome,
        effect=effect,
        basis=_basis(verdict),
        advice=_advice(name, verdict),
        measure=verdict.measure or name,
    )


def _answer(verdict: Verdict) -> Answered:
    if verdict.preference in _OPEN:
        return Answered.UNKNOWN
    return Answered.NO if verdict.preference in _NONE else Answered.YES


def _words(verdict: Verdict) -> str:
    if verdict.preference is Preference.UNREAD:
        return f"Loses {unread_part(verdict)}"
    none = verdict.preference is Preference.NONE
    if verdict.question is Question.LIST and none and not verdict.effects:
        return "Scores each passage by itself"
    where = " within what it reads" if none and verdict.subset == READ_WHOLE else ""
    return f"{verdict.preference[:1].upper()}{verdict.preference[1:]}{where}"


def _basis(verdict: Verdict) -> list[str]:
    """Return the margin, the power, the queries, and what the system does not read."""
    first, parts = verdict.leading, []
    if verdict.within is not None:
        parts.append(f"within what it reads: {verdict.within}")
    if first is not None and verdict.margin is not None and _has_margin(first):
        beyond = {True: ", beyond it", False: ", perhaps within it", None: ""}[verdict.exceeds]
        parts.append(f"margin {_margin(verdict, first)} {in_words(first.unit)}{beyond}")
    if first is not None and first.detectable is not None:
        form = percent if first.unit == WORTH else decimal
        unit = {WORTH: 1, RANKS: 1}.get(first.unit, 3)
        parts.append(f"detects {form(first.detectable, unit)} with 80 % power")
    if first is not None and first.queries:
        parts.append(f"{count(first.queries)} queries")
    if verdict.unread:
        share = percent(verdict.unread)
        parts.append(f"{share} of queries have texts that it does not read to the end")
    return parts


def _advice(name: str, verdict: Verdict) -> str:
    """Return the next step."""
    if verdict.preference is Preference.UNREAD:
        return (
            f"Let {name} read further, or give it shorter passages: it loses what stands beyond "
            "its limit."
        )
    if verdict.preference in _NONE:
        return ""
    if verdict.preference in _OPEN:
        if verdict.wanted:
            return (
                f"Audit {name} on more queries: about {count(verdict.wanted)} would decide "
                "(--queries, --needles)."
            )
        if verdict.reason == TOO_LONG:
            return f"Audit {name} on shorter passages, or let it read further."
        sentences = sentences_of(name, verdict)
        return next((sentence for sentence in sentences if sentence.startswith(_STEPS)), "")
    if verdict.question is Question.LIST:
        return (
            f"Shuffle the candidates before {name} re-ranks them, or average over several orders, "
            "and audit again."
        )
    if verdict.question is Question.TEXT:
        return f"Audit {name} on queries with known answers: they show which place it prefers."
    if verdict.exceeds:
        return f"{name}: {what_helps(verdict.preference)}"
    first, margin = verdict.leading, verdict.margin or 0.0
    wanted = queries_beyond(first, margin, verdict.drawn) if first is not None else None
    more = f": about {count(wanted)} queries would show it (--queries, --needles)" if wanted else ""
    return f"The preference of {name} may be too small to matter{more}."


# -- tables --------------------------------------------------------------------------------------


def _signs(rows: DataFrame) -> str:
    """Explain the contrasts and units of these effects."""
    effects = rows[rows["part"] == "effect"]
    contrasts = [SIGNS[one] for one in Contrast if (effects["measure"] == one).any()]
    units = [text for unit, text in UNIT_NOTES.items() if (effects["own"] == unit).any()]
    read = [READ] if (effects["subset"] == READ_WHOLE).any() else []
    return "\n".join([*contrasts, *units, *read])


def _verdict_table(name: str, question: Question) -> RowTable:
    return RowTable(
        name=name,
        title=f"Verdicts: {question}",
        stub={
            "name": "System",
            "answered": "Answer" if question is Question.TEXT else "Prefers",
            "contrast": "Effect",
            "queries": "Queries",
            "beyond": "Margin",
        },
        across=["in_unit"],
        where=f'question == "{question}" and (leading or part == "verdict")',
        cells=[Value("effect")],
        notes=[_signs],
    )


def _effects_table(name: str, title: str, where: str) -> RowTable:
    return RowTable(
        name=name,
        title=title,
        stub={"name": "System", "contrast": "Effect", "texts": "Texts", "sample": "Queries"},
        across=["in_unit"],
        where=f'part == "effect" and {where}',
        cells=[Value("effect")],
        notes=[_signs],
    )


VERDICTS = [
    _verdict_table("verdicts", Question.PASSAGE),
    _verdict_table("verdicts-text", Question.TEXT),
    _verdict_table("verdicts-list", Question.LIST),
]
EFFECTS = _effects_table("effects", "Effects of moved evidence", f'question != "{Question.TEXT}"')
TEXT_EFFECTS = _effects_table(
    "effects-text", "Changes by another order of the text", f'question == "{Question.TEXT}"'
)
PSI_NOTE = (
    "PSI = 1 − worst bucket / best bucket. By chance: its mean when positions are shuffled over "
    "queries. Debiased: an estimate without the part of noise; 0 if noise explains all of it. "
    "Slope of the quality of queries on the places of their answers, Spearman and Kendall of the "
    "buckets' means: below 0, quality falls towards the end. All mix preference with the "
    "questions' difficulty."
)


def _sensitivity(name: str, title: str, where: str) -> RowTable:
    return RowTable(
        name=name,
        title=title,
        stub={
            "measure": "Quality",
            "scale_name": "Positions by",
            "texts": "Passages",
            "name": "System",
        },
        where=f'part == "quality" and statistic in {TESTS} and {where}',
        cells=[
            Value("PSI", "Queries", ",", show="count"),
            Value("PSI", "PSI"),
            Value("PSI", "By chance", show="expected"),
            Value("debiased PSI", "Debiased"),
            Value("PSI", "p", "p", show="p"),
            Value("slope", "Slope", "+.3f"),
            Value("slope", "p of the slope", "p", show="p", wide=True),
            Value("Spearman", "Spearman", "+.3f", wide=True),
            Value("Kendall", "Kendall", "+.3f", wide=True),
            Value("PSI", "Undefined", show="reason", wide=True),
        ],
        notes=[PSI_NOTE],
    )


SENSITIVITY = _sensitivity(
    "psi", "Description: sensitivity to position", 'main and described and scale == "relative"'
)
EVERY_SENSITIVITY = _sensitivity("psi-all", "All qualities, scales and lengths", "label == label")
BLIND_SLOPES = RowTable(
    name="blind",
    title="Description: slopes beside position-blind scorers",
    stub={"kind": "Kind", "name": "Ranking"},
    where='part in ("quality", "blind") and statistic == "slope" and main and described and '
    'scale == "relative"',
    cells=[Value("slope", "Slope", "+.3f")],
    notes=[
        "Position-blind scorers rank the same candidates and ignore the order of words, so the "
        "questions alone cause their slopes. A slope beyond all of their intervals is unusual: "
        "rotate to find out."
    ],
)
BUCKETS = RowTable(
    name="buckets",
    title="Quality by the answer's start",
    stub={"measure": "Quality", "texts": "Passages", "label": "Answer starts at"},
    across=["name"],
    where='part in ("quality", "gain") and axis == "position"',
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
        Value("rotations", "Rotations", ",", wide=True),
        Value("top passage changed", "Top passage changed", ".1%", wide=True),
        Value("rank-biased overlap", "Rank-biased overlap", wide=True),
        Value("answers cut", "Answers cut", ".1%", wide=True),
        Value("answers truncated", "Answers truncated", ".1%", wide=True),
    ],
    notes=[
        "Change = rotated − original, paired by query. It mixes the answer's new place with broken "
        "sentences and truncation."
    ],
)
MOVEMENT = RowTable(
    name="gap-by-movement",
    title="Change by how far the answer moved (below 0: to the front)",
    stub={"label": "Moved by"},
    across=["name"],
    where='part == "movement" and axis == "position"',
    cells=[Value("mean", form="+.3f"), Value("mean", "Queries", ",", show="count", wide=True)],
)
SLOPE = RowTable(
    name="position-response",
    title="Description: response by place, first to last",
    stub={"name": "System"},
    where='part == "response" and axis == ""',
    cells=[
        Value("slope", "Queries", ",", show="count"),
        Value("slope", "Last − first place", "+.3f"),
        Value("slope", "p", "p", show="p"),
        Value("slope of ranks", "Reciprocal rank, last − first", "+.3f", wide=True),
    ],
    notes=[
        "The slope of the score from the first place to the last, the other sentences in their "
        "order; in mean deviations of a query's candidate scores. Below 0: higher at the front."
    ],
)
PLACES = RowTable(
    name="position-response-places",
    title="Score and rank by place",
    stub={"name": "System", "label": "Place"},
    where='part == "response" and axis == "place"',
    cells=[
        Value("score", "Queries", ",", show="count"),
        Value("score", "Score", "+.3f"),
        Value("reciprocal rank", "Reciprocal rank"),
    ],
    notes=[
        "Place 0: the answering sentence is the passage's first, 1: its last; the other sentences "
        "keep their order. Scores less each query's own mean, in mean deviations of its "
        "candidates' scores."
    ],
)
THIRDS = RowTable(
    name="segments",
    title="Description: cosine of a passage's vector with those of its thirds",
    stub={"name": "System", "label": "Part"},
    where='part == "thirds" and axis == "part"',
    cells=[Value("mean", "Cosine"), Value("mean", "Passages", ",", show="count")],
    notes=["A vector to which all parts add alike is equally close to each."],
)


LENGTHS = RowTable(
    name="length-by-place",
    title="Length of the text and place of the evidence",
    stub={"name": "System", "length": "Length", "place": "Place"},
    where='part == "length" and axis == "place"',
    cells=[
        Value("mean", "Lead", "+.3f"),
        Value("place", "less the start", "+.3f", group="Lead"),
        Value("length", "less the shortest", "+.3f", group="Lead"),
        Value("truncation", "by truncation", "+.3f", group="Lead"),
        Value("rank", "Rank", ".2f", wide=True),
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
    """Return the queries with the largest effects, each beside its system; ties by id [decision].
    Effects are shares of the evidence's mean worth, or of mean deviations.
    """
    own = rows[(rows["part"] == "by query") & (rows["subset"] == "")]
    columns = {
        "Place": ("evidence", "place", ".0%"),
        "Words": ("evidence", "words of the passage", ","),
    }
    quality = next(iter(own[own["stated"] == "as it is"]["measure"]), "")
    for measure in (quality, "rank"):
        form = "," if measure == "rank" else ".3f"
        columns |= {
            f"{measure}, {statistic}": (measure, statistic, form)
            for statistic in ("as it is", "rotated once")
        }
    moved = [one for one in Contrast if one is not Contrast.WORTH and (own["measure"] == one).any()]
    lines = []
    for name, of_system in own.groupby("name", sort=False):
        numbers = {(row.measure, row.stated): row.row for row in of_system.itertuples()}
        by_query = {
            key: values[values["row"] == number].set_index("item")
            for key, number in numbers.items()
        }
        found = {
            heading: by_query[key[:2]]["value"].to_dict()
            for heading, key in columns.items()
            if key[:2] in by_query
        }
        unit = next(
            (
                by_query[measure, RAW]["value"].mean()
                for measure in (Contrast.WORTH, DEVIATIONS)
                if (measure, RAW) in by_query
            ),
            0.0,
        )
        for contrast in moved if unit > 0 else ():
            if (contrast, RAW) in by_query:
                found[NAMES[contrast][0]] = (by_query[contrast, RAW]["value"] / unit).to_dict()
        passages = by_query.get((quality, "as it is"))
        for query_id in {item: None for column in found.values() for item in column}:
            cells = {heading: column.get(query_id) for heading, column in found.items()}
            before, after = (
                cells.get(f"{quality}, {what}") for what in ("as it is", "rotated once")
            )
            change = None if before is None or after is None else after - before
            sizes = [abs(cells.get(NAMES[one][0]) or 0.0) for one in moved]
            passage = "" if passages is None else passages["cluster"].get(query_id, "")
            lines.append(
                ((-abs(change or 0.0), -max(sizes, default=0.0), query_id), name, passage, cells)
            )
    lines.sort(key=lambda line: line[0])
    headings = [*columns, *(NAMES[one][0] for one in moved)]
    body = [
        [
            text_cell(key[-1]),
            text_cell(str(name)),
            text_cell(passage),
            *(
                _cell(cells.get(heading), columns.get(heading, ("", "", "+.1%"))[2])
                for heading in headings
            ),
        ]
        for key, name, passage, cells in lines[:LARGEST]
    ]
    made = [Column(name, numeric=False) for name in ("Query", "System", "Passage")]
    made += [Column(heading) for heading in headings]
    drop_empty(made, body, first=3)
    note = (
        "These are extremes of all queries; one query says little. Place: where the answer starts, "
        "from the first word (0 %) to the last one at which it could start (100 %). Effects are "
        "shares of the evidence's mean worth, or of the mean deviation of candidates' scores."
    )
    return Table("largest-effects", "The largest effects by query", made, body, [note])


def _cell(value: float | None, form: str) -> Cell:
    if value is None:
        return decimal_cell(None)
    if form == ",":
        return Cell(count(value), int(value))
    if form.endswith("%"):
        return percent_cell(value, sign=form.startswith("+"))
    return decimal_cell(value)


# -- figures -------------------------------------------------------------------------------------

DRAWN = 'part == "effect" and plain and deciding'
COMPARED = Forest(
    name="compared",
    where=f"{DRAWN} and several",
    caption=lambda rows: (
        "The effects of moved evidence with their 95 % intervals; arrows say which place an effect "
        "on that side prefers. Grey: the margin, the smallest effect of interest."
    ),
    panel=("panel",),
    heading="{panel}",
    series="name",
    line=["name"],
    name_of="{name}",
    marks=[Mark(where="deciding", label="effect with its 95 % interval")],
    same="x",
    most=2,
)
ALONE = Forest(
    name="effects",
    where='part == "effect" and plain and not several',
    caption=lambda rows: (
        "The effects of moved evidence with their 95 % intervals: below 0 the place named second "
        "is preferred, above 0 the first. Grey: the margin, the smallest effect of interest."
    ),
    panel=("in_words",),
    heading="{in_words}",
    series="name",
    line=["contrast"],
    name_of="{contrast}",
    marks=[
        Mark(where="deciding", label="effect with its 95 % interval"),
        Mark(where="not deciding", label="over all texts", full=False, lower=0.25),
    ],
)
RESPONSES = Lines(
    name="position-response",
    where='part == "response" and axis == "place"',
    caption=lambda rows: (
        "The evidence sentence moves through its passage; the other sentences keep their order. "
        "Score: less each query's own mean, in mean deviations of its candidates' scores; bands "
        "are 95 % intervals. A system without a preference has a level line."
    ),
    panel=("statistic",),
    heading="{statistic}",
    series="name",
    below="Place of the answering sentence: 0 first, 1 last",
    tall=2.1,
    side="",
    whole=False,
    free=True,
    places=2,
    same="y",
)


def _quality_caption(rows: DataFrame) -> str:
    alike = ", as if all buckets had passages of the same lengths" * bool(
        (rows["subset"] == STANDARDISED).any()
    )
    return (
        f"Quality of the queries whose answer starts at each place{alike}. Bands are 95 % "
        "intervals; a line breaks where a bucket has too few queries."
        + " The first stage, on the same queries, shows some of their difficulty."
        * bool((rows["role"] == FIRST_STAGE).any())
    )


QUALITY = Lines(
    name="quality-by-position",
    where='part == "quality" and axis == "position" and main and described and scale == "relative"',
    caption=_quality_caption,
    panel=("measure",),
    heading="{measure}",
    series="name",
    below="Start of the answer: 0 first word, 1 last possible start",
    whole=False,
    free=True,
    places=2,
    same="y",
)
WITHIN = Lines(
    name="quality-within-lengths",
    where='part == "quality" and axis == "position" and main and within and scale == "relative"',
    caption=lambda rows: (
        "Quality by where the answer starts, among passages of similar length, so that length does "
        "not pass for position."
    ),
    panel=("subset",),
    heading="{subset}",
    series="name",
    below=QUALITY.below,
    whole=False,
    free=True,
    places=2,
)
GAINS = Lines(
    name="gain-by-position",
    where='part == "gain" and axis == "position"',
    caption=lambda rows: (
        "What a system adds to the first stage on the same queries, by where the answer starts. "
        "Easier questions may still be easier by more for one of the two."
    ),
    panel=("measure",),
    heading="{measure}",
    series="name",
    below=QUALITY.below,
    whole=False,
    zero=True,
    places=2,
)
MOVED = Lines(
    name="rotation-gap-by-movement",
    where='part == "movement" and axis == "position"',
    caption=lambda rows: (
        "Change from the original to the rotated passages, by how far the rotation moved the "
        "answer: +0.5 is half a passage towards the end. A rotation that hardly moves the answer "
        "cuts near the passage's edge, so the middle of the figure is no control."
    ),
    panel=("measure",),
    heading="{measure}",
    series="name",
    below="Movement of the answer: below 0 to the front, above 0 to the back",
    whole=False,
    zero=True,
    left=-1.0,
    places=2,
    same="y",
)
LONGER = Lines(
    name="length-by-place",
    where='part == "length" and axis == "place" and statistic == "mean"',
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
            "rest on the effects in the table. The curve shows the places between, with the other "
            "sentences in their own order; nothing is concluded from it. No answer of some queries "
            "may be known: then a change has no side, and its size may come from the place of the "
            "evidence, from text broken at the cut, or from the order of words.",
            figures=[COMPARED, ALONE, RESPONSES],
            tables=VERDICTS,
            folded=[EFFECTS, TEXT_EFFECTS, SLOPE, PLACES, COUNTS],
            by_query=[_largest],
            joint=True,
        ),
        RowSection(
            anchor="length-by-place",
            title="The same evidence in longer texts",
            introduction="The evidence, with the sentences around it, stands at five places of "
            "texts padded to each length by other passages. Every length and place has the same "
            "evidence and fillers, so the effects of place, of length and of truncation are apart. "
            "No verdict rests on them.",
            figures=[LONGER],
            tables=[LENGTHS],
        ),
        RowSection(
            anchor="sensitivity",
            title="Description: quality by answer position",
            introduction="Nothing is concluded from what follows: it groups different questions, "
            "so it mixes a system's preference with the questions' difficulty. The first stage, on "
            "the same queries, shows some of that difficulty.",
            figures=[QUALITY, WITHIN, GAINS],
            tables=[SENSITIVITY, BLIND_SLOPES],
            folded=[EVERY_SENSITIVITY, BUCKETS],
        ),
        RowSection(
            anchor="rotation-gap",
            title="Description: rotating the whole collection",
            introduction="Every passage is cut at a random word and its two parts are exchanged. "
            "Every query is compared with itself, but the change mixes the answer's new place with "
            "broken sentences and truncation.",
            figures=[MOVED],
            tables=[GAP],
            folded=[MOVEMENT],
        ),
        RowSection(
            anchor="segments",
            title="Description: parts of a passage in its vector",
            introduction="",
            tables=[THIRDS],
        ),
    ],
    text=[*VERDICTS, SENSITIVITY, BLIND_SLOPES, GAP, SLOPE, LENGTHS, THIRDS],
    main=("compared", "position-response", "effects"),
)
