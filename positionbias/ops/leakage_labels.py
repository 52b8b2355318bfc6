"""Pairs of queries that people label: drawn, and what their labels tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.operation import Overwrite, operation
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting, refuse_idle
from positionbias.leakage.pairs import label_names
from positionbias.leakage.settings import SampleSettings

__all__ = ["label_pairs"]

FILL = f"fill in its last column: {label_names()}"
COMMAND = "leakage label"
DRAWING = ("--sample-size", "--above", "--strata", "--seed", "--per-test", "--overwrite")
READING = ("--least-precision", "--rule", "--apply")


@operation
def label_pairs(
    pairs: Annotated[
        Sequence[Place],
        Setting("What find wrote, a folder, or files of pairs.", metavar="PAIRS…", place="read"),
    ],
    *,
    labels: Annotated[
        Place | None,
        Setting(
            "Labels of these pairs, a filled sheet.",
            metavar="FILE",
            place="read",
            absent="those in PAIRS",
        ),
    ] = None,
    settings: SampleSettings = SampleSettings(),
    per_test: Annotated[
        int | None,
        Setting(
            "Draw the N most similar pairs of each test query instead of a sample.",
            least=1,
            metavar="N",
        ),
    ] = None,
    least_precision: Annotated[
        float, Setting("The share of leaks at or above the threshold.", above=0, most=1)
    ] = 0.9,
    rule: Annotated[
        str,
        Setting(
            "What must reach it: the lower 95 % bound of the precision, or as in the paper the "
            "precision of these pairs.",
            choices=("bound", "paper"),
            shown=False,
        ),
    ] = "bound",
    apply: Annotated[
        float | None,
        Setting("Measure this threshold beside the calibrated one.", metavar="THRESHOLD"),
    ] = None,
    out: Annotated[
        Place | None,
        Setting(
            "Write a sheet to label here, a TSV file with an empty column for labels.",
            metavar="FILE",
            place="written",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> Measurements | None:
    """Draw PAIRS to label, with ``out``; without it, say what their labels tell: how many are
    leaks, of which types, and from which score on pairs surely leak.

    A sample is stratified by score, and each drawn pair keeps the number of pairs that it stands
    for, so let posbias leakage find keep pairs down to ``above``. A filled sheet also does as pairs
    for posbias leakage clean and evaluate.

        posbias leakage label leaks --out sheet.tsv
        posbias leakage label leaks --labels sheet.tsv
        posbias leakage label annotated.jsonl --apply 0.91

    The threshold is the lowest with a precision of surely ``least_precision``: the lower 95 % bound
    reaches it, over test queries, whose pairs are alike. Several files count as one.

    Returns:
        With ``out`` how many pairs there are in each stratum, and how many were drawn, None with
        ``per_test``. Else Tables 2a and 2b of the leakage paper, the prevalence, the threshold
        (NaN where no score will do), and the precision there and at ``apply``.

    Raises:
        SettingError: both ``labels`` and ``out``.
        InputError: a pair without the score, none at or above ``above``, no labelled pair, or
            labels of other pairs.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, §3 and Table 2.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import SampleSettings
        >>> ten = SampleSettings(sample_size=10, strata=2)
        >>> print(pb.label_pairs(["labelled.tsv"], settings=ten, out="sheet.tsv"))
        Pairs to label, by score
        ...
        cosine  0.800 to 0.900     10      5
                0.900 to 1.000     11      5
        >>> print(pb.label_pairs(["labelled.tsv"]))
        cosine: from 0.6100 on, the precision is at least 0.9 with 95 % confidence.
        ...
    """
    places = [input_place(place) for place in pairs]
    if out is not None:
        if labels is not None:
            raise SettingError(
                f"{COMMAND}: wanted --out, to draw pairs, or --labels, to read what people said; "
                "found both; give one of them"
            )
        refuse_idle(READING, wanted="no --out, which draws pairs", found="it")
        return _draw(places, settings, per_test, out, overwrite=overwrite)
    refuse_idle(DRAWING, wanted="--out, which draws pairs", found="none")
    rules = {"precision": least_precision, "rule": rule, "given": apply}
    return _read(places, None if labels is None else input_place(labels), settings.score, rules)


def _draw(
    places: Sequence[Path],
    settings: SampleSettings,
    per_test: int | None,
    out: Place,
    *,
    overwrite: bool,
) -> Measurements | None:
    from positionbias.leakage.labelled import most_similar, sample_rows, stratified_sample
    from positionbias.leakage.measured import collected
    from positionbias.leakage.pairs import pairs_file, read_pairs, write_sheet

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


def _read(
    places: Sequence[Path], sheet: Path | None, score: str, rules: dict[str, Any]
) -> Measurements:
    from positionbias.core.manifest import manifest_if_any
    from positionbias.leakage.labelled import calibration_rows, read_labels, review_rows
    from positionbias.leakage.measured import add_published, collected
    from positionbias.leakage.pairs import pairs_file, read_pairs

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
