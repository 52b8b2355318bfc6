"""What every public operation returns can be shown, framed, drawn, saved and reported."""

from __future__ import annotations

import doctest
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib.pyplot
import pandas
import pytest
from matplotlib.figure import Figure

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.outcome import text_of
from positionbias.core.rows import records
from positionbias.core.shown import Shown
from positionbias.core.terminal import lines_of, shown_width
from positionbias.dense.vectors import Vectors
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.report.showing import rows_of

WITHOUT_RESULTS = {"verify"}
# one a kind of outcome
REPORTED = (
    "audit_systems",
    "draw_clicks",
    "evaluate",
    "histogram",
    "mats",
    "pool_verdict",
    "train",
)
SHOWN = (*REPORTED, "check", "encode", "find_leakage", "import_table", "rerank", "show", "verify")

Returned = Callable[[str], Shown]


@pytest.fixture
def returned(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_demo: None
) -> Returned:
    """What an operation returns in the example of its docstring, the last call's."""
    shutil.copytree(shelf, tmp_path / "home")
    monkeypatch.setenv("POSBIAS_HOME", ".")
    monkeypatch.chdir(tmp_path / "home")

    def run(name: str) -> Shown:
        function, found = getattr(positionbias, name), []

        def recorded(*args: Any, **more: Any) -> Any:
            found.append(function(*args, **more))
            return found[-1]

        monkeypatch.setattr(positionbias, name, recorded, raising=False)
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples(function.__doc__):
            exec(compile(example.source, name, "single"), names)
        outcome = found[-1]
        assert isinstance(outcome, Shown)
        return outcome

    return run


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML; every tag that must be is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        self.open += [] if tag == "br" else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {
    *("div", "p", "br", "small", "strong", "pre"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_outcome_is_shown_framed_drawn_saved_and_reported(
    name: str, returned: Returned, tmp_path: Path
) -> None:
    found = returned(name)
    assert "\n" not in repr(found)
    assert len(repr(found)) < 150
    shown = Tags(found._repr_html_())
    assert shown.text.strip()
    assert shown.seen <= ALLOWED
    assert all(line in shown.text for line in found.verdict.splitlines())
    with lines_of(80):
        assert max(map(shown_width, text_of(found).split("\n"))) <= 80
    frame = found.to_frame()
    assert len(frame)
    if not (rows := rows_of(found)).empty:
        assert frame.equals(rows)
    assert all(isinstance(table, pandas.DataFrame) for table in found.to_frames().values())
    figures = found.plots()
    assert all(isinstance(figure, Figure) for figure in figures.values())
    if figures:
        assert found.plot().axes
    with pytest.raises(
        SettingError, match="plot: wanted (one of .*; found 'pie'; give|results with a figure)"
    ):
        found.plot("pie")
    assert matplotlib.pyplot.get_fignums() == []
    if name in WITHOUT_RESULTS:
        for write in (found.save, found.report):
            with pytest.raises(
                SettingError,
                match=f"{write.__name__}: wanted results; found none in (Verification|Listing)",
            ):
                write(tmp_path / "written")
        return
    if isinstance(found, Collection | Vectors):  # saving it would be taken for a copy
        with pytest.raises(
            SettingError,
            match="save: wanted results; found .*, which is already on disk; copy its folder",
        ):
            found.save(tmp_path / "saved")
        return
    again = positionbias.load(found.save(tmp_path / "saved"))
    assert records(again._study().rows) == records(found._study().rows)
    if name in REPORTED:
        page = found.report(tmp_path / "page.html")
        assert page.read_text(encoding="utf-8").lstrip().startswith("<!DOCTYPE html>")
        with pytest.raises(OutputExistsError):
            found.report(page)


def test_loaded_results_are_the_same_and_keep_what_made_them(
    returned: Returned, tmp_path: Path
) -> None:
    found = returned("audit_systems")
    place = found.save(tmp_path / "saved")
    again = positionbias.load(place)
    assert isinstance(again, positionbias.Audit)
    assert (str(again), again.verdict, again._repr_html_()) == (
        str(found),
        found.verdict,
        found._repr_html_(),
    )
    assert again.to_frame().equals(found.to_frame())
    assert [one.path.resolve() for one in again.read] == [one.path.resolve() for one in found.read]
    before, after = (read_manifest(one) for one in (place, again.save(tmp_path / "again")))
    assert before == after


@pytest.mark.parametrize("name", ["mats", "pool_verdict"])
def test_a_command_with_a_text_of_its_own_keeps_it(
    name: str, returned: Returned, tmp_path: Path
) -> None:
    found = returned(name)
    assert str(positionbias.load(found.save(tmp_path / "saved"))) == str(found)


def test_what_a_name_holds_is_text(tmp_path: Path) -> None:
    hostile = "<script>alert('a') & \"b\""  # without a slash, which no name may hold
    settings = PlantedSettings(queries=24, passages=60, test_share=0.5, validation_share=0.1)
    collection = write_planted(tmp_path / "hostile", settings, name=hostile)
    counted = positionbias.histogram([collection], splits=["test"])
    for shown in (collection, positionbias.show(collection), counted):
        html = shown._repr_html_()
        assert "<script" not in html
        assert hostile in Tags(html).text
        assert "<script>alert" not in shown.report(
            tmp_path / f"{type(shown).__name__}.html", overwrite=True
        ).read_text(encoding="utf-8")
