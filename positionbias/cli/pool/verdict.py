"""``posbias pool verdict``: whether an existing collection can judge one new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import emit, output_place, say, seed_option
from positionbias.cli.pool.inputs import depth_option, measure_option, opened_pool, relevant_option, result_options, save

if TYPE_CHECKING:
    from positionbias.results.pool_verdict import ComparisonsFigures
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
    from positionbias.results.payloads import Finding
    from positionbias.results.pool_verdict import ComparisonsFigures, UnjudgedFigures
    from positionbias.results.select import of_type

    [(_, head)] = of_type(results, UnjudgedFigures)
    parts = [finding.text for _, finding in of_type(results, Finding)]
    parts.append(f"RBP of {head.run}: {head.rbp:.4f}, residual {head.residual:.4f} (p = 0.8).")
    parts += [_open_orders(compared) for _, compared in of_type(results, ComparisonsFigures)]
    return "\n\n".join(filter(None, parts))


def _open_orders(compared: ComparisonsFigures) -> str:
    from positionbias.report.collection_text import aligned

    open_ = [(one.probability, one) for one in compared.comparisons if one.says == "open" and one.probability is not None]
    if not open_:
        return ""
    table = [(f"open by {compared.measure}", "difference now", "predicted", "could be", "probability that it is better")]
    table += [
        (
            one.run,
            f"{one.difference:+.4f}",
            f"{one.predicted:+.4f}",
            f"{one.least:+.4f} to {one.most:+.4f}",
            f"{probability:.2f}",
        )
        for probability, one in sorted(open_, key=lambda item: item[0])
    ]
    return f"{aligned(table)}\nEvery other order stands in --json and --out."
