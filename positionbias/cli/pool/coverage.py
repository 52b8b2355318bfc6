"""``posbias pool coverage``: relevant documents that each kind of system finds, by pool depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import emit, output_place
from positionbias.cli.pool.inputs import depth_option, judged_pool, relevant_option, result_options, runs_arguments, save

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = ["coverage", "coverage_text"]


@click.command()
@runs_arguments
@depth_option("The pool depth whose counts by query are kept.")
@click.option("--deepest", type=click.IntRange(min=1, max=1_000), default=100, show_default=True, help="Where the curve ends.")
@relevant_option
@result_options
def coverage(
    runs: str, qrels: str, systems: str, depth: int, deepest: int, level: int, out: str | None, overwrite: bool, as_json: bool
) -> None:  # fmt: skip
    """Relevant documents that each kind of system puts into a pool, at each depth: in all, and those that no other kind puts there.

    RUNS is a folder of TREC runs, plain or .gz; QRELS their judgements. Only judged documents can count, so a curve is understated where it
    goes deeper than the pool that was judged; and a kind with more runs finds more.
    """
    from positionbias.core.publish import refuse_existing
    from positionbias.pooling.coverage import coverage_results

    place = output_place(out) if out else None
    if place:
        refuse_existing(place, overwrite=overwrite)
    judged = judged_pool(runs, qrels, systems)
    results = coverage_results(judged.runs, collection=judged.name, depth=depth, deepest=deepest, level=level)
    if place:
        settings = {"depth": depth, "deepest": deepest, "relevant_from": level}
        save(place, results, judged, "pool coverage", settings, seed=None, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: coverage_text(results))


def coverage_text(results: Sequence[Result]) -> str:
    """A row a kind, a pair of columns a depth."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.pools import CoverageFigures, TaskFigures
    from positionbias.results.select import of_type

    [(_, task)], kinds = of_type(results, TaskFigures), [own for _, own in of_type(results, CoverageFigures)]
    depths = kinds[0].depths_by_query
    lines = [("relevant documents found, and by this kind alone, at depth", "systems", *(f"{depth}" for depth in depths))]
    for own in kinds:
        cells = (f"{own.found_by_depth[depth - 1]:,} ({own.unique_by_depth[depth - 1]:,})" for depth in depths)
        lines.append((own.kind, f"{own.systems:,}", *cells))
    known = f"{task.relevant:,} of {task.judgements:,} judgements are of grade {task.relevant_from} or more"
    return f"{aligned(lines)}\n\n{task.queries:,} queries; {known}."
