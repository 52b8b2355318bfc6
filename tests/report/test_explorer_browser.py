"""The explorer in a real browser: filters, keys, marks of any script, phones, no script, and texts that would like to run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from positionbias.report.html import write_report

from .browser import Browser
from .invented_explorer import MILL, collection_of, effects, many, result, save

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>hacked = 1</script><!-- <img src=x onerror='hacked = 1'> \u2028\u2029 \"quoted\" 1784 &amp; until ${hacked = 1} `"
TEXTS = {
    "mill": MILL,
    "astral": "😀😀 Before it. The answer 𝔵𝔶😀 is here. After it e\u0301 comes more.",
    "rtl": "הטחנה הישנה נבנתה בשנת 1784 על ידי שני אחים. היא טחנה קמח.",
    "hostile": HOSTILE,
    "cut": "It was built in the year 1784 and burned later.",
    "whole": "One two three four.",
}
QUERIES = {
    "q-astral": ("Where is 😀?", "astral", "𝔵𝔶😀"),
    "q-cut": ("When built?", "cut", "the year 1784"),
    "q-hostile": (HOSTILE, "hostile", "1784"),
    "q-mill": ("When was the mill built?", "mill", "1784"),
    "q-rtl": ("מתי נבנתה הטחנה?", "rtl", "1784"),
    "q-whole": ("What is third?", "whole", "three"),
}
CUTS = {
    "mill": MILL.index("until"),
    "astral": TEXTS["astral"].index("After"),
    "rtl": TEXTS["rtl"].index("על"),
    "hostile": HOSTILE.index("until"),
    "cut": TEXTS["cut"].index("1784"),
    "whole": 0,
}
#  q-astral −0.5, q-cut −0.75, q-hostile 0, q-mill −0.25, q-rtl 0, q-whole 0
AFTER = [0.5, 0.25, 1.0, 0.75, 1.0, 1.0]
MOVED = [0.2, None, -0.9, 0.1, 0.3, -0.1]
KEYS = {"ArrowDown": 40, "ArrowUp": 38, "PageDown": 34, "PageUp": 33, "Home": 36, "End": 35, "Escape": 27}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    collection = collection_of(folder / "squad", TEXTS, QUERIES)
    found = result(effects(QUERIES, TEXTS, CUTS, AFTER, MOVED))
    return write_report([save(folder / "audit", [found], collection)], folder / "page.html")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    return write_report([save(folder / "audit", [result(many(10_000))], None)], folder / "page.html")


def open_it(browser: Browser, page: Path, **how: Any) -> None:
    browser.open(page, **how)
    browser.run(
        "new Promise((done, fail) => { const look = () => document.querySelector('[data-ready]') ? done(1) : setTimeout(look, 20);"
        " look(); setTimeout(fail, 30000); })"
    )


def listed(browser: Browser) -> list[str]:
    return list(browser.run("[...document.querySelectorAll('.explorer tbody th')].map(th => th.textContent)"))


def choose(browser: Browser, selector: str, value: object) -> None:
    browser.run(
        f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector('.explorer {selector}'))"
    )


def press(browser: Browser, name: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name])


def look(browser: Browser, name: str) -> None:
    browser.click(f"[...document.querySelectorAll('.explorer tbody tr')].find(row => row.textContent.startsWith({name!r}))")


def text(browser: Browser, selector: str) -> str:
    return str(browser.run(f"document.querySelector('.explorer {selector}').textContent"))


def opened(browser: Browser) -> list[list[str]]:
    """Each shown passage's pieces: marked in [ ], the cut as |."""
    piece = "n => n.nodeName === 'MARK' ? `[${n.textContent}]` : n.className === 'cut' ? '|' : n.textContent"
    found = browser.run(
        f"[...document.querySelectorAll('.opened .pair p[dir]')].map(p => [...p.childNodes].map({piece}).filter(t => t))"
    )
    return list(found)


def test_it_lists_the_largest_effects_first(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    asked = {query_id: query for query_id, (query, _, _) in QUERIES.items()}
    order = ["q-cut", "q-astral", "q-mill", "q-hostile", "q-rtl", "q-whole"]
    assert listed(browser) == [asked[query_id] for query_id in order]
    row = "[...document.querySelector('.explorer tbody tr').cells].map(cell => cell.textContent)"
    # 'the year 1784' begins at character 16 of 47
    assert browser.run(row)[1:] == ["−0.750", "34\u00a0%", "10", "1.000", "0.250", "1", "2"]
    assert text(browser, "[role=status]") == "6 of 6 queries"
    assert browser.messages == []
    assert browser.requests == [page.as_uri()]


def test_filters_and_counts(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    choose(browser, ".direction", "-1")
    assert text(browser, "[role=status]") == "3 of 6 queries"
    choose(browser, ".least", "0.5")
    assert text(browser, "[role=status]") == "2 of 6 queries"
    choose(browser, ".direction", "0")
    assert (text(browser, "[role=status]"), text(browser, ".range-shown")) == ("0 of 6 queries", "No query is like this.")
    browser.click("document.querySelector('.explorer .all')")
    assert text(browser, "[role=status]") == "6 of 6 queries"
    choose(browser, ".find", "FLOUR")  # in the passage
    assert listed(browser) == ["When was the mill built?"]
    choose(browser, ".find", "q-wh")  # in the id
    assert listed(browser) == ["What is third?"]
    choose(browser, ".find", "")
    choose(browser, ".effect", "2")  # end − front
    assert listed(browser)[0] == HOSTILE
    choose(browser, ".direction", "1")
    assert text(browser, "[role=status]") == "3 of 6 queries"  # one of six was not measured


def test_strips_choose_places(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    strips = "[...document.querySelectorAll('.strips button')]"
    # by answers' first characters: 0.36 of 69 …; each strip says its count and mean
    counts = [int(re.search(r": (\d+)", label)[1]) for label in browser.run(f"{strips}.map(b => b.title)")]  # type: ignore[index]
    assert sum(counts) == 6
    third = browser.run(f"{strips}[3].title")
    browser.click(f"{strips}[3]")
    assert text(browser, "[role=status]") == f"{counts[3]} of 6 queries"
    assert browser.run(f"{strips}[3].getAttribute('aria-pressed')") == "true"
    assert third.startswith("Answers at 30–40\u00a0%")
    browser.click(f"{strips}[3]")
    assert text(browser, "[role=status]") == "6 of 6 queries"


def test_a_click_shows_both_passages(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    look(browser, "When was the mill built?")
    before, after = MILL.split("1784")
    cut = after.index("until")
    assert opened(browser) == [
        [before, "[1784]", after[:cut], "|", after[cut:]],
        [after[cut:], " ", "|", before, "[1784]", after[:cut]],
    ]
    figures = text(browser, ".figures")
    assert "nDCG@101.000 → 0.750" in figures
    assert "Rank1 → 2" in figures
    assert "end − front+0.100 worth" in figures


def test_marks_count_characters_beyond_the_basic_plane(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    look(browser, "Where is")
    original, rotated = opened(browser)
    assert original[1] == "[𝔵𝔶😀]"
    assert "".join(original).replace("|", "") == TEXTS["astral"].replace("𝔵𝔶😀", "[𝔵𝔶😀]")
    assert rotated[0] == "After it e\u0301 comes more."
    assert "[𝔵𝔶😀]" in rotated


def test_an_answer_that_was_cut_is_marked_on_both_sides(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    look(browser, "When built?")
    assert opened(browser) == [
        ["It was built in ", "[the year ]", "|", "[1784]", " and burned later."],
        ["[1784]", " and burned later.", " ", "|", "It was built in ", "[the year ]"],
    ]


def test_right_to_left_and_an_uncut_passage(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    look(browser, QUERIES["q-rtl"][0])
    assert browser.run("getComputedStyle(document.querySelector('.opened .pair p[dir]')).direction") == "rtl"
    assert [pieces for pieces in opened(browser) if "[1784]" not in pieces] == []
    look(browser, "What is third?")
    assert opened(browser) == [["One two ", "[three]", " four."]]
    assert "left the passage as it is" in text(browser, ".opened")


def test_no_text_runs(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    look(browser, "</script>")
    assert text(browser, ".opened h4") == HOSTILE
    assert opened(browser)[0] == [HOSTILE[: HOSTILE.index("1784")], "[1784]", " &amp; ", "|", HOSTILE[HOSTILE.index("until") :]]
    assert browser.run("[typeof hacked, document.images.length]") == ["undefined", 0]
    assert browser.messages == []


def test_the_keyboard_moves_opens_and_closes(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    focused = "document.activeElement.textContent"
    browser.run("document.querySelector('.explorer tbody button').focus()")
    press(browser, "ArrowDown")
    assert browser.run(focused) == "Where is 😀?"
    browser.press_enter()
    assert browser.run("document.querySelector('.opened').hidden") is False
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    press(browser, "ArrowDown")  # the open query follows
    assert (browser.run(focused), text(browser, ".opened h4")) == ("When was the mill built?", "When was the mill built?")
    press(browser, "Escape")
    assert browser.run("document.querySelector('.opened').hidden") is True
    assert browser.run(focused) == "When was the mill built?"
    press(browser, "End")
    assert browser.run(focused) == "What is third?"
    press(browser, "ArrowDown")
    assert browser.run(focused) == "What is third?"
    assert browser.run("document.querySelectorAll('.explorer tbody button[tabindex=\"0\"]').length") == 1
    assert browser.run("document.activeElement.matches(':focus-visible')")


def test_headings_sort(browser: Browser, page: Path) -> None:
    open_it(browser, page)
    words = "[...document.querySelectorAll('.explorer thead button')].find(b => b.textContent === 'Words')"
    column = "[...document.querySelectorAll('.explorer tbody tr')].map(row => Number(row.cells[3].textContent))"
    before = listed(browser)
    browser.click(words)
    assert browser.run(column) == sorted(browser.run(column))
    assert browser.run(f"{words}.closest('th').getAttribute('aria-sort')") == "ascending"
    browser.click(words)
    assert browser.run(column) == sorted(browser.run(column), reverse=True)
    browser.click(words)
    assert listed(browser) == before


def test_ten_thousand_queries_make_twelve_rows(browser: Browser, large: Path) -> None:
    open_it(browser, large)
    assert len(listed(browser)) == 12
    assert text(browser, ".range-shown") == "1–12 of 10,000"
    browser.click("document.querySelector('.explorer .next')")
    assert text(browser, ".range-shown") == "13–24 of 10,000"
    browser.run("document.querySelector('.explorer tbody button').focus()")
    press(browser, "PageDown")
    assert text(browser, ".range-shown") == "25–36 of 10,000"
    look(browser, listed(browser)[0])
    assert "texts of this query are not on this page" in text(browser, ".opened")
    assert browser.messages == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone(browser: Browser, page: Path, dark: bool) -> None:
    open_it(browser, page, width=390, dark=dark)
    look(browser, "When was the mill built?")
    assert browser.run("document.scrollingElement.scrollWidth") == 390
    over = "[...document.querySelectorAll('.explorer :is(select, input, button, canvas, td, th, p, .opened)')].filter(e => e.getBoundingClientRect().right > 391).length"
    assert browser.run(over) == 0
    shown = "[...document.querySelectorAll('.explorer thead th')].filter(th => th.checkVisibility()).map(th => th.textContent)"
    assert browser.run(shown) == ["Query", "Change", "Place"]
    ink = browser.run("getComputedStyle(document.querySelector('.opened p[dir]')).color")
    assert ink == browser.run("getComputedStyle(document.body).color")


def test_without_scripts_there_is_a_table(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.reload()
        root = browser.call("DOM.getDocument", depth=-1)["root"]
        find = browser.call("DOM.querySelector", nodeId=root["nodeId"], selector="#table-largest-effects-1 tbody tr")
        assert browser.call("DOM.getBoxModel", nodeId=find["nodeId"])["model"]["height"] > 0
        said = browser.call("DOM.querySelector", nodeId=root["nodeId"], selector="[data-script=explorer] .fallback")
        assert browser.call("DOM.getBoxModel", nodeId=said["nodeId"])["model"]["height"] > 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
