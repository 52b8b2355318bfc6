"""The data of the figures about pools, and of one new run, in tables. Each is of one task."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import percent
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.table import Column, Table
from positionbias.results.pool_verdict import ComparisonsFigures, ScoreFigures, UnjudgedFigures
from positionbias.results.pools import CoverageFigures, CurveFigures, OnePoolFigures, by_measure, interval_of
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["comparisons_table", "coverage_data", "curve_data", "scatter_data", "verdict_table"]


def coverage_data(results: Sequence[Result]) -> Table:
    """Relevant documents by pool depth: in all, and in no other kind's pool."""
    found = [own for _, own in of_type(results, CoverageFigures)]
    depths = found[0].depths if found else []
    counts = [column for own in found for column in (own.found_by_depth, own.unique_by_depth)]
    body = [[count_cell(depth), *(count_cell(column[place]) for column in counts)] for place, depth in enumerate(depths)]
    columns = [Column("Pool depth")]
    columns += [Column(name, f"{own.kind}, {own.systems} runs") for own in found for name in ("in its pool", "in no other")]
    notes = [f"Relevant: grade {found[0].relevant_from} or more."] if found else []
    return Table("pool-coverage", "Relevant documents by pool depth", columns, body, notes)


def scatter_data(results: Sequence[Result]) -> Table:
    """Every test system of one pool: its gold and its estimated score, judged@k and RBP's residual under that pool."""
    found = [own for _, own in by_measure(of_type(results, OnePoolFigures))]
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(point.run),
            text_cell(point.group),
            text_cell(point.kind),
            decimal_cell(point.gold),
            decimal_cell(point.estimated),
            decimal_cell(point.estimated - point.gold, sign=True),
            percent_cell(point.judged, sign=False),
            decimal_cell(point.residual),
        ]
        for own in found
        for point in sorted(own.points, key=lambda point: -point.gold)
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pool", "Run", "Group", "Kind")]
    columns += [Column(name) for name in ("Gold", "By this pool", "Change", "Judged", "RBP residual")]
    notes = [f"The {own.pool} pool is fed by {', '.join(own.groups)}." for own in found if own.measure == found[0].measure]
    return Table("pool-scatter", "Scores by gold and by one pool", columns, body, notes, stub=3)


def curve_data(results: Sequence[Result], axis: str) -> Table:
    """Each point of the curves along "depth" or "groups": τ_b, change, and how much the pools hold."""
    body = [
        [
            text_cell(own.measure),
            text_cell(own.pool),
            text_cell(own.test),
            count_cell(at),
            decimal_cell(own.tau_b[place]),
            decimal_cell(own.change[place], interval_of(own.change_low[place], own.change_high[place]), sign=True),
            decimal_cell(own.judgements[place], places=0),
            decimal_cell(own.relevant[place], places=0),
        ]
        for _, own in by_measure(of_type(results, CurveFigures))
        if own.axis == axis
        for place, at in enumerate(own.at)
    ]
    columns = [Column(name, numeric=False) for name in ("Measure", "Pools", "Test systems")]
    columns += [Column("Depth" if axis == "depth" else "Groups"), Column("Kendall's τ"), Column("Change of score")]
    columns += [Column("judgements", "In a pool"), Column("relevant", "In a pool")]
    return Table(
        f"pool-{axis}", f"Reliability by {'depth of pools' if axis == 'depth' else 'number of groups'}", columns, body, stub=3
    )


def verdict_table(results: Sequence[Result]) -> Table:
    """One new run: the answer, its score with the prediction and its bounds, and how many pooled runs it is better and worse than."""
    head = next((own for _, own in of_type(results, UnjudgedFigures)), None)
    compared = {own.measure: own.comparisons for _, own in of_type(results, ComparisonsFigures)}
    body = []
    for _, own in of_type(results, ScoreFigures):
        says: list[str] = [one.says for one in compared.get(own.measure, ())]
        body.append(
            [
                text_cell(own.measure),
                text_cell(own.answer),
                decimal_cell(own.score),
                decimal_cell(own.predicted, interval_of(own.predicted_low, own.predicted_high)),
                decimal_cell(own.low),
                decimal_cell(own.high),
                *(count_cell(says.count(word)) for word in ("better", "worse", "open")),
                count_cell(own.needed),
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
        pooled = (
            f"; of the {head.pooled} pooled runs {percent(head.pooled_mean)} on average, at most {percent(head.pooled_most)}"
        )
        notes.append(
            f"Unjudged among the first {head.depth} of {head.run}: {percent(head.share)}{pooled if head.pooled else ''}. "
            f"RBP (p = 0.8) {head.rbp:.3f}, residual {head.residual:.3f}."
        )
    return Table("pool-verdict", "What the new run scores", columns, body, notes)


def comparisons_table(results: Sequence[Result], *, only_open: bool = False) -> Table:
    """The new run against each pooled run: the difference as judged, predicted, and its bounds; what can be said.

    ``only_open`` leaves out the runs whose order is decided, and those without a prediction.
    """
    unjudged = {run: share for _, own in of_type(results, UnjudgedFigures) for run, share in own.by_run.items()}
    scores = {(own.measure, run.run): run.score for _, own in of_type(results, ScoreFigures) for run in own.pooled}
    body = []
    for _, own in of_type(results, ComparisonsFigures):
        shown = [one for one in own.comparisons if not only_open or (one.says == "open" and one.probability is not None)]
        listed = [(scores[own.measure, one.run], one) for one in shown]
        for score, one in sorted(listed, key=lambda item: -item[0]):
            differences = (one.difference, one.predicted, one.least, one.most)
            body.append(
                [
                    text_cell(own.measure),
                    text_cell(one.run),
                    text_cell(one.kind),
                    decimal_cell(score),
                    percent_cell(unjudged.get(one.run), sign=False),
                    *(decimal_cell(difference, sign=True) for difference in differences),
                    decimal_cell(one.probability, places=2),
                    text_cell(one.says + (", certainly" if one.certain else "")),
                    text_cell("yes" if one.new_queries else "no"),
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
