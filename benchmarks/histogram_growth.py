"""Growth of ``posbias histogram`` with the answers: 100,000 to 1,000,000 rows of query, passage and answer.

The rows are invented: the passages of ``make_corpus.py``, and for each an answer of one to six of its words in a row, front-loaded (two in
five start in the first tenth). One in twenty is not in its passage, as an answer in a person's own words; one in twenty has a second answer.
Every measurement is a command of its own, so that its time and memory are all its own: with the offsets that the source gives, and
matching every answer. The peer is the loop that people write: BlingFire's tokens of passage and answer, compared at every place.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from make_corpus import SHARD, Corpus, make_shard
from measuring import Measured, hardware, measured, result_place

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import generator

SIZES = (100_000, 300_000, 1_000_000)
PEER_ROWS = 20_000
PARAPHRASED, TWICE = 0.05, 0.05


def invented_rows(rows: int, seed: int = 1) -> Iterator[tuple[Passage, list[Answer]]]:
    """Passages, each with the answers of its query, ``rows`` answers in all."""
    corpus = Corpus(passages=rows, queries=0, seed=seed)
    left = rows
    for shard in range(-(-rows // SHARD)):
        random = generator(seed, "benchmark answers", shard)
        for line in make_shard(corpus, shard).data.decode().split("\n")[:-1]:
            passage = Passage(*line.split("\t"))
            words = [match.span() for match in re.finditer(r"[^\s.,:;?!]+", passage.text)]
            answers = []
            for _ in range(min(left, 1 + (random.random() < TWICE))):
                length = min(len(words), int(random.integers(1, 7)))
                place = random.random() * (0.1 if random.random() < 0.35 else 1)
                first = int(place * (len(words) - length + 1))
                start, end = words[first][0], words[first + length - 1][1]
                if random.random() < PARAPHRASED:
                    answers.append(Answer(f"q{passage.passage_id}", passage.passage_id, f"{passage.text[start:end]} instead"))
                else:
                    answers.append(Answer(f"q{passage.passage_id}", passage.passage_id, passage.text[start:end], start, end))
            left -= len(answers)
            yield passage, answers
            if not left:
                return


def make_input(rows: int, place: Path) -> Collection:
    """A collection of ``rows`` answers in one split."""
    queries, qrels, answers = [], [], []

    def passages() -> Iterator[Passage]:
        for passage, found in invented_rows(rows):
            query_id = f"q{passage.passage_id}"
            queries.append(Query(query_id, f"what is {query_id}"))
            qrels.append(Qrel(query_id, passage.passage_id, 1))
            answers.extend(found)
            yield passage

    with create_collection(place, overwrite=True) as writer:
        writer.add_passages(passages())
        writer.add_split("train", queries, qrels, answers)
        writer.finish(Manifest("collection", place.name, "a benchmark", settings={"rows": rows}, licence="invented"))
    return Collection(place)


@dataclass(frozen=True)
class Case:
    """One way to run the command."""

    name: str
    options: tuple[str, ...]
    workers: int


CASES = tuple(
    Case(f"{name}, {workers} worker{'s' * (workers > 1)}", options, workers)
    for name, options in (("offsets", ()), ("matching", ("--no-offsets",)))
    for workers in (1, 2)
)


def run_case(case: Case, collection: Path) -> tuple[Measured, dict]:
    """The command on a collection, and its result."""
    command = [sys.executable, "-c", "from positionbias.cli.main import main; main()", "histogram", str(collection)]
    run = measured([*command, "--split", "train", "--workers", str(case.workers), "--json", *case.options])
    return run, json.loads(run.output)["results"][0]


def peer(collection: Path, rows: int) -> tuple[int, int, float]:
    """The loop that people write, in one process: rows done, matches found, seconds of the processor."""
    import blingfire

    opened = Collection(collection)
    answers = opened.answers("train")[:rows]
    texts = opened.texts([answer.passage_id for answer in answers])
    found, started = 0, time.process_time()
    for answer, text in zip(answers, texts, strict=True):
        passage_tokens = blingfire.text_to_words(text).split(" ")
        answer_tokens = blingfire.text_to_words(answer.text).split(" ")
        for start in range(len(passage_tokens) - len(answer_tokens) + 1):
            for offset, token in enumerate(answer_tokens):
                if passage_tokens[start + offset] != token:
                    break
            else:
                found += 1
    return len(answers), found, time.process_time() - started


def lines_of(sizes: list[int], folder: Path) -> list[str]:
    """The table, row by row."""
    lines = [
        "| rows | run | s | processor, s | rows/s | peak, all processes | of it anonymous | mean position |",
        f"|{'---:|' * 8}",
    ]
    times: dict[str, list[float]] = {case.name: [] for case in CASES}
    for size in sizes:
        place = folder / f"{size}"
        make_input(size, place)
        means: dict[tuple[str, ...], set[str]] = {}
        for case in CASES:
            run, result = run_case(case, place)
            times[case.name].append(run.processor)
            comparable = {name: value for name, value in result.items() if name != "provenance"}
            means.setdefault(case.options, set()).add(json.dumps(comparable, sort_keys=True))
            cells = [f"{size:,}", case.name, f"{run.seconds:.1f}", f"{run.processor:.1f}", f"{size / run.seconds:,.0f}"]
            cells += [f"{run.peak / 1e6:,.0f} MB", f"{run.anonymous / 1e6:,.0f} MB", f"{result['value']:.4f}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
        if any(len(found) > 1 for found in means.values()):
            raise SystemExit(f"{size} rows: two workers found other numbers than one")
        rows, matches, seconds = peer(place, PEER_ROWS)
        lines.append(
            f"| {rows:,} of {size:,} | peer: plain loop, 1 process | – | {seconds:.1f} | {rows / seconds:,.0f} | – | – | {matches:,} matches |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
        shutil.rmtree(place)
    if len(sizes) > 1:
        slopes = [f"{name} rows^{np.polyfit(np.log(sizes), np.log(values), 1)[0]:.2f}" for name, values in times.items()]
        lines += ["", f"Growth of processor time with the rows (slope of log on log): {'; '.join(slopes)}. Linear is 1."]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--folder", type=Path, help="where the inputs are made; by default a temporary folder")
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/histogram_growth_HARDWARE_DATE.md")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        lines = lines_of(given.sizes, Path(folder))
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow", "blingfire", "positionbias"))
    options = f" --sizes {' '.join(map(str, given.sizes))}" if given.sizes != list(SIZES) else ""
    head = [
        "# Answer positions of up to a million rows",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/histogram_growth.py{options}",
        "",
        " ".join((__doc__ or "").split("\n\n", 1)[1].split()),
        "",
        "The time is that of the whole command: start, matching, 1,000 bootstrap resamples of the passages, 200 chance draws. Memory is the "
        "proportional set size of all processes together; what is not anonymous is the memory-mapped passages. Both worker counts printed the "
        f"same numbers to the last digit. The machine may have been shared (load average {load:.1f} at the start).",
        "",
    ]
    place = given.out or result_place("histogram_growth")
    place.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
