"""``posbias rerank``: candidates in a trained model's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from positionbias.cli.common import (
    emit,
    input_place,
    json_option,
    kind_option,
    model_place,
    out_option,
    output_place,
    overwrite_option,
    ranking_options,
    say,
)
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.ranking.rerank import Rescored

__all__ = ["rerank"]


@click.command()
@click.argument("collection")
@click.option(
    "--model",
    required=True,
    help="A checkpoint; a model of transformers or sentence-transformers (a folder, a hub id, minilm); or your own module:function.",
)
@kind_option
@click.option("--split", default="test", show_default=True, help="Whose queries.")
@click.option("--candidates", metavar="RUN", required=True, help="The run to re-rank.")
@click.option(
    "--depth",
    type=int,
    help="Candidates to re-rank; by default what validation found best, all where nothing was tuned.",
)
@click.option("--name", help="The run's tag; by default the checkpoint's name.")
@ranking_options
@out_option(what="The re-ranked run.")
@overwrite_option
@json_option
def rerank(
    collection: str,
    model: str,
    kind: str | None,
    split: str,
    candidates: str,
    depth: int | None,
    name: str | None,
    computing: Computing,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Re-rank the candidates of COLLECTION's queries. What reads both sides apart encodes each distinct passage once.

    Candidates beyond the depth stay behind, in their order.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.run import read_run
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.ranking.rerank import rerank_run

    checkpoint = load_checkpoint(model_place(model), kind)
    checkpoint.model.to(computing.pick_device())
    found = find_collection(collection)
    source, place = input_place(candidates), output_place(out)
    run = read_run(source)
    done = rerank_run(
        checkpoint, found, split, run, source, place, depth=depth, name=name, config=computing.config, overwrite=overwrite
    )
    for remark in checkpoint.ending.remarks(depth):
        say(f"{checkpoint.name}: {remark}")
    if done.passages:
        _say_counts(done)
        told = f"{done.run.pairs:,} candidates re-ranked to {place}"
    else:
        told = f"nothing to re-rank at depth 1: the candidates' own order was written to {place}"
    emit([done.result(found.name, split)], as_json=as_json, table=lambda: told)
    say(f"next: posbias evaluate {out} --collection {collection} --split {split}")


def _say_counts(done: Rescored) -> None:
    pairs, counts = done.run.pairs, done.counts
    rate = f"{pairs / max(1e-9, done.seconds):,.0f} pairs/s"
    if done.cached:
        times = f"with {counts.again:,} encodings beyond one each" if counts.again else "each encoded once"
        say(f"{pairs:,} pairs of {done.passages:,} passages, {times}: {rate}")
        what, of = "passages", done.passages
    else:
        say(f"{pairs:,} pairs, each read for itself, of {done.passages:,} passages: {rate}")
        what, of = "pairs", pairs
    if done.room is not None:
        say(f"{counts.truncated / max(1, of):.1%} of the {what} fill the limit of {done.room} tokens, and may go on behind it")
    if counts.batch_tokens is not None:
        say(f"the device's memory was too small for the batches: went on with {counts.batch_tokens:,} tokens a batch")
    if counts.empty_queries:
        say(f"{counts.empty_queries:,} queries hold no word: their passages tie")
