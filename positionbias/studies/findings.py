"""What the figures of a position-bias study say, in sentences; each is made from the numbers and true of nothing else.

A comparison that was repeated with several training seeds or rotation draws is one sentence: the mean over the repeats, and the
t interval over them (``evaluation.repeats``); one that was not has the interval over queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from positionbias.core.formatting import as_form, percent
from positionbias.core.payloads import AtsCurve, Comparison, Finding, Interval, PositionHistogram, TrainingCurve
from positionbias.core.result import Facts, Result
from positionbias.evaluation.repeats import over_repeats
from positionbias.studies.against import MARGIN, against_change, against_mats, against_training
from positionbias.studies.endings import ending_findings
from positionbias.studies.wording import between

__all__ = ["DOSES", "Change", "baselines", "findings", "idle_trainings", "over", "trainings"]

Group = Sequence[tuple[Result, Comparison]]


class Change(NamedTuple):
    """A figure over all repeats of a comparison; without an interval nothing tells how sure it is."""

    value: float
    interval: Interval | None
    repeats: int

    def shown(self, form: str = "+.1%") -> str:
        """The figure, its interval, and over how many repeats."""
        repeats = f", over {self.repeats} repeats" if self.repeats > 1 else ""
        sure = f"{between(self.interval, form)}{repeats}" if self.interval else f"no interval{repeats}"
        return f"{as_form(self.value, form)} ({sure})"


def over(
    group: Group, value: Callable[[Comparison], float | None], interval: Callable[[Comparison], Interval | None]
) -> Change | None:
    """The mean of a figure over repeats; None where it is undefined in one of them."""
    found = {(result.facts.seed, result.facts.rotation): (value(c), interval(c)) for result, c in group}
    values = {key: figure for key, (figure, _) in found.items() if figure is not None}
    if not values or len(values) < len(found):
        return None
    if len(found) == 1:
        ((figure, sure),) = found.values()
        return None if figure is None else Change(figure, sure, 1)
    repeated = over_repeats(values)
    return Change(repeated.mean, repeated.interval, repeated.repeats)


def _relative(group: Group) -> Change | None:
    return over(group, lambda c: c.relative, lambda c: c.relative_interval)


def _difference(group: Group) -> Change | None:
    return over(group, lambda c: c.difference, lambda c: c.difference_interval)


def _verdict(change: Change | None) -> tuple[str, bool | None]:
    """What a change between test sets amounts to, and whether there is one (None: these data do not decide)."""
    if change is None or change.interval is None:
        return "cannot be said", None
    low, high = change.interval.low, change.interval.high
    if low >= -MARGIN and high <= MARGIN:
        return f"does not change beyond ±{percent(MARGIN, 0)}: {change.shown()}", False
    if high < 0:
        return f"falls: {change.shown()}", True
    if low > 0:
        return f"rises: {change.shown()}", True
    return f"changes by {change.shown()}: these data do not decide", None


def _positions(result: Result, place: str) -> Finding:
    payload = result.payload
    assert isinstance(payload, PositionHistogram)
    share = payload.figures["first_fifth"]
    interval, expected = Interval(**share["interval"]), share["expected"]
    if interval.low > expected:
        verdict, holds = "more than an unbiased collection would have", True
    elif interval.high < expected:
        verdict, holds = "less than an unbiased collection would have", True
    else:
        verdict, holds = "what an unbiased collection would have", False
    return Finding(
        f"{place}, {percent(share['value'])} of {result.count:,} answers start in the first fifth "
        f"({between(interval, '.1%')}): {verdict} ({percent(expected)}).",
        holds,
    )


def _groups(
    results: Iterable[Result], measure: str, axis: str, key: Callable[[Result, Comparison], tuple]
) -> dict[tuple, Group]:
    """The comparisons along one axis on a measure, those that differ by seed and draw alone together."""
    found: dict[tuple, list[tuple[Result, Comparison]]] = {}
    for result in results:
        payload = result.payload
        if result.measure == measure and isinstance(payload, Comparison) and payload.notes["axis"] == axis:
            found.setdefault(key(result, payload), []).append((result, payload))
    return dict(found)


def _test_sets(results: Sequence[Result], measure: str) -> list[Finding]:
    found = []
    for (system, subset), group in _groups(results, measure, "test sets", lambda r, c: (r.system, c.subset)).items():
        if system == "position-only":
            continue
        change = _relative(group)
        words, holds = _verdict(change)
        queries = group[0][1].notes.get("queries", group[0][0].count)
        where = "" if subset == "all queries" else f", over the {queries:,} {subset},"
        found.append(Finding(f"{system}: when the test passages are rotated, {measure}{where} {words}.", holds))
        if subset == "all queries":
            found += against_change(results, measure, group[0][0], holds)
    return found


def _cuts(cuts: Mapping[int, tuple[int, int]]) -> list[Finding]:
    found = []
    for draw, (whole, cut) in cuts.items():
        if cut:
            known = whole + cut
            which = f" of draw {draw}" if len(cuts) > 1 else ""
            text = f"The rotation{which} cut through the answer of {cut:,} of the {known:,} test queries whose answer's place is known"
            found.append(Finding(f"{text} ({percent(cut / known)}).", None))
    return found


Against = Callable[[Result, Comparison, str, bool | None], list[Finding]]


def trainings(results: Sequence[Result], measure: str, against: Against, *, axis: str = "trainings") -> list[Finding]:
    """Which of two trainings is better on which test passages; ``against`` adds what goes against the paper, given a repeat's
    result, its comparison, the test passages and whether the second is better."""
    found: list[Finding] = []
    groups = _groups(results, measure, axis, lambda r, c: (*c.notes["systems"], r.facts.test or c.notes["test_sets"][0]))
    for (base, other, test), group in groups.items():
        change = _difference(group)
        if change is None or change.interval is None:
            continue
        low, high = change.interval.low, change.interval.high
        verdict, holds = (
            ("is better than", True) if low > 0 else ("is worse than", False) if high < 0 else ("cannot be told from", None)
        )
        means = [
            sum(values) / len(group) for values in zip(*((c.candidate_mean, c.baseline_mean) for _, c in group), strict=True)
        ]
        text = f"On the {test} test passages {other} {verdict} {base}: {measure} {means[0]:.3f} against {means[1]:.3f}"
        found.append(Finding(f"{text}, difference {change.shown('+.3f')}.", holds))
        found += against(*group[0], test, holds)
    return found


def baselines(results: Sequence[Result], measure: str) -> list[Finding]:
    """Whether every model beats every baseline; those that were not shown to are named."""
    groups = _groups(results, measure, "baseline", lambda r, c: (c.notes["systems"][0], r.system, c.notes["test_sets"][1]))
    if not groups:
        return []
    lost: dict[tuple[str, str], list[str]] = {}
    for (base, system, test), group in groups.items():
        change = _difference(group)
        if change is None or change.interval is None or change.interval.low <= 0:
            lost.setdefault((system, base), []).append(test)
    if not lost:
        known = {"bm25": "BM25", "position-only": "a scorer that knows position only"}
        names = " and ".join(known[base] for base in dict.fromkeys(base for base, _, _ in groups))
        tests = ", on both test sets" if len({test for _, _, test in groups}) > 1 else ""
        return [Finding(f"Every model beats {names}{tests}, with intervals off zero.", True)]
    named = "; ".join(f"{system} against {base} on {' and '.join(tests)}" for (system, base), tests in lost.items())
    return [Finding(f"Not shown to beat a baseline, so what it does with position counts for little: {named}.", False)]


def _term_similarity(results: Sequence[Result]) -> list[Finding]:
    """MATS on the original passages, by training; the mean over seeds and draws."""
    found: dict[Facts, dict[tuple[int | None, int | None], float]] = {}
    first: dict[Facts, Result] = {}
    for result in results:
        facts = result.facts
        if isinstance(result.payload, AtsCurve) and facts.test == "original" and result.value is not None:
            kind = Facts(model=facts.model, training=facts.training, unfinished=facts.unfinished)
            found.setdefault(kind, {})[facts.seed, facts.rotation] = result.value
            first.setdefault(kind, result)
    sentences = []
    for kind, values in found.items():
        rotated = replace(kind, training="rotated")
        if kind.training != "original" or rotated not in found:
            continue
        one, other = over_repeats(values), over_repeats(found[rotated])
        relation = "lower" if other.mean < one.mean else "higher"
        text = (
            f"MATS on the original passages: {first[kind].system} {one.mean:.3f}, {first[rotated].system} {other.mean:.3f} ({relation} after training on "
            "rotated passages). An untrained TK depends strongly on position, so this falls with long training alone: the training "
            "curves show how far these models are."
        )
        sentences += [Finding(text, None), *against_mats(results, first[kind], other.mean < one.mean)]
    return sentences


DOSES = "doses"  # the axis of comparisons of one dose's change with another's


class _Idle(NamedTuple):
    """A training whose tuned re-ranking depth is 1: it leaves BM25's order as it is."""

    system: str
    seed: int | None
    rotation: int | None


def _idle(results: Sequence[Result]) -> list[_Idle]:
    curves = [r for r in results if isinstance(r.payload, TrainingCurve) and r.payload.ending.depth == 1]
    return [_Idle(result.system, result.facts.seed, result.facts.rotation) for result in curves]


def _re_ranks(result: Result, idle: Sequence[_Idle]) -> bool:
    """Whether a comparison has a model that re-ranks in it: what it says of a model is then said of one."""
    if not isinstance(result.payload, Comparison):
        return True
    facts = result.facts
    resting = {item.system for item in idle if item.seed == facts.seed and item.rotation in (None, facts.rotation)}
    systems = set(result.payload.notes["systems"])
    if result.payload.notes["axis"] == DOSES:  # the change of a model less the change of none is no effect of the dose
        return not systems & resting
    return not systems <= resting


def _idleness(idle: Sequence[_Idle], results: Sequence[Result]) -> list[Finding]:
    if not idle:
        return []
    ended = [result.system for result in results if isinstance(result.payload, TrainingCurve)]
    counts = {
        system: (sum(i.system == system for i in idle), ended.count(system)) for system in dict.fromkeys(i.system for i in idle)
    }
    named = ", ".join(name if both == (1, 1) else f"{name} ({both[0]} of {both[1]} trainings)" for name, both in counts.items())
    text = (
        f"Does not beat its first stage on validation: {named}. No re-ranking depth did better there than BM25's own order, so these scores change "
        "nothing: depth 1. The effectiveness is BM25's and says nothing about the model, so the sentences about models leave it out; train longer, or start "
        "from word vectors or an encoder."
    )
    return [Finding(text, None)]


def idle_trainings(results: Sequence[Result]) -> tuple[list[Finding], list[Result]]:
    """Sentences about trainings that are not finished or that ended in a model that re-ranks nothing, and the results without comparisons of the latter alone."""
    idle = _idle(results)
    return [*ending_findings(results), *_idleness(idle, results)], [result for result in results if _re_ranks(result, idle)]


def findings(results: Sequence[Result], measure: str, *, cuts: Mapping[int, tuple[int, int]]) -> list[Finding]:
    """The study's findings on its headline measure. By rotation draw, ``cuts`` has the number of test queries whose answers it left
    whole, and of those whose answer it cut."""
    histograms = [result for result in results if isinstance(result.payload, PositionHistogram)]
    places = ["In the passages as they are"]
    places += [f"After rotation{f' (draw {draw})' if len(cuts) > 1 else ''}" for draw in cuts]
    idle, spoken = idle_trainings(results)
    return [
        *(_positions(result, place) for result, place in zip(histograms, places, strict=False)),
        *idle,
        *_test_sets(spoken, measure),
        *_cuts(cuts),
        *trainings(spoken, measure, lambda r, _, test, better: against_training(results, measure, r, test, better)),
        *baselines(results, measure),
        *_term_similarity(results),
    ]
