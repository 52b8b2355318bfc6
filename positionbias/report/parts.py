"""Registry of the subjects of a page: audits, clicks, and every paper's study.

A subject is a ``Part``: its sections, the results shown there and in no general section, its published figures, and the
tables that the terminal shows. ``posbias report`` and ``posbias study`` ask the functions here, and name no subject.

A new paper is a line in ``papers.PAPERS`` and a folder ``positionbias/papers/NAME``, with five modules for an ordinary study:

    __init__.py    the payload types of its results, classes of ``Figures``; results are read by them from then on
    settings.py    a dataclass whose fields declare settings, and ``COMMAND``, which makes ``posbias study NAME`` of it
    study.py       ``run_study(collection, settings, workspace)``: the steps, each an artefact with a receipt
    measured.py    results of what the steps left
    page.py        tables, figures and sections, and ``PART``, by which this registry finds them
    cells.csv      what the paper printed (``results.published.read_cells``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from positionbias.report.audit_page import AUDIT_SECTIONS
from positionbias.report.blocks import Block
from positionbias.report.clicks_page import CLICK_SECTIONS
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.audit import AUDIT_MEASURES
from positionbias.results.clicks import CLICK_MEASURES
from positionbias.results.result import Result

__all__ = ["PageSection", "Part", "general_comparisons", "general_systems", "own_sections", "parts", "tables_after"]

# anchor, title, introduction, what builds a study's block with what a paper prints beside it
PageSection = tuple[str, str, str, Callable[[Study, Published | None], Block]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One subject's part of a page.

    ``sections`` stand in their order. Results of ``measures`` stand in no table of statistics. ``is_of`` says whether results
    are of a study whose sections show every system; ``comparisons`` gives those that its sections show. ``published`` gives
    what the paper prints beside results of its own study. ``after_study`` and ``after_report`` begin the names of the
    tables that the terminal shows.
    """

    sections: Sequence[PageSection] = ()
    measures: Sequence[str] = ()
    is_of: Callable[[Sequence[Result]], bool] = lambda results: False
    comparisons: Callable[[Sequence[Result]], Iterable[Result]] = lambda results: ()
    published: Callable[[Sequence[Result]], Published | None] | None = None
    after_study: Sequence[str] = ()
    after_report: Sequence[str] = ()


def _alone(build: Callable[[Study], Block]) -> Callable[[Study, Published | None], Block]:
    return lambda study, published: build(study)


AUDIT = Part(
    sections=[(anchor, title, introduction, _alone(build)) for anchor, title, introduction, build in AUDIT_SECTIONS],
    measures=AUDIT_MEASURES,
)
CLICKS = Part(sections=CLICK_SECTIONS, measures=CLICK_MEASURES)


@cache
def parts() -> Sequence[Part]:
    """Return every part, in the page's order."""
    papers = [module.PART for module in import_module("positionbias.papers").modules("page")]
    return (AUDIT, CLICKS, *papers)


def own_sections() -> list[PageSection]:
    """Return the sections of all parts, in the page's order."""
    return [section for part in parts() for section in part.sections]


def general_systems(results: Sequence[Result]) -> Sequence[Result]:
    """Return the results whose systems the general table shows: none of a study whose own sections show every system."""
    return [] if any(part.is_of(results) for part in parts()) else results


def general_comparisons(results: Sequence[Result]) -> list[Result]:
    """Return the comparisons among these results that no part shows."""
    own = {id(result) for part in parts() for result in part.comparisons(results)}
    return [result for result in results if id(result) not in own]


def tables_after(command: Literal["study", "report"], tables: Mapping[str, Table]) -> list[Table]:
    """Return those tables of a report that the terminal shows after ``posbias study`` or ``posbias report``."""
    shown = tuple(name for part in parts() for name in getattr(part, f"after_{command}"))
    return [table for name, table in tables.items() if name.startswith(shown)]
