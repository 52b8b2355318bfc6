"""``posbias import squad``."""

from __future__ import annotations

import click

from positionbias.cli.common import json_option, out_option, output_place, overwrite_option, say, seed_option
from positionbias.cli.imports.common import report_import, validation_options

__all__ = ["squad"]


@click.command()
@click.option("--train", multiple=True, required=True, metavar="FILE", help="A training file; may be given again.")
@click.option("--test", required=True, metavar="FILE", help="The file to test on: SQuAD's development file.")
@validation_options
@seed_option()
@out_option(what="The collection.")
@overwrite_option
@json_option
def squad(
    train: tuple[str, ...],
    test: str,
    validation: int,
    validation_by: str,
    seed: int,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """SQuAD v1.1 or v2.0, from its JSON files (plain, .gz or .zst).

    Each paragraph is a passage. Unanswerable questions are dropped and counted. --validation takes whole articles where these come
    within a tenth of N, else whole passages.
    """
    from positionbias.formats.splits import HoldOut
    from positionbias.formats.squad import import_squad

    place = output_place(out)
    by = HoldOut(validation_by)
    collection = import_squad(train, test, place, validation=validation, validation_by=by, seed=seed, overwrite=overwrite)
    for item in collection.manifest.content["source"]["files"]:
        say(
            f"{item['role']} file, SQuAD v{item['version']}: {item['questions']:,} questions, "
            f"{item['unanswerable']:,} unanswerable and dropped; {item['repeated_spans']:,} repeated answer spans"
        )
    report_import(collection, out, as_json)
