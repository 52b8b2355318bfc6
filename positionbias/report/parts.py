"""The parts of a page that a subject of its own fills, and which results stand there and in no general section.

A subject (audits, leakage, contamination, clicks, TripClick, pools) is added here and nowhere else: its sections, the measures of its results, and how its
effectiveness and its comparisons are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from positionbias.report.audit_page import AUDIT_SECTIONS
from positionbias.report.blocks import Block
from positionbias.report.clicks_page import CLICK_SECTIONS
from positionbias.report.contamination_page import CONTAMINATION_SECTIONS
from positionbias.report.leakage_page import LEAKAGE_SECTIONS
from positionbias.report.load import Study
from positionbias.report.pool_page import POOL_SECTIONS
from positionbias.report.published import Published
from positionbias.report.tripclick_page import TRIPCLICK_SECTIONS
from positionbias.results.audit import AUDIT_MEASURES
from positionbias.results.clicks import CLICK_MEASURES
from positionbias.results.contamination import CONTAMINATION_MEASURES, distilled, is_contamination_test
from positionbias.results.leakage import LEAKAGE_MEASURES, tests_of_leakage
from positionbias.results.result import Result
from positionbias.results.tripclick import TRIPCLICK_MEASURES, is_tripclick_test, tripclick_systems

__all__ = ["OWN_MEASURES", "OWN_SECTIONS", "general_comparisons", "general_systems"]

OWN_MEASURES = (*AUDIT_MEASURES, *LEAKAGE_MEASURES, *CONTAMINATION_MEASURES, *CLICK_MEASURES, *TRIPCLICK_MEASURES)


def _alone(build: Callable[[Study], Block]) -> Callable[[Study, Published | None], Block]:
    return lambda study, published: build(study)


# anchor, title, introduction, what builds a study's block with what a paper prints beside it; in the page's order
OWN_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    *((anchor, title, introduction, _alone(build)) for anchor, title, introduction, build in AUDIT_SECTIONS),
    *LEAKAGE_SECTIONS,
    *CONTAMINATION_SECTIONS,
    *CLICK_SECTIONS,
    *TRIPCLICK_SECTIONS,
    *POOL_SECTIONS,
)


def general_systems(results: Sequence[Result]) -> Sequence[Result]:
    """The results whose systems the general table shows: none of a study that shows every system in a section of its own."""
    return [] if distilled(results) or tripclick_systems(results) else results


def general_comparisons(results: Sequence[Result]) -> list[Result]:
    """The comparisons among these results that no section of its own shows."""
    own = [result for result, _ in tests_of_leakage(results)]
    return [r for r in results if not (r in own or is_contamination_test(r) or is_tripclick_test(r))]
