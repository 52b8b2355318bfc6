"""Invented results about one collection: two models, three measures, histograms, ATS curves,
training curves, findings.

Nothing here was measured. The means are round figures whose Δ is easily worked by hand.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from positionbias.core.convergence import Ending, Finish
from positionbias.core.interval import Interval
from positionbias.core.manifest import InputRef, Manifest
from positionbias.results.collections import (
    AnswersMoved,
    Origin,
    PassageFigures,
    PassageLengths,
    QueryFigures,
    QueryLengths,
    RotationFigures,
)
from positionbias.results.curves import AtsFigures, HistogramFigures
from positionbias.results.payloads import (
    KINDS,
    AtsCurve,
    Comparison,
    Finding,
    PerQuery,
    PositionHistogram,
    TrainingCurve,
    TrainingNotes,
)
from positionbias.results.result import FIGURES, Result, save_results

MEASURES = ("nDCG@10", "RR@10", "R@10")
QUERIES = 2000
# training -> measure -> mean on the original and on the rotated test passages
MEANS = {
    "tk-original": {"nDCG@10": (0.432, 0.395), "RR@10": (0.372, 0.336), "R@10": (0.630, 0.594)},
    "tk-rotated": {"nDCG@10": (0.416, 0.415), "RR@10": (0.357, 0.355), "R@10": (0.617, 0.617)},
}
METHOD = "bootstrap over 2,000 queries, clustered by passage"


def around(value: float, half: float) -> Interval:
    return Interval(value - half, value + half, method=METHOD)


def comparisons(name: str) -> list[Result]:
    """The two models on the same passages, original and rotated."""
    found = []
    for place, collection in enumerate((name, f"{name}-rotated")):
        for measure in MEASURES:
            before, after = (means[measure][place] for means in MEANS.values())
            difference = after - before
            large = abs(difference) > 0.01
            first, second = MEANS
            payload = Comparison(
                baseline=first,
                candidate=second,
                baseline_mean=before,
                candidate_mean=after,
                difference=difference,
                difference_interval=around(difference, 0.006),
                relative=difference / before,
                relative_as_printed=difference / after,
                relative_interval=around(difference / before, 0.014),
                effect_size=difference / 0.31,
                p_wilcoxon=0.00004 if large else 0.41,
                p_t=0.00005 if large else 0.39,
                p=0.0006 if large else 0.43,
                p_adjusted={"holm": 0.0018 if large else 0.86, "bonferroni": 0.9},
                queries=QUERIES,
            )
            bounds, where = payload.difference_interval, (collection, "test", second, 1)
            found.append(Result(measure, *where, difference, bounds, QUERIES, payload))
    return found


def effectiveness(name: str) -> list[Result]:
    random = np.random.default_rng(7)
    means = {
        **MEANS,
        "bm25": dict.fromkeys(MEASURES, (0.241, 0.240)),
        "position-only": dict.fromkeys(MEASURES, (0.118, 0.041)),
    }
    found = []
    for place, collection in enumerate((name, f"{name}-rotated")):
        for system, by_measure in means.items():
            for measure in MEASURES:
                value = by_measure[measure][place]
                values = np.clip(random.normal(value, 0.2, 40), 0, 1).round(4)
                payload = PerQuery(
                    [f"q{i}" for i in range(40)], values.tolist(), {"queries without candidates": 3}
                )
                found.append(
                    Result(
                        measure,
                        collection,
                        "test",
                        system,
                        1,
                        value,
                        around(value, 0.011),
                        QUERIES,
                        payload,
                    )
                )
    return found


def histogram(name: str, strength: float, cut: int) -> Result:
    """Counts that fall off from the passage's beginning with ``strength``; 0 is flat but for what
    length alone does.
    """
    middles = [(i + 0.5) / 20 for i in range(20)]
    flat = np.array([1.0 if m < 0.85 else 1.0 - 2.2 * (m - 0.85) for m in middles])
    shares = flat * np.array([math.exp(-strength * 4.2 * m) + 0.12 for m in middles])
    shares, flat = shares / shares.sum(), flat / flat.sum()
    counts = np.round(shares * 11_877 * (1 - cut / 11_877)).astype(int)
    mean, expected = float(shares @ middles), float(flat @ middles)
    variation = float(abs(shares - flat).sum() / 2)

    def figure(value: float, wanted: float, half: float) -> dict:
        bounds = {
            "low": max(0.0, value - half),
            "high": value + half,
            "level": 0.95,
            "method": "bootstrap over 4,497 passages",
        }
        return {"value": value, "expected": wanted, "interval": bounds}

    def beside(value: float, wanted: float, half: float) -> dict:
        less = value - wanted
        bounds = {
            "low": less - half,
            "high": less + half,
            "level": 0.95,
            "method": "bootstrap over 4,497 passages",
        }
        return {**figure(value, wanted, half), "difference": less, "difference_interval": bounds}

    figures = {
        "mean": beside(mean, expected, 0.006),
        "first_tenth": beside(float(shares[:2].sum()), float(flat[:2].sum()), 0.009),
        "first_fifth": beside(float(shares[:4].sum()), float(flat[:4].sum()), 0.01),
        "total_variation": figure(variation, 0.0, 0.01)
        | {"by_chance": 0.011, "by_chance_high": 0.014},
        "settings": {"words": "blingfire", "matches": "all", "point": "start", "bins": 20},
        "sample": {"spans": int(counts.sum()), "passages": 4_497},
    }
    outcomes = {
        "answers": 12_014,
        "located by offsets": 11_877 - cut,
        "located by matching": 0,
        "unmatched": 137,
        "empty": 0,
        "cut by the rotation that made this collection": cut,
    }
    payload = PositionHistogram(
        [i / 20 for i in range(21)],
        counts.tolist(),
        flat.tolist(),
        outcomes,
        HistogramFigures.from_rows(figures),
    )
    bounds = Interval(**figures["mean"]["interval"])
    return Result(
        "answer positions", name, "test", "answers", 1, mean, bounds, int(counts.sum()), payload
    )


def ats(system: str, collection: str, fall: float) -> Result:
    """A curve that starts near 1 and falls by ``fall`` over 140 words; the last Δ had too few
    terms.
    """
    deltas = list(range(141))
    similarity = [
        0.985 - fall * (1 - math.exp(-delta / 22)) + 0.004 * math.sin(delta / 5) for delta in deltas
    ]
    terms = [max(20, int(900 * math.exp(-delta / 36))) for delta in deltas]
    pairs = [max(40, int(90_000 * math.exp(-delta / 30))) for delta in deltas]
    drops = [similarity[0] - value for value in similarity[1:]]
    figures = {
        "mats": sum(drops) / (len(drops) - 1),
        "mats_plain": sum(drops) / len(drops),
        "mats_std": float(np.std(drops)),
        "max_delta": 140,
        "minimum_terms": 20,
        "cut_at": 141,
        "std_pairs_is": "deviation over pairs, from a sample of about 2,000 pairs a Δ, seed 1",
    }
    deviation = [0.03 + 0.05 * min(1.0, delta / 40) * (0.4 + fall) for delta in deltas]
    payload = AtsCurve(
        deltas,
        similarity,
        terms,
        pairs,
        [d / 2 for d in deviation],
        deviation,
        AtsFigures.from_rows(figures),
    )
    return Result("MATS", collection, "all", system, 1, figures["mats"], None, 4_497, payload)


def training(system: str, name: str, last_mats: float) -> Result:
    steps = list(range(0, 6001, 200))
    loss = [None, *(0.16 + 0.84 * math.exp(-step / 900) for step in steps[1:])]
    ndcg = [0.42 - 0.36 * math.exp(-step / 1400) - 0.000004 * max(0, step - 4200) for step in steps]
    mats = [last_mats + (0.31 - last_mats) * math.exp(-step / 3200) for step in steps]
    best = steps[int(np.argmax(ndcg))]
    payload = TrainingCurve(
        steps,
        {"loss": loss, "validation nDCG@10": ndcg, "MATS": mats},
        TrainingNotes(best_step=best, stopped="6,000 steps"),
        Ending(Finish.FINISHED, max(ndcg), 35, 0.31),
    )
    return Result("training", name, "validation", system, 1, max(ndcg), None, len(steps), payload)


def statistics(name: str) -> list[Result]:
    """Passages, and the queries of each split, in the form that ``posbias show`` gives."""
    made = Origin(
        command="posbias import planted", settings={"front_loading": 0.8}, licence="Apache-2.0"
    )
    quantiles = {"minimum": 20, "median": 56}
    words = PassageLengths(
        words=1_140_000, mean_words=57.0, words_quantiles=quantiles, without_words=0, share_over=0.0
    )
    passages = PassageFigures(passages=20_000, manifest=made, lengths=words)
    asked = QueryLengths(
        words=9, mean_words=9.4, words_quantiles={"median": None}, without_words=0, share_over=0.012
    )
    found = [Result("passages", name, "", "", 1, 20_000.0, None, 20_000, passages)]
    for split, queries in (("train", 30_000), ("validation", 1_000), ("test", QUERIES)):
        figures = QueryFigures(queries=queries, judgements=queries, answers=queries, lengths=asked)
        found.append(Result("queries", name, split, "", 1, float(queries), None, queries, figures))
    return found


FINDINGS = (
    ("45.4\u00a0% of 11,879 answers start in the first fifth (95 % interval 44.4 to 46.4).", True),
    ("tk-rotated: nDCG@10 does not change beyond ±3\u00a0%.", False),
    ("The rotation cut through the answer of 52 of 2,000 test queries (2.6\u00a0%).", None),
)


def study(name: str = "planted") -> list[Result]:
    """All results."""
    answers = {"test": AnswersMoved(answers=2_000, kept=1_948, cut=52)}
    rotation = RotationFigures(
        passages={"rotated": 19_640, "left as they were": 360}, answers=answers
    )
    return [
        *(
            Result("finding", name, "test", "study", 1, None, None, QUERIES, Finding(*finding))
            for finding in FINDINGS
        ),
        *statistics(name),
        *statistics(f"{name}-rotated"),
        Result(
            "rotation", f"{name}-rotated", "", "words, blingfire", 1, 0.982, None, 20_000, rotation
        ),
        histogram(name, 1.0, 0),
        histogram(f"{name}-rotated", 0.0, 312),
        *effectiveness(name),
        *comparisons(name),
        ats("tk-original", name, 0.27),
        ats("tk-rotated", name, 0.05),
        ats("tk-original", f"{name}-rotated", 0.25),
        ats("tk-rotated", f"{name}-rotated", 0.045),
        training("tk-original", name, 0.21),
        training("tk-rotated", name, 0.09),
    ]


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
    kinds: tuple[str, ...] = (FIGURES, *KINDS),
) -> Path:
    """The results as a folder; ``kinds`` keeps some of them, where a test needs no more."""
    record = manifest(title or f"position-bias on {name}")
    save_results(folder, [result for result in study(name) if result.kind in kinds], record)
    return folder


def renamed(results: list[Result], text: str) -> list[Result]:
    """The same results with a hostile name wherever a name can stand."""
    return [
        replace(result, system=f"{result.system}{text}", collection=f"{result.collection}{text}")
        for result in results
    ]
