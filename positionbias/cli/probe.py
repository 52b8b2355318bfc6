"""``posbias ats`` and ``posbias mats``: how much a model's term vectors depend on position."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from positionbias.cli.common import (
    all_of,
    emit,
    json_option,
    kind_option,
    model_place,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.report.table import Table
    from positionbias.results.result import Result

__all__ = ["ats", "mats", "parse_layers"]


def parse_layers(given: str | None) -> tuple[int, ...] | Literal["all"] | None:
    """What ``--layers`` says.

    Raises:
        SettingError: neither numbers nor "all".
    """
    from positionbias.core.errors import SettingError

    if given is None or given == "all":
        return given  # type: ignore[return-value]
    try:
        return tuple(int(layer) for layer in given.split(","))
    except ValueError as error:
        raise SettingError(f"--layers: wanted numbers with commas between them, or all; found {given!r}; give these") from error


# what both commands take
probe_options = all_of(
    click.argument("collection", required=False),
    click.option("--model", "models", multiple=True, required=True, metavar="CHECKPOINT", help="May be given again."),
    kind_option,
    click.option(
        "--layers",
        metavar="K,K…|all",
        help="Of an encoder: after which layers; 0 is the embeddings. [default: the last; tk has one set of term vectors]",
    ),
    click.option(
        "--pairs",
        type=click.Choice(["different", "all"]),
        default="different",
        show_default=True,
        help="Pairs of different passages (the paper), or those within one passage as well.",
    ),
    click.option(
        "--minimum-terms", type=int, default=20, show_default=True, help="The curve ends before the first Δ with fewer."
    ),
    click.option("--passages", type=int, metavar="N", help="Probe N passages, drawn by the seed.  [default: all]"),
    click.option(
        "--sample-pairs",
        type=int,
        default=2_000,
        show_default=True,
        help="Pairs per Δ from which the band (the deviation over pairs) is estimated; 0 leaves it out.",
    ),
    click.option("--plot", metavar="FILE.svg", help="Draw the ATS curves (Figure 2); .svg, .png or .pdf."),
    out_option(required=False, what="Save the results as a folder, for posbias report."),
    seed_option(),
    overwrite_option,
    json_option,
)


@click.command()
@probe_options
@click.option("--csv", "as_csv", is_flag=True, help="Print the curves as CSV.")
def ats(as_csv: bool, as_json: bool, **given: Any) -> None:
    """Average term similarity by distance Δ: the mean cosine of a term's vectors Δ words apart, in different passages.

    Without COLLECTION, the original passages that the first model's manifest leads to. All models are probed on the same passages.
    """
    results = _probe(command="ats", **given)

    def table() -> str:
        from positionbias.report import table as forms

        curves = _curve_table(results)
        return (
            forms.as_csv(curves).rstrip("\n")
            if as_csv
            else f"{forms.as_text(curves)}\n\n{_remarks(results)}{_undefined(results)}"
        )

    emit(results, as_json=as_json, table=table)


@click.command()
@probe_options
def mats(as_json: bool, **given: Any) -> None:
    """One number for how far term vectors depend on position: how far ATS falls below its value at Δ = 0, on average.

    Without COLLECTION, the original passages that the first model's manifest leads to. All models are probed on the same passages.
    """
    results = _probe(command="mats", **given)

    def table() -> str:
        from positionbias.report.table import as_text
        from positionbias.report.tables import mats_table

        return f"{as_text(mats_table(results))}\n\n{_remarks(results)}"

    emit(results, as_json=as_json, table=table)


def _probe(
    *,
    command: str,
    collection: str | None,
    models: tuple[str, ...],
    kind: str | None,
    layers: str | None,
    plot: str | None,
    out: str | None,
    overwrite: bool,
    **settings: Any,
) -> list[Result]:
    from positionbias.core.collection import find_collection
    from positionbias.core.publish import refuse_existing
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.probe.passages import collection_of_checkpoint
    from positionbias.probe.term_vectors import probe_model

    settings["layers"] = parse_layers(layers)
    for place in ([output_place(out)] if out else []) + ([Path(plot)] if plot else []):
        refuse_existing(place, overwrite=overwrite)  # before minutes of encoding
    checkpoints = [load_checkpoint(model_place(model), kind) for model in models]
    if collection is None:
        probed = collection_of_checkpoint(checkpoints[0].path, checkpoints[0].manifest)
        say(f"probing on the original passages that {checkpoints[0].name} leads to: {probed.path}")
    else:
        probed = find_collection(collection)
    systems = _names([checkpoint.ended_name for checkpoint in checkpoints], models)
    results = [
        result
        for checkpoint, system in zip(checkpoints, systems, strict=True)
        for result in probe_model(checkpoint, probed, system=system, **settings)
    ]
    if plot:
        from positionbias.report.figure import save_figure
        from positionbias.report.plots import ats_curves

        save_figure(ats_curves(results), plot, overwrite=overwrite)
        say(f"drawn to {plot}")
    if out:
        _save(out, command, checkpoints, probed, results, settings, overwrite)
    return results


def _names(names: Sequence[str], models: Sequence[str]) -> list[str]:
    """The checkpoints' names, numbered where two are alike."""
    if len(set(names)) == len(names):
        return list(names)
    numbered = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    for name, model in zip(numbered, models, strict=True):
        say(f"{name} is {model}")
    return numbered


def _save(
    out: str,
    command: str,
    checkpoints: Sequence[Checkpoint],
    probed: Collection,
    results: Sequence[Result],
    settings: dict[str, Any],
    overwrite: bool,
) -> None:
    from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
    from positionbias.results.result import save_results

    place = output_place(out)
    models = [input_ref("model", item.path, item.manifest.content["checksum"], artefact=place) for item in checkpoints]
    manifest = Manifest(
        kind="results",
        name=place.name,
        command=command,
        settings=settings,
        seed=settings["seed"],
        inputs=(input_ref("collection", probed.path, probed.checksum, artefact=place), *models),
        licence=probed.manifest.licence,
        notes=(
            "Term vectors are those that enter tk's cosine matrix, or an encoder's states of word pieces; padding, special tokens and "
            "unknown words are left out [decision].",
            "The curve ends before the first Δ with too few terms, even where later ones have more [decision].",
        ),
        versions=package_versions("numpy", "torch"),
        provenance=provenance(),
    )
    save_results(place, results, manifest, overwrite=overwrite)
    say(f"saved to {place}; for a page: posbias report {out}")


def _curve_table(results: Sequence[Result]) -> Table:
    from positionbias.report.cells import count_cell, decimal_cell, text_cell
    from positionbias.report.table import Column, Table

    rows = []
    for result in results:
        curve: Any = result.payload
        columns = (curve.deltas, curve.ats, curve.terms, curve.pairs, curve.std_terms, curve.std_pairs)
        for delta, value, terms, pairs, over_terms, over_pairs in zip(*columns, strict=True):
            figures = [
                decimal_cell(value),
                count_cell(terms),
                count_cell(pairs),
                decimal_cell(over_terms),
                decimal_cell(over_pairs),
            ]
            rows.append([text_cell(result.system), count_cell(delta), *figures])
    headings = [Column("Δ"), Column("ATS"), Column("Terms"), Column("Pairs")]
    headings += [Column("over terms", "Deviation"), Column("over pairs", "Deviation")]
    return Table("ats", "Average term similarity (ATS)", [Column("Model", numeric=False), *headings], rows)


def _remarks(results: Sequence[Result]) -> str:
    """What was read and left out, model by model."""
    lines = []
    for result in results:
        figures: Any = result.payload.figures  # type: ignore[union-attr]
        unknown = f"{figures['words_unknown']:,} unknown ones left out"
        lines += [f"{result.system}: {result.count:,} passages, {figures['words']:,} words, {unknown}"]
        if figures["passages_at_length_limit"]:
            lines += [f"  {figures['passages_at_length_limit']:,} passages read only to the model's length limit"]
        if figures["cut_at"] is not None:
            cut = f"{figures['terms_at_cut']} terms have a pair, fewer than {figures['minimum_terms']}"
            lines += [f"  the curve ends before Δ = {figures['cut_at']}, where {cut}"]
        if figures["later_deltas_left_out"]:
            lines += [f"  left out with it: {figures['later_deltas_left_out']} later Δ with enough terms"]
    return "\n".join(lines)


def _undefined(results: Sequence[Result]) -> str:
    """Why MATS is missing, where it is."""
    found = [(result.system, result.payload.figures.get("undefined")) for result in results]  # type: ignore[union-attr]
    return "".join(f"\n{system}: MATS is undefined: {reason}" for system, reason in found if reason)
