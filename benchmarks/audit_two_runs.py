"""Does the verdict from two runs accuse position-blind systems, and does it find those that prefer
a place? On planted and real text.

    python benchmarks/audit_two_runs.py
        # writes benchmarks/results/audit_two_runs_HARDWARE_DATE.md

Each audit has a collection (planted: drawn anew; SQuAD's development set: queries of passages drawn
anew, so that audits overlap), two rotations that ``debias`` wrote, and the runs of simulated
scorers over the BM25 candidates of all three. Blind scorers suffer from the cut, not from the
place. Two estimators read the same runs: the delivered one with draws left out only where the
answer itself is cut; and the delivered one.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measuring import hardware, result_place

from positionbias.audit.answers import Contrast, Effect, Preference
from positionbias.audit.audit import make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import RotatedRun, System, Task
from positionbias.audit.two_runs import moves_of, two_run_verdict
from positionbias.audit.verdict import MEASURE_MARGIN
from positionbias.audit.verdict import answer as answer_of
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import keys64
from positionbias.evaluation.clustered import Estimate
from positionbias.evaluation.moved_effect import moved_effect
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.formats.squad import import_squad
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Mode, Rotation
from positionbias.text.words import word_spans

DEPTH, DRAWS, WINDOW, NEAR = 20, 2, 20, 8
BLIND = (
    "words, noise 0.1",
    "words, noise 0.3",
    "words, noise 1",
    "best 20-word window",
    "best window, noise 0.3",
    "word pairs",
    "proximity",
    "best sentence",
    "best sentence and a neighbour",
    "penalty for broken ends",
)
NOT_BLIND = (
    "best sentence and the one before",
    "front, weight 0.9 at the end",
    "front, weight 0.5 at the end",
    "end, weight 0.5 at the front",
    "stops at word 50",
    "stops at word 100",
)
ESTIMATORS = ("answer whole", "sentence whole")
STOP_WORDS = frozenset(
    "what which who whom when where why how is are was were did does do the a an of in on at to "
    "for by with and or as".split()
)


Places = tuple[np.ndarray, ...]  # before, after, cuts


class Cell(NamedTuple):
    """One kind of audit."""

    name: str
    front_loading: float = 0.0
    questions: int = 1
    mode: Mode = "words"
    real: bool = False


CELLS = (
    Cell("planted, answers anywhere"),
    Cell("planted, answers in front", 0.7),
    Cell("planted, answers in front, three questions a passage", 0.7, 3),
    Cell("planted, answers in front, cut between sentences", 0.7, 1, "sentences"),
    Cell("SQuAD", real=True),
    Cell("SQuAD, cut between sentences", mode="sentences", real=True),
)


class Candidates:
    """The pairs of a task's candidates as arrays: which word of a passage matches its query and how
    much, and where sentences end.
    """

    def __init__(self, task: Task) -> None:
        run, evidence = task.candidates, task.evidence.by_query
        queries = {query.query_id: query.text for query in task.queries}
        self.query_ids = task.query_ids
        self.passage_ids = sorted(
            {p for q in self.query_ids if q in run for p in run[q].passage_ids[:DEPTH]}
        )
        row = {passage_id: number for number, passage_id in enumerate(self.passage_ids)}
        self.texts = texts = task.collection.texts(self.passage_ids)
        spans = [word_spans(text) for text in texts]
        self.starts = [[start for start, _ in found] for found in spans]
        words = [[text[a:b] for a, b in found] for text, found in zip(texts, spans, strict=True)]
        self.lengths = np.array([len(found) for found in words])
        longest = int(self.lengths.max())
        self.ends, self.capital = (
            np.zeros((len(words), longest), bool),
            np.zeros((len(words), longest), bool),
        )
        places: list[dict[str, list[int]]] = [{} for _ in words]
        for number, found in enumerate(words):
            self.ends[number, : len(found)] = [word in ".?!" for word in found]
            self.capital[number, : len(found)] = [not word[0].islower() for word in found]
            for place, word in enumerate(found):
                places[number].setdefault(word.lower(), []).append(place)
        holding = Counter(word for index in places for word in index)
        pairs = [
            (i, row[p])
            for i, q in enumerate(self.query_ids)
            if q in run
            for p in run[q].passage_ids[:DEPTH]
        ]
        self.query, self.passage = np.array(pairs).T
        self.relevant = np.array(
            [self.passage_ids[p] == evidence[self.query_ids[q]].passage_id for q, p in pairs]
        )
        self.match = np.zeros((len(pairs), longest), np.float32)
        asked = [
            {queries[q][a:b].lower() for a, b in word_spans(queries[q])} - STOP_WORDS
            for q in self.query_ids
        ]
        for pair, (query, passage) in enumerate(pairs):
            for word in asked[query]:
                if (at := places[passage].get(word)) and word[0].isalnum():
                    self.match[pair, at] = math.log(1 + len(words) / holding[word])

    def turns(self, rotation: Rotation) -> np.ndarray:
        """The word at which each passage is cut, ``(passages,)``; sentences' starts are found in
        the text.
        """
        found = np.zeros(len(self.passage_ids), np.int64)
        for number, passage_id in enumerate(self.passage_ids):
            cut = (
                rotation.cut(self.texts[number], passage_id)
                if rotation.mode == "sentences"
                else rotation.cut_among(self.starts[number], passage_id)
            )
            found[number] = np.searchsorted(self.starts[number], cut) if cut else 0
        return found

    def scores(self, turns: np.ndarray) -> dict[str, np.ndarray]:
        """Every scorer's scores of all pairs, ``(pairs,)``, with passages cut at ``turns``."""
        found: dict[str, list[np.ndarray]] = defaultdict(list)
        for start in range(0, len(self.query), 4_000):
            part = slice(start, start + 4_000)
            for name, values in self._scores(part, turns[self.passage[part]]).items():
                found[name].append(values)
        scores = {name: np.concatenate(values) for name, values in found.items()}
        keys = [
            f"{self.query_ids[q]}\x1f{self.passage_ids[p]}\x1f{turns[p]}"
            for q, p in zip(self.query, self.passage, strict=True)
        ]
        noise = _normal(keys)
        bag, window = scores.pop("words"), scores["best 20-word window"]
        for size in (0.1, 0.3, 1):
            scores[f"words, noise {size:g}"] = bag + size * self._deviation(bag) * noise
        scores["best window, noise 0.3"] = window + 0.3 * self._deviation(window) * noise
        return {name: values.astype(np.float32) for name, values in scores.items()}

    def _scores(self, part: slice, turn: np.ndarray) -> dict[str, np.ndarray]:
        passage, length = self.passage[part], self.lengths[self.passage[part]][:, None]
        places = np.arange(int(length.max()))[None]
        inside = places < length
        source = np.where(inside, (places + turn[:, None]) % length, 0)
        match = np.where(inside, np.take_along_axis(self.match[part], source, 1), 0).astype(
            np.float64
        )
        ends = inside & np.take_along_axis(self.ends[passage], source, 1)
        capital = np.take_along_axis(self.capital[passage], source[:, :1], 1)[:, 0]
        closed = np.take_along_axis(ends, length - 1, 1)[:, 0]
        bag, place = match.sum(1), places / length
        summed = np.concatenate([np.zeros((len(match), 1)), match.cumsum(1)], 1)
        near = sum(
            np.minimum(match[:, lag:], match[:, :-lag]).sum(1) / lag for lag in range(1, NEAR + 1)
        )
        pairs = ((match[:, 1:] > 0) & (match[:, :-1] > 0)) * (match[:, 1:] + match[:, :-1])
        number = np.cumsum(ends, 1) - ends + 1
        by_sentence = np.zeros((len(match), int(number.max()) + 2))
        np.add.at(
            by_sentence,
            (np.repeat(np.arange(len(match)), match.shape[1]), number.ravel()),
            match.ravel(),
        )
        own, before, behind = by_sentence[:, 1:-1], by_sentence[:, :-2], by_sentence[:, 2:]
        return {
            "words": bag,
            "best 20-word window": (summed[:, WINDOW:] - summed[:, :-WINDOW]).max(1)
            if match.shape[1] > WINDOW
            else bag,
            "word pairs": 0.3 * bag + pairs.sum(1),
            "proximity": 0.3 * bag + near,
            "best sentence": own.max(1),
            "best sentence and a neighbour": (own + 0.5 * np.maximum(before, behind)).max(1),
            "best sentence and the one before": (own + 0.5 * before).max(1),
            "penalty for broken ends": bag
            - 0.25 * self.level * ((~capital).astype(float) + ~closed),
            "front, weight 0.9 at the end": (match * (1 - 0.1 * place)).sum(1),
            "front, weight 0.5 at the end": (match * (1 - 0.5 * place)).sum(1),
            "end, weight 0.5 at the front": (match * (0.5 + 0.5 * place)).sum(1),
            "stops at word 50": (match * (places < 50)).sum(1),
            "stops at word 100": (match * (places < 100)).sum(1),
        }

    @property
    def level(self) -> float:
        """The mean score of a pair by words alone."""
        return float(self.match.sum(1).mean())

    def _deviation(self, scores: np.ndarray) -> float:
        """The deviation of scores within a query."""
        mean = np.bincount(self.query, scores) / np.maximum(np.bincount(self.query), 1)
        return float(np.sqrt(np.mean((scores - mean[self.query]) ** 2)))

    def quality(self, scores: np.ndarray) -> np.ndarray:
        """nDCG@10 of each query, which has one relevant passage; equal scores by id descending, as
        a Run has it.
        """
        queries = len(self.query_ids)
        best, row = np.full(queries, np.inf, np.float32), np.zeros(queries, np.int64)
        best[self.query[self.relevant]], row[self.query[self.relevant]] = (
            scores[self.relevant],
            self.passage[self.relevant],
        )
        own = best[self.query]
        above = (scores > own) | ((scores == own) & (self.passage > row[self.query]))
        rank = 1 + np.bincount(self.query, above, queries)
        return np.where(np.isfinite(best) & (rank <= 10), 1 / np.log2(1 + rank), 0.0)

    def run(self, name: str, scores: np.ndarray) -> Run:
        """The scores as a run."""
        edges = np.flatnonzero(np.diff(self.query, prepend=-1, append=-1))
        parts = [slice(a, b) for a, b in pairwise(edges.tolist())]
        return Run(
            name,
            (
                (
                    self.query_ids[self.query[p.start]],
                    [self.passage_ids[k] for k in self.passage[p]],
                    scores[p],
                )
                for p in parts
            ),
        )


def _normal(keys: Sequence[str]) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(
        (keys64(7, "two runs", [key.encode() for key in keys]).astype(np.float64) + 0.5) / 2.0**64
    )


def several_questions(source: Collection, out: Path, questions: int) -> Collection:
    """A planted collection with the passages that answer joined, ``questions`` to a passage."""
    texts = {passage.passage_id: passage.text for passage in source.passages()}
    answers = source.answers("test")
    joined, moved = [], []
    for start in range(0, len(answers), questions):
        group, offset, parts = answers[start : start + questions], 0, []
        for one in group:
            assert one.start is not None
            assert one.end is not None
            parts.append(texts.pop(one.passage_id))
            moved.append(
                Answer(
                    one.query_id,
                    group[0].passage_id,
                    one.text,
                    one.start + offset,
                    one.end + offset,
                )
            )
            offset += len(parts[-1]) + 1
        joined.append(Passage(group[0].passage_id, " ".join(parts)))
    with create_collection(out) as writer:
        writer.add_passages(sorted([*joined, *(Passage(*item) for item in texts.items())]))
        qrels = [Qrel(one.query_id, one.passage_id, 1) for one in moved]
        writer.add_split("test", source.queries("test"), qrels, moved)
        writer.finish(Manifest("collection", out.name, "a benchmark"))
    return Collection(out)


# cell, scorer, estimator, effect, interval without 0, answer
Row = tuple[str, str, str, float, bool, str]


def audits_of(cell: Cell, seed: int, folder: Path, queries: int, real: Path | None) -> list[Row]:
    """One audit of every scorer; the first audit of a cell is checked against ``two_run_verdict``
    itself.
    """
    settings = AuditSettings(depth=DEPTH, seed=seed)
    if cell.real:
        assert real is not None
        collection = Collection(real)
    else:
        planted = PlantedSettings(
            queries=queries,
            passages=8 * queries,
            validation_share=0,
            test_share=1,
            front_loading=cell.front_loading,
            sentences=(4, 8),
            seed=seed,
        )
        collection = write_planted(folder / "planted", planted)
        if cell.questions > 1:
            collection = several_questions(collection, folder / "joined", cell.questions)
    first = retrieve(collection, collection.queries("test"), DEPTH, Bm25Settings())
    task = make_task(
        collection, "test", first, settings, queries=4 * queries if cell.real else None
    )
    rotations = [Rotation(mode=cell.mode, seed=1_000 * seed + draw) for draw in range(DRAWS)]
    rotated = [
        debias(collection, folder / f"rotated-{rotation.seed}", rotation) for rotation in rotations
    ]
    candidates = Candidates(task)
    scores = [
        candidates.scores(turns)
        for turns in (
            np.zeros(len(candidates.passage_ids), np.int64),
            *map(candidates.turns, rotations),
        )
    ]
    items = [task.evidence.by_query[query_id] for query_id in task.query_ids]
    moves = [moves_of(one, task, items) for one in rotated]
    sentences = tuple(np.array([places for places, _ in moves]).transpose(2, 0, 1))
    answers = answer_moves(candidates, task, rotations)
    rows: list[Row] = []
    for scorer in (*BLIND, *NOT_BLIND):
        quality = np.array([candidates.quality(of[scorer]) for of in scores])
        found = {
            "answer whole": effect(answers, quality, task.clusters),
            "sentence whole": effect(sentences, quality, task.clusters),
        }
        if seed == 1 and not cell.real:
            runs = [candidates.run(scorer, of[scorer]) for of in scores]
            pairs = [RotatedRun(*pair) for pair in zip(rotated, runs[1:], strict=True)]
            system = System(scorer, run=runs[0], rotated=pairs)
            verdict, _ = two_run_verdict(system, task, settings)
            value = verdict.effects[0].value
            if value is None or abs(value - (found["sentence whole"].value or 0)) > 1e-6:
                raise SystemExit(
                    f"{scorer}: two_run_verdict says {value}, this script "
                    f"{found['sentence whole'].value}"
                )
        for name, one in found.items():
            if one.value is not None and one.interval is not None:
                answer = answer_of(
                    [
                        Effect(
                            Contrast.RUNS,
                            "nDCG@10",
                            one.value,
                            one.interval.low,
                            one.interval.high,
                            queries=one.count,
                        )
                    ],
                    MEASURE_MARGIN,
                ).preference
                rows.append(
                    (
                        cell.name,
                        scorer,
                        name,
                        one.value,
                        not one.interval.low <= 0 <= one.interval.high,
                        answer,
                    )
                )
    return rows


def answer_moves(candidates: Candidates, task: Task, rotations: Sequence[Rotation]) -> Places:
    """The place of the answer itself before and after, and the cut, ``(draws, queries)``; NaN where
    it is cut or nothing moves.
    """
    number = {passage_id: place for place, passage_id in enumerate(candidates.passage_ids)}
    items = [task.evidence.by_query[query_id] for query_id in task.query_ids]
    first, length, words = (
        np.array([getattr(item, name) for item in items]) for name in ("first", "length", "words")
    )
    turn = np.zeros((len(rotations), len(items)), np.int64)
    for draw, rotation in enumerate(rotations):
        of = candidates.turns(rotation)
        turn[draw] = [
            of[number[item.passage_id]] if item.passage_id in number else 0 for item in items
        ]
    room = np.maximum(words - length, 1)
    moved = (turn > 0) & ~((turn > first) & (turn < first + length)) & (words > length)
    found = (
        np.broadcast_to(first / room, moved.shape),
        (first - turn) % words / room,
        turn / words,
    )
    return tuple(np.where(moved, column, np.nan) for column in found)


def _flat(places: Places, quality: np.ndarray, clusters: Sequence[str]) -> tuple[np.ndarray, ...]:
    used = ~np.isnan(places[1])
    columns = (
        quality[1:] - quality[0],
        np.broadcast_to(quality[0], used.shape),
        np.broadcast_to(clusters, used.shape),
    )
    return tuple(column[used] for column in (*places, *columns))


def effect(places: Places, quality: np.ndarray, clusters: Sequence[str]) -> Estimate:
    """The delivered estimator."""
    *columns, labels = _flat(places, quality, clusters)
    before, after, cuts, change, original = columns
    return moved_effect(before, after, cuts, change, original, labels.tolist())


Job = tuple[Cell, int, int, Path | None]


def _job(job: Job) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return audits_of(job[0], job[1], Path(folder), job[2], job[3])


def main() -> None:
    parser = argparse.ArgumentParser(description=" ".join(__doc__.partition("\n\n")[0].split()))
    parser.add_argument("--audits", type=int, default=30, help="of each planted cell")
    parser.add_argument(
        "--real-audits",
        type=int,
        default=10,
        help="of each real cell, where $POSBIAS_DATA has SQuAD",
    )
    parser.add_argument(
        "--queries",
        type=int,
        default=400,
        help="of a planted audit; a real one has four times as many",
    )
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    data, load = os.environ.get("POSBIAS_DATA"), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        real = Path(place) / "squad" if data else None
        if data and real:
            import_squad(
                [Path(data) / "squad" / "train44-v1.1.json"],
                Path(data) / "squad" / "dev-v1.1.json",
                real,
            )
        jobs: list[Job] = [
            (cell, seed, given.queries, None)
            for cell in CELLS
            if not cell.real
            for seed in range(1, given.audits + 1)
        ]
        jobs += [
            (cell, seed, given.queries, real)
            for cell in CELLS
            if cell.real and real
            for seed in range(1, given.real_audits + 1)
        ]
        with ProcessPoolExecutor(given.workers) as pool:
            rows = [row for found in pool.map(_job, jobs) for row in found]
        used = time.process_time() + sum(os.times()[2:4])
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    text = [
        "# The verdict from two runs: false alarms and power",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; "
        f"{date.today().isoformat()}; {used / 60:.1f} processor minutes, {given.workers} processes "
        f"(load average {load:.1f} at the start).",
        "",
        (
            f"    OMP_NUM_THREADS=1 python benchmarks/audit_two_runs.py --audits {given.audits} "
            f"--real-audits {given.real_audits} --queries {given.queries}"
        ),
        "",
        f"Planted: {given.audits} collections a cell, each drawn anew, {given.queries} queries, "
        f"{8 * given.queries:,} passages of 4 to 8 sentences. SQuAD: {given.real_audits} samples "
        f"of {4 * given.queries:,} queries of its development set, which overlap: counts, no "
        f"rates. {DRAWS} rotations, BM25's first {DEPTH}, nDCG@10, margin {MEASURE_MARGIN}. "
        "*Answer whole*: of all draws that leave the answer whole. *Sentence whole*: the delivered "
        "one, which leaves out draws through the answer's sentence.",
        "",
        *tables(rows),
    ]
    target = result_place("audit_two_runs")
    target.write_text("\n".join(text), encoding="utf-8")
    print(target)


def tables(rows: Sequence[Row]) -> Iterator[str]:
    """False alarms by cell and scorer, then what was found of scorers that prefer a place."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[:3]].append(row)
    cells = list(dict.fromkeys(row[0] for row in rows))
    yield from [
        "## Blind scorers",
        "",
        (
            "Mean effect, and audits whose 95 % interval leaves out 0 (5 % are due), by estimator; "
            "then the answers of the delivered one."
        ),
        "",
    ]
    yield (
        "| cell | scorer | answer whole | excludes 0 | sentence whole | "
        "excludes 0 | deviation | prefers front | prefers end | no preference | cannot tell |"
    )
    yield "|---|---|" + "---:|" * 9
    for cell in cells:
        for scorer in BLIND:
            yield _line(cell, scorer, [groups[cell, scorer, name] for name in ESTIMATORS])
        yield _line(
            cell,
            "**all blind**",
            [
                [row for scorer in BLIND for row in groups[cell, scorer, name]]
                for name in ESTIMATORS
            ],
        )
    yield from [
        "",
        "## Scorers that see places",
        "",
        "The first is nearly blind, but at the front there is no sentence before.",
        "",
    ]
    yield (
        "| cell | scorer | effect | its deviation | prefers front | prefers end | no preference | "
        "cannot tell |"
    )
    yield "|---|---|" + "---:|" * 6
    for cell in cells:
        for scorer in NOT_BLIND:
            found = groups[cell, scorer, ESTIMATORS[-1]]
            values = [row[3] for row in found]
            yield (
                f"| {cell} | {scorer} | {np.mean(values):+.3f} | {np.std(values, ddof=1):.3f} | "
                f"{_answers(found)} |"
            )
    yield ""


def _line(cell: str, scorer: str, by_estimator: Sequence[Sequence[Row]]) -> str:
    cells = [
        f"{np.mean([row[3] for row in found]):+.4f} | {sum(row[4] for row in found)} of "
        f"{len(found)}"
        for found in by_estimator
    ]
    last = by_estimator[-1]
    return (
        f"| {cell} | {scorer} | {' | '.join(cells)} | "
        f"{np.std([row[3] for row in last], ddof=1):.4f} | {_answers(last)} |"
    )


def _answers(found: Sequence[Row]) -> str:
    counts = Counter(row[5] for row in found)
    return " | ".join(
        str(counts[one])
        for one in (Preference.FRONT, Preference.END, Preference.NONE, Preference.UNKNOWN)
    )


if __name__ == "__main__":
    main()
