"""The rate, growth and memory of ``posbias leakage overlap`` on invented text: ``python benchmarks/overlap.py FOLDER``.

Training passages follow the law of ``make_corpus.py``. Of the test passages (another seed) every twentieth is a training passage in capitals, which
exact must find, and the next one the first six tenths of a training passage, which ngram must find; all planted ones are counted. Sizes are parts of one
collection, searched for exact copies and shared runs of 13 words in one process each, in turns; a rate is bytes of text over processor seconds of
everything: reading, searching, merging and writing, but preparing the test passages, which stands apart. The last row is the command
itself over all training passages. Finished rows are kept in FOLDER, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from make_corpus import SHARD, Corpus, make_shard
from measuring import hardware, kept_part, measured, result_place

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import remove
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
from positionbias.core.shards import Shard, write_shard
from positionbias.overlap.collection_texts import CollectionTexts
from positionbias.overlap.find import find_overlap
from positionbias.overlap.normal import comparable_words
from positionbias.overlap.search import write_tests
from positionbias.overlap.settings import PASSAGES, OverlapSettings
from positionbias.results.overlap import OverlapFigures

EVERY = 20  # test passages, of which two are planted
SETTINGS = OverlapSettings(units=(PASSAGES,), detectors=("exact", "ngram"), all_passages=True)


def passages_of(corpus: Corpus, shard: int) -> Iterator[Passage]:
    """Yield the passages of a shard of the invented corpus."""
    for line in make_shard(corpus, shard).data.decode().splitlines():
        passage_id, _, text = line.partition("\t")
        yield Passage(passage_id, text.rstrip())


def shard_to(corpus: Corpus, shard: int, path: Path) -> Shard:
    return write_shard(path, passages_of(corpus, shard))


def make_training(place: Path, corpus: Corpus) -> Collection:
    if not place.exists():
        job = {"corpus": repr(corpus)}
        with create_collection(place, job=job) as writer:
            list(writer.add_shards(Shard, partial(shard_to, corpus), range(-(-corpus.passages // SHARD)), map))
            writer.finish(Manifest("collection", place.name, "benchmarks/overlap.py", licence="invented"))
    return Collection(place)


def test_passages(training: Collection, count: int) -> Iterator[Passage]:
    """Yield test passages; the copied ones lie evenly in the first tenth of the training passages, so that every size has all."""
    fresh = Corpus(count, 0, seed=2)
    copied = iter(range(0, len(training) // 10, max(1, len(training) // 10 // (2 * count // EVERY))))
    for shard in range(-(-count // SHARD)):
        for passage in passages_of(fresh, shard):
            kind = int(passage.passage_id) % EVERY
            if kind > 1:
                yield passage
                continue
            text = training.texts_at(np.array([next(copied)]))[0]
            words = text.split()
            yield Passage(passage.passage_id, text.upper() if not kind else " ".join(words[: -(-6 * len(words) // 10)]))


def make_tests(place: Path, training: Collection, count: int) -> Collection:
    if not place.exists():
        with create_collection(place) as writer:
            writer.add_passages(test_passages(training, count))
            writer.finish(Manifest("collection", place.name, "benchmarks/overlap.py", licence="invented"))
    return Collection(place)


def holding_a_run(tests: Collection) -> int:
    """Return how many of the planted test passages have as many words as a run."""
    planted = (text for passage_id, text in tests.passages() if int(passage_id) % EVERY < 2)
    return sum(len(comparable_words(text)) >= SETTINGS.n for text in planted)


class Part:
    """The first shards of a collection that have ``least`` bytes of text; making it brings them into memory."""

    def __init__(self, whole: CollectionTexts, least: float) -> None:
        self.name, self.place, self.checksum, self.corpus = whole.name, whole.place, whole.checksum, whole.corpus
        self.chosen: list[Any] = []
        self.bytes = 0
        for block in whole.blocks(PASSAGES):
            if self.bytes >= least:
                break
            self.chosen.append(block)
            self.bytes += sum(len(text) for batch in block.batches() for text in batch.texts.pieces())  # type: ignore[attr-defined]

    def blocks(self, unit: str) -> Iterator[Any]:
        yield from self.chosen

    def links(self) -> Iterator[tuple[str, str]]:
        return iter(())


def search(folder: Path, gigabytes: float) -> dict[str, Any]:
    """Search a part in this process, and return its bytes, processor seconds and what was found."""
    tests = CollectionTexts.of(Collection(folder / "tests"), "test", "tests", SETTINGS, test=True)
    part = Part(CollectionTexts.of(Collection(folder / "training"), "train", "training", SETTINGS, test=False), gigabytes * 1e9)
    began = time.process_time()
    write_tests(folder / "tests.arrow", [tests], PASSAGES, SETTINGS)()
    prepared = time.process_time() - began
    began = time.process_time()
    out = folder / "out"
    results, _ = find_overlap(out, [part], [tests], SETTINGS, lambda *_: Manifest("results", "overlap", "benchmark"))
    seconds = time.process_time() - began - prepared
    remove(out)
    leaked = {
        result.payload.detector: result.payload.leaked for result in results if isinstance(result.payload, OverlapFigures)
    }
    return {"bytes": part.bytes, "search": seconds, "prepare": prepared, **leaked}


def command(folder: Path, workers: int) -> list[str]:
    """The command over all training passages."""
    sides = [str(folder / "training"), "--test", str(folder / "tests"), "--all-passages", "--unit", PASSAGES]
    detectors = ["--detector", "exact", "--detector", "ngram"]
    out = ["--workers", str(workers), "--out", str(folder / "out"), "--overwrite", "--json", "--quiet"]
    return [sys.executable, "-m", "positionbias", "leakage", "overlap", *sides, *detectors, *out]


def whole(folder: Path, workers: int) -> dict[str, Any]:
    """Run the command, and return its seconds and memory."""
    done = measured(command(folder, workers))
    results = json.loads(done.output)["results"]
    rows = [result["payload"]["rows"] for result in results]
    leaked = {row["detector"]: row["leaked"] for row in rows}
    remove(folder / "out")
    return {"clock": done.seconds, "processor": done.processor, "peak": done.peak, "load": os.getloadavg()[0], **leaked}


def in_process(folder: Path, gigabytes: float) -> dict[str, Any]:
    """Search a part in a process of its own."""
    load = os.getloadavg()[0]
    done = measured([sys.executable, __file__, str(folder), "--step", str(gigabytes)])
    return {**json.loads(done.output), "clock": done.seconds, "peak": done.peak, "load": load}


def report(options: argparse.Namespace, turns: Sequence[dict[float, dict[str, Any]]], run: dict[str, Any], holding: int) -> str:
    planted = -(-options.tests // EVERY)
    lines = [
        f"# Overlap of {options.tests:,} test passages with training passages, exact and 13-gram",
        "",
        f"{hardware()}; Python {platform.python_version()}, NumPy {np.__version__}, PyArrow {version('pyarrow')}; {date.today()}",
        "Command: `python benchmarks/overlap.py FOLDER "
        + " ".join(f"--{name} {getattr(options, name)}" for name in ("passages", "tests", "workers", "turns"))
        + "`",
        "",
        "One process. MB/s: text in 10^6 bytes by processor second, without preparing the test passages. Each size in turns; the load is the machine's before it began.",
        "",
        "| text, GB | turn | MB/s of a core | seconds of the processor | preparing the tests | peak MiB | exact found | ngram found | load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for gigabytes in options.sizes:
        for number, turn in enumerate(turns, 1):
            row = turn[gigabytes]
            lines.append(
                f"| {row['bytes'] / 1e9:.2f} | {number} | {row['bytes'] / 1e6 / row['search']:.1f} | {row['search']:.1f} | {row['prepare']:.1f} | "
                f"{row['peak'] / 2**20:,.0f} | {row['exact']:,} | {row['ngram']:,} | {row['load']:.1f} |"
            )
    lines += [
        "",
        f"Planted: {planted:,} training passages in capitals, and {planted:,} cut after six tenths of their words. {holding:,} of them have 13 words or more: "
        "so many must ngram find.",
        "",
        f"The command over {options.passages:,} training passages, --workers {options.workers}: {run['clock'] / 60:.1f} minutes on the clock, "
        f"{run['processor']:.0f} seconds of the processor, {run['peak'] / 2**30:.2f} GiB at the peak of all processes together (shared pages once); "
        f"{run['exact']:,} exact, {run['ngram']:,} ngram; load {run['load']:.1f} at the end.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=11_600_000)
    parser.add_argument("--tests", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.5, 1, 2, 4])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--step", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(search(options.folder, options.step)))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    training = make_training(options.folder / "training", Corpus(options.passages, 0))
    tests = make_tests(options.folder / "tests", training, options.tests)
    turns = []
    for number in range(options.turns):
        sizes = options.sizes if number % 2 == 0 else options.sizes[::-1]
        made = {
            size: kept_part(options.folder / f"part-{number}-{size}.json", partial(in_process, options.folder, size))
            for size in sizes
        }
        turns.append(made)
    run = kept_part(options.folder / f"whole-{options.workers}.json", partial(whole, options.folder, options.workers))
    table = report(options, turns, run, holding_a_run(tests))
    place = options.out or result_place("overlap")
    place.write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
