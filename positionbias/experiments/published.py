"""Published figures of papers beside those of a study."""

from __future__ import annotations

from positionbias.report.load import Study
from positionbias.report.parts import parts
from positionbias.report.published import Published

__all__ = ["published_for"]


def published_for(study: Study) -> Published | None:
    """Return the cells of the paper that a study repeats, for the paper's own data in it; None where there are none."""
    found = (part.published(study.results) for part in reversed(parts()) if part.published)  # the position-bias paper's last
    return next(filter(None, found), None)
