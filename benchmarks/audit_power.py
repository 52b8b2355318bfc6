"""Does an audit find a preference that is there, and do its intervals hold the truth? On generated audits, and on SQuAD for length limits.

    python benchmarks/audit_power.py --state FOLDER --squad FOLDER    # writes benchmarks/results/audit_power_HARDWARE_DATE.md

Finished audits stay in the state folder, so that a stopped campaign goes on; several processes may share one campaign (--part).

**Passages.** A query's scores are generated, not its texts: what the exchanges of ``audit.perturb`` and the rotation do to the evidence's place is worked out on drawn
sentence lengths, and what is concluded is the audit's own (``orders_wanted``, ``passage_verdict``). With x the place of the evidence (its first word over the last one at which it could start),

    score = scale · (words in common + size · unit · (1 + spread · w) · shape(x) + noise · unit · normal(query, text))

3 to 7 sentences of 8 to 25 words; 29 competitors with Binomial(4, 0.4) words in common, a place and noise of their own; scale lognormal (deviation 0.3), one a query; w normal, one a passage;
``unit`` such that ``size`` is in deviations of the competitors' scores. **Lists** are scored by ``audit.lists`` itself, **limits** by the audit's own texts.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from scipy import stats

from positionbias.audit.audit import orders_wanted
from positionbias.audit.evidence import Evidence, FoundEvidence
from positionbias.audit.filler import FILLER_WORDS
from positionbias.audit.lists import Nature, order_slopes
from positionbias.audit.manipulate import ROUNDED, Asked, Manipulation, Measured, ask, measure
from positionbias.audit.reads import Reads, reads_of
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import make_trials, shortened_trials
from positionbias.audit.verdict import list_verdict, passage_verdict
from positionbias.core.progress import set_quiet
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import generator, key64
from positionbias.models.user_code import UserFunction
from positionbias.ranking.config import RankingConfig
from positionbias.results.payloads import Contrast, Preference, Verdict
from positionbias.text.sentences import parts_of

MARGIN = 0.1
NDCG = "nDCG@10"
CONTRASTS = (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)
NOISE, SCALE = 0.3, 0.3
ASKED_WORDS, SHARED = 4, 0.4
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
    """Audits of one kind: a shape of preference of ``size`` deviations, ``queries`` an audit, ``per_passage`` of them to a passage."""

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
        return f"{self.shape} {self.size:g} n{self.queries} p{self.per_passage} s{self.spread:g} e{self.noise:g}".replace(
            ",", ""
        ).replace(" ", "_")


POWER = (
    Cell("straight, front to end", 0.2, 200, 500),
    Cell("straight, front to end", 0.2, 1_000, 300),
    *(Cell(shape, 0.2, 1_000, 300) for shape in list(SHAPES)[1:5]),
    Cell("straight to the middle", 0.2, 1_000, 300),
    Cell("straight, front to end", 0.2, 200, 300, noise=1.0),
    Cell("straight, front to end", 0.2, 1_000, 300, noise=1.0),
    Cell("middle half", 0.2, 1_000, 300, noise=1.0),
    Cell("straight, front to end", 0.1, 200, 300, noise=1.0),
)
COVERAGE = tuple(
    Cell(shape, 0.2, queries, 1_000, per_passage, 1.0)
    for shape, queries in (("straight, front to end", 100), ("straight, front to end", 400), ("middle half", 200))
    for per_passage in (1, 5)
)
INVARIANT = Cell("none", 0.0, 200, 100, noise=0.0)


@dataclass(frozen=True)
class Drawn:
    """Scores of one audit's texts, ``(queries, orders)`` before and after each exchange and ``(queries, 1)`` by rotation; NaN where there is no exchange."""

    before: dict[Contrast, np.ndarray]
    after: dict[Contrast, np.ndarray]
    placebo: np.ndarray
    ranked: np.ndarray
    rotated: np.ndarray
    clusters: list[str]


@lru_cache(maxsize=8)
def unit_of(noise: float) -> float:
    """The mean deviation of a query's competitors, of a scale of 1, where noise is a share of that itself."""
    rng, unit = generator(1, "unit"), 1.0
    shared, normal = rng.binomial(ASKED_WORDS, SHARED, (20_000, COMPETITORS)), rng.normal(size=(20_000, COMPETITORS))
    for _ in range(20):
        unit = float((shared + noise * unit * normal).std(axis=1).mean())
    return unit


def draw(cell: Cell, queries: int, rng: np.random.Generator) -> Drawn:
    """The texts' scores of so many queries."""
    shape, unit = SHAPES[cell.shape][0], unit_of(cell.noise)
    passages = -(-queries // cell.per_passage)
    scale = np.exp(SCALE * rng.normal(size=(queries, 1)))
    size = cell.size * unit * (1 + cell.spread * np.repeat(rng.normal(size=(passages, 1)), cell.per_passage, axis=0)[:queries])
    count = rng.integers(SENTENCES[0], SENTENCES[1] + 1, size=queries)
    lengths = rng.integers(WORDS[0], WORDS[1] + 1, size=(queries, SENTENCES[1])).astype(float)
    lengths[np.arange(SENTENCES[1]) >= count[:, None]] = 0

    def scored(place: np.ndarray) -> np.ndarray:
        return scale * (ASKED_WORDS + size * shape(place) + cell.noise * unit * rng.normal(size=place.shape))

    def others() -> np.ndarray:
        words = rng.binomial(ASKED_WORDS, SHARED, (queries, COMPETITORS))
        return scale * (words + size * shape(rng.random(words.shape)) + cell.noise * unit * rng.normal(size=words.shape))

    middle = np.concatenate([_middle(lengths, count, rng) for _ in range(ORDERS // 2)], axis=1)
    edge = np.tile([0.0, 1.0], (queries, ORDERS // 2))
    front, end = np.zeros((queries, ORDERS)), np.ones((queries, ORDERS))
    before = {Contrast.ENDS: scored(front), Contrast.MIDDLE: scored(edge), Contrast.ROTATION: scored(front[:, :1])}
    after = {Contrast.ENDS: scored(end), Contrast.MIDDLE: scored(middle), Contrast.ROTATION: scored(end[:, :1])}
    noise = scale * cell.noise * unit * rng.normal(size=(queries, 2))
    clusters = [f"p{query // cell.per_passage}" for query in range(queries)]
    return Drawn(before, after, noise[:, 1] - noise[:, 0], others(), others(), clusters)


def _middle(lengths: np.ndarray, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The evidence's places in  p a f e b  of one drawn order and in its mirror,  a e f b p  read backwards, ``(queries, 2)``; the first sentence is the evidence."""
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
    """What ``audit.manipulate.measure`` makes of such scores, of the first ``queries``."""
    few = slice(queries)
    by_unit = {name: np.full((len(drawn.clusters[few]), 3), np.nan) for name in ("score", "ranks", NDCG)}
    for column, contrast in enumerate(CONTRASTS):
        before, after = drawn.before[contrast][few, :orders], drawn.after[contrast][few, :orders]
        others = drawn.rotated if contrast == Contrast.ROTATION else drawn.ranked
        ranks = [_ranks(scores, others[few]) for scores in (before, after)]
        by_unit["score"][:, column] = (after - before).mean(axis=1)
        by_unit["ranks"][:, column] = (ranks[0] - ranks[1]).mean(axis=1)
        by_unit[NDCG][:, column] = (_ndcg(ranks[1]) - _ndcg(ranks[0])).mean(axis=1)
    by_unit["score"][:, 2] -= drawn.placebo[few]
    units = drawn.ranked[few].std(axis=1)
    by_unit["score"] = np.round(by_unit["score"] / units.mean(), ROUNDED) * units.mean()
    changes = (drawn.after[Contrast.ENDS] - drawn.before[Contrast.ENDS])[few, :orders]
    clusters = drawn.clusters[few]
    whole = np.ones((len(clusters), 3), bool)
    ids = [f"q{number}" for number in range(len(clusters))]
    return Measured(ids, clusters, by_unit, units, whole, orders, float(changes.var(axis=1, ddof=1).mean()))


def _ranks(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    ranks = 1.0 + (others[:, None, :] > scores[:, :, None]).sum(axis=2)
    return np.where(np.isnan(scores), np.nan, ranks)


def _ndcg(ranks: np.ndarray) -> np.ndarray:
    return np.where(ranks > 10, 0.0, 1 / np.log2(1 + ranks)) + 0 * ranks


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    """All texts are read whole."""
    return [True] * len(texts)


def audited(cell: Cell, number: int) -> dict[str, Any]:
    """One audit: its answer, its effects, and in how many orders it asked."""
    drawn = draw(cell, cell.queries, generator(number, "audit power", cell.name))
    orders = orders_wanted(measured(drawn, 2, PILOT), cell.queries, MARGIN)
    verdict = passage_verdict("scorer", measured(drawn, orders), NDCG, MARGIN, Reads(everything, None, ""), {})
    return {**summary(verdict), "orders": orders}


def summary(verdict: Verdict) -> dict[str, Any]:
    """What is kept of a verdict."""
    effects = [
        [one.contrast.value, one.unit, one.subset, one.value, one.low, one.high, one.detectable] for one in verdict.effects
    ]
    return {"preference": verdict.preference.value, "reads": verdict.reads, "effects": effects}


def truth(cell: Cell, queries: int = TRUTH) -> dict[str, list[float]]:
    """Each contrast in deviations and in nDCG@10, from many queries."""
    sums, units, chunks = dict.fromkeys(("score", NDCG), np.zeros(3)), 0.0, -(-queries // 20_000)
    for chunk in range(chunks):
        many = measured(draw(cell, 20_000, generator(chunk, "truth", cell.name)), 2)
        units += many.units.mean() / chunks
        sums = {name: sums[name] + np.nanmean(many.by_unit[name], axis=0) / chunks for name in sums}
    return {"deviations": (sums["score"] / units).tolist(), NDCG: sums[NDCG].tolist()}


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

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of these rows."""
        names = list(self.known)
        return [self.known[names[row]] for row in rows]


def task_of(queries: Sequence[Query], evidence: dict[str, Evidence], candidates: Run, texts: Store) -> Task:
    """A task in memory; a query's cluster is its passage."""
    found = FoundEvidence({name: evidence[name] for name in sorted(evidence)}, {})
    qrels = [Qrel(name, one.passage_id, 1) for name, one in found.by_query.items()]
    clusters = [one.passage_id for one in found.by_query.values()]
    return Task(texts, "test", queries, qrels, found, candidates, clusters, RankingConfig())  # type: ignore[arg-type]


def list_scores(queries: int, rng: np.random.Generator) -> np.ndarray:
    """Words in common and noise of each of 30 candidates; the first of a query is its passage."""
    shared = rng.binomial(ASKED_WORDS, SHARED, (queries, COMPETITORS + 1)).astype(float)
    shared[:, 0] = ASKED_WORDS
    return shared + NOISE * unit_of(NOISE) * rng.normal(size=shared.shape)


def slopes_of(scores: np.ndarray, bias: float, rng: np.random.Generator) -> np.ndarray:
    """What ``order_slopes`` makes of such lists where the score falls by ``bias`` from the first place to the last, ``(queries,)``."""
    length = scores.shape[1]
    drawn = np.argsort(rng.random(scores.shape), axis=1)
    half = np.roll(drawn, -(length // 2), axis=1)
    places = np.stack(
        [np.argsort(order, axis=1) / (length - 1) for order in (drawn, drawn[:, ::-1], half, half[:, ::-1])], axis=1
    )
    ranks = stats.rankdata(-(scores[:, None, :] - bias * places), axis=2)
    x, y = places - places.mean(axis=1, keepdims=True), ranks - ranks.mean(axis=1, keepdims=True)
    return (x * y).sum(axis=(1, 2)) / (x * x).sum(axis=(1, 2))


@lru_cache(maxsize=4)
def bias_of(ranks: float) -> float:
    """The fall in score from a list's first place to its last that costs so many ranks on average."""
    scores, low, high = list_scores(4_000, generator(1, "bias")), 0.0, 4.0
    for _ in range(20):
        middle = (low + high) / 2
        found = slopes_of(scores, middle, generator(2, "bias")).mean()
        low, high = (middle, high) if found < ranks else (low, middle)
    return (low + high) / 2


def list_audited(queries: int, ranks: float, number: int) -> dict[str, Any]:
    """One audit of a listwise scorer by ``audit.lists``."""
    scores, bias = list_scores(queries, generator(number, "lists", queries)), bias_of(abs(ranks)) * np.sign(ranks)

    def scorer(query: str, passages: Sequence[str]) -> np.ndarray:
        place = np.arange(len(passages)) / max(1, len(passages) - 1)
        return scores[int(query), [int(text) for text in passages]] - bias * place

    ids = [str(place) for place in range(scores.shape[1])]
    names = [f"{query:04d}" for query in range(queries)]
    candidates = Run("lists", ((name, ids, -np.arange(len(ids))) for name in names))
    evidence = {name: Evidence(name, f"p{name}", 0, 1, 0, 1, 2) for name in names}
    task = task_of([Query(name, name) for name in names], evidence, candidates, Store({one: one for one in ids}))
    slopes = order_slopes(System("scorer", model=UserFunction(scorer)), task, names, number)
    return summary(list_verdict("scorer", Nature(True), slopes))


# ---- limits, and preferences on texts, on SQuAD

Sample = tuple[list[Query], dict[str, Evidence], Store]
Score = Callable[[str, Sequence[str]], list[float]]


def squad_samples(folder: Path, queries: int) -> Iterator[Sample]:
    """Disjoint samples of so many questions, all of a passage in one of them as far as it has room."""
    paragraphs = []
    for file in sorted(folder.glob("*-v1.1.json")):
        for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
            paragraphs += [(paragraph["context"], paragraph["qas"]) for paragraph in article["paragraphs"]]
    order = generator(1, "squad").permutation(len(paragraphs)).tolist()
    asked: list[Query] = []
    evidence: dict[str, Evidence] = {}
    texts: dict[str, str] = {}
    for number in order:
        context, questions = paragraphs[number]
        texts[f"p{number}"] = context
        for question in questions[: queries - len(asked)]:
            answer = question["answers"][0]
            start, name = answer["answer_start"], question["id"]
            asked.append(Query(name, question["question"]))
            evidence[name] = Evidence(name, f"p{number}", start, start + len(answer["text"]), 0, 1, 2)
        if len(asked) == queries:
            yield asked, evidence, Store(texts)
            asked, evidence, texts = [], {}, {}


def overlap(limit: int | None) -> Callable[[str, Sequence[str]], list[float]]:
    """Words in common with the first words of a passage, or with all of it."""

    def words(text: str) -> list[str]:
        return text.lower().replace(".", " ").replace(",", " ").replace("?", " ").split()

    def score(query: str, passages: Sequence[str]) -> list[float]:
        asked = set(words(query))
        return [float(len(asked.intersection(words(" ".join(text.split()[:limit]))))) for text in passages]

    return score


def placed(sample: Sample, shape: str, size: float, unit: float) -> Score:
    """Overlap, noise of 0.3 units that is hashed from query and text, and ``size`` units by where the evidence sentence stands."""
    own = {}
    for query in sample[0]:
        item = sample[1][query.query_id]
        parts = parts_of(sample[2].known[item.passage_id], item.start, item.end)
        own[query.text] = None if isinstance(parts, str) else parts.sentences[parts.own]
    plain, normal = overlap(None), NormalDist()

    def place(sentence: str | None, text: str) -> float:
        found = -1 if sentence is None else text.find(sentence)
        if sentence is None or found < 0:
            return 0.0
        return float(SHAPES[shape][0](np.array(found / max(1, len(text) - len(sentence)))))

    def score(query: str, passages: Sequence[str]) -> list[float]:
        noise = [normal.inv_cdf((key64(1, "noise", query, text) + 0.5) / 2**64) for text in passages]
        return [
            words + unit * (size * place(own.get(query), text) + NOISE * random)
            for words, text, random in zip(plain(query, passages), passages, noise, strict=True)
        ]

    return score


def squad_placed(sample: Sample, shape: str, size: float) -> dict[str, Any]:
    """One audit of a scorer with a preference on these texts, ``size`` in deviations of words in common."""
    asked, _, texts = sample
    pool, rng, plain = list(texts.known.values()), generator(1, "unit"), overlap(None)
    unit = np.mean([np.std(plain(query.text, [pool[place] for place in rng.choice(len(pool), 10)])) for query in asked])
    return squad_audited(sample, placed(sample, shape, size, float(unit)))


def squad_audited(sample: Sample, scorer: Score, seed: int = 1) -> dict[str, Any]:
    """One audit of a scorer on these texts, with two orders and nine competitors a query."""
    asked, evidence, texts = sample
    pool = sorted(texts.known)
    rng = generator(seed, "competitors")
    lists = []
    for name in sorted(evidence):
        others = [
            pool[place] for place in rng.choice(len(pool), 10, replace=False) if pool[place] != evidence[name].passage_id
        ][:9]
        lists.append((name, [evidence[name].passage_id, *others], -np.arange(1 + len(others))))
    task = task_of(asked, evidence, Run("first", lists), texts)
    system = System("scorer", model=UserFunction(scorer))
    reads = reads_of(system, task, declared=None, listwise=False, seed=seed)
    ranked = system.scored(task, texts, task.candidates, "")
    how, known = Manipulation(system, task, NDCG, seed, False, ranked, None, None), Asked()
    trials, skipped = make_trials(task, task.query_ids, most=len(asked), orders=2, seed=seed)
    ask(how, trials, known, "")
    made = measure(how, trials, known, reads.fits)
    short, shortened = shortened_trials(task, trials, made.whole, reads.fits, orders=2, seed=seed), None
    if short:
        ask(how, short, known, "")
        shortened = measure(how, short, known, reads.fits)
    verdict = passage_verdict("scorer", made, NDCG, MARGIN, reads, {}, shortened)
    return {**summary(verdict), "limit": reads.words, "queries": len(trials), "skipped": sum(skipped.values())}


# ---- the campaign


def kept(state: Path, name: str, audits: int, one: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
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
    return f"{hits} of {audits}, {100 * hits / audits:.1f} % [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"


def effect_of(row: dict[str, Any], contrast: Contrast, unit: str = "deviations") -> list[Any]:
    """Value, low, high and detectable of one contrast over all texts."""
    return next(each[3:] for each in row["effects"] if each[:3] == [contrast.value, unit, ""])


OPPOSITE = {
    Preference.FRONT: Preference.END, Preference.END: Preference.FRONT, Preference.MIDDLE: Preference.ENDS,
    Preference.ENDS: Preference.MIDDLE, Preference.FIRST: Preference.LAST, Preference.LAST: Preference.FIRST,
}  # fmt: skip


def counted(rows: Sequence[dict[str, Any]], planted: Preference) -> tuple[str, str, str]:
    """Found with its side; on the opposite side; with another shape."""
    said = [Preference(row["preference"]) for row in rows]
    wrong = sum(one == OPPOSITE[planted] for one in said)
    other = sum(one not in (planted, OPPOSITE[planted], Preference.NONE, Preference.UNKNOWN) for one in said)
    return shared(sum(one == planted for one in said), len(said)), shared(wrong, len(said)), str(other)


def power_table(state: Path) -> list[str]:
    """A row a shape and size of audit."""
    lines = [
        "## Preferences that are there",
        "",
        f"Scorers whose score changes by 0.2 deviations (in the last row 0.1) with the place of the evidence, with noise on every text, in deviations too; margin {MARGIN}. Found: the answer names the planted side. "
        "True: the deciding contrast in deviations (of a straight rise to the middle, the exchange sees less than half, as its places are not the very ends and the very middle). Orders: the mean number in which the audit asked.",
        "",
        "| preference | noise | queries | true | found | opposite side | another shape | orders |",
        "|---|---:|---:|---:|---|---|---:|---:|",
    ]
    for cell in POWER:
        rows = kept(state, cell.name, cell.audits, lambda number, cell=cell: audited(cell, number))
        planted = SHAPES[cell.shape][1]
        contrast = 1 if planted in (Preference.MIDDLE, Preference.ENDS) else 0
        true = known_truth(state, cell)["deviations"][contrast]
        right, wrong, other = counted(rows, planted)
        orders = np.mean([row["orders"] for row in rows])
        lines.append(
            f"| {planted.value}: {cell.shape} | {cell.noise:g} | {cell.queries:,} | {true:+.3f} | {right} | {wrong} | {other} | {orders:.1f} |"
        )
    return [*lines, ""]


def known_truth(state: Path, cell: Cell) -> dict[str, list[float]]:
    """The truth, kept in the state folder."""
    return kept_part(state / f"truth_{cell.name}.json", lambda: truth(cell))


def covered(rows: Sequence[dict[str, Any]], known: dict[str, list[float]], unit: str) -> tuple[list[int], int]:
    """How many audits' intervals hold the truth, by contrast and all three together."""
    holds = np.array([
        [low <= true <= high for contrast, true in zip(CONTRASTS, known[unit], strict=True) for _, low, high, _ in [effect_of(row, contrast, unit)]]
        for row in rows
    ])  # fmt: skip
    return holds.sum(axis=0).tolist(), int(holds.all(axis=1).sum())


def coverage_table(state: Path) -> list[str]:
    """A row a cell and unit."""
    lines = [
        "## Intervals",
        "",
        f"Passages differ in their preference (its deviation is its mean); five questions of a passage share it. Truth: {TRUTH:,} queries of the same generator. Intervals are simultaneous over the three contrasts, "
        "so that all three are to hold in 95 % of audits, and each alone in more. The unit is estimated in each audit.",
        "",
        "| preference | queries | a passage | unit | truth | end − front | middle − ends | rotation | all three |",
        "|---|---:|---:|---|---|---|---|---|---|",
    ]
    for cell in COVERAGE:
        rows = kept(state, cell.name, cell.audits, lambda number, cell=cell: audited(cell, number))
        known = known_truth(state, cell)
        for unit in ("deviations", NDCG):
            each, together = covered(rows, known, unit)
            true = ", ".join(f"{value:+.3f}" for value in known[unit])
            shares = " | ".join(f"{100 * hits / len(rows):.1f} %" for hits in each)
            lines.append(
                f"| {cell.shape} | {cell.queries} | {cell.per_passage} | {unit} | {true} | {shares} | {shared(together, len(rows))} |"
            )
    rows = kept(state, INVARIANT.name, INVARIANT.audits, lambda number: audited(INVARIANT, number))
    zero = sum(
        row["preference"] == Preference.NONE.value and all(each[4:6] == [0, 0] for each in row["effects"][:1]) for row in rows
    )
    lines += [
        "",
        f"Scores that no place changes ({INVARIANT.queries} queries): the interval [0, 0] and *no preference* in {zero} of {len(rows)} audits.",
    ]
    return [*lines, ""]


LISTS = ((200, 1.0, 300), (200, -1.0, 100))


def order_table(state: Path) -> list[str]:
    """A row a direction."""
    lines = [
        "## Order in the list",
        "",
        f"A listwise scorer of {COMPETITORS + 1} candidates: words in common, noise, less {bias_of(1.0):.3f} from the first place to the last, which costs one rank on average; asked in four orders of each list.",
        "",
        "| bias | queries | found | opposite side | mean effect |",
        "|---|---:|---|---|---:|",
    ]
    for queries, ranks, audits in LISTS:
        rows = kept(
            state, f"lists_{queries}_{ranks:g}", audits, lambda number, given=(queries, ranks): list_audited(*given, number)
        )
        planted = Preference.FIRST if ranks > 0 else Preference.LAST
        right, wrong, _ = counted(rows, planted)
        mean = np.mean([row["effects"][0][3] for row in rows])
        lines.append(f"| {ranks:+g} rank, {planted.value} | {queries} | {right} | {wrong} | {mean:+.2f} |")
    return [*lines, ""]


def squad_table(state: Path, folder: Path) -> list[str]:
    """Limits found, and none where there is none."""
    samples = list(squad_samples(folder, 400))
    lines = [
        "## Length limits",
        "",
        f"Overlap with the first 100 words, and with all of them, on {len(samples)} disjoint samples of 400 questions of SQuAD's files; the scorer does not say what it reads.",
        "",
        "| scorer | limit found | where (median, least, most) | prefers a place within what it reads | interval [0, 0] |",
        "|---|---|---|---:|---:|",
    ]
    for name, limit in (("first 100 words", 100), ("all words", None)):
        rows = kept(
            state, f"squad_{limit}", len(samples), lambda number, limit=limit: squad_audited(samples[number], overlap(limit))
        )
        limits = [row["limit"] for row in rows if row["limit"] is not None]
        where = f"{np.median(limits):.0f}, {min(limits):.0f}, {max(limits):.0f} words" if limits else "–"
        prefers = sum(row["preference"] not in (Preference.NONE.value, Preference.UNKNOWN.value) for row in rows)
        zero = sum(row["effects"][0][4:6] == [0, 0] for row in rows)
        lines.append(f"| {name} | {shared(len(limits), len(rows))} | {where} | {prefers} | {zero} |")
    lines += [
        "",
        "## Preferences on texts",
        "",
        f"The same samples (of 400 questions {np.median([row['queries'] for row in rows]):.0f} have a sentence to move, median), asked in two orders: words in common, noise of {NOISE} deviations hashed from query and text, and 0.2 deviations by the place of the evidence's sentence.",
        "",
        "| preference | found | opposite side | another shape |",
        "|---|---|---|---:|",
    ]
    for shape in list(SHAPES)[1:5]:
        rows = kept(
            state,
            f"squad_{shape.replace(' ', '_')}",
            len(samples),
            lambda number, shape=shape: squad_placed(samples[number], shape, 0.2),
        )
        lines.append(f"| {SHAPES[shape][1].value}: {shape} | {' | '.join(counted(rows, SHAPES[shape][1]))} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="folder of finished audits")
    parser.add_argument("--squad", type=Path, help="folder of SQuAD's files; left out: no limits are measured")
    parser.add_argument("--part", choices=("power", "coverage", "order", "squad"), help="make this part's audits and no table")
    given = parser.parse_args()
    set_quiet(True)
    given.state.mkdir(parents=True, exist_ok=True)
    tables = {"power": power_table, "coverage": coverage_table, "order": order_table}
    if given.squad is not None:
        tables["squad"] = lambda state: squad_table(state, given.squad)
    if given.part:
        print("\n".join(tables[given.part](given.state)))
        return
    body = [line for table in tables.values() for line in table(given.state)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    text = [
        "# What an audit finds where the truth is known",
        "",
        f"{hardware()}; one thread; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; {seconds(given.state):,.0f} s of the processor.",
        "",
        f"    python benchmarks/audit_power.py --state FOLDER{' --squad FOLDER' if given.squad else ''}",
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
