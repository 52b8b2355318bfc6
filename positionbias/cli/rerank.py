"""``posbias rerank``: candidates in a trained model's order."""

from __future__ import annotations

import click

from positionbias.cli.common import emit, input_place, json_option, out_option, output_place, overwrite_option, say

__all__ = ["rerank"]


@click.command()
@click.argument("collection")
@click.option("--model", required=True, help="The checkpoint.")
@click.option("--split", default="test", show_default=True, help="Whose queries.")
@click.option("--candidates", metavar="RUN", required=True, help="The run to re-rank.")
@click.option("--depth", type=click.IntRange(min=1), help="Candidates to re-rank; by default what validation found best.")
@click.option("--name", help="The run's tag; by default the checkpoint's name.")
@out_option(what="The re-ranked run.")
@overwrite_option
@json_option
def rerank(
    collection: str,
    model: str,
    split: str,
    candidates: str,
    depth: int | None,
    name: str | None,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Re-rank the candidates of COLLECTION's queries; each distinct passage is encoded once.

    Candidates beyond the depth stay behind, in their order.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.run import read_run
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.ranking.rerank import rerank_run

    checkpoint = load_checkpoint(input_place(model))
    found = find_collection(collection)
    source, place = input_place(candidates), output_place(out)
    done = rerank_run(checkpoint, found, split, read_run(source), source, place, depth=depth, name=name, overwrite=overwrite)
    share = done.truncated / max(1, done.passages)
    say(
        f"{done.passages:,} passages encoded once, {share:.1%} of them up to the limit of {checkpoint.model.config.passage_length} words"
    )
    if done.empty_queries:
        say(f"{done.empty_queries:,} queries hold no word: their passages tie")
    emit([done.result(found.name, split)], as_json=as_json, table=lambda: f"{done.run.pairs:,} candidates re-ranked to {place}")
    say(f"next: posbias evaluate {out} --collection {collection} --split {split}")
