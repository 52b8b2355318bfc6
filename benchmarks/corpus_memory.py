"""Memory and time of re-ranking and training over a corpus of MS MARCO's size.

    python benchmarks/make_corpus.py big-raw && posbias import msmarco big-raw --out big
    python benchmarks/corpus_memory.py big        # writes benchmarks/results/corpus_memory_HARDWARE_DATE.md

Each row is a process of its own. The candidates are 1,000 passages for each of 6,980 queries, drawn at random: with 4.8 million distinct ones more
than a first stage finds, so that as little as can be is shared. All rows read that whole run and write one of its size. A TK of full
width re-ranks only the head of each ranking here, and so do BERT_DOT and BERT_CAT, since memory does not grow with the depth; a narrow TK
re-ranks all seven million pairs.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from measuring import Measured, hardware, measured, result_place

from positionbias.core.collection import Collection, find_collection
from positionbias.core.manifest import Manifest
from positionbias.core.run import Ranking, write_rankings
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.encoder import load_encoder
from positionbias.models.protocols import Ranker
from positionbias.models.shapes import BertCatConfig, BertDotConfig, TKConfig
from positionbias.models.tk import TK
from positionbias.text.vocabulary import Vocabulary, count_words

VOCABULARY_PASSAGES = 200_000
ROWS = ("tk-narrow", "tk", "bert_dot", "bert_cat", "train-tk")


def write_candidates(collection: Collection, split: str, queries: int, depth: int, place: Path) -> None:
    """Passages drawn at random; the judged one stands first, so that a training has something to learn."""
    ids = collection.passage_ids()
    relevant = {qrel.query_id: qrel.passage_id for qrel in collection.qrels(split)}
    random = np.random.default_rng(1)
    scores = np.arange(depth, 0, -1, dtype=np.float32)

    def rankings() -> Iterator[Ranking]:
        for query in collection.queries(split)[:queries]:
            drawn = [ids[row] for row in random.choice(len(ids), depth, replace=False)]
            first = relevant[query.query_id]
            yield Ranking(query.query_id, [first, *(item for item in drawn if item != first)][:depth], scores)

    write_rankings(place, "random", rankings(), overwrite=True)


def models(collection: Collection, wanted: Sequence[str]) -> Iterator[tuple[str, Ranker]]:
    if {"tk", "tk-narrow"} & set(wanted):
        words = Vocabulary.build(count_words(p.text for p in islice(collection.passages(), VOCABULARY_PASSAGES)))
        yield "tk-narrow", TK(TKConfig(dimension=4, layers=1, heads=1, head_size=2, feed_forward=2), words)
        yield "tk", TK(TKConfig(), words)
    if "bert_dot" in wanted:
        yield "bert_dot", BertDot(BertDotConfig(), load_encoder("minilm"))
    if "bert_cat" in wanted:
        yield "bert_cat", BertCat(BertCatConfig(), load_encoder("minilm"))


def row(what: str, held: int, found: Measured) -> str:
    rate = re.search(r"([\d,]+) pairs.*?: ([\d,]+) pairs/s", found.errors)
    pairs, speed = (rate[1], rate[2]) if rate else ("–", "–")
    cells = [what, pairs, f"{found.seconds:,.0f}", speed, f"{held / 1e6:,.0f}", f"{found.anonymous / 1e6:,.0f}"]
    line = f"| {' | '.join([*cells, f'{(found.anonymous - held) / 1e6:,.0f}', f'{found.peak / 1e6:,.0f}'])} |"
    print(line, file=sys.stderr, flush=True)
    return line


def weights(model: Ranker) -> int:
    return sum(tensor.nbytes for tensor in model.state_dict().values())


def reranked(given: argparse.Namespace, collection: Collection, folder: Path, run: Path) -> Iterator[str]:
    for name, model in models(collection, given.rows):
        if name not in given.rows:
            continue
        place = folder / name
        manifest = Manifest(kind="checkpoint", name=name, command="a benchmark")
        save_checkpoint(place, model, depth=1, training={}, manifest=manifest)
        depth = given.depth if name == "tk-narrow" else given.head
        command = ["rerank", str(collection.path), "--model", str(place), "--split", given.split, "--candidates", str(run)]
        found = measured(posbias(*command, "--depth", str(depth), "--out", str(folder / f"{name}.run"), "--device", "cpu"))
        yield row(f"re-ranking by {name}, to depth {depth:,}", weights(model), found)
        (folder / f"{name}.run").unlink()


def trained(given: argparse.Namespace, collection: Collection, folder: Path, run: Path) -> str:
    short = folder / "validation.run"
    write_candidates(collection, given.split, 100, 100, short)
    command = ["train", "tk", str(collection.path), "--candidates", str(run), "--validation-candidates", str(short)]
    command += ["--split", given.split, "--validation-split", given.split, "--max-steps", str(given.steps)]
    found = measured(posbias(*command, "--validate-every", str(given.steps), "--out", str(folder / "trained")))
    # the embedding and the two moments of its optimiser, which follow every word that was seen
    held = 3 * sum(path.stat().st_size for path in (folder / "trained").glob("*.safetensors"))
    return row(f"training TK for {given.steps:,} batches", held, found)


def posbias(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from positionbias.cli.main import main; main()", *arguments]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection")
    parser.add_argument("--split", default="train")
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--head", type=int, default=1, help="the depth to which models of full width re-rank")
    parser.add_argument("--steps", type=int, default=50, help="batches of training")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/corpus_memory_HARDWARE_DATE.md")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    collection = find_collection(given.collection)
    torch.manual_seed(1)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = folder / "random.run"
        write_candidates(collection, given.split, given.queries, given.depth, run)
        rows = list(reranked(given, collection, folder, run))
        if "train-tk" in given.rows:
            rows.append(trained(given, collection, folder, run))
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "positionbias"))
    headings = ["", "pairs", "s", "pairs/s", "weights and optimiser, MB", "anonymous at the peak, MB", "beyond these, MB"]
    headings += ["with mapped files, MB"]
    lines = [
        "# Memory of re-ranking and training over a corpus of MS MARCO's size",
        "",
        f"{hardware()}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/corpus_memory.py {Path(given.collection).name} --queries {given.queries} --depth {given.depth} "
        f"--head {given.head} --steps {given.steps} --threads {given.threads} --rows {' '.join(given.rows)}",
        "",
        f"{len(collection):,} invented passages (`benchmarks/make_corpus.py`); {given.queries:,} queries with {given.depth:,} candidates "
        "drawn at random. All rows read the whole run, look up all its passages and, but for training, write it again. Anonymous: what no file "
        "stands behind; mapped files (the collection, libraries) leave memory when others need it. Seconds on the clock, of the whole "
        f"command (load average {load:.1f} at the start); pairs a second, of the scoring alone.",
        "",
        f"| {' | '.join(headings)} |",
        f"|---|{'---:|' * (len(headings) - 1)}",
        *rows,
        "",
    ]
    place = given.out or result_place("corpus_memory")
    place.write_text("\n".join(lines), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
