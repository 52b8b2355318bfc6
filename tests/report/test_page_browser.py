"""Pages in a real browser: first screen, folded and sortable parts; nothing runs over the edge;
dark, narrow and on paper; the page's policy; and axe's rules of accessibility.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from positionbias.report.figure import MUTED
from positionbias.report.page import PAGE_COLOURS, load_study, write_page
from tests.pooling.simulated_files import measured_pool

from . import invented, invented_audit
from .browser import Browser

pytestmark = pytest.mark.browser

AXE = "POSBIAS_AXE"  # the path of axe.min.js of axe-core, which is not ours to ship
PAGES = ("four", "long", "pools")  # audits of four models; rows with a long name; pools
VIOLATIONS = (
    "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes[0].html.slice(0, "
    "200)}`))"
)
OUTSIDE = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, svg, .skip, \
.hidden") && e.checkVisibility()
  && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))"""
LONG = "a-very-long-name-of-a-collection-without-any-place-to-break-it-0123456789"
MEASURE = """(() => {
  const shown = [...document.querySelectorAll("figure svg")].filter(svg => \
svg.getClientRects().length);
  const over = shown.flatMap(svg => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter(text => {
      const at = text.getBoundingClientRect();
      return at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || \
at.bottom > box.bottom + 1;
    }).map(text => text.textContent);
  });
  const text = shown.flatMap(svg => [...svg.querySelectorAll("text")]).find(text => /^−?[0-9.]+( \
%)?$/.test(text.textContent));
  const drawn = [...shown[0].querySelectorAll("path")].map(path => getComputedStyle(path).stroke);
  return {
    scroll: document.scrollingElement.scrollWidth, inner: innerWidth, shown: shown.length, over,
    classes: shown.map(svg => svg.parentElement.className),
    ground: getComputedStyle(document.body).backgroundColor, ink: \
getComputedStyle(document.body).color,
    label: getComputedStyle(text).fill, strokes: [...new Set(drawn)],
    letters: Math.min(...shown.map(svg => \
parseFloat(getComputedStyle(svg.querySelector("text")).fontSize)
      * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)),
    boxes: [...document.querySelectorAll(".scroll")].map(box => \
box.getBoundingClientRect().right).filter(right => right > innerWidth),
  };
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "one": invented_audit.save_audit(folder / "one"),
        "four": invented_audit.save_audit(folder / "four", invented_audit.FOUR),
        "long": invented.save_measured(folder / "long", name=LONG, title=LONG),
        "pools": measured_pool(folder)[1],
    }
    return {
        name: write_page(load_study(place), folder / f"{name}.html") for name, place in made.items()
    }


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing(
    browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    if not os.environ.get(AXE):
        pytest.skip(f"${AXE} does not name axe.min.js of axe-core (CONTRIBUTING.md, Tests)")
    browser.open(pages[name], width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    browser.run(f"{Path(os.environ[AXE]).read_text('utf-8')};0")
    assert browser.run(VIOLATIONS) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_cut_off_and_nothing_is_asked_for(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], width=width)
    assert (browser.requests, browser.messages) == ([pages[name].as_uri()], [])
    browser.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.run(OUTSIDE) == []
    assert pages[name].stat().st_size < 2_000_000
    found = browser.run(MEASURE)
    assert found["scroll"] <= found["inner"] == width
    assert (found["boxes"], found["over"]) == ([], [])
    assert set(found["classes"]) == {"drawn"}
    assert found["letters"] >= 11  # CSS pixels
    colours = (rgb(PAGE_COLOURS["ground"].light), rgb(MUTED.light))
    assert (found["ground"], found["label"]) == colours


def test_the_first_screen_has_answers_advice_and_chart(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["one"], width=1280)
    bottoms = browser.run(
        "['.tiles', '.advice', '.hero figure svg'].map(q => "
        "document.querySelector(q).getBoundingClientRect().bottom)"
    )
    assert bottoms == sorted(bottoms)
    assert bottoms[-1] <= 900
    tones = "[...document.querySelectorAll('.tile strong')].map(e => getComputedStyle(e).color)"
    assert browser.run(tones) == [rgb(PAGE_COLOURS["bad"].light), rgb(PAGE_COLOURS["good"].light)]


def test_a_link_into_a_folded_part_opens_it(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["long"], width=1280)
    table = browser.run("document.querySelector('main details:not([open]) [id^=table-]').id")
    folded = f"document.getElementById('{table}').closest('details')"
    assert not browser.run(f"{folded}.open")
    browser.run(f"location.hash = '{table}'")
    assert browser.run(f"new Promise(done => setTimeout(() => done({folded}.open), 100))")


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[index : index + 2], 16)) for index in (1, 3, 5))})"


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


def numbers(texts: list[str]) -> list[float | None]:
    """Shares as they are shown; None where there is a dash."""
    shown = [text.replace("−", "-").removesuffix("\xa0%") for text in texts]
    return [None if text == "–" else float(text) for text in shown]


def test_a_table_sorts_upwards_downwards_and_back(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["four"])
    table = "table-effects"
    before = column(browser, table, 0)
    # end − front is −0.45 times the lean: 0.9, 0.05, 1.6, 0.4; of a list there are ranks alone
    worth = {-40.5: 0, -2.3: 3, -72.0: 6, -18.0: 10}
    shares = numbers(column(browser, table, 2))
    assert {share: shares.index(share) for share in worth} == worth
    known = [share for share in shares if share is not None]
    browser.click(head(table, "Worth"))
    assert numbers(column(browser, table, 2)) == [*sorted(known), None]
    assert sorting(browser, table) == ["ascending"]
    browser.click(head(table, "Worth"))
    assert numbers(column(browser, table, 2)) == [*sorted(known, reverse=True), None]
    assert sorting(browser, table) == ["descending"]
    browser.click(head(table, "Worth"))
    assert (column(browser, table, 0), sorting(browser, table)) == (before, [])
    browser.click(head(table, "System"))
    assert column(browser, table, 0) == sorted(before)
    assert browser.messages == []


def test_on_paper_nothing_is_folded_away(browser: Browser, pages: dict[str, Path]) -> None:
    inside = (
        "[...document.querySelectorAll('main details:not([open]) > *:not(summary)')].map(e => "
        "e.checkVisibility({contentVisibilityAuto: true}))"
    )
    browser.open(pages["four"])
    assert not any(browser.run(inside))
    browser.show_as(media="print", dark=True)
    assert all(browser.run(inside))
    hidden = (
        "['nav', '.skip', '.copies'].map(q => getComputedStyle(document.querySelector(q)).display)"
    )
    assert browser.run(hidden) == ["none", "none", "none"]
    found = browser.run(MEASURE)
    # paper is white
    assert (found["ground"], found["label"]) == (
        rgb(PAGE_COLOURS["ground"].light),
        rgb(MUTED.light),
    )
    assert browser.pdf().startswith(b"%PDF-")


def test_a_script_of_another_would_not_run_and_would_be_seen(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    """The page's policy holds even if markup came through; and what a page logs or asks for is
    noted by the driver.
    """
    intruder = "<script>hacked = 1</script><img src='https://example.invalid/x.png'>"
    page = tmp_path / "report.html"
    page.write_text(
        pages["four"].read_text("utf-8").replace("</main>", f"{intruder}</main>"), encoding="utf-8"
    )
    browser.open(page)
    assert browser.run("typeof hacked") == "undefined"
    assert any("Content Security Policy" in message for message in browser.messages)
    assert browser.run("document.querySelectorAll('thead button').length") > 4  # ours runs
