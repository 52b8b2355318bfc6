"""ORCAS and MS MARCO QA v2.1 at full size in their published layouts, from invented words: ``python benchmarks/make_releases.py orcas FILE``.

- ``orcas``: orcas.tsv with 10,405,342 queries and 18,823,602 clicks on 1,422,029 documents; the clicks of a query follow one another, but for one in 50.
- ``orcas-trec``: a folder with the same queries and clicks in TREC's form: orcas-doctrain-queries.tsv and orcas-doctrain-qrels.tsv.
- ``docs``: a folder with msmarco-docs.tsv, 3,213,835 documents of 20 to 60 words (the published ones have about 1,100), which the clicks know, and
  msmarco-doctrain-queries.tsv and -qrels.tsv, 367,013 lines each.
- ``qa``: a column-oriented file of 808,731 rows with ten passages of 40 to 80 words, one of them selected in 62 % of the rows, where it
  has one answer.

Only the counts of rows, queries and documents are those of the data sets. ``--share`` makes a part of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from positionbias.core.seeds import generator

QUERIES, CLICKS, DOCUMENTS, ROWS = 10_405_342, 18_823_602, 1_422_029, 808_731
ALL_DOCUMENTS, TRAINING = 3_213_835, 367_013
FIRST = 1_000_000  # the smallest id of a query
BATCH = 20_000
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprstvz"
WORDS = [a + b + c + d for a in CONSONANTS for b in VOWELS for c in CONSONANTS for d in ("na", "ro", "li", "x", "m")]
PASSAGES, ANSWERED = 10, 0.62


def write_orcas(out: IO[str], share: float) -> None:
    """Write the clicks, queries numbered in an order of their own."""
    for clicks in _clicks(share):
        out.writelines(
            f"{query}\t{text}\tD{document}\thttps://invented.example/{document}/page\n" for query, text, document in clicks
        )


def write_orcas_trec(folder: Path, share: float) -> None:
    """Write queries in the order of their first clicks, and judgements in the order of clicks, each pair once."""
    with _files(folder, "orcas-doctrain-queries.tsv", "orcas-doctrain-qrels.tsv") as (queries, qrels):
        seen, judged = np.zeros(int(QUERIES * share), bool), set[int]()
        for clicks in _clicks(share):
            for query, text, document in clicks:
                if not seen[query - FIRST]:
                    seen[query - FIRST] = True
                    queries.write(f"{query}\t{text}\n")
                if (pair := query << 32 | document) not in judged:
                    judged.add(pair)
                    qrels.write(f"{query} 0 D{document} 1\n")


def _clicks(share: float) -> Iterator[list[tuple[int, str, int]]]:
    """Yield batches of query id, text and number of the document."""
    queries, clicks = int(QUERIES * share), int(CLICKS * share)
    random = generator(1, "orcas of invented words")
    ids = random.permutation(queries)
    clicked = np.sort(np.concatenate([np.arange(queries), random.integers(queries, size=clicks - queries)]))
    moved = random.random(clicks) < 0.02
    clicked[moved] = random.permutation(clicked[moved])
    documents = random.permutation(clicks) % max(1, int(DOCUMENTS * share))
    for start in range(0, clicks, BATCH):
        part = slice(start, start + BATCH)
        pairs = zip(ids[clicked[part]].tolist(), documents[part].tolist(), strict=True)
        yield [(query + FIRST, _query(query), document) for query, document in pairs]


def _query(number: int) -> str:
    return " ".join(WORDS[(number * factor + factor) % len(WORDS)] for factor in (7, 11, 13)) + f" {number}"


def write_docs(folder: Path, share: float) -> None:
    """Write documents and one judged query each for some of them."""
    random = generator(1, "documents of invented words")
    text = [WORDS[place] for place in random.integers(len(WORDS), size=1_000_000)]
    count, training = int(ALL_DOCUMENTS * share), int(TRAINING * share)
    names = "msmarco-docs.tsv", "msmarco-doctrain-queries.tsv", "msmarco-doctrain-qrels.tsv"
    with _files(folder, *names) as (documents, queries, qrels):
        for start in range(0, count, BATCH):
            starts = random.integers(len(text) - 60, size=min(BATCH, count - start)).tolist()
            documents.writelines(
                f"D{document}\thttps://invented.example/{document}/page\tThe page {document}\t"
                + " ".join(text[place : place + 20 + place % 41])
                + ".\n"
                for document, place in enumerate(starts, start)
            )
        for query in range(training):
            queries.write(f"{query}\t{_query(query)}\n")
            qrels.write(f"{query} 0 D{query * 7 % count} 1\n")


@contextmanager
def _files(folder: Path, *names: str) -> Iterator[list[IO[str]]]:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        yield [stack.enter_context(open(folder / name, "w", encoding="utf-8", newline="\n")) for name in names]


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
    parser.add_argument("release", choices=["orcas", "orcas-trec", "docs", "qa"])
    parser.add_argument("place", type=Path, help="the file, or the folder of several")
    parser.add_argument("--share", type=float, default=1.0, help="the share of the rows to write")
    given = parser.parse_args()
    if given.release in ("orcas-trec", "docs"):
        {"orcas-trec": write_orcas_trec, "docs": write_docs}[given.release](given.place, given.share)
        return
    given.place.parent.mkdir(parents=True, exist_ok=True)
    with open(given.place, "w", encoding="utf-8", newline="\n") as out:
        {"orcas": write_orcas, "qa": write_qa}[given.release](out, given.share)


if __name__ == "__main__":
    main()
