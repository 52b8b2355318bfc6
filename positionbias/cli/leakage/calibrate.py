"""``posbias leakage calibrate``: from which score on a pair is a leak, by hand-labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import emit, input_place, json_option, kind_option, say, seed_option
from positionbias.cli.leakage.device import device_option, encoder_on

if TYPE_CHECKING:
    from positionbias.core.result import Result
    from positionbias.leakage.calibrate import Calibration, Labelled, Share
    from positionbias.leakage.pairs import Pair

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
    pairs: tuple[str, ...], scores: tuple[str, ...], least_precision: float, given: float | None, encoder: str | None, kind: str | None,
    wrong: int, device: str, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """The lowest threshold with a precision of 0.9, from PAIRS that people have labelled (JSON lines, TSV, or a filled sheet).

    Several files count as one. Prints the precision there, the share of labelled leaks that it keeps, the prevalence, and how sure they are.

    \b
      posbias leakage calibrate annotated.jsonl --score cosine --score jaccard --score both --apply 0.91
    """  # fmt: skip
    from positionbias.leakage.calibrate import NO_RECALL, Labelled
    from positionbias.leakage.calibrate import calibrate as find_threshold
    from positionbias.leakage.score import scored

    labelled = _read(pairs)
    encode = None
    if encoder:
        _, encode = encoder_on(device, encoder, kind)
    results, lines = [], []
    for score in dict.fromkeys(scores):
        found = scored(labelled, score, encode=encode)
        arrays = Labelled(
            [pair.scores[score] for pair in found],
            [bool(pair.label and pair.label.leaks) for pair in found],
            [pair.test_id for pair in found],
            [pair.weight for pair in found],
        )
        calibration = find_threshold(arrays, precision=least_precision, seed=seed)
        results += _results(score, calibration, arrays, given, input_place(pairs[0]).name, seed, least_precision)
        lines += _wrong(found, score, calibration.threshold if given is None else given, wrong)
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


def _results(
    score: str, found: Calibration, labelled: Labelled, given: float | None, name: str, seed: int, precision: float
) -> list[Result]:
    """The threshold with its curve, the precision there, that of the given threshold, and the prevalence."""
    from positionbias.core.payloads import Statistics
    from positionbias.core.result import Result
    from positionbias.leakage.calibrate import NO_RECALL, at_threshold

    def result(measure: str, value: float | None, interval: Any, count: int, rows: dict[str, Any]) -> Result:
        return Result(measure, name, "", score, seed, value, interval, count, Statistics(rows))

    def share(measure: str, threshold: float | None, item: Share) -> Result:
        rows = {"threshold": threshold, "pairs": item.pairs, "leaks": item.leaks}
        return result(measure, item.value, item.interval, item.pairs, rows)

    curve = found.curve
    rows = {
        "precision_wanted": precision,
        "share_of_labelled_leaks": found.found,
        "higher_thresholds_below": found.below_above,
        "resamples_without_threshold": found.unreached,
        "note": NO_RECALL,
        "curve": {name: values.tolist() for name, values in curve._asdict().items()},
    }
    results = [
        share("leakage prevalence", None, found.prevalence),
        result("leakage threshold", found.threshold, found.interval, len(labelled), rows),
        share("leakage precision", found.threshold, found.precision),
    ]
    if given is not None:
        results.append(share("leakage precision, given threshold", given, at_threshold(labelled, given)))
    return results


def _text(results: Sequence[Result]) -> str:
    from positionbias.cli.show import aligned

    prevalence = results[0]
    rows = [("score", "threshold", "pairs", "precision", "of labelled leaks")]
    found: Any = None
    for result in results:
        payload: Any = result.payload
        if result.measure == "leakage threshold":
            found = result
        elif result.measure.startswith("leakage precision"):
            calibrated = result.measure == "leakage precision"
            threshold = "none" if payload.rows["threshold"] is None else f"{payload.rows['threshold']:.4f}"
            all_leaks: Any = prevalence.payload
            kept = f"{payload.rows['leaks']:,} of {all_leaks.rows['leaks']:,}"
            bounds = _bounds(found.interval) if calibrated else " (given)"
            rows.append((result.system, threshold + bounds, f"{result.count:,}", _share(result), kept))
    counts: Any = prevalence.payload
    head = f"{prevalence.count:,} labelled pairs, {counts.rows['leaks']:,} of them leaks: prevalence {_share(prevalence)}"
    return f"{head}\n\n{aligned(rows)}\n"


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
