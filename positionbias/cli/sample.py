"""``posbias sample``: a smaller collection from a large one."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option, seed_option

__all__ = ["sample"]


@click.command()
@click.argument("collection")
@click.option("--queries", type=int, required=True, metavar="N", help="Queries to draw of each split, at most.")
@click.option(
    "--passages",
    type=int,
    required=True,
    metavar="M",
    help="Passages in all: those judged for the drawn queries or answering them, and others drawn up to M.",
)
@click.option("--split", "splits", multiple=True, help="A split to keep; all by default; may be given again.")
@seed_option()
@engine_options
@out_option(what="The sample.")
@overwrite_option
@json_option
def sample(
    collection: str,
    queries: int,
    passages: int,
    splits: tuple[str, ...],
    seed: int,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """N queries a split of COLLECTION and M passages: all that is judged for these queries, and others beside it.

    What is drawn depends on the seed and its id alone: the sample of fewer is part of the sample of more. Where more than M passages are
    judged, nothing is written, and how many is said.
    """
    from positionbias.cli.imports.common import report_import
    from positionbias.core.collection import find_collection
    from positionbias.corpora.sample import sample as write_sample

    with engine.open() as map_shards:
        drawn = write_sample(
            find_collection(collection),
            output_place(out),
            queries=queries,
            passages=passages,
            splits=splits,
            seed=seed,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.provenance,
        )
    report_import(drawn, out, as_json)
