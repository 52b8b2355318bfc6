"""Draw a study's figures from its results: ``python figures/draw.py NAME STUDY`` writes ``figures/NAME-*.svg``.

``python figures/draw.py figure-1 RESULTS`` draws the six histograms of the position-bias paper's Figure 1 from the results of one
``posbias histogram`` over original, word-rotated and sentence-rotated collections.
"""

from __future__ import annotations

import sys
from pathlib import Path

from positionbias.core.payloads import AtsCurve, Comparison, PositionHistogram, TrainingCurve
from positionbias.core.result import Result, load_results
from positionbias.report.figure import save_figure
from positionbias.report.plots import answer_positions, ats_curves, relative_change, training_curves

HERE = Path(__file__).parent
FIGURE_1 = {"msmarco": "MS MARCO", "squad": "SQuAD", "words": "word-rotated", "sentences": "sentence-rotated"}
README_WIDTH = 8.4  # inches: what a repository's page shows without shrinking it


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


def figure_1(results: list[Result]) -> None:
    """Three panels a data set; collections are named ``squad``, ``squad-words``, ``squad-sentences``."""
    named = [result.collection.partition("-") for result in results]
    titles = [f"{FIGURE_1[source]}, {FIGURE_1[rotation] if rotation else 'original'}" for source, _, rotation in named]
    save_figure(answer_positions(results, width=README_WIDTH, columns=3, titles=titles), HERE / "figure-1.svg", overwrite=True)


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    if name == "figure-1":
        figure_1(load_results(place))
    else:
        draw(name, load_results(place / "results"))
