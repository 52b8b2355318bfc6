"""``posbias pool reliability``: how pools made from one kind of system judge systems of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import all_of, emit, output_place, seed_option
from positionbias.cli.pool.inputs import (
    depth_option,
    judged_pool,
    measure_option,
    relevant_option,
    result_options,
    runs_arguments,
    save,
)  # fmt: skip

if TYPE_CHECKING:
    from positionbias.pooling.judged_runs import JudgedRuns
    from positionbias.pooling.pools import PoolSettings
    from positionbias.pooling.reliability import Reliability
    from positionbias.pooling.scores import PoolMeasure
    from positionbias.results.result import Result

__all__ = ["reliability"]

_options = all_of(
    runs_arguments,
    depth_option("Of every pool, and of the gold's."),
    click.option("--pools", type=click.IntRange(min=1), default=10, show_default=True, help="How many are drawn of each kind."),
    measure_option(("RR", "nDCG@10")),
    click.option(
        "--gold",
        type=click.Choice(["pool", "all"]),
        default="pool",
        show_default=True,
        help="What pools are held against: the judgements in the pool of all runs, or every judgement.",
    ),
    relevant_option,
    click.option("--leave-out", is_flag=True, help="Also leave each group out of the gold, one at a time."),
    click.option("--curves", is_flag=True, help="Also by pool depth and by number of groups: several times the work."),
    click.option(
        "--relabel",
        type=click.FloatRange(min=0, max=1),
        default=0.0,
        metavar="SHARE",
        help="Also with this share of the kinds changed at random, again and again: what wrong labels do.",
    ),
    click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True, help="Of --relabel."),
    seed_option(),
    result_options,
)


@click.command()
@_options
def reliability(
    runs: str, qrels: str, systems: str, depth: int, pools: int, measures: tuple[str, ...], gold: str, level: int, leave_out: bool,
    curves: bool, relabel: float, repeats: int, seed: int, out: str | None, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Make pools from half of the groups of one kind, and see how they judge systems of each kind.

    RUNS is a folder of TREC runs, plain or .gz; QRELS their judgements. Every run is scored by the gold judgements and by those of each pool;
    test systems are those of no drawn group. Printed is first whether a kind is judged worse than any groups would be: kinds are permuted
    among groups 2,000 times, which says how often that answer is a false alarm. Then Kendall's tau between the two orders and the change of
    scores: the paper's Tables 1 and 2.

        posbias pool reliability runs/ qrels.txt --systems systems.tsv --pools 100 --out pools
    """
    from positionbias.cli.pool.reliability_text import reliability_text
    from positionbias.core.publish import refuse_existing
    from positionbias.pooling.kind_effects import kind_effects
    from positionbias.pooling.kind_results import kind_results
    from positionbias.pooling.pools import NOTES, PoolSettings
    from positionbias.pooling.reliability import reliability as measured
    from positionbias.pooling.reliability_results import reliability_results
    from positionbias.pooling.scores import pool_measures

    place = output_place(out) if out else None
    if place:
        refuse_existing(place, overwrite=overwrite)
    settings = PoolSettings(depth, pools, gold, seed)
    judged = judged_pool(runs, qrels, systems, measures=measures)
    chosen = pool_measures(measures, level)
    found = measured(judged.runs, chosen, settings, level=level)
    results = reliability_results(found, judged.runs, collection=judged.name, level=level)
    effects = kind_effects(judged.runs, chosen, settings)
    results += kind_results(effects, judged.runs, collection=judged.name, seed=seed)
    results += _more(judged.runs, judged.name, found, chosen, settings, level, leave_out, curves, relabel, repeats)
    if place:
        told: dict[str, Any] = {
            "depth": depth,
            "pools": pools,
            "measures": list(measures),
            "gold": gold,
            "relevant_from": level,
        }
        told |= {"leave_out": leave_out, "curves": curves, "relabel": relabel, "repeats": repeats if relabel else None}
        save(place, results, judged, "pool reliability", told, seed=seed, overwrite=overwrite, notes=NOTES)
    emit(results, as_json=as_json, table=lambda: reliability_text(results))


def _more(
    runs: JudgedRuns, name: str, found: Reliability, measures: list[PoolMeasure], settings: PoolSettings, level: int,
    leave_out: bool, curves: bool, relabel: float, repeats: int,
) -> list[Result]:  # fmt: skip
    """What was asked for beside the tables."""
    from positionbias.pooling.curves import curve_depths, curve_results, depth_curve, groups_curve
    from positionbias.pooling.leave_out import leave_out as left_out
    from positionbias.pooling.leave_out import leave_out_results
    from positionbias.pooling.relabelled import relabelled, relabelled_results

    results: list[Result] = []
    if leave_out:
        left = left_out(runs, measures, settings, level=level)
        results += leave_out_results(left, runs, measures, collection=name)
    if curves:
        deep = depth_curve(runs, measures, settings, curve_depths(settings), level=level)
        results += curve_results("depth", deep, runs, collection=name)
        results += curve_results("groups", groups_curve(runs, measures, settings, level=level), runs, collection=name)
    if relabel:
        again = relabelled(runs, measures, settings, share=relabel, repeats=repeats, level=level)
        results += relabelled_results(found, again, collection=name, share=relabel, drawn=repeats)
    return results
