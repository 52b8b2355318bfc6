"""The base of everything that an operation returns: its results in words, tables and figures, to show, save and report."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.errors import SettingError
from positionbias.core.places import Place, output_place

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Shown"]


def _above(module: str) -> Any:
    """Return a module of a part above: by name, as core imports none of them."""
    return import_module(f"positionbias.{module}")


class Shown:
    """Results, however they are kept: ``ops.outcome.study_of`` finds them, and what made them.

    A notebook shows the verdict and the tables.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        name = next(filter(None, (getattr(self, of, None) for of in ("path", "name", "command"))), "")
        count = len(_above("ops.outcome").results_of(self))
        return f"{type(self).__name__}({f'{str(name)!r}, ' * bool(name)}{count:,} result{'s' * (count != 1)})"

    def _repr_html_(self) -> str:
        text: str = _above("report.notebook").as_html(self.verdict, self._tables(), _above("ops.outcome").text_of(self))
        return text

    def _tables(self) -> Sequence[Any]:
        """Return the tables that a notebook shows; where there are none, it shows the text for a terminal."""
        tables: Sequence[Any] = _above("report.page").open_tables(self._study())
        return tables

    def _study(self, place: Path = Path()) -> Any:
        """Return the results with what made them, as they would lie in a folder at ``place``."""
        return _above("ops.outcome").study_of(self, place)

    def _study_to_write(self, out: Place, what: str) -> Any:
        """Return what ``_study`` does.

        Raises:
            SettingError: there are no results.
        """
        study = self._study(output_place(out))
        if study.results:
            return study
        raise SettingError(f"{what}: wanted results; found none in {self!r}; give those of a command that measures something")

    @property
    def verdict(self) -> str:
        """The conclusion in words, a line for each sentence; empty where the results hold none."""
        return "\n".join(_above("report.text").verdict_of(self._study().results))

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each result: what was measured, the value, its interval, and the number of items behind it."""
        frame: pandas.DataFrame = _above("report.frames").frame_of(self._study().results)
        return frame

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return every table of the report page by its name, with unrounded values."""
        frames: dict[str, pandas.DataFrame] = _above("report.frames").frames_of(self._study())
        return frames

    def plots(self) -> dict[str, Figure]:
        """Return every figure of the report page by its name."""
        return {name: drawing.draw_wide() for name, drawing in _above("report.page").drawings_of(self._study()).items()}

    def plot(self, name: str | None = None) -> Figure:
        """Return one figure of the report page; by default the one that says most.

        Raises:
            SettingError: there is no figure of this name; the message names those that there are.
        """
        there = _above("report.page").drawings_of(self._study())
        chosen = _above("report.parts").main_figure(there) if name is None else name
        if chosen not in there:
            found = "none asked for" if name is None else repr(name)
            raise SettingError(f"plot: wanted one of {', '.join(there) or 'none'}; found {found}; give one of these")
        figure: Figure = there[chosen].draw_wide()
        return figure

    def save(self, out: Place, *, overwrite: bool = False) -> Path:
        """Write the results as a folder, which ``positionbias.load`` and ``posbias report`` read; return where it stands.

        Raises:
            OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
            SettingError: there are no results.
        """
        from_study, place = self._study_to_write(out, "save"), output_place(out)
        _above("results.result").save_results(place, from_study.results, from_study.manifest, overwrite=overwrite)
        return place

    def report(self, out: Place, *, overwrite: bool = False) -> Path:
        """Write the page that ``posbias report`` would of these results; return where it stands.

        Raises:
            OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
            SettingError: there are no results.
        """
        place: Path = _above("report.html").write_page(
            [self._study_to_write(out, "report")], output_place(out), overwrite=overwrite
        )
        return place
