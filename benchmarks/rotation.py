"""How fast is a file of passages rotated by white space, and is it faster with two workers?

The file is invented: lines of an id, a tab and 30 to 90 words. The rotation alone is measured in
processor seconds, the whole command in seconds on the clock; one and two workers take turns.

    python benchmarks/rotation.py --turns 9
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median

from harness.machine import commit_of, this_machine

from positionbias.core.blocks import file_blocks
from positionbias.core.process import keep_freed_memory
from positionbias.positions.raw_files import RAW_BLOCK_BYTES
from positionbias.positions.raw_formats import rotate_tsv, spliced
from positionbias.positions.rotate import Rotation

WORKERS = (1, 2)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def lines(size: int, seed: int) -> Iterator[str]:
    """Lines of passages, ``size`` bytes of them or a few more."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 10))) for _ in range(20_000)]
    written = number = 0
    while written < size:
        line = f"{number}\t{' '.join(draw.choices(words, k=draw.randint(30, 90)))}.\n"
        yield line
        written, number = written + len(line), number + 1


def rotation_seconds(source: Path) -> float:
    """Processor seconds of rotating the file in memory, block by block, in this process."""
    rotation = Rotation(words="whitespace", seed=3)
    began = time.process_time()
    for block in file_blocks(source, RAW_BLOCK_BYTES):
        data = block.read()
        spliced(data, rotate_tsv(rotation, replace(block, data=data))[0])
    return time.process_time() - began


def command_seconds(source: Path, out: Path, workers: int) -> float:
    """Seconds on the clock of the command."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "positionbias", "debias", str(source), "--out", str(out)]
    options = ["--words", "whitespace", "--workers", str(workers), "--overwrite", "--quiet"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    own: list[float] = []
    commands: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "passages.tsv"), Path(folder, "rotated.tsv")
        source.write_text("".join(lines(options.megabytes * 1_000_000, seed=1)))
        size = source.stat().st_size / 1e6
        keep_freed_memory()
        rotation_seconds(source)  # loads what is loaded once
        for _ in range(options.turns):
            own.append(rotation_seconds(source))
            for workers, measured in commands.items():
                measured.append(command_seconds(source, out, workers))
    machine = this_machine()
    rows = [
        f"| {workers} | {median(measured):.2f} | {min(measured):.2f} |"
        for workers, measured in commands.items()
    ]
    ratios = [one / two for one, two in zip(*commands.values(), strict=True)]
    today = time.strftime("%Y-%m-%d", time.gmtime())
    first = hasattr(os, "SCHED_RR") and os.sched_getscheduler(0) == os.SCHED_RR
    beside = "; this ran before all other work (chrt --rr 10)" if first else ""
    page = f"""# Rotation of a file by white space

{machine.processor}, {machine.cores} cores; Python {sys.version.split()[0]}, numpy \
{version("numpy")}, pyarrow {version("pyarrow")}; {today}.

    python benchmarks/rotation.py --megabytes {options.megabytes} --turns {options.turns}

A file of {size:.0f} MB, invented; {options.turns} turns of each. The load at the end:
{os.getloadavg()[0]:.1f}{beside}.

Rotated in memory, {size / median(own):.0f} MB a processor second (median; best \
{size / min(own):.0f}). The whole command, with its start, digests and writing:

| workers | seconds, median | best |
|---:|---:|---:|
{chr(10).join(rows)}

One worker's time over two workers', turn by turn: median {median(ratios):.2f}, from \
{min(ratios):.2f} to {max(ratios):.2f}.

Code: {commit_of()}.
"""
    (options.out / f"rotation_{machine.name}_{today}.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
