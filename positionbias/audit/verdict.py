"""What an audit's figures say, in words: which way, how much, how surely; and what could have been seen where nothing was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from positionbias.audit.by_position import GAIN, PSI
from positionbias.audit.rotations import GAP
from positionbias.audit.systems import FIRST_STAGE
from positionbias.core.formatting import decimal
from positionbias.core.payloads import Finding, PositionBuckets, Statistics
from positionbias.core.result import Result
from positionbias.evaluation.clustered import family_wise

__all__ = ["RESPONSE", "VERDICT", "adjusted", "verdicts"]

RESPONSE = "position response"
VERDICT = "verdict"
LEVEL = 0.05


def adjusted(results: Sequence[Result]) -> list[Result]:
    """The results with the p-values of the audit's headline tests corrected, as one family, by Holm.

    The family: of every system PSI and slope of the first measure over all passages on the first scale, the rotation gap of that
    measure, the slope of the gain over the first stage, that of the position response. Other p-values are printed as they are.
    """
    tests = {(place, name): result.payload for place, result in enumerate(results) for name in _tests(results, result)}
    p_values = {f"{place} {name}": _figures(payload).get(name) for (place, name), payload in tests.items()}
    corrected = family_wise(p_values)
    out = list(results)
    for place, name in tests:
        figures = {**_figures(out[place].payload), f"{name}_adjusted": corrected[f"{place} {name}"]}
        payload: Any = out[place].payload
        changed = replace(payload, **{"rows" if isinstance(payload, Statistics) else "figures": figures})
        out[place] = replace(out[place], payload=changed)
    return out


def _tests(results: Sequence[Result], result: Result) -> Sequence[str]:
    """Which of a result's p-values belong to the family; the first stage is not what is audited, and has none in it."""
    payload = result.payload
    if result.facts.model == FIRST_STAGE:
        return ()
    if result.measure == PSI and isinstance(payload, PositionBuckets):
        head = next(other.payload for other in results if other.measure == PSI)
        assert isinstance(head, PositionBuckets)
        first = not payload.group and (payload.quality, payload.scale) == (head.quality, head.scale)
        return ("p", "slope_p") if first else ()
    if result.measure == GAP and isinstance(payload, Statistics):
        head_gap = next(other.payload for other in results if other.measure == GAP)
        assert isinstance(head_gap, Statistics)
        return ("p",) if payload.rows["quality"] == head_gap.rows["quality"] else ()
    return ("slope_p",) if result.measure in (GAIN, RESPONSE) else ()


def _figures(payload: Any) -> Mapping[str, Any]:
    return payload.rows if isinstance(payload, Statistics) else payload.figures


def verdicts(results: Sequence[Result]) -> list[Result]:
    """A few verdicts a system, from adjusted results; the first stage gets none of its own."""
    found = []
    for system in dict.fromkeys(result.system for result in results):
        heads = [result for result in results if result.system == system and _tests(results, result)]
        findings = [_SAID[result.measure](result, result.payload) for result in heads]
        found += [replace(heads[0], measure=VERDICT, value=None, interval=None, payload=finding) for finding in findings]
    return found


def _by_position(result: Result, payload: Any) -> Finding:
    """From the slope over queries. It is the questions' as much as the ranking's, so it names no preference."""
    figures, name, queries = payload.figures, payload.quality, f"{sum(payload.counts):,} queries"
    begin = f"{result.system}, by where answers sit"
    if figures.get("slope") is None:
        return Finding(f"{begin}: undefined for {name}, {figures.get('slope_undefined', 'too few queries')}")
    said = _Said("does better where answers stand early", "does better where answers stand late", f"no difference in {name}")
    text, holds = said.of(figures, name, f" over {figures['slope_unit']}", queries)
    if figures.get("excess") is not None:
        text += (
            f"; PSI {figures['psi']:.3f}, of which chance makes {figures['null_mean']:.3f} ({_p(figures.get('p_adjusted'))})"
        )
    return Finding(
        f"{begin}: {text}. Harder questions may have their answers elsewhere, so this alone is no preference.", holds
    )


def _by_gain(result: Result, payload: Any) -> Finding:
    """What it adds to the first stage, by position: the questions are the same ones."""
    figures, queries = payload.figures, f"{sum(payload.counts):,} queries"
    begin = f"{result.system}, {payload.quality} by where answers sit"
    if figures.get("slope") is None:
        return Finding(f"{begin}: undefined, {figures.get('slope_undefined', 'too few queries')}")
    said = _Said("helps more where answers stand early", "helps more where answers stand late", "no difference in the gain")
    text, holds = said.of(figures, "the gain", f" over {figures['slope_unit']}", queries)
    return Finding(f"{begin}: {text}.", holds)


def _by_rotation(result: Result, payload: Any) -> Finding:
    rows, change, bounds = payload.rows, result.value, result.interval
    name, queries = rows["quality"], f"{result.count:,} queries, {rows['draws']} rotations each"
    begin = f"{result.system}, when passages are rotated"
    if change is None or bounds is None:
        return Finding(f"{begin}: undefined for {name}, too few passages")
    said = _Said(f"loses {name}", f"gains {name}", f"no change of {name}")
    figures = {
        "slope": change,
        "slope_low": bounds.low,
        "slope_high": bounds.high,
        "slope_p_adjusted": rows.get("p_adjusted"),
        "slope_detectable": rows.get("smallest detectable change"),
    }
    text, holds = said.of(figures, name, "", queries)
    control = rows.get("control change")
    apart = "" if control is None else f"; where the answer stays in its fifth the change is {decimal(control, sign=True)}"
    return Finding(f"{begin}: {text}{apart}.", holds)


def _by_response(result: Result, payload: Any) -> Finding:
    figures = payload.figures
    begin = f"{result.system}, with the answering sentence moved through its passage"
    if figures.get("slope") is None:
        return Finding(f"{begin}: undefined, no passage with a sentence to move")
    said = _Said("prefers the front", "prefers the end", "no preference")
    where = " deviations of its candidates' scores from first to last place"
    text, holds = said.of(figures, "the score", where, f"{figures['queries']:,} queries")
    return Finding(f"{begin}: {text}.", holds)


class _Said(NamedTuple):
    """The words for a value below 0, above 0, and for one that may be 0."""

    below: str
    above: str
    nothing: str

    def of(self, figures: Mapping[str, Any], what: str, over: str, queries: str) -> tuple[str, bool | None]:
        """Value and interval in words, and whether an effect was found (None: there is no interval)."""
        value, low, high = figures["slope"], figures["slope_low"], figures["slope_high"]
        if low is None or high is None:
            return f"nothing can be said: {queries} of too few passages for an interval", None
        p, detectable = figures.get("slope_p_adjusted"), figures.get("slope_detectable")
        if p is not None and p < LEVEL:
            least, most = (-high, -low) if value < 0 else (low, high)
            verb = "falls" if value < 0 else "rises"
            size = f"{what} {verb} by {abs(value):.3f}{over} (95 % interval {least:.3f} to {most:.3f})"
            return f"{self.below if value < 0 else self.above}: {size}, {queries}", True
        power = (
            f"; one of {detectable:.3f} would have been found four times in five" if detectable and detectable > 5e-4 else ""
        )
        largest = max(abs(low), abs(high))
        return f"{self.nothing} larger than {largest:.3f}{over} is compatible with these data, {queries}{power}", False


def _p(value: float | None) -> str:
    return "p undefined" if value is None else "p < 0.001" if value < 0.001 else f"p {value:.3f}"


_SAID: dict[str, Callable[[Result, Any], Finding]] = {
    PSI: _by_position,
    GAIN: _by_gain,
    GAP: _by_rotation,
    RESPONSE: _by_response,
}
