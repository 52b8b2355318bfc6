"""Pairs of queries that people label: drawn, reviewed, and a threshold set by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.operation import Overwrite, Seed, operation
from positionbias.core.places import Place, input_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting
from positionbias.leakage.pairs import SCORES
from positionbias.leakage.sample import SampleSettings
from positionbias.ops.outcome import Measurements, Read
from positionbias.ops.query_encoder import Encoder, say_kept

if TYPE_CHECKING:
    from positionbias.leakage.pairs import Ids, Pair
    from positionbias.results.result import Result

__all__ = ["calibrate_leakage", "review_pairs", "sample_pairs"]


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
        cosine          pairs  drawn
        0.800 to 0.900     10      5
        0.900 to 1.000     11      5
    """
    from positionbias.leakage.pairs import pairs_file, read_pairs
    from positionbias.leakage.sample import sample_result, stratified_sample
    from positionbias.leakage.sheet import write_sheet

    place = input_place(found)
    drawn, strata = stratified_sample(read_pairs(place), settings)
    write_sheet(out, drawn, overwrite=overwrite)
    if len(drawn) < settings.sample_size:
        few = f"only {len(drawn):,} pairs have a {settings.score} from {settings.above:g} up"
        say(f"{few}, fewer than the {settings.sample_size:,} asked for: all were drawn")
    hint(f"{len(drawn):,} pairs written to {pasted(out)}; {_how_to_fill()}")
    return Measurements(
        [sample_result(place.name, strata, settings)],
        command="leakage sample",
        settings=asdict(settings),
        read=[Read.file("pairs", pairs_file(place))],
        seed=settings.seed,
    )


def _how_to_fill() -> str:
    from positionbias.leakage.labels import label_names

    return f"fill in its last column: {label_names()}"


@operation
def review_pairs(
    found: Annotated[Place, Setting("What find wrote.", metavar="DIR", place="read")],
    *,
    filled: Annotated[
        Sequence[Place],
        Setting(
            "Read this filled sheet; give it again for a second person's.",
            metavar="FILE",
            place="read",
        ),
    ] = (),
    per_test: Annotated[int, Setting("Pairs for each test query.", least=1)] = 5,
    threshold: Annotated[
        float | None,
        Setting("Only pairs from this score up.", metavar="SCORE", absent="all there are"),
    ] = None,
    score: Annotated[str, Setting("What similar means.", choices=SCORES)] = "cosine",
    seed: Seed = 1,
    out: Annotated[
        Place | None, Setting("Write the sheet to label here.", metavar="FILE", place="written")
    ] = None,
    overwrite: Overwrite = False,
) -> Measurements | None:
    """Review the 5 most similar training queries of each test query that posbias leakage find wrote
    to DIR.

    With ``out`` the sheet to label; with ``filled`` what one or two people said: how many pairs and
    test queries are leaks, of which types, and how far the two agree. A filled sheet also does as
    PAIRS for calibrate, clean and evaluate.

        posbias leakage review leaks --out sheet.tsv
        posbias leakage review leaks --filled first.tsv --filled second.tsv

    Returns:
        Tables 2a and 2b of the leakage paper, and Cohen's kappa of two people; None where a sheet
        was written.

    Raises:
        SettingError: neither or both of ``out`` and ``filled``.
        InputError: no pairs, or a sheet of other pairs.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, Table 2.

    Example:
        >>> import positionbias as pb
        >>> print(pb.review_pairs("labelled.tsv", filled=["labelled.tsv"]))
        candidates  pairs  test queries
        true           40            40
        false          20            20
        ...
    """
    from positionbias.leakage.pairs import pairs_file, read_pairs
    from positionbias.leakage.published_results import published_review, target_of_folder
    from positionbias.leakage.review import most_similar, read_sheet, review, review_results
    from positionbias.leakage.sheet import write_sheet

    if (out is None) == (not filled):
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
        hint(
            f"{len(chosen):,} pairs of {tests:,} test queries written to {pasted(out)}; "
            f"{_how_to_fill()}"
        )
        return None
    sheets = [read_sheet(input_place(sheet)) for sheet in filled]
    known = {pair.ids for pair in chosen}
    for sheet, pairs in zip(filled, sheets, strict=True):
        _check_sheet(sheet, pairs, known, found)
    results = review_results(review(sheets, seed=seed), str(found), seed, len(known))
    return Measurements(
        [*results, *published_review(target_of_folder(place), str(found))],
        command="leakage review",
        settings={"score": score, "per_test": per_test, "threshold": threshold},
        read=[
            Read.file("pairs", pairs_file(place)),
            *(Read.file("sheet", input_place(sheet)) for sheet in filled),
        ],
        seed=seed,
    )


def _check_sheet(sheet: Place, pairs: dict[Ids, Pair], known: set[Ids], found: Place) -> None:
    if others := pairs.keys() - known:
        line, do = (
            pairs[min(others)].line,
            "give the sheet that was made of it, and the same --per-test and --threshold",
        )
        raise bad_input(
            sheet, line=line, wanted=f"pairs of {found}", found=f"{len(others):,} others", do=do
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
            "What to set a threshold on; may be given again. Both is the mean of cosine and "
            "Jaccard.",
            flags=("--score",),
            choices=(*SCORES, "both"),
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
    encoder: Encoder = Encoder(),
    wrong: Annotated[
        int, Setting("Show N pairs on the wrong side, each way.", metavar="N", least=0)
    ] = 0,
    seed: Seed = 1,
) -> Measurements:
    """Find the lowest threshold with a precision of surely 0.9, from PAIRS that people have
    labelled (JSON lines, TSV, or a filled sheet).

    Several files count as one. Surely: the lower 95 % bound reaches it, over test queries, whose
    pairs are alike. Prints the precision there, that on held-out test queries (cross-validation),
    the share of labelled leaks kept, and the prevalence. With ``encoder`` the cosines are made
    anew; else they are those recorded.

        posbias leakage calibrate annotated.jsonl --score cosine --score jaccard --score both \\
                --apply 0.91

    Returns:
        For each score the prevalence, the threshold (None where no score will do), and the
        precision there and at ``apply``.

    Raises:
        InputError: no labelled pair, or one without a score or text that is needed.

    Source: leakage paper, §3.

    Example:
        >>> import positionbias as pb
        >>> print(pb.calibrate_leakage(["labelled.tsv"]))
        cosine: from 0.6100 on, the precision is at least 0.9 with 95 % confidence. ...
        <BLANKLINE>
        score                 threshold  pairs             precision  of labelled leaks
        cosine  0.6100...[0.5800,...0.6400]     40  1.000...[0.912,...1.000]           40 of 40
        ...
    """
    from positionbias.leakage.calibrate import NO_RECALL, Rule, calibration_results
    from positionbias.leakage.pairs import pairs_file
    from positionbias.leakage.score import scored

    places = [input_place(place) for place in pairs]
    labelled = _labelled(places)
    encode = encoder.open()[1] if encoder.encoder else None
    results: list[Result] = []
    lines: list[str] = []
    for score in dict.fromkeys(scores):
        made = scored(labelled, score, encode=encode)
        measured = calibration_results(
            made,
            score,
            name=places[0].name,
            precision=least_precision,
            rule=Rule(rule),
            given=apply,
            seed=seed,
        )
        results += measured
        lines += _wrong_side(made, score, measured[1].value if apply is None else apply, wrong)
    if encode is not None:
        say_kept(encode)
    return Measurements(
        results,
        command="leakage calibrate",
        settings={
            "scores": list(scores),
            "least_precision": least_precision,
            "rule": rule,
            "apply": apply,
            **asdict(encoder),
        },
        read=[Read.file("pairs", pairs_file(place)) for place in places],
        seed=seed,
        remarks=(NO_RECALL, *lines),
    )


def _labelled(places: Sequence[Path]) -> list[Pair]:
    """The labelled pairs of all files; what has no label is counted and left out."""
    from positionbias.leakage.pairs import read_pairs

    pairs = [pair for place in places for pair in read_pairs(place)]
    labelled = [pair for pair in pairs if pair.label is not None]
    if not labelled:
        found = f"{len(pairs):,} pairs without a label" if pairs else "none"
        do = "label them: posbias leakage sample writes a sheet"
        raise bad_input(", ".join(map(str, places)), wanted="labelled pairs", found=found, do=do)
    if len(labelled) < len(pairs):
        say(
            f"{len(pairs) - len(labelled):,} of {len(pairs):,} pairs have no label and were left "
            "out"
        )
    return labelled


def _wrong_side(
    pairs: Sequence[Pair], score: str, threshold: float | None, count: int
) -> Iterator[str]:
    """The pairs that a threshold gets most wrong: other topics of the highest score, leaks of the
    lowest.
    """
    if not count or threshold is None:
        return
    falling = sorted(pairs, key=lambda pair: (-pair.scores[score], pair.ids))
    false = [
        pair
        for pair in falling
        if pair.label and not pair.label.leaks and pair.scores[score] >= threshold
    ]
    missed = [
        pair
        for pair in reversed(falling)
        if pair.label and pair.label.leaks and pair.scores[score] < threshold
    ]
    for what, held in (("other topics at or above", false), ("leaks below", missed)):
        yield f"\n{score}: {len(held):,} {what} {threshold:.4f}"
        for pair in held[:count]:
            yield (
                f"  {pair.scores[score]:.4f}  {pair.train_text!r} and {pair.test_id}: "
                f"{' / '.join(pair.searched())!r}"
            )
