"""How fast a raw TSV is rotated, beside what bounds it and what people write today.

    python benchmarks/debias_speed.py collection.tsv       # writes benchmarks/results/debias_speed_HARDWARE_DATE.md

Every rate is in MB (10^6 bytes) of FILE a second, by the clock, with FILE in the page cache and the output on the same disk:

- debias: the command as a user calls it, from start to end, with its manifest and the SHA-256 of what it wrote.
- the limit: BlingFire's own C function, TextToWordsWithOffsets, called once for each line's text, with buffers made once and
  addresses worked out before, in as many processes, which begin together. Only the calls are counted; nothing is done with what they
  return. The row below it adds what every caller has to do: read the file and find the texts in it.
- the plain loop: one process, line by line: blingfire.text_to_words, random.randrange, re-join, write; on the first bytes of FILE.
- cat FILE > FILE2.

Peak memory is the sum over all processes of a run of their PSS (proportional set size: a shared page counts once), sampled about
every 50 ms. The repeats go round: every row once, then every row again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, measured, result_place

MEGA = 1_000_000
BLOCK = 2 << 20
POSBIAS = [sys.executable, "-c", "from positionbias.cli.main import main; main()"]


@dataclass
class Row:
    """One way of doing it: of each repeat the clock's seconds, the processors' seconds and, where it was watched, the peak memory."""

    what: str
    bytes: int
    words: str = ""
    processes: int = 1
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    checksum: str = ""

    @property
    def rate(self) -> float:
        """MB a second, by the median of the repeats."""
        return self.bytes / MEGA / statistics.median(self.seconds)

    def watched(self, command: list[str]) -> str:
        """Run a command and add what it took; gives its standard output."""
        found = measured(command)
        self.seconds.append(found.seconds)
        self.processor.append(found.processor)
        self.memory.append(found.peak)
        return found.output


def debias(path: Path, folder: Path, row: Row) -> None:
    """The command."""
    out = folder / "rotated.tsv"
    options = ["--words", row.words, "--workers", str(row.processes), "--format", "tsv", "--json", "--out", str(out)]
    (result,) = json.loads(row.watched([*POSBIAS, "--quiet", "debias", str(path), *options]))["results"]
    row.checksum = result["payload"]["rows"]["sha256"]
    out.unlink()
    out.with_name(f"{out.name}.manifest.json").unlink()


def cat(path: Path, folder: Path, row: Row) -> None:
    """What the disk and the page cache allow."""
    row.watched(["sh", "-c", f'cat "$0" > "{folder}/copy"', str(path)])
    (folder / "copy").unlink()


def limit_part(path: Path, part: int, parts: int, start: Any, seconds: Any) -> None:
    """In a process: the texts of every ``parts``-th block through the C function; seconds of the clock and the processor, calls and all."""
    from positionbias.core.blocks import file_blocks
    from positionbias.text.words import words_function

    function, clock, processor = words_function(), 0.0, 0.0
    start.wait()
    all_began, all_used = time.perf_counter(), time.process_time()
    for block in islice(file_blocks(path, BLOCK), part, None, parts):
        data = block.read()
        array = np.frombuffer(data, np.uint8)
        newlines, tabs = np.flatnonzero(array == 10), np.flatnonzero(array == 9)
        ends = newlines if data.endswith(b"\n") else np.append(newlines, len(data))
        starts = tabs[np.searchsorted(tabs, np.concatenate(([0], ends[:-1] + 1)))] + 1
        sizes = ends - starts
        rooms = 2 * sizes + 16
        room = int(rooms.max())
        buffers = np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room, np.int32)
        places = [repeat(buffer.ctypes.data) for buffer in buffers]
        arguments = (array.ctypes.data + starts).tolist(), sizes.tolist(), *places, rooms.tolist()
        began, used = time.perf_counter(), time.process_time()
        deque(map(function, *arguments), maxlen=0)
        clock += time.perf_counter() - began
        processor += time.process_time() - used
    seconds.put(((clock, processor), (time.perf_counter() - all_began, time.process_time() - all_used)))


def limit(path: Path, with_reading: Row, calls: Row) -> None:
    """BlingFire's C function; one run gives both rows."""
    context = multiprocessing.get_context("spawn")
    start, seconds = context.Barrier(calls.processes), context.Queue()
    workers = [
        context.Process(target=limit_part, args=(path, part, calls.processes, start, seconds))
        for part in range(calls.processes)
    ]
    for worker in workers:
        worker.start()
    took = [seconds.get() for _ in workers]
    for row, found in zip((calls, with_reading), zip(*took, strict=True), strict=True):
        row.seconds.append(max(clock for clock, _ in found))
        row.processor.append(sum(processor for _, processor in found))
    for worker in workers:
        worker.join()


def plain_loop(path: Path, folder: Path, size: int, row: Row) -> None:
    """What people write today, on the lines within the first ``size`` bytes."""
    import blingfire

    done, began, used = 0, time.perf_counter(), time.process_time()
    with open(path, encoding="utf-8", newline="\n") as lines, open(folder / "loop", "w", encoding="utf-8", newline="\n") as out:
        for line in lines:
            passage_id, text = line.rstrip("\n").split("\t", 1)
            words = blingfire.text_to_words(text).split(" ")
            cut = random.randrange(len(words))
            out.write(f"{passage_id}\t{' '.join(words[cut:] + words[:cut])}\n")
            done += len(line.encode())
            if done >= size:
                break
    row.seconds.append(time.perf_counter() - began)
    row.processor.append(time.process_time() - used)
    row.bytes = done


def table(rows: list[Row]) -> list[str]:
    """The rows; a share of the limit compares equal numbers of processes."""
    limits = {row.processes: row for row in rows if row.what.startswith("the limit") and "reading" not in row.what}
    headings = ["", "MB/s", "of the limit", "seconds", "processors, s", "of the limit's", "peak memory, MB"]
    lines = [f"| {' | '.join(headings)} |", "|---|" + "---:|" * (len(headings) - 1)]
    for row in rows:
        shares = ["", ""]
        if row.words == "blingfire":
            bound = limits[row.processes]
            used = statistics.median(row.processor) / statistics.median(bound.processor)
            shares = [f"{row.rate / bound.rate:.0%}", f"{used:.2f}"]
        spread = f" ({min(row.seconds):.1f} to {max(row.seconds):.1f})" if len(row.seconds) > 1 else ""
        cells = [row.what, f"{row.rate:,.0f}", shares[0], f"{statistics.median(row.seconds):.1f}{spread}"]
        cells += [f"{statistics.median(row.processor):.1f}", shares[1]]
        lines.append(f"| {' | '.join([*cells, f'{max(row.memory) / MEGA:,.0f}' if row.memory else ''])} |")
    return lines


def report(given: argparse.Namespace, rows: list[Row], load: float) -> str:
    size = given.file.stat().st_size
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "blingfire", "positionbias"))
    checksums = {words: {row.checksum for row in rows if row.words == words} for words in ("whitespace", "blingfire")}
    same = all(len(found) == 1 for found in checksums.values())
    loop = next(row for row in rows if row.what.startswith("the plain loop"))
    lines = [
        "# Raw TSV, rotated: how fast, and beside what",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/debias_speed.py {given.file.name} --repeats {given.repeats} --loop-bytes {given.loop_bytes}",
        "",
        f"{given.file.name}: {size / MEGA:,.0f} MB, in the page cache. Rates are in MB (10^6 bytes) of it a second, by the clock: the median of "
        f"{given.repeats} (with the least and the most seconds), load average {load:.1f} at the start. The limit is what BlingFire's C function "
        "alone takes in as many processes, called on the same texts with buffers and addresses made before. The plain loop is text_to_words, "
        f"randrange, re-join and write, over the first {loop.bytes / MEGA:,.0f} MB. Peak memory: PSS of all processes together, sampled every "
        "50 ms. The seconds of the processors say what a run would take on a machine that does nothing else.",
        "",
        *table(rows),
        "",
        "One worker and two wrote the same bytes." if same else "ONE WORKER AND TWO WROTE DIFFERENT BYTES.",
        *(f"SHA-256, {words} words: {', '.join(sorted(found))}." for words, found in checksums.items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="a TSV of id, tab, text")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loop-bytes", type=int, default=100 * MEGA, help="how much of FILE the plain loop gets")
    parser.add_argument("--scratch", type=Path, help="where to write what is measured; by default beside FILE")
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/debias_speed_HARDWARE_DATE.md")
    given = parser.parse_args()
    load, size = os.getloadavg()[0], given.file.stat().st_size
    with tempfile.TemporaryDirectory(dir=given.scratch or given.file.absolute().parent) as temporary:
        folder = Path(temporary)
        steps: list[tuple[Row, Callable[[Row], None]]] = [(Row("cat FILE > FILE2", size), partial(cat, given.file, folder))]
        for words in ("whitespace", "blingfire"):
            for workers in (1, 2):
                name = f"debias, {words} words, {workers} worker{'s' * (workers > 1)}"
                steps.append((Row(name, size, words, workers), partial(debias, given.file, folder)))
        more = []
        for processes in (1, 2):
            name = f"the limit: BlingFire's C function, {processes} process{'es' * (processes > 1)}"
            more.append(Row(f"{name}, with reading and finding the texts", size, processes=processes))
            steps.append((Row(name, size, processes=processes), partial(limit, given.file, more[-1])))
        steps.append((Row("the plain loop, 1 process", size), partial(plain_loop, given.file, folder, given.loop_bytes)))
        for _ in range(given.repeats):
            for row, step in steps:
                step(row)
                print(f"{row.what}: {row.bytes / MEGA / row.seconds[-1]:,.0f} MB/s", file=sys.stderr, flush=True)
    place = given.out or result_place("debias_speed")
    place.write_text(report(given, [*(row for row, _ in steps), *more], load), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
