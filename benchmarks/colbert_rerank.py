"""Re-ranking by ColBERT with each passage encoded once, against a plain loop over queries and against sentence-transformers' own model.

    posbias import squad $POSBIAS_DATA/squad --out squad
    posbias retrieve squad --split test --depth 30 --out squad.run
    python benchmarks/colbert_rerank.py squad --candidates squad.run   # writes benchmarks/results/colbert_rerank_HARDWARE_DATE.md

All three have the same weights (MiniLM's, extra ``minilm``, and a random layer: what they are changes no time), queries and candidates. *Once each*: the
re-ranker of ``posbias rerank``. *Query by query*: a query and its candidates through the model's call, as a plain loop does it, so that a passage is encoded for each
query that it stands under. *sentence-transformers*: the saved checkpoint in its ``MultiVectorEncoder``, distinct passages encoded by ``encode_document`` in batches of 32, its
default, and held in memory; then a query's candidates by ``similarity``.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from measuring import hardware, result_place

from positionbias.core.collection import Collection, find_collection
from positionbias.core.run import Run, read_run
from positionbias.models.colbert import ColBERT
from positionbias.models.encoder import load_encoder, quiet_transformers
from positionbias.models.shapes import ColBERTConfig
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.rerank import known_queries, rescore

Scores = dict[str, np.ndarray]


def sampled(run: Run, count: int) -> Run:
    """Some of the run's queries."""
    chosen = random.Random(1).sample(list(run), min(count, len(run)))
    return Run("sample", [(query_id, run[query_id].passage_ids, run[query_id].scores) for query_id in chosen])


def once_each(model: ColBERT, collection: Collection, run: Run, split: str) -> Scores:
    done = rescore(model, collection, collection.queries(split), run, name="once", config=RankingConfig(precision="float32"))
    found = {}
    for ranking in done.run.rankings():
        of = dict(zip(ranking.passage_ids, ranking.scores, strict=True))
        found[ranking.query_id] = np.array([of[passage_id] for passage_id in run[ranking.query_id].passage_ids])
    return found


@torch.inference_mode()
def query_by_query(model: ColBERT, collection: Collection, run: Run, split: str) -> Scores:
    found = {}
    for query_id, text in known_queries(run, collection.queries(split)).items():
        passages = model.read_passages(collection.texts(run[query_id].passage_ids))
        query = model.encode_queries(model.read_queries([text]))
        found[query_id] = model.interact(*query, *model.encode_passages(passages)).numpy()
    return found


@torch.inference_mode()
def by_library(loaded: object, collection: Collection, run: Run, split: str) -> Scores:
    quiet = {"show_progress_bar": False, "batch_size": 32}
    texts = known_queries(run, collection.queries(split))
    passages = dict(
        zip(run.passage_ids, loaded.encode_document(collection.texts(run.passage_ids), **quiet), strict=True)  # type: ignore[attr-defined]
    )
    queries = loaded.encode_query(list(texts.values()), **quiet)  # type: ignore[attr-defined]
    found = {}
    for query_id, query in zip(texts, queries, strict=True):
        wanted = [passages[passage_id] for passage_id in run[query_id].passage_ids]
        found[query_id] = loaded.similarity([query], wanted)[0].numpy()  # type: ignore[attr-defined]
    return found


def timed(work: Callable[[], Scores]) -> tuple[float, Scores]:
    began = time.perf_counter()
    scores = work()
    return time.perf_counter() - began, scores


def rows(collection: Collection, run: Run, given: argparse.Namespace) -> Iterator[str]:
    import sentence_transformers

    model = ColBERT(ColBERTConfig(dimension=given.dimension), load_encoder("minilm")).eval()
    with tempfile.TemporaryDirectory() as folder, quiet_transformers():
        model.save(Path(folder) / "model")
        loaded = sentence_transformers.MultiVectorEncoder(str(Path(folder) / "model"), device="cpu")
    some = sampled(run, 1)
    ways = {
        "once each": (run, lambda r: once_each(model, collection, r, given.split)),
        "query by query": (sampled(run, given.sample), lambda r: query_by_query(model, collection, r, given.split)),
        "sentence-transformers": (run, lambda r: by_library(loaded, collection, r, given.split)),
    }
    first: Scores | None = None
    for name, (asked, work) in ways.items():
        work(some)  # whatever is made at the first use
        seconds, scores = timed(lambda asked=asked, work=work: work(asked))
        first = first or scores
        apart = max(float(np.abs(scores[query_id] - first[query_id]).max()) for query_id in scores)
        rate = asked.pairs / seconds
        encoded = asked.pairs if name == "query by query" else len(asked.passage_ids)
        yield f"| {name} | {len(asked):,} | {asked.pairs:,} | {encoded:,} | {seconds:,.1f} | {rate:,.0f} | {apart:.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection")
    parser.add_argument("--candidates", required=True, help="a run over the split's queries")
    parser.add_argument("--split", default="test")
    parser.add_argument("--queries", type=int, help="only so many of the run's queries")
    parser.add_argument("--sample", type=int, default=10, help="queries of the plain loop")
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/colbert_rerank_HARDWARE_DATE.md")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    load = os.getloadavg()[0]
    collection, run = find_collection(given.collection), read_run(given.candidates)
    run = sampled(run, given.queries) if given.queries else run
    found = list(rows(collection, run, given))
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers", "positionbias")
    )
    headings = [
        "way",
        "queries",
        "pairs",
        "passages encoded",
        "seconds",
        "pairs/s",
        "largest difference in score from the first",
    ]
    counted = f"{len(run.passage_ids):,} distinct passages, {run.pairs / len(run.passage_ids):.1f} pairs each"
    place = given.out or result_place("colbert_rerank")
    lines = [
        "# Re-ranking by ColBERT: each passage encoded once, a plain loop, and sentence-transformers",
        "",
        f"{hardware()}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/colbert_rerank.py {Path(given.collection).name} --candidates {Path(given.candidates).name} --split {given.split} "
        f"{f'--queries {given.queries} ' if given.queries else ''}--sample {given.sample} --dimension {given.dimension} --threads {given.threads}",
        "",
        f"{collection.name}: {len(run):,} queries with up to {run.depth} candidates of BM25, {counted}. ColBERT over MiniLM (6 layers, 384 wide), float32, from "
        f"texts to scores; one run, load average {load:.1f} at its start (above the cores other work ran beside it, so that only the ratios mean something).",
        "",
        f"| {' | '.join(headings)} |",
        f"|---|{'---:|' * (len(headings) - 1)}",
        *found,
        "",
    ]
    place.write_text("\n".join(lines), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
