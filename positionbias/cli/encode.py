"""``posbias encode``: a collection's passages as vectors."""

from __future__ import annotations

import time

import click

from positionbias.cli.common import (
    emit,
    json_option,
    kind_option,
    model_place,
    out_option,
    output_place,
    overwrite_option,
    ranking_options,
    say,
)
from positionbias.dense.settings import ON_DISK
from positionbias.ranking.config import Computing

__all__ = ["encode"]


@click.command()
@click.argument("collection")
@click.option(
    "--model",
    required=True,
    help="A model with one vector a text: a bert_dot checkpoint, a bi-encoder (a folder, a hub id), or minilm.",
)
@kind_option
@click.option(
    "--precision-on-disk",
    type=click.Choice(ON_DISK),
    default=ON_DISK[0],
    show_default=True,
    help="Of the vectors as they are kept. float16 takes half the space.",
)
@ranking_options
@out_option(what="The vectors, a folder.")
@overwrite_option
@json_option
def encode(
    collection: str,
    model: str,
    kind: str | None,
    precision_on_disk: str,
    computing: Computing,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Encode every passage of COLLECTION, for posbias retrieve --vectors.

    Vectors are kept in shards of 8,192 passages. The same command goes on where an interrupted one was.
    """
    from positionbias.core.collection import find_collection
    from positionbias.dense.encode import encode_collection
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.results.artefacts import VECTORS, VectorFigures
    from positionbias.results.result import Result

    checkpoint = load_checkpoint(model_place(model), kind)
    checkpoint.model.to(computing.pick_device())
    found, place = find_collection(collection), output_place(out)
    began = time.perf_counter()
    made = encode_collection(checkpoint, found, place, on_disk=precision_on_disk, config=computing.config, overwrite=overwrite)
    seconds = time.perf_counter() - began
    figures = VectorFigures.of_facts(made.manifest.content)
    say(
        f"{len(made) / max(1e-9, seconds):,.0f} passages/s; {figures.truncated:,} passages fill the model's limit, and may go on behind it"
    )
    if figures.empty_passages:
        say(f"{figures.empty_passages:,} passages are empty: they have the vector of an empty text")
    result = Result(VECTORS, found.name, "", checkpoint.name, None, len(made), None, len(made), figures)
    size = len(made) * made.dimension * (2 if made.precision == "float16" else 4)
    line = f"{place}: {len(made):,} vectors of {made.dimension} numbers, {made.precision}, compared by {figures.similarity}; {size / 1e6:,.1f} MB"
    emit([result], as_json=as_json, table=lambda: line)
    say(f"next: posbias retrieve {collection} --vectors {out} --model {model} --split SPLIT --out RUN")
