"""The memory of each process that encodes, over collections of growing size: does it follow the settings, or the corpus?

    python benchmarks/encode_memory.py FOLDER [--passages 125000 500000 2000000]    # writes benchmarks/results/encode_memory_HARDWARE_DATE.md

Invented passages of eight to twelve words; an encoder of MiniLM's dimension with one layer of random weights (``posbias encoder``), as memory beyond the weights follows the shards
and batches. FOLDER keeps collections and finished runs. Each command has two processes of one thread: ``--workers 2``, and actors of a Ray on this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import hardware, kept_part, measured, result_place

from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, package_versions, read_manifest
from positionbias.core.records import Passage
from positionbias.core.seeds import generator

POSBIAS = [sys.executable, "-m", "positionbias"]
RAY = "Ray, 2 actors"
ENGINES: Mapping[str, Sequence[str]] = {
    "2 workers": ("--workers", "2"),
    RAY: ("--workers", "2", "--engine", "ray"),
}
BLOCK = 10_000
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def passages(number: int) -> Iterator[Passage]:
    for start in range(0, number, BLOCK):
        draws = generator(1, "encode memory", start)
        words = draws.integers(0, 5_000, (BLOCK, 12))
        lengths = draws.integers(8, 13, BLOCK)
        for row in range(min(BLOCK, number - start)):
            yield Passage(f"p{start + row}", " ".join(f"w{word}" for word in words[row, : lengths[row]]))


def collection(folder: Path, number: int) -> Path:
    place = folder / f"invented-{number}"
    if not place.exists():
        with create_collection(place) as writer:
            writer.add_passages(passages(number))
            writer.finish(Manifest("collection", place.name, "benchmarks/encode_memory.py"))
    return place


def encoder(folder: Path, of: Path) -> Path:
    place = folder / "encoder"
    if not place.exists():
        measured([*POSBIAS, "encoder", str(of), "--layers", "1", "--width", "384", "--heads", "12", "--out", str(place)])
    return place


def run(folder: Path, model: Path, number: int, engine: str) -> dict[str, Any]:
    place = collection(folder, number)
    out = folder / f"vectors-{number}-{engine.split()[0]}"

    def make() -> Mapping[str, Any]:
        load = os.getloadavg()[0]
        command = [
            *POSBIAS,
            "encode",
            str(place),
            "--model",
            str(model),
            "--kind",
            "bi-encoder",
            "--out",
            str(out),
            "--overwrite",
            *ENGINES[engine],
        ]
        took = measured(command, environment=ENVIRONMENT)
        own = read_manifest(out).provenance["computed"]
        return {"took": took.seconds, "peak": took.peak, "own": own, "load": load, "checksum": read_manifest(out).checksum}

    return kept_part(folder / f"{number} {engine}.json", make)


def main(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    model = encoder(folder, collection(folder, min(arguments.passages)))
    rows = []
    for number in arguments.passages:
        engines = [name for name in ENGINES if number <= arguments.both or name == RAY]
        found = {engine: run(folder, model, number, engine) for engine in engines}
        assert len({one["checksum"] for one in found.values()}) == 1, "other bytes"
        for engine, one in found.items():
            of_worker, spent = one["own"]["spent"]["memory"] / 1e6, one["own"]["spent"]["processor"]
            rows.append(
                f"| {number:,} | {engine} | {of_worker:,.0f} | {one['peak'] / 1e6:,.0f} | {one['took']:.0f} | {spent:.0f} | {one['load']:.1f} |"
            )
    size = sum(path.stat().st_size for path in Path(model).glob("*.safetensors")) / 1e6
    versions = ", ".join(f"{name} {found}" for name, found in package_versions("torch", "ray").items())
    place = result_place("encode_memory")
    place.write_text(
        f"""# Memory of processes that encode, by the size of the corpus

{hardware()}; {versions}. An encoder of {size:.0f} MB, dimension 384, one layer, float32; invented passages of eight to twelve words; two processes of one thread.

    python benchmarks/encode_memory.py FOLDER --passages {" ".join(map(str, arguments.passages))} --both {arguments.both}

The peak of a process is the most resident memory that one of the two says of itself, with the libraries' shared pages; that of the command and its children counts shared pages once, and
leaves out actors, which Ray starts by itself. Both engines wrote the same bytes, where both ran.

| passages | engine | peak MB of a process | of the command and its children | s | processor s in the work | load |
|---:|---|---:|---:|---:|---:|---:|
{chr(10).join(rows)}
""",
        "utf-8",
    )
    print(place)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, nargs="+", default=[125_000, 500_000, 2_000_000])
    parser.add_argument("--both", type=int, default=500_000, help="up to so many passages with workers as well as Ray")
    main(parser.parse_args())
