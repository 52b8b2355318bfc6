"""Registry of the subjects of a page: audits, clicks, and every paper's study.

A subject is a ``Part``: its sections, the results shown there and in no general section, its
published figures, and the tables that the terminal shows. ``posbias report`` and ``posbias study``
ask the functions here, and name no subject.

A new paper is a line in ``papers.PAPERS`` and a folder ``positionbias/papers/NAME``, with four
modules for an ordinary study (``docs/studies.md`` has one as an example):

    settings.py    a dataclass whose fields declare settings, and ``COMMAND``, which makes ``posbias
                   study NAME`` of it
    study.py       ``run_study(collection, settings, workspace)``: the steps, each an artefact with
                   a receipt
    measured.py    rows of what the steps left
    shown.py       tables, figures, answers and sentences over the rows: ``SHOWN``
    published.csv  what the paper printed, as rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from positionbias.report.blocks import Block
from positionbias.report.load import Study
from positionbias.report.table import Table

__all__ = [
    "PageSection",
    "Part",
    "each",
    "main_figure",
    "parts",
    "tables_after",
]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section: its blocks are made of all studies of the page. ``before`` is the general section
    that it precedes.
    """

    anchor: str
    title: str
    introduction: str
    blocks: Callable[[Sequence[Study]], list[Block]]
    before: str = "places"


def each(build: Callable[[Study], Block]) -> Callable[[Sequence[Study]], list[Block]]:
    """Return what builds a block for each study."""
    return lambda studies: [build(study) for study in studies]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One subject's part of a page.

    ``sections`` stand in their order. ``figures`` name those that say most, the first that exists
    before the others. ``after_study`` and ``after_report`` begin the names of
    the tables that the terminal shows.
    """

    sections: Sequence[PageSection] = ()
    figures: Sequence[str] = ()
    after_study: Sequence[str] = ()
    after_report: Sequence[str] = ()


@cache
def parts() -> Sequence[Part]:
    """Return every part, in the page's order."""
    shown = import_module("positionbias.report.presentation").presentations()
    return [presentation.part() for presentation in shown.values()]


def main_figure(there: Iterable[str]) -> str:
    """Return the name of the figure that says most among these, the first where no part names one;
    "" where there are none.
    """
    names = list(there)
    return next(
        (
            name
            for name in (*(name for part in parts() for name in part.figures), *names)
            if name in names
        ),
        "",
    )


def tables_after(command: Literal["study", "report"], tables: Mapping[str, Table]) -> list[Table]:
    """Return those tables of a report that the terminal shows after ``posbias study`` or
    ``posbias report``.
    """
    shown = tuple(name for part in parts() for name in getattr(part, f"after_{command}"))
    return [table for name, table in tables.items() if name.startswith(shown)]
