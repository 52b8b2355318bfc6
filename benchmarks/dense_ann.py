"""Approximate against exact search of a million vectors and more: ``python benchmarks/dense_ann.py VECTORS… --model minilm --queries COLLECTION``.

The vectors are real ones, perturbed: from encodings r of real passages, drawn with a seed, (r₁ + a·(r₂ − r₃)) at length 1, so that what is
added lies where real vectors differ. Queries are the real queries of a split, encoded by the same model. Everything is done by what
``posbias retrieve --index`` uses, each step in a process of its own; recall@100 is the share of the exact 100 that an index finds. Times are of the
wall and of the processor, as a machine may be shared: queries/s are by the latter.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import shutil
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from measuring import hardware, measured, result_place

from positionbias.core.manifest import MANIFEST, Manifest, write_manifest
from positionbias.core.vector_blocks import stored_blocks
from positionbias.dense.approximate import open_ann
from positionbias.dense.exact import exact_search
from positionbias.dense.settings import ANN, AnnSettings
from positionbias.dense.single_vectors import length_one
from positionbias.dense.vectors import IDS, KIND, SHARD_PASSAGES, SHARDS, Vectors

DEPTH = 100
WIDTHS = (100, 200, 400, 800)  # efSearch
PROBES = (8, 16, 32, 64, 128)


def make_vectors(options: argparse.Namespace) -> dict[str, Any]:
    """A folder as ``posbias encode`` writes it; the queries' vectors and a note of how many real ones there were beside it."""
    from positionbias.core.collection import find_collection
    from positionbias.dense.single_vectors import SingleVectors
    from positionbias.models.checkpoint import load_checkpoint

    paths = [path for folder in options.sources for path in sorted(folder.rglob("*.npy"))]
    real = np.concatenate([vectors for _, vectors in stored_blocks(paths)]).astype(np.float32)
    place = options.folder / "vectors"
    shutil.rmtree(place, ignore_errors=True)  # of a step that was stopped
    (place / SHARDS).mkdir(parents=True)
    shards = range(0, options.vectors, SHARD_PASSAGES)
    for number, start in enumerate(shards):
        draw = np.random.default_rng((options.seed, number))
        size = min(SHARD_PASSAGES, options.vectors - start)
        one, two, three = (real[draw.integers(0, len(real), size)] for _ in range(3))
        np.save(place / SHARDS / f"{number:05}.npy", length_one(one + options.amount * (two - three)).astype(np.float16))
    table = pa.table({"passage_id": [f"v{number:09}" for number in range(options.vectors)]})
    with pa.OSFile(str(place / IDS), "wb") as sink, ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    content = {"checksum": f"seed {options.seed}, {options.vectors}, {options.amount}", "passages": options.vectors, "dimension": real.shape[1],
               "similarity": "dot", "precision": "float16", "passages_checksum": "", "shards": len(shards),
               "shard_passages": SHARD_PASSAGES}  # fmt: skip
    write_manifest(place / MANIFEST, Manifest(kind=KIND, name="vectors", command="a benchmark", content=content))
    texts = [text for _, text in find_collection(options.queries).query_texts(options.split)][: options.count]
    np.save(options.folder / "queries.npy", SingleVectors(load_checkpoint(options.model)).queries(texts))
    return {"real": len(real)}


def exact(options: argparse.Namespace) -> dict[str, Any]:
    vectors, queries = opened(options)
    wall, used = time.perf_counter(), time.process_time()
    rows = np.array([found for found, _ in exact_search(vectors, queries, DEPTH)])
    times = {"wall": time.perf_counter() - wall, "used": time.process_time() - used}
    np.save(options.folder / "exact.npy", rows)
    return times


def flat(options: argparse.Namespace) -> dict[str, Any]:
    """faiss's own exact search, in float32: the peer."""
    import faiss

    vectors, queries = opened(options)
    faiss.omp_set_num_threads(options.threads)
    index = faiss.IndexFlatIP(vectors.dimension)
    for _, block in vectors.blocks():
        index.add(block.astype(np.float32))
    wall, used = time.perf_counter(), time.process_time()
    _, rows = index.search(queries, DEPTH)
    times = {"wall": time.perf_counter() - wall, "used": time.process_time() - used}
    return times | {"recall": recall(rows, np.load(options.folder / "exact.npy"))}


def opened(options: argparse.Namespace) -> tuple[Vectors, np.ndarray]:
    return Vectors(options.folder / "vectors"), np.load(options.folder / "queries.npy")


def recall(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, truth, strict=True)]))


def build(kind: Any, options: argparse.Namespace) -> dict[str, Any]:
    vectors, _ = opened(options)
    wall, used = time.perf_counter(), time.process_time()
    index = open_ann(vectors, kind, AnnSettings(lists=options.lists, threads=options.threads))
    assert index.origin == "built", index.origin
    return {"wall": time.perf_counter() - wall, "used": time.process_time() - used, "size": index.bytes}


def search(kind: Any, options: argparse.Namespace) -> dict[str, Any]:
    vectors, queries = opened(options)
    truth = np.load(options.folder / "exact.npy")
    index = open_ann(vectors, kind, AnnSettings(lists=options.lists, threads=options.threads))
    assert index.origin == "reused", index.origin
    held = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    rows = []
    for value in WIDTHS if kind == "hnsw" else PROBES:
        asked = {"search_width": value} if kind == "hnsw" else {"probes": value}
        settings = AnnSettings(lists=options.lists, threads=options.threads, **asked)
        wall, used = time.perf_counter(), time.process_time()
        found = [found for found, _ in index.search(vectors, queries, DEPTH, kind, settings)]
        times = {"wall": time.perf_counter() - wall, "used": time.process_time() - used}
        rows.append({"value": value, "recall": recall(np.array([np.pad(f, (0, DEPTH - len(f)), constant_values=-1) for f in found]), truth), **times})  # fmt: skip
    return {"held": held, "rows": rows}


STEPS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {"make": make_vectors, "exact": exact, "flat": flat}
STEPS |= {f"build {kind}": lambda options, kind=kind: build(kind, options) for kind in ANN}  # type: ignore[misc]
STEPS |= {f"search {kind}": lambda options, kind=kind: search(kind, options) for kind in ANN}  # type: ignore[misc]


def report(done: dict[str, dict[str, Any]], options: argparse.Namespace) -> str:
    vectors, queries = opened(options)

    def rate(times: dict[str, float]) -> str:
        return f"{len(queries) / times['used']:,.0f} | {len(queries) / times['wall']:,.0f}"

    lines = [
        f"# Approximate search of {len(vectors):,} vectors × {vectors.dimension}",
        "",
        f"{hardware()}; Python {platform.python_version()}, NumPy {np.__version__}, faiss-cpu {version('faiss-cpu')}; {date.today()}",
        f"Command: `python benchmarks/dense_ann.py {' '.join(map(shown, sys.argv[1:]))}`",
        "",
        f"Made from {done['make']['real']:,} encodings of real passages (a = {options.amount:g}, seed {options.seed}), float16; {len(queries):,} real queries; "
        f"{options.threads} thread{'s' * (options.threads > 1)} of faiss, NumPy's as the environment says; the best {DEPTH} of each query.",
        "",
        "| search | recall@100 | queries/s by processor time | queries/s by the wall |",
        "|---|---|---|---|",
        f"| exact, `--index exact` | 1 | {rate(done['exact'])} |",
        f"| exact, faiss IndexFlatIP in float32 | {done['flat']['recall']:.4f} | {rate(done['flat'])} |",
    ]
    names = {"hnsw": "HNSW, search width", "ivf": "IVF, probes"}
    for kind in ANN:
        lines += [
            f"| {names[kind]} {row['value']} | {row['recall']:.4f} | {rate(row)} |" for row in done[f"search {kind}"]["rows"]
        ]
    lines += ["", "| index | settings | build, processor s | build, wall s | size, MiB | peak memory of the build, MiB | memory with the index open, MiB |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for kind in ANN:
        built, used = done[f"build {kind}"], done[f"search {kind}"]
        made = ", ".join(
            f"{name.replace('_', ' ')} {value}"
            for name, value in AnnSettings(lists=options.lists).built_with(kind, len(vectors)).items()
        )
        figures = (built["used"], built["wall"], *(value / 2**20 for value in (built["size"], built["peak"], used["held"])))
        lines.append(f"| {kind} | {made} | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")
    size = len(vectors) * vectors.dimension * 2 / 2**20
    lines += [
        "",
        f"The vectors themselves take {size:,.0f} MiB on disk. Peak memory of the exact search: {done['exact']['peak'] / 2**20:,.0f} MiB.",
    ]
    return "\n".join(lines) + "\n"


def shown(argument: str) -> str:
    """Paths by their last name: a table says nothing of one machine's folders."""
    return Path(argument).name if "/" in argument else argument


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, help="what posbias encode wrote")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--queries", required=True, metavar="COLLECTION")
    parser.add_argument("--split", default="test")
    parser.add_argument("--count", type=int, default=1_000, help="queries")
    parser.add_argument("--vectors", type=int, default=1_048_576)
    parser.add_argument("--amount", type=float, default=0.5, help="a, how far a vector is moved")
    parser.add_argument("--lists", type=int, default=1_024, help="of the IVF")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="where the vectors go, and stay; steps that are done there are not done again",
    )
    parser.add_argument("--out", type=Path, help="a table here, and not in benchmarks/results")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(STEPS[options.step](options)))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    notes = options.folder / "done.json"
    done = json.loads(notes.read_text()) if notes.exists() else {}
    for name in STEPS:
        if name not in done:
            run = measured([sys.executable, __file__, *sys.argv[1:], "--step", name])
            done[name] = json.loads(run.output) | {"peak": run.peak}
            notes.write_text(json.dumps(done))
    (options.out or result_place("dense_ann")).write_text(report(done, options), encoding="utf-8")


if __name__ == "__main__":
    main()
