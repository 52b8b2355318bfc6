"""What papers print beside a study's results."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.contamination import published as contamination
from positionbias.leakage import published as leakage
from positionbias.report.load import Study
from positionbias.report.parts import parts
from positionbias.report.published import Published
from positionbias.results.contamination import distilled, targets_of
from positionbias.results.leakage import by_condition
from positionbias.results.payloads import PerQuery
from positionbias.results.result import Result

__all__ = ["published_for"]


def published_for(study: Study) -> Published | None:
    """Return the cells of the paper that a study repeats, for what is the paper's own of it; None where nothing is."""
    if tested := by_condition(study.results):
        return _of_leakage(tested[0])
    if distilled(study.results):
        return _of_contamination(study.results)
    found = (part.published(study.results) for part in reversed(parts()) if part.published)  # the position-bias paper's last
    return next(filter(None, found), None)


def _of_leakage(tested: Result) -> Published | None:
    """The leakage paper's cells, where the topics are those of one of its targets."""
    target = leakage.target_of(tested.payload.query_ids) if isinstance(tested.payload, PerQuery) else None
    return Published(leakage.PAPER, leakage.CELLS, {tested.collection: target}) if target else None


def _of_contamination(results: Sequence[Result]) -> Published | None:
    """The contamination paper's cells, for those targets that are its own by name."""
    names = {target: name for target in targets_of(results) if (name := contamination.target_of(target))}
    return Published(contamination.PAPER, contamination.CELLS, names, contamination.PRETRAINED) if names else None
