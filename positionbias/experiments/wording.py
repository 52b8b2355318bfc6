"""Put differences, intervals and p-values into words for the sentences of a study."""

from __future__ import annotations

from positionbias.core.convergence import ended_name
from positionbias.core.formatting import as_form
from positionbias.core.interval import Interval
from positionbias.results.payloads import Comparison
from positionbias.results.points import Estimate
from positionbias.results.result import Facts

__all__ = [
    "between",
    "capital",
    "difference_shown",
    "estimate_shown",
    "p_shown",
    "shown",
    "trained_system",
]


def capital(text: str) -> str:
    """Capitalise the first letter and keep the rest."""
    return text[:1].upper() + text[1:]


def between(bounds: Interval, form: str = "+.3f") -> str:
    """Return an interval in words."""
    return f"95 % interval {as_form(bounds.low, form)} to {as_form(bounds.high, form)}"


def shown(value: float, bounds: Interval | None, form: str = "+.3f") -> str:
    """Return a value with its interval."""
    sure = between(bounds, form) if bounds else "no interval"
    return f"{as_form(value, form)} ({sure})"


def estimate_shown(of: Estimate) -> str:
    """Return an estimate with its interval."""
    return shown(of.mean, of.interval)


def difference_shown(comparison: Comparison) -> str:
    """Return a comparison's difference with its interval and what that is over; for two trainings
    both differences.
    """
    bounds, by_seed = comparison.difference_interval, comparison.noted.by_seed
    if bounds is None and len(by_seed) > 1:
        both = " and ".join(as_form(value, "+.3f") for value in by_seed)
        return (
            f"{as_form(comparison.difference, '+.3f')} ({both} by training seed: {len(by_seed)} "
            "trainings have no interval)"
        )
    over = f", {comparison.noted.over}" if comparison.noted.over and bounds else ""
    return shown(comparison.difference, bounds).removesuffix(")") + f"{over})"


def p_shown(p: float) -> str:
    """Return a p-value with its letter."""
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"


def trained_system(facts: Facts) -> str:
    """Name a teacher or student at the start of a sentence: ``Teacher bert_cat (lce)``."""
    return ended_name(f"{capital(facts.role)} {facts.model} ({facts.loss})", facts.unfinished)
