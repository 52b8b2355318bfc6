"""Overlap as text: a sentence for each test set and unit, the surest pairs, and a table of all
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

from positionbias.leakage.pairs import Pair, read_pairs
from positionbias.overlap.lines import file_of
from positionbias.overlap.settings import EXACT
from positionbias.report.cells import count_cell, percent_cell, text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.overlap import ALL_SETS, ANY, OverlapFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["Example", "overlap_tables", "overlap_text", "overlap_verdict", "surest"]

_LONGEST = 160  # characters of a text that are shown
_HAVE = {
    "passages": "have a relevant passage in {0}",
    "queries": "are in {0}",
    "pairs": "are in {0} together with a relevant passage",
}


class Example(NamedTuple):
    """A pair of a test set and unit, to show."""

    test_set: str
    unit: str
    pair: Pair


def surest(folder: Path, results: Sequence[Result], count: int) -> list[Example]:
    """Return the ``count`` pairs with the highest scores of each test set and unit, from their
    files.
    """
    named = dict.fromkeys(
        (result.collection, of.unit) for result, of in of_type(results, OverlapFigures)
    )
    return [
        Example(*name, pair)
        for name in named
        for pair in nsmallest(count, read_pairs(folder / file_of(*name)), key=_falling)
    ]


def _falling(pair: Pair) -> tuple[bool, float]:
    return "exact" not in pair.found_by, -max(pair.scores.values(), default=0.0)


def overlap_verdict(results: Sequence[Result]) -> list[str]:
    """Return a sentence for each test set and unit, over all training sets."""
    found: dict[tuple[str, str], dict[str, tuple[Result, OverlapFigures]]] = {}
    for result, of in of_type(results, OverlapFigures):
        # all sets come last
        found.setdefault((result.collection, of.unit), {})[of.detector] = result, of
    return [
        _sentence(*by[ANY], {name: of for name, (_, of) in by.items()})
        for by in found.values()
        if ANY in by
    ]


def _sentence(result: Result, of: OverlapFigures, by: Mapping[str, OverlapFigures]) -> str:
    if result.value is None:
        return (
            f"{of.items:,} {of.unit} of {result.collection} cannot be compared: they have no words."
        )
    exact = by.get(EXACT)
    where = "training" if result.system == ALL_SETS else result.system
    if of.queries:
        leaked, count, what = of.leaked_queries, of.queries, "queries"
        same = exact.leaked_queries if exact else 0
        have = _HAVE[of.unit].format(where)
    else:
        leaked, count, what, have = of.leaked, of.items, of.unit, f"are in {where}"
        same = exact.leaked if exact else 0
    said = f"{leaked:,} of {count:,} {what} of {result.collection} ({result.value:.1%}) {have}"
    near = ", ".join(
        f"{number:,} {kind}"
        for number, kind in ((same, "exact"), (leaked - same, "near"))
        if number
    )
    return f"{said}: {near}. {_precision(of)}." if leaked else f"{said}."


def _precision(of: OverlapFigures) -> str:
    if of.precision is None:
        return "Precision unknown"
    low = (
        ""
        if of.precision_low is None
        else f" (at least {of.precision_low:.2f} with 95 % confidence)"
    )
    return f"Precision {of.precision:.2f}{low}"


def overlap_text(results: Sequence[Result], examples: Sequence[Example] = ()) -> str:
    """Return the sentences, the examples, and tables for each test set."""
    tables = [_examples(examples)] if examples else []
    found = of_type(results, OverlapFigures)
    for name in dict.fromkeys(result.collection for result, _ in found):
        tables += overlap_tables(
            name, [(result, of) for result, of in found if result.collection == name]
        )
    return "\n".join([*overlap_verdict(results), "", "\n\n".join(map(as_text, tables))])


def overlap_tables(name: str, found: Sequence[tuple[Result, OverlapFigures]]) -> list[Table]:
    """Return the counts of a test set by detector, over all training sets; of several sets also by
    set, over all detectors.
    """
    systems = list(dict.fromkeys(result.system for result, _ in found))
    whole = [(of.detector, result, of) for result, of in found if result.system == systems[-1]]
    where = systems[0] if len(systems) == 1 else f"{len(systems) - 1} training sets"
    tables = [_table(f"overlap_{name}", f"Overlap of {name} with {where}", "Detector", whole)]
    if len(systems) > 1:
        by_set = [(result.system, result, of) for result, of in found if of.detector == ANY]
        tables.append(
            _table(
                f"overlap_{name}_sets",
                f"Overlap of {name} by training set, any detector",
                "Training set",
                by_set,
            )
        )
    return tables


def _table(
    name: str, title: str, by: str, found: Sequence[tuple[str, Result, OverlapFigures]]
) -> Table:
    columns = [
        *(Column(heading, numeric=False) for heading in ("Unit", by)),
        *(
            Column(heading)
            for heading in (
                "Leaked",
                "Of",
                "Not compared",
                "Test queries",
                "Share",
                "Pairs",
                "Precision",
            )
        ),
    ]
    rows = [
        [
            *map(text_cell, (of.unit, named)),
            *map(count_cell, (of.leaked, of.items, of.too_short, of.leaked_queries)),
            percent_cell(result.value, result.interval, sign=False),
            count_cell(of.pairs),
            _precision_cell(of),
        ]
        for named, result, of in found
    ]
    return Table(name, title, columns, rows, list(_notes(found)), stub=2)


def _precision_cell(of: OverlapFigures) -> Cell:
    """Return the estimate with its lower bound."""
    if of.precision is None or of.precision_low is None:
        return Cell("unknown" if of.kept else "")
    return Cell(
        f"{of.precision:.2f} (≥ {of.precision_low:.2f})", of.precision, low=of.precision_low
    )


def _notes(found: Sequence[tuple[str, Result, OverlapFigures]]) -> Iterator[str]:
    queries = {of.unit: of.queries for _, _, of in found}
    # queries without a relevant passage, or passages of no query
    if len(set(queries.values())) > 1:
        of_units = ", ".join(
            f"for {unit} of {count:,}"
            if count
            else f"for {unit}, which belong to no query, the leaked ones of all"
            for unit, count in queries.items()
        )
        yield (
            "Share, with Wilson's 95 % interval: of the test queries that can be compared those "
            f"with a leaked item, {of_units}."
        )
    elif count := max(queries.values()):
        yield (
            f"Share: of the test queries that can be compared ({count:,} by any detector), those "
            "with a leaked item, with Wilson's 95 % interval."
        )
    if shared := max(of.shared_corpus for _, _, of in found):
        yield f"Passages of a corpus that both sides share are no pairs: {shared:,}."


def _examples(examples: Sequence[Example]) -> Table:
    """Return two rows a pair, so that its texts stand one below the other."""
    columns = [Column(name, numeric=False) for name in ("Found by", "Side", "Id", "Text")]
    rows = []
    for one in examples:
        pair = one.pair
        sides = (
            (", ".join(pair.found_by), "training", pair.train_id, pair.train_text),
            (
                f"{one.unit} of {one.test_set}",
                "test",
                pair.test_id,
                next(iter(pair.test_texts.values()), ""),
            ),
        )
        rows += [
            [*map(text_cell, named), text_cell(shorten(text, _LONGEST, placeholder=" …"))]
            for *named, text in sides
        ]
    return Table("overlap_examples", "The surest pairs", columns, rows)
