"""How fast one core imports and rotates passages, and how many bytes they take: what ``docs/cluster.md`` works out a billion passages from.

    python benchmarks/step_rates.py FOLDER [--passages 300000]       # writes benchmarks/results/step_rates_HARDWARE_DATE.md

The passages are those of ``make_corpus``, made in FOLDER where they are not there. Each step is a command of its own with one worker; its seconds are
the processor's, start included.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from make_corpus import Corpus, make_corpus
from measuring import hardware, measured, result_place

POSBIAS = (sys.executable, "-m", "positionbias")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=300_000)
    given = parser.parse_args()
    source, collection, rotated = (given.folder / name for name in ("source", "collection", "rotated"))
    if not source.exists():
        make_corpus(source, Corpus(given.passages, queries=1_000))
    size = (source / "collection.tsv").stat().st_size
    steps = {
        "import of the TSV": ("import", "msmarco", str(source), "--out", str(collection)),
        "debias of the collection, BlingFire's words": ("debias", str(collection), "--out", str(rotated)),
        "debias of the collection, words at white space": (
            "debias",
            str(collection),
            "--words",
            "whitespace",
            "--out",
            str(rotated),
        ),
    }
    rates = []
    for step, arguments in steps.items():
        seconds = measured([*POSBIAS, *arguments, "--workers", "1", "--overwrite"]).processor
        rates.append(f"| {step} | {seconds:.2f} | {size / seconds / 1e6:.1f} |")
    sizes = {
        "`collection.tsv`": size,
        "collection: passages": _bytes(collection / "passages"),
        "collection: index of the ids": _bytes(collection / "cache"),
        "the same two, rotated": _bytes(rotated / "passages") + _bytes(rotated / "cache"),
    }
    lines = [
        "# One core's rates, and bytes a passage",
        "",
        f"{hardware()}; {date.today().isoformat()}. {given.passages:,} passages of `make_corpus`, {size / 1e6:.0f} MB; one worker, seconds of the processor, start included.",
        "",
        "    python benchmarks/step_rates.py FOLDER",
        "",
        "| step | processor, s | MB of TSV a second |",
        "|---|---:|---:|",
        *rates,
        "",
        "| what | bytes a passage |",
        "|---|---:|",
        *(f"| {what} | {total / given.passages:.1f} |" for what, total in sizes.items()),
    ]
    place = result_place("step_rates")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(place)


def _bytes(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(place.stat().st_size for place in folder.rglob("*") if place.is_file())


if __name__ == "__main__":
    main()
