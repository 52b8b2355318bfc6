"""Reports: one HTML file that needs no network, from folders of results."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from positionbias import __version__
from positionbias.core.formatting import count, setting
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_name
from positionbias.core.publish import atomic_file
from positionbias.report.figure import INK, MUTED, SERIES, Colour, dark_rules
from positionbias.report.load import Study, load_studies
from positionbias.report.page import build_sections
from positionbias.report.table import Cell, Table, as_csv, as_latex, header_groups, row_spans
from positionbias.results.collections import PassageFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["PAGE_COLOURS", "render", "report_tables", "write_page", "write_report"]

PAGE_COLOURS: Mapping[str, Colour] = {
    "ground": Colour("#ffffff", "#15181c"),
    "line": Colour("#d5d9de", "#3a4048"),
    "ink": INK,
    "muted": MUTED,
    "accent": SERIES[0],
    "link": Colour("#0b5cad", "#7dbdff"),
    "mark": Colour("#ffe28a", "#5a4a00"),
}


KIND_NAMES = {
    "statistics": "statistics",
    "histogram": "histograms",
    "places": "histograms of places",
    "moves": "sentence moves",
    "position_buckets": "qualities by position",
    "length_grid": "grids of length and place",
    "chunk_grid": "grids of chunks and places",
    "response": "position responses",
    "per_query": "measures of a system",
    "comparison": "comparisons",
    "ats": "ATS curves",
    "training": "training curves",
    "examples": "lists of examples",
    "finding": "findings",
    "verdict": "verdicts",
    "leaked_order": "orders on leaked and clean queries",
    "suspicion": "suspicions",
}


def write_report(
    folders: Sequence[Path | str],
    out: Path | str,
    *,
    title: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one self-contained HTML page about these folders of results (saved by ``results.result.save_results``).

    The same folders give the same bytes.

    Raises:
        InputError: a folder without results, or no folder.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    return write_page(load_studies(folders), Path(out), title=title, overwrite=overwrite)


def write_page(studies: Sequence[Study], out: Path, *, title: str | None = None, overwrite: bool = False) -> Path:
    """Write the page about these studies, as ``write_report`` does."""
    with atomic_file(out, overwrite=overwrite) as partial:
        partial.write_text(render(studies, title=title), encoding="utf-8", newline="")
    return out


def render(studies: Sequence[Study], *, title: str | None = None) -> str:
    """Return the page's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("positionbias.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = environment.get_template("report.css").render(page=PAGE_COLOURS, dark_figures=dark_rules())
    script = environment.get_template("sort.js").render()
    sections = build_sections(studies)
    return environment.get_template("report.html").render(
        title=title or (studies[0].title if len(studies) == 1 else "Artefacts in retrieval data"),
        subtitle=_subtitle(studies),
        several=len(studies) > 1,
        studies=studies,
        sections=sections,
        provenance=[(study, _facts(study)) for study in studies],
        style=style,
        script=script,
        script_hash=_script_hash(script),
        version=__version__,
        header_groups=header_groups,
        row_groups=_row_groups,
        data_link=_data_link,
    )


def _script_hash(script: str) -> str:
    """Return the hash of the page's one script for its policy: no other runs, whatever a text on the page holds."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def report_tables(studies: Sequence[Study]) -> dict[str, Table]:
    """Return every table of the report by file name; with several studies, names end in the study's number."""
    sheets = [item for section in build_sections(studies, draw=False) for item in section.sheets]
    if len(studies) == 1:
        return {sheet.table.name: sheet.table for _, sheet in sheets}
    return {
        sheet.anchor.removeprefix("table-"): replace(sheet.table, title=f"{sheet.table.title} ({study})")
        if study
        else sheet.table
        for study, sheet in sheets
    }


def _subtitle(studies: Sequence[Study]) -> str:
    collections = list(dict.fromkeys(result.collection for study in studies for result in study.results if result.collection))
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


def _facts(study: Study) -> list[tuple[str, str, bool]]:
    """Return the provenance of these results, as (name, value, whether it is code)."""
    manifest = study.manifest
    facts = [("Command", manifest.command, True)]
    facts += [(key, value, False) for key, value in _flat(manifest.settings)]
    if manifest.seed is not None:
        facts.append(("seed", str(manifest.seed), False))
    facts += [
        (f"input: {item.role}", f"{input_name(item.path)} (checksum {item.checksum[:16]}…)", True) for item in manifest.inputs
    ]
    facts += _origins(study.results)
    facts.append(("Results read", _kinds(study.results), False))
    facts += [("Decision", note, False) for note in manifest.notes]
    if manifest.licence:
        facts.append(("Licence", manifest.licence, False))
    facts.append(("Versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items()), False))
    facts.append(("Provenance", setting(dict(manifest.provenance)), False))
    return [
        (name.replace("_", " ").capitalize() if not as_code else name.capitalize(), value, as_code)
        for name, value, as_code in facts
        if value
    ]


def _flat(settings: JsonObject, name: str = "") -> list[tuple[str, str]]:
    flat = []
    for key, value in settings.items():
        full = f"{name} {key}".strip()
        flat += _flat(value, full) if isinstance(value, Mapping) else [(full, setting(value))]
    return flat


def _origins(results: Sequence[Result]) -> list[tuple[str, str, bool]]:
    """Return the origins of the collections, where their own manifests came with the results."""
    facts: list[tuple[str, str, bool]] = []
    for result, figures in of_type(results, PassageFigures):
        facts.append((f"Collection {result.collection}", figures.manifest.command, True))
        facts += [(f"Licence of {result.collection}", figures.manifest.licence, False)] if figures.manifest.licence else []
    return facts


def _kinds(results: Sequence[Result]) -> str:
    kinds = Counter(KIND_NAMES[result.kind] for result in results)
    return f"{count(len(results))} ({', '.join(f'{name}: {count(number)}' for name, number in kinds.items())})"
