"""Re-ranking with each distinct passage encoded once, against scoring pair by pair, with an untrained TK at its full size.

    python benchmarks/rerank_cached.py            # writes benchmarks/results/rerank_cached_HARDWARE_DATE.md

Questions and passages are those of SQuAD's dev file under $POSBIAS_DATA; invented ones with Zipf's frequencies where that names
nothing. Candidates are BM25's. Both ways read the text, encode each query once and score the same batches of one query's
candidates: they differ in that the second encodes a passage again for every query that it is a candidate of.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Passage, Query
from positionbias.core.run import Run
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.protocols import pad_rows
from positionbias.models.tk import TK, TKConfig
from positionbias.ranking.rerank import PAIR_WORDS, rescore
from positionbias.text.vocabulary import Vocabulary, count_words

SIZES = (25, 50, 100, 200)
DEPTH = 100


def squad(data: Path) -> tuple[list[str], list[str]]:
    """The passages and the questions of SQuAD's dev file."""
    from positionbias.formats.squad_json import read_squad

    paragraphs = [p for article in read_squad(data / "squad" / "dev-v1.1.json").articles for p in article.paragraphs]
    return [p.text for p in paragraphs], [question.text for p in paragraphs for question in p.questions]


def invented(count: int = 2_000) -> tuple[list[str], list[str]]:
    """Passages of 20 to 200 words and queries of 5 to 15, with frequencies by Zipf's law over 20,000 words."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 20_001)

    def texts(fewest: int, most: int) -> Iterator[str]:
        for _ in range(count):
            yield " ".join(f"w{n}" for n in rng.choice(20_000, rng.integers(fewest, most + 1), p=weights / weights.sum()))

    return list(texts(20, 200)), list(texts(5, 15))


def write_collection(place: Path) -> Collection:
    """A collection of the passages, with the questions in a shuffled order as its split ``test``."""
    data = os.environ.get("POSBIAS_DATA")
    passages, questions = squad(Path(data)) if data else invented()
    order = np.random.default_rng(1).permutation(len(questions))[: max(SIZES) * 5]
    with create_collection(place) as writer:
        writer.add_passages(Passage(f"p{number}", text) for number, text in enumerate(passages))
        writer.add_split("test", [Query(f"q{number}", questions[number]) for number in order], [])
        writer.finish(name="SQuAD dev" if data else "invented", command="a benchmark", settings={})
    return Collection(place)


@torch.inference_mode()
def pair_by_pair(model: TK, collection: Collection, queries: list[Query], run: Run) -> Run:
    """As ``rescore``, but a passage is read and encoded for each of its pairs."""
    texts = {query.query_id: query.text for query in queries}
    rankings = []
    for ranking in run.rankings():
        numbers = pad_rows(model.read_queries([texts[ranking.query_id]]))
        query, query_mask = model.query_vectors(numbers), numbers != 0
        rows = model.read_passages(collection.texts(ranking.passage_ids))
        size = max(1, PAIR_WORDS // max(1, *map(len, rows)))
        scores = []
        for start in range(0, len(rows), size):
            passages = pad_rows(rows[start : start + size])
            scores.append(model.interact(query, query_mask, model.passage_vectors(passages), passages != 0).numpy())
        rankings.append((ranking.query_id, ranking.passage_ids, np.concatenate(scores)))
    return Run("pairs", rankings)


def timed(work: Callable[[], Run]) -> tuple[Run, float, float]:
    """What it gives, in how many seconds on the clock and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    run = work()
    return run, time.perf_counter() - began, time.process_time() - used


def largest_difference(one: Run, other: Run) -> float:
    """Between two runs' scores of the same pairs."""
    largest = 0.0
    for ranking in one.rankings():
        scores = dict(zip(other[ranking.query_id].passage_ids, other[ranking.query_id].scores, strict=True))
        found = np.array([scores[passage_id] for passage_id in ranking.passage_ids])
        largest = max(largest, float(np.abs(found - ranking.scores).max()))
    return largest


def table(collection: Collection, model: TK, sizes: list[int], depth: int) -> list[str]:
    headings = ["queries", "pairs", "distinct passages", "pairs a passage", "cached, s", "pair by pair, s"]
    headings += ["cached, pairs/s", "pair by pair, pairs/s", "speed-up", "largest difference in score"]
    lines = [f"| {' | '.join(headings)} |", f"|{'---:|' * len(headings)}"]
    every = collection.queries("test")
    for size in sizes:
        queries = every[:size]
        run = retrieve(collection, queries, depth, Bm25Settings())
        cached, clock, seconds = timed(lambda: rescore(model, collection, queries, run, name="cached").run)  # noqa: B023
        pairs, pairs_clock, pairs_seconds = timed(lambda: pair_by_pair(model, collection, queries, run))  # noqa: B023
        distinct = len(run.passage_ids)
        cells = [f"{len(run):,}", f"{run.pairs:,}", f"{distinct:,}", f"{run.pairs / distinct:.1f}"]
        cells += [f"{seconds:.1f} ({clock:.1f})", f"{pairs_seconds:.1f} ({pairs_clock:.1f})"]
        cells += [f"{run.pairs / seconds:,.0f}", f"{run.pairs / pairs_seconds:,.0f}", f"{pairs_seconds / seconds:.1f}"]
        lines.append(f"| {' | '.join([*cells, f'{largest_difference(cached, pairs):.0e}'])} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def hardware() -> str:
    """The processor's name and the number of cores."""
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else []
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def report(given: argparse.Namespace, collection: Collection, model: TK, lines: list[str], load: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "positionbias"))
    shape: Any = model.config
    head = [
        "# Re-ranking with each passage encoded once, against scoring pair by pair",
        "",
        f"{hardware()}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/rerank_cached.py --threads {given.threads} --depth {given.depth} "
        f"--sizes {' '.join(map(str, given.sizes))}",
        "",
        f"{collection.name}: {len(collection):,} passages, candidates by BM25. TK of {shape.layers} layers, {shape.heads} heads of "
        f"{shape.head_size}, {shape.dimension} wide, untrained. Seconds of the processor (and on the clock); rates and speed-up are "
        f"of the former, since the machine may be shared (load average {load:.1f} at the start). The speed-up exceeds the pairs a "
        "passage: passages that are encoded once can be batched by their length, and those of one query cannot without padding.",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--depth", type=int, default=DEPTH, help="candidates a query")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of queries")
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/rerank_cached_HARDWARE_DATE.md")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        collection = write_collection(Path(temporary) / "collection")
        model = TK(TKConfig(), Vocabulary.build(count_words(p.text for p in collection.passages()))).eval()
        lines = table(collection, model, given.sizes, given.depth)
        text = report(given, collection, model, lines, load)
    name = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    place = given.out or Path(__file__).parent / "results" / f"rerank_cached_{name}_{date.today().isoformat()}.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
