"""Import rates of tables beside MS MARCO's own import: ``python benchmarks/table_import.py collection.tsv dev-v1.1.json --gigabytes 0.5``.

The first bytes of a ``collection.tsv`` are read as they are, and as tables of the same passages, each with a query (its last
five words) and an answer (its second to fourth words). Beside them stand SQuAD's questions in the Hub's columns, each with its
paragraph and its answers, over and over with a number before the texts, until they are as many bytes of JSON lines, which their
other forms count as too, for these pack what is repeated. Every import is a process of its own with one worker. Rates are in MB
(10^6 bytes) of input, unpacked, a processor second, so that other work on the machine counts little. Memory is the peak of what
is anonymous: what the kernel cannot drop.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from itertools import count, islice
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from measuring import Measured, hardware, measured, result_place

MEGA = 1_000_000
POSBIAS = [sys.executable, "-c", "from positionbias.cli.main import main; main()"]
NAMES = ("passage_id", "passage", "query", "answer")
IMPORTS = (  # command, form, input, the file whose bytes are counted
    ("msmarco", "TSV", "collection.tsv", "collection.tsv"),
    ("table", "JSON lines", "test.jsonl", "test.jsonl"),
    ("table", "JSON lines, .gz", "test.jsonl.gz", "test.jsonl"),
    ("table", "JSON lines, .zst", "test.jsonl.zst", "test.jsonl"),
    ("table", "CSV", "test.csv", "test.csv"),
    ("table", "TSV", "test.tsv", "test.tsv"),
    ("table", "Parquet", "test.parquet", "test.parquet"),
    ("hf", "a saved data set", "saved", "saved"),
    ("table", "SQuAD's questions, JSON lines", "questions.jsonl", "questions.jsonl"),
    ("table", "SQuAD's questions, Parquet", "questions.parquet", "questions.jsonl"),
    ("hf", "SQuAD's questions, a saved data set", "questions", "questions.jsonl"),
    ("msmarco", "TSV, again", "collection.tsv", "collection.tsv"),
)


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


def write(collection: Path, size: int, folder: Path) -> None:
    """Write the inputs."""
    with open(folder / "test.jsonl", "w", encoding="utf-8") as handle:
        handle.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows(collection, size))
    with open(folder / "test.jsonl", "rb") as plain, gzip.open(folder / "test.jsonl.gz", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed)
    with open(folder / "test.jsonl", "rb") as plain, open(folder / "test.jsonl.zst", "wb") as packed:
        zstandard.ZstdCompressor().copy_stream(plain, packed)
    with open(folder / "test.csv", "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, NAMES)
        writer.writeheader()
        writer.writerows(rows(collection, size))
    with open(folder / "test.tsv", "w", encoding="utf-8") as handle:
        handle.writelines("\t".join(line) + "\n" for line in (NAMES, *(row.values() for row in rows(collection, size))))
    stream, schema = rows(collection, size), pa.schema([(name, pa.string()) for name in NAMES])
    with pq.ParquetWriter(folder / "test.parquet", schema) as table:
        while batch := list(islice(stream, 50_000)):
            table.write_table(pa.Table.from_pylist(batch, schema=schema))
    datasets.Dataset.from_parquet(str(folder / "test.parquet"), cache_dir=str(folder / "cache")).save_to_disk(folder / "saved")
    with open(folder / "collection.tsv", "w", encoding="utf-8") as handle:
        handle.writelines(f"{row['passage_id']}\t{row['passage']}\n" for row in rows(collection, size))


def write_questions(squad: Path, size: int, folder: Path) -> None:
    """Write SQuAD's questions in the Hub's columns, repeated up to ``size`` bytes of JSON lines."""
    articles = json.loads(squad.read_text(encoding="utf-8"))["data"]
    asked = [(part["context"], one) for article in articles for part in article["paragraphs"] for one in part["qas"]]
    with open(folder / "questions.jsonl", "w", encoding="utf-8") as lines:
        for number in count():
            for context, one in asked:
                before = f"{number} "
                answers = {
                    "text": [answer["text"] for answer in one["answers"]],
                    "answer_start": [answer["answer_start"] + len(before) for answer in one["answers"]],
                }
                row = {
                    "id": f"{number}-{one['id']}",
                    "context": before + context,
                    "question": one["question"],
                    "answers": answers,
                }
                size -= lines.write(f"{json.dumps(row, ensure_ascii=False)}\n")
            if size < 0:
                break
    rows = datasets.Dataset.from_json(str(folder / "questions.jsonl"), cache_dir=str(folder / "cache"))
    rows.to_parquet(folder / "questions.parquet")
    rows.save_to_disk(folder / "questions")


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of a folder's."""
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def run(what: str, path: Path, folder: Path) -> Measured:
    """Import one file in a process of its own."""
    environment = {**os.environ, "POSBIAS_HOME": str(folder / "home")}
    return measured(
        [*POSBIAS, "-q", "import", what, str(path), "--overwrite", "--out", str(folder / "made")],
        environment=environment,
    )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("squad", type=Path)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        size = int(given.gigabytes * 1_000 * MEGA)
        write(given.collection, size, folder)
        write_questions(given.squad, size, folder)
        lines, base = [], 0.0
        for command, form, source, counted in IMPORTS:
            read = size_of(folder / counted) / MEGA
            found = run(command, folder / source, folder)
            base = base or read / found.processor
            columns = (
                f"{read:,.0f} | {found.processor:,.1f} | {read / found.processor:.1f} | {base * found.processor / read:.2f}"
            )
            lines.append(f"| `import {command}`, {form} | {columns} | {found.anonymous / MEGA:,.0f} |")
            print(lines[-1], flush=True)
    load = os.getloadavg()[0]
    result_place("table_import").write_text(
        "# Import of tables\n\n"
        f"{hardware()}; {date.today().isoformat()}; load {load:.1f}.\n\n"
        f"    python benchmarks/table_import.py collection.tsv dev-v1.1.json --gigabytes {given.gigabytes:g}\n\n"
        f"{(__doc__ or '').partition(chr(10) * 2)[2].strip()}\n\n"
        "| import | MB of input | processor seconds | MB a processor second | MS MARCO's rate, times this | MB of memory |\n"
        "|---|---:|---:|---:|---:|---:|\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
