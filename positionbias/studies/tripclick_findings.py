"""What the figures of a TripClick study say, in sentences; each is made from the numbers and true of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from positionbias.core.payloads import Comparison, Finding
from positionbias.core.result import Facts, Result
from positionbias.evaluation.letters import LEVEL
from positionbias.report.leakage_select import rows_of
from positionbias.report.tripclick_select import (
    AGAINST_BM25,
    CURVES,
    FIRST,
    HOLM,
    MEMBERS,
    NEGATIVES,
    REGENERATED,
    RETRIEVER,
    SETS,
    TELEMETRY,
    compared_along,
    judged_sets,
    of_role,
    set_name,
    short,
    tripclick_systems,
)
from positionbias.studies.tripclick_published import TESTS, paper_test
from positionbias.studies.wording import beside_zero, p_shown, point_shown, shown

__all__ = ["tripclick_findings"]

HEADLINE = "nDCG@10"


def tripclick_findings(results: Sequence[Result]) -> list[Finding]:
    """False negatives; what was seen in training; better negatives; depth; against BM25; the ensemble; recall; the paper's tests."""
    if not tripclick_systems(results):
        return []
    return [
        *_false(results),
        *_seen_in_training(results),
        *_negatives(results),
        *_robust(results),
        *_against_bm25(results),
        *_ensemble(results),
        *_recall(results),
        *_paper(results),
    ]


def _name(facts: Facts) -> str:
    return f"{short(facts)} ({set_name(facts)})" if facts.variant else short(facts)


def _false(results: Sequence[Result]) -> list[Finding]:
    """The share of each training set's negatives that are relevant in truth."""
    known = [result for result in results if result.measure == SETS and rows_of(result)["false negatives"] is not None]
    parts = []
    for result in known:
        rows = rows_of(result)
        share = f"{result.value:.1%}" if result.value is not None else "none"
        parts.append(f"{set_name(result.facts)} {rows['false negatives']:,} of {rows['negatives']:,} ({share})")
    return [Finding(f"Negatives that are relevant in truth, by training set: {'; '.join(parts)}.", None)] if parts else []


def _seen_in_training(results: Sequence[Result]) -> list[Finding]:
    """Pairwise accuracy and margin of a model's trainings, set by set: the paper's first evidence of bad negatives."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        if result.measure == TELEMETRY and result.value is not None:
            by_model.setdefault(short(result.facts), []).append(result)
    found = []
    for model, of in by_model.items():
        base = next((result for result in of if result.facts.variant == REGENERATED), None)
        others = [result for result in of if result is not base]
        if base is None or not others:
            continue
        parts = [f"{set_name(result.facts)} {result.value:.3f}, margin {_mean(result, 'score margin')}" for result in of]
        text = f"{model}, pairwise accuracy in the last half of training: {'; '.join(parts)}."
        uncleaned = [result.value < (base.value or 0.0) for result in others if result.value is not None]
        found.append(Finding(text, True if all(uncleaned) else None))
    return found


def _mean(result: Result, name: str) -> str:
    values = [value for value in rows_of(result)[name] if value is not None]
    return f"{sum(values) / len(values):.2f}".replace("-", "−") if values else "not logged"


def _significant(payload: Comparison) -> bool:
    p = payload.p_adjusted.get(HOLM)
    return p is not None and p < LEVEL


def _negatives(results: Sequence[Result]) -> list[Finding]:
    """Every model trained on BM25's negatives against the same on others."""
    found = []
    for result, payload in compared_along(results, NEGATIVES):
        if result.measure != HEADLINE:
            continue
        other = Facts(**payload.notes["baseline facts"])
        p = payload.p_adjusted.get(HOLM)
        verdict = "no test" if p is None else f"p {p_shown(p)} after Holm's correction"
        text = (
            f"{short(result.facts)} on {result.split}: {HEADLINE} {payload.candidate_mean:.3f} with {REGENERATED} negatives, "
            f"{payload.baseline_mean:.3f} with {set_name(other)}; difference {shown(payload.difference, payload.difference_interval)} over "
            f"{result.count:,} queries ({verdict})."
        )
        found.append(Finding(text, payload.difference > 0 if _significant(payload) else None))
    return found


def _robust(results: Sequence[Result]) -> list[Finding]:
    """How effectiveness goes on from the study's depth, or the shallowest, to the deepest: the paper's test of training data."""
    found = []
    for result in results:
        if result.measure != CURVES:
            continue
        rows: Any = rows_of(result)
        changes = rows["to the deepest from"]
        if not changes:
            continue
        start = max(changes, key=int)
        change, last = changes[start], rows["points"][-1]
        falls = beside_zero(change) and change["mean"] < 0
        verdict = (
            "it falls" if falls else "no fall is seen" if change["mean"] < 0 or not beside_zero(change) else "it still rises"
        )
        text = (
            f"{_name(result.facts)} on {result.split}: from re-ranking depth {start} to {last['depth']} {HEADLINE} changes by "
            f"{point_shown(change)} to {last['mean']:.3f}: {verdict}."
        )
        found.append(Finding(text, not falls))
    return found


def _against_bm25(results: Sequence[Result]) -> list[Finding]:
    """How many systems are above BM25, test by test; those that are not, by name."""
    found = []
    tests = [(r, p) for r, p in compared_along(results, AGAINST_BM25) if r.measure == HEADLINE]
    for test in judged_sets(results):
        of = [(r, p) for r, p in tests if r.split == test]
        if not of:
            continue
        above = [(r, p) for r, p in of if _significant(p) and p.difference > 0]
        rest = [f"{r.system} ({shown(p.difference, p.difference_interval)})" for r, p in of if (r, p) not in above]
        text = f"{test}: of {len(of)} systems {len(above)} are above BM25's {HEADLINE} ({of[0][1].baseline_mean:.3f}) after Holm's correction"
        text += f"; not so: {'; '.join(rest)}." if rest else "."
        found.append(Finding(text, not rest))
    return found


def _ensemble(results: Sequence[Result]) -> list[Finding]:
    """The ensemble against the best of its models on each test."""
    found = []
    tests = [(r, p) for r, p in compared_along(results, MEMBERS) if r.measure == HEADLINE]
    for test in judged_sets(results):
        if of := [(r, p) for r, p in tests if r.split == test]:
            _, best = max(of, key=lambda item: item[1].baseline_mean)
            text = (
                f"{test}: the ensemble has {HEADLINE} {best.candidate_mean:.3f}, the best of its models ({best.baseline}) {best.baseline_mean:.3f}; "
                f"difference {shown(best.difference, best.difference_interval)}."
            )
            found.append(Finding(text, best.difference > 0 if _significant(best) else None))
    return found


def _recall(results: Sequence[Result]) -> list[Finding]:
    """Dense retrieval beside BM25: at which cutoffs its recall is higher."""
    found = []
    values = {(r.facts, r.split, r.measure): r.value or 0.0 for r in of_role(results, FIRST, RETRIEVER)}
    first = next(facts for facts, _, _ in values if facts.role == FIRST)
    cuts = list(dict.fromkeys(measure for _, _, measure in values if measure.startswith(("R(", "R@"))))
    for facts, test, measure in values:
        if facts.role == RETRIEVER and measure == HEADLINE:
            shares = [f"{m} {values[facts, test, m]:.3f} ({values[first, test, m]:.3f})" for m in cuts]
            judged = f"J@10 {values[facts, test, 'Judged@10']:.0%} ({values[first, test, 'Judged@10']:.0%})"
            found.append(Finding(f"{_name(facts)} on {test}, BM25's in brackets: {judged}; {', '.join(shares)}.", None))
    return found


def _paper(results: Sequence[Result]) -> list[Finding]:
    """That no test is the paper's."""
    if any(paper_test(test) for test in judged_sets(results)):
        return []
    names = ", ".join(TESTS.values())
    return [Finding(f"No test is one of the paper's ({names}), so that no figure of its tables stands beside ours.", None)]
