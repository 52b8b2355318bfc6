"""Search at a billion vectors in miniature: faiss's IVF-PQ in shards beside exact search by shards.

    python benchmarks/ivf_pq.py VECTORS… --queries COLLECTION --state FOLDER [--parts 1 2 4]   # writes benchmarks/results/ivf_pq.json and ivf_pq_HARDWARE_DATE.md
    python benchmarks/ivf_pq.py --table benchmarks/results/ivf_pq.json                         # writes the page alone

A part has 1,048,576 vectors. They are real ones, perturbed: from encodings r of real passages, drawn with a seed, (r₁ + a·(r₂ − r₃)) at length 1, in float16; the first parts of a larger
set are the smaller one. Queries are real queries of a split, encoded by the same model. Lists are centroids of the whole set (2·√N, learned from 40 vectors each), codes have one byte for 8 or for 4 of
the 384 numbers; both are learned once, and each part is a shard with its own codes, searched alone and merged. So shards change no result, only where the codes are.

- recall@k: the share of the exact k best that are among the k best by their codes.
- rescored: the best 1,000 by their codes, ordered by their exact scores, as ``posbias retrieve --index`` does with what an index finds.
- The control is a set as large as the real one, once of the real vectors and once of perturbed ones, with the same settings: does the perturbation make recall look better?

Each step is a process of its own. Seconds are those of the processor, as a machine may be shared; memory is that of all processes at the peak.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, measured, result_place

from positionbias.core.nearest import Block
from positionbias.core.similarity import inner_products
from positionbias.core.vector_blocks import stored_blocks
from positionbias.dense.exact import exact_search
from positionbias.dense.single_vectors import length_one

PART, SHARD = 1 << 20, 8_192  # vectors
DEPTH, FOUND, LISTED = 100, 1_000, 40  # exact best, best by codes, vectors a list to learn from
CODES = (48, 96)  # bytes
PROBES = (16, 64, 256)
CONTROL_PROBES = (4, 16, 64)
Options = argparse.Namespace


class Made:
    """Vectors of some parts, as ``exact_search`` goes through them."""

    def __init__(self, state: Path, parts: Sequence[int]) -> None:
        self.paths = [path for part in parts for path in sorted((state / f"part-{part}").glob("*.npy"))]
        self.mapped = [np.load(path, mmap_mode="r") for path in self.paths]
        self.dimension = self.mapped[0].shape[1]

    def __len__(self) -> int:
        return sum(map(len, self.mapped))

    def by_descending_id(self) -> np.ndarray:
        return np.arange(len(self))

    def blocks(self) -> Iterator[Block]:
        return stored_blocks(self.paths, SHARD)

    def take(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self.mapped[row // SHARD][row % SHARD] for row in rows.tolist()], np.float32)

    def spaced(self, count: int) -> np.ndarray:
        """Return evenly spaced vectors."""
        return self.take(np.linspace(0, len(self) - 1, count).round().astype(np.int64))


def real_vectors(options: Options) -> np.ndarray:
    paths = [path for folder in options.sources for path in sorted(folder.rglob("*.npy"))]
    return np.concatenate([vectors for _, vectors in stored_blocks(paths)]).astype(np.float32)


def perturbed(real: np.ndarray, options: Options, key: Sequence[int], size: int) -> np.ndarray:
    draw = np.random.default_rng((options.seed, *key))
    one, two, three = (real[draw.integers(0, len(real), size)] for _ in range(3))
    return length_one(one + options.amount * (two - three)).astype(np.float16)


def make_part(options: Options, part: int) -> dict[str, Any]:
    real, place = real_vectors(options), options.state / f"part-{part}"
    place.mkdir(exist_ok=True)
    for number in range(PART // SHARD):
        np.save(place / f"{number:05}.npy", perturbed(real, options, (part, number), SHARD))
    return {"real": len(real), "dimension": real.shape[1]}


def make_queries(options: Options) -> dict[str, Any]:
    from positionbias.core.collection import find_collection
    from positionbias.dense.single_vectors import SingleVectors
    from positionbias.models.checkpoint import load_checkpoint

    texts = [text for _, text in find_collection(options.queries).query_texts(options.split)][: options.count]
    np.save(options.state / "queries.npy", SingleVectors(load_checkpoint(options.model)).queries(texts))
    return {"queries": len(texts)}


def queries(options: Options) -> np.ndarray:
    found: np.ndarray = np.load(options.state / "queries.npy")
    return found


def exact_part(options: Options, part: int) -> dict[str, Any]:
    """Search one shard exactly."""
    return _exact(options, [part], f"exact-{part}")


def exact_whole(options: Options, parts: int) -> dict[str, Any]:
    """Search all in one pass."""
    return _exact(options, range(parts), f"whole-{parts}")


def _exact(options: Options, parts: Sequence[int], name: str) -> dict[str, Any]:
    made, asked = Made(options.state, parts), queries(options)
    began = time.process_time()
    found = list(exact_search(made, asked, DEPTH))
    used = time.process_time() - began
    np.savez(options.state / f"{name}.npz", rows=[rows for rows, _ in found], scores=[scores for _, scores in found])
    return {"used": used}


def merged(options: Options, parts: int) -> dict[str, Any]:
    """Merge the shards' best, and compare them with those of one pass."""
    began = time.process_time()
    found = [np.load(options.state / f"exact-{part}.npz") for part in range(parts)]
    rows = np.concatenate([one["rows"] + part * PART for part, one in enumerate(found)], axis=1)
    scores = np.concatenate([one["scores"] for one in found], axis=1)
    best = np.lexsort((rows, -scores), axis=1)[:, :DEPTH]
    rows = np.take_along_axis(rows, best, 1)
    used = time.process_time() - began
    whole = np.load(options.state / f"whole-{parts}.npz")["rows"]
    return {"used": used, "same": bool((rows == whole).all())}


def lists_of(count: int) -> int:
    """Return twice the root."""
    return round(2 * count**0.5)


def train(options: Options, parts: int) -> dict[str, Any]:
    """Learn the lists once, and each code."""
    made = Made(options.state, range(parts))
    lists = lists_of(len(made))
    sample = made.spaced(LISTED * lists)
    return {"lists": lists, "sample": len(sample)} | _train(sample, lists, options.state / f"trained-{parts}", options.threads)


def _train(sample: np.ndarray, lists: int, place: Path, threads: int) -> dict[str, Any]:
    import faiss

    faiss.omp_set_num_threads(threads)
    width = sample.shape[1]
    centroids, used = faiss.IndexFlatIP(width), {}
    for code in CODES:
        began = time.process_time()
        index = faiss.IndexIVFPQ(centroids, width, lists, code, 8, faiss.METRIC_INNER_PRODUCT)
        index.cp.min_points_per_centroid = 1
        index.train(sample)
        faiss.write_index(index, f"{place}-{code}.faiss")
        used[str(code)] = time.process_time() - began
    return {"used": used}


def build(options: Options, parts: int, part: int) -> dict[str, Any]:
    """Put one shard's vectors into lists, and write their codes."""
    import faiss

    faiss.omp_set_num_threads(options.threads)
    indexes = {code: faiss.read_index(f"{options.state / f'trained-{parts}'}-{code}.faiss") for code in CODES}
    used = {"lists": 0.0} | {str(code): 0.0 for code in CODES}
    for rows, vectors in Made(options.state, [part]).blocks():
        began = time.process_time()
        block, numbers = vectors.astype(np.float32), (rows + part * PART).astype(np.int64)
        _, places = indexes[CODES[0]].quantizer.search(block, 1)
        used["lists"] += time.process_time() - began
        for code, index in indexes.items():
            began = time.process_time()
            index.add_core(len(block), *map(faiss.swig_ptr, (block, numbers, places.ravel())))
            used[str(code)] += time.process_time() - began
    sizes = {}
    for code, index in indexes.items():
        place = options.state / f"index-{parts}-{part}-{code}.faiss"
        faiss.write_index(index, str(place))
        sizes[str(code)] = place.stat().st_size
    return {"used": used, "sizes": sizes}


def search(options: Options, parts: int, code: int) -> dict[str, Any]:
    """Search all shards one after another; merge; score the best again."""
    import faiss

    faiss.omp_set_num_threads(options.threads)
    before = _resident()
    shards = [faiss.read_index(str(options.state / f"index-{parts}-{part}-{code}.faiss")) for part in range(parts)]
    held = _resident() - before
    made, asked = Made(options.state, range(parts)), queries(options)
    truth = np.load(options.state / f"whole-{parts}.npz")["rows"]
    return {"held": held, "rows": [_searched(shards, made, asked, truth, probes) for probes in PROBES]}


def _searched(
    shards: Sequence[Any], made: Made, asked: np.ndarray, truth: np.ndarray, probes: int, found: int = FOUND
) -> dict[str, Any]:
    import faiss

    began = time.process_time()
    parameters = faiss.SearchParametersIVF(nprobe=probes)
    answers = [index.search(asked, found, params=parameters) for index in shards]
    used = time.process_time() - began
    scores, rows = (np.concatenate(column, axis=1) for column in zip(*answers, strict=True))
    scores = np.where(rows < 0, -np.inf, scores)
    rows = np.take_along_axis(rows, np.argsort(-scores, axis=1, kind="stable")[:, :found], 1)
    began = time.process_time()
    again = np.array([_rescored(made, query, one) for query, one in zip(asked, rows, strict=True)])
    rescoring = time.process_time() - began
    recalls = {f"recall@{k}": recall(rows, truth, k) for k in (10, 100)}
    recalls |= {f"rescored@{k}": recall(again, truth, k) for k in (10, 100)}
    return {"probes": probes, "used": used / len(asked), "rescoring": rescoring / len(asked), **recalls}


def _rescored(made: Made, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    rows = rows[rows >= 0]
    scores = inner_products(np.broadcast_to(query, (len(rows), len(query))), made.take(rows))
    best = rows[np.lexsort((rows, -scores))][:DEPTH]
    return np.pad(best, (0, DEPTH - len(best)), constant_values=-1)


def recall(found: np.ndarray, truth: np.ndarray, k: int) -> float:
    shares = [len(np.intersect1d(ours[:k], best[:k])) / k for ours, best in zip(found, truth, strict=True)]
    return float(np.mean(shares))


def control(options: Options) -> dict[str, Any]:
    """Real vectors beside as many perturbed ones."""
    import faiss

    real = real_vectors(options)
    sets = {"real": real.astype(np.float16), "perturbed": perturbed(real, options, (0, 1 << 20), len(real))}
    asked, lists, told = queries(options), lists_of(len(real)), {}
    for name, vectors in sets.items():
        place = options.state / f"part-{name}"
        place.mkdir(exist_ok=True)
        for number, start in enumerate(range(0, len(vectors), SHARD)):
            np.save(place / f"{number:05}.npy", vectors[start : start + SHARD])
        made = Made(options.state, [name])  # type: ignore[list-item]
        truth = np.array([rows for rows, _ in exact_search(made, asked, DEPTH)])
        _train(vectors.astype(np.float32), lists, options.state / f"trained-{name}", options.threads)
        for code in CODES:
            index = faiss.read_index(f"{options.state / f'trained-{name}'}-{code}.faiss")
            index.add(vectors.astype(np.float32))
            told[f"{name} {code}"] = [_searched([index], made, asked, truth, probes) for probes in CONTROL_PROBES]
    return {"count": len(real), "lists": lists, "rows": told}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def steps(options: Options) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return all steps by name, in order: the smaller sets first."""
    found: dict[str, Callable[[], dict[str, Any]]] = {"queries": partial(make_queries, options)}
    for parts in options.parts:
        for part in range(parts):
            found.setdefault(f"part {part}", partial(make_part, options, part))
            found.setdefault(f"exact {part}", partial(exact_part, options, part))
        found[f"whole {parts}"] = partial(exact_whole, options, parts)
        found[f"merged {parts}"] = partial(merged, options, parts)
        found[f"train {parts}"] = partial(train, options, parts)
        found |= {f"build {parts} {part}": partial(build, options, parts, part) for part in range(parts)}
        found |= {f"search {parts} {code}": partial(search, options, parts, code) for code in CODES}
        if "control" not in found:
            found["control"] = partial(control, options)
    return found


def page(record: Mapping[str, Any]) -> str:
    """The tables of a finished campaign."""
    done, sets = record["steps"], record["parts"]
    head = [
        "# IVF-PQ in shards beside exact search by shards",
        "",
        f"{record['hardware']}; {record['versions']}; {record['date']}",
        f"Command: `{record['command']}`",
        "",
        f"Parts of {PART:,} vectors × {done['part 0']['dimension']}, float16, made from {done['part 0']['real']:,} encodings of real passages (a = {record['amount']:g}, seed {record['seed']}); "
        f"{done['queries']['queries']:,} real queries; faiss on {record['threads']} thread; seconds of the processor. Codes are bytes a vector; the last two columns order the best {FOUND:,} by codes by their exact scores.",
        "",
        "| vectors | code | probes of lists | recall@10 | recall@100 | ms a query | recall@10, rescored | recall@100, rescored | ms to rescore |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for parts in sets:
        for code in CODES:
            for row in done[f"search {parts} {code}"]["rows"]:
                head.append(
                    f"| {parts * PART:,} | {code} | {row['probes']} of {done[f'train {parts}']['lists']:,} | {_figures(row)} |"
                )
    head += ["", "| vectors | exact, ms a query: one pass | by shards | the merge | the same rows |", "|---|---|---|---|---|"]
    for parts in sets:
        times = [
            done[f"whole {parts}"]["used"],
            sum(done[f"exact {part}"]["used"] for part in range(parts)),
            done[f"merged {parts}"]["used"],
        ]
        shown = " | ".join(f"{1_000 * value / done['queries']['queries']:.3g}" for value in times)
        head.append(f"| {parts * PART:,} | {shown} | {'yes' if done[f'merged {parts}']['same'] else 'no'} |")
    head += ["", "| vectors | code | learning, s | into lists, s | codes, s | on disk, MiB | in memory, MiB | peak of a shard's build, MiB |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for parts in sets:
        for code in CODES:
            built = [done[f"build {parts} {part}"] for part in range(parts)]
            times = [
                done[f"train {parts}"]["used"][str(code)],
                *(sum(one["used"][name] for one in built) for name in ("lists", str(code))),
            ]
            sizes = [
                sum(one["sizes"][str(code)] for one in built),
                done[f"search {parts} {code}"]["held"],
                max(one["peak"] for one in built),
            ]
            shown = [*(f"{value:,.0f}" for value in times), *(f"{value / 2**20:,.0f}" for value in sizes)]
            head.append(f"| {parts * PART:,} | {code} | {' | '.join(shown)} |")
    head += ["", "The first code's learning includes that of the lists. The control, "
             f"{done['control']['count']:,} vectors in {done['control']['lists']} lists:", "",
             "| vectors | code | probes | recall@10 | recall@100 | ms a query | recall@10, rescored | recall@100, rescored | ms to rescore |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, rows in done["control"]["rows"].items():
        kind, code = name.split()
        head += [f"| {kind} | {code} | {row['probes']} | {_figures(row)} |" for row in rows]
    peak = max(one["peak"] for one in done.values()) / 2**20
    return "\n".join([*head, "", f"Most memory of a step: {peak:,.0f} MiB."]) + "\n"


def _figures(row: Mapping[str, float]) -> str:
    recalls = [f"{row[name]:.3f}" for name in ("recall@10", "recall@100", "rescored@10", "rescored@100")]
    times = [f"{1_000 * row[name]:.3g}" for name in ("used", "rescoring")]
    return " | ".join([*recalls[:2], times[0], *recalls[2:], times[1]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path, help="what posbias encode wrote")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--queries", metavar="COLLECTION")
    parser.add_argument("--split", default="test")
    parser.add_argument("--count", type=int, default=500, help="queries")
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--amount", type=float, default=0.5, help="a, how far a vector is moved")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="where all is kept; steps that are done there are not done again")
    parser.add_argument("--table", type=Path, help="write the page of kept numbers")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.table:
        result_place("ivf_pq").write_text(page(json.loads(options.table.read_text("utf-8"))), encoding="utf-8")
        return
    options.state.mkdir(parents=True, exist_ok=True)
    if options.step:
        print(json.dumps(steps(options)[options.step]()))
        return

    def run(name: str) -> dict[str, Any]:
        done = measured([sys.executable, __file__, *sys.argv[1:], "--step", name])
        return json.loads(done.output) | {"peak": done.peak}

    found = {name: kept_part(options.state / "done" / f"{name}.json", partial(run, name)) for name in steps(options)}
    record = {
        "command": f"python benchmarks/ivf_pq.py {' '.join(map(shown, sys.argv[1:]))}",
        "hardware": hardware(),
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}, faiss-cpu {version('faiss-cpu')}",
        "date": date.today().isoformat(),
        **{name: getattr(options, name) for name in ("parts", "amount", "seed", "threads")},
        "steps": found,
    }
    text = json.dumps(record, indent=1) + "\n"
    (Path(__file__).parent / "results" / "ivf_pq.json").write_text(text, encoding="utf-8")
    result_place("ivf_pq").write_text(page(record), encoding="utf-8")


def shown(argument: str) -> str:
    """Paths by their last name: a table says nothing of one machine's folders."""
    return Path(argument).name if "/" in argument else argument


if __name__ == "__main__":
    main()
