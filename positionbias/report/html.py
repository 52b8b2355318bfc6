"""Reports: one HTML file that needs no network, from folders of results."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from positionbias import __version__
from positionbias.core.publish import atomic_file
from positionbias.report.definitions import used_in
from positionbias.report.figure import INK, MUTED, SERIES, Colour, dark_rules
from positionbias.report.first_screen import first_screen
from positionbias.report.load import Study, load_studies
from positionbias.report.page import build_sections
from positionbias.report.provenance import facts_of
from positionbias.report.table import Cell, Table, as_csv, as_latex, header_groups, row_spans
from positionbias.report.tiles import MOST_TILES

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["PAGE_COLOURS", "page_title", "render", "report_tables", "write_page", "write_report"]

PAGE_COLOURS: Mapping[str, Colour] = {
    "ground": Colour("#ffffff", "#15181c"),
    "line": Colour("#d5d9de", "#3a4048"),
    "ink": INK,
    "muted": MUTED,
    "accent": SERIES[0],
    "link": Colour("#0b5cad", "#7dbdff"),
    "raised": Colour("#f5f7f9", "#1d2127"),
    "good": Colour("#006b4f", "#4fd1a8"),
    "bad": Colour("#b33f00", "#ff9a57"),
    "unknown": Colour("#5a626b", "#a6aeb8"),
    "measured": Colour("#0b5cad", "#7dbdff"),
}
SCRIPTS = ("sort", "page")  # templates, on every page
_COMMAND = re.compile(r"\bposbias( [a-z]+)+(?=[),.;])|(?<![\w-])--[a-z][a-z-]+")
MOST_FINDINGS = 3  # sentences that stand unfolded


def write_report(
    folders: Sequence[Path | str],
    out: Path | str,
    *,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one self-contained HTML page about these folders of results (saved by
    ``results.result.save_results``).

    The same folders give the same bytes.

    Raises:
        InputError: a folder without results, or no folder.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    return write_page(load_studies(folders), Path(out), title=title, overwrite=overwrite)


def write_page(
    studies: Sequence[Study], out: Path, *, title: str | None = None, overwrite: bool = False
) -> Path:
    """Write the page about these studies, as ``write_report`` does."""
    with atomic_file(out, overwrite=overwrite) as partial:
        partial.write_text(render(studies, title=title), encoding="utf-8", newline="")
    return out


def render(studies: Sequence[Study], *, title: str | None = None) -> str:
    """Return the page's text."""
    environment = _environment()
    sections = build_sections(studies)
    first = first_screen(studies, sections)
    several = len(studies) > 1
    summary = environment.get_template("summary.html").render(
        first=first,
        shown=MOST_TILES,
        stacked=[len(group.tiles) for group in first.groups] == [2, 2, 2],
    )
    body = environment.get_template("sections.html").render(sections=sections, several=several)
    return environment.get_template("report.html").render(
        title=title or page_title(studies),
        subtitle=_subtitle(studies),
        several=several,
        studies=studies,
        sections=sections,
        summary=summary,
        body=body,
        definitions=used_in(_text_of(summary + body)),
        provenance=[(study, facts_of(study)) for study in studies],
        style=environment.get_template("report.css").render(
            page=PAGE_COLOURS, dark_figures=dark_rules()
        ),
        scripts=[_script(environment, name) for name in SCRIPTS],
        version=__version__,
    )


def page_title(studies: Sequence[Study]) -> str:
    """Return the title of a page that is given none."""
    return studies[0].title if len(studies) == 1 else "Artefacts in retrieval data"


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("positionbias.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = _coded
    environment.globals.update(
        header_groups=header_groups,
        row_groups=_row_groups,
        data_link=_data_link,
        exact_text=_exact_text,
        most_findings=MOST_FINDINGS,
    )
    return environment


class PageScript(NamedTuple):
    """A script of the page, and its hash for the page's policy: no other runs, whatever a text on
    the page holds.
    """

    text: str
    digest: str


def _script(environment: Environment, name: str) -> PageScript:
    text = environment.get_template(f"{name}.js").render()
    return PageScript(
        text,
        "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii"),
    )


def _coded(text: str) -> Markup:
    """Return a sentence with its commands and options as code, and per-cent signs that stay with
    their numbers.
    """
    from markupsafe import Markup, escape

    marked = _COMMAND.sub(r"<code>\g<0></code>", str(escape(text.replace(" %", "\u00a0%"))))
    return Markup(marked)


def _text_of(markup: str) -> str:
    """Return what a reader sees of a piece of our own markup."""
    return unescape(re.sub(r"<script\b.*?</script>|<[^>]*>", " ", markup, flags=re.DOTALL))


def _exact_text(cell: Cell) -> str:
    """Return a cell's numbers with six digits, for a reader who wants more than the cell shows; its
    text where that has all.
    """
    if not isinstance(cell.value, float):
        return cell.text
    exact = f"{cell.value:.6g}"
    return (
        exact
        if cell.low is None or cell.high is None
        else f"{exact} [{cell.low:.6g}, {cell.high:.6g}]"
    )


def report_tables(studies: Sequence[Study]) -> dict[str, Table]:
    """Return every table of the report by file name; with several studies, names end in the study's
    number.
    """
    sheets = [item for section in build_sections(studies, draw=False) for item in section.sheets]
    if len(studies) == 1:
        return {sheet.table.name: sheet.table for _, sheet in sheets}
    return {
        sheet.anchor.removeprefix("table-"): replace(
            sheet.table, title=f"{sheet.table.title} ({study})"
        )
        if study
        else sheet.table
        for study, sheet in sheets
    }


def _subtitle(studies: Sequence[Study]) -> str:
    collections = list(dict.fromkeys(name for study in studies for name in study.collections))
    if len(studies) > 1:
        return "; ".join(study.title for study in studies)
    return f"Collections: {', '.join(collections)}" if collections else ""


def _row_groups(table: Table) -> list[list[tuple[Sequence[Cell], list[int]]]]:
    """Split rows where the first stub column changes; a table with one stub column is one group."""
    groups: list[list[tuple[Sequence[Cell], list[int]]]] = []
    for row, spans in zip(table.rows, row_spans(table), strict=True):
        if not groups or (table.stub > 1 and spans[0]):
            groups.append([])
        groups[-1].append((row, spans))
    return groups


def _data_link(table: Table, form: str) -> str:
    kind, text = ("text/csv", as_csv(table)) if form == "csv" else ("text/x-tex", as_latex(table))
    return f"data:{kind};charset=utf-8,{quote(text)}"
