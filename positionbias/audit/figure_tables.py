"""The data of an audit's figures, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.audit.select import (
    SCALE_NAMES,
    bucket_labels,
    of_audit,
    query_buckets,
    series_of,
    system_of,
)
from positionbias.core.formatting import slug
from positionbias.core.interval import Interval
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_constant,
    drop_empty,
    level_heading,
    text_cell,
)
from positionbias.report.table import Column, Table
from positionbias.results.buckets import (
    GAIN,
    MOVEMENT,
    PSI,
    PositionBuckets,
    ResponseCurve,
    SegmentBuckets,
)
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = [
    "bucket_tables",
    "gain_table",
    "movement_table",
    "response_places_table",
    "segment_table",
]

Found = Sequence[tuple[Result, PositionBuckets]]


def bucket_tables(results: Sequence[Result]) -> list[Table]:
    """Return the data of quality by position: a table per quality and scale, a row per bucket, a
    column per system.
    """
    tables = []
    for quality in distinct(payload.quality for _, payload in query_buckets(results, PSI)):
        for scale in distinct(
            payload.scale for _, payload in query_buckets(results, PSI, quality=quality)
        ):
            found = query_buckets(results, PSI, quality=quality, scale=scale)
            name, title = (
                f"buckets-{slug(quality)}-{slug(scale)}",
                f"{quality} by the answer's start ({SCALE_NAMES.get(scale, scale)})",
            )
            tables.append(_bucket_table(results, found, "Answer starts at", name, title))
    return tables


def movement_table(results: Sequence[Result]) -> Table:
    """Return the data of the rotation gap by movement."""
    title = "Change by how far the answer moved (below 0: to the front)"
    return _bucket_table(
        results, query_buckets(results, MOVEMENT), "Moved by", "gap-by-movement", title, sign=True
    )


def gain_table(results: Sequence[Result]) -> Table:
    """Return the data of the gain over the first stage."""
    found = query_buckets(results, GAIN)
    title = (
        f"{found[0][1].quality[:1].upper()}{found[0][1].quality[1:]} by the answer's start"
        if found
        else ""
    )
    return _bucket_table(results, found, "Answer starts at", "gain-by-position", title, sign=True)


def segment_table(results: Sequence[Result]) -> Table:
    """Return the data of segment similarity."""
    title = "Cosine of a passage's vector with those of its thirds"
    return _bucket_table(results, of_audit(results, SegmentBuckets), "Part", "segments", title)


def _bucket_table(
    results: Sequence[Result],
    found: Found,
    heading: str,
    name: str,
    title: str,
    *,
    sign: bool = False,
) -> Table:
    """Return a row per bucket (and length group), two columns per system: the bucket's count, the
    mean with its interval.

    Systems that share their counts share that column.
    """
    series = series_of(results)
    systems = [system for system in series if any(system_of(r) == system for r, _ in found)]
    keys = distinct((p.group, tuple(p.edges)) for _, p in found)
    cells = {(system_of(r), p.group, tuple(p.edges)): p for r, p in found}
    counts = {
        system: [list(p.counts) for r, p in found if system_of(r) == system] for system in systems
    }
    shared = len({str(c) for c in counts.values()}) == 1
    rows, every = [], []
    for key in keys:
        names = bucket_labels(next(p for _, p in found if (p.group, tuple(p.edges)) == key))
        for index, bucket in enumerate(names):
            row = [text_cell(key[0] or "all"), text_cell(bucket)]
            for number, system in enumerate(systems):
                payload = cells.get((system, *key))
                if number == 0 or not shared:
                    row.append(count_cell(payload.counts[index] if payload else None))
                bounds = (
                    _interval(payload.lows[index], payload.highs[index], payload.level)
                    if payload
                    else None
                )
                every.append(bounds)
                row.append(
                    decimal_cell(payload.means[index] if payload else None, bounds, sign=sign)
                )
            rows.append(row)
    columns = [
        Column("Passages", numeric=False),
        Column(heading, numeric=False),
        *([Column("Queries")] if shared else []),
    ]
    for system in systems:
        label = series[system].full_label
        columns += (
            [Column(level_heading(label, every))]
            if shared
            else [Column("Queries", label), Column(level_heading("Mean", every), label)]
        )
    if found and found[0][1].scale == "segment":
        columns = [
            Column(c.name.replace("Queries", "Passages"), c.group, c.numeric) for c in columns
        ]
    _, kept = drop_constant(columns, rows, [0])
    return Table(name, title, columns, rows, stub=kept + 1)


def response_places_table(results: Sequence[Result]) -> Table:
    """Return the data of the position response: a row per system and place."""
    series = series_of(results)
    rows, bounds = [], []
    for result, curve in of_audit(results, ResponseCurve):
        for index, place in enumerate(curve.places):
            bounds.append(
                _interval(curve.score_lows[index], curve.score_highs[index], curve.figures.level)
            )
            rows.append(
                [
                    text_cell(series[system_of(result)].label),
                    decimal_cell(place, places=2),
                    count_cell(curve.counts[index]),
                    decimal_cell(curve.scores[index], bounds[-1], sign=True),
                    decimal_cell(curve.ranks[index]),
                ]
            )
    columns = [
        Column("System", numeric=False),
        Column("Place"),
        Column("Queries"),
        Column(level_heading("Score", bounds)),
    ]
    columns += [Column("Reciprocal rank")]
    drop_empty(columns, rows, first=3)
    notes = (
        "Place 0: the answering sentence is the passage's first, 1: its last; the other sentences "
        "keep their order. Scores less each query's own mean, in mean deviations of its "
        "candidates' scores.",
    )
    return Table(
        "position-response-places", "Score and rank by place", columns, rows, notes, stub=2
    )


def _interval(low: float | None, high: float | None, level: float) -> Interval | None:
    return None if low is None or high is None else Interval(low, high, level)
