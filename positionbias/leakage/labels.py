"""Pairs of queries that people label: written to a sheet, and what a filled sheet tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from positionbias.core.errors import bad_input
from positionbias.core.manifest import manifest_if_any
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, pasted
from positionbias.core.progress import hint, say
from positionbias.leakage.labelled import (
    calibration_rows,
    most_similar,
    read_labels,
    review_rows,
    sample_rows,
    stratified_sample,
)
from positionbias.leakage.measured import add_published, collected
from positionbias.leakage.pairs import label_names, pairs_file, read_pairs, write_sheet
from positionbias.leakage.settings import SampleSettings

FILL = f"fill in its last column: {label_names()}"
COMMAND = "leakage label"


def draw_pairs(
    places: Sequence[Path],
    settings: SampleSettings,
    per_test: int | None,
    out: Place,
    *,
    overwrite: bool,
) -> Measurements | None:
    """Write a sheet of pairs to label, and say how many; count a sample by stratum.

    Raises:
        InputError: no pair with the score.
    """
    known = [pair for place in places for pair in read_pairs(place)]
    if per_test is not None:
        chosen = most_similar(
            known, score=settings.score, per_test=per_test, threshold=settings.above
        )
        if not chosen:
            raise bad_input(
                ", ".join(map(str, places)),
                wanted=f"pairs with a {settings.score} from {settings.above:g} up",
                found="none",
                do="find some, or lower --above",
            )
        write_sheet(out, chosen, overwrite=overwrite)
        tests = len({pair.test_id for pair in chosen})
        hint(f"{len(chosen):,} pairs of {tests:,} test queries written to {pasted(out)}; {FILL}")
        return None
    drawn, strata = stratified_sample(known, settings)
    write_sheet(out, drawn, overwrite=overwrite)
    if len(drawn) < settings.sample_size:
        few = f"only {len(drawn):,} pairs have a {settings.score} from {settings.above:g} up"
        say(f"{few}, fewer than the {settings.sample_size:,} asked for: all were drawn")
    hint(f"{len(drawn):,} pairs written to {pasted(out)}; {FILL}")
    made = collected(places[0].name)
    sample_rows(made, strata, settings.score)
    return Measurements(
        rows=made.rows,
        command=COMMAND,
        settings=asdict(settings),
        read=[Read.file("pairs", pairs_file(place)) for place in places],
        seed=settings.seed,
    )


def read_labelled(
    places: Sequence[Path], sheet: Path | None, score: str, rules: dict[str, Any]
) -> Measurements:
    """Say what the labels of pairs tell.

    Raises:
        InputError: no labelled pair, or labels of other pairs.
    """
    said = read_labels([sheet] if sheet else places)
    if sheet is not None:
        known = {pair.ids for place in places for pair in read_pairs(place)}
        if others := said.keys() - known:
            raise bad_input(
                sheet,
                line=said[min(others)].line,
                wanted=f"pairs of {', '.join(map(str, places))}",
                found=f"{len(others):,} others",
                do="give the sheet that was made of it",
            )
    labelled = [pair for pair in said.values() if pair.label]
    if not labelled:
        raise bad_input(
            sheet or ", ".join(map(str, places)),
            wanted="labelled pairs",
            found=f"{len(said):,} pairs without a label" if said else "none",
            do=f"write a sheet with --out; {FILL}",
        )
    if without := len(said) - len(labelled):
        say(f"{without:,} of {len(said):,} pairs have no label and were left out")
    made = collected(places[0].name)
    review_rows(made, said)
    manifest = manifest_if_any(places[0]) if places[0].is_dir() else None
    target = manifest.content_as(str, "target", "") if manifest else ""
    add_published(made, target, ["reviewed pairs", "reformulation types"])
    calibration_rows(made, labelled, score, **rules)
    return Measurements(
        rows=made.rows,
        command=COMMAND,
        settings={"score": score, **rules},
        read=[
            *(Read.file("pairs", pairs_file(place)) for place in places),
            *([Read.file("labels", sheet)] if sheet else []),
        ],
    )
