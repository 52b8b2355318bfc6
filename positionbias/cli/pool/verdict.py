"""``posbias pool verdict``: whether an existing collection can judge one new run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import emit, output_place, say, seed_option
from positionbias.cli.pool.inputs import depth_option, measure_option, opened_pool, relevant_option, result_options, save

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = ["verdict", "verdict_text"]


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("qrels", metavar="QRELS")
@click.option(
    "--pool-runs", metavar="DIR", help="The runs that the judged pool was made from, a folder: needed for a prediction."
)
@click.option("--systems", metavar="FILE", help="Lines of run, group and kind of the pooled runs; RUN may have one.")
@depth_option("How far down unjudged documents are counted.")
@measure_option(("nDCG@10",), " nDCG@k, RR, P@k, AP or RBP.")
@relevant_option
@click.option(
    "--judge-next", metavar="FILE", help="Write RUN's unjudged documents in the order in which to judge them, for assessors."
)
@seed_option()
@result_options
def verdict(
    run: str, qrels: str, pool_runs: str | None, systems: str | None, depth: int, measures: tuple[str, ...], level: int, judge_next: str | None,
    seed: int, out: str | None, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Can the collection of QRELS judge RUN, which did not help to make it?

    With --pool-runs: the score that RUN would have, had it taken part in the pool, with a prediction interval that is calibrated by leaving the pooled
    groups out in turn; the probability that it is better than each pooled run; and which documents to judge next. Beside it stand bounds that hold
    whatever the unjudged documents are. Without: these bounds, and what the judged depth allows. --systems tells which runs are of one group.
    """
    from positionbias.core.publish import refuse_existing
    from positionbias.pooling.bounds import check_measure
    from positionbias.pooling.scores import pool_measures
    from positionbias.pooling.verdict import open_depth
    from positionbias.pooling.verdict import verdict as judge
    from positionbias.pooling.verdict_results import verdict_results, write_judge_next

    place, sheet = output_place(out) if out else None, output_place(judge_next) if judge_next else None
    for path in (place, sheet):
        if path:
            refuse_existing(path, overwrite=overwrite)
    chosen = pool_measures(measures, level)
    for measure in chosen:
        check_measure(measure)
    opened, judged = opened_pool(run, qrels, pool_runs, systems, open_depth(chosen, depth))
    found = judge(opened, chosen, depth=depth, level=level, seed=seed)
    results = verdict_results(found, collection=judged.name)
    if sheet:
        say(
            f"{write_judge_next(found, sheet, overwrite=overwrite):,} documents to judge written to {sheet}, by {chosen[0].name}"
        )
    if place:
        settings = {"depth": depth, "measures": list(measures), "relevant_from": level}
        save(place, results, judged, "pool verdict", settings, seed=seed, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: verdict_text(results))


def verdict_text(results: Sequence[Result]) -> str:
    """What is found by each measure, the answer first; RBP; then the orders that are open, the likeliest to be better last."""
    from positionbias.results.payloads import Finding, Statistics

    found = [result.payload.rows for result in results if isinstance(result.payload, Statistics)]
    [head] = [rows for rows in found if rows["what"] == "unjudged"]
    parts = [result.payload.text for result in results if isinstance(result.payload, Finding)]
    parts.append(f"RBP of {head['run']}: {head['RBP']:.4f}, residual {head['RBP residual']:.4f} (p = 0.8).")
    parts += [table for rows in found if rows["what"] == "comparisons" and (table := _open_orders(rows))]
    return "\n\n".join(parts)


def _open_orders(rows: Mapping[str, Any]) -> str:
    from positionbias.cli.show import aligned

    open_ = [row for row in rows["comparisons"] if row["says"] == "open" and row["probability"] is not None]
    if not open_:
        return ""
    table = [(f"open by {rows['measure']}", "difference now", "predicted", "could be", "probability that it is better")]
    table += [
        (row["run"], f"{row['difference']:+.4f}", f"{row['predicted']:+.4f}", f"{row['least']:+.4f} to {row['most']:+.4f}", f"{row['probability']:.2f}")
        for row in sorted(open_, key=lambda row: row["probability"])
    ]  # fmt: skip
    return f"{aligned(table)}\nEvery other order stands in --json and --out."
