"""``posbias train knrm``, ``conv_knrm``, ``duet`` and ``pacrr``: the re-rankers that read words, before and beside TK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from positionbias.cli.common import Decorator, all_of
from positionbias.cli.training_options import embedding_option

__all__ = ["dimension_option", "length_options", "vectors_option", "word_commands"]

vectors_option: Decorator = click.option(
    "--word-vectors",
    metavar="FILE",
    help="Vectors to start from: GloVe's, word2vec's or ours; by default words start at random.",
)
dimension_option: Decorator = click.option(
    "--dimension", type=int, default=300, show_default=True, help="Width of word vectors."
)


def length_options(query: int, passage: int = 200) -> Decorator:
    """How many words are read of a query and of a passage."""
    return all_of(
        click.option("--query-length", type=int, default=query, show_default=True, help="Words read of a query."),
        click.option("--passage-length", type=int, default=passage, show_default=True, help="Words read of a passage."),
    )


_kernel_options: Decorator = all_of(
    click.option("--kernels", type=int, default=11, show_default=True, help="At cosines of 1, 0.9, … −0.9."),
    click.option("--kernel-sigma", type=float, default=0.1, show_default=True, help="Width of a kernel, but for the first."),
    click.option("--exact-sigma", type=float, default=1e-3, show_default=True, help="Of the first, which the same word meets."),
    length_options(30),
    embedding_option,
)
_ngram_options: Decorator = all_of(
    click.option(
        "--longest-ngram", type=int, default=3, show_default=True, help="Words of the longest n-gram; all are compared."
    ),
    click.option("--filters", type=int, default=128, show_default=True, help="Filters of each length, the width of an n-gram."),
)
_duet_options: Decorator = all_of(
    click.option("--filters", type=int, default=300, show_default=True, help="Filters, and width of every layer."),
    click.option("--ngraphs", type=int, default=2_000, show_default=True, help="The most frequent 1- to 5-graphs, so many."),
    length_options(10),
    click.option("--window", type=int, default=3, show_default=True, help="Words that a filter over n-graphs sees."),
    click.option(
        "--pooling-window", type=int, default=100, show_default=True, help="Places of a passage that are pooled together."
    ),
    click.option("--dropout-rate", type=float, default=0.2, show_default=True, help="In training, before the last layer."),
)
_pacrr_options: Decorator = all_of(
    dimension_option,
    click.option("--longest-window", type=int, default=3, show_default=True, help="Words of the largest filter's sides."),
    click.option("--filters", type=int, default=32, show_default=True, help="Filters of a size."),
    click.option("--strongest", type=int, default=3, show_default=True, help="Signals kept of a query word and a size."),
    length_options(16),
    click.option("--learn-words/--fixed-words", default=False, show_default=True, help="Whether word vectors are learned too."),
    embedding_option,
)


def word_commands(data: Decorator, training: Decorator, run: Callable[[str, dict[str, Any]], None]) -> list[click.Command]:
    """The commands; ``data`` and ``training`` are the options that all trainings share, ``run`` trains a model of a kind."""

    @click.command()
    @data
    @vectors_option
    @training
    @dimension_option
    @_kernel_options
    def knrm(**given: Any) -> None:
        """KNRM on COLLECTION: word vectors' cosines, kernel pooling (Xiong et al. 2017).

        With the same losses and the same early stopping as TK, which has Transformers before the kernels.
        """
        run("knrm", given)

    @click.command("conv_knrm")
    @data
    @vectors_option
    @training
    @dimension_option
    @_ngram_options
    @_kernel_options
    def conv_knrm(**given: Any) -> None:
        """ConvKNRM on COLLECTION: KNRM over n-grams that convolutions make of the words (Dai et al. 2018).

        N-grams of each length are compared with those of every length.
        """
        run("conv_knrm", given)

    @click.command()
    @data
    @training
    @_duet_options
    def duet(**given: Any) -> None:
        """Duet on COLLECTION: exact matches beside words' letters (Mitra, Diaz and Craswell 2017).

        The n-graphs are those of the collection's words, and are kept in the checkpoint. --passage-length 1000 is the paper's.
        """
        run("duet", given)

    @click.command()
    @data
    @vectors_option
    @training
    @_pacrr_options
    def pacrr(**given: Any) -> None:
        """PACRR on COLLECTION: convolutions over cosines, and an LSTM over the query (Hui et al. 2017).

        The IDF of words is counted in the collection, and is kept in the checkpoint. The paper's word vectors are not learned.
        """
        run("pacrr", given)

    return [knrm, conv_knrm, duet, pacrr]
