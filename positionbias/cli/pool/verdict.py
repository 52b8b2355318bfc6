"""``posbias pool verdict``: whether an existing collection can judge one new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import emit, output_place
from positionbias.cli.pool.inputs import depth_option, judged_pool, measure_option, relevant_option, result_options, save

if TYPE_CHECKING:
    from positionbias.core.result import Result

__all__ = ["verdict", "verdict_text"]


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("qrels", metavar="QRELS")
@click.option("--pool-runs", required=True, metavar="DIR", help="The runs that the judged pool was made from, a folder.")
@click.option("--systems", metavar="FILE", help="Lines of run, group and kind of the pooled runs, so that these are told.")
@depth_option("How far down unjudged documents are counted.")
@measure_option(("nDCG@10",), " nDCG@k, RR or P@k, whose bounds are known.")
@relevant_option
@result_options
def verdict(
    run: str, qrels: str, pool_runs: str, systems: str | None, depth: int, measures: tuple[str, ...], level: int, out: str | None,
    overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Can the collection of QRELS judge RUN, which did not help to make it?

    How much of its top is unjudged, beside the runs that the pool was made from; between which bounds its scores lie, whatever the unjudged
    documents are (each not relevant, or of the highest grade); and with which pooled runs a comparison holds all the same.
    """
    from positionbias.core.files import refuse_existing
    from positionbias.pooling.scores import pool_measures
    from positionbias.pooling.verdict import check_bounds, verdict_results
    from positionbias.pooling.verdict import verdict as judge

    place = output_place(out) if out else None
    if place:
        refuse_existing(place, overwrite=overwrite)
    chosen = pool_measures(measures, level)
    check_bounds(chosen)
    judged = judged_pool(pool_runs, qrels, systems, new=run)
    results = verdict_results(judge(judged.runs, chosen, depth=depth, level=level), collection=judged.name)
    if place:
        settings = {"depth": depth, "measures": list(measures), "relevant_from": level}
        save(place, results, judged, "pool verdict", settings, seed=None, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: verdict_text(results))


def verdict_text(results: Sequence[Result]) -> str:
    """A table a measure, the pooled runs by score, and what it comes to."""
    from positionbias.cli.show import aligned
    from positionbias.core.payloads import Finding, Statistics

    found = [result.payload.rows for result in results if isinstance(result.payload, Statistics)]
    head = found[0]
    lines = []
    for score, listing in zip(
        (rows for rows in found if rows["what"] == "score"), (rows for rows in found if rows["what"] == "comparisons"), strict=True
    ):  # fmt: skip
        table = [(score["measure"], "score", "could be", "unjudged", "difference", "could be", "says")]
        table.append(
            (
                head["run"],
                f"{score['score']:.4f}",
                f"{score['low']:.4f} to {score['high']:.4f}",
                f"{head['share']:.1%}",
                "",
                "",
                "",
            )
        )
        pairs = sorted(zip(score["pooled"], listing["comparisons"], strict=True), key=lambda pair: -pair[0]["score"])
        for own, compared in pairs:
            says = compared["says"] + (" (significant)" if compared["significant"] else "")
            bounds = f"{own['low']:.4f} to {own['high']:.4f}"
            least = f"{compared['least']:+.4f} to {compared['most']:+.4f}"
            table.append(
                (own["run"], f"{own['score']:.4f}", bounds, f"{own['unjudged']:.1%}", f"{compared['difference']:+.4f}", least, says)
            )  # fmt: skip
        lines += [aligned(table), ""]
    lines.append(f"RBP of {head['run']}: {head['RBP']:.4f}, residual {head['RBP residual']:.4f} (p = 0.8).")
    lines += [result.payload.text for result in results if isinstance(result.payload, Finding)]
    return "\n".join(lines)
