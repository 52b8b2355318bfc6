"""The rate of exact search beside the best product that this machine makes: ``python benchmarks/product_rate.py FOLDER --vectors 200000 1000000``.

Vectors are drawn at random into FOLDER and stay there. Each side searches them in a process of its own, sides taking turns, reading vectors from files as it
goes; faiss holds them all. Floating-point operations are 2 · queries · vectors · dimension, by processor seconds; the limit is oneDNN's float32 product with its
weights laid out before, on one thread, measured beside each side. Memory is anonymous (RssAnon): pages of files are not counted. All sides must find the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import hardware, result_place

from positionbias.core import onednn
from positionbias.core.nearest import nearest, tile_rows
from positionbias.core.vector_blocks import stored_blocks

DIMENSION, SHARD = 384, 131_072
Found = tuple[np.ndarray, np.ndarray]  # numbers and scores, (queries, k)


def make(folder: Path, vectors: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for shard, start in enumerate(range(0, vectors, SHARD)):
        place, size = folder / f"{shard:05}.npy", min(SHARD, vectors - start)
        if not place.exists():
            draw = np.random.default_rng(shard).standard_normal((size, DIMENSION), np.float32)
            np.save(folder / "part.npy", draw / np.linalg.norm(draw, axis=1, keepdims=True))
            (folder / "part.npy").rename(place)


def files(folder: Path, vectors: int) -> list[Path]:
    return sorted(folder.glob("[0-9]*.npy"))[: -(-vectors // SHARD)]


def ours(paths: list[Path], queries: np.ndarray, k: int) -> Found:
    rows = tile_rows(2**30, len(queries), k, DIMENSION)
    found = nearest(queries, stored_blocks(paths), neighbours=k, rows=rows, similarity="dot")
    return found.numbers, found.scores


def ours_float32(paths: list[Path], queries: np.ndarray, k: int) -> Found:
    onednn.multiplies_bfloat16 = lambda: False
    return ours(paths, queries, k)


def by_torch(paths: list[Path], queries: np.ndarray, k: int) -> Found:
    """A product and ``topk`` for each block, merged."""
    asked, best = torch.from_numpy(queries), None
    with torch.inference_mode():
        for numbers, block in stored_blocks(paths):
            scores, rows = (asked @ torch.from_numpy(block).T).topk(min(k, len(block)), dim=1)
            rows += int(numbers[0])
            if best is not None:
                scores, rows = torch.cat([best[0], scores], 1), torch.cat([best[1], rows], 1)
                scores, places = scores.topk(k, dim=1)
                rows = rows.gather(1, places)
            best = scores, rows
    assert best is not None
    return best[1].numpy(), best[0].numpy()


def by_faiss(paths: list[Path], queries: np.ndarray, k: int) -> Found:
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    index = faiss.IndexFlatIP(DIMENSION)
    for _, block in stored_blocks(paths):
        index.add(block)
    scores, numbers = index.search(queries, k)
    return numbers, scores


SIDES: dict[str, Callable[[list[Path], np.ndarray, int], Found]] = {
    "ours": ours, "ours, float32": ours_float32, "torch": by_torch, "faiss": by_faiss,
}  # fmt: skip


def best_product(precision: torch.dtype, seconds: float = 1.0) -> float:
    """GFLOP/s of the best product on one thread, by its processor seconds."""
    torch.set_num_threads(1)
    best = 0.0
    with torch.inference_mode():
        for rows, out in ((1024, 512), (512, 1024), (2048, 1536)):
            left, right = torch.randn(rows, DIMENSION).to(precision), torch.randn(out, DIMENSION).to(precision)
            packed, ends = torch.ops.mkldnn._reorder_linear_weight(right, rows), time.perf_counter() + seconds / 3
            while time.perf_counter() < ends:
                began = time.thread_time()
                for _ in range(4):
                    torch.ops.mkldnn._linear_pointwise(left, packed, None, "none", [], "")
                best = max(best, 8 * rows * out * DIMENSION / (time.thread_time() - began) / 1e9)
    return best


def watch(most: list[int]) -> None:
    while True:
        lines = Path("/proc/self/status").read_text().splitlines()
        most[0] = max(most[0], next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))
        time.sleep(0.1)


def one_side(folder: Path, name: str, vectors: int, queries: int, k: int, threads: int) -> dict[str, Any]:
    limits = {str(p).removeprefix("torch."): best_product(p) for p in (torch.float32, torch.bfloat16)}
    torch.set_num_threads(threads)
    asked = np.random.default_rng(10**6).standard_normal((queries, DIMENSION), np.float32)
    most, load = [0], os.getloadavg()[0]
    threading.Thread(target=watch, args=(most,), daemon=True).start()
    wall, processor = time.perf_counter(), time.process_time()
    numbers, _ = SIDES[name](files(folder, vectors), asked, k)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    members = hashlib.blake2b(np.sort(numbers[:200].astype(np.int64), axis=1).tobytes()).hexdigest()
    rate = 2 * queries * vectors * DIMENSION / processor / 1e9
    return {"wall": wall, "processor": processor, "rate": rate, "limits": limits, "memory": most[0] * 1024,
            "members": members, "load": load}  # fmt: skip


def rows_of(found: dict[str, list[dict[str, Any]]], vectors: int, queries: int) -> list[str]:
    lines = []
    for name, turns in found.items():
        rate, limit = statistics.median(t["rate"] for t in turns), statistics.median(t["limits"]["float32"] for t in turns)
        share = statistics.median(t["rate"] / t["limits"]["float32"] for t in turns)
        wall, cpu = (statistics.median(t[field] for t in turns) for field in ("wall", "processor"))
        memory, load = max(t["memory"] for t in turns) / 2**30, statistics.mean(t["load"] for t in turns)
        lines.append(
            f"| {vectors:,} | {queries:,} | {name} | {cpu:.1f} | {wall:.1f} | {rate:.0f} | {limit:.0f} | {share:.0%} | {memory:.2f} | {load:.1f} | {len(turns)} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vectors", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--neighbours", type=int, default=100)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=[*SIDES])
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--kept", type=Path, help="measurements so far, as JSON: added to, and all of them made into the table")
    given = parser.parse_args()
    if given.side:
        done = one_side(given.folder, given.side, given.vectors[0], given.queries, given.neighbours, given.threads)
        print(json.dumps(done))
        return
    kept: dict[str, dict[str, list[dict[str, Any]]]] = {}
    if given.kept and given.kept.exists():
        kept = json.loads(given.kept.read_text("utf-8"))
    for vectors in given.vectors:
        make(given.folder, vectors)
        found = kept.setdefault(f"{vectors} {given.queries}", {})
        for _ in range(given.turns):
            for name in given.sides:
                command = [
                    sys.executable,
                    __file__,
                    str(given.folder),
                    "--vectors",
                    str(vectors),
                    "--queries",
                    str(given.queries),
                ]
                command += ["--neighbours", str(given.neighbours), "--threads", str(given.threads), "--side", name]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found.setdefault(name, []).append(json.loads(done.stdout))
                print(vectors, name, found[name][-1], file=sys.stderr, flush=True)
                if given.kept:
                    given.kept.write_text(json.dumps(kept), "utf-8")
    write(kept, given)


def write(kept: dict[str, dict[str, list[dict[str, Any]]]], given: argparse.Namespace) -> None:
    lines = [
        f"# Exact search of vectors × {DIMENSION}, top {given.neighbours}, beside the best product",
        "",
        f"{hardware()}, {given.threads} threads; Python {platform.python_version()}, NumPy {np.__version__}, torch {version('torch')}, "
        f"faiss-cpu {version('faiss-cpu')}; {date.today()}",
        "Command: `python benchmarks/product_rate.py FOLDER`, medians of its turns",
        "",
        "| vectors | queries | side | processor s | wall s | GFLOP/s a core | oneDNN float32 | share of it | RssAnon GiB | load | turns |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for key, found in kept.items():
        lines += rows_of(found, *map(int, key.split()))
    halves = [t["limits"]["bfloat16"] for found in kept.values() for turns in found.values() for t in turns]
    same = [len({t["members"] for turns in found.values() for t in turns}) == 1 for found in kept.values()]
    lines += ["", f"oneDNN in bfloat16: {statistics.median(halves):.0f} GFLOP/s a core.",
              f"All sides of a size found the same vectors for the first 200 queries: {'yes' if all(same) else 'no'}."]  # fmt: skip
    place = result_place("product_rate")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
