"""An invented audit: verdicts, qualities by bucket, gaps, responses and thirds of systems that lean
by a set amount.

Nothing here was measured. ``lean`` 1 loses 0.1 of nDCG@10 from the first bucket to the last, and 45
% of its worth where its evidence moves there; 0 has no preference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from positionbias.audit.answers import (
    READ_WHOLE,
    Contrast,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.audit import EVIDENCE
from positionbias.audit.measured import audit_rows
from positionbias.audit.query_effects import BY_QUERY, QueryEffects
from positionbias.audit.rotations import GAP, Gap
from positionbias.audit.systems import FIRST_STAGE, RERANKER, RUN, Measurement
from positionbias.audit.two_runs import VERDICT
from positionbias.core import rows as of_rows
from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.core.rows import Collected
from positionbias.evaluation.described import (
    BLIND,
    GAIN,
    MOVEMENT,
    PSI,
    RESPONSE,
    SEGMENTS,
    Correlation,
    Psi,
    QueryBuckets,
    ResponseCurve,
    ResponseFigures,
    SegmentBuckets,
    Slope,
)
from tests.bucket_figures import bucket_figures

QUALITIES = {"nDCG@10": 0.80, "RR@10": 0.76, "R@10": 0.93}
GROUPS = ("", "20 to 91 words", "92 to 121 words", "122 to 158 words", "159 to 653 words")
QUERIES = 5_928
ONE = {"minilm": 0.9}
FOUR = {
    "minilm": 0.9,
    "tk trained on rotated passages": 0.05,
    "bert_cat-original": 1.6,
    "models/a-long-name-of-a-model-v2": 0.4,
}


def buckets(system: str, lean: float, quality: str, group: str = "") -> QueryBuckets:
    """Quality by position in 20 buckets; the last is too small, and has no mean."""
    random = np.random.default_rng([len(system), len(quality), len(group)])
    places = np.linspace(0, 1, 20)
    means = QUALITIES[quality] - 0.1 * lean * places + random.normal(0, 0.006, 20)
    weights = np.exp(-1.6 * places) / np.exp(-1.6 * places).sum()
    counts = [int((0.25 if group else 1) * QUERIES * weight) for weight in weights]
    counts[-1] = 7
    half = 0.9 / np.sqrt(counts)
    shown: list[float | None] = [*map(float, means[:-1]), None]
    lows: list[float | None] = [*map(float, (means - half)[:-1]), None]
    highs: list[float | None] = [*map(float, (means + half)[:-1]), None]
    psi, correlation = 1 - min(means[:-1]) / max(means[:-1]), -0.8 * math.tanh(lean)
    figures = bucket_figures(
        psi=Psi(
            value=psi,
            null_mean=0.041,
            p=0.0004 if lean > 0.2 else 0.41,
            debiased=psi - 0.041,
            low=psi - 0.071,
            high=psi - 0.011,
        ),
        slope=Slope(value=-0.1 * lean, low=-0.1 * lean - 0.02, high=-0.1 * lean + 0.02, p=0.001),
        spearman=Correlation(value=correlation, low=correlation - 0.15, high=correlation + 0.15),
        left_out=1,
    )
    edges = [number / 20 for number in range(21)]
    return QueryBuckets(
        "relative", quality, edges, counts, shown, lows, highs, group, figures=figures
    )


def gap(lean: float, quality: str) -> Gap:
    """What rotation changes: −0.04 at a lean of 1."""
    change = -0.04 * lean
    return Gap(
        quality=quality,
        draws=4,
        queries=QUERIES,
        change=change,
        interval=Interval(change - 0.006, change + 0.006),
        original=QUALITIES[quality],
        rotated=QUALITIES[quality] + change,
        p=0.0002 if lean > 0.2 else 0.3,
        detectable=None,
        first_changed=0.08 + 0.05 * lean,
        overlap=0.93 - 0.06 * lean,
        cut=0.021,
        truncated=0.117,
    )


def straight(lean: float, scale: str, quality: str, edges: Sequence[float]) -> QueryBuckets:
    """Differences on a straight line over the buckets."""
    means = [round(-0.1 * lean * (low + high) / 2, 4) for low, high in pairwise(edges)]
    lows, highs = [mean - 0.02 for mean in means], [mean + 0.02 for mean in means]
    slope = Slope(value=-0.1 * lean, low=-0.1 * lean - 0.01, high=-0.1 * lean + 0.01)
    figures = bucket_figures(slope=slope)
    return QueryBuckets(
        scale, quality, edges, [290] * len(means), means, lows, highs, figures=figures
    )


def response(lean: float) -> ResponseCurve:
    """A score that falls from the first place to the last."""
    places = [place / 10 for place in range(11)]
    scores = [round(0.35 * lean * (math.exp(-2.5 * place) - 0.36), 4) for place in places]
    value = scores[-1] - scores[0]
    slope = Slope(value=value, low=value - 0.05, high=value + 0.05, p=0.0001)
    return ResponseCurve(
        places,
        [2_000] * 11,
        scores,
        [score - 0.03 for score in scores],
        [score + 0.03 for score in scores],
        [0.78 - 0.06 * lean * place for place in places],
        ResponseFigures(unit=4.21, queries=2_000, left_out=0, level=0.95, slope=slope),
    )


def thirds(lean: float) -> SegmentBuckets:
    """A vector that is more like its passage's first third."""
    means = [0.78 + 0.08 * lean, 0.78 - 0.02 * lean, 0.77 - 0.05 * lean]
    lows, highs = [mean - 0.004 for mean in means], [mean + 0.004 for mean in means]
    bounds = Interval(0.1 * lean, 0.16 * lean + 0.02)
    return SegmentBuckets(1_204, means, lows, highs, means[0] - means[2], bounds, 0)


def effect(
    contrast: Contrast,
    unit: str,
    value: float,
    half: float,
    *,
    queries: int = 1_944,
    subset: str = "",
) -> Effect:
    """An effect with an interval of ± half."""
    return Effect(contrast, unit, value, value - half, value + half, 1.4 * half, queries, subset)


def passage_verdict(lean: float) -> Verdict:
    """−45 % of the worth at a lean of 1, within what the system reads."""
    value = -0.45 * lean
    effects = [
        effect(Contrast.ENDS, "worth", value, 0.05, subset=READ_WHOLE),
        effect(Contrast.ENDS, "ranks", 5 * value, 0.5, subset=READ_WHOLE),
        effect(Contrast.ENDS, "nDCG@10", value / 5, 0.012, subset=READ_WHOLE),
        effect(Contrast.MIDDLE, "worth", 0.1 * value, 0.06, subset=READ_WHOLE),
        effect(Contrast.ROTATION, "worth", 0.7 * value, 0.09, queries=1_204, subset=READ_WHOLE),
        effect(Contrast.ENDS, "worth", 1.2 * value, 0.045, queries=2_201),
        effect(Contrast.ENDS, "nDCG@10", value / 4, 0.012, queries=2_201),
    ]
    prefers = value + 0.05 < 0
    return Verdict(
        Question.PASSAGE,
        Preference.FRONT if prefers else Preference.NONE,
        effects,
        0.1,
        value + 0.05 < -0.1 if prefers else None,
        1_944,
        reads=180.0,
        unread=0.117,
        drawn=2_201,
        depth=30,
        among="bm25",
    )


def list_verdict(listwise: bool) -> Verdict:
    """The order in the list: +1.3 ranks if ``listwise``."""
    if not listwise:
        return Verdict(Question.LIST, Preference.NONE, margin=0.5)
    order = [effect(Contrast.ORDER, "ranks", 1.3, 0.4, queries=150)]
    return Verdict(Question.LIST, Preference.FIRST, order, 0.5, True, 150, drawn=150)


def by_query(lean: float) -> QueryEffects:
    """Three queries, of which the second changes most."""
    return QueryEffects(
        "nDCG@10",
        places=np.array([0.0, 0.5, 1.0]),
        words=np.array([60.0, 80.0, 40.0]),
        before=np.array([1.0, 1.0, 0.5]),
        ranks_before=np.array([1.0, 1.0, 3.0]),
        after=np.array([1.0, 0.5 - 0.1 * lean, 0.5]),
        ranks_after=np.array([1.0, 3.0, np.nan]),
        moved={
            (Contrast.ENDS, ""): {"q1": -1.0, "q2": -2.0 * lean},
            (Contrast.WORTH, ""): {"q1": 4.0, "q2": 4.0},
        },
    )


def of_run(system: str = "splade.run", verdict: Verdict | None = None) -> Measurement:
    """The verdict on a run: from two runs, by default −0.03 nDCG@10."""
    effects = [
        effect(Contrast.RUNS, "nDCG@10", -0.03, 0.01, queries=900),
        effect(Contrast.RUNS, "ranks", -0.6, 0.4, queries=900),
    ]
    usual = Verdict(
        Question.PASSAGE, Preference.FRONT, effects, 0.02, False, 900, drawn=900, rotations=1
    )
    return Measurement(system, RUN, VERDICT, verdict or usual)


def verdicts(systems: Mapping[str, float]) -> list[Measurement]:
    """The verdicts on these systems."""
    return [
        Measurement(system, RERANKER, VERDICT, verdict)
        for system, lean in systems.items()
        for verdict in (passage_verdict(lean), list_verdict(system.startswith("bert_cat")))
    ]


def audit(systems: Mapping[str, float] = ONE) -> list[Measurement]:
    """All that one audit of these systems measured, by how far each leans to the front."""
    made = verdicts(systems)
    made.append(Measurement("bm25", "", EVIDENCE, {"queries audited": QUERIES}))
    for system, lean in [*systems.items(), ("bm25", 0.1)]:
        role = FIRST_STAGE if system == "bm25" else RERANKER
        parts: list[tuple[str, Any]] = [
            (PSI, buckets(system, lean, quality)) for quality in QUALITIES
        ]
        parts += [(PSI, buckets(system, lean, "nDCG@10", group)) for group in GROUPS[1:]]
        if role == RERANKER:
            halves = [number / 20 for number in range(21)]
            around = [round(-1 + number / 5, 1) for number in range(11)]
            parts += [
                *((GAP, gap(lean, quality)) for quality in QUALITIES),
                (GAIN, straight(lean, "relative", "gain in nDCG@10 over bm25", halves)),
                (MOVEMENT, straight(lean, "moved", "change of nDCG@10", around)),
                (RESPONSE, response(lean)),
                (SEGMENTS, thirds(lean)),
                (BY_QUERY, by_query(lean)),
            ]
        made += [Measurement(system, role, measure, figures) for measure, figures in parts]
    for name, slope in (("tf-idf cosine", 0.04), ("random order", -0.03), ("bm25", -0.01)):
        made.append(Measurement(name, BLIND, BLIND, buckets(name, -10 * slope, "nDCG@10")))
    return made


def collected(found: Sequence[Measurement], *, collection: str = "squad") -> Collected:
    """The rows of these measurements, on three queries of two passages."""
    ids = ["q1", "q2", "q3"]
    evidence = {
        name: SimpleNamespace(passage_id=f"p{place // 2}") for place, name in enumerate(ids)
    }
    task: Any = SimpleNamespace(
        collection=SimpleNamespace(name=collection),
        split="test",
        rule="",
        query_ids=ids,
        clusters=["c1", "c2", "c3"],
        evidence=SimpleNamespace(by_query=evidence),
    )
    return audit_rows(task, found)


def manifest(name: str = "Audit on squad") -> Manifest:
    return Manifest(
        kind="results",
        name=name,
        command="posbias audit squad --split test --model minilm --out audit",
        settings={"draws": 4, "minimum_bucket": 20},
        seed=1,
        versions={"python": "3.12.3", "positionbias": "0.1.0"},
    )


def save(folder: Path, found: Sequence[Measurement], *, name: str = "Audit on squad") -> Path:
    """Save these measurements as a folder of rows."""
    made = collected(found)
    of_rows.save(folder, made.rows, manifest(name), made.values)
    return folder


def save_audit(folder: Path, systems: Mapping[str, float] = ONE) -> Path:
    """Save a whole audit."""
    return save(folder, audit(systems))


def save_verdicts(
    folder: Path, systems: Mapping[str, float] = ONE, *, name: str = "Audit on squad"
) -> Path:
    """Save the verdicts of an audit."""
    return save(folder, verdicts(systems), name=name)
