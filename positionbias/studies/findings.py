"""What the figures of a position-bias study say, in sentences; each is made from the numbers and true of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.result import AtsCurve, Comparison, Finding, Interval, PositionHistogram, Result, TrainingCurve

__all__ = ["MARGIN", "findings"]

MARGIN = 0.03  # a change whose whole interval lies within ±3 % is called none [decision]


def _signed(value: float, form: str) -> str:
    return f"{value:{form}}".replace("-", "−")


def _between(interval: Interval, form: str = "+.1%") -> str:
    return f"95 % interval {_signed(interval.low, form)} to {_signed(interval.high, form)}"


def _change(comparison: Comparison) -> tuple[str, bool | None]:
    """What a change between test sets amounts to, and whether there is one (None: these data do not decide)."""
    interval = comparison.relative_interval
    if comparison.relative is None or interval is None:
        return "cannot be said", None
    figures = f"{_signed(comparison.relative, '+.1%')} ({_between(interval)})"
    if interval.low >= -MARGIN and interval.high <= MARGIN:
        return f"does not change beyond ±{MARGIN:.0%}: {figures}", False
    if interval.high < 0:
        return f"falls: {figures}", True
    if interval.low > 0:
        return f"rises: {figures}", True
    return f"changes by {figures}: these data do not decide", None


def _positions(result: Result, rotated: bool) -> Finding:
    payload = result.payload
    assert isinstance(payload, PositionHistogram)
    share = payload.figures["first_fifth"]
    interval, expected = Interval(**share["interval"]), share["expected"]
    place = "After rotation" if rotated else "In the passages as they are"
    if interval.low > expected:
        verdict, holds = "more than an unbiased collection would have", True
    elif interval.high < expected:
        verdict, holds = "less than an unbiased collection would have", True
    else:
        verdict, holds = "what an unbiased collection would have", False
    return Finding(
        f"{place}, {share['value']:.1%} of {result.count:,} answers start in the first fifth "
        f"({_between(interval, '.1%')}): {verdict} ({expected:.1%}).",
        holds,
    )


def _of(results: Sequence[Result], measure: str, axis: str) -> list[Comparison]:
    payloads = [r.payload for r in results if r.measure == measure and isinstance(r.payload, Comparison)]
    return [payload for payload in payloads if payload.notes["axis"] == axis]


def _test_sets(results: Sequence[Result], measure: str, whole: int, cut: int, idle: Sequence[str]) -> list[Finding]:
    found = []
    for comparison in _of(results, measure, "test sets"):
        system = comparison.notes["systems"][0]
        if system == "position-only" or system in idle:
            continue
        words, holds = _change(comparison)
        where = "" if comparison.subset == "all queries" else f", over the {comparison.notes['queries']:,} {comparison.subset},"
        found.append(Finding(f"{system}: when the test passages are rotated, {measure}{where} {words}.", holds))
    if cut:
        known = whole + cut
        text = f"The rotation cut through the answer of {cut:,} of the {known:,} test queries whose answer's place is known"
        found.append(Finding(f"{text} ({cut / known:.1%}).", None))
    return found


def _trainings(results: Sequence[Result], measure: str, idle: Sequence[str]) -> list[Finding]:
    found = []
    for comparison in _of(results, measure, "trainings"):
        interval = comparison.difference_interval
        if interval is None or set(comparison.notes["systems"]) <= set(idle):
            continue
        base, other = comparison.notes["systems"]
        verdict, holds = (
            ("is better than", True)
            if interval.low > 0
            else ("is worse than", False)
            if interval.high < 0
            else ("cannot be told from", None)
        )
        text = (
            f"On the {comparison.notes['test_sets'][0]} test passages {other} {verdict} {base}: {measure} {comparison.candidate_mean:.3f} against "
            f"{comparison.baseline_mean:.3f}, difference {_signed(comparison.difference, '+.3f')} ({_between(interval, '+.3f')})."
        )
        found.append(Finding(text, holds))
    return found


def _baselines(results: Sequence[Result], measure: str) -> list[Finding]:
    pairs = _of(results, measure, "baseline")
    if not pairs:
        return []
    lost = [c for c in pairs if c.difference_interval is None or c.difference_interval.low <= 0]
    if not lost:
        return [
            Finding(
                "Every model beats BM25 and a scorer that knows position only, on both test sets, with intervals off zero.",
                True,
            )
        ]
    names = "; ".join(f"{c.candidate} against {c.baseline.split(' on ')[0]}" for c in lost)
    return [Finding(f"Not shown to beat a baseline, so what it does with position counts for little: {names}.", False)]


def _term_similarity(results: Sequence[Result]) -> list[Finding]:
    curves = [r for r in results if isinstance(r.payload, AtsCurve)]
    first = [r for r in curves if r.collection == curves[0].collection]
    if len(first) < 2 or any(r.value is None for r in first[:2]):
        return []
    one, other = first[:2]
    assert one.value is not None
    assert other.value is not None
    relation = "lower" if other.value < one.value else "higher"
    return [
        Finding(
            f"MATS on the original passages: {one.system} {one.value:.3f}, {other.system} {other.value:.3f} ({relation} after training on rotated "
            "passages). An untrained TK depends strongly on position, and the fall that the paper reports (0.176 to 0.021) comes with long "
            "training: the training curves show how far these models are.",
            None,
        )
    ]


def _idle(results: Sequence[Result]) -> list[str]:
    """Systems whose tuned re-ranking depth is 1: they leave BM25's order as it is."""
    return [r.system for r in results if isinstance(r.payload, TrainingCurve) and r.payload.notes.get("depth") == 1]


def _idleness(system: str) -> Finding:
    return Finding(
        f"{system}: no re-ranking depth did better on the validation queries than BM25's own order, so its depth is 1 and it re-ranks "
        "nothing. Its effectiveness is BM25's and says nothing about the model; train longer, or start from word vectors.",
        None,
    )


def findings(results: Sequence[Result], measure: str, *, whole: int, cut: int) -> list[Finding]:
    """The study's findings on its headline measure. The rotation left the answers of ``whole`` test queries whole, and cut ``cut``."""
    histograms = [r for r in results if isinstance(r.payload, PositionHistogram)]
    idle = _idle(results)
    return [
        *(_positions(result, rotated=number > 0) for number, result in enumerate(histograms)),
        *map(_idleness, idle),
        *_test_sets(results, measure, whole, cut, idle),
        *_trainings(results, measure, idle),
        *_baselines(results, measure),
        *_term_similarity(results),
    ]
