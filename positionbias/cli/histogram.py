"""``posbias histogram``: where answers sit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from positionbias.core.collection import Collection
    from positionbias.positions.histogram import HistogramOptions
    from positionbias.results.result import Result

__all__ = ["histogram"]


@click.command()
@click.argument("collections", metavar="COLLECTION…", nargs=-1, required=True)
@click.option("--split", "splits", multiple=True, help="A split; may be given again. Default: every split with answers.")
@click.option("--bins", type=int, default=20, show_default=True, help="Bins from a passage's start to its end.")
@click.option(
    "--point",
    type=click.Choice(["start", "midpoint"]),
    default="start",
    show_default=True,
    help="What of an answer is placed: its first word, or its middle.",
)
@matching_options
@click.option("--resamples", type=int, default=1000, show_default=True, help="Resamples of the passages for the intervals.")
@click.option("--plot", metavar="FILE.svg", help="Draw the histograms; .svg, .png or .pdf.")
@out_option(required=False, what="Save the results as a folder, for posbias report.")
@seed_option()
@engine_options
@overwrite_option
@json_option
def histogram(
    collections: tuple[str, ...],
    splits: tuple[str, ...],
    plot: str | None,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    engine: Engine,
    **given: Any,
) -> None:
    """Where answers sit in the passages of COLLECTION, beside where they would sit without bias.

    Several collections, such as an original and its rotation, are measured one after the other and drawn side by side.
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.histogram import HistogramOptions, position_histogram, splits_with_answers

    options = HistogramOptions(**given)
    opened = [find_collection(place) for place in collections]
    with engine.open() as map_shards:
        results = [
            position_histogram(collection, split, options, map_shards=map_shards)
            for collection in opened
            for split in (splits or splits_with_answers(collection))
        ]
    if plot:
        from positionbias.report.figure import save_figure
        from positionbias.report.plots import answer_positions

        save_figure(answer_positions(results), plot, overwrite=overwrite)
        say(f"drawn to {plot}")
    if out:
        _save(out, opened, results, options, overwrite, engine.provenance)
    emit(results, as_json=as_json, table=lambda: _histogram_tables(results))


def _save(
    out: str,
    collections: Sequence[Collection],
    results: Sequence[Result],
    options: HistogramOptions,
    overwrite: bool,
    host: Mapping[str, Any],
) -> None:
    from dataclasses import asdict

    from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
    from positionbias.results.result import save_results

    place = output_place(out)
    manifest = Manifest(
        kind="results",
        name=place.name,
        command="histogram",
        settings=asdict(options),
        seed=options.seed,
        inputs=tuple(input_ref("collection", item.path, item.checksum, artefact=place) for item in collections),
        licence="; ".join(dict.fromkeys(item.manifest.licence for item in collections if item.manifest.licence)),
        notes=("Unbiased means that every possible start of an answer, 0 to n − L, is equally likely [decision].",),
        versions=package_versions("numpy", "blingfire"),
        provenance=provenance(**host),
    )
    save_results(place, results, manifest, overwrite=overwrite)
    say(f"saved to {place}; for a page: posbias report {out}")


def _histogram_tables(results: Sequence[Result]) -> str:
    from positionbias.report.table import as_text
    from positionbias.report.tables import outcomes_table, positions_table

    parts = [as_text(positions_table(results)), as_text(outcomes_table(results)), *map(_remarks, results)]
    return "\n\n".join(part for part in parts if part)


def _remarks(result: Result) -> str:
    """What the tables do not hold: how much of the total variation may be chance, and what differs by cause."""
    figures: Any = result.payload.figures  # type: ignore[union-attr]
    variation, check = figures["total_variation"], figures.get("offset_check")
    lines = [
        f"{result.collection}, {result.split}: {figures['sample']['spans']:,} spans in {figures['sample']['passages']:,} passages"
    ]
    if variation["by_chance"] is not None:
        lines.append(
            f"  total variation {variation['value']:.3f}; unbiased positions give {variation['by_chance']:.3f} by chance alone, "
            f"95 % of the time below {variation['by_chance_high']:.3f}"
        )
    if check:
        share = check["among_matches"] / check["spans"]
        lines.append(
            f"  {check['among_matches']:,} of {check['spans']:,} offset spans ({share:.2%}) are among the words' matches"
        )
        lines += [f"    missed: {cause} {count:,}" for cause, count in check["missed"].items()]
        lines += [f"    extra match: {cause} {count:,}" for cause, count in check["extra"].items()]
    lines += [f"  unmatched: {cause} {count:,}" for cause, count in figures.get("unmatched", {}).items()]
    return "\n".join(lines)
