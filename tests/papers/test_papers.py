"""The registry of papers: modules, sections and tables are found."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from positionbias.cli.groups import studies, study
from positionbias.papers import FOLDERS, PAPERS, modules, runner_of
from positionbias.report.page import build_sections
from positionbias.report.presentation import Presentation, Study, presentations


def test_every_paper_has_its_modules() -> None:
    for name in PAPERS:
        assert study.get_command(click.Context(study), name) is not None
        assert studies()[name][2] == PAPERS[name]
        assert callable(runner_of(name))
        # the studies of one folder write the same rows
        rows = FOLDERS.get(name, name).replace("_", "-")
        assert isinstance(presentations()[rows], Presentation)


def test_sections_stand_in_the_pages_order_and_once() -> None:
    anchors = [section.anchor for shown in presentations().values() for section in shown.sections]
    assert len(set(anchors)) == len(anchors)
    order = ["leakage", "contamination", "tripclick", "tripclick-negatives"]
    assert [anchor for anchor in anchors if anchor in order] == order


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


def test_what_is_of_no_paper_has_no_section_of_one() -> None:
    from positionbias.core.manifest import Manifest

    nothing = Study(Manifest("results", "", ""))
    assert [section.anchor for section in build_sections(nothing)] == ["run"]
