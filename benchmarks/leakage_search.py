"""Exact search of a few vectors among many: ``python benchmarks/leakage_search.py --vectors 10000000``.

Vectors are drawn at random, and streamed twice from disk: once into the search, and once into a bare float32 matrix product of tiles of the
same size, whose rate is what the search is held against. Each runs in a process of its own; the files are read once before, so that both
find the same of them in memory. The first tests are searched again by faiss (``IndexFlatIP``) where it is installed, over the first files.
Floating-point operations are 2 · tests · vectors · dimension.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, measured, result_place

from positionbias.core.vector_blocks import stored_blocks
from positionbias.leakage.nearest import nearest, rows_a_tile
from positionbias.leakage.settings import NearestSettings

SHARD = 262_144
SAMPLE = 50  # tests that faiss searches too


def make_vectors(folder: Path, tests: int, vectors: int, dimension: int) -> None:
    np.save(folder / "tests.npy", np.random.default_rng(0).standard_normal((tests, dimension), np.float32))
    for shard, start in enumerate(range(0, vectors, SHARD)):
        size = min(SHARD, vectors - start)
        np.save(folder / f"{shard:05d}.npy", np.random.default_rng(shard + 1).standard_normal((size, dimension), np.float32))


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.npy"))


def read_alone(folder: Path, settings: NearestSettings) -> dict[str, Any]:
    for _ in stored_blocks(files_of(folder)):
        pass
    return {}


def multiply(folder: Path, settings: NearestSettings) -> dict[str, Any]:
    """The products and nothing else, from tiles that stay in memory: no time is spent on reading."""
    tests = np.load(folder / "tests.npy")
    rows = rows_a_tile(settings, *tests.shape)
    tile = next(vectors for _, vectors in stored_blocks(files_of(folder), rows))
    product = np.empty((len(tests), len(tile)), np.float32)
    count = sum(len(np.load(path, mmap_mode="r")) for path in files_of(folder))
    np.matmul(tests, tile.T, out=product)
    started = time.perf_counter()
    for _ in range(max(1, count // len(tile))):
        np.matmul(tests, tile.T, out=product)
    return {"rows": len(tile), "multiplied": max(1, count // len(tile)) * len(tile), "seconds": time.perf_counter() - started}


def search(folder: Path, settings: NearestSettings) -> dict[str, Any]:
    tests = np.load(folder / "tests.npy")
    started = time.perf_counter()
    found = nearest(tests, stored_blocks(files_of(folder)), settings)
    seconds = time.perf_counter() - started
    np.savez(folder / "found.npz", numbers=found.numbers, cosines=found.scores)
    return {"seconds": seconds}


def compare(folder: Path, settings: NearestSettings) -> dict[str, Any]:
    """The largest difference from faiss, over as many files as make a million vectors."""
    import faiss

    tests, paths = np.load(folder / "tests.npy")[:SAMPLE], files_of(folder)[:4]
    found = nearest(tests, stored_blocks(paths), settings)
    index = faiss.IndexFlatIP(tests.shape[1])
    for _, vectors in stored_blocks(paths):
        index.add(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    scores, numbers = index.search(tests / np.linalg.norm(tests, axis=1, keepdims=True), settings.neighbours)
    return {"vectors": index.ntotal, "difference": float(np.abs(scores - found.scores).max()),
            "same": float((numbers == found.numbers).mean())}  # fmt: skip


STEPS: dict[str, Callable[[Path, NearestSettings], dict[str, Any]]] = {
    "read": read_alone, "multiply": multiply, "search": search, "compare": compare,
}  # fmt: skip


def report(found: dict[str, dict[str, Any]], options: argparse.Namespace, peak: int) -> str:
    def rate(count: int, seconds: float) -> float:
        return 2 * options.tests * count * options.dimension / seconds / 1e9

    bare = rate(found["multiply"]["multiplied"], found["multiply"]["seconds"])
    ours = rate(options.vectors, found["search"]["seconds"])
    lines = [
        f"# Exact search: {options.tests:,} vectors among {options.vectors:,} × {options.dimension}",
        "",
        f"{hardware()}; Python {platform.python_version()}, NumPy {np.__version__}; {date.today()}",
        f"Command: `python benchmarks/leakage_search.py {' '.join(sys.argv[1:])}`",
        "",
        "| | seconds | GFLOP/s | of the product |",
        "|---|---|---|---|",
        f"| matrix product alone, tiles of {found['multiply']['rows']:,} | {found['multiply']['seconds']:.1f} | {bare:.1f} | 100 % |",
        f"| search, with reading | {found['search']['seconds']:.1f} | {ours:.1f} | {ours / bare:.0%} |",
        "",
        f"Peak memory of the search: {peak / 2**20:,.0f} MiB ({options.neighbours} neighbours, --memory {options.memory:g}).",
    ]
    if "compare" in found:
        against = found["compare"]
        lines.append(
            f"Against faiss-cpu {version('faiss-cpu')} (IndexFlatIP) on {SAMPLE} of them and {against['vectors']:,} vectors: largest "
            f"difference of a score {against['difference']:.1e}; {against['same']:.2%} of the places hold the same vector."
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--vectors", type=int, default=10_000_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--neighbours", type=int, default=100)
    parser.add_argument("--memory", type=float, default=1.0, help="GiB of the search")
    parser.add_argument("--folder", type=Path, help="where the vectors go, and stay; by default a temporary one")
    parser.add_argument("--out", type=Path, help="a table here, and not in benchmarks/results")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    settings = NearestSettings(options.neighbours, memory=options.memory)
    if options.step:
        print(json.dumps(STEPS[options.step](options.folder, settings)))
        return
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if not files_of(folder):
            make_vectors(folder, options.tests, options.vectors, options.dimension)
        options.tests, options.dimension = np.load(folder / "tests.npy").shape
        options.vectors = sum(len(np.load(path, mmap_mode="r")) for path in files_of(folder))
        found, peak = {}, 0
        for name in STEPS:
            if name == "compare" and not _has_faiss():
                continue
            command = [
                sys.executable,
                __file__,
                "--folder",
                str(folder),
                "--step",
                name,
                "--neighbours",
                str(options.neighbours),
            ]
            done = measured([*command, "--memory", str(options.memory)])
            found[name] = json.loads(done.output)
            peak = done.peak if name == "search" else peak
        table = report(found, options, peak)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)
    place = options.out or result_place("leakage_search")
    place.write_text(table, encoding="utf-8")
    print(table)


def _has_faiss() -> bool:
    try:
        version("faiss-cpu")
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
