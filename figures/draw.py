"""Draw the figures of README and docs from the rows in ``numbers/``.

``python figures/draw.py`` writes all, ``python figures/draw.py NAME …`` some. The SVG's colours
have partners for dark screens, and the same rows give the same bytes.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from pandas import DataFrame
from scipy import stats
from tables import PANELS, PRICES, only, rows

from positionbias.core.rows import read_csv
from positionbias.papers.pooling.shown import BIAS
from positionbias.papers.tripclick.shown import DEPTH_FIGURE
from positionbias.papers.tripclick.shown import SHOWN as TRIPCLICK

HERE = Path(__file__).parent
ENCODERS = HERE.parent / "benchmarks" / "results" / "real_encoders.csv"
WIDTH = 8.4  # inches: what a repository's page shows without shrinking it

# Colours on a light ground (``figures.mplstyle`` has the same), and their partners on a dark one;
# the first two of the series are the blue and vermilion of Okabe and Ito.
INK, MUTED, BAND = "#1f2328", "#5a626b", "#c9ced4"
COLOURS = ("#0072b2", "#c94f00", "#00805c")
PARTNERS = {
    INK: "#e4e7eb",
    MUTED: "#a6aeb8",
    BAND: "#4a5058",
    "#868e96": "#7d8590",
    **dict(zip(COLOURS, ("#5cb8f0", "#ff9a57", "#3fd0a4"), strict=True)),
}
MARKERS, DASHED = ("o", "D", "s", "^"), (0, (6, 2))


def panels(
    height: float, columns: int, lines: int = 1, **shared: Any
) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure of so many inches, and its axes."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06, wspace=0.03, hspace=0.03)
    return figure, list(figure.subplots(lines, columns, squeeze=False, **shared).flat)


def handle(colour: str, line: Any = "-", **looks: Any) -> Line2D:
    """Return a legend entry."""
    return Line2D([], [], color=colour, linestyle=line, **looks)


def legend(figure: Figure, entries: Mapping[str, Line2D], columns: int) -> None:
    """Draw a legend above the panels, never over the data."""
    place = {"loc": "outside upper left", "ncols": columns, "handlelength": 2.4}
    figure.legend(list(entries.values()), list(entries), **place)


def histogram(axes: Axes, frame: DataFrame, colour: str, unbiased: str) -> None:
    """Draw the share of answers by bin, with intervals, and where unbiased ones would stand."""
    shares, width = frame["value"], 1 / len(frame)
    edges = np.append(frame["at"], 1.0)
    axes.stairs(shares, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
    axes.stairs(shares, edges, color=colour, linewidth=1.4)
    axes.stairs(
        frame["expected"], edges, color=unbiased, linestyle=DASHED, linewidth=1.3, baseline=None
    )
    axes.vlines(frame["at"] + width / 2, frame["low"], frame["high"], color=colour, linewidth=1.1)
    axes.set_xlim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol="\u00a0%"))


def bar(axes: Axes, row: Any, at: float, colour: str, marker: str, **looks: Any) -> None:
    """Draw a value and its interval along x."""
    axes.plot(
        [row["low"], row["high"]], [at, at], color=colour, linewidth=looks.pop("linewidth", 1.8)
    )
    axes.plot([row["value"]], [at], color=colour, marker=marker, linestyle="none", **looks)


def forest(axes: Axes, labels: Sequence[str]) -> None:
    """Make axes a forest: a label a line, from top to bottom, with a rule at zero."""
    axes.axvline(0, color=INK, linewidth=1, zorder=1)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def story() -> Figure:
    """Where answers stand, what rotation costs a training on them, and one on rotated passages."""
    frame = rows("planted-1")
    figure, (left, *others) = panels(3.1, 3)
    start = only(frame, measure="answers", collection="planted-1").assign(low=np.nan, high=np.nan)
    histogram(left, start, COLOURS[0], MUTED)
    left.set_xticks([0, 0.5, 1], ["front", "middle", "end"])
    left.set_title("Answers stand in front\n")
    left.set_ylabel("Share of answers")
    titles = (
        "A model trained on them\nloses where text is rotated",
        "Trained on rotated text,\nit does not",
    )
    single = frame[(frame["seed"] > -1) & (frame["statistic"] == "mean") & (frame["model"] == "tk")]
    for number, (axes, training, title) in enumerate(
        zip(others, ("original", "rotated"), titles, strict=True), 1
    ):
        keys = ["seed", "rotation"] if training == "rotated" else ["seed"]
        trained = only(single, training=training)
        tested = trained.pivot_table(index=keys, columns="test", values="value", aggfunc="mean")
        looks = {
            "color": COLOURS[number],
            "marker": MARKERS[number - 1],
            "markersize": 4,
            "linewidth": 1,
        }
        axes.plot([0, 1], tested[["original", "rotated"]].T, **looks)
        axes.set_title(title)
        axes.set_xlim(-0.3, 1.3)
        axes.set_xticks([0, 1], ["original test", "rotated test"])
        axes.set_ylim(0.6, 1)
    others[0].set_ylabel("nDCG@10")
    entries = {"where unbiased answers would stand": handle(MUTED, DASHED)}
    entries["a training on original passages"] = handle(COLOURS[1], marker=MARKERS[0])
    legend(figure, {**entries, "on rotated passages": handle(COLOURS[2], marker=MARKERS[1])}, 3)
    return figure


def encoders() -> Figure:
    """What an encoder's score for the same evidence changes by its place in the text."""
    frame = only(read_csv(ENCODERS), statistic="relative")
    models = only(frame, role="encoder")["model"].unique()
    figure, axes_of = panels(3.4, len(models), sharey=True)
    for axes, model in zip(axes_of, models, strict=True):
        tests = only(frame, model=model)["test"].unique()
        floor = only(frame, model=f"{model}, mismatched questions", test=tests[-1])
        lines = [only(frame, model=model, test=test) for test in tests]
        colours, styles = (MUTED, *COLOURS), (DASHED, "-", "-")
        for line, colour, style, marker in zip(
            [floor, *lines], colours, styles, ("", *MARKERS), strict=False
        ):
            at, value, low, high = (
                [0.0, *line[column]] for column in ("at", "value", "low", "high")
            )
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(at, value, color=colour, linestyle=style, marker=marker, markersize=4)
        lengths = " and ".join(test.removesuffix(" tokens") for test in tests)
        axes.set_title(f"{model}: {lengths} tokens")
        axes.set_xticks([0, 0.5, 1], ["start", "middle", "end"])
    axes_of[0].set_ylabel("Change of the score,\n% of the evidence's worth")
    figure.supxlabel("Place of the answering sentence in the text", fontsize=10)
    entries = {"another passage's question (floor)": handle(MUTED, DASHED)}
    entries["texts of 128 tokens"] = handle(COLOURS[0], marker=MARKERS[0])
    legend(
        figure,
        {**entries, "texts as long as the model reads": handle(COLOURS[1], marker=MARKERS[1])},
        3,
    )
    return figure


def figure_1() -> Figure:
    """Answer positions of two data sets; of a rotation all draws, with an interval over them."""
    figure, axes_of = panels(5.05, 3, 2, sharex=True, sharey=True)
    whole = only(rows("figure-1"), measure="answers")
    for number, (axes, (title, pattern)) in enumerate(zip(axes_of, PANELS.items(), strict=True)):
        frame = whole[whole["collection"].str.fullmatch(pattern)]
        histogram(axes, together(frame), COLOURS[number % 3], INK)
        counted = frame.groupby("collection")["count"].first().sum()
        axes.set_title(f"{title}\n")
        looks = {"transform": axes.transAxes, "va": "bottom", "color": MUTED, "fontsize": 9.5}
        axes.text(0, 1.02, f"{counted:,} answers", **looks)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    for axes in axes_of[::3]:
        axes.set_ylabel("Share of answers")
    figure.supxlabel("Start of the answer: 0 first word, 1 passage end", fontsize=10)
    entries = {"what unbiased looks like": handle(INK, DASHED)}
    legend(
        figure, {**entries, "95 % interval": handle(MUTED, "none", marker="|", markersize=11)}, 2
    )
    return figure


def together(frame: DataFrame) -> DataFrame:
    """Return draws as one histogram: the share of all answers, with a t interval over the draws."""
    draws = frame["collection"].nunique()
    if draws == 1:
        return frame
    by_bin = frame.groupby("at")
    mean = by_bin["value"].mean()
    half = stats.t.ppf(0.975, draws - 1) * by_bin["value"].std() / draws**0.5
    weighted = frame.assign(
        **{name: frame[name] * frame["count"] for name in ("value", "expected")}
    )
    sums = weighted.groupby("at")[["value", "expected", "count"]].sum()
    pooled = sums[["value", "expected"]].div(sums["count"], axis=0)
    return pooled.assign(low=(mean - half).clip(lower=0), high=mean + half).reset_index()


def remedies(name: str) -> Figure:
    """What each remedy changes in quality and in bias, less that without a remedy."""
    frame = rows(name)
    shown = frame[(frame["statistic"] == "difference") & frame["low"].notna()]
    variants = [variant for variant in PRICES if variant in set(shown["variant"])]
    titles = {
        "moved sentence, end − front": "A moved sentence matters less",
        "nDCG@10": "Quality on original passages",
    }
    figure, axes_of = panels(0.9 + 0.28 * len(variants), 2, sharey=True)
    for axes, (measure, title) in zip(axes_of, titles.items(), strict=True):
        for at, variant in enumerate(variants):
            (row,) = only(shown, measure=measure, variant=variant).iloc
            inference = variant.endswith("at inference")
            bar(axes, row, at, COLOURS[inference], MARKERS[inference], markersize=5.5)
        forest(axes, variants)
        axes.set_title(title)
    axes_of[0].set_xlabel("Change of the effect's size, deviations")
    axes_of[1].set_xlabel("Change of nDCG@10")
    entries = {"in training": handle(COLOURS[0], marker=MARKERS[0])}
    legend(figure, {**entries, "at inference": handle(COLOURS[1], marker=MARKERS[1])}, 2)
    return figure


def squad_audit_effects() -> Figure:
    """The effects of a model by the place of the answering sentence, beside the margin."""
    frame = only(rows("squad-audit"), label="deviations")
    (verdict,) = only(rows("squad-audit"), measure="position in the passage").iloc
    contrasts = {
        "end − front": "end − front",
        "middle − ends": "middle − ends",
        "rotated to the end − to the front": "rotation: end − front",
    }
    lines = [(contrast, subset) for contrast in contrasts for subset in ("read", "")]
    figure, (axes,) = panels(3.1, 1)
    axes.axvspan(-verdict["margin"], verdict["margin"], color=BAND, alpha=0.45, linewidth=0)
    for at, (contrast, subset) in enumerate(lines):
        (row,) = only(frame, measure=contrast, subset=subset).iloc
        bar(axes, row, at, COLOURS[0], "o", markerfacecolor=COLOURS[0] if subset else "white")
    forest(axes, [contrasts[contrast] if subset else "" for contrast, subset in lines])
    axes.set_xlabel(
        "Deviations of a query's candidate scores; below 0 the front, or the ends, are preferred"
    )
    entries = {"texts that are read whole": handle(COLOURS[0], marker="o")}
    entries["all texts"] = handle(COLOURS[0], marker="o", markerfacecolor="white")
    legend(figure, {**entries, "within the margin": handle(BAND, linewidth=8, alpha=0.45)}, 3)
    return figure


def pool_covid_bias() -> Figure:
    """How pools of one kind change the scores of another, and its excess beyond permuted kinds."""
    return BIAS.draw(rows("pool-covid").assign(run=""), WIDTH)


def contamination_planted_inflation() -> Figure:
    """The change of nDCG@10 on the test by contamination, of the teacher and its students."""
    losses = {"lce": "LCE", "margin_mse": "MarginMSE", "kl": "KL div.", "ranknet": "RankNet"}
    models = {"bert_cat": "BERT_CAT", "tk": "TK"}
    changed = only(rows("contamination-planted"), split="test", share="1", statistic="difference")
    figure, (axes,) = panels(3.1, 1)
    for at, row in enumerate(changed.iloc):
        student = row["role"] == "student"
        bar(axes, row, at, COLOURS[student], MARKERS[student], markersize=5.5)
    forest(axes, [f"{models[row['model']]}, {losses[row['loss']]}" for row in changed.iloc])
    axes.set_xlabel("Change of nDCG@10 on the test by contamination with it")
    entries = {"teacher that saw the judgements": handle(COLOURS[0], marker=MARKERS[0])}
    legend(figure, {**entries, "student that did not": handle(COLOURS[1], marker=MARKERS[1])}, 2)
    return figure


def tripclick_planted_negatives() -> Figure:
    """nDCG@10 of TK by re-ranking depth, by what its negatives are and whether it was finished."""
    figure = replace(
        DEPTH_FIGURE,
        where="axis == 'depth' and statistic == 'mean' and sets > 1",
        panel=("system", "split"),
        heading="{system}, {split}",
        series="trained",
    )
    shown = TRIPCLICK.own(rows("tripclick-planted-10"))
    sets = shown[shown["whose"] == ""].groupby("system")["variant"].nunique()
    return figure.draw(shown.assign(sets=shown["system"].map(sets).fillna(0)), WIDTH)


FIGURES: Mapping[str, Callable[[], Figure]] = {
    "contamination-planted-inflation": contamination_planted_inflation,
    "encoders": encoders,
    "figure-1": figure_1,
    "pool-covid-bias": pool_covid_bias,
    "remedies-placed": partial(remedies, "remedies-placed"),
    "remedies-planted": partial(remedies, "remedies-planted"),
    "squad-audit-effects": squad_audit_effects,
    "story": story,
    "tripclick-planted-negatives": tripclick_planted_negatives,
}


def svg(figure: Figure) -> str:
    """Return a figure as SVG that follows the reader's light or dark screen."""
    out = io.StringIO()
    nothing = dict.fromkeys(
        ("Date", "Creator", "Format", "Type")
    )  # the same rows give the same bytes
    figure.savefig(out, format="svg", metadata=nothing, transparent=True)
    rules = "".join(
        f'[style*="{part}: {light}"]{{{part}:{dark} !important}}'
        for light, dark in PARTNERS.items()
        for part in ("fill", "stroke")
    )
    style = (
        f'<style type="text/css">@media screen and (prefers-color-scheme: dark){{{rules}}}</style>'
    )
    return re.sub(
        r"(<svg\b[^>]*>)", lambda opening: f"{opening[1]}\n {style}", out.getvalue(), count=1
    )


def draw(names: Iterable[str]) -> None:
    """Write figures of these names."""
    matplotlib.style.use(HERE / "figures.mplstyle")
    for name in names:
        (HERE / f"{name}.svg").write_text(svg(FIGURES[name]()), "utf-8")


if __name__ == "__main__":
    draw(sys.argv[1:] or FIGURES)
