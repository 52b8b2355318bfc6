"""Warnings about trainings: not finished, too few validations, not above the first stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from positionbias.core.convergence import LEAST, UNFINISHED, Ending, Finish
from positionbias.results.payloads import Finding, TrainingCurve
from positionbias.results.result import Result

__all__ = ["ending_findings", "not_finished"]


def ending_findings(results: Sequence[Result]) -> list[Finding]:
    """Return a sentence for each warning that applies to some trainings with a curve among the results."""
    curves = [(result.system, result.payload.ending) for result in results if isinstance(result.payload, TrainingCurve)]
    few = _named(curves, lambda ending: ending.finish is Finish.TOO_FEW)
    below = _named(curves, lambda ending: ending.beats_first_stage is False and ending.depth != 1)
    found = not_finished(_named(curves, lambda ending: ending.unfinished))
    if few:
        text = f"Cannot tell from fewer than {LEAST} validations whether these trainings are finished: {', '.join(few)}."
        found.append(Finding(text, None))
    if below:
        found.append(Finding(f"Does not beat its first stage on validation: {', '.join(below)}.", False))
    return found


def not_finished(systems: Sequence[str]) -> list[Finding]:
    """Warn that the validation of these systems' trainings still rose when they ended."""
    if not systems:
        return []
    named = ", ".join(name.replace(f", {UNFINISHED}", "") for name in systems)
    text = (
        f"Trainings {UNFINISHED}: {named}. Their validation nDCG@10 still rose when they ended, so more steps may change what is said of them; they are "
        "compared with each other and with baselines, and with no finished training. Train longer."
    )
    return [Finding(text, False)]


def _named(curves: Sequence[tuple[str, Ending]], wanted: Callable[[Ending], bool]) -> list[str]:
    """Name the systems of some trainings, with the number of trainings if not all."""
    found = [name for name, ending in curves if wanted(ending)]
    every = [name for name, _ in curves]
    return [
        name if found.count(name) == every.count(name) else f"{name} ({found.count(name)} of {every.count(name)} trainings)"
        for name in dict.fromkeys(found)
    ]
