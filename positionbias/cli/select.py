"""``posbias select``: the queries whose answers lie in one part of their passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    Engine,
    emit,
    engine_options,
    json_option,
    matching_options,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.positions.locate import Matching
    from positionbias.results.result import Result

__all__ = ["select"]


@click.command()
@click.argument("collection")
@click.option(
    "--answers-in",
    required=True,
    metavar="LOW:HIGH",
    help="Relative positions from LOW up to, and without, HIGH, in which a kept query's answers start: 0:0.2 is the first fifth.",
)
@click.option("--split", default="train", show_default=True, help="The split to select from; the others stay as they are.")
@click.option(
    "--several",
    type=click.Choice(["all", "any"]),
    default="all",
    show_default=True,
    help="Of a query with several answers, or one that stands several times: whether all of their starts must lie there, or any.",
)
@click.option("--queries", type=click.IntRange(min=1), metavar="N", help="Draw N of those that fit; by default all are kept.")
@click.option(
    "--by",
    metavar="ORIGINAL",
    help="Choose by the answers of this collection: of a rotated collection, keep the queries that its original would.",
)
@matching_options
@seed_option()
@engine_options
@out_option(what="The collection with these queries.")
@overwrite_option
@json_option
def select(
    collection: str,
    answers_in: str,
    by: str | None,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
    matching: Matching,
    **given: Any,
) -> None:
    """COLLECTION with only those queries of a split whose answers start in one part of their passages.

    So a real collection gets a known position bias with its own language. Passages, judgements of kept queries and the other splits stay.

    \b
      posbias select squad --answers-in 0:0.2 --split train --out squad-front
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.select import AnswerRange, Selection, selection_result
    from positionbias.positions.select import select as write_selected

    selection = Selection(AnswerRange.parse(answers_in), matching=matching, **given)
    with engine.open() as map_shards:
        selected = write_selected(
            find_collection(collection),
            output_place(out),
            selection,
            by=find_collection(by) if by is not None else None,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.provenance,
        )
    result = selection_result(selected)
    emit([result], as_json=as_json, table=lambda: _text(result))
    say(f"written to {selected.path}; see where its answers are with: posbias histogram {out}")


def _text(result: Result) -> str:
    from positionbias.results.collections import SelectionFigures

    found = result.payload
    assert isinstance(found, SelectionFigures)
    lines = [
        f"{result.collection}: {found.kept:,} of the {found.queries:,} {result.split} queries, {result.system}",
        f"  without known position: {found.without_known_position:,}",
        f"  outside: {found.outside:,}",
        f"  inside in part: {found.inside_in_part:,}",
        f"  inside: {found.inside:,}",
        f"  answers: {found.answers['answers']:,}",
    ]
    lines += [f"    {name.replace('_', ' ')}: {n:,}" for name, n in found.answers.items() if n and name != "answers"]
    lines += [f"    unmatched, {cause}: {n:,}" for cause, n in (found.unmatched or {}).items()]
    return "\n".join(lines)
