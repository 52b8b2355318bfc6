"""Re-ranking with each distinct passage encoded once, against scoring pair by pair, for TK and BERT_DOT.

    posbias import squad $POSBIAS_DATA/squad --out squad
    posbias retrieve squad --split test --depth 30 --out squad.run
    python benchmarks/rerank_cached.py squad --candidates squad.run   # writes benchmarks/results/rerank_cached_HARDWARE_DATE.md

All candidates of all queries are re-ranked with passages encoded once; a sample of the queries is scored pair by pair before and after
that, with the same code that re-ranks for BERT_CAT: pairs of alike length batched together, tokenised ahead. Weights are TK's at its
full size as drawn, and MiniLM's (extra ``minilm``): what they are changes no time.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from measuring import hardware, result_place

from positionbias.core.collection import Collection, find_collection
from positionbias.core.progress import step
from positionbias.core.records import Query
from positionbias.core.run import Run, read_run
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import load_encoder
from positionbias.models.protocols import PassageEncoder
from positionbias.models.shapes import BertDotConfig, TKConfig
from positionbias.models.tk import TK
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_by_pair
from positionbias.ranking.rerank import rescore
from positionbias.ranking.score import known_queries
from positionbias.text.vocabulary import Vocabulary, count_words


def models(collection: Collection) -> Iterator[tuple[str, PassageEncoder]]:
    shape = TKConfig()
    words = Vocabulary.build(count_words(passage.text for passage in collection.passages()))
    yield (
        f"TK, {shape.layers} layers, {shape.heads} heads of {shape.head_size}, {shape.dimension} wide",
        TK(shape, words).eval(),
    )
    yield "BERT_DOT, MiniLM (6 layers, 384 wide)", BertDot(BertDotConfig(), load_encoder("minilm")).eval()


def sampled(run: Run, count: int) -> Run:
    """Some of the run's queries."""
    chosen = random.Random(1).sample(list(run), min(count, len(run)))
    return Run("sample", [(query_id, run[query_id].passage_ids, run[query_id].scores) for query_id in chosen])


def pair_by_pair(
    model: PassageEncoder, collection: Collection, queries: list[Query], run: Run, config: RankingConfig
) -> tuple[float, Run]:
    """Pairs a second, and the scores."""
    began = time.perf_counter()
    with step("pair by pair", run.pairs, unit="pairs") as bar:
        done = score_by_pair(model, collection, known_queries(run, queries), run, config, bar)
    return run.pairs / (time.perf_counter() - began), run.rescored("pairs", done.scores)


def largest_difference(one: Run, other: Run) -> tuple[float, float]:
    """Between two runs' scores of the same pairs: the largest, and what scores spread around their query's mean."""
    apart, spread = 0.0, []
    for ranking in one.rankings():
        scores = dict(zip(other[ranking.query_id].passage_ids, other[ranking.query_id].scores, strict=True))
        found = np.array([scores[passage_id] for passage_id in ranking.passage_ids])
        apart = max(apart, float(np.abs(found - ranking.scores).max(initial=0)))
        spread.append(float(np.std(ranking.scores)))
    return apart, statistics.mean(spread)


def row(name: str, model: PassageEncoder, collection: Collection, run: Run, given: argparse.Namespace) -> str:
    queries = collection.queries(given.split)
    part = sampled(run, given.sample)
    config = RankingConfig(precision=given.precision)
    model.to(torch.device(given.device))
    pair_by_pair(model, collection, queries, sampled(run, 1), config)  # whatever is made at the first use
    before, scores = pair_by_pair(model, collection, queries, part, config)
    cached = rescore(model, collection, queries, run, name="cached", config=config)
    after, _ = pair_by_pair(model, collection, queries, part, config)
    apart, spread = largest_difference(scores, cached.run)
    ours, pairs = run.pairs / cached.seconds, statistics.mean([before, after])
    passages = len(run.passage_ids)
    cells = [
        name,
        f"{run.pairs:,}",
        f"{passages:,}",
        f"{run.pairs / passages:.1f}",
        f"{cached.counts.truncated / passages:.1%}",
    ]
    cells += [f"{cached.seconds:,.0f}", f"{ours:,.0f}", f"{before:,.1f} and {after:,.1f}", f"{ours / pairs:.1f}"]
    line = f"| {' | '.join([*cells, f'{apart:.0e} (spread {spread:.2g})'])} |"
    print(line, file=sys.stderr, flush=True)
    return line


def report(given: argparse.Namespace, collection: Collection, run: Run, rows: list[str], load: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "positionbias"))
    headings = ["model", "pairs", "distinct passages", "pairs a passage", "passages up to the limit", "once each, s"]
    headings += ["pairs/s", "pair by pair, pairs/s before and after", "speed-up", "largest difference in score"]
    where = torch.cuda.get_device_name() if given.device == "cuda" else hardware()
    return "\n".join(
        [
            "# Re-ranking with each passage encoded once, against scoring pair by pair",
            "",
            f"{where}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
            "",
            f"    python benchmarks/rerank_cached.py {Path(given.collection).name} --candidates {Path(given.candidates).name} "
            f"--split {given.split} --sample {given.sample} --threads {given.threads} --device {given.device} --precision {given.precision}",
            "",
            f"{collection.name}: {len(collection):,} passages; {len(run):,} queries with up to {run.depth} candidates of BM25. From texts "
            f"to scores; pair by pair on {given.sample} of the queries, before and after (load average {load:.1f} at the start).",
            "",
            f"| {' | '.join(headings)} |",
            f"|---|{'---:|' * (len(headings) - 1)}",
            *rows,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection")
    parser.add_argument("--candidates", required=True, help="a run over the split's queries")
    parser.add_argument("--split", default="test")
    parser.add_argument("--queries", type=int, help="only so many of the run's queries")
    parser.add_argument("--sample", type=int, default=20, help="queries that are scored pair by pair")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/rerank_cached_HARDWARE_DATE.md")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    load = os.getloadavg()[0]
    collection, run = find_collection(given.collection), read_run(given.candidates)
    run = sampled(run, given.queries) if given.queries else run
    rows = [row(name, model, collection, run, given) for name, model in models(collection)]
    place = given.out or result_place("rerank_cached" if given.device == "cpu" else "rerank_cached_gpu")
    place.write_text(report(given, collection, run, rows, load), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
