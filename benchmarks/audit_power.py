"""How often does an audit find a preference that is there, accuse where there is none, and hold the
truth? On generated audits, and on SQuAD for length limits.

    python benchmarks/audit_power.py --state FOLDER
        # writes benchmarks/results/audit_power_HARDWARE_DATE.md

Finished audits stay in the state folder, so that a stopped campaign goes on; several processes may
share one campaign (--part).

**Passages.** A query's scores are generated, not its texts: what the exchanges of ``audit.trials``
and the rotation do to the evidence's place is worked out on drawn sentence lengths, and what is
concluded is the audit's own (``orders_wanted``, ``passage_verdict``). With x the place of the
evidence (its first word over the last one at which it could start),

    score = scale · (words in common
                     + worth · (size · (1 + spread · w) · (shape(x) − centre)
                                + noise · normal(query, text)))

3 to 7 sentences of 8 to 25 words. With the evidence 4 words are in common, with another passage's
sentence in its place Binomial(4, 0.4): the worth is 2.4. Scale lognormal (deviation 0.3), one a
query; w normal, one a passage; ``centre`` is the mean of the shape where evidence stands in
passages, so that places do not change the mean worth, and ``size`` and ``noise`` are shares of it.
**Lists** are scored by ``audit.lists`` itself, **limits** by the audit's own texts.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from scipy import stats

from positionbias.audit.answers import Contrast, Preference, Verdict
from positionbias.audit.audit import orders_wanted
from positionbias.audit.lists import Nature, order_slopes
from positionbias.audit.manipulate import ROUNDED, Measured, mean_unit
from positionbias.audit.reads import Reads
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import COLUMNS
from positionbias.audit.verdict import list_verdict, passage_verdict
from positionbias.core.progress import set_quiet
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import family_wise
from positionbias.models.user_code import UserFunction
from positionbias.positions.evidence import Evidence, FoundEvidence
from positionbias.ranking.config import RankingConfig
from positionbias.text.filler import FILLER_WORDS

MARGIN = 0.1
NDCG = "nDCG@10"
CONTRASTS = (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)
NOISE, SCALE = 0.3, 0.3
ASKED_WORDS, SHARED = 4, 0.4
WORDS_WORTH = ASKED_WORDS * (1 - SHARED)
COMPETITORS = 29
SENTENCES, WORDS, FILLER = (3, 7), (8, 25), FILLER_WORDS
ORDERS, PILOT = 8, 50
BLOCK = 50  # audits that are stored at once
TRUTH = 200_000

SHAPES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Preference]] = {
    "straight, front to end": (lambda x: 1 - x, Preference.FRONT),
    "first third": (lambda x: (x < 1 / 3) * 1.0, Preference.FRONT),
    "last third": (lambda x: (x > 2 / 3) * 1.0, Preference.END),
    "middle half": (lambda x: (abs(x - 0.5) <= 0.25) * 1.0, Preference.MIDDLE),
    "both outer quarters": (lambda x: (abs(x - 0.5) > 0.25) * 1.0, Preference.ENDS),
    "straight to the middle": (lambda x: 1 - abs(2 * x - 1), Preference.MIDDLE),
    "none": (lambda x: np.zeros_like(x), Preference.NONE),
}


@dataclass(frozen=True)
class Cell:
    """Audits of one kind: a shape of preference of ``size`` in shares of the worth, ``queries`` an
    audit, ``per_passage`` of them to a passage.
    """

    shape: str
    size: float
    queries: int
    audits: int
    per_passage: int = 1
    spread: float = 0.0
    noise: float = NOISE

    @property
    def name(self) -> str:
        """What its audits are stored under."""
        return (
            (
                f"{self.shape} {self.size:g} n{self.queries} p{self.per_passage} s{self.spread:g} "
                f"e{self.noise:g}"
            )
            .replace(",", "")
            .replace(" ", "_")
        )


AUDITS = 600
MIDDLE = Contrast.MIDDLE


def cells(
    shape: str,
    size: float,
    noises: Sequence[float] = (NOISE,),
    passages: Sequence[int] = (1, 5),
    queries: int = 200,
) -> list[Cell]:
    """Cells of one shape and size; of several questions a passage, whose preferences differ by
    passages as much as they are.
    """
    return [
        Cell(shape, size, queries, AUDITS, per_passage, 0.0 if per_passage == 1 else 1.0, noise)
        for noise in noises
        for per_passage in passages
    ]


NONE = cells("none", 0.0, (NOISE, 1.0, 3.0, 10.0))
TWICE = (
    *cells("straight, front to end", 2 * MARGIN, (NOISE, 1.0)),
    *(cell for shape in list(SHAPES)[1:6] for cell in cells(shape, 2 * MARGIN, passages=(1,))),
)
INVARIANT = Cell("none", 0.0, 200, 100, noise=0.0)


def at_margin() -> list[Cell]:
    """Cells whose true effect, on the contrast of their shape, is exactly the margin."""
    found = []
    for shape in ("straight, front to end", "middle half"):
        unit = Cell(shape, 1.0, 200, AUDITS, noise=0.0)
        found += cells(shape, MARGIN / abs(truth(unit)[contrast_of(shape)]), (NOISE, 1.0))
    return found


def contrast_of(shape: str) -> int:
    """The column of the contrast that shows a shape."""
    return int(SHAPES[shape][1] in (Preference.MIDDLE, Preference.ENDS))


@dataclass(frozen=True)
class Drawn:
    """Scores of one audit's texts, ``(queries, orders)`` before and after each exchange and
    ``(queries, 1)`` by rotation; NaN where there is no exchange.
    """

    before: dict[Contrast, np.ndarray]
    after: dict[Contrast, np.ndarray]
    placebo: np.ndarray
    scale: np.ndarray
    clusters: list[str]


@lru_cache(maxsize=8)
def centre_of(shape: str) -> float:
    """The mean of a shape where evidence stands in passages."""
    rng = generator(1, "centre", shape)
    count, lengths = _passages(400_000, rng)
    return float(SHAPES[shape][0](_natural(lengths, count, rng)).mean())


def _passages(queries: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The number of each passage's sentences and their lengths, ``(queries, most)``; the first is
    the evidence.
    """
    count = rng.integers(SENTENCES[0], SENTENCES[1] + 1, size=queries)
    lengths = rng.integers(WORDS[0], WORDS[1] + 1, size=(queries, SENTENCES[1])).astype(float)
    lengths[np.arange(SENTENCES[1]) >= count[:, None]] = 0
    return count, lengths


def _natural(lengths: np.ndarray, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The evidence's places where it stands before the drawn number of the passage's other
    sentences, ``(queries, 1)``.
    """
    before = rng.integers(0, count)
    others = lengths[:, 1:]
    words = np.where(np.arange(others.shape[1]) < before[:, None], others, 0).sum(axis=1)
    return (words / others.sum(axis=1))[:, None]


def draw(cell: Cell, queries: int, rng: np.random.Generator) -> Drawn:
    """The texts' scores of so many queries."""
    shape, centre = SHAPES[cell.shape][0], centre_of(cell.shape)
    passages = -(-queries // cell.per_passage)
    scale = np.exp(SCALE * rng.normal(size=(queries, 1)))
    own = (
        1
        + cell.spread
        * np.repeat(rng.normal(size=(passages, 1)), cell.per_passage, axis=0)[:queries]
    )
    size, noise = cell.size * WORDS_WORTH * own, cell.noise * WORDS_WORTH
    count, lengths = _passages(queries, rng)

    def scored(place: np.ndarray) -> np.ndarray:
        return scale * (
            ASKED_WORDS + size * (shape(place) - centre) + noise * rng.normal(size=place.shape)
        )

    words = rng.binomial(ASKED_WORDS, SHARED, (queries, 1))
    stranger = scale * (words + noise * rng.normal(size=words.shape))
    middle = np.concatenate([_middle(lengths, count, rng) for _ in range(ORDERS // 2)], axis=1)
    edge = np.tile([0.0, 1.0], (queries, ORDERS // 2))
    front, end = np.zeros((queries, ORDERS)), np.ones((queries, ORDERS))
    before = {
        Contrast.ENDS: scored(front),
        MIDDLE: scored(edge),
        Contrast.ROTATION: scored(front[:, :1]),
        Contrast.WORTH: stranger,
    }
    after = {
        Contrast.ENDS: scored(end), MIDDLE: scored(middle), Contrast.ROTATION: scored(end[:, :1]),
        Contrast.WORTH: scored(_natural(lengths, count, rng)),
    }  # fmt: skip
    both = scale * noise * rng.normal(size=(queries, 2))
    clusters = [f"p{query // cell.per_passage}" for query in range(queries)]
    return Drawn(before, after, both[:, 1] - both[:, 0], scale, clusters)


def _middle(lengths: np.ndarray, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The evidence's places in  p a f e b  of one drawn order and in its mirror,  a e f b p  read
    backwards, ``(queries, 2)``; the first sentence is the evidence.
    """
    keys = np.where(lengths[:, 1:] > 0, rng.random((len(lengths), SENTENCES[1] - 1)), 2.0)
    rest = np.take_along_axis(lengths[:, 1:], np.argsort(keys, axis=1), axis=1)
    placebo, drawn = rest[:, 0], rest[:, 1:]
    lone = count == SENTENCES[0]  # a filler stands for a second one
    drawn[lone, 1] = FILLER
    others = np.maximum(count - 2, 2)
    half = (others + rng.integers(0, 2, size=len(others))) // 2
    near = np.where(np.arange(drawn.shape[1]) < half[:, None], drawn, 0).sum(axis=1)
    far = drawn.sum(axis=1) - near
    room = placebo + near + far + FILLER
    return np.stack([placebo + near + FILLER, near], axis=1) / room[:, None]


def measured(drawn: Drawn, orders: int, queries: int | None = None) -> Measured:
    """What ``audit.manipulate.measure`` makes of such scores, of the first ``queries``; without
    candidates there are no ranks.
    """
    few = slice(queries)
    clusters = drawn.clusters[few]
    changes = {
        contrast: drawn.after[contrast][few, :orders] - drawn.before[contrast][few, :orders]
        for contrast in COLUMNS
    }
    score = np.column_stack([changes[contrast].mean(axis=1) for contrast in COLUMNS])
    score[:, 2] -= drawn.placebo[few]
    worth = mean_unit(score[:, -1])
    if worth > 0:
        score = np.round(score / worth, ROUNDED) * worth
    none = np.full_like(score, np.nan)
    ids = [f"q{number}" for number in range(len(clusters))]
    within = float(changes[Contrast.ENDS].var(axis=1, ddof=1).mean())
    by_unit = {"score": score, "ranks": none, NDCG: none}
    return Measured(ids, clusters, by_unit, np.ones(score.shape, bool), within)


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    """All texts are read whole."""
    return [True] * len(texts)


def audited(cell: Cell, number: int) -> dict[str, Any]:
    """One audit: its answer, its effects, and in how many orders it asked."""
    drawn = draw(cell, cell.queries, generator(number, "audit power", cell.name))
    orders = orders_wanted(measured(drawn, 2, PILOT), cell.queries, MARGIN)
    verdict = passage_verdict(
        measured(drawn, orders), NDCG, MARGIN, Reads(everything, None, ""), {}
    )
    return {**summary(verdict), "orders": orders}


def summary(verdict: Verdict) -> dict[str, Any]:
    """What is kept of a verdict."""
    effects = [
        [one.contrast.value, one.unit, one.subset, one.value, one.low, one.high, one.detectable]
        for one in verdict.effects
    ]
    return {"preference": verdict.preference.value, "reads": verdict.reads, "effects": effects}


@lru_cache(maxsize=64)
def truth(cell: Cell, queries: int = TRUTH) -> list[float]:
    """Each contrast as a share of the worth, from many queries; without noise and what passages
    differ by, which are 0 on average.
    """
    sums, chunks = np.zeros(len(COLUMNS)), -(-queries // 20_000)
    for chunk in range(chunks):
        drawn = draw(
            replace(cell, noise=0.0, spread=0.0), 20_000, generator(chunk, "truth", cell.name)
        )
        worth = WORDS_WORTH * float(drawn.scale.mean())
        sums += np.nanmean(measured(drawn, ORDERS).by_unit["score"], axis=0) / worth / chunks
    return sums[:-1].tolist()


# ---- order in the list


class Store:
    """Texts by id, in memory."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    def __len__(self) -> int:
        return len(self.known)

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """The texts of these ids."""
        return [self.known[name] for name in passage_ids]

    def passage_ids_at(self, rows: np.ndarray) -> list[str]:
        """The ids of these rows."""
        names = list(self.known)
        return [names[row] for row in rows]

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of these rows."""
        return self.texts(self.passage_ids_at(rows))


def task_of(
    queries: Sequence[Query], evidence: dict[str, Evidence], candidates: Run, texts: Store
) -> Task:
    """A task in memory; a query's cluster is its passage."""
    found = FoundEvidence({name: evidence[name] for name in sorted(evidence)}, {})
    qrels = [Qrel(name, one.passage_id, 1) for name, one in found.by_query.items()]
    clusters = [one.passage_id for one in found.by_query.values()]
    return Task(texts, "test", queries, qrels, found, candidates, clusters, RankingConfig())


def list_scores(queries: int, rng: np.random.Generator) -> np.ndarray:
    """Words in common and noise of each of 30 candidates; the first of a query is its passage."""
    shared = rng.binomial(ASKED_WORDS, SHARED, (queries, COMPETITORS + 1)).astype(float)
    shared[:, 0] = ASKED_WORDS
    return shared + NOISE * rng.normal(size=shared.shape)


def slopes_of(scores: np.ndarray, bias: float, rng: np.random.Generator) -> np.ndarray:
    """What ``order_slopes`` makes of such lists where the score falls by ``bias`` from the first
    place to the last, ``(queries,)``.
    """
    length = scores.shape[1]
    drawn = np.argsort(rng.random(scores.shape), axis=1)
    half = np.roll(drawn, -(length // 2), axis=1)
    places = np.stack(
        [
            np.argsort(order, axis=1) / (length - 1)
            for order in (drawn, drawn[:, ::-1], half, half[:, ::-1])
        ],
        axis=1,
    )
    ranks = stats.rankdata(-(scores[:, None, :] - bias * places), axis=2)
    x, y = places - places.mean(axis=1, keepdims=True), ranks - ranks.mean(axis=1, keepdims=True)
    return (x * y).sum(axis=(1, 2)) / (x * x).sum(axis=(1, 2))


@lru_cache(maxsize=4)
def bias_of(ranks: float) -> float:
    """The fall in score from a list's first place to its last that costs so many ranks on
    average.
    """
    scores, low, high = list_scores(4_000, generator(1, "bias")), 0.0, 4.0
    for _ in range(20):
        middle = (low + high) / 2
        found = slopes_of(scores, middle, generator(2, "bias")).mean()
        low, high = (middle, high) if found < ranks else (low, middle)
    return (low + high) / 2


def list_audited(queries: int, ranks: float, number: int) -> dict[str, Any]:
    """One audit of a listwise scorer by ``audit.lists``."""
    scores, bias = (
        list_scores(queries, generator(number, "lists", queries)),
        bias_of(abs(ranks)) * np.sign(ranks),
    )

    def scorer(query: str, passages: Sequence[str]) -> np.ndarray:
        place = np.arange(len(passages)) / max(1, len(passages) - 1)
        return scores[int(query), [int(text) for text in passages]] - bias * place

    ids = [str(place) for place in range(scores.shape[1])]
    names = [f"{query:04d}" for query in range(queries)]
    candidates = Run("lists", ((name, ids, -np.arange(len(ids))) for name in names))
    evidence = {name: Evidence(name, f"p{name}", 0, 1, 0, 1, 2) for name in names}
    task = task_of(
        [Query(name, name) for name in names],
        evidence,
        candidates,
        Store({one: one for one in ids}),
    )
    slopes = order_slopes(System("scorer", model=UserFunction(scorer)), task, names, number)
    return summary(list_verdict(Nature(True), slopes))


def kept(
    state: Path, name: str, audits: int, one: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The audits of one kind: those in the state folder, and the others made now."""
    found = []
    for start in range(0, audits, BLOCK):

        def rows(start: int = start) -> dict[str, Any]:
            return {"rows": [one(number) for number in range(start, min(start + BLOCK, audits))]}

        found += kept_part(state / f"{name}.{start}.json", rows)["rows"]
    return found


def seconds(state: Path) -> float:
    """Processor time of all audits in the state folder."""
    return sum(json.loads(place.read_text()).get("seconds", 0.0) for place in state.glob("*.json"))


def shared(hits: int, audits: int) -> str:
    """A share with its exact binomial interval."""
    bounds = stats.binomtest(hits, audits).proportion_ci(0.95)
    return (
        f"{hits} of {audits}, {100 * hits / audits:.1f} % [{100 * bounds.low:.1f}, "
        f"{100 * bounds.high:.1f}]"
    )


def effect_of(row: dict[str, Any], contrast: Contrast, unit: str = "worth") -> list[Any]:
    """Value, low, high and detectable of one contrast over all texts."""
    return next(each[3:] for each in row["effects"] if each[:3] == [contrast.value, unit, ""])


OPPOSITE = {
    Preference.FRONT: Preference.END, Preference.END: Preference.FRONT,
    Preference.MIDDLE: Preference.ENDS,
    Preference.ENDS: Preference.MIDDLE, Preference.FIRST: Preference.LAST,
    Preference.LAST: Preference.FIRST,
}  # fmt: skip


def counted(rows: Sequence[dict[str, Any]], planted: Preference) -> tuple[str, str, str]:
    """Found with its side; on the opposite side; with another shape."""
    said = [Preference(row["preference"]) for row in rows]
    wrong = sum(one == OPPOSITE[planted] for one in said)
    other = sum(
        one not in (planted, OPPOSITE[planted], Preference.NONE, Preference.UNKNOWN) for one in said
    )
    return (
        shared(sum(one == planted for one in said), len(said)),
        shared(wrong, len(said)),
        str(other),
    )


def rows_of(state: Path, cell: Cell) -> list[dict[str, Any]]:
    """All audits of a cell."""
    return kept(state, cell.name, cell.audits, lambda number: audited(cell, number))


def counted_as(rows: Sequence[dict[str, Any]], *answers: Preference) -> int:
    """The audits with one of these answers."""
    return sum(Preference(row["preference"]) in answers for row in rows)


def bar(counts: Sequence[tuple[int, int]], what: str) -> list[str]:
    """Whether rates of at most 5 % hold: no cell above by Holm's adjusted exact test, the pooled
    upper bound at most 6 %.
    """
    tests = {
        str(number): stats.binomtest(hits, audits, 0.05, alternative="greater").pvalue
        for number, (hits, audits) in enumerate(counts)
    }
    least = min(value for value in family_wise(tests).values() if value is not None)
    hits, audits = (sum(column) for column in zip(*counts, strict=True))
    high = stats.binomtest(hits, audits).proportion_ci(0.95).high
    held = "holds" if least >= 0.05 and high <= 0.06 else "BROKEN"
    return [
        "",
        (
            f"{what}: {shared(hits, audits)} pooled; the least p of a cell above 5 %, by Holm, is "
            f"{least:.2g}. The bar {held}."
        ),
        "",
    ]


def none_table(state: Path) -> list[str]:
    """A row a cell without a preference."""
    lines = [
        "## No preference",
        "",
        (
            "Scores that no place changes, with noise on every text, in shares of the worth. "
            "Found: any preference."
        ),
        "",
        (
            "| noise | queries | a passage | found | no preference | cannot tell | does not react "
            "| orders |"
        ),
        "|---:|---:|---:|---|---:|---:|---:|---:|",
    ]
    counts = []
    for cell in NONE:
        rows = rows_of(state, cell)
        others = [
            counted_as(rows, one)
            for one in (Preference.NONE, Preference.UNKNOWN, Preference.UNREACTIVE)
        ]
        counts.append((len(rows) - sum(others), len(rows)))
        orders = np.mean([row["orders"] for row in rows])
        shown = " | ".join(str(number) for number in others)
        lines.append(
            f"| {cell.noise:g} | {cell.queries:,} | {cell.per_passage} | {shared(*counts[-1])} | "
            f"{shown} | {orders:.1f} |"
        )
    rows = rows_of(state, INVARIANT)
    zero = sum(
        row["preference"] == Preference.NONE.value and row["effects"][0][4:6] == [0, 0]
        for row in rows
    )
    lines += bar(counts, "False alarms")
    return [
        *lines,
        f"Without noise: the interval [0, 0] and *no preference* in {zero} of {len(rows)} audits.",
        "",
    ]


def margin_table(state: Path) -> list[str]:
    """A row a cell whose true effect is exactly the margin."""
    lines = [
        "## A true effect of exactly the margin",
        "",
        f"The contrast that shows the shape is {MARGIN} of the worth in truth. *No preference* "
        "would be wrong, and so would an interval beyond the margin. In passages of five "
        "questions the preference differs between passages (its deviation is its mean).",
        "",
        (
            "| preference | noise | queries | a passage | no preference | beyond the margin | "
            "found with its side | opposite side | cannot tell | does not react |"
        ),
        "|---|---:|---:|---:|---|---|---:|---:|---:|---:|",
    ]
    none, beyond = [], []
    for cell in at_margin():
        rows = rows_of(state, cell)
        contrast, planted = CONTRASTS[contrast_of(cell.shape)], SHAPES[cell.shape][1]
        bounds = [
            effect_of(row, contrast)[1:3]
            for row in rows
            if row["preference"] != Preference.UNREACTIVE.value
        ]
        none.append((counted_as(rows, Preference.NONE), len(rows)))
        beyond.append((sum(low > MARGIN or high < -MARGIN for low, high in bounds), len(rows)))
        shown = [
            counted_as(rows, one)
            for one in (planted, OPPOSITE[planted], Preference.UNKNOWN, Preference.UNREACTIVE)
        ]
        lines.append(
            f"| {planted.value}: {cell.shape} | {cell.noise:g} | {cell.queries:,} | "
            f"{cell.per_passage} | {shared(*none[-1])} | {shared(*beyond[-1])} | "
            f"{' | '.join(str(number) for number in shown)} |"
        )
    return [*lines, *bar(none, "*No preference* at the margin"), *bar(beyond, "Beyond the margin")]


def power_table(state: Path) -> list[str]:
    """A row a shape of twice the margin."""
    lines = [
        "## Preferences of twice the margin",
        "",
        f"Scores that change by {2 * MARGIN} of the worth with the place of the evidence. Found: "
        "the answer names the planted side. True: the contrast that shows the shape (of a "
        "straight rise to the middle, the exchange sees less than half, as its places are not the "
        "very ends and the very middle). Orders: the mean number in which the audit asked.",
        "",
        (
            "| preference | noise | queries | a passage | true | found | opposite side | another "
            "shape | orders |"
        ),
        "|---|---:|---:|---:|---:|---|---|---:|---:|",
    ]
    for cell in TWICE:
        rows = rows_of(state, cell)
        planted = SHAPES[cell.shape][1]
        true = known_truth(state, cell)[contrast_of(cell.shape)]
        right, wrong, other = counted(rows, planted)
        orders = np.mean([row["orders"] for row in rows])
        lines.append(
            f"| {planted.value}: {cell.shape} | {cell.noise:g} | {cell.queries:,} | "
            f"{cell.per_passage} | {true:+.3f} | {right} | {wrong} | {other} | {orders:.1f} |"
        )
    return [*lines, ""]


def known_truth(state: Path, cell: Cell) -> list[float]:
    """The truth, kept in the state folder."""
    return kept_part(state / f"truth_{cell.name}.json", lambda: {"truth": truth(cell)})["truth"]


def covered(rows: Sequence[dict[str, Any]], known: Sequence[float]) -> tuple[list[int], int]:
    """How many audits' intervals hold the truth, by contrast and all three together."""
    holds = np.array([
        [low <= true <= high for contrast, true in zip(CONTRASTS, known, strict=True) for _, low,
         high, _ in [effect_of(row, contrast)]]
        for row in rows
    ])  # fmt: skip
    return holds.sum(axis=0).tolist(), int(holds.all(axis=1).sum())


def coverage_table(state: Path) -> list[str]:
    """A row a cell, of the audits above."""
    lines = [
        "## Intervals",
        "",
        f"Of the audits above, where the evidence's worth is shown to be above 0. Truth: {TRUTH:,} "
        "queries of the same generator. Intervals are simultaneous over the three contrasts, so "
        "that all three are to hold in 95 % of audits, and each alone in more. The worth is "
        "estimated in each audit.",
        "",
        (
            "| preference | size | noise | queries | a passage | truth | end − front | middle − "
            "ends | rotation | all three |"
        ),
        "|---|---:|---:|---:|---:|---|---|---|---|---|",
    ]
    missed = []
    for cell in (*NONE, *at_margin(), *TWICE):
        rows = [
            row for row in rows_of(state, cell) if row["preference"] != Preference.UNREACTIVE.value
        ]
        if not rows:
            continue
        known = known_truth(state, cell)
        each, together = covered(rows, known)
        missed.append((len(rows) - together, len(rows)))
        true = ", ".join(f"{value:+.3f}" for value in known)
        shares = " | ".join(f"{100 * hits / len(rows):.1f} %" for hits in each)
        lines.append(
            f"| {cell.shape} | {cell.size:.3f} | {cell.noise:g} | {cell.queries} | "
            f"{cell.per_passage} | {true} | {shares} | {shared(together, len(rows))} |"
        )
    return [*lines, *bar(missed, "Audits in which one of three intervals misses the truth")]


LISTS = ((200, 1.0, 300), (200, -1.0, 100))


def order_table(state: Path) -> list[str]:
    """A row a direction."""
    lines = [
        "## Order in the list",
        "",
        (
            f"A listwise scorer of {COMPETITORS + 1} candidates: words in common, noise, less "
            f"{bias_of(1.0):.3f} from the first place to the last, which costs one rank on "
            "average; asked in four orders of each list."
        ),
        "",
        "| bias | queries | found | opposite side | mean effect |",
        "|---|---:|---|---|---:|",
    ]
    for queries, ranks, audits in LISTS:
        rows = kept(
            state,
            f"lists_{queries}_{ranks:g}",
            audits,
            lambda number, given=(queries, ranks): list_audited(*given, number),
        )
        planted = Preference.FIRST if ranks > 0 else Preference.LAST
        right, wrong, _ = counted(rows, planted)
        mean = np.mean([row["effects"][0][3] for row in rows])
        lines.append(
            f"| {ranks:+g} rank, {planted.value} | {queries} | {right} | {wrong} | {mean:+.2f} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=" ".join(__doc__.partition("\n\n")[0].split()))
    parser.add_argument("--state", type=Path, required=True, help="folder of finished audits")
    parser.add_argument(
        "--part",
        choices=("none", "margin", "power", "coverage", "order"),
        help="make this part's audits and no table",
    )
    given = parser.parse_args()
    set_quiet(True)
    given.state.mkdir(parents=True, exist_ok=True)
    tables = {
        "none": none_table,
        "margin": margin_table,
        "power": power_table,
        "coverage": coverage_table,
    }
    tables["order"] = order_table
    if given.part:
        print("\n".join(tables[given.part](given.state)))
        return
    body = [line for table in tables.values() for line in table(given.state)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    text = [
        "# What an audit finds where the truth is known",
        "",
        (
            f"{hardware()}; one thread; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; {seconds(given.state):,.0f} s of the processor."
        ),
        "",
        "    python benchmarks/audit_power.py --state FOLDER",
        "",
        "Shares with their exact binomial 95 % interval.",
        "",
        *body,
    ]
    place = result_place("audit_power")
    place.write_text("\n".join(text), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
