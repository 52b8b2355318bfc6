"""Training triples at TripClick's size from generated data: ``python benchmarks/clicks_sampling.py --folder /some/place``.

1.5 million passages, 685,649 queries with 1.6 clicks each and 500 candidates each in a run of 343 million lines (zstd), 20 negatives a click, the first
10 million of all triples kept. ``posbias trainset clicks`` runs in a process of its own, watched from outside. Beside it a plain Python loop, the way such a
script is written (lines split, ``random.sample``, one list, ``random.shuffle``), on the first queries of the same file: its total is worked out, and so is
its memory, which grows with what it holds. The two take turns, twice. ``--run-queries`` makes candidates for the first queries only: the judgements that are held are still those of all, and
the totals are worked out on the line through this run and one of a few queries. BM25's searches are timed apart (``--bm25``): a sample of queries over generated passages of TripClick's length.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from measuring import Measured, hardware, measured, result_place

from positionbias.core.blocks import file_lines
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query, relevant_passages

WORDS = np.array([f"w{number}" for number in range(50_000)])
AT_ONCE = 2_000  # queries written together
TURNS = 2
CLICKS, SHOWN = 1.61, 2.3  # a query: clicked, and shown above a click without one


def passage_number(place: np.ndarray, passages: int) -> np.ndarray:
    """Ids that look like TripClick's: numbers that do not say their place."""
    return 283_000 + (place.astype(np.int64) * 7_368_787) % 11_400_011  # a prime: different places, different numbers


def candidate_places(queries: np.ndarray, passages: int, depth: int) -> np.ndarray:
    """``depth`` different passages a query: an arithmetic progression modulo a prime below the number of passages."""
    start, step = (queries * 7_919 + 13) % passages, (queries * 104_729) % (passages - 1) + 1
    return (start[:, None] + step[:, None] * np.arange(depth)) % passages


def prime_below(number: int) -> int:
    return next(n for n in range(number, 1, -1) if all(n % d for d in range(2, int(n**0.5) + 1)))


def passages_of(count: int, words: int) -> Iterator[Passage]:
    generator = np.random.default_rng(1)
    numbers = passage_number(np.arange(count), count)
    for start in range(0, count, 10_000):
        part = numbers[start : start + 10_000].tolist()
        drawn = WORDS[(generator.random((len(part), words)) ** 3 * len(WORDS)).astype(np.int64)]
        yield from (Passage(str(number), " ".join(row)) for number, row in zip(part, drawn.tolist(), strict=True))


def make_collection(place: Path, passages: int, words: int, queries: int, depth: int) -> None:
    generator = np.random.default_rng(2)
    clicks = np.minimum(generator.geometric(1 / CLICKS, queries), depth)
    above = np.minimum(generator.poisson(SHOWN, queries), 20)
    texts = WORDS[generator.integers(0, 3_000, (queries, 4))].tolist()
    qrels = []
    for start in range(0, queries, AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, queries))
        ids = passage_number(candidate_places(numbers, passages, depth), passages)
        for query, row in zip(numbers.tolist(), ids.tolist(), strict=True):
            clicked = generator.integers(0, min(depth, 40), clicks[query]).tolist()
            shown = dict.fromkeys([*clicked, *range(above[query])])
            qrels += [Qrel(str(query + 1), str(row[rank]), int(rank in clicked)) for rank in shown]
    with create_collection(place) as writer:
        writer.add_passages(passages_of(passages, words))
        writer.add_split("train", [Query(str(n + 1), " ".join(text)) for n, text in enumerate(texts)], qrels)
        writer.finish(Manifest("collection", "clicks", "benchmark"))


def make_run(path: Path, passages: int, queries: int, depth: int) -> None:
    ranks = np.tile(np.arange(1, depth + 1), AT_ONCE)
    with pa.CompressedOutputStream(str(path), "zstd") as sink:
        for start in range(0, queries, AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, queries))
            size = len(numbers) * depth
            ids = passage_number(candidate_places(numbers, passages, depth), passages).ravel()
            scores = np.round(25 + (numbers % 97)[:, None] * 0.01 - 0.0373 * np.arange(depth), 4).ravel()
            columns = {
                "query": pa.array(np.repeat(numbers + 1, depth)),
                "q0": pa.repeat("Q0", size),
                "passage": pa.array(ids),
                "rank": pa.array(ranks[:size]),
                "score": pa.array(scores),
                "tag": pa.repeat("bm25", size),
            }
            options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
            csv.write_csv(pa.table(columns), sink, options)


def plain_loop(path: Path, relevant: dict[str, set[str]], queries: int, negatives: int, out: Path) -> tuple[float, int, int]:
    """Processor seconds for the first queries, their triples, and the bytes that the ids and triples it holds take."""
    generator = random.Random(1)
    started = time.process_time()
    candidates: dict[str, list[str]] = {}
    for _, line in file_lines(path):
        query, _, passage, _, _, _ = line.split()
        if query not in candidates:
            if len(candidates) == queries:
                break
            candidates[query] = []
        if passage not in relevant.get(query, ()):
            candidates[query].append(passage)
    triples = []
    for query, pool in candidates.items():
        for positive in relevant.get(query, ()):
            triples += [(query, positive, item) for item in generator.sample(pool, min(negatives, len(pool)))]
    generator.shuffle(triples)
    with open(out, "w") as handle:
        for triple in triples:
            handle.write("\t".join(triple) + "\n")
    seconds = time.process_time() - started
    return seconds, len(triples), _held(candidates, triples)


def _held(candidates: dict[str, list[str]], triples: list[tuple[str, str, str]]) -> int:
    """Bytes of the lists, the ids read from the file (each line makes its own) and the triples; of a triple the ids are shared."""
    pools = sum(
        sys.getsizeof(query) + sys.getsizeof(pool) + sum(map(sys.getsizeof, pool)) for query, pool in candidates.items()
    )
    return pools + sys.getsizeof(triples) + sum(map(sys.getsizeof, triples))


def search_rate(folder: Path, passages: int, words: int, queries: int, depth: int) -> tuple[float, float]:
    """Processor seconds to index, and queries a processor second, of BM25 over generated passages."""
    from positionbias.core.retrieval import Retrieval
    from positionbias.firststage.bm25 import Bm25Settings, retrieve_run

    place = folder / "bm25"
    with create_collection(place) as writer:
        writer.add_passages(passages_of(passages, words))
        texts = WORDS[np.random.default_rng(3).integers(0, 3_000, (queries + 1, 4))].tolist()
        made = [Query(f"q{n}", " ".join(text)) for n, text in enumerate(texts)]
        writer.add_split("one", made[:1], [])
        writer.add_split("all", made[1:], [])
        writer.finish(Manifest("collection", "bm25", "benchmark"))
    seconds = []
    for split in ("one", "all"):
        started = time.process_time()
        retrieve_run(Collection(place), Retrieval(split, depth), Bm25Settings(), folder / f"{split}.run")
        seconds.append(time.process_time() - started)
    return seconds[0], queries / seconds[1]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--folder", type=Path, required=True, help="for some 7 GB, which stay there")
    options.add_argument("--passages", type=int, default=1_500_000)
    options.add_argument("--queries", type=int, default=685_649)
    options.add_argument("--depth", type=int, default=500)
    options.add_argument("--triples", type=int, default=10_000_000)
    options.add_argument("--words", type=int, default=40, help="of a passage: they are not read but for a sample")
    options.add_argument("--loop-queries", type=int, default=50_000)
    options.add_argument("--run-queries", type=int, help="candidates of the first so many queries only [default: all]")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--only-make", action="store_true")
    options.add_argument("--bm25", type=int, default=0, help="passages of 259 words to search in; 0: leave it out")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    passages, run_queries = prime_below(given.passages), given.run_queries or given.queries
    place, run, few = given.folder / "clicks", *(given.folder / f"train-{count}.run.zst" for count in (run_queries, AT_ONCE))
    if not place.exists():
        make_collection(place, passages, given.words, given.queries, given.depth)
    for path, count in ((run, run_queries), (few, AT_ONCE)):
        if not path.exists():
            make_run(path.with_suffix(".partial"), passages, count, given.depth)
            path.with_suffix(".partial").rename(path)
    if given.only_make:
        return
    load, share = os.getloadavg()[0], run_queries / given.queries
    triples = round(given.triples * share)
    command = [
        sys.executable,
        *"-m positionbias --quiet trainset clicks --as ids".split(),
        str(place),
        "--triples",
        str(triples),
    ]
    command += ["--workers", str(given.workers), "--overwrite", "--out", str(given.folder / "set"), "--candidates"]
    relevant = {query: set(found) for query, found in relevant_passages(Collection(place).qrels("train")).items()}
    queries, lines_read = min(given.loop_queries, run_queries), run_queries * given.depth
    turns: list[Measured] = []
    loops: list[tuple[float, int, int]] = []
    for _ in range(TURNS):
        turns.append(measured([*command, str(run)]))
        loops.append(plain_loop(run, relevant, queries, 20, given.folder / "loop.tsv"))
    begun = measured([*command, str(few)]).processor
    a_query = (fmean(turn.processor for turn in turns) - begun) / (run_queries - AT_ONCE)
    of_all = begun + a_query * (given.queries - AT_ONCE)
    loop_of_all = fmean(seconds for seconds, _, _ in loops) * given.queries / queries
    loop_bytes, ours = loops[0][2], turns[0]
    lines = [
        f"# Training triples of clicks: {given.queries:,} queries × {given.depth} candidates",
        "",
        f"{hardware()}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after; {date.today().isoformat()}; "
        f"`python benchmarks/clicks_sampling.py` with {given.workers} worker(s); {passages:,} passages, {given.queries:,} queries with judgements. "
        f"Run: {run_queries:,} queries, {lines_read:,} lines, {run.stat().st_size / 1e9:.2f} GB (zstd); {triples:,} triples kept, ids written.",
        "",
        "| | queries | triples drawn or made | processor seconds | seconds | candidates a processor second | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, (turn, (seconds, made, _)) in enumerate(zip(turns, loops, strict=True), 1):
        lines += [
            f"| posbias trainset clicks, turn {number} | {run_queries:,} | {_drawn(turn.output)} | {turn.processor:,.1f} | {turn.seconds:,.0f} | "
            f"{lines_read / turn.processor:,.0f} | {turn.peak / 2**30:.2f} GiB ({turn.anonymous / 2**30:.2f} anonymous) |",
            f"| plain loop, turn {number} | {queries:,} | {made:,} | {seconds:,.1f} | | {queries * given.depth / seconds:,.0f} | "
            f"+{loop_bytes / 2**30:.2f} GiB |",
        ]
    lines += [
        f"| posbias trainset clicks, {'mean' if share == 1 else 'worked out'} | {given.queries:,} | | {of_all:,.0f} | | | as above |",
        f"| plain loop, worked out | {given.queries:,} | | {loop_of_all:,.0f} | | | +{loop_bytes * given.queries / queries / 2**30:,.0f} GiB |",
        "",
        f"Processor seconds of one process. The loop's are worked out in proportion to queries, ours on the line through this run and one of {AT_ONCE:,} "
        f"queries, which takes {begun:.1f} s: what is read of all {given.queries:,} queries whatever the run. "
        "Memory: proportional set size of the process, sampled; what it holds is the judgements and one block of the run, and does not grow with the run. "
        "The loop's is what its lists, ids and triples take beside the judgements.",
        "",
        "```",
        ours.output.rstrip(),
        "```",
    ]
    if given.bm25:
        with TemporaryDirectory(dir=given.folder) as folder:
            index, rate = search_rate(Path(folder), given.bm25, 259, 200, given.depth)
        hours = given.queries / rate * passages / given.bm25 / 3600
        lines += [
            "",
            f"BM25 (bm25s, one process, processor seconds): {given.bm25:,} generated passages of 259 words indexed in {index:,.0f} s; 200 queries of 4 "
            f"words at depth {given.depth}: {rate:,.1f} a second. Worked out for {given.queries:,} queries over {passages:,} passages, if a search takes "
            f"as many times longer as there are passages: {hours:,.1f} hours on one core.",
        ]
    out = result_place("clicks_sampling")
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(out.read_text(encoding="utf-8"))


def _drawn(output: str) -> str:
    return next(line.split()[-1] for line in output.splitlines() if line.startswith("Triples drawn"))


if __name__ == "__main__":
    main()
