"""Pairs of training and test queries as text: found, drawn, reviewed, calibrated, removed; training
sets with leaked queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from positionbias.core.formatting import NBSP
from positionbias.core.interval import Interval
from positionbias.leakage.find import FoundPair
from positionbias.leakage.surest import score_of
from positionbias.report.cells import text_cell
from positionbias.report.table import Cell, Column, Table, aligned, as_text
from positionbias.results.figures import Figures
from positionbias.results.leakage import DrawnSet
from positionbias.results.leakage_pairs import (
    CANDIDATES,
    LIKE_FOR_LIKE,
    PAPER,
    PRECISION_AT,
    PREVALENCE,
    PUBLISHED,
    WORDS_ALONE,
    CandidateCounts,
    KappaFigures,
    LabelCounts,
    LeakShare,
    ReviewFigures,
    SampleFigures,
    ThresholdFigures,
    TruthFigures,
)
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = [
    "found_text",
    "calibration_text",
    "calibration_verdict",
    "candidates_text",
    "candidates_verdict",
    "leaked_text",
    "review_text",
    "sample_text",
]

LONGEST = 120  # characters of a query that are shown


def candidates_text(results: Sequence[Result], first: Sequence[Table] = ()) -> str:
    """Return the test queries with a candidate by meaning, and by words alone, with both tables
    behind the ``first``, and the known truth found.
    """
    ways = {CANDIDATES: "by meaning", WORDS_ALONE: "by words alone"}
    tables = [
        *map(as_text, first),
        *(
            _candidates_table(result.collection, counts, ways[result.measure])
            for result, counts in of_type(results, CandidateCounts)
            if result.measure in ways
        ),
    ]
    against = [
        line for _, figures in of_type(results, TruthFigures) for line in _truth_lines(figures)
    ]
    return "\n".join(
        [*candidates_verdict(results), "", "\n\n".join(tables), *against]
    ) + _published_text(results)


def found_text(
    results: Sequence[Result], surest: Sequence[FoundPair], pairs: int, place: str
) -> str:
    """Return ``candidates_text`` with the surest pairs and their texts behind its sentences."""
    return candidates_text(results, [_pairs_table(surest, pairs, place)] if surest else [])


def _pairs_table(surest: Sequence[FoundPair], pairs: int, place: str) -> Table:
    """Return two rows a pair, so that its texts stand one below the other."""
    columns = [Column(name, numeric=False) for name in ("Score", "Query", "Id", "Text")]
    rows = []
    for pair in surest:
        name, score = score_of(pair)
        sides = (
            (f"{name}\u00a0{score:.3f}", "training", pair.train_id, pair.train_text),
            ("", "test", pair.test_id, pair.test_text),
        )
        for *named, text in sides:
            rows.append(
                [*map(text_cell, named), text_cell(shorten(text, LONGEST, placeholder=" …"))]
            )
    notes = [f"{pairs - len(surest):,} more in {place}."] if pairs > len(surest) else []
    return Table("surest", "The surest pairs", columns, rows, notes)


def candidates_verdict(results: Sequence[Result]) -> list[str]:
    """Return how many test queries have a candidate by meaning, and by words alone, in a sentence
    each.
    """
    have = {
        CANDIDATES: "near-duplicate training queries by meaning.",
        WORDS_ALONE: (
            "candidates found by words alone: precision unknown; label them (posbias leakage "
            "review)."
        ),
    }
    return [
        f"{round((result.value or 0.0) * result.count):,} of {result.count:,} test queries "
        f"({result.value or 0.0:.1%}) have {have[result.measure]}"
        for result, _ in of_type(results, CandidateCounts)
        if result.measure in have
    ]


def _candidates_table(collection: str, counts: CandidateCounts, how: str) -> str:
    """Return Table 1 of one detector."""
    columns = list(next(iter(counts.rows.values())))
    table = Table(
        "leakage_candidates",
        f"Test queries of {collection} with training queries alike {how}, and how many these are",
        [
            Column("Field", numeric=False),
            *(Column(name, group=column) for column in columns for name in ("Topics", "Queries")),
        ],
        [
            [
                Cell(field.capitalize()),
                *(
                    Cell(f"{count:,}")
                    for column in columns
                    for count in (of[column].topics, of[column].queries)
                ),
            ]
            for field, of in counts.rows.items()
        ],
    )
    return as_text(table)


def _truth_lines(figures: TruthFigures) -> list[str]:
    """Return how much of the truth was found; the first row is of all types."""
    everything = next(iter(figures.rows.values()))
    right = f"{everything.found:,} of {everything.pairs_found:,}"
    precision = "" if everything.precision is None else f" (precision {everything.precision:.3f})"
    lines = [
        "",
        (
            f"Against the truth: {right} pairs found are true{precision}; of the true pairs were "
            "found:"
        ),
    ]
    return lines + [
        f"  {name}: {of.found:,} of {of.true:,} (recall {of.recall:.3f})"
        for name, of in figures.rows.items()
    ]


def _published_text(results: Sequence[Result]) -> str:
    """Return the published results as lines; empty where there are none."""
    parts = []
    for result, figures in of_type(results, Figures):
        if result.measure.endswith((LIKE_FOR_LIKE, PUBLISHED)):
            lines = [
                (name, *(f"{of} {count}" for of, count in _flat(value)))
                for name, value in figures.to_rows().items()
            ]
            parts.append(f"{result.measure}, {result.system}:\n{aligned(lines)}")
    head = f"{PAPER}, whose threshold is a cosine of 0.91 by paraphrase-MiniLM-L6-v2"
    return "\n\n".join(["", head, *parts]) if parts else ""


def _flat(value: Any) -> list[tuple[str, str]]:
    """Return counts under names, of one or two levels."""
    if not isinstance(value, Mapping):
        return [("", f"{value:,}")]
    return [
        (f"{name} {inner}".strip(), count)
        for name, of in value.items()
        for inner, count in _flat(of)
    ]


def sample_text(results: Sequence[Result]) -> str:
    """Return how many pairs there are in each stratum, and how many were drawn."""
    ((_, sample),) = of_type(results, SampleFigures)
    strata = [name.removesuffix(" pairs") for name in sample.rows if name.endswith(" pairs")]
    lines = [(name, sample.rows[f"{name} pairs"], sample.rows[f"{name} drawn"]) for name in strata]
    return aligned([(sample.score, "pairs", "drawn"), *lines])


def review_text(results: Sequence[Result]) -> str:
    """Return people's judgements of pairs, how far two of them agree, and the targets that the
    paper prints.
    """
    ((_, reviewed),) = of_type(results, ReviewFigures)
    labels = of_type(results, LabelCounts)[0][1]
    held = {"true": reviewed.true, "false": reviewed.false}
    table_2a = [(name, f"{of.pairs:,}", f"{of.test_queries:,}") for name, of in held.items()]
    lines = [
        aligned([("candidates", "pairs", "test queries"), *table_2a]),
        "",
        aligned(
            [("label", "pairs"), *((name, f"{count:,}") for name, count in labels.rows.items())]
        ),
        "",
    ]
    if reviewed.disagreed:
        lines.append(
            f"{reviewed.disagreed:,} pairs are in neither table, as the two sheets give them "
            "different labels: settle them in both"
        )
    lines += [f"{reviewed.without_label:,} pairs have no label"] if reviewed.without_label else []
    for result, _ in of_type(results, KappaFigures):
        value = (
            "undefined (one same label throughout)"
            if result.value is None
            else f"{result.value:.2f}"
        )
        lines.append(
            f"{result.measure}: {value}{_bounds(result.interval, '.2f')}, over {result.count:,} "
            "pairs that both labelled"
        )
    return "\n".join(lines).rstrip() + _published_text(results)


def calibration_text(results: Sequence[Result]) -> str:
    """Return each score's threshold and its certainty, the table, and the prevalence."""
    thresholds = of_type(results, ThresholdFigures)
    intervals = {result.system: result.interval for result, _ in thresholds}
    (prevalence, everything), *_ = shares = of_type(results, LeakShare)
    rows = [("score", "threshold", "pairs", "precision", "of labelled leaks")]
    for result, at in shares:
        if result.measure != PREVALENCE:
            bounds = (
                _bounds(intervals[result.system]) if result.measure == PRECISION_AT else " (given)"
            )
            threshold = "none" if at.threshold is None else f"{_down(at.threshold)}{bounds}"
            kept = f"{at.leaks:,} of {everything.leaks:,}"
            rows.append((result.system, threshold, f"{result.count:,}", _share(result), kept))
    head = (
        f"{prevalence.count:,} labelled pairs, {everything.leaks:,} of them leaks: prevalence "
        f"{_share(prevalence)}"
    )
    return "\n".join([*calibration_verdict(results), "", aligned(rows), "", head, ""])


def calibration_verdict(results: Sequence[Result]) -> list[str]:
    """Return each score's threshold in a sentence."""
    return [_answer(result, figures) for result, figures in of_type(results, ThresholdFigures)]


def _down(threshold: float) -> str:
    """Round a threshold down to four digits, so that it still keeps the pair whose score it is."""
    return f"{math.floor(threshold * 1e4) / 1e4:.4f}"


def _answer(result: Result, of: ThresholdFigures) -> str:
    """Return a score's threshold in a sentence, with what to expect of it on other test queries."""
    wanted, paper, held = of.precision_wanted, of.rule == "paper", of.held_out
    if result.value is None:
        reached = (
            f"the best lower bound is {of.best_lower_bound:.3f}"
            if not paper
            else "at none is the precision as high"
        )
        return (
            f"{result.system}: no threshold {'keeps' if paper else 'surely keeps'} a precision of "
            f"{wanted:g} ({reached}); label more pairs, or ask for less."
        )
    sure = (
        "as these pairs have it, which others keep about half of the time"
        if paper
        else "with 95 % confidence"
    )
    text = (
        f"{result.system}: from {_down(result.value)} on, the precision is at least {wanted:g} "
        f"{sure}."
    )
    if held is None or held.precision is None:
        return text
    return (
        f"{text} Held-out test queries: {held.precision:.3f} (lowest {held.lowest:.3f}; {wanted:g} "
        f"or more in {held.reached:.0%} of {held.repeats} cross-validations), {held.found:.1%} of "
        "labelled leaks kept."
    )


def _share(result: Result) -> str:
    return "-" if result.value is None else f"{result.value:.3f}{_bounds(result.interval, '.3f')}"


def _bounds(interval: Interval | None, form: str = ".4f") -> str:
    return f"{NBSP}[{interval.low:{form}},{NBSP}{interval.high:{form}}]" if interval else ""


def leaked_text(results: Sequence[Result]) -> str:
    """Return a line per set, and the source of all draws."""
    found = of_type(results, DrawnSet)
    lines = [("set", "instances", "leaked", "share", "queries that fill up")]
    lines += [
        (
            result.system,
            f"{of.instances:,}",
            f"{of.leaked:,}",
            f"{of.leaked_share:.1%}",
            _by_split(of.filled_from),
        )
        for result, of in found
    ]
    told = [aligned(lines, left=1), ""]
    first = found[0][1]
    for split, counts in first.sources.items():
        told.append(f"{split}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    told.append(
        "pairs: " + ", ".join(f"{count:,} {name}" for name, count in first.of_pairs.items())
    )
    told += [
        f"missing from the corpus: {count:,} {name}"
        for name, count in first.missing.items()
        if count
    ]
    return "\n".join(told)


def _by_split(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} of {split}" for split, count in counts.items())
