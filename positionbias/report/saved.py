"""Results in a folder: loaded, as a page with tables, and as a section of a model's card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

from positionbias.core.errors import bad_input
from positionbias.core.manifest import Manifest
from positionbias.core.outcome import REMARKS, Measurements, Read, Written, hint_written
from positionbias.core.places import Place, pasted
from positionbias.core.progress import hint
from positionbias.core.terminal import lines_of
from positionbias.report.html import write_page
from positionbias.report.page import load_study, tables_of
from positionbias.report.table import Table, as_text, save_tables


@dataclass(frozen=True, slots=True, repr=False)
class Page(Written):
    """A report, the results in it, and all its tables by name; as text, those that it does not
    fold.
    """

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
    return kinds.get(made.command, Measurements)(
        command=made.command,
        settings=made.settings,
        read=[Read(item.role, place / item.path, item.checksum) for item in made.inputs],
        seed=made.seed,
        name=study.title,
        licence=made.licence,
        notes=made.notes,
        content=made.content,
        remarks=made.content_as(tuple[str, ...], REMARKS, ()),
        **rows,
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
