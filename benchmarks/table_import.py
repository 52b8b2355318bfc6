"""Import rates of tables beside MS MARCO's own import: ``python benchmarks/table_import.py collection.tsv --gigabytes 0.5``.

The first bytes of a ``collection.tsv`` are read as they are, and as tables of the same passages, each with a query (its last five words) and an answer (its second
to fourth words). Every import is a process of its own with one worker. Rates are in MB (10^6 bytes) of input a processor second, so that other work on the machine
counts little. Memory is the peak of what is anonymous: what the kernel cannot drop.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Measured, hardware, measured, result_place

MEGA = 1_000_000
POSBIAS = [sys.executable, "-c", "from positionbias.cli.main import main; main()"]
FORMS = ("jsonl", "csv", "parquet")


def rows(collection: Path, size: int) -> Iterator[dict[str, str]]:
    """Yield a row of each passage in the first ``size`` bytes."""
    with open(collection, encoding="utf-8") as lines:
        for line in lines:
            size -= len(line.encode())
            if size < 0:
                return
            passage_id, _, text = line.rstrip("\n").partition("\t")
            words = text.split()
            yield {"passage_id": passage_id, "passage": text, "query": " ".join(words[-5:]), "answer": " ".join(words[1:4])}


def write(collection: Path, size: int, folder: Path) -> dict[str, Path]:
    """Write the files to be read, by their form."""
    made = {form: folder / f"test.{form}" for form in FORMS}
    with open(made["jsonl"], "w", encoding="utf-8") as handle:
        handle.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows(collection, size))
    with open(made["csv"], "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, ("passage_id", "passage", "query", "answer"))
        writer.writeheader()
        writer.writerows(rows(collection, size))
    stream, schema = (
        rows(collection, size),
        pa.schema([(name, pa.string()) for name in ("passage_id", "passage", "query", "answer")]),
    )
    with pq.ParquetWriter(made["parquet"], schema) as table:
        while batch := list(islice(stream, 50_000)):
            table.write_table(pa.Table.from_pylist(batch, schema=schema))
    made["tsv"] = folder / "collection.tsv"
    with open(made["tsv"], "w", encoding="utf-8") as handle:
        handle.writelines(f"{row['passage_id']}\t{row['passage']}\n" for row in rows(collection, size))
    return made


def run(what: str, path: Path, folder: Path) -> Measured:
    """Import one file in a process of its own."""
    environment = {**os.environ, "POSBIAS_HOME": str(folder / "home")}
    return measured(
        [*POSBIAS, "-q", "import", *what.split(), str(path), "--overwrite", "--out", str(folder / "made")],
        environment=environment,
    )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = write(given.collection, int(given.gigabytes * 1_000 * MEGA), folder)
        lines, base = [], 0.0
        for what, form in (("msmarco", "tsv"), *(("table", form) for form in FORMS)):
            size = files[form].stat().st_size
            found = run(what, files[form], folder)
            rate = size / MEGA / found.processor
            base = base or rate
            lines.append(
                f"| `import {what}`, {form} | {size / MEGA:,.0f} | {found.processor:,.0f} | {rate:.1f} | {base / rate:.2f} | {found.anonymous / MEGA:,.0f} |"
            )
            print(lines[-1], flush=True)
    load = os.getloadavg()[0]
    result_place("table_import").write_text(
        "# Import of tables\n\n"
        f"{hardware()}; {date.today().isoformat()}; load {load:.1f}.\n\n"
        f"    python benchmarks/table_import.py collection.tsv --gigabytes {given.gigabytes:g}\n\n"
        f"{(__doc__ or '').partition(chr(10) * 2)[2].strip()}\n\n"
        "| import | MB of input | processor seconds | MB a processor second | MS MARCO's rate, times this | MB of memory |\n"
        "|---|---:|---:|---:|---:|---:|\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
