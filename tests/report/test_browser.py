"""The page in a real browser: nothing runs over the edge, dark screens get dark figures, paper gets
a page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.report.figure import MUTED, SERIES
from positionbias.report.html import PAGE_COLOURS, write_report
from tests.pooling.simulated_files import measured_pool

from . import invented
from .browser import Browser

pytestmark = pytest.mark.browser

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
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    invented.save_study(folder / "one")
    invented.save_study(folder / "two", name=LONG, gap=0.0, strength=0.0, title=LONG)
    places = [folder / "one", folder / "two", *measured_pool(folder)]
    return write_report(places, folder / "report.html")


def measure(browser: Browser, page: Path, width: int, *, dark: bool = False) -> dict[str, Any]:
    browser.open(page, width=width, dark=dark)
    return dict(browser.run(MEASURE))


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[index : index + 2], 16)) for index in (1, 3, 5))})"


@pytest.mark.parametrize(("width", "form"), [(360, "narrow"), (1200, "wide")])
def test_nothing_runs_over_the_edge(browser: Browser, page: Path, width: int, form: str) -> None:
    found = measure(browser, page, width)
    assert found["inner"] == width
    assert found["scroll"] <= found["inner"]
    assert found["boxes"] == []
    assert found["over"] == []
    assert set(found["classes"]) == {form}
    assert found["shown"] == 8 + 6  # of pools: coverage, scatter, bias, two curves, the verdict
    assert found["letters"] >= 11  # CSS pixels
    assert (found["ground"], found["label"]) == (
        rgb(PAGE_COLOURS["ground"].light),
        rgb(MUTED.light),
    )


def test_a_dark_screen_gets_dark_figures(browser: Browser, page: Path) -> None:
    found = measure(browser, page, 1200, dark=True)
    assert (found["ground"], found["ink"]) == (
        rgb(PAGE_COLOURS["ground"].dark),
        rgb(PAGE_COLOURS["ink"].dark),
    )
    assert found["label"] == rgb(MUTED.dark)
    assert rgb(SERIES[0].dark) in found["strokes"]
    assert rgb(SERIES[0].light) not in found["strokes"]


def test_it_prints(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.pdf().startswith(b"%PDF-")
