"""Loading of the studies of a report: a folder of rows each, with its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas
from pandas import DataFrame, Series

from positionbias.core import rows
from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import Manifest, read_manifest

__all__ = ["Study", "load_studies", "rows_together"]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """One folder of rows; ``number`` counts from 1 and keeps its parts of a page apart from the
    others'.
    """

    number: int
    title: str
    folder: str
    manifest: Manifest
    rows: DataFrame = field(default_factory=lambda: rows.frame([]))
    values: DataFrame = field(default_factory=lambda: rows.NO_VALUES)

    @property
    def collections(self) -> list[str]:
        """The names of the collections."""
        return [name for name in self.rows["collection"].unique() if name]


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
    studies = [_load(number, place) for number, place in enumerate(map(Path, folders), 1)]
    for more in ("folder", "number"):
        titles = Counter(study.title for study in studies)
        studies = [
            replace(study, title=f"{study.title} ({getattr(study, more)})")
            if titles[study.title] > 1
            else study
            for study in studies
        ]
    return studies


def _load(number: int, place: Path) -> Study:
    inside = place / "results"
    folder = next((one for one in (place, inside) if (one / rows.ROWS).is_file()), None)
    if folder is None:
        raise bad_input(
            place,
            wanted="a folder of results",
            found=f"no {rows.ROWS}",
            do="give the --out of a measuring command",
        )
    measured = rows.load(folder)
    manifest = read_manifest(folder)
    values = rows.NO_VALUES
    if (folder / rows.VALUES).is_file():
        values = rows.load_values(folder, measured)
    title = manifest.name or place.name
    return Study(number, title, place.name, manifest, measured, values)


def rows_together(studies: Sequence[Study]) -> DataFrame:
    """Return the rows of all studies, numbered anew."""
    joined = pandas.concat([study.rows for study in studies], ignore_index=True)
    keys = joined.columns.difference(list(rows.COLUMNS))
    numbers = Series(range(len(joined)), dtype="int32")
    return joined.fillna(dict.fromkeys(keys, "")).assign(row=numbers)
