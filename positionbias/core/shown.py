"""The base class of what operations return: results in words, tables and figures, to show, save and
report.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.errors import SettingError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def _showing(module: str = "showing") -> Any:
    """Return the module behind ``Shown``, imported by name, as core imports no part above it."""
    return import_module(f"positionbias.report.{module}")


class Shown:
    """Results to show, save and report; a notebook shows their verdict and their tables."""

    __slots__ = ()
    _on_disk = ""  # for an artefact on disk, how to copy it

    def __repr__(self) -> str:
        return str(_showing().line_of(self))

    def _repr_html_(self) -> str:
        return str(_showing().html_of(self))

    def _text(self) -> str:
        """Return the text of the rows."""
        return str(_showing().text_of_rows(self))

    def _study(self, place: Path = Path()) -> Any:
        """Return the results with their manifest, as saved in a folder at ``place``."""
        return _showing().study_of(self, place)

    def _tables(self) -> Sequence[Any]:
        """Return the tables that a notebook shows; without any, it shows the text for a
        terminal.
        """
        tables = _showing("page").tables_of(self._study(), queries=False).values()
        return [table for table in tables if not table.folded]

    @property
    def verdict(self) -> str:
        """The conclusion in words, one sentence a line; empty if there is none."""
        return "\n".join(_showing("page").verdict_of(self._study()))

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each value: what it is of, its measure, its interval, and the number of
        items.
        """
        frame: pandas.DataFrame = self._study().rows
        return frame

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return every table of the report page by its name, with unrounded values."""
        tables = _showing("page").tables_of(self._study())
        return {name: _showing("table").as_frame(table) for name, table in tables.items()}

    def plots(self) -> dict[str, Figure]:
        """Return every figure of the report page by its name."""
        drawings = _showing("page").drawings_of(self._study())
        return {name: draw() for name, draw in drawings.items()}

    def plot(self, name: str | None = None) -> Figure:
        """Return one figure of the report page, by default the first.

        Raises:
            SettingError: no figure of this name; the message names the existing ones.
        """
        figure: Figure = _showing().figure_of(self._study(), name)
        return figure

    def save(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write the results to a folder, which ``positionbias.load`` and ``posbias report`` read;
        return its path.

        Raises:
            OutputExistsError: ``out`` exists and ``overwrite`` is false.
            SettingError: there are no results, or this is an artefact that is already on disk.
        """
        if self._on_disk:
            raise SettingError(
                f"save: wanted results; found {self!r}, which is already on disk; {self._on_disk}"
            )
        place: Path = _showing().save(self, out, overwrite=overwrite)
        return place

    def report(self, out: str | Path, *, texts: bool = True, overwrite: bool = False) -> Path:
        """Write the page that ``posbias report`` makes of these results; return its path. Texts of
        single queries are on it only with ``texts``.

        Raises:
            OutputExistsError: ``out`` exists and ``overwrite`` is false.
            SettingError: there are no results.
        """
        place: Path = _showing().report(self, out, texts=texts, overwrite=overwrite)
        return place
