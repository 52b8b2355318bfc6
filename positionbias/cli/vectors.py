"""``posbias vectors``: word vectors to start TK from."""

from __future__ import annotations

import click

from positionbias.cli.common import emit, json_option, out_option, output_place, overwrite_option, say

__all__ = ["vectors"]


@click.group()
def vectors() -> None:
    """Word vectors to start TK from, without a download."""


@vectors.command()
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION…")
@click.option("--encoder", required=True, metavar="minilm|FOLDER|ID", help="The pre-trained encoder that reads each word.")
@click.option("--dimension", type=int, default=300, show_default=True, help="Principal components kept: TK's --dimension.")
@click.option(
    "--sif-coefficient",
    type=float,
    default=1e-4,
    show_default=True,
    help="a in the weight a / (a + p) of a word that is the share p of all words; 0 weighs all alike.",
)
@click.option("--minimum-count", type=int, default=2, show_default=True, help="A word has a vector if it stands so often.")
@click.option("--split", metavar="SPLIT", help="Its queries' words count too.  [default: train, where there is one]")
@click.option("--batch-size", type=int, default=256, show_default=True, help="Words read together.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="CPU threads; the output is the same for any number.",
)
@out_option(what="The vectors, a .safetensors file.")
@overwrite_option
@json_option
def distil(
    collections: tuple[str, ...],
    encoder: str,
    split: str | None,
    threads: int,
    out: str,
    overwrite: bool,
    as_json: bool,
    **given: float,
) -> None:
    """Vectors of the collections' words from a pre-trained encoder: the static-embedding recipe of model2vec.

    Each word is read as a text of its own; the mean of its last hidden states is reduced to principal components and weighted by
    the word's frequency. Give all collections that one TK will meet (to train on one and test on another).

    \b
      posbias vectors distil --encoder minilm squad --out squad.safetensors
      posbias train tk squad --word-vectors squad.safetensors …
    """
    from positionbias.core.collection import find_collection
    from positionbias.models.distil import DistilSettings, distil
    from positionbias.results.artefacts import WORD_VECTORS, WordVectorFigures
    from positionbias.results.result import Result

    settings = DistilSettings(**given)  # type: ignore[arg-type]
    opened = [find_collection(place) for place in collections]
    place = output_place(out)
    manifest = distil(opened, encoder, place, settings, split=split, threads=threads, overwrite=overwrite)
    figures = WordVectorFigures.of_facts(manifest.content)
    result = Result(
        WORD_VECTORS,
        "+".join(collection.name for collection in opened),
        split or "train",
        encoder,
        None,
        figures.words,
        None,
        figures.words,
        figures,
    )

    def table() -> str:
        left_out = f"{figures.words_too_rare:,} too rare, {figures.words_without_pieces:,} that the encoder cannot read"
        return (
            f"{place}: {figures.words:,} words, {figures.dimension} wide, {figures.variance_kept:.1%} of the variance kept; "
            f"left out: {left_out}"
        )

    emit([result], as_json=as_json, table=table)
    say(f"next: posbias train tk COLLECTION --word-vectors {out} …")
