"""What ``core.shown.Shown`` offers, of any outcome: made of its results and of the tables and
figures of their page. Results in a folder: loaded, as a page with tables, and as a section of a
model's card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pandas

from positionbias.core import rows as of_rows
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    package_versions,
    provenance,
)
from positionbias.core.outcome import (
    REMARKS,
    Judgement,
    Measurements,
    Read,
    Written,
    hint_written,
    text_of,
)
from positionbias.core.places import Place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.shown import Shown
from positionbias.core.terminal import lines_of
from positionbias.corpora.statistics import collection_rows
from positionbias.positions.debias import file_rows, rotation_rows
from positionbias.positions.place import placement_rows
from positionbias.positions.raw_files import RotatedFile
from positionbias.positions.select import selection_rows
from positionbias.report.page import drawings_of, load_study, tables_of, write_page
from positionbias.report.presentation import Study, shown_by
from positionbias.report.table import Table, as_text, save_tables
from positionbias.text.formatting import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES, ROWS = 4, 12  # that a notebook shows, and rows of each


def line_of(outcome: Shown) -> str:
    """Return an outcome's class, its path, name or command, and how many results it has."""
    names = (getattr(outcome, name, None) for name in ("path", "name", "command"))
    name, rows = next(filter(None, names), ""), rows_of(outcome)
    named = f"{str(name)!r}, " * bool(name)
    return f"{type(outcome).__name__}({named}{plural(len(rows), 'row')})"


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
    study = _with_results(outcome, out, "save")
    values = None if study.values.empty else study.values
    of_rows.save(study.place, study.rows, study.manifest, values, overwrite=overwrite)
    return study.place


def report(outcome: Shown, out: Place, *, texts: bool, overwrite: bool) -> Path:
    """Write the page of the results."""
    study = _with_results(outcome, out, "report")
    return write_page(study, study.place, texts=texts, overwrite=overwrite)


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


# a command that makes collections -> what it counted
COUNTED = {"debias": rotation_rows, "select": selection_rows, "place": placement_rows}


def study_of(outcome: Any, place: Path = Path()) -> Study:
    """Return the results of what an operation gave back, with what made them, as they would lie in
    a folder at ``place``.

    An artefact is the input of its results; all else is as in its manifest.
    """
    if isinstance(outcome, Measurements):
        manifest = outcome.manifest(place)
    else:
        manifest = _manifest_of_artefact(outcome, place)
    values = getattr(outcome, "values", None)
    return Study(manifest, rows_of(outcome), of_rows.NO_VALUES if values is None else values, place)


def rows_of(outcome: Any) -> pandas.DataFrame:
    """Return the rows of what an operation gave back, if any; of a collection what its manifest
    counts.
    """
    if isinstance(outcome, Collection):
        # what the command that made it counted, else what it holds
        return COUNTED.get(outcome.manifest.command, collection_rows)(outcome)
    if isinstance(outcome, RotatedFile):
        return file_rows(outcome)
    rows = getattr(outcome, "rows", None)
    return of_rows.frame([]) if rows is None else rows


def _manifest_of_artefact(outcome: Any, place: Path) -> Manifest:
    # a plan, and what went into a pipe, have none
    path: Path | None = getattr(outcome, "path", None)
    if path is not None and (made := manifest_if_any(path)) is not None:
        inputs = (input_ref(made.kind, path, made.checksum, artefact=place),)
        return replace(made, kind="results", inputs=inputs, content={}, files=None)
    name = path.name if path is not None else next(iter(rows_of(outcome)["collection"]), "")
    return Manifest("results", name, "", versions=package_versions(), provenance=provenance())


def json_of(outcome: Any) -> JsonObject:
    """Return what an operation gave back as one JSON object: a judgement's own, and its rows."""
    record = dict(outcome.to_json()) if isinstance(outcome, Judgement) else {}
    if not (rows := rows_of(outcome)).empty:
        record["rows"] = of_rows.records(rows)
    return record


def text_of_rows(outcome: Any) -> str:
    """Return the tables and sentences of an outcome's rows."""
    return "\n\n".join(shown.as_text(rows) for shown, rows in shown_by(rows_of(outcome)))


# -- results in a folder ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class Page(Written):
    """A report, its results, and all its tables by name; as text, those that are not folded."""

    tables: dict[str, Table] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n\n".join(map(as_text, self._tables()))


def page_of(
    folder: Path,
    out: Path,
    tables: Place | None = None,
    *,
    title: str | None = None,
    texts: bool = True,
    overwrite: bool,
) -> Page:
    """Write the page about a folder of results, and its tables where a place is given; say so."""
    study = load_study(folder)
    path = write_page(study, out, title=title, texts=texts, overwrite=overwrite)
    page = Page(path, tables_of(study), rows=None if study.rows.empty else study.rows)
    hint_written(path)
    if tables is not None:
        save_tables(page.tables, Path(tables), overwrite=overwrite)
        hint(f"{len(page.tables)} tables written to {pasted(tables)} (CSV and LaTeX)")
    return page


def load_results(place: Path, kinds: Mapping[str, type[Measurements]]) -> Measurements:
    """Read a folder of results as what their command gives back, ``Measurements`` unless ``kinds``
    says otherwise.

    Raises:
        InputError: a folder without results, or with damaged ones.
    """
    study = load_study(place)
    made = study.manifest
    rows: dict[str, Any] = {} if study.rows.empty else {"rows": study.rows, "values": study.values}
    same = ("command", "settings", "seed", "licence", "notes", "content")
    return kinds.get(made.command, Measurements)(
        **{name: getattr(made, name) for name in same},
        **rows,
        name=study.title,
        read=[Read(item.role, place / item.path, item.checksum) for item in made.inputs],
        remarks=made.content_as(tuple[str, ...], REMARKS, ()),
        loaded=replace(made, files=None),
    )


def card_section(folder: Path, model: Manifest) -> str:
    """Return a section of a model card with results of this model, as their command printed them.

    Raises:
        InputError: they are of other models.
    """
    study = load_study(folder)
    models = [item.checksum for item in study.manifest.inputs if item.role == "model"]
    systems = set(study.rows["model"])
    same = not models or model.checksum in models
    if model.name not in systems or not same:
        names = ", ".join(sorted(filter(None, systems)))
        raise bad_input(
            folder,
            wanted=f"results of the model {model.name}",
            found=f"those of {names}{'' if same else ' of other weights'}",
            do="measure this checkpoint",
        )
    with lines_of(None):  # the same card from every terminal, and no column left out
        text = "\n\n".join(shown.as_text(rows) for shown, rows in study.shown)
    command = study.manifest.command.capitalize()
    return f"## {command}: {study.manifest.name}\n\n{indent(text, '    ')}"
