"""What is said of trainings that differ in more than the text (``Facts.variant``): in sentences, variant beside variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.convergence import ended_name
from positionbias.evaluation.trainings import figures_over
from positionbias.results.payloads import AtsCurve, Comparison, Finding
from positionbias.results.result import Facts, Result
from positionbias.studies.findings import relative_of, together
from positionbias.studies.over_trainings import ALL

__all__ = ["change_by_variant", "kinds", "named", "of_variant", "similarity_by_variant"]


def kinds(results: Sequence[Result]) -> list[Facts]:
    """Each training of a model, whatever its variant, seed and draw."""
    return list(dict.fromkeys(replace(_kind(r.facts), variant="") for r in results if r.facts.variant and r.facts.model))


def _kind(facts: Facts) -> Facts:
    return Facts(model=facts.model, training=facts.training, variant=facts.variant, unfinished=facts.unfinished)


def named(kind: Facts) -> str:
    """A training in words."""
    return ended_name(f"{kind.model} trained on {kind.training} passages", kind.unfinished)


def of_variant(results: Sequence[Result], measure: str, axis: str, kind: Facts, variant: str) -> Comparison | None:
    """The comparison along an axis of a training of one variant, over all queries and trainings; None where it was not made."""
    found = together(results, measure, axis, lambda r, c: (_kind(r.facts), c.subset))
    return found[key][1] if (key := (replace(kind, variant=variant), ALL)) in found else None


def change_by_variant(results: Sequence[Result], measure: str, kind: Facts, variants: Sequence[str]) -> Finding | None:
    """What the rotation of the test passages changes for each variant of a training; None where it was not measured."""
    made = {variant: of_variant(results, measure, "test sets", kind, variant) for variant in variants}
    changes = {variant: relative_of(comparison) for variant, comparison in made.items() if comparison is not None}
    if not changes:
        return None
    listed = "; ".join(f"{change.shown() if change else 'undefined'} with {v}" for v, change in changes.items())
    return Finding(f"{named(kind)}: when the test passages are rotated, {measure} changes by {listed}.", None)


def similarity_by_variant(results: Sequence[Result], variants: Sequence[str]) -> list[Finding]:
    """MATS of each variant, a sentence a training; the mean over seeds and draws."""
    found = []
    for kind in kinds(results):
        listed = []
        for variant in variants:
            values = {
                (r.facts.seed, r.facts.rotation): r.value
                for r in results
                if isinstance(r.payload, AtsCurve)
                and r.value is not None
                and r.facts.test == "original"
                and replace(kind, variant=variant) == _kind(r.facts)
            }
            listed += [f"{figures_over(values).value:.3f} with {variant}"] if values else []
        if listed:
            found.append(Finding(f"{named(kind)}: MATS on the original passages is {'; '.join(listed)}.", None))
    return found
