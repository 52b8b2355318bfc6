"""Warnings about trainings: not finished, too few validations, not above the first stage.

Means are of finished trainings; the share of the others is told beside them (``failed_shares``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from positionbias.core.convergence import LEAST, UNFINISHED, Ending, Finish
from positionbias.core.formatting import percent
from positionbias.report.record import Finding

__all__ = ["ending_warnings", "failed_shares"]


def ending_warnings(ends: Sequence[tuple[str, Ending]]) -> list[Finding]:
    """Return a sentence for each warning that applies to some trainings, ends by system: not
    finished, too few validations to tell, not above the first stage; and the share that did not
    finish.
    """
    few = _named(ends, lambda ending: ending.finish is Finish.TOO_FEW)
    below = _named(ends, lambda ending: ending.beats_first_stage is False and ending.depth != 1)
    sentences = not_finished(_named(ends, lambda ending: ending.unfinished))
    sentences += failed_shares((name, ending.unfinished) for name, ending in ends)
    if few:
        text = (
            f"Cannot tell from fewer than {LEAST} validations whether these trainings are "
            f"finished: {', '.join(few)}."
        )
        sentences.append(Finding(text, None))
    if below:
        text = f"Does not beat its first stage on validation: {', '.join(below)}."
        sentences.append(Finding(text, False))
    return sentences


def not_finished(systems: Sequence[str]) -> list[Finding]:
    """Warn that the validation of these systems' trainings still rose when they ended."""
    if not systems:
        return []
    named = ", ".join(name.replace(f", {UNFINISHED}", "") for name in systems)
    text = (
        f"Trainings {UNFINISHED}: {named}. Their validation nDCG@10 still rose when they ended, so "
        "more steps may change what is said of them; they are compared with each other and with "
        "baselines, and with no finished training. Train longer."
    )
    return [Finding(text, False)]


def failed_shares(trainings: Iterable[tuple[str, bool]]) -> list[Finding]:
    """Say how many trainings of each system did not finish, with the exact 95 % interval of the
    share (Clopper and Pearson); nothing of single trainings.

    >>> failed_shares([("tk", False)] * 3)[0].text
    'Share of trainings that did not finish: tk 0 of 3 (95\xa0% interval 0\xa0% to 71\xa0%).'
    """
    from scipy import stats

    endings: dict[str, list[bool]] = defaultdict(list)
    for name, failed in trainings:
        endings[name.replace(f", {UNFINISHED}", "")].append(failed)
    shares = []
    for name, failures in endings.items():
        bounds = stats.binomtest(sum(failures), len(failures)).proportion_ci(method="exact")
        if len(failures) > 1:
            ends = f"{percent(bounds.low, 0)} to {percent(bounds.high, 0)}"
            shares.append(
                f"{name} {sum(failures)} of {len(failures)} ({percent(0.95, 0)} interval {ends})"
            )
    return (
        [Finding(f"Share of trainings that did not finish: {', '.join(shares)}.", None)]
        if shares
        else []
    )


def _named(curves: Sequence[tuple[str, Ending]], wanted: Callable[[Ending], bool]) -> list[str]:
    """Name the systems of some trainings, with the number of trainings if not all."""
    found = [name for name, ending in curves if wanted(ending)]
    every = [name for name, _ in curves]
    return [
        name
        if found.count(name) == every.count(name)
        else f"{name} ({found.count(name)} of {every.count(name)} trainings)"
        for name in dict.fromkeys(found)
    ]
