"""Pairs of queries that people label: drawn, and what their labels tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from positionbias.core.errors import SettingError
from positionbias.core.operation import Overwrite, operation
from positionbias.core.outcome import Measurements
from positionbias.core.places import Place, input_place
from positionbias.core.settings import Setting, refuse_idle
from positionbias.leakage.settings import SampleSettings

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
    from positionbias.leakage.labels import draw_pairs, read_labelled

    places = [input_place(place) for place in pairs]
    if out is not None:
        if labels is not None:
            raise SettingError(
                f"{COMMAND}: wanted --out, to draw pairs, or --labels, to read what people said; "
                "found both; give one of them"
            )
        refuse_idle(READING, wanted="no --out, which draws pairs", found="it")
        return draw_pairs(places, settings, per_test, out, overwrite=overwrite)
    refuse_idle(DRAWING, wanted="--out, which draws pairs", found="none")
    rules = {"precision": least_precision, "rule": rule, "given": apply}
    return read_labelled(
        places, None if labels is None else input_place(labels), settings.score, rules
    )
