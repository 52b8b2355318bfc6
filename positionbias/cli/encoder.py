"""``posbias encoder``: a small BERT with random weights, where no pre-trained one is to be had."""

from __future__ import annotations

import click

from positionbias.cli.common import emit, json_option, out_option, output_place, overwrite_option, say, seed_option

__all__ = ["encoder"]


@click.command()
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION…")
@click.option("--layers", type=int, default=2, show_default=True, help="Layers of attention.")
@click.option(
    "--width", type=int, default=128, show_default=True, help="Of a state; feed-forward layers are four times as wide."
)
@click.option("--heads", type=int, default=2, show_default=True, help="Of each layer; they share the width.")
@click.option("--pieces", type=int, default=8_000, show_default=True, help="Word pieces at most, special ones counted.")
@click.option("--positions", type=int, default=512, show_default=True, help="Tokens that it can read at once.")
@out_option(what="The encoder, a folder of Hugging Face's layout.")
@seed_option()
@overwrite_option
@json_option
def encoder(collections: tuple[str, ...], out: str, overwrite: bool, as_json: bool, **given: int) -> None:
    """A small BERT with random weights, its word pieces learned from the collections.

    For a machine without a pre-trained encoder, and for experiments on planted collections, where what an encoder has read before is of no
    use. A bert_cat or bert_dot that begins with it needs far more steps, and a higher learning rate, than with a pre-trained one.

    \b
      posbias encoder planted --layers 2 --width 128 --out small-bert
      posbias train bert_cat planted --encoder small-bert --learning-rate 3e-4 …
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.models.new_encoder import EncoderSettings, make_encoder
    from positionbias.results.artefacts import NEW_ENCODER, NewEncoderFigures
    from positionbias.results.result import Result

    settings = EncoderSettings(**given)
    opened = [find_collection(place) for place in collections]
    place = output_place(out)
    made = make_encoder(opened, place, settings, overwrite=overwrite)
    figures = NewEncoderFigures.of_facts(made.content)
    names = "+".join(collection.name for collection in opened)
    result = Result(NEW_ENCODER, names, "train", place.name, settings.seed, figures.weights, None, figures.words, figures)
    shape = f"{settings.layers} layers, {settings.width} wide, {figures.weights:,} random weights"
    emit(
        [result],
        as_json=as_json,
        table=lambda: f"{place}: {shape}; {figures.pieces:,} pieces learned from {figures.words:,} words",
    )
    say(f"next: posbias train bert_cat COLLECTION --encoder {place} …")
