"""The page: whole, self-contained, escaped, accessible, and true to the results."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest

from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.rows import save
from positionbias.report.figure import SERIES, Colour
from positionbias.report.page import PAGE_COLOURS, load_study, tables_of, write_page
from positionbias.report.table import as_csv

from . import invented, invented_audit
from .pages import Page

HOSTILE = "<img src=x onerror=alert(1)> & \"q\" '$' {{ 7*7 }}"


def page_of(place: Path, title: str | None = None) -> str:
    """The page about this folder of results, written beside it."""
    page = place.parent / "r.html"
    return write_page(load_study(place), page, title=title, overwrite=True).read_text("utf-8")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("one")
    invented.save_study(folder / "study")
    return page_of(folder / "study")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rows of a histogram, term similarity, trainings and runs."""
    folder = tmp_path_factory.mktemp("measured")
    invented.save_measured(folder / "rows")
    return page_of(folder / "rows")


def check(text: str) -> Page:
    """What holds of any report."""
    page = Page(text)
    ids = [element.attributes["id"] for element in page.root.every() if "id" in element.attributes]
    assert [name for name, number in Counter(ids).items() if number > 1] == []
    every = page.root.every("script")
    # data do not run
    scripts = [element for element in every if element.attributes != {"type": "application/json"}]
    assert {
        (str(element.attributes), element.parent.tag if element.parent else "")
        for element in scripts
    } == {("{}", "body")}
    policy = next(
        e.attributes["content"] for e in page.root.every("meta") if "http-equiv" in e.attributes
    )
    digests = [
        base64.b64encode(hashlib.sha256(one.text.encode("utf-8")).digest()).decode("ascii")
        for one in scripts
    ]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    # our scripts, and no other
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}"
    for element in page.root.every():
        assert element.tag not in (
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "image",
        )
        assert not [name for name in element.attributes if name.startswith("on")]
        for name, value in element.attributes.items():
            if name in ("href", "xlink:href", "src", "srcset", "action"):
                assert value.startswith(("#", "data:text/")), value
                assert not value.startswith("#") or value[1:] in ids, value
            if name in ("aria-labelledby", "aria-describedby"):
                assert value in ids
    assert not re.search(r"https?:|@import|url\((?!#)", re.sub(r'href="data:[^"]*"', "", text))
    levels = [
        int(element.tag[1]) for element in page.root.every() if re.fullmatch(r"h[1-6]", element.tag)
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    return page


def test_a_page_of_one_study_is_whole_and_self_contained(one: str) -> None:
    page = check(one)
    titles = [element.text for element in page.root.every("h2")]
    assert titles == [
        "In short",
        "What collections hold",
        "What was rotated",
        "Definitions",
        "Provenance",
    ]
    links = [element.attributes["href"] for element in page.root.every("nav")[0].every("a")]
    assert len(links) == len(titles)
    assert page.root.every("title")[0].text == "position-bias on planted"
    assert page.root.every("html")[0].attributes["lang"] == "en"


def test_figures_are_images_with_names_and_captions(measured: str) -> None:
    page = check(measured)
    figures = page.root.every("figure")
    above = [figure.parent.attributes.get("class") for figure in figures if figure.parent]
    assert above == ["hero", "part", "part"]
    for figure in figures:
        images = figure.every("svg")
        assert [image.attributes["role"] for image in images] == ["img"]
        caption = figure.every("figcaption")[0].text
        for image in images:
            assert image.children[0].tag == "title"
            assert image.children[0].text == caption
    assert figures[0].text.strip().endswith("at each start that it could have.")


def test_tables_are_marked_up_as_tables(one: str, measured: str) -> None:
    tables = [table for text in (one, measured) for table in check(text).root.every("table")]
    assert len(tables) > 8
    for table in tables:
        assert len(table.every("caption")) == 1
        assert all(
            th.attributes.get("scope") in ("col", "colgroup", "row") for th in table.every("th")
        )
        head = table.every("thead")[0].every("tr")
        columns = len(head[-1].children)
        if len(head) > 1:
            assert (
                sum(int(cell.attributes.get("colspan", 1)) for cell in head[0].children) == columns
            )
        assert all(len(row.children) == columns for row in table.every("tbody")[0].every("tr"))
        box = table.parent
        assert box is not None
        assert (box.attributes["class"], box.attributes["tabindex"], box.attributes["role"]) == (
            "scroll",
            "0",
            "group",
        )


def test_every_table_is_there_as_csv_and_latex(measured: str, tmp_path: Path) -> None:
    page = check(measured)
    links = {
        element.attributes["download"]: element.attributes["href"]
        for element in page.root.every("a")
        if "download" in element.attributes
    }
    tables = tables_of(load_study(invented.save_measured(tmp_path / "rows")))
    assert sorted(links) == sorted(f"{name}.{form}" for name in tables for form in ("csv", "tex"))
    kind, data = links["comparisons.csv"].split(",", 1)
    assert kind == "data:text/csv;charset=utf-8"
    assert unquote(data) == as_csv(tables["comparisons"])
    row = next(csv.DictReader(io.StringIO(unquote(data))))
    assert float(row["Difference"]) == pytest.approx(0.02)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    record = replace(
        invented.manifest(HOSTILE), command=HOSTILE, notes=(HOSTILE,), settings={HOSTILE: HOSTILE}
    )
    save(tmp_path / "study", invented.study(HOSTILE), record)
    rows = invented.save_measured(
        tmp_path / "rows", "histogram", "ats", "evaluate", name=HOSTILE, model=HOSTILE
    )
    audit = invented_audit.save(
        tmp_path / "audit", invented_audit.verdicts({HOSTILE: 0.9}), name=HOSTILE
    )
    for place in (tmp_path / "study", rows, audit):
        text = page_of(place, f"</title>{HOSTILE}")
        page = check(text)
        assert page.root.every("h1")[0].text == f"</title>{HOSTILE}"
        assert HOSTILE in page.root.every("main")[0].text
        assert "49" not in page.root.every("h1")[0].text
        assert "<img" not in text


def test_no_results_at_all_make_a_page_that_says_so(tmp_path: Path) -> None:
    save(tmp_path / "study", invented.study()[:0], invented.manifest())
    page = check(page_of(tmp_path / "study"))
    titles = [e.text for e in page.root.every("h2")]
    assert titles == ["In short", "What was run", "Provenance"]
    assert "This folder holds no results." in page.root.text


def test_the_same_folders_give_the_same_bytes(tmp_path: Path) -> None:
    rows = invented.save_measured(tmp_path / "rows", "histogram")
    pages = [write_page(load_study(rows), tmp_path / f"{number}.html") for number in (1, 2)]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_studys_folder_leads_to_its_results(tmp_path: Path) -> None:
    invented.save_study(tmp_path / "study" / "results")
    assert len(load_study(tmp_path / "study").rows) == len(invented.study())


def test_faults_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"wanted a folder of results; found no rows\.parquet; give"
    ):
        write_page(load_study(tmp_path), tmp_path / "r.html")
    (tmp_path / "r.html").write_text("mine")
    with pytest.raises(OutputExistsError):
        write_page(load_study(invented.save_study(tmp_path / "study")), tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "mine"


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("form", ["light", "dark"])
def test_colours_can_be_read(form: str) -> None:
    """WCAG AA: 4.5 for text, 3 for what must be distinguished in a figure."""

    def of(colour: Colour) -> str:
        return str(getattr(colour, form))

    ground = of(PAGE_COLOURS["ground"])
    for name in ("ink", "muted", "link", "good", "bad", "unknown"):
        assert contrast(of(PAGE_COLOURS[name]), ground) >= 4.5
        assert contrast(of(PAGE_COLOURS[name]), of(PAGE_COLOURS["raised"])) >= 4.5
    for colour in SERIES:
        assert contrast(of(colour), ground) >= 3
