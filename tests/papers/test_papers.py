"""The registry of papers: modules, sections and tables are found; published cells
are read from a file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from positionbias.cli.groups import studies, study
from positionbias.papers import PAPERS, modules, runner_of
from positionbias.report.load import Study
from positionbias.report.parts import Part, parts, tables_after
from positionbias.report.table import Table
from positionbias.results.published import PublishedCell, read_cells
from positionbias.results.result import Facts


def test_every_paper_has_its_modules() -> None:
    for name in PAPERS:
        assert study.get_command(click.Context(study), name) is not None
        assert studies()[name][2] == PAPERS[name]
        assert callable(runner_of(name))
    assert all(isinstance(module.PART, Part) for module in modules("page"))


def test_sections_stand_in_the_pages_order_and_once() -> None:
    anchors = [section.anchor for part in parts() for section in part.sections]
    assert len(set(anchors)) == len(anchors)
    order = ["clicks-triples", "leakage", "contamination", "tripclick", "tripclick-negatives"]
    assert [anchor for anchor in anchors if anchor in order] == order


def test_no_part_takes_what_is_of_another() -> None:
    measures = [measure for part in parts() for measure in part.measures]
    assert len(set(measures)) == len(measures)


def test_the_terminal_shows_the_tables_of_a_study() -> None:
    names = ("systems", "tripclick-sets", "leakage-tests", "effectiveness-1", "contamination")
    tables = {name: Table(name, "", [], []) for name in names}
    assert [table.name for table in tables_after("study", tables)] == [
        "tripclick-sets",
        "leakage-tests",
        "contamination",
    ]
    assert [table.name for table in tables_after("report", tables)] == [
        "tripclick-sets",
        "leakage-tests",
        "effectiveness-1",
        "contamination",
    ]


@pytest.mark.parametrize(
    "module", [*(paper.__name__ for paper in modules()), "positionbias.cli.groups"]
)
def test_the_list_of_studies_and_the_reading_of_results_import_nothing_heavy(module: str) -> None:
    code = (
        f"import sys, {module}; print([name for name in ('torch', 'pyarrow', 'matplotlib') if name "
        "in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_cells_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(
        'table,row,place,split,model,"MS|nDCG@10|Orig., nDCG",MS|MRR Δ|Δ\n'
        '3,a,"Table 3, TK",test,tk,0.371ab,-0.208\n3,b,"Table 3, KNRM",test,knrm,,+0.1\n',
        encoding="utf-8",
    )
    tk, knrm = Facts(model="tk"), Facts(model="knrm")
    assert read_cells(path) == (
        PublishedCell(3, "MS", "nDCG@10", 0.371, "Table 3, TK, Orig., nDCG", "test", tk, "a", "ab"),
        PublishedCell(3, "MS", "MRR Δ", -0.208, "Table 3, TK, Δ", "test", tk, "a"),
        PublishedCell(3, "MS", "MRR Δ", 0.1, "Table 3, KNRM, Δ", "test", knrm, "b"),
    )


def test_what_is_of_no_paper_has_no_section_of_one() -> None:
    from positionbias.core.manifest import Manifest

    nothing = Study(1, "s", "s", [], Manifest("results", "", ""))
    for section in (section for part in parts() for section in part.sections):
        for block in section.blocks([nothing]):
            assert not block.has_more_than_tables
            assert not block.sheets
