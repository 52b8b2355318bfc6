"""What ``core.shown.Shown`` offers, of any outcome: made of its results and of the tables and
figures of their page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.core import rows as of_rows
from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError
from positionbias.core.formatting import plural
from positionbias.core.places import Place, output_place
from positionbias.core.screen import lines_of
from positionbias.core.shown import Shown
from positionbias.ops.outcome import results_of, rows_of, study_of, text_of
from positionbias.report.frames import frame_of, frames_of
from positionbias.report.html import write_page
from positionbias.report.load import Study
from positionbias.report.notebook import as_html
from positionbias.report.page import drawings_of, open_tables
from positionbias.report.parts import main_figure
from positionbias.report.text import verdict_of
from positionbias.results.result import save_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "figure_of",
    "figures_of",
    "frame_of",
    "frames_of",
    "html_of",
    "line_of",
    "open_tables",
    "report",
    "save",
    "study_of",
    "verdict_of",
]


def line_of(outcome: Shown) -> str:
    """Return an outcome's class, its path, name or command, and how many results it has."""
    name = next(
        filter(None, (getattr(outcome, of, None) for of in ("path", "name", "command"))), ""
    )
    rows = rows_of(outcome)
    count, noun = (len(results_of(outcome)), "result") if rows is None else (len(rows), "row")
    named = f"{str(name)!r}, " * bool(name)
    return f"{type(outcome).__name__}({named}{plural(count, noun)})"


def html_of(outcome: Shown) -> str:
    """Return what a notebook shows."""
    with lines_of(None):  # a page scrolls
        return as_html(outcome.verdict, outcome._tables(), text_of(outcome))


def figures_of(study: Study) -> dict[str, Figure]:
    """Return every figure of the page by its name."""
    return {name: drawing.draw_wide() for name, drawing in drawings_of(study).items()}


def figure_of(study: Study, name: str | None) -> Figure:
    """Return the figure of the page with this name, or the one that says most.

    Raises:
        SettingError: there is none.
    """
    there = drawings_of(study)
    drawing = there.get(main_figure(there) if name is None else name)
    if drawing is None:
        if not there:
            raise SettingError(
                "plot: wanted results with a figure; found none; see to_frames() for their tables"
            )
        raise SettingError(
            f"plot: wanted one of {', '.join(there)}; found {name!r}; "
            f"{or_closest(name, there, 'give one of these')}"
        )
    return drawing.draw_wide()


def save(outcome: Shown, out: Place, *, overwrite: bool) -> Path:
    """Write the results as a folder."""
    place, study = output_place(out), _with_results(outcome, out, "save")
    if study.rows.empty:
        save_results(place, study.results, study.manifest, overwrite=overwrite)
    else:
        values = None if study.values.empty else study.values
        of_rows.save(place, study.rows, study.manifest, values, overwrite=overwrite)
    return place


def report(outcome: Shown, out: Place, *, overwrite: bool) -> Path:
    """Write the page of the results."""
    return write_page(
        [_with_results(outcome, out, "report")], output_place(out), overwrite=overwrite
    )


def _with_results(outcome: Shown, out: Place, what: str) -> Study:
    """Return the results as they would lie at ``out``.

    Raises:
        SettingError: there are none.
    """
    study: Study = outcome._study(output_place(out))
    if not study.results and study.rows.empty:
        raise SettingError(
            f"{what}: wanted results; found none in {outcome!r}; give those of a command that "
            "measures something"
        )
    return study
