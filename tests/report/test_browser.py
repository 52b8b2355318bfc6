"""The page in a real browser: nothing runs over the edge, dark screens get dark figures, paper gets a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from positionbias.report.figure import MUTED, SERIES
from positionbias.report.html import PAGE_COLOURS, write_report

from . import invented

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
LONG = "a-very-long-name-of-a-collection-without-any-place-to-break-it-0123456789"
# What the page is like, told to the page around it, whose title a headless browser prints after scripts have run.
MEASURE = """<script>addEventListener("load", () => {
  const shown = [...document.querySelectorAll("figure svg")].filter(svg => svg.getClientRects().length);
  const over = shown.flatMap(svg => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter(text => {
      const at = text.getBoundingClientRect();
      return at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1;
    }).map(text => text.textContent);
  });
  const text = shown[0].querySelector("text");
  const drawn = [...shown[0].querySelectorAll("path")].map(path => getComputedStyle(path).stroke);
  parent.postMessage(JSON.stringify({
    scroll: document.scrollingElement.scrollWidth, inner: innerWidth, shown: shown.length, over,
    classes: shown.map(svg => svg.parentElement.className),
    ground: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    label: getComputedStyle(text).fill, strokes: [...new Set(drawn)],
    letters: Math.min(...shown.map(svg => parseFloat(getComputedStyle(svg.querySelector("text")).fontSize)
      * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)),
    boxes: [...document.querySelectorAll(".scroll")].map(box => box.getBoundingClientRect().right).filter(right => right > innerWidth),
  }), "*");
});</script>"""
# A headless window has a least width that is wider than a phone; a frame has none.
FRAME = """<!DOCTYPE html><title></title><meta name="color-scheme" content="light dark">
<script>addEventListener("message", event => {{ document.title = event.data; }});</script>
<iframe src="{page}" style="width:{width}px;height:900px;border:0"></iframe>"""


@pytest.fixture(scope="module")
def chromium() -> str:
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on the path")
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    invented.save_study(folder / "one")
    invented.save_study(folder / "two", name=LONG, gap=0.0, strength=0.0, title=LONG)
    text = write_report([folder / "one", folder / "two"], folder / "report.html").read_text("utf-8")
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", f"{MEASURE}</body>")
    (folder / "measured.html").write_text(measured, encoding="utf-8")
    return folder / "measured.html"


def run(chromium: str, page: Path, profile: Path, *more: str) -> str:
    command = [chromium, *FLAGS, f"--user-data-dir={profile}", *more, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def measure(chromium: str, page: Path, profile: Path, width: int, *, dark: bool = False) -> dict[str, Any]:
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if dark else "1")
    frame = profile.with_suffix(".html")
    frame.write_text(FRAME.format(page=page.as_uri(), width=width), encoding="utf-8")
    text = run(chromium, frame, profile, "--window-size=1400,1000", "--virtual-time-budget=5000", scheme, "--dump-dom")
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    assert title
    return json.loads(unescape(title[1]))


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[index : index + 2], 16)) for index in (1, 3, 5))})"


@pytest.mark.parametrize(("width", "form"), [(360, "narrow"), (1200, "wide")])
def test_nothing_runs_over_the_edge(chromium: str, page: Path, tmp_path: Path, width: int, form: str) -> None:
    found = measure(chromium, page, tmp_path / "profile", width)
    assert found["inner"] == width
    assert found["scroll"] <= found["inner"]
    assert found["boxes"] == []
    assert found["over"] == []
    assert set(found["classes"]) == {form}
    assert found["shown"] == 8
    assert found["letters"] >= 11  # CSS pixels
    assert (found["ground"], found["label"]) == (rgb(PAGE_COLOURS["ground"].light), rgb(MUTED.light))


def test_a_dark_screen_gets_dark_figures(chromium: str, page: Path, tmp_path: Path) -> None:
    found = measure(chromium, page, tmp_path / "profile", 1200, dark=True)
    assert (found["ground"], found["ink"]) == (rgb(PAGE_COLOURS["ground"].dark), rgb(PAGE_COLOURS["ink"].dark))
    assert found["label"] == rgb(MUTED.dark)
    assert rgb(SERIES[0].dark) in found["strokes"]
    assert rgb(SERIES[0].light) not in found["strokes"]


def test_it_prints(chromium: str, page: Path, tmp_path: Path) -> None:
    run(chromium, page, tmp_path / "profile", "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
