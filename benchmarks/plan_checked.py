"""What ``posbias plan`` says beside what was then measured, and what sharding and Ray cost on one machine.

    python benchmarks/plan_checked.py DATA FOLDER [--passages 2000 20000] [--queries 20 200] [--turns 2]

DATA has ``msmarco_mini`` (passages to encode) and ``squad`` (queries and candidates to re-rank), FOLDER keeps collections and finished runs, so that a
stopped campaign goes on. MiniLM, two threads in all. Every command is a process of its own; its time includes its start. Configurations of an
encoding take turns (A B C A B C): the command as it is, two workers of a thread each, and a Ray of one process with both threads.

The small size is planned just before from the model timed there, the large one from the manifest of the small one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from measuring import hardware, kept_part, measured, result_place

from positionbias.core.manifest import package_versions, read_manifest
from positionbias.dense.vectors import SHARD_PASSAGES

GOAL, OVERHEAD = 0.25, 0.10
WORKERS, RAY = "2 workers", "Ray, 1 process"
POSBIAS = [sys.executable, "-m", "positionbias"]
THREADS = {**os.environ, "OMP_NUM_THREADS": "2"}
CONFIGURATIONS: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "direct": ((), THREADS),
    WORKERS: (("--workers", "2"), {**os.environ, "OMP_NUM_THREADS": "1"}),
    RAY: (("--engine", "ray"), THREADS),
}
DEPTH = 50  # candidates a query


def posbias(*words: str | Path, environment: Mapping[str, str] = THREADS) -> str:
    return subprocess.run([*POSBIAS, *map(str, words)], check=True, capture_output=True, text=True, env=environment).stdout


def once(place: Path, *words: str | Path) -> Path:
    if not place.exists():
        posbias(*words, "--out", place)
    return place


def passages(data: Path, folder: Path, number: int) -> Path:
    """A collection of MS MARCO's first passages."""
    source = folder / f"{number}.tsv"
    with open(data / "msmarco_mini" / "collection.tsv", encoding="utf-8") as lines:
        source.write_text("".join(islice(lines, number)), "utf-8")
    (folder / str(number)).mkdir(exist_ok=True)
    shutil.move(source, folder / str(number) / "collection.tsv")
    return once(folder / f"msmarco-{number}", "import", "msmarco", folder / str(number))


def candidates(data: Path, folder: Path, queries: int) -> tuple[Path, Path]:
    """SQuAD with so many test queries, and their candidates by BM25."""
    squad = data / "squad"
    whole = once(folder / "squad", "import", "squad", "--train", squad / "train44-v1.1.json", "--test", squad / "dev-v1.1.json")
    some = once(
        folder / f"squad-{queries}", "select", whole, "--answers-in", "0:1", "--split", "test", "--queries", str(queries)
    )
    return some, once(folder / f"squad-{queries}.run", "retrieve", some, "--split", "test", "--depth", str(DEPTH))


def run(folder: Path, name: str, command: Sequence[str | Path], environment: Mapping[str, str], out: Path) -> dict[str, Any]:
    """What a command took, whole and in its work alone; kept under its name."""

    def make() -> Mapping[str, Any]:
        load = os.getloadavg()[0]
        took = measured([*POSBIAS, *map(str, command), "--out", str(out), "--overwrite"], environment=environment)
        own = read_manifest(out).provenance["computed"]
        return {"took": took.seconds, "processor": took.processor, "peak": took.peak, "own": own, "load": load}

    return kept_part(folder / f"{name}.json", make)


def plan(folder: Path, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> dict[str, Any]:
    """The lines of a plan; kept under its name."""

    def make() -> Mapping[str, Any]:
        load = os.getloadavg()[0]
        found = json.loads(posbias("plan", *command, "--json", "--quiet", environment=environment))["results"][0]
        return {"lines": found["payload"]["rows"], "load": load}

    return kept_part(folder / f"{name}.json", make)


def told_load(one: Mapping[str, Any]) -> str:
    return f"{one['load']:.1f}"


def row(what: str, planned: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> str:
    lines = planned["lines"]
    told, work = lines["time"]["value"], 3_600 * lines["processor-hours"]["value"]
    took, own = mean(one["took"] for one in runs), mean(one["own"]["spent"]["processor"] for one in runs)
    loads = f"{planned['load']:.1f}; {', '.join(told_load(one) for one in runs)}"
    ratios = [
        f"{told / took:.2f}{'' if abs(told / took - 1) <= GOAL else ' (missed)'}",
        f"{work / own:.2f}{'' if abs(work / own - 1) <= GOAL else ' (missed)'}",
    ]
    return f"| {what} | {told:.0f} | {took:.0f} | {ratios[0]} | {work:.1f} | {own:.1f} | {ratios[1]} | {loads} |"


def encodings(data: Path, folder: Path, arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The rows of planned and measured encodings, and of what configurations cost."""
    runs: dict[tuple[int, str], list[dict[str, Any]]] = {}
    plans: dict[tuple[int, str, str], dict[str, Any]] = {}
    small = min(arguments.passages)
    for size in arguments.passages:
        place = passages(data, folder, size)
        names = [name for name in arguments.only if name != WORKERS or size > SHARD_PASSAGES]  # a single shard is not shared
        step = ["encode", "--collection", place]
        if size == small:
            plans[size, "direct", "model timed here"] = plan(folder, f"plan {size}", [*step, "--model", "minilm"], THREADS)
        for name in (set(names) - {RAY}) if size != small else ():
            before = [*step, *CONFIGURATIONS[name][0], "--measured", folder / f"vectors-{small}-direct"]
            plans[size, name, f"manifest of {small:,}"] = plan(folder, f"again {size} {name}", before, THREADS)
        for turn in range(arguments.turns):
            for name in names:
                runs.setdefault((size, name), []).append(encoded(folder, place, size, name, turn))
    checked = [row(f"encode {size:,}, {name}, {of}", one, runs[size, name]) for (size, name, of), one in plans.items()]
    return checked, [cost(size, name, found, runs[size, "direct"]) for (size, name), found in runs.items()]


def cost(size: int, name: str, found: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]]) -> str:
    def means(of: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
        return mean(one["processor"] for one in of), mean(one["own"]["spent"]["processor"] for one in of)

    whole, work = means(found)
    beside = [f"{own / other - 1:+.0%}" for own, other in zip((whole, work), means(base), strict=True)]
    took, peak = mean(one["took"] for one in found), max(one["own"]["spent"]["memory"] for one in found) / 1e6
    cells = [
        f"{took:.0f}",
        f"{whole:.1f}",
        beside[0],
        f"{work:.1f}",
        beside[1],
        f"{peak:,.0f}",
        ", ".join(map(told_load, found)),
    ]
    return f"| {size:,} | {name} | {len(found)} | {' | '.join(cells)} |"


def encoded(folder: Path, place: Path, size: int, name: str, turn: int) -> dict[str, Any]:
    flags, environment = CONFIGURATIONS[name]
    command = ["encode", place, "--model", "minilm", *flags]
    return run(folder, f"{size} {name} {turn}", command, environment, folder / f"vectors-{size}-{name}")


def rerankings(data: Path, folder: Path, arguments: argparse.Namespace) -> list[str]:
    """The rows of planned and measured re-rankings."""
    checked, few = [], min(arguments.queries, default=0)
    for queries in arguments.queries:
        place, found = candidates(data, folder, queries)
        size = ["--collection", place, "--queries", str(queries), "--depth", str(DEPTH), "--model", "minilm"]
        if queries == few:
            of, planned = "model timed here", plan(folder, f"plan rerank {queries}", ["rerank", *size], THREADS)
        else:
            before = [*size, "--measured", folder / f"reranked-{few}.run"]
            of, planned = f"manifest of {few * DEPTH:,}", plan(folder, f"again rerank {queries}", ["rerank", *before], THREADS)
        command = ["rerank", place, "--model", "minilm", "--candidates", found]
        one = run(folder, f"rerank {queries}", command, THREADS, folder / f"reranked-{queries}.run")
        checked.append(row(f"rerank {queries * DEPTH:,} pairs, {of}", planned, [one]))
    return checked


def told(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def table(checked: Sequence[str], costs: Sequence[str], arguments: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {found}" for name, found in package_versions("torch", "ray").items())
    head = "| step | planned s | measured s | ratio | planned processor s | measured processor s | ratio | load |"
    other = "| passages | configuration | runs | s | processor s | beside direct | of these in the work | beside direct | peak MB of a process | load |"
    return f"""# A plan and what was then measured; the cost of sharding and of Ray

{hardware()}; {versions}. MiniLM in float32, two threads in all; MS MARCO's first {" and ".join(f"{size:,}" for size in arguments.passages)} passages, and SQuAD's
test questions with {DEPTH} candidates each by BM25.

    python benchmarks/plan_checked.py $POSBIAS_DATA FOLDER --passages {told(arguments.passages)} --queries {told(arguments.queries)} --turns {arguments.turns}

Other processes used the machine, as the loads show (processes that wanted one of the {os.cpu_count()} cores, when the plan and when the runs began), so seconds on the
clock follow them; those of processors are of the work alone and depend on them less. A plan holds for the load at which it was made. The goal is
{GOAL:.0%}.

## Planned and measured

{head}
|---|{"---:|" * 6}---|
{chr(10).join(checked)}

## What sharding and Ray cost

Seconds of the processor are those of all processes of a command: with their start, and in the work alone, as the manifest has it. The goal is {OVERHEAD:.0%} beside
the direct command.

{other}
|---:|---|{"---:|" * 7}---|
{chr(10).join(costs)}
"""


def main(arguments: argparse.Namespace) -> None:
    arguments.folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    parts: Sequence[Callable[[], Any]] = (
        lambda: encodings(arguments.data, arguments.folder, arguments),
        lambda: rerankings(arguments.data, arguments.folder, arguments),
    )
    (encodings_, costs), rerankings_ = (part() for part in parts)
    place = result_place("plan_checked")
    place.write_text(table([*encodings_, *rerankings_], costs, arguments), "utf-8")
    print(f"{place}, after {time.time() - began:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--queries", type=int, nargs="*", default=[20, 200])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=CONFIGURATIONS, default=list(CONFIGURATIONS))
    main(parser.parse_args())
