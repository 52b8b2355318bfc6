"""``posbias demo``: the whole study in miniature."""

from __future__ import annotations

import os

import click

from positionbias.cli.common import emit, json_option, say, seed_option

__all__ = ["demo"]


@click.command()
@click.option(
    "--out", default="posbias-demo", show_default=True, metavar="FOLDER", help="Where to write; an interrupted demo goes on."
)
@seed_option()
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=lambda: min(2, os.cpu_count() or 1),
    show_default="2, or 1 on one core",
    help="Processes; the output is the same for any number.",
)
@json_option
def demo(out: str, seed: int, workers: int, as_json: bool) -> None:
    """Plant a collection with a known bias, measure it, remove it, train on both, and show the difference.

    Needs no GPU, no download and under five minutes on two cores.
    """
    from pathlib import Path

    from positionbias.ops.studies import reported
    from positionbias.papers.position_bias.study import run_demo
    from positionbias.studies.workshop import Workshop

    place = Path(out)
    found = reported(run_demo(Workshop(place, say, workers=workers), seed=seed), place)
    emit(found.results, as_json=as_json, table=found.__str__)
    say(
        "\nNext, on your own data:\n"
        "  posbias import squad --train train-v1.1.json --test dev-v1.1.json --validation 1000 --out squad\n"
        "  posbias histogram squad --split train\n"
        "  posbias vectors distil --encoder minilm squad --out squad-words\n"
        "  posbias study position-bias squad --quick --word-vectors squad-words --out squad-study"
    )
