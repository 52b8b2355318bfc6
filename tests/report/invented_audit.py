"""An invented audit: qualities by bucket, gaps, responses, thirds, verdicts and examples of systems
that lean by a set amount.

Nothing here was measured. ``lean`` 1 loses 0.1 of nDCG@10 from the first bucket to the last, and 45
% of its worth where its evidence moves there; 0 has no preference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.results.audit import GapFigures
from positionbias.results.buckets import (
    QueryBuckets,
    ResponseCurve,
    ResponseFigures,
    SegmentBuckets,
    SegmentFigures,
    Slope,
)
from positionbias.results.payloads import Contrast, Effect, Preference, Question, Verdict
from positionbias.results.result import Facts, Result, save_results
from tests.bucket_figures import bucket_figures

QUALITIES = {"nDCG@10": 0.80, "RR@10": 0.76, "R@10": 0.93}
CHARACTERS = (0, 100, 200, 300, 400, 500, 3120)
GROUPS = ("", "20 to 91 words", "92 to 121 words", "122 to 158 words", "159 to 653 words")
QUERIES = 5_928
ONE = {"minilm": 0.9}
FOUR = {
    "minilm": 0.9,
    "tk trained on rotated passages": 0.05,
    "bert_cat-original": 1.6,
    "models/a-long-name-of-a-model-v2": 0.4,
}


def buckets(
    system: str,
    lean: float,
    scale: str,
    quality: str,
    group: str = "",
    *,
    first_stage: bool = False,
) -> Result:
    """PSI over one scale; the last of 20 relative buckets is too small, and has no mean."""
    edges = [i / 20 for i in range(21)] if scale == "relative" else list(map(float, CHARACTERS))
    random = np.random.default_rng([len(system), len(scale), len(quality), len(group)])
    number, places = len(edges) - 1, np.linspace(0, 1, len(edges) - 1)
    means = (
        QUALITIES[quality]
        - 0.1 * lean * places
        + 0.03 * np.sin(7 * places)
        + random.normal(0, 0.006, number)
    )
    share = 1.0 if group == "" else 0.25
    counts = [int(share * QUERIES * w) for w in np.exp(-1.6 * places) / np.exp(-1.6 * places).sum()]
    half = 0.9 / np.sqrt(np.maximum(counts, 1))
    shown: list[float | None] = [round(float(m), 4) for m in means]
    lows = [round(float(m - h), 4) for m, h in zip(means, half, strict=True)]
    highs = [round(float(m + h), 4) for m, h in zip(means, half, strict=True)]
    low, high = [*map(float, lows)], [*map(float, highs)]
    left_out = 0
    if scale == "relative":
        counts[-1], shown[-1], left_out = 7, None, 1
    kept = [value for value in shown if value is not None]
    psi = 1 - min(kept) / max(kept)
    figures = bucket_figures(
        psi=psi,
        null_mean=0.041,
        p=0.0004 if lean > 0.2 else 0.41,
        psi_debiased=psi - 0.041,
        psi_debiased_low=psi - 0.041 - 0.03,
        psi_debiased_high=psi - 0.041 + 0.03,
        minimum=20,
        left_out=left_out,
        permutations=2_000,
        level=0.95,
        slope=-0.1 * lean,
        slope_low=-0.1 * lean - 0.02,
        slope_high=-0.1 * lean + 0.02,
        slope_p=0.001 if lean > 0.2 else 0.5,
        slope_unit="the whole passage" if scale == "relative" else "100 characters",
        spearman=-0.8 * math.tanh(lean),
        spearman_low=-0.8 * math.tanh(lean) - 0.15,
        spearman_high=-0.8 * math.tanh(lean) + 0.15,
        kendall=-0.6 * math.tanh(lean),
        kendall_low=-0.6 * math.tanh(lean) - 0.15,
        kendall_high=-0.6 * math.tanh(lean) + 0.15,
    )
    lows_, highs_ = (
        [None if m is None else b for m, b in zip(shown, part, strict=True)] for part in (low, high)
    )
    payload = QueryBuckets(
        scale, quality, edges, counts, shown, lows_, highs_, group, figures=figures
    )
    facts = Facts(model="first stage" if first_stage else "bert_dot")
    return Result("PSI", "squad", "test", system, 1, psi, None, sum(counts), payload, facts)


def blind(name: str, slope: float) -> Result:
    """One of the scorers that see no order, beside the audited systems."""
    result = buckets(name, -10 * slope, "relative", "nDCG@10")
    return replace(
        result, measure="position-blind scorers", facts=Facts(model="position-blind scorers")
    )


def gap(system: str, lean: float, quality: str) -> Result:
    mean = QUALITIES[quality]
    change = -0.04 * lean
    figures = GapFigures(
        quality=quality,
        draws=4,
        queries=QUERIES,
        original=mean,
        rotated=mean + change,
        p=0.0002 if lean > 0.2 else 0.3,
        detectable=None,
        first_changed=0.08 + 0.05 * lean,
        overlap=0.93 - 0.06 * lean,
        cut=0.021,
        truncated=0.117,
    )
    bounds = Interval(change - 0.006, change + 0.006, method="bootstrap over 1,204 passages")
    return Result(
        "rotation gap",
        "squad",
        "test",
        system,
        1,
        change,
        bounds,
        QUERIES,
        figures,
        Facts(model="bert_dot"),
    )


def movement(system: str, lean: float) -> Result:
    edges = [round(-1 + i / 5, 1) for i in range(11)]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    means = [round(-0.1 * lean * m - 0.004, 4) for m in middles]
    half = [0.012 + 0.03 * abs(m) for m in middles]
    counts = [int(3_000 * (1.05 - abs(m))) for m in middles]
    lows = [m - h for m, h in zip(means, half, strict=True)]
    highs = [m + h for m, h in zip(means, half, strict=True)]
    payload = QueryBuckets(
        "moved", "change of nDCG@10", edges, counts, means, lows, highs, figures=bucket_figures()
    )
    facts = Facts(model="bert_dot")
    return Result(
        "rotation gap by movement",
        "squad",
        "test",
        system,
        1,
        None,
        None,
        sum(counts),
        payload,
        facts,
    )


def gain(system: str, lean: float) -> Result:
    edges = [i / 20 for i in range(21)]
    means = [round(0.05 - 0.08 * lean * (a + b) / 2, 4) for a, b in pairwise(edges)]
    figures = bucket_figures(
        slope=-0.08 * lean, slope_low=-0.08 * lean - 0.01, slope_high=-0.08 * lean + 0.01
    )
    lows, highs = [m - 0.02 for m in means], [m + 0.02 for m in means]
    payload = QueryBuckets(
        "relative",
        "gain in nDCG@10 over bm25",
        edges,
        [290] * 20,
        means,
        lows,
        highs,
        figures=figures,
    )
    facts = Facts(model="bert_dot")
    return Result(
        "gain by position", "squad", "test", system, 1, -0.08 * lean, None, 5_800, payload, facts
    )


def response(system: str, lean: float) -> Result:
    places = [i / 10 for i in range(11)]
    scores = [round(0.35 * lean * (math.exp(-2.5 * p) - 0.36), 4) for p in places]
    value = scores[-1] - scores[0]
    slope = Slope(value=value, low=value - 0.05, high=value + 0.05, p=0.0001)
    payload = ResponseCurve(
        places,
        [2_000] * 11,
        scores,
        [s - 0.03 for s in scores],
        [s + 0.03 for s in scores],
        [0.78 - 0.06 * lean * p for p in places],
        ResponseFigures(unit=4.21, queries=2_000, left_out=0, level=0.95, slope=slope),
    )
    return Result(
        "position response",
        "squad",
        "test",
        system,
        1,
        value,
        None,
        2_000,
        payload,
        Facts(model="bert_dot"),
    )


def segments(system: str, lean: float) -> Result:
    means = [0.78 + 0.08 * lean, 0.78 - 0.02 * lean, 0.77 - 0.05 * lean]
    lows, highs = [m - 0.004 for m in means], [m + 0.004 for m in means]
    figures = SegmentFigures(
        difference=means[0] - means[2], low=0.1 * lean, high=0.16 * lean + 0.02, left_out=0
    )
    payload = SegmentBuckets(
        "segment", "cosine", [0, 1 / 3, 2 / 3, 1], [1_204] * 3, means, lows, highs, figures=figures
    )
    facts = Facts(model="bert_dot")
    return Result(
        "segment similarity",
        "squad",
        "test",
        system,
        1,
        means[-1] - means[0],
        None,
        1_204,
        payload,
        facts,
    )


def effect(
    contrast: Contrast,
    unit: str,
    value: float,
    half: float,
    *,
    queries: int = 1_944,
    subset: str = "",
) -> Effect:
    return Effect(contrast, unit, value, value - half, value + half, 1.4 * half, queries, subset)


def verdict(system: str, lean: float, *, listwise: bool = False) -> list[Result]:
    """The place in the passage: −45 % of the worth at a lean of 1; the order in the list: +1.3
    ranks if ``listwise``.
    """
    value = -0.45 * lean
    effects = [
        effect(Contrast.ENDS, "worth", value, 0.05, subset="read"),
        effect(Contrast.ENDS, "ranks", 5 * value, 0.5, subset="read"),
        effect(Contrast.ENDS, "nDCG@10", value / 5, 0.012, subset="read"),
        effect(Contrast.MIDDLE, "worth", 0.1 * value, 0.06, subset="read"),
        effect(Contrast.ROTATION, "worth", 0.7 * value, 0.09, queries=1_204, subset="read"),
        effect(Contrast.ENDS, "worth", 1.2 * value, 0.045, queries=2_201),
    ]
    if value + 0.05 < 0:
        preference, exceeds, wanted = Preference.FRONT, value + 0.05 < -0.1, None
        sentences = [
            (
                f"{system} prefers the front: evidence at the end scores {-value:.0%} of its worth "
                f"less (95 % CI [{-value - 0.05:.0%}, {-value + 0.05:.0%}])."
            ),
            (
                f"A relevant passage whose evidence stands last falls {-5 * value:.1f} places "
                f"({-value / 5:.3f} nDCG@10)."
            ),
            "Train on rotated passages (posbias debias), then audit again.",
        ]
    else:
        preference, exceeds, wanted = Preference.NONE, None, None
        sentences = [
            (
                f"{system}: no preference larger than {abs(value) + 0.05:.0%} of the evidence's "
                "worth (margin 10 %)."
            )
        ]
    passage = Verdict(
        Question.PASSAGE,
        preference,
        sentences,
        effects,
        0.1,
        exceeds,
        1_944,
        wanted,
        reads=180.0,
        unread=0.117,
    )
    order = [effect(Contrast.ORDER, "ranks", 1.3, 0.4, queries=150)]
    if listwise:
        said = [
            (
                f"{system} prefers the first places of the list: 1.3 ranks from first to last "
                "place (95 % CI [0.9, 1.7])."
            )
        ]
        in_list = Verdict(Question.LIST, Preference.FIRST, said, order, 0.5, True, 150)
    else:
        said = [f"{system} scores each passage alone: the order of the list changes nothing."]
        in_list = Verdict(Question.LIST, Preference.NONE, said, queries=20)
    facts = Facts(model="bert_dot")
    first = effects[0]
    bounds = Interval(first.low, first.high)  # type: ignore[arg-type]
    return [
        Result("verdict", "squad", "test", system, 1, first.value, bounds, 1_944, passage, facts),
        Result("verdict", "squad", "test", system, 1, None, None, in_list.queries, in_list, facts),
    ]


def of_runs(system: str = "splade.run", *, value: float | None = None) -> Result:
    """The verdict on a run: from two runs where there is a ``value`` in nDCG@10, else the answer is
    unknown.
    """
    if value is None:
        said = [f"{system}: cannot tell from one run: rotate the collection and rank it again."]
        return Result(
            "verdict",
            "squad",
            "test",
            system,
            1,
            None,
            None,
            900,
            Verdict(Question.PASSAGE, Preference.UNKNOWN, said, wanted=4_000),
        )
    effects = [
        effect(Contrast.RUNS, "nDCG@10", value, 0.01, queries=900),
        effect(Contrast.RUNS, "ranks", 20 * value, 0.4, queries=900),
    ]
    said = [f"{system} prefers the front: {value:+.3f} nDCG@10 when evidence moves to the end."]
    payload = Verdict(Question.PASSAGE, Preference.FRONT, said, effects, 0.02, True, 900)
    return Result("verdict", "squad", "test", system, 1, value, None, 900, payload)


def audit(systems: Mapping[str, float] = ONE, *, first_stage: bool = True) -> list[Result]:
    """All results of one audit of these systems, by how far each leans to the front."""
    found: list[Result] = []
    for system, lean in systems.items():
        found += verdict(system, lean, listwise=system.startswith("bert_cat"))
    for system, lean in [*systems.items(), *([("bm25", 0.1)] if first_stage else [])]:
        first = system == "bm25"
        for quality in QUALITIES:
            found += [
                buckets(system, lean, scale, quality, first_stage=first)
                for scale in ("relative", "characters")
            ]
        found += [
            buckets(system, lean, "relative", "nDCG@10", group, first_stage=first)
            for group in GROUPS[1:]
        ]
        if not first:
            found += [gap(system, lean, quality) for quality in QUALITIES]
            found += [
                gain(system, lean),
                movement(system, lean),
                response(system, lean),
                segments(system, lean),
            ]
    found += [blind("tf-idf cosine", 0.04), blind("random order", -0.03), blind("bm25", -0.01)]
    return found


def manifest(name: str = "Audit on squad") -> Manifest:
    return Manifest(
        kind="results",
        name=name,
        command="posbias audit squad --split test --model minilm --out audit",
        settings={"draws": 4, "minimum_bucket": 20},
        seed=1,
        versions={"python": "3.12.3", "positionbias": "0.1.0"},
    )


def save_audit(
    folder: Path, systems: Mapping[str, float] = ONE, *, name: str = "Audit on squad"
) -> Path:
    save_results(folder, audit(systems), manifest(name))
    return folder


def without_lengths(results: Sequence[Result]) -> list[Result]:
    """Leave out quality within length groups, whose figure has many panels."""
    return [result for result in results if not getattr(result.payload, "group", "")]


def few(results: Sequence[Result], *measures: str) -> list[Result]:
    """The verdicts and these measures: a page of few figures."""
    return without_lengths(
        [one for one in results if isinstance(one.payload, Verdict) or one.measure in measures]
    )


def save_verdicts(
    folder: Path, systems: Mapping[str, float] = ONE, *, name: str = "Audit on squad"
) -> Path:
    """Save the verdicts and rotation gaps of an audit."""
    save_results(folder, few(audit(systems), "rotation gap"), manifest(name))
    return folder


def renamed(results: list[Result], text: str) -> list[Result]:
    """The same results with ``text`` wherever a name can stand."""
    return [
        replace(result, system=f"{result.system}{text}", collection=f"{result.collection}{text}")
        for result in results
    ]
