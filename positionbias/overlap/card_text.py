"""A card and a statement of what was removed, as Markdown: sets, detectors with their thresholds and precision, what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from positionbias.core.formatting import MISSING
from positionbias.overlap.card import Card, CardSet, Found, Overlap
from positionbias.overlap.folder import settings_from
from positionbias.overlap.settings import OverlapSettings
from positionbias.report.markdown import code, escaped, table_lines
from positionbias.report.table import Column
from positionbias.results.overlap import ANY

__all__ = ["card_markdown", "detector_lines", "found_lines", "precision_of", "set_lines"]

_TEXT = ("Test set", "Unit", "Training set", "Detector")
_COUNTS = ("Items", "Too short", "Leaked", "Queries", "Leaked queries", "Pairs")
_SAME = "Unicode normalised, without case and punctuation"


def card_markdown(card: Card) -> str:
    """Return the card for a model card."""
    lines = [
        "# Train–test overlap",
        "",
        f"Measured by positionbias {escaped(card.version)}. {code('posbias leakage check-card')} compares this card's JSON form with data at hand.",
    ]
    for number, overlap in enumerate(card.overlaps, 1):
        lines += ["", *([f"## Search {number}", ""] if len(card.overlaps) > 1 else []), *_overlap_lines(overlap)]
    return "\n".join([*lines, ""])


def _overlap_lines(overlap: Overlap) -> Iterator[str]:
    yield from [*(f"- {escaped(line)}" for line in _sentences(overlap)), ""]
    yield from ["### Sets", "", *set_lines(overlap.training, overlap.tests), ""]
    yield from ["### Overlap", "", *found_lines(overlap.found), ""]
    yield from ["### Detectors", "", *detector_lines(settings_from(overlap.settings, Path("card")), overlap.encoder), ""]
    yield from ["### Repeat", "", f"    {overlap.command}"]


def _sentences(overlap: Overlap) -> Iterator[str]:
    """Yield what was found by any detector in all training sets, a line for each test set and unit."""
    last = {(row.test, row.unit): row for row in overlap.found if row.detector == ANY}  # that of all sets comes last
    for row in last.values():
        leaked, count, what = (row.leaked_queries, row.queries, "queries") if row.queries else (row.leaked, row.items, row.unit)
        share = f" ({leaked / count:.1%})" if count else ""
        yield f"{row.test}, {row.unit}: {leaked:,} of {count:,} {what}{share} leak. {_precision_sentence(row)}"


def _precision_sentence(row: Found) -> str:
    return "Precision unknown." if row.precision is None else f"Precision {precision_of(row)}."


def precision_of(row: Found) -> str:
    """Return a detector's precision with its lower bound, or "unknown"."""
    if row.precision is None:
        return "unknown"
    return f"{row.precision:.3f}" + (f" (at least {row.precision_low:.3f})" if row.precision_low is not None else "")


def set_lines(training: Iterable[CardSet], tests: Iterable[CardSet]) -> list[str]:
    """Return the sets as a table."""
    rows = [
        [side, escaped(one.name), escaped(one.split) or MISSING, code(one.checksum)]
        for side, sets in (("training", training), ("test", tests))
        for one in sets
    ]
    return table_lines([Column(name, numeric=False) for name in ("Side", "Set", "Split", "Checksum")], rows)


def found_lines(found: Sequence[Found]) -> list[str]:
    """Return what was found as a table."""
    columns = [*(Column(name, numeric=False) for name in _TEXT), *map(Column, _COUNTS), Column("Precision", numeric=False)]
    rows = [
        [
            *map(escaped, (row.test, row.unit, row.training, row.detector)),
            *(f"{count:,}" for count in (row.items, row.too_short, row.leaked, row.queries, row.leaked_queries, row.pairs)),
            precision_of(row),
        ]
        for row in found
    ]
    return table_lines(columns, rows)


def detector_lines(settings: OverlapSettings, encoder: str = "") -> list[str]:
    """Return a line for each detector: what it compares, from which threshold."""
    share = f"at least {100 * settings.containment:g} % of one text's runs of"
    told = {
        "exact": f"the same words ({_SAME})",
        "ngram": f"{share} {settings.n} words stand in the other",
        "near": f"a Jaccard coefficient of at least {settings.jaccard:g} of the runs of {settings.near_n} words",
        "meaning": f"a cosine of at least {settings.threshold:.4g} by {escaped(encoder) or 'an encoder'}"
        if settings.threshold
        else "",
        "short": f"{share} {settings.short} words stand in the other, for test texts of fewer than {settings.n} words",
    }
    return [f"- {name}: {told.get(name) or 'at its own settings'}." for name in settings.detectors]
