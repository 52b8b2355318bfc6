"""Random look-ups in a collection: ids to texts, in batches of 1,000: ``python benchmarks/lookups.py COLLECTION``.

Each way runs in a process of its own over the same ids, drawn without order from all passages. The first batch, which opens the collection,
is given apart. Peers: sqlite3 by its primary key, and a dict in memory, both over the first passages of the collection (``--sample``);
ours is measured over that sample of ids as well. The index is built once more, to say what that takes. Anonymous memory is
what the process holds; mapped files, which the system may drop at will, are in the peak only.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, result_place

from positionbias.core.collection import Collection
from positionbias.core.collection_index import build_index
from positionbias.core.shards import Strings, read_shard
from positionbias.engine.local import map_shards

Lookup = Callable[[Sequence[str]], Sequence[str]]


def from_collection(place: Path, _: int) -> Lookup:
    return Collection(place).texts


def from_dict(place: Path, sample: int) -> Lookup:
    texts = {passage.passage_id: passage.text for passage, _ in zip(Collection(place).passages(), range(sample), strict=False)}
    return lambda ids: [texts[item] for item in ids]


def from_sqlite(place: Path, sample: int) -> Lookup:
    with tempfile.NamedTemporaryFile() as file:
        database = sqlite3.connect(file.name)
        database.execute("CREATE TABLE passages (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        rows = (passage for passage, _ in zip(Collection(place).passages(), range(sample), strict=False))
        database.executemany("INSERT INTO passages VALUES (?, ?)", rows)
        database.commit()
    ask = "SELECT text FROM passages WHERE id = ?"
    return lambda ids: [database.execute(ask, (item,)).fetchone()[0] for item in ids]


WAYS: dict[str, Callable[[Path, int], Lookup]] = {"collection": from_collection, "sqlite3": from_sqlite, "dict": from_dict}


def memory() -> dict[str, int]:
    """Bytes this process holds now (anonymous), and at the peak (with mapped files)."""
    status = Path("/proc/self/status").read_text()
    return {name: 1024 * int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("RssAnon", "VmHWM")}  # type: ignore[index]


def look_up(way: str, place: Path, batches: Sequence[Sequence[str]], sample: int) -> dict[str, Any]:
    """Run in a process of its own: seconds for the first batch, look-ups a second over the others, memory."""
    lookup = WAYS[way](place, sample)
    started = time.perf_counter()
    lookup(batches[0])
    first = time.perf_counter() - started
    slowest = 0.0
    characters = 0
    started = time.perf_counter()
    for batch in batches[1:]:
        before = time.perf_counter()
        characters += sum(map(len, lookup(batch)))
        slowest = max(slowest, time.perf_counter() - before)
    seconds = time.perf_counter() - started
    rate = sum(map(len, batches[1:])) / seconds
    return {"way": way, "first": first, "rate": rate, "slowest": slowest, "characters": characters, **memory()}


def in_its_own_process(way: str, place: Path, batches: list[list[str]], sample: int) -> dict[str, Any]:
    task = json.dumps({"way": way, "place": str(place), "batches": batches, "sample": sample})
    command = [sys.executable, __file__, "--task"]
    return json.loads(subprocess.run(command, input=task, stdout=subprocess.PIPE, text=True, check=True).stdout)


def drawn(collection: Collection, count: int, size: int, among: int) -> list[list[str]]:
    """``count`` batches of ``size`` random ids among the first passages."""
    ids = Strings([read_shard(path) for path in collection.shard_paths], "passage_id")
    rows = np.random.default_rng(1).integers(0, among, (count, size))
    return [ids.take(batch) for batch in rows]


def index_seconds(collection: Collection, workers: int) -> float:
    with tempfile.TemporaryDirectory(dir=collection.cache) as folder:
        started = time.perf_counter()
        build_index(collection.shard_paths, Path(folder) / "index", partial(map_shards, workers=workers))
        return time.perf_counter() - started


def table(collection: Collection, rows: Sequence[tuple[str, dict[str, Any]]], built: dict[int, float], arguments: Any) -> str:
    lines = [
        "# Random look-ups in a collection",
        "",
        f"{hardware()}; Python {platform.python_version()}, numpy {version('numpy')}, pyarrow {version('pyarrow')}, "
        f"sqlite {sqlite3.sqlite_version}, positionbias {version('positionbias')}; {date.today()}.",
        "",
        f"    python benchmarks/lookups.py COLLECTION --batches {arguments.batches} --size {arguments.size} --sample {arguments.sample}",
        "",
        f"{len(collection):,} passages in {len(collection.shard_paths):,} shards. {arguments.batches:,} batches of {arguments.size:,} "
        "random ids, after a first one that opens the collection. Files in the page cache.",
        "",
        "| texts from | among passages | look-ups/s | slowest batch, ms | first batch, ms | RssAnon, MB | VmHWM, MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for among, found in rows:
        lines.append(
            f"| {found['way']} | {among} | {found['rate']:,.0f} | {1e3 * found['slowest']:.1f} | {1e3 * found['first']:.0f} | "
            f"{found['RssAnon'] / 1e6:,.0f} | {found['VmHWM'] / 1e6:,.0f} |"
        )
    lines += ["", *(f"Building the index, {workers} worker(s): {seconds:.1f} s." for workers, seconds in built.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", nargs="?", type=Path)
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--sample", type=int, default=1_000_000, help="passages that the peers hold")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="with how many to build the index")
    parser.add_argument("--task", action="store_true", help="one measurement, from standard input")
    arguments = parser.parse_args()
    if arguments.task:
        task = json.load(sys.stdin)
        print(json.dumps(look_up(task["way"], Path(task["place"]), task["batches"], task["sample"])))
        return
    collection = Collection(arguments.collection)
    sample = min(arguments.sample, len(collection))
    built = {workers: index_seconds(collection, workers) for workers in arguments.workers}
    rows = []
    for way, among in (("collection", len(collection)), ("collection", sample), ("sqlite3", sample), ("dict", sample)):
        batches = drawn(collection, arguments.batches + 1, arguments.size, among)
        rows.append((f"{among:,}", in_its_own_process(way, arguments.collection, batches, sample)))
    assert len({found["characters"] for among, found in rows[1:]}) == 1, "the ways gave different texts"
    text = table(collection, rows, built, arguments)
    print(text)
    result_place("lookups").write_text(text)


if __name__ == "__main__":
    main()
