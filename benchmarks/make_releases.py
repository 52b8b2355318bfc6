"""ORCAS and MS MARCO QA v2.1 at full size in their published layouts, from invented words: ``python benchmarks/make_releases.py orcas FILE``.

- ``orcas``: orcas.tsv with 10,405,342 queries and 18,823,602 clicks on 1,422,029 documents; the clicks of a query follow one another, but for one in 50.
- ``qa``: a column-oriented file of 808,731 rows with ten passages of 40 to 80 words, one of them selected in 62 % of the rows, where it
  has one answer.

Only the counts of rows, queries and documents are those of the data sets. ``--share`` makes a part of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from positionbias.core.seeds import generator

QUERIES, CLICKS, DOCUMENTS, ROWS = 10_405_342, 18_823_602, 1_422_029, 808_731
BATCH = 20_000
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"
WORDS = [a + b + c + d for a in CONSONANTS for b in VOWELS for c in CONSONANTS for d in ("na", "ro", "li", "x", "m")]
PASSAGES, ANSWERED = 10, 0.62


def write_orcas(out: IO[str], share: float) -> None:
    """Write the clicks, queries numbered in an order of their own."""
    queries, clicks = int(QUERIES * share), int(CLICKS * share)
    random = generator(1, "orcas of invented words")
    ids = random.permutation(queries)
    clicked = np.sort(np.concatenate([np.arange(queries), random.integers(queries, size=clicks - queries)]))
    moved = random.random(clicks) < 0.02
    clicked[moved] = random.permutation(clicked[moved])
    documents = random.permutation(clicks) % max(1, int(DOCUMENTS * share))
    for start in range(0, clicks, BATCH):
        lines = []
        for query, document in zip(
            ids[clicked[start : start + BATCH]].tolist(), documents[start : start + BATCH].tolist(), strict=True
        ):
            text = " ".join(WORDS[(query * factor + factor) % len(WORDS)] for factor in (7, 11, 13)) + f" {query}"
            lines.append(f"{query + 1_000_000}\t{text}\tD{document}\thttps://invented.example/{document}/page\n")
        out.writelines(lines)


def write_qa(out: IO[str], share: float) -> None:
    """Write the columns one after another; each draws its rows again."""
    rows = int(ROWS * share)
    columns: dict[str, Callable[[int], Iterator[object]]] = {
        "answers": _answers,
        "passages": _passages,
        "query": lambda rows: (f"what does {row} {WORDS[row % len(WORDS)]} do" for row in range(rows)),
        "query_id": lambda rows: iter(range(1_000_000, 1_000_000 + rows)),
        "query_type": lambda rows: (("DESCRIPTION", "NUMERIC", "ENTITY")[row % 3] for row in range(rows)),
        "wellFormedAnswers": lambda rows: ("[]" for _ in range(rows)),
    }
    for number, (name, values) in enumerate(columns.items()):
        out.write(("," if number else "{") + json.dumps(name) + ":{")
        for row, value in enumerate(values(rows)):
            out.write(("," if row else "") + f'"{row}":' + json.dumps(value))
        out.write("}")
    out.write("}")


def _selected(rows: int) -> list[int]:
    random = generator(1, "selected passages of invented words")
    return np.where(random.random(rows) < ANSWERED, random.integers(PASSAGES, size=rows), -1).tolist()


def _answers(rows: int) -> Iterator[list[str]]:
    for row, selected in enumerate(_selected(rows)):
        yield [f"the {WORDS[row % len(WORDS)]} {row}"] if selected >= 0 else ["No Answer Present."]


def _passages(rows: int) -> Iterator[list[dict[str, object]]]:
    random = generator(1, "passages of invented words")
    text = [WORDS[place] for place in random.integers(len(WORDS), size=1_000_000)]
    for row, selected in enumerate(_selected(rows)):
        starts = random.integers(len(text) - 80, size=PASSAGES).tolist()
        yield [
            {
                "is_selected": int(place == selected),
                "passage_text": f"The {WORDS[row % len(WORDS)]} {row}: "
                + " ".join(text[start : start + 40 + start % 41])
                + ".",
                "url": f"https://invented.example/{row}/{place}",
            }
            for place, start in enumerate(starts)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("release", choices=["orcas", "qa"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="the share of the rows to write")
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    with open(given.file, "w", encoding="utf-8", newline="\n") as out:
        {"orcas": write_orcas, "qa": write_qa}[given.release](out, given.share)


if __name__ == "__main__":
    main()
