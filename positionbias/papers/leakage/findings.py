"""Word the findings of a leakage study, from its figures alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from positionbias.core.formatting import percent
from positionbias.evaluation.letters import is_significant
from positionbias.evaluation.significance import BONFERRONI
from positionbias.experiments.systems import FIRST_STAGE
from positionbias.experiments.wording import (
    capital,
    difference_shown,
    estimate_shown,
    p_shown,
    shown,
)
from positionbias.leakage.published import TARGETS, target_of
from positionbias.papers.leakage import (
    LOWER_IS_BETTER,
    NEGATIVE_RANK,
    OFFSET,
    RANK,
    SCORE,
    LeakedSetSize,
    Memory,
    ModelOrders,
    SizePoint,
    by_condition,
    leaked_sizes,
    tests_of_leakage,
)
from positionbias.results.payloads import Comparison, Finding
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["leakage_findings"]


def leakage_findings(results: Sequence[Result], topics: Collection[str]) -> list[Finding]:
    """Return findings on leaked shares, effects and their change with size, orders, memories, and
    the paper's target.
    """
    return [
        *_shares(results),
        *_effects(results),
        *_weak(results),
        *_by_size(results),
        *_orders(results),
        *_memories(results),
        *_target(topics),
    ]


def _shares(results: Sequence[Result]) -> list[Finding]:
    """Report the leaked share of the smallest and the largest set of each kind."""
    found = []
    sets: dict[str, list[tuple[Result, LeakedSetSize]]] = {}
    for result, size in of_type(results, LeakedSetSize):
        if result.value:
            sets.setdefault(result.facts.variant, []).append((result, size))
    for condition, of in sets.items():
        (first, smallest), (last, _) = (
            choose(of, key=lambda item: item[0].count) for choose in (min, max)
        )
        share = f"{percent(first.value)} of {first.count:,} training instances"
        share += f" to {percent(last.value)} of {last.count:,}" if last.count > first.count else ""
        found.append(
            Finding(
                f"{capital(condition)}: {share} leaked, from {smallest.leaked_queries:,} queries "
                f"that leak {smallest.topics:,} topics.",
                None,
            )
        )
    return found


def _effects(results: Sequence[Result]) -> list[Finding]:
    """Compare each leakage with none in the headline measure, then in measures with a significant
    difference.
    """
    tests = tests_of_leakage(results)
    if not tests:
        return []
    headline = tests[0][0].measure
    found = [_effect(result, payload) for result, payload in tests if result.measure == headline]
    significant = [
        (r, p)
        for r, p in tests
        if r.measure != headline and is_significant(p.p_adjusted.get(BONFERRONI))
    ]
    others = ", ".join(dict.fromkeys(r.measure for r, _ in tests if r.measure != headline))
    if significant:
        listed = "; ".join(f"{r.measure} of {r.system} ({_better(r, p)})" for r, p in significant)
        found.append(
            Finding(f"Of {others}, significant after Bonferroni's correction: {listed}.", True)
        )
    elif others:
        found.append(
            Finding(
                f"Of {others} no difference is significant after Bonferroni's correction.", None
            )
        )
    return found


def _effect(result: Result, payload: Comparison) -> Finding:
    text = (
        f"{capital(result.facts.variant)} of {result.facts.model}: {result.measure} "
        f"{payload.candidate_mean:.3f} against {payload.baseline_mean:.3f} without, difference "
        f"{difference_shown(payload)} over {result.count:,} topics"
    )
    p = payload.p_adjusted.get(BONFERRONI)
    if p is None:
        return Finding(f"{text}; no test: {payload.notes.get('tests', 'undefined')}.", None)
    verdict = "significant" if is_significant(p) else "not significant"
    return Finding(
        f"{text}; {verdict} after Bonferroni's correction (p {p_shown(p)}).",
        is_significant(p) or None,
    )


def _weak(results: Sequence[Result]) -> list[Finding]:
    """Name the models below the first stage's mean in the headline measure with every training
    set.
    """
    trained = by_condition(results)
    headline = trained[0].measure if trained else ""
    first = next(
        (
            r
            for r in results
            if (r.measure, r.facts.model, r.kind) == (headline, FIRST_STAGE, "per_query")
        ),
        None,
    )
    if first is None or first.value is None:
        return []
    best: dict[str, float] = {}
    for result in trained:
        if result.measure == headline and result.value is not None:
            best[result.facts.model] = max(best.get(result.facts.model, result.value), result.value)
    weak = [model for model, value in best.items() if value < first.value]
    if not weak:
        return []
    text = (
        f"{', '.join(weak)}: below BM25's {headline} of {first.value:.3f} with every training set, "
        "so these findings are about weak models."
    )
    return [Finding(text, None)]


def _by_size(results: Sequence[Result]) -> list[Finding]:
    """Report leakage's effect with the smallest and the largest sets on topics with leaked queries,
    and whether it shrinks.
    """
    found = []
    for result, effect in leaked_sizes(results):
        for condition, change in effect.change.items():
            first, last = effect.gains[condition][0], effect.gains[condition][-1]
            verdict, holds = _change(first, last, change)
            found.append(
                Finding(
                    f"On the {result.count:,} topics with leaked queries {condition} changes "
                    f"{effect.measure} of {result.system} by {estimate_shown(first.estimate)} with "
                    f"{first.instances:,} instances and by {estimate_shown(last.estimate)} with "
                    f"{last.instances:,}; the second less the first is "
                    f"{estimate_shown(change.estimate)}: {verdict}.",
                    holds,
                )
            )
    return found


def _change(first: SizePoint, last: SizePoint, change: SizePoint) -> tuple[str, bool | None]:
    """Describe how the effect, a gain or a loss, changes with size, and whether it shrinks (None:
    cannot tell).

    An effect that may be 0 at the end has shrunk.
    """
    if not change.estimate.beside_zero:
        return "these data cannot tell whether it shrinks", None
    if first.mean * last.mean < 0 and last.estimate.beside_zero:
        return "the effect changes its sign as the sets grow", None
    if abs(last.mean) < abs(first.mean):
        return "the effect shrinks as the sets grow", True
    return "the effect grows with the sets, which goes against the paper", False


def _orders(results: Sequence[Result]) -> list[Finding]:
    """Name the models that change places: all with leakage, and one of two with leakage."""
    found = []
    for _, orders in of_type(results, ModelOrders):
        for condition, order in orders.rows.items():
            changed = [f"{two} overtakes {one}" for one, two in order.swaps]
            alone = [f"{one} with leakage overtakes {two} without" for one, two in order.overtakes]
            if changed or alone:
                every = f"of all models with {condition} " + (
                    ", ".join(changed) or "none changes places"
                )
                one = f"; of two models, one with {condition}: {', '.join(alone)}" if alone else ""
                found.append(Finding(f"By {orders.measure}, {every}{one}.", True))
            else:
                found.append(
                    Finding(
                        f"By {orders.measure}, {condition} changes no place in the order of the "
                        "models.",
                        False,
                    )
                )
    return found


def _memories(results: Sequence[Result]) -> list[Finding]:
    """Report ranks, scores and offsets of leaked passages, in a sentence per model and leakage."""
    by_system: dict[str, dict[str, Result]] = {}
    for result, _ in of_type(results, Memory):
        by_system.setdefault(result.system, {})[result.measure] = result
    return [_memory(of) for of in by_system.values()]


def _memory(of: Mapping[str, Result]) -> Finding:
    offset, rank, score, negative = of[OFFSET], of[RANK], of[SCORE], of[NEGATIVE_RANK]
    bounds = offset.interval
    if bounds is None:
        verdict, holds = "its uncertainty is unknown", None
    elif bounds.low > 0:
        verdict, holds = "the model remembers leaked passages", True
    elif bounds.high < 0:
        verdict, holds = "the two are closer with leakage, the opposite of remembering", False
    else:
        verdict, holds = "these data do not show that leaked passages are remembered", None
    text = (
        f"{offset.facts.model} with {offset.facts.variant}: the {rank.count:,} leaked relevant "
        f"passages change their rank by {shown(rank.value or 0.0, rank.interval, '+.2f')} and "
        f"their score by {shown(score.value or 0.0, score.interval, '+.3f')}, the "
        f"{negative.count:,} leaked others their rank by "
        f"{shown(negative.value or 0.0, negative.interval, '+.2f')}; the gap between them changes "
        f"by {shown(offset.value or 0.0, bounds, '+.2f')} ranks, over {offset.count:,} topics: "
        f"{verdict}."
    )
    return Finding(text, holds)


def _target(topics: Collection[str]) -> list[Finding]:
    if target_of(topics) is not None:
        return []
    return [
        Finding(
            f"The target is not one of the paper's collections ({', '.join(TARGETS)}), so its "
            "tables are not compared.",
            None,
        )
    ]


def _better(result: Result, payload: Comparison) -> str:
    better = (payload.difference > 0) != (result.measure in LOWER_IS_BETTER)
    return f"{'better' if better else 'worse'} by {difference_shown(payload)}"
