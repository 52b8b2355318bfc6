"""The page about a folder of results, one HTML file that needs no network: its first screen (a
sentence, tiles of the verdicts, what to do next, a figure), then sections of sentences, figures and
tables.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pandas import DataFrame

from positionbias import __version__
from positionbias.core import rows as of_rows
from positionbias.core.errors import bad_input
from positionbias.core.manifest import Manifest, input_name, read_manifest
from positionbias.core.publish import atomic_file
from positionbias.report.figure import COLOURS, Colour, inline_svg
from positionbias.report.presentation import RowSection, Study, presentations
from positionbias.report.record import Finding, Tile, advice_of, by_importance
from positionbias.report.table import Table, as_csv, as_latex, header_groups
from positionbias.text.formatting import any_value, slug

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TILES = 6  # unfolded
PAGE_COLOURS: Mapping[str, Colour] = {
    "ground": Colour("#ffffff", "#15181c"),
    "line": Colour("#d5d9de", "#3a4048"),
    **COLOURS,
    "link": Colour("#0b5cad", "#7dbdff"),
    "raised": Colour("#f5f7f9", "#1d2127"),
    "good": Colour("#006b4f", "#4fd1a8"),
    "bad": Colour("#b33f00", "#ff9a57"),
    "unknown": Colour("#5a626b", "#a6aeb8"),
}
SCRIPTS = ("sort", "page")  # templates, on every page
_COMMAND = re.compile(r"\bposbias( [a-z]+)+(?=[),.;])|(?<![\w-])--[a-z][a-z-]+")


def load_study(place: Path | str) -> Study:
    """Read a folder of results, or the ``results`` in a study's.

    Raises:
        InputError: no results there.
    """
    folders = (Path(place), Path(place) / "results")
    folder = next((folder for folder in folders if (folder / of_rows.ROWS).is_file()), None)
    if folder is None:
        do = "give the --out of a measuring command"
        raise bad_input(place, wanted="a folder of results", found=f"no {of_rows.ROWS}", do=do)
    measured, manifest = of_rows.load(folder), read_manifest(folder)
    by_query = (folder / of_rows.VALUES).is_file()
    values = of_rows.load_values(folder, measured) if by_query else of_rows.NO_VALUES
    return Study(manifest, measured, values, folder)


def verdict_of(study: Study) -> list[str]:
    """Return what a study concludes, a line for each sentence; none where it only measures."""
    lines: list[str] = []
    for shown, rows in study.shown:
        texts = [*shown.headline(rows), *(finding.text for finding in shown.findings(rows))]
        lines += "\n".join(texts).splitlines()
    return lines


class Picture(NamedTuple):
    """A figure: its name on the page, its caption, which names the image, and what draws it."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(slots=True)
class Section:
    """A heading, a note on how to read the section, and what stands in it."""

    anchor: str
    title: str
    introduction: str = ""
    findings: Sequence[Finding] = ()
    sentences: Sequence[str] = ()
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def build_sections(study: Study, *, texts: bool = False) -> list[Section]:
    """Return every section with content; single queries with their ``texts``, if asked for."""
    tables = [table for shown, _ in study.shown for table in shown.queries(study, texts)]
    tables = [replace(table, folded=len(tables) > 1) for table in tables if table.rows]
    queries = Section("queries", "Which queries does it move most?", tables=tables)
    return [
        section
        for section in (*_sections(study), queries)
        if section.findings or section.sentences or section.pictures or section.tables
    ]


def _sections(study: Study) -> Iterator[Section]:
    findings = [finding for shown, rows in study.shown for finding in shown.findings(rows)]
    yield Section("found", "What was found", findings=findings)
    sentences = [sentence for shown, rows in study.shown for sentence in shown.run(rows)]
    nothing = ["This folder holds no results."] if study.rows.empty else []
    yield Section("run", "What was run", sentences=[*sentences, *nothing])
    order = list(presentations().values())
    for shown, rows in sorted(study.shown, key=lambda item: order.index(item[0])):
        yield from (_section(declared, rows) for declared in shown.sections)


def _section(declared: RowSection, rows: DataFrame) -> Section:
    section = Section(declared.anchor, declared.title, declared.introduction)
    parts = [("", rows)] if declared.together else list(rows.groupby("collection", sort=False))
    for collection, part in parts:
        tail = f"-{slug(str(collection))}" if len(parts) > 1 else ""
        section.pictures += [
            Picture(f"{figure.name}{tail}", figure.caption(part), partial(figure.draw, part))
            for figure in declared.figures
            if figure.there(part)
        ]
        for declaration in (*declared.tables, *declared.folded):
            table = replace(declaration.table(part), folded=declaration in declared.folded)
            if tail:
                title = f"{table.title}: {collection}"
                table = replace(table, name=f"{table.name}{tail}", title=title)
            section.tables += [table] * bool(table.rows)
    return section


def drawings_of(study: Study) -> dict[str, Callable[[], Figure]]:
    """Return what draws every figure of the page by its name, in the page's order."""
    return {drawn.name: drawn.draw for part in _sections(study) for drawn in part.pictures}


def tables_of(study: Study, *, queries: bool = True) -> dict[str, Table]:
    """Return the tables of the page by name, in its order; those of single ``queries`` without
    their texts.
    """
    sections = build_sections(study) if queries else _sections(study)
    return {table.name: table for section in sections for table in section.tables}


def first_screen(study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """Return what stands on the first screen: the conclusion in a sentence, the tiles that matter
    most and the others by question, the advice, and the page's first figure, which leaves its
    section.
    """
    tiles = tiles_of(study)
    first = by_importance(tiles)[:MOST_TILES]
    drawn = next((section for section in sections if section.pictures), None)
    return {
        "sentence": _sentence(study, tiles),
        "tiles": _by_question([tile for tile in tiles if tile in first]),
        "others": _by_question([tile for tile in tiles if tile not in first]),
        "advice": advice_of(tiles),
        "chart": drawn.pictures.pop(0) if drawn else None,
    }


def tiles_of(study: Study) -> list[Tile]:
    """Return every answer of a study."""
    return [tile for shown, rows in study.shown for tile in shown.tiles(rows)]


def _by_question(tiles: Sequence[Tile]) -> dict[str, list[Tile]]:
    questions = dict.fromkeys(tile.question for tile in tiles)
    return {asked: [tile for tile in tiles if tile.question == asked] for asked in questions}


def _sentence(study: Study, tiles: Sequence[Tile]) -> str:
    """Return in one sentence the headline about the subject of the worst news, else the first one;
    without a headline, the conclusion.
    """
    about = next((tile.subject for tile in by_importance(tiles)), "")
    heads = [line for shown, rows in study.shown for line in shown.headline(rows)]
    lines = heads or verdict_of(study) or [""]
    line = next((line for line in lines if about in line), lines[0])
    return re.split(r"(?<=\.) (?=[A-Z“])", line)[0]


# -- the page as one file --------------------------------------------------------------------------


def write_page(
    study: Study,
    out: Path,
    *,
    title: str | None = None,
    texts: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write one self-contained HTML page about a study, with the ``texts`` of single queries where
    the collection is at hand. The same results give the same bytes.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    sections = build_sections(study, texts=texts)
    summary = _rendered("summary.html", first=first_screen(study, sections))
    body = _rendered("sections.html", sections=sections)
    seen = unescape(re.sub(r"<[^>]*>", " ", summary + body))  # by a reader
    page = _rendered(
        "report.html",
        title=title or study.title,
        collections=", ".join(filter(None, study.rows["collection"].unique())),
        sections=sections,
        summary=summary,
        body=body,
        definitions=_definitions(seen),
        provenance=list(_facts(study.manifest)),
        style=_rendered("report.css", page=PAGE_COLOURS),
        scripts=[_script(name) for name in SCRIPTS],
        version=__version__,
    )
    with atomic_file(out, overwrite=overwrite) as partial:
        partial.write_text(page, encoding="utf-8", newline="")
    return out


def _rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


def _definitions(seen: str) -> dict[str, str]:
    """Return the meaning of each term that a reader sees; commas part the words of one entry."""
    terms = dict(line.split(" | ") for line in _rendered("definitions.txt").splitlines())
    return {
        term: meaning
        for term, meaning in terms.items()
        if any(re.search(rf"\b{re.escape(word)}", seen, re.I) for word in term.split(", "))
    }


def _facts(manifest: Manifest) -> Iterator[tuple[str, str, bool]]:
    """Yield what made results, as (name, value, whether it is code)."""
    yield "Command", manifest.command, True
    for name, value in manifest.settings.items():
        yield name.replace("_", " ").capitalize(), any_value(value), False
    if manifest.seed is not None:
        yield "Seed", str(manifest.seed), False
    for item in manifest.inputs:
        shown = f"{input_name(item.path)} (checksum {item.checksum[:16]}…)"
        yield f"Input: {item.role}", shown, True
    for note in manifest.notes:
        yield "Decision", note, False
    if manifest.licence:
        yield "Licence", manifest.licence, False
    versions = (f"{name} {version}" for name, version in manifest.versions.items())
    yield "Versions", ", ".join(versions), False
    yield "Provenance", any_value(dict(manifest.provenance)), False


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("positionbias.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = _coded
    makers = (header_groups, data_link, inline_svg)
    environment.globals |= {maker.__name__: maker for maker in makers}
    return environment


def _script(name: str) -> dict[str, str]:
    """Return a script of the page, and its hash, which alone the policy lets run."""
    text = _rendered(f"{name}.js")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return {"text": text, "digest": f"sha256-{digest}"}


def _coded(text: str) -> Markup:
    """Return a sentence with commands and options as code, and per-cent signs at their numbers."""
    marked = _COMMAND.sub(r"<code>\g<0></code>", str(escape(text.replace(" %", "\u00a0%"))))
    return Markup(marked)


def data_link(table: Table, form: str) -> str:
    """Return a link that has a table's CSV or LaTeX in it."""
    kind, text = ("text/csv", as_csv(table)) if form == "csv" else ("text/x-tex", as_latex(table))
    return f"data:{kind};charset=utf-8,{quote(text)}"
