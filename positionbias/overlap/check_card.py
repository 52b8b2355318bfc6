"""Hold a card against the data at hand: checksums of the sets, then the counts of the same search, made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from pathlib import Path

from positionbias.core.checks import Outcome
from positionbias.core.screen import wrapped
from positionbias.overlap.card import Card, CardSet, Found, Overlap, command_on
from positionbias.overlap.card_text import precision_of
from positionbias.report.cells import text_cell
from positionbias.report.table import Column, Table, as_text

__all__ = [
    "Agreement",
    "agreement_of_command",
    "agreement_table",
    "agreement_text",
    "agreements_of_counts",
    "agreements_of_sets",
    "outcome_of",
]

_COUNTS = tuple(one.name for one in fields(Found) if one.type in ("int", int))


@dataclass(frozen=True, slots=True)
class Agreement:
    """One fact of a card, and what was found; ``outcome`` is pass where they agree, and "cannot tell" where nothing was given."""

    what: str
    card: str
    found: str
    outcome: Outcome


def outcome_of(agreements: Sequence[Agreement]) -> Outcome:
    """Return fail where one disagrees, else "cannot tell" where one cannot be compared, else pass."""
    outcomes = {one.outcome for one in agreements}
    return next((one for one in (Outcome.FAIL, Outcome.CANNOT_TELL) if one in outcomes), Outcome.PASS)


def agreements_of_sets(card: Card, at_hand: Mapping[str, CardSet]) -> Iterator[Agreement]:
    """Compare each set's checksum with those at hand, by ``training set NAME`` and ``test set NAME``; splits are named where they differ."""
    seen = set()
    for overlap in card.overlaps:
        for side, sets in (("training", overlap.training), ("test", overlap.tests)):
            for one in sets:
                if (side, one.name, one.split, one.checksum) in seen:
                    continue
                seen.add((side, one.name, one.split, one.checksum))
                own = at_hand.get(name := f"{side} set {one.name}")
                yield _agreement(f"{name}, checksum", one.checksum, own.checksum if own else None)
                if own and own.split != one.split:
                    yield _agreement(f"{name}, split", one.split, own.split)


def agreement_of_command(overlap: Overlap, path: Path) -> Agreement:
    """Compare a card's command with that of its own sets and settings."""
    return _agreement("the command", overlap.command, command_on(overlap, path))


def agreements_of_counts(
    overlap: Overlap, found: Mapping[tuple[str, str, str, str], Found], missing: Set[str] = frozenset()
) -> Iterator[Agreement]:
    """Compare the counts of each row of a search with those at hand, by ``Found.key``; a row that only one of both has differs.

    ``missing`` are the sets of the card that were not given, as ``training set NAME``, ``test set NAME`` or those of all training sets;
    their rows cannot be compared. Precision is by labels, which nobody gave: "cannot tell".
    """
    for row in overlap.found:
        own = found.get(row.key)
        absent = None if {f"test set {row.test}", f"training set {row.training}"} & missing else "no such row"
        yield _agreement(_what(row), _counts(row, own), absent if own is None else _counts(own, row))
        if row.precision is not None:
            yield _agreement(f"precision, {_what(row)}", precision_of(row), None)
    on_card = {row.key for row in overlap.found}
    for row in found.values():
        if row.key not in on_card:
            yield _agreement(_what(row), "no such row", _counts(row, None))


def _what(row: Found) -> str:
    return f"{row.unit} of {row.test} in {row.training}, {row.detector}"


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """Return a row for each fact."""
    told = {Outcome.PASS: "agrees", Outcome.FAIL: "differs", Outcome.CANNOT_TELL: "not compared"}
    columns = [Column(name, numeric=False) for name in ("Fact", "Card", "At hand", "Outcome")]
    rows = [[*map(text_cell, (one.what, one.card, one.found, told[one.outcome]))] for one in agreements]
    return Table("card", "The card and the data at hand", columns, rows)


def agreement_text(agreements: Sequence[Agreement]) -> str:
    """Return the answer, then the facts that differ or could not be compared, or all where all agree."""
    counts = {outcome: sum(one.outcome is outcome for one in agreements) for outcome in Outcome}
    differ, unknown = counts[Outcome.FAIL], counts[Outcome.CANNOT_TELL]
    answer = {
        Outcome.PASS: f"The card agrees with the data at hand in all {len(agreements):,} facts.",
        Outcome.FAIL: f"The card does not agree with the data at hand: {differ:,} of {len(agreements):,} facts differ.",
        Outcome.CANNOT_TELL: f"Cannot tell: {unknown:,} of {len(agreements):,} facts could not be compared; the others agree.",
    }[outcome_of(agreements)]
    shown = [one for one in agreements if one.outcome is not Outcome.PASS] or agreements
    return f"{wrapped(answer)}\n\n{as_text(replace(agreement_table(shown), title=''))}"


def _counts(row: Found, other: Found | None) -> str:
    """Return a row's leaked items, and the counts that differ from the other's."""
    differing = [name for name in _COUNTS if other is not None and getattr(row, name) != getattr(other, name)]
    told = [name for name in _COUNTS if name in differing or name in ("leaked", "items")]
    return ", ".join(f"{name.replace('_', ' ')} {getattr(row, name):,}" for name in told)


def _agreement(what: str, card: str, found: str | None) -> Agreement:
    if found is None:
        return Agreement(what, card, "not given", Outcome.CANNOT_TELL)
    return Agreement(what, card, found, Outcome.PASS if card == found else Outcome.FAIL)
