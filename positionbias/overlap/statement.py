"""CONTAMINATION.md of a cleaned collection: what was removed, on which evidence, and how to repeat
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from positionbias.core.formatting import MISSING
from positionbias.core.json_text import JsonObject
from positionbias.overlap.folder import OverlapFolder
from positionbias.overlap.removing import PAIRS_OF, Removal
from positionbias.report.markdown import code, escaped, table_lines
from positionbias.report.table import Column
from positionbias.results.overlap import ANY, OverlapFigures
from positionbias.results.result import Result

__all__ = ["NAME", "Statement", "statement_text"]

NAME = "CONTAMINATION.md"
_COUNTS = ("Items", "Too short", "Leaked", "Queries", "Leaked queries", "Pairs")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement rests on: the collection before and after by name and checksum, the search,
    the removal and its counts.

    Where the pairs came as a file, there is no ``folder``.
    """

    source: tuple[str, str]
    made: tuple[str, str]
    folder: OverlapFolder | None
    removal: Removal
    facts: JsonObject
    version: str
    commands: Sequence[str]


def statement_text(of: Statement, before: str = "") -> str:
    """Return the statement; ``before`` is that of the source, where leaks had been removed from it
    too.
    """
    rows = _rows(of.folder, of.removal.unit) if of.folder is not None else []
    lines = ["# Contamination", "", *_removed(of), ""]
    lines += ["## Sets", "", *_set_lines(of.folder), ""] if of.folder is not None else []
    lines += ["## Evidence", "", *_evidence(of), ""]
    lines += ["## What the search had found", "", *_found_lines(rows), ""] if rows else []
    lines += [
        "## Repeat",
        "",
        f"With positionbias {escaped(of.version)}:",
        "",
        *(f"    {line}" for line in of.commands),
        "",
    ]
    if before:
        lines += [
            "## Before",
            "",
            "Leaks had been removed from the source too:",
            "",
            *_quoted(before),
        ]
    return "\n".join(lines)


def _removed(of: Statement) -> Iterator[str]:
    facts, what = of.facts, of.removal.what
    split = "" if what == "passages" else f" of split {escaped(str(facts['split']))}"
    yield (
        f"{escaped(of.made[0])} is {escaped(of.source[0])} without {facts['left_out']:,} of "
        f"{facts[what]:,} {what}{split}: the {of.removal.side} side of {PAIRS_OF[of.removal.unit]} "
        "that overlap."
    )
    yield ""
    yield f"- Checksum before: {code(of.source[1])}; after: {code(of.made[1])}."
    yield (
        f"- Judgements that went: {facts['qrels_left_out']:,}; answers: "
        f"{facts['answers_left_out']:,}."
    )
    if "queries_without_judgement" in facts:
        yield f"- Queries that have no judgement any more: {facts['queries_without_judgement']:,}."
    yield f"- The ledger names each with its evidence; SHA-256 {code(str(facts['checksum']))}."


def _evidence(of: Statement) -> Iterator[str]:
    yield (
        "A pair counted as a person had labelled it. Pairs without a label counted too, except "
        "those found by words alone."
    )
    if of.folder is not None:
        settings = of.folder.settings
        yield ""
        yield "- exact: the same words (Unicode normalised, without case and punctuation)."
        yield (
            f"- ngram: at least {100 * settings.containment:g} % of one text's runs of "
            f"{settings.n} words stand in the other."
        )
        yield ""
    if of.facts["by_words_alone"]:
        yield f"{of.facts['by_words_alone']:,} pairs found by words alone did not count."


def _set_lines(folder: OverlapFolder) -> list[str]:
    """Return the sets as a table."""
    rows = [
        [side, escaped(one.name), escaped(one.split) or MISSING, code(one.checksum)]
        for side, sets in (("training", folder.training), ("test", folder.tests))
        for one in sets.values()
    ]
    return table_lines(
        [Column(name, numeric=False) for name in ("Side", "Set", "Split", "Checksum")], rows
    )


def _rows(folder: OverlapFolder, unit: str) -> list[tuple[Result, OverlapFigures]]:
    return [
        (result, figures)
        for result, figures in folder.figures
        if figures.unit == unit and figures.detector != ANY
    ]


def _found_lines(rows: Sequence[tuple[Result, OverlapFigures]]) -> list[str]:
    """Return what the search had found as a table."""
    text = (
        Column(name, numeric=False) for name in ("Test set", "Unit", "Training set", "Detector")
    )
    columns = [*text, *map(Column, _COUNTS), Column("Precision", numeric=False)]
    return table_lines(
        columns,
        [
            [
                *map(escaped, (result.collection, row.unit, result.system, row.detector)),
                *(
                    f"{count:,}"
                    for count in (
                        row.items,
                        row.too_short,
                        row.leaked,
                        row.queries,
                        row.leaked_queries,
                        row.pairs,
                    )
                ),
                _precision(row),
            ]
            for result, row in rows
        ],
    )


def _precision(row: OverlapFigures) -> str:
    """Return a detector's precision with its lower bound, or "unknown"."""
    if row.precision is None:
        return "unknown"
    return f"{row.precision:.3f}" + (
        f" (at least {row.precision_low:.3f})" if row.precision_low is not None else ""
    )


def _quoted(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"> {line}".rstrip()
