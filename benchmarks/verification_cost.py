"""What verification costs: steps over a collection with the digests compared, and with nothing compared.

    python benchmarks/verification_cost.py COLLECTION       # writes benchmarks/results/verification_cost_HARDWARE_DATE.md

Each step runs in a process of its own, in turn with and without verification (``core.seal`` then finds no digests, so offsets of Arrow files are
checked in both). Seconds are the processors', of the process and its children. Opening a collection and one passage of it is timed by the clock too.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from measuring import hardware, result_place

WITHOUT = "import positionbias.core.seal as s; s.seal_of = lambda path: None\n"
TIMED = """
import os, sys, time
from pathlib import Path
collection, out = Path(sys.argv[1]), Path(sys.argv[2])
begun = time.perf_counter(), sum(os.times()[:4])
{body}
print(time.perf_counter() - begun[0], sum(os.times()[:4]) - begun[1])
"""
STEPS = {
    "open, and one passage": """
from positionbias.core.collection import Collection
Collection(collection).texts(["1"])
""",
    "10,000 passages anywhere": """
import numpy as np
from positionbias.core.collection import Collection
opened = Collection(collection)
opened.texts_at(np.random.default_rng(1).integers(0, len(opened), 10_000))
""",
    "debias, white-space words": """
from positionbias.cli.main import posbias
posbias.main(["-q", "debias", str(collection), "--out", str(out), "--words", "whitespace", "--workers", "1"], standalone_mode=False)
""",
    "posbias verify": """
from positionbias.cli.main import posbias
posbias.main(["-q", "verify", str(collection)], standalone_mode=False)
""",
}


def timed(body: str, collection: Path, *, verified: bool) -> tuple[float, float]:
    """The clock's and the processors' seconds of one run of a step."""
    script = ("" if verified else WITHOUT) + TIMED.format(body=body)
    with tempfile.TemporaryDirectory(dir=collection.parent) as folder:
        call = [sys.executable, "-c", script, str(collection), f"{folder}/out"]
        said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    clock, processors = said.split()[-2:]
    return float(clock), float(processors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--repeats", type=int, default=4)
    given = parser.parse_args()
    size = sum(path.stat().st_size for path in (given.collection / "passages").iterdir())
    lines = [
        "# What verification costs",
        "",
        f"{hardware()}; {date.today().isoformat()}. A collection of {size / 1e9:.1f} GB of passages; medians of {given.repeats} pairs.",
        "",
        "    python benchmarks/verification_cost.py COLLECTION",
        "",
        "| step | verified, s | not verified, s | processors, verified, s | not verified, s | cost |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, body in STEPS.items():
        pairs = []
        for repeat in range(given.repeats):  # each way first in turn
            ways = (True, False) if repeat % 2 else (False, True)
            found = {way: timed(body, given.collection, verified=way) for way in ways}
            pairs.append([found[True], found[False]])
        clock, processors = ([statistics.median(pair[way][what] for pair in pairs) for way in (0, 1)] for what in (0, 1))
        cost = f"{processors[0] / processors[1] - 1:+.1%}" if name != "posbias verify" else "all of it"
        cells = [f"{value:.2f}" for value in (*clock, *processors)]
        lines.append(f"| {name} | {' | '.join(cells)} | {cost} |")
        print(lines[-1], flush=True)
    result_place("verification_cost").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
