"""Reports: one HTML file that needs no network, from a folder of results."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from positionbias import __version__
from positionbias.core.formatting import any_value
from positionbias.core.manifest import Manifest, input_name
from positionbias.core.publish import atomic_file
from positionbias.report.figure import INK, MUTED, SERIES, Colour, dark_rules
from positionbias.report.page import build_sections, first_screen
from positionbias.report.presentation import Study
from positionbias.report.table import Table, as_csv, as_latex, header_groups

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
}
SCRIPTS = ("sort", "page")  # templates, on every page
_COMMAND = re.compile(r"\bposbias( [a-z]+)+(?=[),.;])|(?<![\w-])--[a-z][a-z-]+")


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
    with atomic_file(out, overwrite=overwrite) as partial:
        text = render(study, title or study.title, texts=texts)
        partial.write_text(text, encoding="utf-8", newline="")
    return out


def render(study: Study, title: str, *, texts: bool = True) -> str:
    """Return the page's text."""
    environment = _environment()
    sections = build_sections(study, texts=texts)
    summary = environment.get_template("summary.html").render(first=first_screen(study, sections))
    body = environment.get_template("sections.html").render(sections=sections)
    seen = unescape(re.sub(r"<[^>]*>", " ", summary + body))  # by a reader
    return environment.get_template("report.html").render(
        title=title,
        collections=", ".join(filter(None, study.rows["collection"].unique())),
        sections=sections,
        summary=summary,
        body=body,
        definitions=_definitions(environment, seen),
        provenance=list(_facts(study.manifest)),
        style=environment.get_template("report.css").render(
            page=PAGE_COLOURS, dark_figures=dark_rules()
        ),
        scripts=[_script(environment, name) for name in SCRIPTS],
        version=__version__,
    )


def _definitions(environment: Environment, seen: str) -> dict[str, str]:
    """Return the meaning of each term that a reader sees; commas part the words of one entry."""
    lines = environment.get_template("definitions.txt").render().splitlines()
    terms = dict(line.split(" | ") for line in lines)
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
    yield "Versions", ", ".join(f"{name} {one}" for name, one in manifest.versions.items()), False
    yield "Provenance", any_value(dict(manifest.provenance)), False


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("positionbias.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = _coded
    environment.globals |= {"header_groups": header_groups, "data_link": _data_link}
    return environment


def _script(environment: Environment, name: str) -> dict[str, str]:
    """Return a script of the page, and its hash, which alone the policy lets run."""
    text = environment.get_template(f"{name}.js").render()
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return {"text": text, "digest": f"sha256-{digest}"}


def _coded(text: str) -> Markup:
    """Return a sentence with commands and options as code, and per-cent signs at their numbers."""
    marked = _COMMAND.sub(r"<code>\g<0></code>", str(escape(text.replace(" %", "\u00a0%"))))
    return Markup(marked)


def _data_link(table: Table, form: str) -> str:
    kind, text = ("text/csv", as_csv(table)) if form == "csv" else ("text/x-tex", as_latex(table))
    return f"data:{kind};charset=utf-8,{quote(text)}"
