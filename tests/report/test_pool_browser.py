"""A page about pools in a real browser: it opens from disk, nothing runs over the edge, dark
figures on dark screens, data on paper.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.report.figure import MUTED, SERIES
from positionbias.report.html import PAGE_COLOURS, write_report

from . import invented_pools
from .browser import Browser
from .test_browser import MEASURE, rgb

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    results = [
        *invented_pools.study("documents", "a-task-with-a-long-name"),
        *invented_pools.verdict("documents"),
    ]
    return write_report(
        [invented_pools.save_pools(folder / "study", results)], folder / "report.html"
    )


@pytest.mark.parametrize(("width", "form"), [(360, "narrow"), (1200, "wide")])
def test_nothing_runs_over_the_edge(browser: Browser, page: Path, width: int, form: str) -> None:
    browser.open(page, width=width)
    assert (browser.requests, browser.messages) == ([page.as_uri()], [])
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = browser.run(MEASURE)
    assert found["scroll"] <= found["inner"] == width
    assert (found["boxes"], found["over"]) == ([], [])
    assert set(found["classes"]) == {form}
    assert found["shown"] == 10  # coverage; scatter, bias and two curves of two tasks; the verdict
    assert found["letters"] >= 11  # CSS pixels


def test_a_dark_screen(browser: Browser, page: Path) -> None:
    browser.open(page, dark=True)
    found = browser.run(MEASURE)
    assert (found["ground"], found["label"]) == (rgb(PAGE_COLOURS["ground"].dark), rgb(MUTED.dark))
    assert rgb(SERIES[1].dark) in found["strokes"]
    assert not {rgb(SERIES[1].light), rgb(MUTED.light)} & set(found["strokes"])


def test_on_paper_the_data_are_unfolded(browser: Browser, page: Path) -> None:
    inside = (
        "[...document.querySelectorAll('main details:not([open]) > *:not(summary)')].map(e => "
        "e.checkVisibility({contentVisibilityAuto: true}))"
    )
    browser.open(page)
    assert not any(browser.run(inside))
    browser.show_as(media="print", dark=True)
    assert all(browser.run(inside))
    assert browser.pdf().startswith(b"%PDF-")
