"""ATS by sums, against computing every pair (blocked U·Uᵀ for each term), on growing samples of passages.

    python benchmarks/ats_pairs.py            # writes benchmarks/results/ats_pairs_HARDWARE_DATE.md

Words are those of the SQuAD passages under $POSBIAS_DATA, cut at 200 BlingFire words; invented passages with Zipf's
frequencies where that names nothing. Vectors are invented: a part for the term, a part for the position, noise. Each measurement runs in
a process of its own, from vectors mapped into memory; peak memory is what that process holds beyond them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (250, 500, 1000, 2000, 4497)
WORDS, DIMENSION, TILE = 200, 300, 2048
COLUMNS = ("terms", "positions", "passages")


def squad_words(data: Path) -> Iterator[list[int]]:
    """The word numbers of each SQuAD passage."""
    from positionbias.formats.squad_json import read_squad
    from positionbias.text.vocabulary import Vocabulary, count_words

    files = [data / "squad" / name for name in ("train44-v1.1.json", "dev-v1.1.json")]
    texts = [paragraph.text for path in files for article in read_squad(path).articles for paragraph in article.paragraphs]
    vocabulary = Vocabulary.build(count_words(texts))
    return (vocabulary.encode(text, WORDS) for text in texts)


def invented_words() -> Iterator[list[int]]:
    """Passages of 20 to 200 words, with frequencies by Zipf's law over 20,000 terms."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 20_001)
    for _ in range(max(SIZES)):
        yield (2 + rng.choice(20_000, rng.integers(20, WORDS + 1), p=weights / weights.sum())).tolist()


def make_input(folder: Path) -> str:
    """Write the words and their vectors for all passages in a shuffled order; what they are, in words."""
    data = os.environ.get("POSBIAS_DATA")
    rows = list(squad_words(Path(data)) if data else invented_words())
    order = np.random.default_rng(1).permutation(len(rows))
    rows = [rows[index] for index in order]
    lengths = np.array([len(row) for row in rows])
    terms = np.concatenate([np.array(row, np.int32) for row in rows])
    positions = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    arrays = {"terms": terms, "positions": positions, "passages": np.repeat(np.arange(len(rows)), lengths)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    rng = np.random.default_rng(2)
    by_term = rng.standard_normal((terms.max() + 1, DIMENSION), dtype=np.float32)
    by_position = rng.standard_normal((WORDS, DIMENSION), dtype=np.float32)
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (len(terms), DIMENSION))
    for start in range(0, len(terms), 8192):
        part = slice(start, start + 8192)
        noise = rng.standard_normal((len(terms[part]), DIMENSION), dtype=np.float32)
        vectors[part] = by_term[terms[part]] + by_position[positions[part]] + noise
    vectors.flush()
    return f"{'SQuAD' if data else 'invented'} passages, {len(rows):,} in all with {len(terms):,} words"


def by_pairs(
    terms: np.ndarray, positions: np.ndarray, passages: np.ndarray, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """ATS and the number of pairs at each Δ, from every pair: U·Uᵀ in tiles for each term, counted up by Δ."""
    width = int(positions.max()) + 1
    known = np.flatnonzero(terms > 1)
    order = known[np.argsort(terms[known], kind="stable")]
    bounds = np.append(np.flatnonzero(np.diff(terms[order], prepend=-1)), len(order))
    means, found, pairs = np.zeros(width), np.zeros(width), np.zeros(width)
    for start, end in pairwise(bounds.tolist()):
        if end - start < 2:
            continue
        rows = order[start:end]
        units = vectors[rows]
        units /= np.sqrt(np.einsum("ij,ij->i", units, units))[:, None]
        cosines, counts = np.zeros(width + 1), np.zeros(width + 1)
        for i in range(0, len(rows), TILE):
            for j in range(i, len(rows), TILE):
                a, b = slice(i, i + TILE), slice(j, j + TILE)
                gram = units[a] @ units[b].T
                deltas = np.abs(positions[rows[a], None] - positions[rows[b]])
                deltas[passages[rows[a], None] == passages[rows[b]]] = width  # within one passage: left out
                share = 0.5 if i == j else 1.0  # a tile on the diagonal holds each of its pairs twice
                cosines += share * np.bincount(deltas.ravel(), gram.ravel(), width + 1)
                counts += share * np.bincount(deltas.ravel(), minlength=width + 1)
        present = counts[:-1] > 0
        means[present] += cosines[:-1][present] / counts[:-1][present]
        found += present
        pairs += counts[:-1]
    return means / np.maximum(found, 1), pairs


def by_sums(*arrays: np.ndarray, sample_pairs: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same by positionbias.probe."""
    from positionbias.probe.ats import average_term_similarity
    from positionbias.probe.settings import ProbeSettings

    curve = average_term_similarity(*arrays, ProbeSettings(sample_pairs=sample_pairs))
    return np.array(curve.ats), np.array(curve.pairs)


def with_band(*arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """And with the deviation over pairs, from 2,000 pairs a Δ."""
    return by_sums(*arrays, sample_pairs=2_000)


METHODS: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {"sums": by_sums, "band": with_band, "pairs": by_pairs}


def own_memory() -> int:
    """What this process holds apart from mapped files, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def measure(method: str, passages: int, folder: Path) -> dict[str, Any]:
    """Run one method once on the first ``passages``; seconds, peak memory beyond the input, and what came out."""
    import positionbias.probe.ats  # noqa: F401 (importing is no part of the measurement)

    columns = {name: np.load(folder / f"{name}.npy") for name in COLUMNS}
    count = int(np.searchsorted(columns["passages"], passages))
    arrays = [columns[name][:count] for name in COLUMNS]
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")[:count]
    float(vectors.sum())  # read the file once: both methods find it in the page cache
    before, peak, done = own_memory(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.01):
            peak = max(peak, own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    started, used = time.perf_counter(), time.process_time()
    ats, pairs = METHODS[method](*arrays, vectors)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    done.set()
    watcher.join()
    return {
        "words": count,
        "seconds": seconds,
        "processor": processor,
        "peak": peak - before,
        "ats": ats.tolist(),
        "pairs": pairs.tolist(),
    }


def best_run(method: str, passages: int, folder: Path, threads: int, repeats: int) -> dict[str, Any]:
    """The quickest of some runs, each in a process of its own."""
    variables = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, __file__, "--one", method, str(passages), str(folder)]
    environment = {**os.environ, **variables}
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    return min(runs, key=lambda run: run["processor"])


def table(folder: Path, sizes: list[int], threads: int, repeats: int) -> list[str]:
    headings = ["passages", "words", "pairs", "sums, s", "sums and band, s", "every pair, s", "every pair / sums"]
    headings += ["sums, peak", "sums and band, peak", "every pair, peak", "largest difference in ATS"]
    lines = [f"| {' | '.join(headings)} |", f"|{'---:|' * len(headings)}"]
    times: dict[str, list[float]] = {method: [] for method in METHODS}
    for size in sizes:
        found = {method: best_run(method, size, folder, threads, repeats) for method in METHODS}
        sums, pairs = found["sums"], found["pairs"]
        count = len(sums["ats"])
        if pairs["pairs"][:count] != sums["pairs"]:
            raise SystemExit(f"{size} passages: the two methods count other pairs")
        difference = np.abs(np.array(pairs["ats"][:count]) - sums["ats"]).max()
        for method, result in found.items():
            times[method].append(result["processor"])
        clock = [f"{result['processor']:.2f} ({result['seconds']:.2f})" for result in found.values()]
        peaks = [f"{result['peak'] / 1e6:,.0f} MB" for result in found.values()]
        cells = [f"{size:,}", f"{sums['words']:,}", f"{sum(map(int, pairs['pairs'])):,}", *clock]
        cells += [f"{pairs['processor'] / sums['processor']:.1f}", *peaks, f"{difference:.0e}"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    largest = sizes[-3:]
    if len(largest) < 3:
        return lines
    slopes = {m: np.polyfit(np.log(largest), np.log(values[-3:]), 1)[0] for m, values in times.items()}
    return [
        *lines,
        "",
        f"Growth with the number of passages n over the three largest samples (the slope of log time on log n): "
        f"sums n^{slopes['sums']:.2f}, sums and band n^{slopes['band']:.2f}, every pair n^{slopes['pairs']:.2f}.",
    ]


def hardware() -> str:
    """The processor's name and the number of cores."""
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else []
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, of which the quickest counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/ats_pairs_HARDWARE_DATE.md")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "PASSAGES", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        method, passages, folder = given.one
        print(json.dumps(measure(method, int(passages), Path(folder))))
        return
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        what = make_input(Path(temporary))
        lines = table(Path(temporary), given.sizes, given.threads, given.repeats)
    machine, today = hardware(), date.today().isoformat()
    name = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    place = given.out or Path(__file__).parent / "results" / f"ats_pairs_{name}_{today}.md"
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    options = f" --threads {given.threads} --repeats {given.repeats}"
    head = [
        "# ATS by sums, against computing every pair",
        "",
        f"{machine}; threads: {given.threads}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{blas['name']} {blas['version']}; {today}.",
        "",
        f"    python benchmarks/ats_pairs.py{options}",
        "",
        f"{what}; {DIMENSION}-dimensional float32 vectors. Every pair: U·Uᵀ in tiles of {TILE} for each term, in float32, then "
        "counted up by Δ. Sums: `positionbias.probe.ats`. The band is the deviation over pairs, from 2,000 pairs a Δ. Seconds of "
        f"the processor (and on the clock), the least of {given.repeats} runs; ratio and growth are of the former, since the machine "
        f"was shared (load average {load:.1f} at the start).",
        "",
    ]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
