"""How often is a scorer called sensitive or insensitive to the order of a passage's text where it
is not, and how often is a preference for the front found?

    python benchmarks/audit_sensitivity.py DATA FOLDER [--samples 200] [--only topics]
        # writes benchmarks/results/audit_sensitivity_HARDWARE_DATE.md

``DATA`` is what ``$POSBIAS_DATA`` names. SQuAD's development questions stand without their answers,
and TREC's topics of 2019 and 2020 over MS MARCO's passages with their judgements. Texts, trials,
scores and deviations are those of the audit; a sample draws queries, and for scorers with noise the
noise anew. The rule is ``sensitivity_verdict``.

Scorers:

- a bag of words: BM25's weights, or tf-idf's cosine;
- at the margin: the bag plus noise of each wording, s · n(query, wording), n standard normal. A
  change of the order draws it anew, so E|Δ| = s · √2 · √(2/π) · E m, which s sets to the margin
  times the mean deviation. m is 1 ("alike"), or 10 in one query of ten and else 0 ("rare"), or
  log-normal ("long tail"); "one change" leaves the halves' score as it was; "by passage" draws n
  for a passage and all its questions;
- a preference for the front: an occurrence of a word at the share x of the passage counts 1 − s·x.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log, pi, sqrt
from pathlib import Path

import numpy as np
from measuring import result_place

from positionbias.audit.answers import SIZES, Preference, Question, Verdict
from positionbias.audit.audit import audit, make_task
from positionbias.audit.manipulate import ROUNDED, Asked, Manipulation, Measured, ask, measure
from positionbias.audit.reads import Reads, everything
from positionbias.audit.sensitivity import sensitivity_verdict, text_trials
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run, read_run
from positionbias.core.seeds import generator
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.user_code import UserFunction

MARGIN, DEPTH, MOST = 0.1, 30, 2_000
SETTINGS = AuditSettings(measures=("nDCG@10",), needles=MOST, draws=0, segments=0, depth=DEPTH)
ANSWERS = (Preference.SENSITIVE, Preference.INSENSITIVE, Preference.UNKNOWN)
FEW = 50  # samples of a scorer without noise
NO_LIMIT = Reads(everything, None, "none")
SLOPES = (0.05, 0.1, 0.25, 0.5, 1.0)
Scorer = Callable[[str, Sequence[str]], list[float]]


def written(
    place: Path, passages: Sequence[Passage], queries: Sequence[Query], qrels: Sequence[Qrel]
) -> Collection:
    """A collection with judgements alone."""
    if not place.exists():
        with create_collection(place) as writer:
            writer.add_passages(passages)
            writer.add_split("test", queries, qrels)
            writer.finish(Manifest("collection", place.name, "a benchmark"), allow_absent=True)
    return Collection(place)


def squad(data: Path, folder: Path) -> Task:
    """Questions of SQuAD's development set, with BM25's candidates."""
    paragraphs = [
        p
        for article in json.loads((data / "squad/dev-v1.1.json").read_text())["data"]
        for p in article["paragraphs"]
    ]
    passages = [
        Passage(f"p{number}", paragraph["context"]) for number, paragraph in enumerate(paragraphs)
    ]
    asked = [
        (Query(qa["id"], qa["question"]), f"p{number}")
        for number, p in enumerate(paragraphs)
        for qa in p["qas"]
    ]
    collection = written(
        folder / "squad",
        passages,
        [query for query, _ in asked],
        [Qrel(q.query_id, p, 1) for q, p in asked],
    )
    return make_task(
        collection,
        "test",
        lambda queries: retrieve(collection, queries, DEPTH, Bm25Settings()),
        SETTINGS,
        queries=MOST,
    )


def topics(data: Path, folder: Path) -> Task:
    """TREC's topics of 2019 and 2020, with their candidates by BM25."""
    mini = data / "msmarco_mini"

    def rows(name: str) -> Iterator[list[str]]:
        return (
            line.rstrip("\n").split("\t", 1)
            for line in (mini / name).read_text(encoding="utf-8").splitlines()
        )

    years = ("dl19", "dl20")
    queries = [Query(*row) for year in years for row in rows(f"queries.{year}.tsv")]
    judged = [
        line.split()
        for year in years
        for line in (mini / f"qrels.{year}.txt").read_text().splitlines()
    ]
    qrels = [Qrel(query_id, passage_id, int(grade)) for query_id, _, passage_id, grade in judged]
    collection = written(
        folder / "topics", [Passage(*row) for row in rows("collection.tsv")], queries, qrels
    )
    runs = [read_run(mini / f"bm25.{year}.run") for year in years]
    run = Run("bm25", ((name, of[name].passage_ids, of[name].scores) for of in runs for name in of))
    return make_task(collection, "test", run, SETTINGS)


@lru_cache(maxsize=500_000)
def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Weights:
    """BM25's weights by the passages of a collection."""

    def __init__(self, collection: Collection) -> None:
        texts = [words(passage.text) for passage in collection.passages()]
        self.texts, self.mean = len(texts), float(np.mean([len(text) for text in texts]))
        self.held = Counter(word for text in texts for word in set(text))

    def rarity(self, word: str) -> float:
        return log(1 + (self.texts - self.held[word] + 0.5) / (self.held[word] + 0.5))

    def bm25(self, slope: float = 0.0) -> Scorer:
        """BM25 where an occurrence at the share x of the passage counts 1 − slope · x."""

        def one(wanted: dict[str, float], text: list[str]) -> float:
            counts: Counter[str] = Counter()
            for place, word in enumerate(text):
                if word in wanted:
                    counts[word] += 1 - slope * place / len(text)  # type: ignore[assignment]
            room = 0.9 * (0.6 + 0.4 * len(text) / self.mean)
            return sum(
                wanted[word] * found / (found + room) for word, found in sorted(counts.items())
            )

        def score(query: str, passages: Sequence[str]) -> list[float]:
            wanted = {word: self.rarity(word) for word in words(query)}
            return [one(wanted, words(text)) for text in passages]

        return score

    def cosine(self) -> Scorer:
        """The cosine of tf-idf."""

        @lru_cache(maxsize=500_000)
        def row(text: str) -> tuple[dict[str, float], float]:
            found = {
                word: number * self.rarity(word)
                for word, number in sorted(Counter(words(text)).items())
            }
            return found, sqrt(sum(value * value for value in found.values())) or 1.0

        def score(query: str, passages: Sequence[str]) -> list[float]:
            asked, size = row(query)
            rows = [row(text) for text in passages]
            return [
                sum(value * one.get(word, 0.0) for word, value in asked.items()) / (size * norm)
                for one, norm in rows
            ]

        return score


@dataclass(frozen=True)
class Scored:
    """All queries of a task by one scorer; the placebo's rows stand beside the relevant passage's,
    NaN where there is none.
    """

    relevant: Measured
    placebo: np.ndarray

    def sample(
        self,
        rng: np.random.Generator,
        queries: int,
        noise: Callable[[np.random.Generator, Measured], tuple] | None,
    ) -> Verdict:
        """The verdict on some queries, whose changes have noise."""
        rows = np.sort(rng.choice(len(self.relevant.query_ids), queries, replace=False))
        own = replace(
            self.relevant,
            query_ids=[self.relevant.query_ids[row] for row in rows],
            clusters=[self.relevant.clusters[row] for row in rows],
            by_unit={unit: values[rows] for unit, values in self.relevant.by_unit.items()},
            units=self.relevant.units[rows],
            whole=self.relevant.whole[rows],
        )
        changes, units = own.by_unit["score"], own.units
        if noise is not None:
            more, units = noise(rng, own)
            changes = changes + more
        step = 10.0**-ROUNDED * np.nanmean(units)
        own = replace(
            own, by_unit={**own.by_unit, "score": np.round(changes / step) * step}, units=units
        )
        other = replace(own, by_unit={**own.by_unit, "score": self.placebo[rows]})
        return sensitivity_verdict(own, other, "nDCG@10", MARGIN, NO_LIMIT)


def scored(task: Task, scorer: Scorer) -> Scored:
    """All changes of a scorer, by the audit's own steps; ranks and measures are left out, which no
    verdict rests on.
    """
    system = System("scorer", model=UserFunction(scorer))
    how = Manipulation(system, task, "nDCG@10", SETTINGS.seed, False, system.ranked(task))
    made = text_trials(task, task.query_ids, SETTINGS, most=MOST)
    known = Asked()
    for part in (made.relevant, made.placebo):
        ask(how, part, known, "")
    relevant, placebo = (
        measure(how, part, known, everything, SIZES) for part in (made.relevant, made.placebo)
    )
    places = {query_id: row for row, query_id in enumerate(relevant.query_ids)}
    beside = np.full_like(relevant.by_unit["score"], np.nan)
    beside[[places[query_id] for query_id in placebo.query_ids]] = placebo.by_unit["score"]
    left_out = np.full_like(beside, np.nan)
    by_unit = {"score": relevant.by_unit["score"], "ranks": left_out, "nDCG@10": left_out}
    return Scored(replace(relevant, by_unit=by_unit), beside)


def held_to_the_audit(task: Task, scorer: Scorer, found: Scored) -> None:
    """Hold the verdict on all queries to that of ``audit``.

    Raises:
        SystemExit: they differ.
    """
    results = audit(
        task, [System("scorer", model=UserFunction(scorer))], replace(SETTINGS, lists="pointwise")
    )
    (expected,) = [
        r.figures
        for r in results
        if isinstance(r.figures, Verdict) and r.figures.question is Question.TEXT
    ]
    own = found.sample(generator(1, "held"), len(found.relevant.query_ids), None)
    numbers = [
        (one.value, one.low, one.high)
        for verdict in (expected, own)
        for one in verdict.effects
        if one.unit == "deviations"
    ]
    half = len(numbers) // 2
    if own.preference is not expected.preference or not np.allclose(
        numbers[:half], numbers[half:], atol=1e-3
    ):
        raise SystemExit(
            f"wanted the audit's verdict; found {own.preference}, {numbers[half:]} beside "
            f"{numbers[:half]}"
        )


def noise_of(
    found: Scored, kind: str
) -> Callable[[np.random.Generator, Measured], tuple[np.ndarray, np.ndarray]]:
    """Noise with E|Δ| at the margin over all queries of the task, where a candidate's score has
    noise too.
    """
    factors = {"rare": sqrt(10), "long tail": sqrt(np.exp(1))}.get(kind, 1.0)  # √E m², E m being 1
    deviations = found.relevant.units[~np.isnan(found.relevant.units)]
    size = 0.0
    for _ in range(100):  # the noise widens the deviations, which widens the noise
        unit = float(np.sqrt(deviations**2 + (factors * size) ** 2).mean())
        size = MARGIN * unit / (2 / sqrt(pi))

    def noise(rng: np.random.Generator, own: Measured) -> tuple[np.ndarray, np.ndarray]:
        labels, of = np.unique(own.clusters, return_inverse=True)
        number = len(labels) if kind == "by passage" else len(own.units)
        if kind == "rare":
            factor = 10.0 * (rng.random(number) < 0.1)
        else:
            factor = np.exp(rng.normal(-0.5, 1, number)) if kind == "long tail" else np.ones(number)
        drawn = size * factor[:, None] * rng.normal(size=(number, 3))
        drawn = drawn[of] if kind == "by passage" else drawn
        changes = drawn[:, 1:] - drawn[:, :1]
        if kind == "one change":
            changes[:, 1] = 0.0
        return changes, np.sqrt(own.units**2 + (factors * size) ** 2)

    return noise


def line(name: str, found: Scored, queries: int, samples: int, noise_kind: str = "") -> str:
    """A row of the table: the mean size of each change over all queries, its signed mean, and the
    shares of the answers.
    """
    noise = noise_of(found, noise_kind) if noise_kind else None
    counts: Counter[Preference] = Counter()
    covered = 0
    for sample in range(samples):
        verdict = found.sample(generator(1, "sensitivity", name, queries, sample), queries, noise)
        counts[verdict.preference] += 1
        turned = next(
            one for one in verdict.effects if one.unit == "deviations" and one.contrast == SIZES[0]
        )
        covered += turned.low is not None and turned.low <= MARGIN <= (turned.high or 0)
    score, unit = found.relevant.by_unit["score"], np.nanmean(found.relevant.units)
    sizes = [f"{value:.3f}" for value in np.abs(score).mean(axis=0) / unit]
    sizes = (
        [f"{MARGIN:g}", "0" if noise_kind == "one change" else f"{MARGIN:g}"]
        if noise_kind
        else sizes
    )
    signed = "0" if noise_kind else f"{score[:, 1].mean() / unit:+.3f}"
    shares = " | ".join(f"{100 * counts[answer] / samples:.1f} %" for answer in ANSWERS)
    held = f"{100 * covered / samples:.1f} %" if noise_kind else "–"
    return f"| {name} | {queries:,} | {sizes[0]} | {sizes[1]} | {signed} | {shares} | {held} |"


HEAD = (
    "| scorer | queries | E\\|Δ\\|, rotated | E\\|Δ\\|, halves | mean Δ, halves | sensitive | "
    "insensitive | cannot tell | interval of the rotated holds the truth |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--only", choices=("squad", "topics"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for title, made, sizes in (
        ("SQuAD, development questions without their answers", squad, (20, 43, 100, 300, 1_000)),
        ("TREC's topics of 2019 and 2020", topics, (20, 43, 97)),
    ):
        if given.only not in (None, made.__name__):
            continue
        task = made(given.data, given.folder)
        weights = Weights(task.collection)
        bag = scored(task, weights.bm25())
        held_to_the_audit(task, weights.bm25(0.5), scored(task, weights.bm25(0.5)))
        rows = [line("bag: BM25's weights", bag, size, FEW) for size in sizes]
        rows += [
            line("bag: tf-idf's cosine", scored(task, weights.cosine()), size, FEW)
            for size in sizes
        ]
        for kind in ("alike", "by passage", "one change", "long tail", "rare"):
            rows += [
                line(f"at the margin: {kind}", bag, size, given.samples, kind) for size in sizes
            ]
        for slope in SLOPES:
            front = scored(task, weights.bm25(slope))
            rows += [line(f"front: 1 − {slope:g} · x", front, size, FEW) for size in sizes]
        pages += [
            (
                f"## {title}: {len(bag.relevant.query_ids):,} queries, "
                f"{len(set(bag.relevant.clusters)):,} passages"
            ),
            "\n".join([HEAD, *rows]),
        ]
        print("\n\n".join(pages[-2:]), flush=True)
    place = result_place("audit_sensitivity")
    only = f" --only {given.only}" if given.only else ""
    intro = (
        "# Sensitivity without answers: false alarms and power\n\n`python "
        f"benchmarks/audit_sensitivity.py DATA FOLDER --samples {given.samples}{only}`, "
        f"{time.process_time():.0f} s of the processor. The margin is {MARGIN:g} deviations. E|Δ| "
        f"and the signed mean are over all queries; shares are of {FEW} samples of queries, at the "
        f"margin of {given.samples}, each with noise of its own. At the margin both answers are "
        f"false alarms; the standard error of 5 % is {100 * sqrt(0.05 * 0.95 / given.samples):.1f} "
        "%."
    )
    place.write_text("\n\n".join([intro, *pages]) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
