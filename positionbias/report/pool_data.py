"""The data of the figures about pools, and of one new run, in tables. Each is of one task."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import percent
from positionbias.core.interval import Interval
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.pool_select import by_measure, of_what
from positionbias.report.table import Column, Table
from positionbias.results.result import Result

__all__ = ["comparisons_table", "coverage_data", "curve_data", "scatter_data", "verdict_table"]


def coverage_data(results: Sequence[Result]) -> Table:
    """Relevant documents by pool depth: in all, and in no other kind's pool."""
    found = [rows for _, rows in of_what(results, "coverage")]
    depths = found[0]["depths"] if found else []
    body = [
        [
            count_cell(depth),
            *(count_cell(rows[name][place]) for rows in found for name in ("found by depth", "unique by depth")),
        ]
        for place, depth in enumerate(depths)
    ]
    columns = [Column("Pool depth")]
    columns += [
        Column(name, f"{rows['kind']}, {rows['systems']} runs") for rows in found for name in ("in its pool", "in no other")
    ]
    notes = [f"Relevant: grade {found[0]['relevant from']} or more."] if found else []
    return Table("pool-coverage", "Relevant documents by pool depth", columns, body, notes)


def scatter_data(results: Sequence[Result]) -> Table:
    """Every test system of one pool: its gold and its estimated score, judged@k and RBP's residual under that pool."""
    found = [rows for _, rows in by_measure(of_what(results, "one pool"))]
    body = [
        [
            text_cell(rows["measure"]),
            text_cell(rows["pool"]),
            text_cell(point["run"]),
            text_cell(point["group"]),
            text_cell(point["kind"]),
            decimal_cell(point["gold"]),
            decimal_cell(point["estimated"]),
            decimal_cell(point["estimated"] - point["gold"], sign=True),
            percent_cell(point["judged"], sign=False),
            decimal_cell(point["residual"]),
        ]
        for rows in found
        for point in sorted(rows["points"], key=lambda point: -point["gold"])
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pool", "Run", "Group", "Kind")]
    columns += [Column(name) for name in ("Gold", "By this pool", "Change", "Judged", "RBP residual")]
    notes = [
        f"The {rows['pool']} pool is fed by {', '.join(rows['groups'])}."
        for rows in found
        if rows["measure"] == found[0]["measure"]
    ]
    return Table("pool-scatter", "Scores by gold and by one pool", columns, body, notes, stub=3)


def curve_data(results: Sequence[Result], axis: str) -> Table:
    """Each point of the curves along "depth" or "groups": τ_b, change, and how much the pools hold."""
    body = [
        [
            text_cell(rows["measure"]),
            text_cell(rows["pool"]),
            text_cell(rows["test"]),
            count_cell(at),
            decimal_cell(rows["tau_b"][place]),
            decimal_cell(rows["change"][place], _bounds(rows["change low"][place], rows["change high"][place]), sign=True),
            *(decimal_cell(rows[name][place], places=0) for name in ("judgements", "relevant")),
        ]
        for _, rows in by_measure(of_what(results, "curve"))
        if rows["axis"] == axis
        for place, at in enumerate(rows.get("at", ()))
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("Depth" if axis == "depth" else "Groups"), Column("Kendall's τ"), Column("Change of score")]
    columns += [Column("judgements", "In a pool"), Column("relevant", "In a pool")]
    return Table(
        f"pool-{axis}", f"Reliability by {'depth of pools' if axis == 'depth' else 'number of groups'}", columns, body, stub=3
    )


def _bounds(low: float | None, high: float | None) -> Interval | None:
    return None if low is None or high is None else Interval(low, high)


def verdict_table(results: Sequence[Result]) -> Table:
    """One new run: the answer, its score with the prediction and its bounds, and how many pooled runs it is better and worse than."""
    head = next((rows for _, rows in of_what(results, "unjudged")), None)
    compared = {rows["measure"]: rows["comparisons"] for _, rows in of_what(results, "comparisons")}
    body = []
    for _, rows in of_what(results, "score"):
        says = [item["says"] for item in compared.get(rows["measure"], ())]
        body.append(
            [
                text_cell(rows["measure"]),
                text_cell(rows["answer"]),
                decimal_cell(rows["score"]),
                decimal_cell(rows["predicted"], _bounds(rows["predicted low"], rows["predicted high"])),
                *(decimal_cell(rows[name]) for name in ("low", "high")),
                *(count_cell(says.count(word)) for word in ("better", "worse", "open")),
                count_cell(rows["needed"]),
            ]
        )
    columns = [Column("Measure", numeric=False), Column("The run", numeric=False)]
    columns += [Column(name, "Score") for name in ("as judged", "predicted", "at least", "at most")]
    columns += [Column(word, "Pooled runs that it is") for word in ("better than", "worse than", "open")]
    columns += [Column("Documents to judge")]
    notes = [
        "Predicted: had its group taken part in the pool, with a 95\u00a0% prediction interval; at least and at most: whatever the unjudged documents are."
    ]
    if head:
        pooled = f"; of the {head['pooled runs']} pooled runs {percent(head['pooled mean'])} on average, at most {percent(head['pooled most'])}"
        notes.append(
            f"Unjudged among the first {head['depth']} of {head['run']}: {percent(head['share'])}{pooled if head['pooled runs'] else ''}. "
            f"RBP (p = 0.8) {head['RBP']:.3f}, residual {head['RBP residual']:.3f}."
        )
    return Table("pool-verdict", "What the new run scores", columns, body, notes)


def comparisons_table(results: Sequence[Result]) -> Table:
    """The new run against each pooled run: the difference as judged, predicted, and its bounds; what can be said."""
    unjudged = {run: share for _, rows in of_what(results, "unjudged") for run, share in rows["by pooled run"].items()}
    scores = {(rows["measure"], run["run"]): run for _, rows in of_what(results, "score") for run in rows["pooled"]}
    body = []
    for _, rows in of_what(results, "comparisons"):
        for item in sorted(rows["comparisons"], key=lambda item: -scores[rows["measure"], item["run"]]["score"]):
            own = scores[rows["measure"], item["run"]]
            body.append(
                [
                    text_cell(rows["measure"]),
                    text_cell(item["run"]),
                    text_cell(item["kind"]),
                    decimal_cell(own["score"]),
                    percent_cell(unjudged.get(item["run"]), sign=False),
                    *(decimal_cell(item[name], sign=True) for name in ("difference", "predicted", "least", "most")),
                    decimal_cell(item["probability"], places=2),
                    text_cell(item["says"] + (", certainly" if item["certain"] else "")),
                    text_cell("yes" if item["new queries"] else "no"),
                ]
            )
    columns = [Column(name, numeric=False) for name in ("Measure", "Pooled run", "Kind")]
    columns += [Column("Its score"), Column("Unjudged")]
    columns += [Column(name, "The new run's less its") for name in ("as judged", "predicted", "at least", "at most")]
    columns += [
        Column("Probability of better"),
        Column("The new run is", numeric=False),
        Column("For new queries", numeric=False),
    ]
    notes = (
        "Certainly: whatever the unjudged documents are. For new queries: the order holds over queries like these, at 5\u00a0% by Holm.",
    )
    return Table("pool-comparisons", "The new run against each pooled run", columns, body, notes, stub=3)
