"""``posbias merge``: several collections as one."""

from __future__ import annotations

import click

from positionbias.cli.common import Engine, engine_options, json_option, out_option, output_place, overwrite_option

__all__ = ["merge"]


@click.command()
@click.argument("collections", nargs=-1, required=True, metavar="NAME=COLLECTION…")
@click.option("--apart", is_flag=True, help="Keep splits of one name apart: A's split train is A.train.")
@engine_options
@out_option(what="The merged collection.")
@overwrite_option
@json_option
def merge(
    collections: tuple[str, ...],
    apart: bool,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Two or more collections as one: what A calls 17 is A:17 there, queries and passages alike.

    Splits of one name become one split, so that a model can be trained across corpora; their judgement sets of one name likewise.
    With --apart each keeps its own, to train on one corpus and test on another. Nothing is de-duplicated.

    \b
      posbias merge msm=msmarco squad=squad --out both
      posbias merge msm=msmarco robust=robust04 --apart --out both
    """
    from positionbias.cli.imports.common import report_import
    from positionbias.core.collection import find_collection
    from positionbias.corpora.merge import merge as write_merged

    named = _named(collections)
    opened = {prefix: find_collection(place) for prefix, place in named.items()}
    with engine.open() as map_shards:
        merged = write_merged(
            opened,
            output_place(out),
            apart=apart,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.provenance,
        )
    report_import(merged, out, as_json)


def _named(collections: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for given in collections:
        prefix, equals, place = given.partition("=")
        if not (equals and prefix and place):
            raise click.UsageError(f"wanted NAME=COLLECTION, as in A=msmarco B=squad; found {given!r}")
        if prefix in named:
            raise click.UsageError(f"wanted a name of its own for each collection; found {prefix!r} twice")
        named[prefix] = place
    return named
