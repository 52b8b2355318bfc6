"""The page in a real browser: first screen, contents, keyboard, folded parts, interactive parts,
and axe's rules of accessibility.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from positionbias.report.html import PAGE_COLOURS, write_report
from tests.pooling.simulated_files import measured_pool

from . import invented, invented_audit
from .browser import Browser
from .test_browser import rgb

pytestmark = pytest.mark.browser

AXE = "POSBIAS_AXE"  # the path of axe.min.js of axe-core, which is not ours to ship
PAGES = ("audit", "study", "pools")
VIOLATIONS = (
    "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes[0].html.slice(0, "
    "200)}`))"
)
OUTSIDE = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, svg, .skip, \
.hidden") && e.checkVisibility()
  && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))"""
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    audit = invented_audit.save_audit(folder / "audit")
    made = {"audit": [audit], "study": [invented.save_study(folder / "study")]}
    made["pools"] = measured_pool(folder)
    return {name: write_report(places, folder / f"{name}.html") for name, places in made.items()}


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
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off_and_nothing_is_asked_for(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], width=width)
    assert (browser.requests, browser.messages) == ([pages[name].as_uri()], [])
    browser.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.run("document.scrollingElement.scrollWidth") <= width
    assert browser.run(OUTSIDE) == []
    assert pages[name].stat().st_size < 2_000_000


def test_the_first_screen_has_answers_advice_and_chart(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["audit"], width=1280)
    bottoms = browser.run(
        "['.tiles', '.advice', '.hero figure svg'].map(q => "
        "document.querySelector(q).getBoundingClientRect().bottom)"
    )
    assert bottoms == sorted(bottoms)
    assert bottoms[-1] <= 900
    tones = "[...document.querySelectorAll('.tile strong')].map(e => getComputedStyle(e).color)"
    assert browser.run(tones) == [rgb(PAGE_COLOURS["bad"].light), rgb(PAGE_COLOURS["good"].light)]


def test_contents_stay_at_the_side_and_fold_on_a_phone(
    browser: Browser, pages: dict[str, Path]
) -> None:
    top = "document.querySelector('nav').getBoundingClientRect().top"
    browser.open(pages["audit"], width=1280)
    assert browser.run("document.querySelector('nav details').open")
    browser.run("scrollTo(0, 3000)")
    assert browser.run(top) == 24
    browser.open(pages["audit"], width=390)
    assert not browser.run("document.querySelector('nav details').open")


def press(browser: Browser, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
        )


def test_the_keyboard_skips_to_the_content(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["audit"], width=1280)
    press(browser, "Tab", 9)
    assert browser.run(f"{FOCUSED}.className") == "skip"
    assert browser.run(f"{FOCUSED}.getBoundingClientRect().top") >= 0  # it comes into sight
    browser.press_enter()
    press(browser, "Tab", 9)
    assert browser.run(f"!!{FOCUSED}.closest('main')")
    assert browser.messages == []


def test_a_link_into_a_folded_part_opens_it(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["pools"], width=1280)
    folded = "document.getElementById('table-answers-all').closest('details')"
    assert not browser.run(f"{folded}.open")
    browser.click("document.querySelector('.others a')")
    assert browser.run(f"new Promise(done => setTimeout(() => done({folded}.open), 100))")


def test_the_first_column_stays_while_a_table_scrolls(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["study"], width=390)
    wide = (
        "[...document.querySelectorAll('.scroll')].find(box => box.checkVisibility() && "
        "box.scrollWidth > box.clientWidth + 40)"
    )
    lefts = (
        f"(box => {{ box.scrollLeft = 40; const cell = box.querySelector('tbody .stub'); return "
        f"[cell.getBoundingClientRect().left, box.getBoundingClientRect().left]; }})({wide})"
    )
    stub, box = browser.run(lefts)
    assert stub == box


def test_marks_have_their_exact_numbers(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["study"], width=1280)
    titles = browser.run(
        "[...document.querySelectorAll('.hero .wide use > title')].map(title => title.textContent)"
    )
    assert "nDCG@10, tk-original: −0.08565" in titles  # (0.395 − 0.432) / 0.432


def test_it_prints_without_contents(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["audit"], width=1280)
    browser.show_as(media="print", dark=True)
    hidden = (
        "['nav', '.skip', '.copies'].map(q => getComputedStyle(document.querySelector(q)).display)"
    )
    assert browser.run(hidden) == ["none", "none", "none"]
    assert browser.pdf().startswith(b"%PDF-")
