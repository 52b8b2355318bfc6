"""Findings of a study of position in sentences, made from its figures alone, and where they go against the paper.

A comparison that was repeated with several training seeds or rotation draws is one sentence, of the comparison over trainings and queries
(``studies.over_trainings``). A sentence speaks of the method with five trainings, or with three whose interval leaves out 0; of two
trainings it has both figures and no interval; of one it speaks of that checkpoint.
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
from positionbias.experiments.wording import between
from positionbias.papers.position_bias.published import published_of
from positionbias.results.payloads import AtsCurve, Comparison, Finding, PositionHistogram, TrainingCurve
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
    "relative_of",
    "amount_of",
    "better_of",
    "idle_of",
    "re_ranks",
    "together",
    "trainings",
]

Evidence = tuple[Result, Comparison]


class Change(NamedTuple):
    """A figure of a comparison; without an interval nothing tells how sure it is. ``by_seed`` are those of each training seed, where there are several."""

    value: float
    interval: Interval | None
    by_seed: Sequence[float] = ()
    of_method: bool = False

    @property
    def scope(self) -> str:
        """Return what the interval is over, and what that speaks of."""
        number = len(self.by_seed)
        if number < LEAST:
            return OVER_QUERIES
        speaks = "the method" if self.of_method else "these trainings, not yet of the method"
        return f"over {number} trainings and queries: speaks of {speaks}"

    def shown(self, form: str = "+.1%") -> str:
        """Return the figure, its interval, and what that is over; of two trainings both figures."""
        if self.interval is not None:
            return f"{as_form(self.value, form)} ({between(self.interval, form)}, {self.scope})"
        both = " and ".join(as_form(value, form) for value in self.by_seed)
        lacking = f"{both} by training seed: {len(self.by_seed)} trainings have no interval" if both else "no interval"
        return f"{as_form(self.value, form)} ({lacking})"


def relative_of(comparison: Comparison | None) -> Change | None:
    """Return the relative change; None where it is undefined."""
    if comparison is None or comparison.relative is None:
        return None
    return _change(comparison.relative, comparison.relative_interval, comparison.noted.relative_by_seed)


def difference_of(comparison: Comparison | None) -> Change | None:
    """Return the difference; None where there is no comparison."""
    if comparison is None:
        return None
    return _change(comparison.difference, comparison.difference_interval, comparison.noted.by_seed)


def _change(value: float, interval: Interval | None, by_seed: Sequence[float]) -> Change:
    return Change(value, interval, by_seed, speaks_of_method(interval, len(by_seed)))


def together(
    results: Iterable[Result], measure: str, axis: str, key: Callable[[Result, Comparison], tuple]
) -> dict[tuple, Evidence]:
    """The comparisons along one axis on a measure, by ``key``: one that was made once as it is; of several the one over trainings."""
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
    """Return what a change between test sets amounts to, and whether there is one (None: these data do not decide)."""
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
    return f"changes by {change.shown()}: these data do not decide", None


def _positions(result: Result, place: str) -> Finding:
    payload = result.payload
    assert isinstance(payload, PositionHistogram)
    share = payload.figures.first_fifth
    assert share is not None
    interval, expected = share.interval, share.expected
    assert interval is not None
    assert expected is not None
    if interval.low > expected:
        verdict, holds = "more than an unbiased collection would have", True
    elif interval.high < expected:
        verdict, holds = "less than an unbiased collection would have", True
    else:
        verdict, holds = "what an unbiased collection would have", False
    return Finding(
        f"{place}, {percent(share.value)} of {result.count:,} answers start in the first fifth "
        f"({between(interval, '.1%')}): {verdict} ({percent(expected)}).",
        holds,
    )


def _by_system(result: Result, comparison: Comparison) -> tuple[str, str]:
    return result.system, comparison.subset


def _test_sets(results: Sequence[Result], measure: str) -> list[Finding]:
    found = []
    for (system, subset), (result, comparison) in together(results, measure, "test sets", _by_system).items():
        if system == "position-only":
            continue
        words, holds = amount_of(relative_of(comparison))
        queries = comparison.notes.get("queries", result.count)
        where = "" if subset == "all queries" else f", over the {queries:,} {subset},"
        found.append(Finding(f"{system}: when the test passages are rotated, {measure}{where} {words}.", holds))
        if subset == "all queries":
            found += against_change(results, measure, result, holds)
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


def trainings(
    results: Sequence[Result], measure: str, against: Against = lambda *_: [], *, axis: str = "trainings"
) -> list[Finding]:
    """Return which of two trainings is better on which test passages; ``against`` adds conflicts with the paper, given a
    repeat's result, its comparison, the test passages and whether the second is better."""
    found: list[Finding] = []
    groups = together(results, measure, axis, lambda r, c: (*c.noted.systems, r.facts.test or c.noted.test_sets[0]))
    for (base, other, test), (result, comparison) in groups.items():
        change = difference_of(comparison)
        if change is None or (change.interval is None and not change.by_seed):
            continue
        verdict, holds = better_of(change)
        means = f"{measure} {comparison.candidate_mean:.3f} against {comparison.baseline_mean:.3f}"
        text = f"On the {test} test passages {other} {verdict} {base}: {means}, difference {change.shown('+.3f')}"
        found.append(Finding(f"{text}.", holds))
        found += against(result, comparison, test, holds)
    return found


def better_of(change: Change) -> tuple[str, bool | None]:
    if change.interval is None:
        return "stands beside", None
    low, high = change.interval.low, change.interval.high
    return ("is better than", True) if low > 0 else ("is worse than", False) if high < 0 else ("cannot be told from", None)


def baselines(results: Sequence[Result], measure: str) -> list[Finding]:
    """Say whether every model beats every baseline, naming those not shown to."""
    groups = together(results, measure, "baseline", lambda r, c: (c.noted.systems[0], r.system, c.noted.test_sets[1]))
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
        known = {"bm25": "BM25", "position-only": "a scorer that knows position only"}
        names = " and ".join(known[base] for base in dict.fromkeys(base for base, _, _ in groups))
        tests = ", on both test sets" if len({test for _, _, test in groups}) > 1 else ""
        return [Finding(f"Every model beats {names}{tests}, with intervals off zero ({'; '.join(scopes)}).", True)]
    named = "; ".join(f"{system} against {base} on {' and '.join(tests)}" for (system, base), tests in lost.items())
    return [Finding(f"Not shown to beat a baseline, so what it does with position counts for little: {named}.", False)]


def _term_similarity(results: Sequence[Result]) -> list[Finding]:
    """Return MATS on the original passages, by training; the mean over seeds and draws."""
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
        one, other = (figures_over(of).value or 0.0 for of in (values, found[rotated]))
        relation = "lower" if other < one else "higher"
        text = (
            f"MATS on the original passages: {first[kind].system} {one:.3f}, {first[rotated].system} {other:.3f} ({relation} after training on "
            "rotated passages). An untrained TK depends strongly on position, so this falls with long training alone: the training "
            "curves show how far these models are."
        )
        sentences += [Finding(text, None), *against_mats(results, first[kind], other < one)]
    return sentences


class _Idle(NamedTuple):
    """A training whose tuned re-ranking depth is 1: it leaves BM25's order as it is."""

    system: str
    seed: int | None
    rotation: int | None


def idle_of(results: Sequence[Result]) -> list[_Idle]:
    curves = [r for r in results if isinstance(r.payload, TrainingCurve) and r.payload.ending.depth == 1]
    return [_Idle(result.system, result.facts.seed, result.facts.rotation) for result in curves]


def re_ranks(result: Result, idle: Sequence[_Idle]) -> bool:
    """Return True if both models of a comparison re-rank. A model that leaves BM25's order does not; beside a baseline too it is named apart."""
    if not isinstance(result.payload, Comparison):
        return True
    facts = result.facts
    resting = {item.system for item in idle if item.seed == facts.seed and item.rotation in (None, facts.rotation)}
    systems = set(result.payload.noted.systems)
    return result.payload.noted.axis == "baseline" or not systems & resting


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
    idle = idle_of(results)
    return [*ending_findings(results), *_idleness(idle, results)], [result for result in results if re_ranks(result, idle)]


def findings(results: Sequence[Result], measure: str, *, cuts: Mapping[int, tuple[int, int]]) -> list[Finding]:
    """Return the findings on the headline measure. By rotation draw, ``cuts`` counts test queries whose answers it left
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


def _cell(
    results: Sequence[Result], result: Result, measure: str, facts: Facts, tables: Sequence[int] = (3, 4)
) -> PublishedCell | None:
    paper = None if result.facts.unfinished else published_of(results)  # the paper's figures are of finished trainings
    found = [paper.find(table, result.collection, measure, facts=facts, split="test") for table in tables] if paper else []
    return next((cell for cell in found if cell is not None), None)


def _direction(value: float, margin: float) -> str:
    return "a fall" if value < -margin else "a rise" if value > margin else f"no change beyond ±{percent(margin, 0)}"


def against_change(results: Sequence[Result], measure: str, result: Result, holds: bool | None) -> list[Finding]:
    """``result`` compares the test sets for one system; ``holds`` says whether there is a change, None where that is open."""
    assert isinstance(result.payload, Comparison)
    trained = Facts(model=result.facts.model, training=result.facts.training)
    cell = _cell(results, result, f"{measure} {DELTA}", trained)
    if holds is None or cell is None:
        return []
    ours = "no change" if not holds else "a fall" if result.payload.difference < 0 else "a rise"
    theirs = _direction(cell.value, MARGIN)
    if theirs.startswith(ours):
        return []
    text = f"Against the paper: for {result.system} it prints Δ {percent(cell.value, sign=True)} ({cell.place}), {theirs}; here it is {ours}; {LOOK}."
    return [Finding(text, None)]


def against_training(results: Sequence[Result], measure: str, result: Result, test: str, better: bool | None) -> list[Finding]:
    """``result`` compares the trainings of one model on the ``test`` passages; ``better`` the rotated one, None where that is open."""
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
        f"Against the paper: on the {test} test passages it prints {measure} {original.value:.3f} for {facts.model} trained on original "
        f"and {rotated.value:.3f} on rotated passages ({original.place}, and the row below it); here the order is the other; {LOOK}."
    )
    return [Finding(text, None)]


def against_mats(results: Sequence[Result], result: Result, falls: bool) -> list[Finding]:
    """``result`` probes a model trained on original passages; ``falls`` whether MATS is lower after training on rotated ones."""
    paper, model = None if result.facts.unfinished else published_of(results), result.facts.model
    found = [
        paper.find(2, result.collection, "MATS", facts=Facts(model=model, training=training, test="original"))
        if paper
        else None
        for training in ("original", "rotated")
    ]
    if found[0] is None or found[1] is None or falls:
        return []
    text = f"Against the paper: it prints MATS {found[0].value:.3f} and {found[1].value:.3f} ({found[0].place}, and the row below it)"
    return [Finding(f"{text}: a fall; {LOOK}.", None)]


def against_transfer(results: Sequence[Result], measure: str, one: Result, other: Result, better: bool | None) -> list[Finding]:
    """``one`` and ``other`` are two rows of Table 5; ``better`` says whether the other is, None where that is open."""
    cells = [_cell(results, item, measure, item.facts, (5,)) for item in (one, other)]
    if better is None or cells[0] is None or cells[1] is None:
        return []
    difference = cells[1].value - cells[0].value
    if difference == 0 or (difference > 0) == better:
        return []
    text = (
        f"Against the paper: it prints {measure} {cells[0].value:.3f} ({cells[0].place}) and {cells[1].value:.3f} ({cells[1].place}); "
        f"here the order of {one.system} and {other.system} is the other; {LOOK}."
    )
    return [Finding(text, None)]
