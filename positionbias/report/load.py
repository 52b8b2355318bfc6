"""Loading of the studies of a report: a folder of results each, with its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas
from pandas import DataFrame

from positionbias.core import rows
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.results.result import RESULTS, Result, load_results

__all__ = ["Study", "load_studies", "rows_together"]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """One folder of results; ``number`` counts from 1 and keeps its parts of a page apart from the
    others'. A study has ``rows``, or ``results`` where its commands still write those.
    """

    number: int
    title: str
    folder: str
    results: list[Result]
    manifest: Manifest
    rows: DataFrame = field(default_factory=lambda: rows.frame([]))
    values: DataFrame = field(default_factory=lambda: rows.NO_VALUES)

    @property
    def collections(self) -> list[str]:
        """The names of the collections, as often as they have results."""
        named = [result.collection for result in self.results]
        return list(filter(None, [*named, *self.rows["collection"].unique()]))


def load_studies(folders: Sequence[Path | str]) -> list[Study]:
    """Read each folder, or the ``results`` in a study's. Titles are the manifests' names, made
    distinct where they repeat.

    Raises:
        InputError: no folder, or one without results.
    """
    if not folders:
        raise InputError(
            "report: wanted at least one folder of results; found none; give the --out of a "
            "measuring command"
        )
    studies = []
    for number, place in enumerate(map(Path, folders), 1):
        inside = place / "results"
        folder = inside if not _is_of_results(place) and _is_of_results(inside) else place
        measured = rows.load(folder) if (folder / rows.ROWS).is_file() else rows.frame([])
        results = [] if len(measured) else load_results(folder)
        manifest = read_manifest(folder)
        title = manifest.name or place.name
        values = rows.NO_VALUES
        if (folder / rows.VALUES).is_file():
            values = rows.load_values(folder, measured)
        more = {"rows": measured, "values": values}
        studies.append(Study(number, title, place.name, results, manifest, **more))
    return _distinguished(studies)


def rows_together(studies: Sequence[Study]) -> tuple[DataFrame, DataFrame]:
    """Return the rows and values of all studies, numbered anew."""
    every: list[DataFrame] = []
    values: list[DataFrame] = []
    first = 0
    for study in studies:
        for own, parts in ((study.rows, every), (study.values, values)):
            if len(own):
                parts.append(own.assign(row=own["row"] + first))
        first += len(study.rows)
    if not every:
        return rows.frame([]), rows.NO_VALUES
    joined = pandas.concat(every, ignore_index=True).astype({"row": "int32"})
    keys = joined.columns.difference(list(rows.COLUMNS))
    own_values = pandas.concat(values, ignore_index=True) if values else rows.NO_VALUES
    return joined.fillna(dict.fromkeys(keys, "")), own_values.astype({"row": "int32"})


def _is_of_results(folder: Path) -> bool:
    return (folder / rows.ROWS).is_file() or (folder / RESULTS).is_file()


def _distinguished(studies: list[Study]) -> list[Study]:
    """Add the folder's name to titles that repeat, and the number where that repeats too."""
    for more in ("folder", "number"):
        titles = Counter(study.title for study in studies)
        studies = [
            replace(study, title=f"{study.title} ({getattr(study, more)})")
            if titles[study.title] > 1
            else study
            for study in studies
        ]
    return studies
