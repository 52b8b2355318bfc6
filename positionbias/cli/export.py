"""``posbias export``: a collection goes back into a published form."""

from __future__ import annotations

import click

from positionbias.cli.common import emit, json_option, overwrite_option, say

__all__ = ["export"]


@click.group()
def export() -> None:
    """Write a collection in a published form."""


@export.command()
@click.argument("collection")
@click.option("--split", "splits", multiple=True, required=True, help="A split to write; may be given again.")
@click.option(
    "--squad-version",
    type=click.Choice(["1.1", "2.0"]),
    default="1.1",
    show_default=True,
    help="The published form to write.",
)
@click.option("--out", required=True, metavar="FILE", help="The JSON file.")
@overwrite_option
@json_option
def squad(collection: str, splits: tuple[str, ...], squad_version: str, out: str, overwrite: bool, as_json: bool) -> None:
    """COLLECTION, which came from SQuAD, as SQuAD JSON; rotated or not, with the offsets that hold now.

    train and validation come from the same articles: give both to get the whole training file back.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.result import Result, Statistics
    from positionbias.formats.squad import write_squad

    opened = find_collection(collection)
    written = write_squad(opened, out, splits, version=squad_version, overwrite=overwrite)
    result = Result(
        measure="questions",
        collection=opened.name,
        split="+".join(splits),
        system="",
        seed=opened.manifest.seed,
        value=float(written.questions),
        interval=None,
        count=written.questions,
        payload=Statistics(written._asdict()),
    )
    lines = [f"{written.articles:,} articles, {written.paragraphs:,} paragraphs, {written.questions:,} questions"]
    if written.left_out:
        lines.append(f"{written.left_out:,} questions left out: no answer of theirs has a place in its passage")
    emit([result], as_json=as_json, table=lambda: "\n".join(lines))
    say(f"written to {out}")
