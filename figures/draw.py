"""Draw a study's figures from its results: ``python figures/draw.py NAME STUDY`` writes ``figures/NAME-*.svg``."""

from __future__ import annotations

import sys
from pathlib import Path

from positionbias.core.result import AtsCurve, Comparison, PositionHistogram, Result, TrainingCurve, load_results
from positionbias.report.figure import save_figure
from positionbias.report.plots import answer_positions, ats_curves, relative_change, training_curves

HERE = Path(__file__).parent


def draw(name: str, results: list[Result]) -> None:
    """One SVG for each kind of result there is."""
    changes = [r for r in results if isinstance(r.payload, Comparison) and r.payload.notes.get("axis") == "test sets"]
    parts = {
        "positions": (answer_positions, [r for r in results if isinstance(r.payload, PositionHistogram)]),
        "change": (relative_change, changes),
        "ats": (ats_curves, [r for r in results if isinstance(r.payload, AtsCurve)]),
        "training": (training_curves, [r for r in results if isinstance(r.payload, TrainingCurve)]),
    }
    for part, (figure, chosen) in parts.items():
        if chosen:
            save_figure(figure(chosen), HERE / f"{name}-{part}.svg", overwrite=True)


if __name__ == "__main__":
    draw(sys.argv[1], load_results(Path(sys.argv[2]) / "results"))
