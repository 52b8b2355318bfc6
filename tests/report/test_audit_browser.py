"""An audit's page in a real browser: it opens from disk and asks for nothing; tables sort; dark,
narrow, on paper.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.report.figure import MUTED, SERIES
from positionbias.report.html import PAGE_COLOURS, write_report
from positionbias.results.result import save_results

from . import invented_audit
from .browser import Browser
from .test_browser import MEASURE, rgb

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>hacked = 1</script><img src=x onerror='hacked = 1'><mark onclick=hacked=1> "
    "</p></details> 1784 until {{ 7 * 7 }}"
)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("four")
    return write_report(
        [invented_audit.save_audit(folder / "audit", invented_audit.FOUR)], folder / "report.html"
    )


def head(table: str, text: str) -> str:
    """The button of a heading, as an expression."""
    return (
        f"[...document.querySelectorAll('#{table} thead button')].find(b => "
        f"b.textContent.startsWith('{text}'))"
    )


def column(browser: Browser, table: str, index: int) -> list[str]:
    cells = (
        f"[...document.querySelectorAll('#{table} tbody tr')].map(row => "
        f"row.cells[{index}].textContent)"
    )
    return [text.partition("\u00a0[")[0] for text in browser.run(cells)]


def sorting(browser: Browser, table: str) -> list[str]:
    heads = (
        f"[...document.querySelectorAll('#{table} thead th')].map(th => "
        "th.getAttribute('aria-sort'))"
    )
    return [way for way in browser.run(heads) if way]


def test_it_opens_from_disk_and_asks_for_nothing(browser: Browser, four: Path) -> None:
    browser.open(four)
    assert browser.requests == [four.as_uri()]
    assert browser.messages == []
    assert browser.run("document.readyState") == "complete"
    assert browser.run("performance.getEntriesByType('resource').length") == 0


def test_a_table_sorts_upwards_downwards_and_back(browser: Browser, four: Path) -> None:
    browser.open(four)
    table = "table-audit-compared"
    before = column(browser, table, 0)
    # the list's order matters to one of them; end − front is −0.45 times the lean: 0.9, 0.05, 1.6,
    # 0.4
    assert column(browser, table, 4) == ["–", "–", "+1.3", "–"]
    assert column(browser, table, 1) == ["−40.5\xa0%", "−2.3\xa0%", "−72.0\xa0%", "−18.0\xa0%"]
    browser.click(head(table, "End"))
    assert column(browser, table, 1) == ["−72.0\xa0%", "−40.5\xa0%", "−18.0\xa0%", "−2.3\xa0%"]
    assert sorting(browser, table) == ["ascending"]
    browser.click(head(table, "End"))
    assert column(browser, table, 1) == ["−2.3\xa0%", "−18.0\xa0%", "−40.5\xa0%", "−72.0\xa0%"]
    assert sorting(browser, table) == ["descending"]
    browser.click(head(table, "End"))
    assert column(browser, table, 0) == before
    assert sorting(browser, table) == []
    browser.click(head(table, "System"))
    assert column(browser, table, 0) == sorted(before)
    assert browser.messages == []


def test_the_keyboard_sorts(browser: Browser, four: Path) -> None:
    browser.open(four)
    browser.run(head("table-audit-compared", "End") + ".focus()")
    browser.press_enter()
    assert sorting(browser, "table-audit-compared") == ["ascending"]
    assert browser.run("document.activeElement.textContent").startswith("End − front")


def test_merged_names_are_written_out_when_sorted(browser: Browser, four: Path) -> None:
    browser.open(four)
    table = "table-psi-ndcg-10-1"
    body = f"[...document.querySelectorAll('#{table} tbody')].map(body => body.outerHTML)"
    before = browser.run(body)
    spans = f"document.querySelectorAll('#{table} [rowspan]').length"
    assert browser.run(spans) == 2  # two ways of parting queries, five systems in each
    rows = f"[...document.querySelectorAll('#{table} tbody tr')].map(row => row.cells.length)"
    browser.click(head(table, "PSI"))
    assert browser.run(spans) == 0
    assert len(set(browser.run(rows))) == 1
    values = [float(text) for text in column(browser, table, 3)]
    assert values == sorted(values)
    names = column(browser, table, 0)
    assert (names.count("characters"), names.count("share of the passage")) == (5, 5)
    browser.click(head(table, "PSI"))
    browser.click(head(table, "PSI"))
    assert browser.run(body) == before


@pytest.mark.parametrize(("width", "form"), [(360, "narrow"), (1200, "wide")])
def test_nothing_runs_over_the_edge(browser: Browser, four: Path, width: int, form: str) -> None:
    browser.open(four, width=width)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = browser.run(MEASURE)
    assert found["scroll"] <= found["inner"] == width
    assert (found["boxes"], found["over"]) == ([], [])
    assert set(found["classes"]) == {form}
    # four cards, compared, response, three of quality, gain, movement, thirds, term similarity
    assert found["shown"] == 13
    assert found["letters"] >= 11  # CSS pixels


def test_a_dark_screen(browser: Browser, four: Path) -> None:
    browser.open(four, dark=True)
    found = browser.run(MEASURE)
    assert (found["ground"], found["label"]) == (rgb(PAGE_COLOURS["ground"].dark), rgb(MUTED.dark))
    assert rgb(SERIES[0].dark) in found["strokes"]
    assert not {rgb(SERIES[0].light), rgb(MUTED.light)} & set(found["strokes"])


def test_on_paper_nothing_is_folded_away(browser: Browser, four: Path) -> None:
    inside = (
        "[...document.querySelectorAll('main details:not([open]) > *:not(summary)')].map(e => "
        "e.checkVisibility({contentVisibilityAuto: true}))"
    )
    browser.open(four)
    assert not any(browser.run(inside))
    browser.show_as(media="print", dark=True)
    assert all(browser.run(inside))
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    found = browser.run(MEASURE)
    # paper is white
    assert (found["ground"], found["label"]) == (
        rgb(PAGE_COLOURS["ground"].light),
        rgb(MUTED.light),
    )
    assert browser.pdf().startswith(b"%PDF-")


def test_hostile_texts_do_nothing(browser: Browser, tmp_path: Path) -> None:
    few = invented_audit.few(invented_audit.audit(), "position response", "PSI")
    results = invented_audit.renamed(few, HOSTILE)
    save_results(tmp_path / "audit", results, invented_audit.manifest(HOSTILE))
    page = write_report([tmp_path / "audit"], tmp_path / "report.html")
    browser.open(page)
    assert browser.run("[typeof hacked, document.images.length, document.scripts.length]") == [
        "undefined",
        0,
        2,
    ]
    assert browser.requests == [page.as_uri()]
    assert browser.messages == []


def test_a_script_of_another_would_not_run_and_would_be_seen(
    browser: Browser, four: Path, tmp_path: Path
) -> None:
    """The page's policy holds even if markup came through; and what a page logs or asks for is
    noted by the driver.
    """
    intruder = "<script>hacked = 1</script><img src='https://example.invalid/x.png'>"
    page = tmp_path / "report.html"
    page.write_text(
        four.read_text("utf-8").replace("</main>", f"{intruder}</main>"), encoding="utf-8"
    )
    browser.open(page)
    assert browser.run("typeof hacked") == "undefined"
    assert any("Content Security Policy" in message for message in browser.messages)
    assert browser.run("document.querySelectorAll('thead button').length") > 10  # ours runs
