"""Word the findings of a study of position, from its figures alone, and their contradictions of the
paper.

A comparison repeated with several training seeds or rotation draws gives one sentence, on the
comparison over trainings and queries (``experiments.over_trainings``). The sentence is about the
method with five trainings, or with three and an interval without 0. With two trainings it has both
figures and no interval; with one it is about that checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from positionbias.core.formatting import as_form, percent
from positionbias.core.interval import Interval
from positionbias.evaluation.crossed import LEAST, OVER_QUERIES, speaks_of_method
from positionbias.evaluation.trainings import figures_over
from positionbias.experiments.against import APART, LOOK, MARGIN
from positionbias.experiments.endings import ending_findings
from positionbias.papers.position_bias.published import published_of
from positionbias.results.curves import POINTS, Beside
from positionbias.results.payloads import (
    AtsCurve,
    Comparison,
    Finding,
    PositionHistogram,
    TrainingCurve,
)
from positionbias.results.published import DELTA, PublishedCell
from positionbias.results.result import Facts, Result
from positionbias.results.select import over_axis

__all__ = [
    "Change",
    "against_transfer",
    "baselines",
    "difference_of",
    "findings",
    "idle_trainings",
    "that_re_rank",
    "relative_of",
    "amount_of",
    "better_of",
    "idle_of",
    "re_ranks",
    "together",
    "trainings",
]

Evidence = tuple[Result, Comparison]


def _between(bounds: Interval, form: str = "+.3f") -> str:
    """Return an interval in words."""
    return f"95 % interval {as_form(bounds.low, form)} to {as_form(bounds.high, form)}"


class Change(NamedTuple):
    """A figure of a comparison, with its interval if any. ``by_seed`` has the figures of several
    training seeds.
    """

    value: float
    interval: Interval | None
    by_seed: Sequence[float] = ()
    of_method: bool = False

    @property
    def scope(self) -> str:
        """Describe what the interval is over, and what it is about."""
        number = len(self.by_seed)
        if number < LEAST:
            return OVER_QUERIES
        speaks = "the method" if self.of_method else "these trainings, not yet of the method"
        return f"over {number} trainings and queries: speaks of {speaks}"

    def shown(self, form: str = "+.1%") -> str:
        """Return the figure with its interval and what that is over; for two trainings both
        figures.
        """
        if self.interval is not None:
            return f"{as_form(self.value, form)} ({_between(self.interval, form)}, {self.scope})"
        both = " and ".join(as_form(value, form) for value in self.by_seed)
        lacking = (
            f"{both} by training seed: {len(self.by_seed)} trainings have no interval"
            if both
            else "no interval"
        )
        return f"{as_form(self.value, form)} ({lacking})"


def relative_of(comparison: Comparison | None) -> Change | None:
    """Return the relative change, or None if it is undefined."""
    if comparison is None or comparison.relative is None:
        return None
    return _change(
        comparison.relative, comparison.relative_interval, comparison.noted.relative_by_seed
    )


def difference_of(comparison: Comparison | None) -> Change | None:
    """Return the difference, or None without a comparison."""
    if comparison is None:
        return None
    return _change(comparison.difference, comparison.difference_interval, comparison.noted.by_seed)


def _change(value: float, interval: Interval | None, by_seed: Sequence[float]) -> Change:
    return Change(value, interval, by_seed, speaks_of_method(interval, len(by_seed)))


def together(
    results: Iterable[Result], measure: str, axis: str, key: Callable[[Result, Comparison], tuple]
) -> dict[tuple, Evidence]:
    """Return the comparisons along one axis on a measure, by ``key``: a single one as it is, for
    several the one over trainings.
    """
    single: dict[tuple, list[Evidence]] = {}
    pooled: dict[tuple, Evidence] = {}
    for result in results:
        payload = result.payload
        if result.measure == measure and isinstance(payload, Comparison):
            if payload.noted.axis == axis:
                single.setdefault(key(result, payload), []).append((result, payload))
            elif payload.noted.axis == over_axis(axis):
                pooled[key(result, payload)] = (result, payload)
    alone = {name: group[0] for name, group in single.items() if len(group) == 1}
    return {name: (alone | pooled)[name] for name in single if name in alone or name in pooled}


def amount_of(change: Change | None) -> tuple[str, bool | None]:
    """Describe a change between test sets, and return whether there is one (None: cannot tell)."""
    if change is None:
        return "cannot be said", None
    if change.interval is None:
        return (f"changes by {change.shown()}" if change.by_seed else "cannot be said"), None
    low, high = change.interval.low, change.interval.high
    if low >= -MARGIN and high <= MARGIN:
        return f"does not change beyond ±{percent(MARGIN, 0)}: {change.shown()}", False
    if high < 0:
        return f"falls: {change.shown()}", True
    if low > 0:
        return f"rises: {change.shown()}", True
    return f"changes by {change.shown()}: cannot tell", None


_BESIDE = {
    Beside.ABOVE: ("more than in an unbiased collection", True),
    Beside.BELOW: ("less than in an unbiased collection", True),
    Beside.WITHIN: (f"as in an unbiased collection, to within {percent(POINTS, 0)}", False),
    Beside.UNKNOWN: ("cannot tell whether more than in an unbiased collection", None),
}


def _positions(result: Result, place: str) -> Finding:
    payload = result.payload
    assert isinstance(payload, PositionHistogram)
    if payload.figures.coarse:
        return Finding(f"{place}, where answers start is {payload.figures.coarse}.", None)
    share = payload.figures.first_fifth
    assert share is not None
    interval, expected = share.interval, share.expected
    assert interval is not None
    assert expected is not None
    verdict, holds = _BESIDE[share.beside]
    return Finding(
        f"{place}, {percent(share.value)} of {result.count:,} answers start in the first fifth "
        f"({_between(interval, '.1%')}): {verdict} ({percent(expected)}).",
        holds,
    )


def _by_system(result: Result, comparison: Comparison) -> tuple[str, str]:
    return result.system, comparison.subset


def _test_sets(results: Sequence[Result], measure: str) -> list[Finding]:
    found = []
    for (system, subset), (result, comparison) in together(
        results, measure, "test sets", _by_system
    ).items():
        if system == "position-only":
            continue
        words, holds = amount_of(relative_of(comparison))
        queries = comparison.notes.get("queries", result.count)
        where = "" if subset == "all queries" else f", over the {queries:,} {subset},"
        found.append(
            Finding(
                f"{system}: when the test passages are rotated, {measure}{where} {words}.", holds
            )
        )
        if subset == "all queries":
            found += against_change(results, measure, result, holds)
    return found


def _cuts(cuts: Mapping[int, tuple[int, int]]) -> list[Finding]:
    found = []
    for draw, (whole, cut) in cuts.items():
        if cut:
            known = whole + cut
            which = f" of draw {draw}" if len(cuts) > 1 else ""
            text = (
                f"The rotation{which} cut through the answer of {cut:,} of the {known:,} test "
                "queries whose answer's place is known"
            )
            found.append(Finding(f"{text} ({percent(cut / known)}).", None))
    return found


Against = Callable[[Result, Comparison, str, bool | None], list[Finding]]


def trainings(
    results: Sequence[Result],
    measure: str,
    against: Against = lambda *_: [],
    *,
    axis: str = "trainings",
) -> list[Finding]:
    """Compare two trainings on each kind of test passages; ``against`` adds contradictions of the
    paper, given a repeat's result, its comparison, the test passages and whether the second is
    better."""
    found: list[Finding] = []
    groups = together(
        results,
        measure,
        axis,
        lambda r, c: (*c.noted.systems, r.facts.test or c.noted.test_sets[0]),
    )
    for (base, other, test), (result, comparison) in groups.items():
        change = difference_of(comparison)
        if change is None or (change.interval is None and not change.by_seed):
            continue
        verdict, holds = better_of(change)
        means = f"{measure} {comparison.candidate_mean:.3f} against {comparison.baseline_mean:.3f}"
        text = (
            f"On the {test} test passages {other} {verdict} {base}: {means}, difference "
            f"{change.shown('+.3f')}"
        )
        found.append(Finding(f"{text}.", holds))
        found += against(result, comparison, test, holds)
    return found


def better_of(change: Change) -> tuple[str, bool | None]:
    if change.interval is None:
        return "stands beside", None
    low, high = change.interval.low, change.interval.high
    return (
        ("is better than", True)
        if low > 0
        else ("is worse than", False)
        if high < 0
        else ("is not distinguishable from", None)
    )


def baselines(results: Sequence[Result], measure: str) -> list[Finding]:
    """Report whether every model beats every baseline, and name those not shown to."""
    groups = together(
        results,
        measure,
        "baseline",
        lambda r, c: (c.noted.systems[0], r.system, c.noted.test_sets[1]),
    )
    if not groups:
        return []
    lost: dict[tuple[str, str], list[str]] = {}
    scopes: dict[str, None] = {}
    for (base, system, test), (_, comparison) in groups.items():
        change = difference_of(comparison)
        scopes[change.scope if change else ""] = None
        if change is None or change.interval is None or change.interval.low <= 0:
            lost.setdefault((system, base), []).append(test)
    if not lost:
        known = {"bm25": "BM25", "position-only": "a position-only scorer"}
        names = " and ".join(known[base] for base in dict.fromkeys(base for base, _, _ in groups))
        tests = ", on both test sets" if len({test for _, _, test in groups}) > 1 else ""
        return [
            Finding(
                f"Every model beats {names}{tests}, with intervals above 0 ({'; '.join(scopes)}).",
                True,
            )
        ]
    named = "; ".join(
        f"{system} against {base} on {' and '.join(tests)}"
        for (system, base), tests in lost.items()
    )
    return [
        Finding(
            f"Not shown to beat a baseline, so its use of position matters little: {named}.", False
        )
    ]


def _term_similarity(results: Sequence[Result]) -> list[Finding]:
    """Report MATS on the original passages by training, as a mean over seeds and draws."""
    found: dict[Facts, dict[tuple[int | None, int | None], float]] = {}
    first: dict[Facts, Result] = {}
    for result in results:
        facts = result.facts
        if (
            isinstance(result.payload, AtsCurve)
            and facts.test == "original"
            and result.value is not None
        ):
            kind = Facts(model=facts.model, training=facts.training, unfinished=facts.unfinished)
            found.setdefault(kind, {})[facts.seed, facts.rotation] = result.value
            first.setdefault(kind, result)
    sentences = []
    for kind, values in found.items():
        rotated = replace(kind, training="rotated")
        if kind.training != "original" or rotated not in found:
            continue
        one, other = (figures_over(of).value or 0.0 for of in (values, found[rotated]))
        relation = "lower" if other < one else "higher"
        text = (
            f"MATS on the original passages: {first[kind].system} {one:.3f}, "
            f"{first[rotated].system} {other:.3f} ({relation} after training on rotated passages). "
            "An untrained TK depends strongly on position, so MATS also falls with longer "
            "training: see the training curves."
        )
        sentences += [Finding(text, None), *against_mats(results, first[kind], other < one)]
    return sentences


class _Idle(NamedTuple):
    """A training whose tuned re-ranking depth is 1, so that it keeps BM25's order."""

    system: str
    seed: int | None
    rotation: int | None


def idle_of(results: Sequence[Result]) -> list[_Idle]:
    curves = [
        r for r in results if isinstance(r.payload, TrainingCurve) and r.payload.ending.depth == 1
    ]
    return [_Idle(result.system, result.facts.seed, result.facts.rotation) for result in curves]


def re_ranks(result: Result, idle: Sequence[_Idle]) -> bool:
    """Return True if both models of a comparison re-rank. A model that keeps BM25's order does not,
    and is named separately.
    """
    if not isinstance(result.payload, Comparison):
        return True
    facts = result.facts
    resting = {
        item.system
        for item in idle
        if item.seed == facts.seed and item.rotation in (None, facts.rotation)
    }
    systems = set(result.payload.noted.systems)
    return result.payload.noted.axis == "baseline" or not systems & resting


def that_re_rank(results: Sequence[Result]) -> list[Result]:
    """Return the results without any of a training that keeps BM25's order: neither its values nor
    comparisons with it.
    """
    idle = idle_of(results)
    own = {(item.system, item.seed) for item in idle}
    return [
        result
        for result in results
        if re_ranks(result, idle) and (result.system, result.facts.seed) not in own
    ]


def _idleness(idle: Sequence[_Idle], results: Sequence[Result]) -> list[Finding]:
    if not idle:
        return []
    ended = [result.system for result in results if isinstance(result.payload, TrainingCurve)]
    counts = {
        system: (sum(i.system == system for i in idle), ended.count(system))
        for system in dict.fromkeys(i.system for i in idle)
    }
    named = ", ".join(
        name if both == (1, 1) else f"{name} ({both[0]} of {both[1]} trainings)"
        for name, both in counts.items()
    )
    text = (
        f"Does not beat its first stage on validation: {named}. No re-ranking depth did better "
        "there than BM25's own order, so these scores change nothing: depth 1. The effectiveness "
        "is BM25's and says nothing about the model, so the sentences about models leave it out; "
        "train longer, start from word vectors or an encoder, or add BM25's scores to its own in "
        "an ensemble."
    )
    return [Finding(text, None)]


def idle_trainings(results: Sequence[Result]) -> tuple[list[Finding], list[Result]]:
    """Word warnings about unfinished trainings and models that re-rank nothing; return the other
    results, too, without comparisons of only the latter.
    """
    idle = idle_of(results)
    return [*ending_findings(results), *_idleness(idle, results)], [
        result for result in results if re_ranks(result, idle)
    ]


def findings(
    results: Sequence[Result], measure: str, *, cuts: Mapping[int, tuple[int, int]]
) -> list[Finding]:
    """Return the findings on the headline measure. ``cuts`` counts, by rotation draw, test queries
    whose answers it left whole, and those whose answer it cut."""
    histograms = [result for result in results if isinstance(result.payload, PositionHistogram)]
    places = ["In the original passages"]
    places += [f"After rotation{f' (draw {draw})' if len(cuts) > 1 else ''}" for draw in cuts]
    idle, spoken = idle_trainings(results)
    return [
        *(_positions(result, place) for result, place in zip(histograms, places, strict=False)),
        *idle,
        *_test_sets(spoken, measure),
        *_cuts(cuts),
        *trainings(
            spoken,
            measure,
            lambda r, _, test, better: against_training(results, measure, r, test, better),
        ),
        *baselines(results, measure),
        *_term_similarity(results),
    ]


def _cell(
    results: Sequence[Result],
    result: Result,
    measure: str,
    facts: Facts,
    tables: Sequence[int] = (3, 4),
) -> PublishedCell | None:
    # the paper's figures are those of finished trainings
    paper = None if result.facts.unfinished else published_of(results)
    found = (
        [
            paper.find(table, result.collection, measure, facts=facts, split="test")
            for table in tables
        ]
        if paper
        else []
    )
    return next((cell for cell in found if cell is not None), None)


def _direction(value: float, margin: float) -> str:
    return (
        "a fall"
        if value < -margin
        else "a rise"
        if value > margin
        else f"no change beyond ±{percent(margin, 0)}"
    )


def against_change(
    results: Sequence[Result], measure: str, result: Result, holds: bool | None
) -> list[Finding]:
    """Report a contradiction of the paper on a change. ``result`` compares the test sets for one
    system; ``holds``: there is a change (None: open).
    """
    assert isinstance(result.payload, Comparison)
    trained = Facts(model=result.facts.model, training=result.facts.training)
    cell = _cell(results, result, f"{measure} {DELTA}", trained)
    if holds is None or cell is None:
        return []
    ours = "no change" if not holds else "a fall" if result.payload.difference < 0 else "a rise"
    theirs = _direction(cell.value, MARGIN)
    if theirs.startswith(ours):
        return []
    text = (
        f"Against the paper: for {result.system} it prints Δ {percent(cell.value, sign=True)} "
        f"({cell.place}), {theirs}; here it is {ours}; {LOOK}."
    )
    return [Finding(text, None)]


def against_training(
    results: Sequence[Result], measure: str, result: Result, test: str, better: bool | None
) -> list[Finding]:
    """Report a contradiction of the paper on trainings. ``result`` compares a model's trainings on
    ``test`` passages; ``better``: the rotated one is better (None: open).
    """
    facts = result.facts
    original, rotated = (
        _cell(results, result, measure, Facts(model=facts.model, training=training, test=test))
        for training in ("original", "rotated")
    )
    if better is None or original is None or rotated is None:
        return []
    difference = rotated.value - original.value
    if abs(difference) < APART or (difference > 0) == better:
        return []
    text = (
        f"Against the paper: on the {test} test passages it prints {measure} {original.value:.3f} "
        f"for {facts.model} trained on original and {rotated.value:.3f} on rotated passages "
        f"({original.place}, and the row below it); here the order is the other; {LOOK}."
    )
    return [Finding(text, None)]


def against_mats(results: Sequence[Result], result: Result, falls: bool) -> list[Finding]:
    """Report a contradiction of the paper on MATS. ``result`` probes a model trained on original
    passages; ``falls``: MATS is lower with rotated ones.
    """
    paper, model = None if result.facts.unfinished else published_of(results), result.facts.model
    found = [
        paper.find(
            2,
            result.collection,
            "MATS",
            facts=Facts(model=model, training=training, test="original"),
        )
        if paper
        else None
        for training in ("original", "rotated")
    ]
    if found[0] is None or found[1] is None or falls:
        return []
    text = (
        f"Against the paper: it prints MATS {found[0].value:.3f} and {found[1].value:.3f} "
        f"({found[0].place}, and the row below it)"
    )
    return [Finding(f"{text}: a fall; {LOOK}.", None)]


def against_transfer(
    results: Sequence[Result], measure: str, one: Result, other: Result, better: bool | None
) -> list[Finding]:
    """Report a contradiction of the paper's Table 5. ``one`` and ``other`` are two rows;
    ``better``: the other is better (None: open).
    """
    cells = [_cell(results, item, measure, item.facts, (5,)) for item in (one, other)]
    if better is None or cells[0] is None or cells[1] is None:
        return []
    difference = cells[1].value - cells[0].value
    if difference == 0 or (difference > 0) == better:
        return []
    text = (
        f"Against the paper: it prints {measure} {cells[0].value:.3f} ({cells[0].place}) and "
        f"{cells[1].value:.3f} ({cells[1].place}); here the order of {one.system} and "
        f"{other.system} is the other; {LOOK}."
    )
    return [Finding(text, None)]
