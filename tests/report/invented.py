"""Invented rows about one collection: what it holds; and invented rows of two
histograms, two ATS curves, two trainings and three runs.

Nothing here was measured. The means are round figures whose Δ is easily worked by hand.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from positionbias.core.manifest import InputRef, Manifest
from positionbias.core.records import Interval
from positionbias.core.rows import Collected, save
from positionbias.evaluation.convergence import Finish
from positionbias.evaluation.measured import evaluation_rows
from positionbias.evaluation.records import Comparison, PerQuery, Result
from positionbias.positions.histogram import PositionFigure, PositionHistogram, VariationFigure
from positionbias.positions.measured import histogram_rows
from positionbias.probe.ats import AtsCurve
from positionbias.probe.measured import similarity_rows
from positionbias.probe.term_vectors import Probed

MEASURES = ("nDCG@10", "RR@10", "R@10")
QUERIES = 2000
# run -> its mean by each measure; the first is what the others are compared with
MEANS = {
    "tk-original": (0.395, 0.336, 0.594),
    "tk-rotated": (0.415, 0.355, 0.617),
    "bm25": (0.240, 0.232, 0.401),
}


def around(value: float, half: float) -> Interval:
    return Interval(value - half, value + half)


def evaluated(made: Collected, ending: str) -> None:
    """Add the runs' means, and what each further run differs by from the first."""
    random = np.random.default_rng(7)
    first, before = f"tk-original{ending}", MEANS["tk-original"]
    results = []
    for run, means in MEANS.items():
        for measure, value, other in zip(MEASURES, means, before, strict=True):
            where = (measure, "", "test", f"{run}{ending}", 1)
            values = np.clip(random.normal(value, 0.2, 40), 0, 1).round(4).tolist()
            payload = PerQuery([f"q{i}" for i in range(40)], values)
            results.append(Result(*where, value, around(value, 0.011), QUERIES, payload))
            if run == "tk-original":
                continue
            difference, bounds = value - other, around(value - other, 0.006)
            compared = Comparison(
                baseline=first,
                candidate=f"{run}{ending}",
                baseline_mean=other,
                candidate_mean=value,
                difference=difference,
                difference_interval=bounds,
                relative=difference / other,
                relative_as_printed=difference / value,
                relative_interval=around(difference / other, 0.014),
                effect_size=difference / 0.31,
                p_wilcoxon=0.00004,
                p_t=0.00005,
                p=0.0006,
                p_adjusted={"holm": 0.0012, "bonferroni": 0.0012},
                queries=QUERIES,
            )
            results.append(Result(*where, difference, bounds, QUERIES, compared))
    evaluation_rows(made, results, {})


def histogram(name: str, split: str, strength: float, cut: int) -> PositionHistogram:
    """Counts that fall off from the passage's beginning with ``strength``; 0 is flat but for what
    length alone does.
    """
    middles = [(i + 0.5) / 20 for i in range(20)]
    flat = np.array([1.0 if m < 0.85 else 1.0 - 2.2 * (m - 0.85) for m in middles])
    shares = flat * np.array([math.exp(-strength * 4.2 * m) + 0.12 for m in middles])
    shares, flat = shares / shares.sum(), flat / flat.sum()
    counts = np.round(shares * (11_877 - cut)).astype(int)
    shares = counts / counts.sum()

    def beside(value: float, expected: float) -> PositionFigure:
        less = value - expected
        return PositionFigure(value, expected, less, around(value, 0.01), around(less, 0.01))

    variation = float(abs(shares - flat).sum() / 2)
    return PositionHistogram(
        collection=name,
        split=split,
        edges=[i / 20 for i in range(21)],
        counts=counts.tolist(),
        expected=flat.tolist(),
        outcomes={"answers": 12_014, "located by offsets": 11_877 - cut, "cut": cut},
        unmatched={"not in the passage": 137},
        spans=int(counts.sum()),
        passages=4_497,
        mean=beside(float(shares @ middles), float(flat @ middles)),
        first_tenth=beside(float(shares[:2].sum()), float(flat[:2].sum())),
        first_fifth=beside(float(shares[:4].sum()), float(flat[:4].sum())),
        total_variation=VariationFigure(variation, 0.011, 0.014, around(variation, 0.01)),
        low=(shares - 0.004).clip(0).tolist(),
        high=(shares + 0.004).tolist(),
    )


def probed(system: str, fall: float) -> Probed:
    """A curve that starts near 1 and falls by ``fall`` over 140 words; the next Δ had too few
    terms.
    """
    deltas = range(141)
    spread = [0.03 + 0.05 * min(1.0, delta / 40) * (0.4 + fall) for delta in deltas]
    curve = AtsCurve(
        ats=[0.985 - fall * (1 - math.exp(-delta / 22)) for delta in deltas],
        terms=[max(20, int(900 * math.exp(-delta / 36))) for delta in deltas],
        pairs=[max(40, int(90_000 * math.exp(-delta / 30))) for delta in deltas],
        over_terms=[value / 2 for value in spread],
        over_pairs=spread,
        terms_after=19,
    )
    return Probed(system, curve, passages=4_497, at_limit=0, words=250_000, unknown=12)


def training(made: Collected, last_mats: float, **cells: Any) -> None:
    """Add the log and the end of a training of 6,000 steps, whose best is 4,200."""
    for step in range(0, 6001, 200):
        logged = {
            "loss": 0.16 + 0.84 * math.exp(-step / 900) if step else None,
            "validation nDCG@10": 0.42 - 0.36 * math.exp(-min(step, 4200) / 1400) - step % 11 / 1e4,
            "MATS": last_mats + (0.31 - last_mats) * math.exp(-step / 3200),
        }
        for series, value in logged.items():
            place = {"axis": "step", "at": float(step), "label": str(step)}
            made.add(series, "log", value, **place, **cells)
    numbers = {"steps": 6000, "step kept": 4200, "depth": 35, "validation": 0.402}
    for statistic, number in {**numbers, "validation of the first stage": 0.31}.items():
        made.add("training", statistic, number, **cells)
    end = {"answer": Finish.FINISHED.value, "reason": "6,000 steps"}
    made.add("training", "end", None, **end, **cells)


MEASURING = ("histogram", "ats", "training", "evaluate")  # commands that give rows


def measured(name: str = "planted", model: str = "tk") -> DataFrame:
    """Rows of ``MEASURING``: answers of two splits, the first at the front; two models, and BM25's
    run.
    """
    made = Collected({"collection": name})
    for split, strength, cut in (("train", 1.0, 0), ("test", 0.0, 312)):
        histogram_rows(made, histogram(name, split, strength, cut), study="histogram")
    for training_set, fall in (("original", 0.27), ("rotated", 0.05)):
        system = f"{model}-{training_set}"
        similarity_rows(made, probed(system, fall), study="ats", model=system)
        training(made, fall, study="training", model=system, seed=1)
    made.common = {**made.common, "study": "evaluate"}
    evaluated(made, model.removeprefix("tk"))
    return made.rows


def save_measured(folder: Path, *commands: str, title: str = "", **names: str) -> Path:
    """The rows of these commands (none: of all) as a folder."""
    rows = measured(**names)
    chosen = rows[rows["study"].isin(commands or MEASURING)]
    save(folder, chosen, manifest(title or "measured on planted"))
    return folder


def study(name: str = "planted") -> DataFrame:
    """Rows of what two collections hold, and of the rotation between them."""
    made = Collected({"study": "collection"})
    for collection in (name, f"{name}-rotated"):
        made.add("passages", "count", 20_000, collection=collection)
        for split, queries in (("train", 30_000), ("validation", 1_000), ("test", QUERIES)):
            for measure in ("queries", "judgements", "answers"):
                made.add(measure, "count", queries, collection=collection, split=split)
    turned: dict[str, Any] = {"study": "debias", "collection": f"{name}-rotated"}
    made.add("rotation", "share changed", 0.982, unit="share", count=20_000, **turned)
    for label, number in {"rotated": 19_640, "left as they were": 360}.items():
        made.add("rotation", "passages", number, axis="cause", label=label, **turned)
    return made.rows


def manifest(name: str = "position-bias on planted") -> Manifest:
    return Manifest(
        kind="study",
        name=name,
        command="posbias study position-bias planted --models tk --out study",
        settings={
            "models": ["tk"],
            "front_loading": 0.8,
            "candidates": 100,
            "training": {"batch_size": 32, "learning_rate": 0.0001, "margin": 1.0},
            "measures": list(MEASURES),
            "words": "blingfire",
        },
        seed=1,
        inputs=(InputRef("collection", "../planted", "5f" * 32),),
        content={"results": 60},
        licence="Apache-2.0",
        notes=(
            (
                "Original and rotated test passages share one candidate run, made on the original "
                "text."
            ),
        ),
        versions={"python": "3.12.3", "positionbias": "0.1.0", "torch": "2.7.0"},
        provenance={"created": "2025-01-02T03:04:05Z", "cores": 2},
    )


def save_study(
    folder: Path,
    name: str = "planted",
    *,
    title: str | None = None,
) -> Path:
    """The rows as a folder."""
    save(folder, study(name), manifest(title or f"position-bias on {name}"))
    return folder
