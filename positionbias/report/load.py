"""Load the study of a page: a folder of rows, with its manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pandas import DataFrame

from positionbias.core import rows
from positionbias.core.errors import bad_input
from positionbias.core.manifest import Manifest, read_manifest

__all__ = ["Study", "load_study"]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A title, rows, values by query, and what made them."""

    title: str
    manifest: Manifest
    rows: DataFrame = field(default_factory=lambda: rows.frame([]))
    values: DataFrame = field(default_factory=lambda: rows.NO_VALUES)

    @property
    def collections(self) -> list[str]:
        """The names of the collections."""
        return [name for name in self.rows["collection"].unique() if name]


def load_study(place: Path | str) -> Study:
    """Read a folder of results, or the ``results`` in a study's; its title is the manifest's name.

    Raises:
        InputError: no results there.
    """
    inside = (Path(place), Path(place) / "results")
    folder = next((one for one in inside if (one / rows.ROWS).is_file()), None)
    if folder is None:
        raise bad_input(
            place,
            wanted="a folder of results",
            found=f"no {rows.ROWS}",
            do="give the --out of a measuring command",
        )
    measured, manifest = rows.load(folder), read_manifest(folder)
    by_query = (folder / rows.VALUES).is_file()
    values = rows.load_values(folder, measured) if by_query else rows.NO_VALUES
    return Study(manifest.name or Path(place).name, manifest, measured, values)
