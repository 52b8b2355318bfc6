"""``posbias train bert_cat``, ``bert_dot``, ``colbert`` and ``mono_t5``: the re-rankers that begin with pre-trained weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from positionbias.cli.common import Decorator, all_of
from positionbias.cli.settings_options import settings_options
from positionbias.training.config import TrainConfig

__all__ = ["ENCODERS", "encoder_commands"]

# the papers'
ENCODERS = {**dict.fromkeys(("bert_cat", "bert_dot", "colbert"), "distilbert-base-uncased"), "mono_t5": "t5-base"}

_encoder_option: Decorator = click.option(
    "--encoder",
    metavar="PATH|ID",
    help=f"What to start from: a folder, a Hugging Face id, or minilm (a pip package). [default: {ENCODERS['bert_cat']}]",
)
_dropout_option: Decorator = settings_options(TrainConfig, "dropout")
_side_length_options: Decorator = all_of(
    click.option("--query-length", type=int, default=30, show_default=True, help="Word pieces read of a query."),
    click.option("--passage-length", type=int, default=200, show_default=True, help="Word pieces read of a passage."),
)


def encoder_commands(data: Decorator, training: Decorator, run: Callable[[str, dict[str, Any]], None]) -> list[click.Command]:
    """The commands; ``data`` and ``training`` are the options that all trainings share, ``run`` trains a model of a kind."""

    @click.command("bert_cat")
    @data
    @_encoder_option
    @_dropout_option
    @training
    @click.option("--pair-length", type=int, default=230, show_default=True, help="Word pieces read of a query and a passage.")
    def bert_cat(**given: Any) -> None:
        """BERT_CAT on COLLECTION: query and passage read together. Stopped early on validation nDCG@10.

        With --loss pointwise it is monoBERT: two logits, relevant and not, and the score is the log-probability of relevant.
        """
        run("bert_cat", given)

    @click.command("bert_dot")
    @data
    @_encoder_option
    @_dropout_option
    @training
    @_side_length_options
    @click.option(
        "--pooling",
        type=click.Choice(["cls", "mean"]),
        default="cls",
        show_default=True,
        help="A text's vector: that of [CLS], or the mean over its tokens.",
    )
    @click.option("--normalize", is_flag=True, help="Vectors of length 1: cosines.")
    def bert_dot(**given: Any) -> None:
        """BERT_DOT on COLLECTION: a vector a text, one encoder. Pairwise hinge loss, stopped early on validation nDCG@10."""
        run("bert_dot", given)

    @click.command("colbert")
    @data
    @_encoder_option
    @_dropout_option
    @training
    @_side_length_options
    @click.option(
        "--dimension", type=int, default=768, show_default=True, help="Width of a term's vector; the original has 128."
    )
    @click.option(
        "--similarity",
        type=click.Choice(["dot", "cosine"]),
        default="dot",
        show_default=True,
        help="Of two terms: the dot product of their vectors as they are, or their cosine, as the original has it.",
    )
    def colbert(**given: Any) -> None:
        """ColBERT on COLLECTION: a vector a word piece, one encoder; each of the query's with its best match, summed.

        Stopped early on validation nDCG@10. sentence-transformers' MultiVectorEncoder loads what is trained.
        """
        run("colbert", given)

    @click.command("mono_t5")
    @data
    @click.option(
        "--encoder",
        metavar="PATH|ID",
        help=f"The T5 to start from, decoder and all: a folder, or a Hugging Face id. [default: {ENCODERS['mono_t5']}]",
    )
    @_dropout_option
    @training
    @click.option("--pair-length", type=int, default=512, show_default=True, help="Word pieces read of a query and a passage.")
    def mono_t5(**given: Any) -> None:
        """monoT5 on COLLECTION: a T5 that answers true or false, each passage for itself. Stopped early on validation nDCG@10.

        The paper trained with Adafactor at 1e-3; here it is Adam, at 1e-4.
        """
        run("mono_t5", given)

    return [bert_cat, bert_dot, colbert, mono_t5]
