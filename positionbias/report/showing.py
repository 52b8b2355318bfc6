"""What ``core.shown.Shown`` offers, of any outcome: made of its results and of the tables and
figures of their page.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from positionbias.core import rows as of_rows
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, or_closest
from positionbias.core.formatting import plural
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    package_versions,
    provenance,
)
from positionbias.core.outcome import Judgement, Measurements, text_of
from positionbias.core.places import Place, output_place
from positionbias.core.shown import Shown
from positionbias.core.terminal import lines_of
from positionbias.positions.debias import file_rows, rotation_rows
from positionbias.positions.place import placement_rows
from positionbias.positions.raw_files import RotatedFile
from positionbias.positions.select import selection_rows
from positionbias.report.html import write_page
from positionbias.report.page import drawings_of, tables_of
from positionbias.report.presentation import Study, shown_by
from positionbias.report.table import Table, as_frame
from positionbias.text.statistics import collection_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TABLES, ROWS = 4, 12  # that a notebook shows, and rows of each


def line_of(outcome: Shown) -> str:
    """Return an outcome's class, its path, name or command, and how many results it has."""
    name = next(
        filter(None, (getattr(outcome, of, None) for of in ("path", "name", "command"))), ""
    )
    rows = rows_of(outcome)
    named = f"{str(name)!r}, " * bool(name)
    return f"{type(outcome).__name__}({named}{plural(0 if rows is None else len(rows), 'row')})"


def html_of(outcome: Shown) -> str:
    """Return what a notebook shows: the verdict and a few tables; without a table, the text for a
    terminal, which has the verdict in it.
    """
    tables = outcome._tables()
    with lines_of(None):  # a page scrolls
        text = "" if tables else text_of(outcome)
    if text:
        return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'
    said = "<br>".join(map(escape, outcome.verdict.splitlines()))
    others = [table.title for table in tables[TABLES:]]
    more = f"<p><small>Not shown: {escape('; '.join(others))}: to_frames().</small></p>"
    shown = [f"<p>{said}</p>" * bool(said), *map(_table_html, tables[:TABLES])]
    return "\n".join(["<div>", *shown, more * bool(others), "</div>"])


def _table_html(table: Table) -> str:
    texts = [[cell.text for cell in row] for row in table.rows[:ROWS]]
    names = [column.full_name for column in table.columns]
    left_out = len(table.rows) - len(texts)
    notes = [*table.notes, *([f"{left_out:,} more rows: to_frames()"] if left_out else [])]
    return (
        f"<p><strong>{escape(table.title)}</strong></p>"
        f"{pandas.DataFrame(texts, columns=names).to_html(index=False, border=0)}"
        f"<p><small>{'<br>'.join(map(escape, notes))}</small></p>"
    )


def frames_of(study: Study) -> dict[str, pandas.DataFrame]:
    """Return every table of the page about a study, by name, with unrounded values."""
    return {name: as_frame(table) for name, table in tables_of(study).items()}


def figures_of(study: Study) -> dict[str, Figure]:
    """Return every figure of the page by its name."""
    return {name: draw() for name, draw in drawings_of(study).items()}


def figure_of(study: Study, name: str | None) -> Figure:
    """Return the figure of the page with this name, or the first.

    Raises:
        SettingError: there is none.
    """
    drawings = drawings_of(study)
    if not drawings:
        raise SettingError(
            "plot: wanted results with a figure; found none; see to_frames() for their tables"
        )
    name = next(iter(drawings)) if name is None else name
    if name not in drawings:
        raise SettingError(
            f"plot: wanted one of {', '.join(drawings)}; found {name!r}; "
            f"{or_closest(name, drawings, 'give one of these')}"
        )
    return drawings[name]()


def save(outcome: Shown, out: Place, *, overwrite: bool) -> Path:
    """Write the results as a folder."""
    place, study = output_place(out), _with_results(outcome, out, "save")
    values = None if study.values.empty else study.values
    of_rows.save(place, study.rows, study.manifest, values, overwrite=overwrite)
    return place


def report(outcome: Shown, out: Place, *, texts: bool, overwrite: bool) -> Path:
    """Write the page of the results."""
    study = _with_results(outcome, out, "report")
    return write_page(study, output_place(out), texts=texts, overwrite=overwrite)


def _with_results(outcome: Shown, out: Place, what: str) -> Study:
    """Return the results as they would lie at ``out``.

    Raises:
        SettingError: there are none.
    """
    study: Study = outcome._study(output_place(out))
    if study.rows.empty:
        raise SettingError(
            f"{what}: wanted results; found none in {outcome!r}; give those of a command that "
            "measures something"
        )
    return study


COUNTED = {  # a command that makes collections -> what it counted
    "debias": rotation_rows,
    "select": selection_rows,
    "place": placement_rows,
}


def study_of(outcome: Any, place: Path = Path()) -> Study:
    """Return the results of what an operation gave back, with what made them, as they would lie in
    a folder at ``place``.

    An artefact is the input of its results; all else is as in its manifest.
    """
    manifest = (
        outcome.manifest(place)
        if isinstance(outcome, Measurements)
        else _manifest_of_artefact(outcome, place)
    )
    rows, values = rows_of(outcome), getattr(outcome, "values", None)
    return Study(
        manifest,
        of_rows.frame([]) if rows is None else rows,
        of_rows.NO_VALUES if values is None else values,
        place,
    )


def rows_of(outcome: Any) -> pandas.DataFrame | None:
    """Return the rows of what an operation gave back, of a collection what its manifest counts;
    None where it has none.
    """
    if isinstance(outcome, Collection):
        # what the command that made it counted, else what it holds
        return COUNTED.get(outcome.manifest.command, collection_rows)(outcome)
    if isinstance(outcome, RotatedFile):
        return file_rows(outcome)
    rows: pandas.DataFrame | None = getattr(outcome, "rows", None)
    return rows


def _manifest_of_artefact(outcome: Any, place: Path) -> Manifest:
    # a plan, and what went into a pipe, have none
    path: Path | None = getattr(outcome, "path", None)
    if path is not None and (made := manifest_if_any(path)) is not None:
        inputs = (input_ref(made.kind, path, made.checksum, artefact=place),)
        return replace(made, kind="results", inputs=inputs, content={}, files=None)
    rows = rows_of(outcome)
    names = [] if rows is None else list(rows["collection"])
    name = path.name if path is not None else next(iter(names), "")
    return Manifest("results", name, "", versions=package_versions(), provenance=provenance())


def json_of(outcome: Any) -> JsonObject:
    """Return what an operation gave back as one JSON object: a judgement's own, and its rows."""
    own = dict(outcome.to_json()) if isinstance(outcome, Judgement) else {}
    if (rows := rows_of(outcome)) is not None:
        own["rows"] = of_rows.records(rows)
    return own


def text_of_rows(outcome: Any) -> str:
    """Return the tables and sentences of an outcome's rows."""
    rows = rows_of(outcome)
    assert rows is not None
    return "\n\n".join(shown.as_text(own) for shown, own in shown_by(rows))
