"""Draw a study's figures from its results: ``python figures/draw.py NAME STUDY`` writes
``figures/NAME-*.svg``.

``python figures/draw.py figure-1`` draws the six histograms of the position-bias paper's Figure 1
from the kept numbers of one ``posbias histogram`` over original, word-rotated and sentence-rotated
collections, the latter two in several draws. A NAME with ``audit`` in it is an audit's (its --out),
one with ``leakage`` a leakage study's, one with ``contamination`` a contamination study's, one with
``tripclick`` a TripClick study's, one with ``remedies`` one of remedies, one with ``pool`` a
study's of pools, or a verdict's on one run. ``encoders`` draws what two published encoders lose by
an answer's place, from ``benchmarks/results/real_encoders.csv``. ``pool-simulated TABLE`` draws
what is measured of a known pool bias, from that of ``benchmarks/pool_groups.py``. ``story`` is the
README's first picture, from the kept numbers of ``benchmarks/doses.py``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import kept_numbers
import numpy as np
import pandas
from scipy.stats import t

from positionbias.audit.page import audit_figures
from positionbias.papers.contamination.page import contamination_figures
from positionbias.papers.leakage.page import sizes_figure
from positionbias.papers.pooling.page import pool_figures
from positionbias.papers.position_bias.remedy_table import remedy_figure
from positionbias.papers.tripclick.page import tripclick_figures
from positionbias.report.drawing import (
    DASHES,
    MARKERS,
    colour_of,
    legend_above,
    line_handle,
    new_figure,
    percent_marks,
    under_all,
)
from positionbias.report.figure import MUTED, save_figure, styled
from positionbias.report.plots import answer_positions
from positionbias.results.payloads import PerQuery, PositionHistogram
from positionbias.results.result import Result, load_results

HERE = Path(__file__).parent
README_WIDTH = 8.4  # inches: what a repository's page shows without shrinking it


def draw_audit(name: str, results: list[Result]) -> None:
    """One SVG for each figure of an audit."""
    for part, figure in audit_figures(results).items():
        save_figure(figure, HERE / f"{name}-{part}.svg", overwrite=True)


def draw_contamination(name: str, results: list[Result]) -> None:
    """One SVG for each figure of a contamination study."""
    for part, figure in contamination_figures(results, width=README_WIDTH).items():
        save_figure(figure, HERE / f"{name}-{part}.svg", overwrite=True)


def draw_tripclick(name: str, results: list[Result]) -> None:
    """One SVG for each figure of a TripClick study."""
    for part, figure in tripclick_figures(results, width=README_WIDTH).items():
        save_figure(figure, HERE / f"{name}-{part}.svg", overwrite=True)


def draw_pools(name: str, results: list[Result]) -> None:
    """One SVG for each figure about pools."""
    for part, figure in pool_figures(results, width=README_WIDTH).items():
        save_figure(figure, HERE / f"{name}-{part}.svg", overwrite=True)


def figure_1() -> None:
    """Three panels a data set, from the kept numbers. Draws of a rotation are one panel: all their
    answers, and an interval over the draws.
    """
    panels = kept_numbers.histograms("figure-1")
    results = [_together([Result.from_json(row) for row in rows]) for rows in panels.values()]
    save_figure(
        answer_positions(results, width=README_WIDTH, columns=3, titles=list(panels)),
        HERE / "figure-1.svg",
        overwrite=True,
    )


def _together(draws: list[Result]) -> Result:
    first = draws[0].payload
    assert isinstance(first, PositionHistogram)
    if len(draws) == 1:
        return draws[0]
    counts = np.array([result.payload.counts for result in draws])
    expected = np.array([result.payload.expected for result in draws])
    shares, weights = (
        counts / counts.sum(1, keepdims=True),
        counts.sum(1, keepdims=True) / counts.sum(),
    )
    mean, half = (
        shares.mean(0),
        t.ppf(0.975, len(draws) - 1) * shares.std(0, ddof=1) / len(draws) ** 0.5,
    )
    bounds = {
        "bin_intervals": {"low": (mean - half).clip(0).tolist(), "high": (mean + half).tolist()}
    }
    counted, unbiased = counts.sum(0).tolist(), (expected * weights).sum(0).tolist()
    return replace(
        draws[0], payload=replace(first, counts=counted, expected=unbiased, figures=bounds)
    )


def story(name: str) -> None:
    """What the toolkit is about, from the kept numbers of one study: where answers stand, what
    rotation costs a model trained so, and one trained on rotated passages.

    A line is a training; where it meets several rotations, their mean.
    """
    results = kept_numbers.results(name)
    histogram = next(r.payload for r in results if isinstance(r.payload, PositionHistogram))
    shares = [number / sum(histogram.counts) for number in histogram.counts]
    with styled():
        figure = new_figure(README_WIDTH, 3.1)
        left, *others = figure.subplots(1, 3)
        left.stairs(shares, histogram.edges, fill=True, color=colour_of(0), alpha=0.3, linewidth=0)
        left.stairs(shares, histogram.edges, color=colour_of(0), linewidth=1.4)
        left.stairs(
            histogram.expected,
            histogram.edges,
            color=MUTED.light,
            linestyle=DASHES[1],
            baseline=None,
        )
        left.set_xlim(0, 1)
        left.set_xticks([0, 0.5, 1], ["front", "middle", "end"])
        left.set_title("Answers stand in front\n")
        left.set_ylabel("Share of answers")
        percent_marks(left.yaxis)
        titles = (
            "A model trained on them\nloses where text is rotated",
            "Trained on rotated text,\nit does not",
        )
        for index, (axes, training, title) in enumerate(
            zip(others, ("original", "rotated"), titles, strict=True)
        ):
            for values in _by_training(results, training):
                axes.plot(
                    [0, 1],
                    values,
                    color=colour_of(index + 1),
                    marker=MARKERS[index],
                    markersize=4,
                    linewidth=1,
                )
            axes.set_title(title)
            axes.set_xlim(-0.3, 1.3)
            axes.set_xticks([0, 1], ["original test", "rotated test"])
            axes.set_ylim(0.6, 1)
        others[0].set_ylabel("nDCG@10")
        handles = [
            line_handle(MUTED.light, DASHES[1]),
            *(line_handle(colour_of(i + 1), "-", marker=MARKERS[i]) for i in (0, 1)),
        ]
        texts = [
            "where unbiased answers would stand",
            "a training on original passages",
            "on rotated passages",
        ]
        legend_above(figure, handles, texts, README_WIDTH)
    save_figure(figure, HERE / "story.svg", overwrite=True)


def encoders(table: Path) -> None:
    """What an encoder's score for the same evidence changes by its place in the text, in % of the
    evidence's worth, a panel for each encoder.
    """
    rows = pandas.read_csv(table, keep_default_na=False)
    rows = rows[rows["statistic"] == "relative"].astype(
        dict.fromkeys(("at", "value", "low", "high"), float)
    )
    models = list(dict.fromkeys(rows["model"][rows["role"] == "encoder"]))
    with styled():
        figure = new_figure(README_WIDTH, 3.4)
        panels = figure.subplots(1, len(models), sharey=True)
        for axes, model in zip(panels, models, strict=True):
            of_model = rows[rows["model"] == model]
            tests = list(dict.fromkeys(of_model["test"]))
            floor = rows[
                (rows["model"] == f"{model}, mismatched questions") & (rows["test"] == tests[-1])
            ]
            lines = [
                (floor, MUTED.light, DASHES[1], ""),
                *(
                    (of_model[of_model["test"] == test], colour_of(i), "-", MARKERS[i])
                    for i, test in enumerate(tests)
                ),
            ]
            for line, colour, style, marker in lines:
                at, value, low, high = (
                    [0.0, *line[name]] for name in ("at", "value", "low", "high")
                )
                axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
                axes.plot(at, value, color=colour, linestyle=style, marker=marker, markersize=4)
            axes.set_title(
                f"{model}: {' and '.join(test.removesuffix(' tokens') for test in tests)} tokens"
            )
            axes.set_xticks([0, 0.5, 1], ["start", "middle", "end"])
        panels[0].set_ylabel("Change of the score,\n% of the evidence's worth")
        under_all(figure, "Place of the answering sentence in the text", README_WIDTH)
        handles = [
            line_handle(MUTED.light, DASHES[1]),
            *(line_handle(colour_of(i), "-", marker=MARKERS[i]) for i in (0, 1)),
        ]
        texts = [
            "another passage's question (floor)",
            "texts of 128 tokens",
            "texts as long as the model reads",
        ]
        legend_above(figure, handles, texts, README_WIDTH)
    save_figure(figure, HERE / "encoders.svg", overwrite=True)


def _by_training(results: list[Result], training: str) -> list[list[float]]:
    """nDCG@10 on the original and on the rotated test, of each training."""
    found: dict[tuple[int | None, int | None], dict[str, list[float]]] = {}
    for result in results:
        facts = result.facts
        if (
            result.measure == "nDCG@10"
            and isinstance(result.payload, PerQuery)
            and facts.training == training
        ):
            of = found.setdefault(
                (facts.seed, facts.rotation if training == "rotated" else None),
                {"original": [], "rotated": []},
            )
            of[facts.test].append(result.value or 0.0)
    return [[float(np.mean(values)) for values in tests.values()] for tests in found.values()]


def pool_simulated(table: Path) -> None:
    """The measured bias of simulated pools against the rate that is set, with the truth; and how
    often intervals leave out zero, or hold the truth.
    """
    lines = [
        line[2:-2].split(" | ")
        for line in table.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    heads = next(cells for cells in lines if cells[0] == "rate")
    rows = [
        dict(zip(heads, cells, strict=True))
        for cells in lines
        if cells[0].replace(".", "").isdigit()
    ]
    rates = [float(row["rate"]) for row in rows]
    shares = ("intervals that hold the truth", "intervals below 0")
    with styled():
        figure = new_figure(README_WIDTH, 3.2)
        left, right = figure.subplots(1, 2)
        ends = [
            [float(number) for number in row["P@10, measured, middle 95 %"].split(" to ")]
            for row in rows
        ]
        left.fill_between(
            rates, *map(list, zip(*ends, strict=True)), color=colour_of(0), alpha=0.16, linewidth=0
        )
        means = [float(row["P@10, measured, mean"]) for row in rows]
        left.plot(rates, means, color=colour_of(0), marker=MARKERS[0], linestyle="none")
        left.plot(rates, [float(row["P@10, truth"]) for row in rows], color=MUTED.light)
        left.set_ylabel("Change of P@10")
        for index, share in enumerate(shares, 1):
            looks = {
                "color": colour_of(index),
                "linestyle": DASHES[index - 1],
                "marker": MARKERS[index],
            }
            right.plot(rates, [_share(row[share]) for row in rows], **looks)  # type: ignore
        right.axhline(95, color=MUTED.light, linewidth=0.8)
        right.set_ylim(0, 102)
        right.set_ylabel("Evaluations (%)")
        under_all(figure, "Rate at which neural runs find what others cannot", README_WIDTH)
        handles = [
            line_handle(colour_of(0), "none", marker=MARKERS[0]),
            line_handle(MUTED.light, "-"),
        ]
        handles += [
            line_handle(colour_of(index), DASHES[index - 1], marker=MARKERS[index])
            for index in (1, 2)
        ]
        names = ["measured: mean, middle 95\u00a0% of evaluations", "truth", *shares]
        legend_above(figure, handles, names, README_WIDTH)
    save_figure(figure, HERE / "pool-simulated.svg", overwrite=True)


def _share(cell: str) -> float:
    return float(cell.removesuffix("%"))


if __name__ == "__main__":
    name, place = sys.argv[1], Path(*sys.argv[2:])
    if name == "figure-1":
        figure_1()
    elif name == "story":
        story("planted-1")
    elif name == "encoders":
        encoders(HERE.parent / "benchmarks" / "results" / "real_encoders.csv")
    elif "leakage" in name:
        save_figure(
            sizes_figure(load_results(place / "results")),
            HERE / f"{name}-sizes.svg",
            overwrite=True,
        )
    elif "contamination" in name:
        draw_contamination(name, load_results(place / "results"))
    elif "remedies" in name:
        save_figure(
            remedy_figure(load_results(place / "results"), width=README_WIDTH),
            HERE / f"{name}.svg",
            overwrite=True,
        )
    elif "tripclick" in name:
        draw_tripclick(name, load_results(place / "results"))
    elif name == "pool-simulated":
        pool_simulated(place)
    elif "pool" in name:
        draw_pools(name, load_results(place / "results" if (place / "results").is_dir() else place))
    else:
        draw_audit(name, load_results(place))
