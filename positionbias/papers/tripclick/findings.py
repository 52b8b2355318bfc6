"""Word the findings of a TripClick study, from its figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from positionbias.core.formatting import percent
from positionbias.core.schema import converted
from positionbias.evaluation.letters import is_significant
from positionbias.evaluation.significance import HOLM
from positionbias.experiments.against import MARGIN
from positionbias.experiments.endings import ending_findings
from positionbias.experiments.wording import difference_shown, p_shown, shown
from positionbias.papers.tripclick import (
    AGAINST_BM25,
    CLEANED,
    FIRST,
    HEADLINE,
    MEMBERS,
    NEGATIVES,
    REGENERATED,
    RETRIEVER,
    TESTS,
    AgainstRegenerated,
    DepthCurve,
    Telemetry,
    TrainingSet,
    compared_along,
    judged_sets,
    of_role,
    paper_test,
    set_name,
    short,
    tripclick_systems,
)
from positionbias.results.payloads import Finding
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type

__all__ = ["tripclick_findings"]


def tripclick_findings(results: Sequence[Result]) -> list[Finding]:
    """Return findings on false negatives, training, negatives, depth, BM25, the ensemble, recall,
    and the paper's tests.
    """
    if not tripclick_systems(results):
        return []
    return [
        *_false(results),
        *_seen_in_training(results),
        *ending_findings(results),
        *_as_they_began(results),
        *_negatives(results),
        *_shallow(results),
        *_robust(results),
        *_against_bm25(results),
        *_ensemble(results),
        *_recall(results),
        *_paper(results),
    ]


def _name(facts: Facts) -> str:
    return f"{short(facts)} ({set_name(facts)})" if facts.variant else short(facts)


def _false(results: Sequence[Result]) -> list[Finding]:
    """Report the share of each training set's negatives that are relevant in truth."""
    parts = []
    for result, held in of_type(results, TrainingSet):
        if held.false_negatives is not None:
            share = percent(result.value) if result.value is not None else "none"
            parts.append(
                f"{set_name(result.facts)} {held.false_negatives:,} of {held.negatives:,} ({share})"
            )
    return (
        [
            Finding(
                f"Negatives that are relevant in truth, by training set: {'; '.join(parts)}.", None
            )
        ]
        if parts
        else []
    )


def _seen_in_training(results: Sequence[Result]) -> list[Finding]:
    """Report pairwise accuracy and margin of a model's trainings by set, the paper's first evidence
    of bad negatives.
    """
    by_model: dict[str, list[tuple[Result, Telemetry]]] = {}
    for result, logged in of_type(results, Telemetry):
        if result.value is not None:
            by_model.setdefault(short(result.facts), []).append((result, logged))
    found = []
    for model, of in by_model.items():
        tests = {
            result.facts.variant: logged.against
            for result, logged in of
            if logged.against is not None
        }
        if not tests:
            continue
        parts = [
            f"{set_name(result.facts)} {result.value:.3f}, margin "
            f"{_margin(logged)}{_tested(logged.against)}"
            for result, logged in of
        ]
        text = f"{model}, pairwise accuracy in the last half of training: {'; '.join(parts)}."
        found.append(
            Finding(
                text, _lower([test for name, test in tests.items() if not name.endswith(CLEANED)])
            )
        )
    return found


def _tested(test: AgainstRegenerated | None) -> str:
    if test is None:
        return ""
    if test.p_holm is None:
        return f" ({test.seeds} seed{'s' * (test.seeds != 1)}, no test)"
    return f", over {test.seeds} seeds p {p_shown(test.p_holm)} against {REGENERATED}"


def _lower(tests: Sequence[AgainstRegenerated]) -> bool | None:
    """Return True if all sets with false negatives are lower, False if one is higher, None if no
    test decides.
    """
    sure = [test for test in tests if is_significant(test.p_holm)]
    if any(test.difference is not None and test.difference > 0 for test in sure):
        return False
    return True if tests and len(sure) == len(tests) else None


def _as_they_began(results: Sequence[Result]) -> list[Finding]:
    """Name trainings whose validation kept step 0, so that they have their initial weights,
    whatever their negatives.
    """
    found = []
    for result, logged in of_type(results, Telemetry):
        if began := [
            str(seed)
            for seed, kept in zip(logged.seeds, logged.kept_steps, strict=True)
            if kept == 0
        ]:
            text = (
                f"{_name(result.facts)}: no step was better on validation than the initial "
                f"weights, which were kept (seed {', '.join(began)}). Its figures say nothing "
                "about its negatives, and the logs are those of other weights."
            )
            found.append(Finding(text, False))
    return found


def _margin(logged: Telemetry) -> str:
    values = [value for value in logged.score_margin if value is not None]
    return f"{sum(values) / len(values):.2f}".replace("-", "−") if values else "not logged"


def _negatives(results: Sequence[Result]) -> list[Finding]:
    """Compare every model between training sets: BM25's negatives with others, and a set with and
    without its false negatives.
    """
    found = []
    held = {result.facts.variant: of for result, of in of_type(results, TrainingSet)}
    for result, payload in compared_along(results, NEGATIVES):
        if result.measure != HEADLINE:
            continue
        other = converted(Facts, payload.noted.baseline)
        p = payload.p_adjusted.get(HOLM)
        verdict = "no test" if p is None else f"p {p_shown(p)} after Holm's correction"
        ours = (
            f"{REGENERATED} negatives"
            if result.facts.variant == REGENERATED
            else set_name(result.facts)
        )
        alone = ""
        if (
            result.facts.variant == other.variant + CLEANED
            and {other.variant, result.facts.variant} <= held.keys()
        ):
            without, whole = (
                f"{of.groups:,} triples of {of.queries:,} queries"
                for of in (held[result.facts.variant], held[other.variant])
            )
            alone = (
                " The source of negatives is the same, and only false ones are left out "
                f"({without} instead of {whole})."
            )
        text = (
            f"{short(result.facts)} on {result.split}: {HEADLINE} {payload.candidate_mean:.3f} "
            f"with {ours}, {payload.baseline_mean:.3f} with {set_name(other)}; difference "
            f"{difference_shown(payload)} over {result.count:,} queries ({verdict}).{alone}"
        )
        found.append(
            Finding(
                text,
                payload.difference > 0 if is_significant(payload.p_adjusted.get(HOLM)) else None,
            )
        )
    return found


def _shallow(results: Sequence[Result]) -> list[Finding]:
    """Name tests with queries that have too few candidates for the study's depth."""
    found = []
    for result in of_role(results, FIRST):
        notes: Any = getattr(result.payload, "notes", {})
        share = notes.get("share with so many candidates", 1.0)
        if result.measure == HEADLINE and share < 1:
            text = (
                f"{result.split}: {percent(share, 0)} of the queries have the {notes['depth']:,} "
                "candidates that are re-ranked (the median has "
                f"{notes['median candidates']:,.0f}); for the others, all their candidates are."
            )
            found.append(Finding(text, None))
    return found


def _robust(results: Sequence[Result]) -> list[Finding]:
    """Report the change from the study's depth, or the shallowest, to the deepest, the paper's test
    of training data.

    A model is called robust only if candidates deeper than the study's depth were re-ranked.
    """
    found = []
    for result, curve in of_type(results, DepthCurve):
        if not curve.changes:
            continue
        start = max(curve.changes, key=int)
        change, last = curve.changes[start], curve.points[-1]
        deeper = int(start) == curve.depth
        verdict, holds = _goes_on(change, last.mean - change.mean)
        if not deeper and holds is not False:
            verdict, holds = (
                (
                    f"no candidates beyond --depth ({curve.depth}) exist, so the effect of more is "
                    "unknown"
                ),
                None,
            )
        some = (
            f", which {percent(last.reached, 0)} of the queries have," if last.reached < 1 else ""
        )
        text = (
            f"{_name(result.facts)} on {result.split}: from re-ranking depth {start} to "
            f"{last.depth}{some} {HEADLINE} changes by {shown(change.mean, change.interval)} to "
            f"{last.mean:.3f}: {verdict}."
        )
        found.append(Finding(text, holds))
    return found


def _goes_on(change: Point, start: float) -> tuple[str, bool | None]:
    """Describe a change from ``start``; a fall whose interval lies within 3 % of it is none
    [decision].
    """
    bounds, least = change.interval, -MARGIN * start
    if bounds is None or (bounds.low < least and bounds.high >= 0):
        return "cannot tell", None
    if bounds.low < least:
        return "it falls", False
    return (
        ("it still rises", True)
        if bounds.low > 0
        else (f"no fall beyond {percent(MARGIN, 0)}", True)
    )


def _against_bm25(results: Sequence[Result]) -> list[Finding]:
    """Count the systems above BM25 by test, and name the others."""
    found = []
    tests = [(r, p) for r, p in compared_along(results, AGAINST_BM25) if r.measure == HEADLINE]
    for test in judged_sets(results):
        of = [(r, p) for r, p in tests if r.split == test]
        if not of:
            continue
        above = [
            (r, p) for r, p in of if is_significant(p.p_adjusted.get(HOLM)) and p.difference > 0
        ]
        rest = [f"{r.system} ({difference_shown(p)})" for r, p in of if (r, p) not in above]
        text = (
            f"{test}: of {len(of)} systems {len(above)} are above BM25's {HEADLINE} "
            f"({of[0][1].baseline_mean:.3f}) after Holm's correction"
        )
        text += f"; not so: {'; '.join(rest)}." if rest else "."
        found.append(Finding(text, not rest))
    return found


def _ensemble(results: Sequence[Result]) -> list[Finding]:
    """Compare the ensemble with the best of its models on each test."""
    found = []
    tests = [(r, p) for r, p in compared_along(results, MEMBERS) if r.measure == HEADLINE]
    for test in judged_sets(results):
        if of := [(r, p) for r, p in tests if r.split == test]:
            _, best = max(of, key=lambda item: item[1].baseline_mean)
            text = (
                f"{test}: the ensemble has {HEADLINE} {best.candidate_mean:.3f}, the best of its "
                f"models ({best.baseline}) {best.baseline_mean:.3f}; difference "
                f"{difference_shown(best)}."
            )
            found.append(
                Finding(
                    text, best.difference > 0 if is_significant(best.p_adjusted.get(HOLM)) else None
                )
            )
    return found


def _recall(results: Sequence[Result]) -> list[Finding]:
    """Compare the recall of dense retrieval and BM25 by cutoff."""
    found = []
    values = {
        (r.facts, r.split, r.measure): r.value or 0.0 for r in of_role(results, FIRST, RETRIEVER)
    }
    first = next(facts for facts, _, _ in values if facts.role == FIRST)
    cuts = list(
        dict.fromkeys(measure for _, _, measure in values if measure.startswith(("R(", "R@")))
    )
    for facts, test, measure in values:
        if facts.role == RETRIEVER and measure == HEADLINE:
            both = [m for m in cuts if (facts, test, m) in values and (first, test, m) in values]
            shares = [
                f"{m} {values[facts, test, m]:.3f} ({values[first, test, m]:.3f})" for m in both
            ]
            judged = (
                f"J@10 {percent(values[facts, test, 'Judged@10'], 0)} "
                f"({percent(values[first, test, 'Judged@10'], 0)})"
            )
            found.append(
                Finding(
                    f"{_name(facts)} on {test}, BM25's in brackets: "
                    f"{', '.join([judged, *shares])}.",
                    None,
                )
            )
    return found


def _paper(results: Sequence[Result]) -> list[Finding]:
    """Report that no test is the paper's."""
    if any(paper_test(test) for test in judged_sets(results)):
        return []
    names = ", ".join(TESTS.values())
    return [
        Finding(f"No test is one of the paper's ({names}), so its tables are not compared.", None)
    ]
