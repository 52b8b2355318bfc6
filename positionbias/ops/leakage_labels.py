"""Pairs of queries that people label: drawn, reviewed, and a threshold set by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.operation import Overwrite, operation
from positionbias.core.places import Place, input_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting
from positionbias.leakage.pairs import SCORES, label_names
from positionbias.leakage.settings import SampleSettings
from positionbias.ops.outcome import Measurements, Read

__all__ = ["calibrate_leakage", "review_pairs", "sample_pairs"]

FILL = f"fill in its last column: {label_names()}"


@operation
def sample_pairs(
    found: Annotated[
        Place,
        Setting("What find wrote, a folder, or a file of pairs.", metavar="PAIRS", place="read"),
    ],
    *,
    settings: SampleSettings = SampleSettings(),
    out: Annotated[
        Place,
        Setting(
            "The sheet, a TSV file with an empty column for labels.",
            metavar="FILE",
            place="written",
        ),
    ],
    overwrite: Overwrite = False,
) -> Measurements:
    """Draw a stratified sample of PAIRS to label, so that posbias leakage calibrate can set a
    threshold.

    PAIRS is the folder that posbias leakage find wrote, with a threshold as low as ``above``. Each
    drawn pair keeps the number of pairs that it stands for, and calibrate counts it so.

    Returns:
        How many pairs there are in each stratum, and how many were drawn.

    Raises:
        InputError: a pair without the score, or none at or above ``above``.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import SampleSettings
        >>> print(
        ...     pb.sample_pairs(
        ...         "labelled.tsv",
        ...         settings=SampleSettings(sample_size=10, strata=2),
        ...         out="sheet.tsv",
        ...     )
        ... )
        Pairs to label, by score
        ...
        cosine  0.800 to 0.900     10      5
                0.900 to 1.000     11      5
    """
    from positionbias.leakage.labelled import sample_rows, stratified_sample
    from positionbias.leakage.measured import collected
    from positionbias.leakage.pairs import pairs_file, read_pairs, write_sheet

    place = input_place(found)
    drawn, strata = stratified_sample(read_pairs(place), settings)
    write_sheet(out, drawn, overwrite=overwrite)
    if len(drawn) < settings.sample_size:
        few = f"only {len(drawn):,} pairs have a {settings.score} from {settings.above:g} up"
        say(f"{few}, fewer than the {settings.sample_size:,} asked for: all were drawn")
    hint(f"{len(drawn):,} pairs written to {pasted(out)}; {FILL}")
    made = collected(place.name)
    sample_rows(made, strata, settings.score)
    return Measurements(
        rows=made.rows,
        command="leakage sample",
        settings=asdict(settings),
        read=[Read.file("pairs", pairs_file(place))],
        seed=settings.seed,
    )


@operation
def review_pairs(
    found: Annotated[Place, Setting("What find wrote.", metavar="DIR", place="read")],
    *,
    filled: Annotated[
        Place | None, Setting("Read this filled sheet.", metavar="FILE", place="read")
    ] = None,
    per_test: Annotated[int, Setting("Pairs for each test query.", least=1)] = 5,
    threshold: Annotated[
        float | None,
        Setting("Only pairs from this score up.", metavar="SCORE", absent="all there are"),
    ] = None,
    score: Annotated[str, Setting("What similar means.", choices=SCORES)] = "cosine",
    out: Annotated[
        Place | None, Setting("Write the sheet to label here.", metavar="FILE", place="written")
    ] = None,
    overwrite: Overwrite = False,
) -> Measurements | None:
    """Review the 5 most similar training queries of each test query that posbias leakage find wrote
    to DIR.

    With ``out`` the sheet to label; with ``filled`` what people said: how many pairs and test
    queries are leaks, and of which types. A filled sheet also does as PAIRS for calibrate, clean
    and evaluate.

        posbias leakage review leaks --out sheet.tsv
        posbias leakage review leaks --filled sheet.tsv

    Returns:
        Tables 2a and 2b of the leakage paper; None where a sheet was written.

    Raises:
        SettingError: neither or both of ``out`` and ``filled``.
        InputError: no pairs, or a sheet of other pairs.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, Table 2.

    Example:
        >>> import positionbias as pb
        >>> print(pb.review_pairs("labelled.tsv", filled="labelled.tsv"))
        Labelled as leaks (true) or not (false)
        ...
        true           40            40
        false          20            20
        ...
    """
    from positionbias.core.manifest import manifest_if_any
    from positionbias.leakage.labelled import most_similar, read_sheet, review_rows
    from positionbias.leakage.measured import add_published, collected
    from positionbias.leakage.pairs import pairs_file, read_pairs, write_sheet

    if (out is None) == (filled is None):
        given = "neither" if out is None else "both"
        raise SettingError(
            f"leakage review: wanted --out or --filled; found {given}; give one of them"
        )
    place = input_place(found)
    chosen = most_similar(read_pairs(place), score=score, per_test=per_test, threshold=threshold)
    if not chosen:
        raise bad_input(
            found, wanted="pairs to look at", found="none", do="find some, or lower --threshold"
        )
    if out is not None:
        write_sheet(out, chosen, overwrite=overwrite)
        tests = len({pair.test_id for pair in chosen})
        hint(f"{len(chosen):,} pairs of {tests:,} test queries written to {pasted(out)}; {FILL}")
        return None
    assert filled is not None
    sheet, known = read_sheet(input_place(filled)), {pair.ids for pair in chosen}
    if others := sheet.keys() - known:
        line = sheet[min(others)].line
        do = "give the sheet that was made of it, and the same --per-test and --threshold"
        wanted, given = f"pairs of {found}", f"{len(others):,} others"
        raise bad_input(filled, line=line, wanted=wanted, found=given, do=do)
    made = collected(place.name)
    review_rows(made, sheet, len(known))
    manifest = manifest_if_any(place) if place.is_dir() else None
    target = manifest.content_as(str, "target", "") if manifest else ""
    add_published(made, target, ["reviewed pairs", "reformulation types"])
    return Measurements(
        rows=made.rows,
        command="leakage review",
        settings={"score": score, "per_test": per_test, "threshold": threshold},
        read=[
            Read.file("pairs", pairs_file(place)),
            Read.file("sheet", input_place(filled)),
        ],
    )


@operation
def calibrate_leakage(
    pairs: Annotated[
        Sequence[Place],
        Setting(
            "Labelled pairs: JSON lines, TSV, or a filled sheet.", metavar="PAIRS...", place="read"
        ),
    ],
    *,
    scores: Annotated[
        Sequence[str],
        Setting(
            "What to set a threshold on; may be given again.", flags=("--score",), choices=SCORES
        ),
    ] = ("cosine",),
    least_precision: Annotated[
        float, Setting("The share of leaks at or above the threshold.", above=0, most=1)
    ] = 0.9,
    rule: Annotated[
        str,
        Setting(
            "What must reach it: the lower 95 % bound of the precision, or as in the paper the "
            "precision of these pairs.",
            choices=("bound", "paper"),
        ),
    ] = "bound",
    apply: Annotated[
        float | None,
        Setting("Measure this threshold beside the calibrated one.", metavar="THRESHOLD"),
    ] = None,
) -> Measurements:
    """Find the lowest threshold with a precision of surely 0.9, from PAIRS that people have
    labelled (JSON lines, TSV, or a filled sheet).

    Several files count as one. Surely: the lower 95 % bound reaches it, over test queries, whose
    pairs are alike. Prints the precision there, the share of labelled leaks kept, and the
    prevalence.

        posbias leakage calibrate annotated.jsonl --apply 0.91

    Returns:
        For each score the prevalence, the threshold (NaN where no score will do), and the precision
        there and at ``apply``.

    Raises:
        InputError: no labelled pair, or one without a score that is needed.

    Source: leakage paper, §3.

    Example:
        >>> import positionbias as pb
        >>> print(pb.calibrate_leakage(["labelled.tsv"]))
        cosine: from 0.6100 on, the precision is at least 0.9 with 95 % confidence.
        <BLANKLINE>
        Precision of labelled pairs
        ...
    """
    from positionbias.leakage.labelled import calibration_rows
    from positionbias.leakage.measured import collected
    from positionbias.leakage.pairs import pairs_file, read_pairs

    places = [input_place(place) for place in pairs]
    known = [pair for place in places for pair in read_pairs(place)]
    labelled = [pair for pair in known if pair.label]
    if not labelled:
        count = f"{len(known):,} pairs without a label" if known else "none"
        do = "label them: posbias leakage sample writes a sheet"
        raise bad_input(", ".join(map(str, places)), wanted="labelled pairs", found=count, do=do)
    if without := len(known) - len(labelled):
        say(f"{without:,} of {len(known):,} pairs have no label and were left out")
    made = collected(places[0].name)
    rules: dict[str, Any] = {"precision": least_precision, "rule": rule, "given": apply}
    for score in dict.fromkeys(scores):
        calibration_rows(made, labelled, score, **rules)
    return Measurements(
        rows=made.rows,
        command="leakage calibrate",
        settings={"scores": list(scores), **rules},
        read=[Read.file("pairs", pairs_file(place)) for place in places],
    )
