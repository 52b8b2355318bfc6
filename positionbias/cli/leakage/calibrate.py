"""``posbias leakage calibrate``: from which score on a pair is a leak, by hand-labelled pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import emit, input_place, json_option, kind_option, say, seed_option
from positionbias.cli.leakage.device import device_option, on_device

if TYPE_CHECKING:
    from positionbias.leakage.calibrate import Calibration
    from positionbias.leakage.pairs import Pair
    from positionbias.leakage.precision import Labelled, Share
    from positionbias.results.leakage_pairs import ThresholdFigures
    from positionbias.results.result import Result

__all__ = ["calibrate"]


@click.command()
@click.argument("pairs", nargs=-1, required=True, metavar="PAIRS...")
@click.option(
    "--score",
    "scores",
    multiple=True,
    type=click.Choice(["cosine", "jaccard", "containment", "both"]),
    default=("cosine",),
    show_default=True,
    help="What to set a threshold on; may be given again. Both is the mean of cosine and Jaccard.",
)
@click.option(
    "--least-precision", type=float, default=0.9, show_default=True, help="The share of leaks at or above the threshold."
)
@click.option(
    "--rule",
    type=click.Choice(["bound", "paper"]),
    default="bound",
    show_default=True,
    help="What must reach it: the lower 95 % bound of the precision, or as in the paper the precision of these pairs.",
)
@click.option("--apply", "given", type=float, metavar="THRESHOLD", help="Measure this threshold beside the calibrated one.")
@click.option(
    "--encoder", metavar="NAME", help="Make the cosines anew by this encoder, as in leakage find. [default: those recorded]"
)
@kind_option
@click.option("--wrong", type=click.IntRange(min=0), default=0, metavar="N", help="Show N pairs on the wrong side, each way.")
@device_option
@seed_option()
@json_option
def calibrate(
    pairs: tuple[str, ...], scores: tuple[str, ...], least_precision: float, rule: str, given: float | None, encoder: str | None,
    kind: str | None, wrong: int, device: str, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """The lowest threshold with a precision of surely 0.9, from PAIRS that people have labelled (JSON lines, TSV, or a filled sheet).

    Several files count as one. Surely: the lower 95 % bound reaches it, over test queries, whose pairs are alike. Prints the precision there, that
    on held-out test queries (cross-validation), the share of labelled leaks kept, and the prevalence.

    \b
      posbias leakage calibrate annotated.jsonl --score cosine --score jaccard --score both --apply 0.91
    """  # fmt: skip
    from positionbias.cli.leakage.encoder import open_encoder, say_kept
    from positionbias.leakage.calibrate import NO_RECALL, Rule
    from positionbias.leakage.calibrate import calibrate as find_threshold
    from positionbias.leakage.precision import Labelled
    from positionbias.leakage.score import scored

    labelled = _read(pairs)
    encode = None
    if encoder:
        _, encode = open_encoder(encoder, kind, on_device(device))
    results, lines = [], []
    for score in dict.fromkeys(scores):
        found = scored(labelled, score, encode=encode)
        arrays = Labelled(
            [pair.scores[score] for pair in found],
            [bool(pair.label and pair.label.leaks) for pair in found],
            [pair.test_id for pair in found],
            [pair.weight for pair in found],
        )
        calibration = find_threshold(arrays, precision=least_precision, rule=Rule(rule), seed=seed)
        results += _results(score, calibration, arrays, given, input_place(pairs[0]).name, seed)
        lines += _wrong(found, score, calibration.threshold if given is None else given, wrong)
    if encode is not None:
        say_kept(encode)
    emit(results, as_json=as_json, table=lambda: "\n".join([_text(results), NO_RECALL, *lines]))


def _read(places: Sequence[str]) -> list[Pair]:
    """The labelled pairs of all files; what has no label is counted and left out."""
    from positionbias.core.errors import bad_input
    from positionbias.leakage.pairs import read_pairs

    pairs = [pair for place in places for pair in read_pairs(input_place(place))]
    labelled = [pair for pair in pairs if pair.label is not None]
    if not labelled:
        found = f"{len(pairs):,} pairs without a label" if pairs else "none"
        raise bad_input(
            ", ".join(places), wanted="labelled pairs", found=found, do="label them: posbias leakage sample writes a sheet"
        )
    if len(labelled) < len(pairs):
        say(f"{len(pairs) - len(labelled):,} of {len(pairs):,} pairs have no label and were left out")
    return labelled


def _results(score: str, found: Calibration, labelled: Labelled, given: float | None, name: str, seed: int) -> list[Result]:
    """The threshold with its curve, the precision there, that of the given threshold, and the prevalence."""
    from positionbias.leakage.precision import at_threshold
    from positionbias.results.leakage_pairs import GIVEN_PRECISION, PRECISION_AT, PREVALENCE, THRESHOLD, LeakShare
    from positionbias.results.result import Result

    def share(measure: str, threshold: float | None, item: Share) -> Result:
        figures = LeakShare(threshold=threshold, pairs=item.pairs, leaks=item.leaks)
        return Result(measure, name, "", score, seed, item.value, item.interval, item.pairs, figures)

    count = len(labelled)
    results = [
        share(PREVALENCE, None, found.prevalence),
        Result(THRESHOLD, name, "", score, seed, found.threshold, found.interval, count, found.figures),
        share(PRECISION_AT, found.threshold, found.precision),
    ]
    if given is not None:
        results.append(share(GIVEN_PRECISION, given, at_threshold(labelled, given)))
    return results


def _text(results: Sequence[Result]) -> str:
    """What each score's threshold is and how sure, the table, and the prevalence."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.leakage_pairs import PRECISION_AT, PREVALENCE, LeakShare, ThresholdFigures
    from positionbias.results.select import of_type

    thresholds = of_type(results, ThresholdFigures)
    intervals = {result.system: result.interval for result, _ in thresholds}
    (prevalence, everything), *_ = shares = of_type(results, LeakShare)
    rows = [("score", "threshold", "pairs", "precision", "of labelled leaks")]
    for result, at in shares:
        if result.measure != PREVALENCE:
            bounds = _bounds(intervals[result.system]) if result.measure == PRECISION_AT else " (given)"
            threshold = "none" if at.threshold is None else f"{_down(at.threshold)}{bounds}"
            kept = f"{at.leaks:,} of {everything.leaks:,}"
            rows.append((result.system, threshold, f"{result.count:,}", _share(result), kept))
    head = f"{prevalence.count:,} labelled pairs, {everything.leaks:,} of them leaks: prevalence {_share(prevalence)}"
    return "\n".join([*(_answer(*item) for item in thresholds), "", aligned(rows), "", head, ""])


def _down(threshold: float) -> str:
    """A threshold to four digits, rounded down, so that it still keeps the pair that it is the score of."""
    return f"{math.floor(threshold * 1e4) / 1e4:.4f}"


def _answer(result: Result, of: ThresholdFigures) -> str:
    """A score's threshold in a sentence, with what to expect of it on other test queries."""
    wanted, paper, held = of.precision_wanted, of.rule == "paper", of.held_out
    if result.value is None:
        reached = f"the best lower bound is {of.best_lower_bound:.3f}" if not paper else "at none is the precision as high"
        return f"{result.system}: no threshold {'keeps' if paper else 'surely keeps'} a precision of {wanted:g} ({reached}); label more pairs, or ask for less."
    sure = "as these pairs have it, which others keep about half of the time" if paper else "with 95 % confidence"
    text = f"{result.system}: from {_down(result.value)} on, the precision is at least {wanted:g} {sure}."
    if held is None or held.precision is None:
        return text
    return (
        f"{text} Held-out test queries: {held.precision:.3f} (lowest {held.lowest:.3f}; {wanted:g} or more in {held.reached:.0%} of "
        f"{held.repeats} cross-validations), {held.found:.1%} of labelled leaks kept."
    )


def _share(result: Result) -> str:
    return "-" if result.value is None else f"{result.value:.3f}{_bounds(result.interval, '.3f')}"


def _bounds(interval: Any, form: str = ".4f") -> str:
    return f" [{interval.low:{form}}, {interval.high:{form}}]" if interval else ""


def _wrong(pairs: Sequence[Pair], score: str, threshold: float | None, count: int) -> list[str]:
    """The pairs that a threshold gets most wrong: other topics of the highest score, leaks of the lowest."""
    if not count or threshold is None:
        return []
    falling = sorted(pairs, key=lambda pair: (-pair.scores[score], pair.ids))
    false = [pair for pair in falling if pair.label and not pair.label.leaks and pair.scores[score] >= threshold]
    missed = [pair for pair in reversed(falling) if pair.label and pair.label.leaks and pair.scores[score] < threshold]
    lines = []
    for what, held in (("other topics at or above", false), ("leaks below", missed)):
        lines += ["", f"{score}: {len(held):,} {what} {threshold:.4f}"]
        lines += [
            f"  {p.scores[score]:.4f}  {p.train_text!r} and {p.test_id}: {' / '.join(p.searched())!r}" for p in held[:count]
        ]
    return lines
