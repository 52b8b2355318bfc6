"""``posbias ensemble``: several runs as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from positionbias.cli.common import emit, input_place, json_option, out_option, output_place, overwrite_option, say

if TYPE_CHECKING:
    from positionbias.evaluation.fusion import Fused, Fusion

__all__ = ["ensemble"]


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--by",
    type=click.Choice(["z-scores", "reciprocal-ranks"]),
    default="z-scores",
    show_default=True,
    help="The mean of each run's z-scores of a query, or the sum of 1 / (k + rank).",
)
@click.option("--k", type=click.IntRange(min=0), help="Of reciprocal ranks. [default: 60]")
@click.option("--depth", type=click.IntRange(min=1), help="Passages of each run and query that are taken; by default all.")
@click.option("--name", default="ensemble", show_default=True, help="The run's tag.")
@out_option(what="The ensemble's run.")
@overwrite_option
@json_option
def ensemble(
    runs: tuple[str, ...], by: str, k: int | None, depth: int | None, name: str, out: str, overwrite: bool, as_json: bool
) -> None:
    """Several RUNs over the same queries and collection as one.

    A passage that a run has not for a query gets the least of its z-scores, or no reciprocal rank; how many these are is said. Of a
    re-ranked run z-scores take what its model scored, down to the depth in its manifest; reciprocal ranks take every rank.
    """
    from positionbias.core.errors import SettingError
    from positionbias.evaluation.fusion import K, fuse_runs

    if k is not None and by != "reciprocal-ranks":
        raise SettingError(f"--k: wanted --by reciprocal-ranks beside it; found --by {by}; leave --k out")
    places, place = [input_place(run) for run in runs], output_place(out)
    k = K if k is None else k
    done = fuse_runs(places, place, by=cast("Fusion", by), k=k, depth=depth, name=name, overwrite=overwrite)
    _say_missing(done, by)
    emit([done.result()], as_json=as_json, table=lambda: _line(done, len(places), place))
    say(f"next: posbias evaluate {out} --collection COLLECTION --split SPLIT")


def _line(done: Fused, runs: int, place: Any) -> str:
    return f"{runs} runs as one: {done.run.pairs:,} passages of {len(done.run):,} queries, written to {place}"


def _say_missing(done: Fused, by: str) -> None:
    for label, missing in done.missing.items():
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (missing.queries, "queries that others have"),
                (missing.passages, "passages that others have"),
            )
            if count
        ]
        if parts:
            say(f"{label} is without {' and '.join(parts)}")
        if missing.equal:
            but = "which it says nothing of" if by == "z-scores" else "whose ranks are those of their ids"
            say(f"{label} scores all passages alike for {missing.equal:,} queries, {but}")
        if missing.below:
            say(
                f"{label} was re-ranked down to {done.scored[label]}: {missing.below:,} passages below have no score of its own, and get its "
                "least z-score of their query"
            )
