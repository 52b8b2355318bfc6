"""``posbias import planted``."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.common import json_option, out_option, output_place, overwrite_option, seed_option
from positionbias.cli.imports.common import report_import

__all__ = ["planted"]


@click.command()
@click.option(
    "--front-loading",
    type=float,
    metavar="0..1",
    help="How strongly answers sit in front: 0 uniform, 1 strongest; by default about as in MS MARCO.",
)
@click.option("--passages", type=int, metavar="N", help="Passages in all.")
@click.option("--queries", type=int, metavar="N", help="Queries in all, over the three splits.")
@click.option(
    "--leaked-queries",
    type=int,
    metavar="N",
    help="Training queries more, each a near-duplicate of a test query; the true pairs stand in the collection as pairs.jsonl.",
)
@click.option(
    "--fresh-queries",
    type=int,
    metavar="N",
    help="A split fresh of N queries more, for posbias contamination suspect: like the test queries, and trained on by nobody.",
)
@click.option(
    "--paraphrased",
    is_flag=True,
    default=None,
    help="A split paraphrased: the test queries in other words, with their ids and judgements.",
)
@click.option(
    "--answers-each",
    type=int,
    metavar="N",
    help="N passages answer each query, and only some were clicked: judgements are clicks, and the sets true and passed-over stand beside.",
)
@click.option(
    "--click-rate", type=float, metavar="0..1", help="The chance that a passage that answers was clicked. [default: 0.3]"
)
@seed_option()
@out_option(what="The collection.")
@overwrite_option
@json_option
def planted(seed: int, out: str, overwrite: bool, as_json: bool, **given: Any) -> None:
    """An invented collection whose position bias you set.

    What a model does with it can be held against a known truth.
    """
    from positionbias.planted.generator import PlantedSettings, write_planted

    settings = PlantedSettings(seed=seed, **{name: value for name, value in given.items() if value is not None})
    report_import(write_planted(output_place(out), settings, overwrite=overwrite), out, as_json)
