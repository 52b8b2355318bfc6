"""Where answers sit, as rows: bins, summaries beside an unbiased collection, what became of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from positionbias.core.collection import find_collection
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.engine.choose import Engine
from positionbias.positions.histogram import (
    POINTS,
    Beside,
    PositionHistogram,
    position_histogram,
    splits_with_answers,
)
from positionbias.positions.settings import HistogramOptions
from positionbias.text.splitter import USUAL_WORDS

ANSWERS = "answer positions"


def histogram_rows(made: Collected, histogram: PositionHistogram, **cells: Any) -> None:
    """Add a histogram: a row a bin, its summary beside that of an unbiased collection, and what
    became of the answers.
    """
    own: dict[str, Any] = {"split": histogram.split, **cells}
    _bins(made, histogram, own)
    counted: dict[str, Any] = {"count": histogram.spans, "counted": "answers"}
    counted["reason"] = histogram.coarse
    figures = {
        "mean": histogram.mean,
        "first tenth": histogram.first_tenth,
        "first fifth": histogram.first_fifth,
    }
    for name, figure in figures.items():
        unit = "share" if name != "mean" else ""
        if figure is None:
            made.add(ANSWERS, name, None, answer=Beside.COARSE, **counted, **own)
            continue
        judged: dict[str, Any] = {
            "margin": POINTS,
            "answer": figure.beside,
            "expected": figure.expected,
        }
        bounds = figure.interval
        made.add(ANSWERS, name, figure.value, bounds, unit=unit, **judged, **counted, **own)
        less = figure.difference_interval
        made.add(ANSWERS, f"{name} less unbiased", figure.difference, less, unit=unit, **own)
    if (variation := histogram.total_variation) is not None:
        made.add(
            ANSWERS, "total variation", variation.value, variation.interval, expected=0.0, **own
        )
        high = variation.by_chance_high
        made.add(ANSWERS, "total variation by chance", variation.by_chance, high=high, **own)
    made.add(ANSWERS, "passages counted", histogram.passages, **own)
    causes = {"answers": histogram.outcomes, "unmatched": histogram.unmatched}
    if (check := histogram.check) is not None:
        made.add(ANSWERS, "spans checked", check.spans, **own)
        made.add(ANSWERS, "spans among matches", check.among_matches, **own)
        causes |= {"missed": check.missed, "extra match": check.extra}
    for name, numbers in causes.items():
        for cause, number in numbers.items():
            label = cause.replace("_", " ")
            made.add(ANSWERS, name, number, axis="cause", label=label, **own)


def _bins(made: Collected, histogram: PositionHistogram, cells: dict[str, Any]) -> None:
    total = sum(histogram.counts)
    bounds: list[Interval | None] = [None] * len(histogram.counts)
    if histogram.low:
        ends = zip(histogram.low, histogram.high, strict=True)
        bounds = [Interval(low, high) for low, high in ends]
    for place, (left, right) in enumerate(pairwise(histogram.edges)):
        count = histogram.counts[place]
        made.add(
            ANSWERS,
            "share",
            count / total if total else 0.0,
            bounds[place],
            axis="bin",
            at=(left + right) / 2,
            label=f"{left:.2f} to {right:.2f}",
            expected=histogram.expected[place],
            count=count,
            counted="answers",
            unit="share",
            **cells,
        )


def measure_histograms(
    collections: Sequence[CollectionLike],
    splits: Sequence[str],
    options: HistogramOptions,
    engine: Engine,
) -> Measurements:
    """Measure the answers of collections in these splits, by default in all that have some.

    Raises:
        InputError: as ``position_histogram``.
    """
    opened = [find_collection(place) for place in collections]
    made = Collected({"study": "histogram"})
    with engine.open() as map_shards:
        for collection in opened:
            for split in splits or splits_with_answers(collection):
                counted = position_histogram(collection, split, options, map_shards=map_shards)
                histogram_rows(made, counted, collection=collection.name)
    licences = dict.fromkeys(item.manifest.licence for item in opened if item.manifest.licence)
    return Measurements(
        rows=made.rows,
        command="histogram",
        settings=asdict(options),
        read=[Read("collection", item.path, item.checksum) for item in opened],
        seed=options.seed,
        licence="; ".join(licences),
        notes=(
            "Unbiased means that every possible start of an answer, 0 to n − L, is equally likely.",
        ),
        packages=("numpy", USUAL_WORDS),
        host=engine.host,
    )
