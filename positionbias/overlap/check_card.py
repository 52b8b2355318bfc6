"""Hold a card against the data at hand: checksums of the sets, then the counts of the same search, made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from positionbias.core.checks import Outcome
from positionbias.overlap.card import Card, Found, Overlap

__all__ = ["Agreement", "agreements_of_counts", "agreements_of_sets", "outcome_of"]

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


def agreements_of_sets(card: Card, checksums: Mapping[str, str], version: str) -> Iterator[Agreement]:
    """Compare the version, and each set's checksum with those at hand, by ``training NAME`` and ``test NAME``."""
    yield _agreement("positionbias", card.version, version)
    seen = set()
    for overlap in card.overlaps:
        for side, sets in (("training", overlap.training), ("test", overlap.tests)):
            for one in sets:
                if (name := f"{side} set {one.name}") not in seen:
                    seen.add(name)
                    yield _agreement(f"{name}, checksum", one.checksum, checksums.get(name))


def agreements_of_counts(overlap: Overlap, found: Mapping[tuple[str, str, str, str], Found]) -> Iterator[Agreement]:
    """Compare the counts of each row of a search with those at hand, by ``Found.key``."""
    for row in overlap.found:
        test, unit, detector, training = row.key
        what = f"{unit} of {test} in {training}, {detector}"
        own = found.get(row.key)
        yield _agreement(what, _counts(row, own), None if own is None else _counts(own, row))


def _counts(row: Found, other: Found | None) -> str:
    """Return a row's leaked items, and the counts that differ from the other's."""
    differing = [name for name in _COUNTS if other is not None and getattr(row, name) != getattr(other, name)]
    told = [name for name in _COUNTS if name in differing or name in ("leaked", "items")]
    return ", ".join(f"{name.replace('_', ' ')} {getattr(row, name):,}" for name in told)


def _agreement(what: str, card: str, found: str | None) -> Agreement:
    if found is None:
        return Agreement(what, card, "not given", Outcome.CANNOT_TELL)
    return Agreement(what, card, found, Outcome.PASS if card == found else Outcome.FAIL)
