"""Mutated inputs, thousands for each reader: ``python benchmarks/fuzz/campaign.py --inputs 2000``.

Each input is a small release in its published layout (``fuzz_seeds``) with one to four faults in it (``fuzz_mutations``), packed in any of
the ways that the reader takes, and read in blocks of any size. It must end as something whole in which every record is accounted for
(``fuzz_checks``), or as one line that says what is wrong, with nothing left on the disk. Draws are keyed by (seed, reader, number): an input
is made again by ``--reader NAME --only NUMBER --keep FOLDER``. Each reader runs in a process of its own, so that a crash of a library is seen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_readers import READERS, Reader, memory_folder, run_input
from measuring import hardware, result_place

SHOWN = 5  # faults told in full


def run_reader(reader: Reader, inputs: range, seed: int, folder: Path) -> dict[str, Any]:
    """All inputs of one reader, one after the other; counts, and what was wrong."""
    ended: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    slowest, faults = 0.0, []
    started = time.perf_counter()
    for number in inputs:
        place = folder / "input"
        begun = time.perf_counter()
        found = run_input(reader, number, place, seed=seed)
        slowest = max(slowest, time.perf_counter() - begun)
        shutil.rmtree(place)
        ended[found.how] += 1
        if found.how == "refused":
            lines[_kind(found.said)] += 1
        if found.how == "fault" and len(faults) < SHOWN:
            faults.append({"input": number, "done": found.done, "said": found.said})
    seconds = time.perf_counter() - started
    return {"ended": ended, "kinds": len(lines), "slowest": slowest, "seconds": seconds, "faults": faults}


def _kind(line: str) -> str:
    """What was wanted, and no more: how many kinds of faults are distinguished."""
    wanted = re.search(r"wanted (.*?); found", line)
    return re.sub(r"'[^']*'|\d[\d,]*", "…", wanted[1] if wanted else line)


def _in_a_process(reader: Reader, inputs: int, seed: int, limit: int) -> dict[str, Any]:
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        __file__,
        "--reader",
        reader.name,
        "--inputs",
        str(inputs),
        "--seed",
        str(seed),
        "--json",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return _lost(f"not done after {limit} s")
    return json.loads(done.stdout) if not done.returncode else _lost(f"ended with {done.returncode}: {done.stderr[-2_000:]}")


def _lost(said: str) -> dict[str, Any]:
    fault = {"input": "?", "done": (), "said": said}
    return {"ended": {"fault": 1}, "kinds": 0, "slowest": 0.0, "seconds": 0.0, "faults": [fault]}


def table(found: dict[str, dict[str, Any]]) -> list[str]:
    """A row a reader."""
    lines = ["| reader | inputs | whole | one line | kinds of lines | faults | s | slowest input, s |", f"|---|{'---:|' * 7}"]
    for name, item in found.items():
        ended = item["ended"]
        cells = [name, f"{sum(ended.values()):,}", *(f"{ended.get(how, 0):,}" for how in ("valid", "refused"))]
        cells += [str(item["kinds"]), str(ended.get("fault", 0)), f"{item['seconds']:.0f}", f"{item['slowest']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> int:
    """Run the campaign, or one input of it; 1 where a fault was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2_000, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", choices=[reader.name for reader in READERS], help="this one alone, in this process")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this input alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the one input is left")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/fuzz_HARDWARE_DATE.md")
    given = parser.parse_args()
    warnings.simplefilter("error")
    chosen = [reader for reader in READERS if given.reader in (None, reader.name)]
    if given.only is not None:
        ended = run_input(chosen[0], given.only, given.keep or Path(tempfile.mkdtemp()), seed=given.seed)
        print(f"{ended.how}; {', '.join(ended.done)}\n{ended.said}")
        return int(ended.how == "fault")
    if given.reader:
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            found = {given.reader: run_reader(chosen[0], range(given.inputs), given.seed, Path(folder))}
        print(json.dumps(found[given.reader]) if given.json else "\n".join(table(found)))
    else:
        found = {reader.name: _in_a_process(reader, given.inputs, given.seed, 60 + given.inputs) for reader in chosen}
        _write(found, given)
    for name, item in found.items():
        for fault in item["faults"]:
            print(f"{name}, input {fault['input']} ({', '.join(fault['done'])}): {fault['said']}", file=sys.stderr)
    return int(any(item["faults"] for item in found.values()) and not given.json)


def _write(found: dict[str, dict[str, Any]], given: argparse.Namespace) -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "zstandard", "positionbias"))
    seed = f" --seed {given.seed}" if given.seed != 1 else ""
    head = [
        "# Mutated inputs",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; load {os.getloadavg()[0]:.1f}.",
        "",
        f"    python benchmarks/fuzz/campaign.py --inputs {given.inputs}{seed}",
        "",
        " ".join((__doc__ or "").split("\n\n", 1)[1].replace("``", "`").split()),
        "",
        "Whole: read, every text readable, every record stored or counted as left out. One line: refused with what was wanted, found, and to be "
        "done. Kinds of lines: how many different things were wanted.",
        "",
    ]
    place = given.out or result_place("fuzz")
    place.write_text("\n".join([*head, *table(found)]) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    sys.exit(main())
