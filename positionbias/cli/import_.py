"""``posbias import``: a published data set, or the planted one, becomes a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import emit, json_option, out_option, output_place, overwrite_option, say, seed_option

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

__all__ = ["import_"]


@click.group("import")
def import_() -> None:
    """Bring a data set in as a collection."""


@import_.command()
@click.option("--train", multiple=True, required=True, metavar="FILE", help="A training file; may be given again.")
@click.option("--test", required=True, metavar="FILE", help="The file to test on: SQuAD's development file.")
@click.option(
    "--validation",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Questions to draw from training, and to take out of it, for validation.",
)
@seed_option()
@out_option(what="The collection.")
@overwrite_option
@json_option
def squad(train: tuple[str, ...], test: str, validation: int, seed: int, out: str, overwrite: bool, as_json: bool) -> None:
    """SQuAD v1.1 or v2.0, from its JSON files (plain, .gz or .zst).

    Each paragraph is a passage. Unanswerable questions are dropped and counted.
    """
    from positionbias.formats.squad import import_squad

    place = output_place(out)
    collection = import_squad(train, test, place, validation=validation, seed=seed, overwrite=overwrite)
    for item in collection.manifest.content["source"]["files"]:
        say(
            f"{item['role']} file, SQuAD v{item['version']}: {item['questions']:,} questions, "
            f"{item['unanswerable']:,} unanswerable and dropped; {item['repeated_spans']:,} repeated answer spans"
        )
    _report(collection, out, as_json)


@import_.command()
@click.option(
    "--front-loading",
    type=float,
    metavar="0..1",
    help="How strongly answers sit in front: 0 uniform, 1 strongest; by default about as in MS MARCO.",
)
@click.option("--passages", type=int, metavar="N", help="Passages in all.")
@click.option("--queries", type=int, metavar="N", help="Queries in all, over the three splits.")
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
    _report(write_planted(output_place(out), settings, overwrite=overwrite), out, as_json)


def _report(collection: Collection, out: str, as_json: bool) -> None:
    from positionbias.cli.show import counts_table
    from positionbias.text.statistics import collection_counts

    results = collection_counts(collection)
    emit(results, as_json=as_json, table=lambda: counts_table(results))
    say(f"written to {collection.path}; look at it with: posbias show {out}")
