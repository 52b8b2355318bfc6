"""``posbias place``: evidence sentences at places that a density sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import (
    Engine,
    emit,
    engine_options,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = ["place"]


@click.command()
@click.argument("collection")
@click.option(
    "--density",
    required=True,
    metavar="DENSITY|FILE",
    help="Where evidence sentences stand: uniform, front:X, end:X or middle:X with X from 0 (uniform) to 1, the planted collection's "
    "front-loading; or a histogram, as of `posbias histogram msmarco-qa --split train --json`.",
)
@click.option("--one-question", is_flag=True, help="Keep one drawn question a passage, not all of its evidence sentence.")
@click.option(
    "--match-distance",
    is_flag=True,
    help="Add a weight to every question, under which all arms have moved sentences equally far: as far as uniform placing does.",
)
@seed_option()
@engine_options
@out_option(what="The placed collection.")
@overwrite_option
@json_option
def place(
    collection: str,
    density: str,
    one_question: bool,
    match_distance: bool,
    seed: int,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """COLLECTION with its evidence at places drawn from a density: real text whose positions are set.

    Each passage of three or more sentences keeps the questions of the one sentence that answers most of them; that sentence moves, the others
    keep their order. All other questions are dropped and counted, in every split. Of one collection and seed, every density keeps the same
    questions, passages and words, so that models trained on two of them differ by position alone.

    \b
      posbias place squad --density front:0.8 --out squad-front
      posbias place squad --density uniform --out squad-uniform
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.density import Density
    from positionbias.positions.place import Placing, placement_results
    from positionbias.positions.place import place as write_placed

    placing = Placing(Density.parse(density), one_question, match_distance, seed)
    with engine.open() as map_shards:
        placed = write_placed(
            find_collection(collection),
            output_place(out),
            placing,
            map_shards=map_shards,
            overwrite=overwrite,
            provenance=engine.provenance,
        )
        results = placement_results(placed, map_shards=map_shards)
    emit(results, as_json=as_json, table=lambda: _text(results))
    say(f"written to {placed.path}; what was moved where stands in {placed.path / 'placed'}")


def _text(results: Sequence[Result]) -> str:
    from positionbias.report.placement import moves_table, places_table
    from positionbias.report.table import as_text

    return "\n\n".join([_counts(results[0]), as_text(places_table(results)), as_text(moves_table(results))])


def _counts(result: Result) -> str:
    from positionbias.results.collections import PlacementFigures

    figures = result.payload
    assert isinstance(figures, PlacementFigures)
    lines = [f"{result.collection}: {result.count:,} passages, evidence placed {result.system}, seed {result.seed}"]
    lines += [f"  {name.replace('_', ' ')}: {count:,}" for name, count in figures.passages.items()]
    for split, counts in figures.questions.items():
        dropped = [f"    dropped, {why}: {n:,}" for why, n in counts.items() if n and why not in ("questions", "kept")]
        lines += [f"  {split}: {counts['kept']:,} of {counts['questions']:,} questions kept", *dropped]
        if (answers := figures.splits.get(split)) and answers.cut:
            lines.append(f"    answers taken apart and dropped: {answers.cut:,}")
        if not counts["kept"]:
            lines.append("    left out, as it has no question")
    return "\n".join(lines)
