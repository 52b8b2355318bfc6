"""CONTAMINATION.md of a cleaned collection: what was removed, on which evidence, what is left, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from positionbias.core.json_text import JsonObject
from positionbias.overlap.card import CardSet, Found
from positionbias.overlap.card_text import detector_lines, found_lines, precision_of, set_lines
from positionbias.overlap.removing import PAIRS_OF, Removal
from positionbias.overlap.settings import OverlapSettings
from positionbias.report.markdown import code, escaped
from positionbias.results.overlap import ANY

__all__ = ["NAME", "Statement", "statement_text"]

NAME = "CONTAMINATION.md"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement rests on: the collection before and after by name and checksum, the search, the removal and its counts.

    Where the pairs came as a file, there are no sets and ``settings`` are None. ``left`` is the same search made again on the result; empty if it was not.
    """

    source: tuple[str, str]
    made: tuple[str, str]
    training: Sequence[CardSet]
    tests: Sequence[CardSet]
    settings: OverlapSettings | None
    encoder: str
    removal: Removal
    facts: JsonObject
    found: Sequence[Found]
    left: Sequence[Found]
    version: str
    commands: Sequence[str]


def statement_text(of: Statement, before: str = "") -> str:
    """Return the statement; ``before`` is that of the source, where leaks had been removed from it too."""
    lines = ["# Contamination", "", *_removed(of), ""]
    lines += ["## Sets", "", *set_lines(of.training, of.tests), ""] if of.tests else []
    lines += ["## Evidence", "", *_evidence(of), ""]
    lines += ["## What the search had found", "", *found_lines(_of_unit(of.found, of.removal.unit)), ""] if of.found else []
    lines += ["## What is left", "", *_left(of), ""]
    lines += ["## Repeat", "", f"With positionbias {escaped(of.version)}:", "", *(f"    {line}" for line in of.commands), ""]
    if before:
        lines += ["## Before", "", "Leaks had been removed from the source too:", "", *_quoted(before)]
    return "\n".join(lines)


def _removed(of: Statement) -> Iterator[str]:
    facts, what = of.facts, of.removal.what
    split = "" if what == "passages" else f" of split {escaped(str(facts['split']))}"
    yield (
        f"{escaped(of.made[0])} is {escaped(of.source[0])} without {facts['left_out']:,} of {facts[what]:,} {what}{split}: "
        f"the {of.removal.side} side of {PAIRS_OF[of.removal.unit]} that overlap."
    )
    yield ""
    yield f"- Checksum before: {code(of.source[1])}; after: {code(of.made[1])}."
    yield f"- Judgements that went: {facts['qrels_left_out']:,}; answers: {facts['answers_left_out']:,}."
    if "queries_without_judgement" in facts:
        yield f"- Queries that have no judgement any more: {facts['queries_without_judgement']:,}."
    yield f"- The ledger names each with its evidence; SHA-256 {code(str(facts['checksum']))}."


def _evidence(of: Statement) -> Iterator[str]:
    counted = ", ".join(of.removal.found_by)
    yield f"A pair counted as a person had labelled it; one without a label where one of these found it: {counted}."
    if of.settings is not None:
        yield from ["", *detector_lines(of.settings, of.encoder), ""]
    yield f"Precision of the pairs: {'; '.join(_precisions(of))}."
    aside = of.facts.get("found_otherwise") or {}
    assert isinstance(aside, Mapping)
    for names, count in aside.items():
        yield f"{count:,} pairs found by {escaped(names)} alone did not count."


def _precisions(of: Statement) -> Iterator[str]:
    """Yield the precision of each detector that counts, by test set where one of several is known."""
    rows = _of_unit(of.found, of.removal.unit)
    for name in of.removal.found_by:
        last = {row.test: row for row in rows if row.detector == name}  # that of all training sets comes last
        if all(row.precision is None for row in last.values()):
            yield f"{name} unknown"
        else:
            yield from (f"{name} in {escaped(row.test)} {precision_of(row)}" for row in last.values())


def _left(of: Statement) -> Iterator[str]:
    if not of.left:
        yield "Not measured: the result was not searched again."
        return
    own = [row.detector for row in of.left if row.detector not in (*of.removal.found_by, ANY)]
    yield f"The result was searched again. Detectors that took no part in the removal: {', '.join(dict.fromkeys(own)) or 'none'}."
    yield ""
    yield from found_lines(_of_unit(of.left, of.removal.unit))


def _of_unit(rows: Sequence[Found], unit: str) -> list[Found]:
    return [row for row in rows if row.unit == unit and row.detector != ANY]


def _quoted(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"> {line}".rstrip()
