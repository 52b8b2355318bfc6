"""What is said of trainings that differ in more than the text (``Facts.variant``): in sentences, variant beside variant."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.payloads import AtsCurve, Comparison, Finding
from positionbias.core.result import Facts, Result
from positionbias.evaluation.trainings import figures_over
from positionbias.studies.findings import relative_of, together
from positionbias.studies.over_trainings import ALL

__all__ = ["change_by_variant", "kinds", "named", "of_variant", "similarity_by_variant"]


def kinds(results: Sequence[Result]) -> list[Facts]:
    """Each training of a model, whatever its variant, seed and draw."""
    return list(
        dict.fromkeys(
            Facts(model=r.facts.model, training=r.facts.training) for r in results if r.facts.variant and r.facts.model
        )
    )


def named(kind: Facts) -> str:
    """A training in words."""
    return f"{kind.model} trained on {kind.training} passages"


def of_variant(results: Sequence[Result], measure: str, axis: str, kind: Facts, variant: str) -> Comparison | None:
    """The comparison along an axis of a training of one variant, over all queries and trainings; None where it was not made."""
    found = together(results, measure, axis, lambda r, c: (r.facts.model, r.facts.training, r.facts.variant, c.subset))
    return found[key][1] if (key := (kind.model, kind.training, variant, ALL)) in found else None


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
                and (r.facts.model, r.facts.training, r.facts.test, r.facts.variant)
                == (kind.model, kind.training, "original", variant)
            }
            listed += [f"{figures_over(values).value:.3f} with {variant}"] if values else []
        if listed:
            found.append(Finding(f"{named(kind)}: MATS on the original passages is {'; '.join(listed)}.", None))
    return found
