"""A corpus of MS MARCO's size from invented words: ``python benchmarks/make_corpus.py FOLDER``.

Writes ``collection.tsv``, ``queries.train.tsv`` and ``qrels.train.tsv`` in MS MARCO's layout, and
``corpus.json`` with the law and what came out. No word, length or rate is taken from a data set:
words are spelled by a rule, and all else follows the law below.

- Word r of V is drawn with probability ln((r + 1) / r) / ln(V + 1), which is Zipf's law with
  exponent 1.
- Every passage has three words of its own subject; each of its other words is replaced by one of
  them with probability 0.12.
- A passage has round(exp(N(ln 56 − 0.42² / 2, 0.42²))) words, 4 to 400: log-normal with mean 56.
- After a word a sentence ends with probability 1/14 (and after the last), a comma stands with
  probability 0.06, a semicolon or colon with 0.01.
- Sentences start with a capital, as does any other word with probability 0.05.
- Of the words from rank 50 on, 3 % are numbers and 4.5 % accented, Greek, Cyrillic or kana. Three
  words in ten have an ending: a consonant, rarely a possessive, a hyphen, or an apostrophe that was
  encoded twice.

Shards of 32,768 passages are drawn by generators keyed by (seed, shard), so any number of workers
writes the same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.publish import atomic_file
from positionbias.core.seeds import generator
from positionbias.engine.local import map_shards

SHARD = 32_768
MEAN_WORDS, SPREAD, FEWEST, MOST = 56, 0.42, 4, 400
SENTENCE_END, COMMA, COLON, NAME = 1 / 14, 0.06, 0.01, 0.05
SUBJECT_WORDS, SUBJECT_RATE, SUBJECT_FROM = 3, 0.12, 300
COMMON = 50  # words before this rank are plain
PER_THOUSAND = {"number": 30, "accented": 25, "greek": 5, "cyrillic": 8, "kana": 7}
SEPARATORS = (" ", ", ", "; ", ": ", ". ", "? ", "! ", ".\n")
END = len(SEPARATORS) - 1

ONSETS = "b d f g h j k l m n p r s t v w y z th tr".split()
VOWELS = "a e i o u".split()


@dataclass(frozen=True)
class Corpus:
    """What decides the bytes."""

    passages: int = 8_841_823
    queries: int = 10_000
    words: int = 2_000_000
    seed: int = 1


class Vocabulary(NamedTuple):
    """All words, then all words with a capital, then the separators."""

    pieces: pa.Array
    size: int


class Made(NamedTuple):
    """What came of one shard; ``seen`` is a bit for every word of the vocabulary."""

    data: bytes
    queries: list[tuple[int, int, str]]
    words: int
    seen: np.ndarray
    peak_kib: int


def syllables() -> dict[str, list[str]]:
    """The syllables of each script; a word is read back from them in one way only, so that words
    are distinct.
    """
    plain = [onset + vowel for vowel in VOWELS for onset in ONSETS]
    consonants = [c for c in ONSETS if len(c) == 1]
    return {
        "plain": plain,
        "number": list("0123456789"),
        "accented": [c + v for v in "éüåø" for c in consonants],
        "greek": [c + v for v in "αειου" for c in "βγδκλμνπρσ"],
        "cyrillic": [c + v for v in "аеиоу" for c in "бвгдклмнпр"],
        "kana": [chr(c) for c in range(0x30AB, 0x30CB)],
    }


ENDINGS = {  # three words in ten have one of these, each entry equally often
    "plain": [*"nnnnnnnsssssssrrrrrrlllttt", "nd", "nd", "'s", "'s", "-on", "\u00e2\u20ac\u2122s"],
    "number": [".5", "%", ",000", "th"],
}


@lru_cache(maxsize=1)
def vocabulary(size: int) -> Vocabulary:
    """Words 1 … ``size``: rank r in each script's syllables as digits (bijective, so that every
    rank has its own), with an ending or none.
    """
    ranks = np.arange(1, size + 1, dtype=np.int64)
    draw = (ranks * 2_654_435_761 % 4_294_967_296) >> 12  # a fixed hash of the rank
    bounds = np.cumsum(list(PER_THOUSAND.values()))
    script = np.where(
        ranks < COMMON, len(bounds), np.searchsorted(bounds, draw % 1000, side="right")
    )
    names = [*PER_THOUSAND, "plain"]
    parts: list[str] = [""]
    table = np.zeros(
        (size, 2 + max(_digits_needed(size, len(units)) for units in syllables().values())),
        np.int16,
    )
    for number, name in enumerate(names):
        units, endings = syllables()[name], ENDINGS.get(name, [])
        rows = np.flatnonzero(script == number)
        _spell(table, rows, ranks[rows], len(units), len(parts))
        parts += units
        if endings:
            ended = rows[(draw[rows] // 1000) % 10 < 3]
            table[ended, -1] = len(parts) + (draw[ended] // 10_000) % len(endings)
            parts += endings
    capitals = [part[:1].upper() + part[1:] for part in parts]
    lower = _joined(parts, table)
    table[:, 0] += len(parts)
    upper = _joined([*parts, *capitals], table)
    return Vocabulary(
        pa.concat_arrays([lower, upper, pa.array([s.encode() for s in SEPARATORS], pa.binary())]),
        size,
    )


def _digits_needed(size: int, base: int) -> int:
    return math.ceil(math.log(size + 1, base)) + 1


def _spell(
    table: np.ndarray, rows: np.ndarray, ranks: np.ndarray, base: int, first_part: int
) -> None:
    """Write the bijective digits of ``ranks`` into ``table``, most significant first,
    left-aligned.
    """
    length, start = 1, 1
    while len(rows):
        here = ranks < start + base**length
        rest = ranks[here] - start
        for place in range(length - 1, -1, -1):
            table[rows[here], place] = first_part + rest % base
            rest //= base
        start += base**length
        length += 1
        rows, ranks = rows[~here], ranks[~here]


def _joined(parts: Sequence[str], table: np.ndarray) -> pa.Array:
    """Row by row the parts put together, as one binary array."""
    spelled = pa.array([part.encode() for part in parts], pa.binary())
    joined = []
    for rows in np.array_split(table, max(1, len(table) // SHARD)):
        taken = spelled.take(pa.array(rows.ravel()))
        offsets = np.frombuffer(taken.buffers()[1], np.int32)[
            : rows.size + 1 : rows.shape[1]
        ].copy()
        joined.append(
            pa.Array.from_buffers(
                pa.binary(), len(rows), [None, pa.py_buffer(offsets), taken.buffers()[2]]
            )
        )
    return pa.concat_arrays(joined)


def zipf(random: np.random.Generator, count: int, size: int, first: int = 1) -> np.ndarray:
    """Ranks less 1, ``(count,)`` int32: rank r from ``first`` to ``size`` with weight ln((r + 1) /
    r).
    """
    low = math.log(first)
    logs = random.random(count) * (math.log(size + 1) - low) + low
    return np.minimum(np.exp(logs, out=logs).astype(np.int32), size) - 1


def make_shard(corpus: Corpus, shard: int) -> Made:
    """The lines of passages ``shard`` · 32,768 …, and the queries drawn from them."""
    random = generator(corpus.seed, "benchmark corpus", shard)
    ids = range(shard * SHARD, min((shard + 1) * SHARD, corpus.passages))
    lengths = np.exp(random.normal(math.log(MEAN_WORDS) - SPREAD**2 / 2, SPREAD, len(ids)))
    lengths = np.clip(np.rint(lengths), FEWEST, MOST).astype(np.int64)
    ends = np.cumsum(lengths)
    owner = np.repeat(np.arange(len(ids)), lengths)
    words = zipf(random, len(owner), corpus.words)
    subjects = zipf(random, len(ids) * SUBJECT_WORDS, corpus.words, SUBJECT_FROM).reshape(
        -1, SUBJECT_WORDS
    )
    replaced = np.flatnonzero(random.random(len(words), np.float32) < SUBJECT_RATE)
    words[replaced] = subjects[owner[replaced], random.integers(SUBJECT_WORDS, size=len(replaced))]
    seen = np.zeros(corpus.words, bool)
    seen[words] = True

    mark = random.random(len(words), np.float32)
    separator = np.zeros(len(words), np.int32)
    for rate, index in ((COMMA + COLON, 3), (COMMA + COLON / 2, 2), (COMMA, 1), (0, 4)):
        separator[mark < SENTENCE_END + rate] = index
    separator[mark < SENTENCE_END * 0.06] = 5  # ? and !
    separator[mark < SENTENCE_END * 0.01] = 6
    separator[ends - 1] = END
    capital = random.random(len(words), np.float32) < NAME
    capital[1:] |= separator[:-1] >= 4
    capital[0] = True

    spelled = vocabulary(corpus.words)
    names = pa.array([f"{item}\t".encode() for item in ids], pa.binary())
    order = np.empty(len(ids) + 2 * len(words), np.int32)
    order[2 * (ends - lengths) + np.arange(len(ids))] = (
        2 * spelled.size + len(SEPARATORS) + np.arange(len(ids))
    )
    places = 2 * np.arange(len(words)) + owner + 1
    order[places] = words + spelled.size * capital
    order[places + 1] = 2 * spelled.size + separator
    lines = pa.concat_arrays([spelled.pieces, names]).take(pa.array(order))
    data = lines.buffers()[2].to_pybytes()
    return Made(
        data,
        _queries(corpus, random, ids, words, subjects, ends, lengths),
        len(words),
        np.packbits(seen),
        _peak_kib(),
    )


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _queries(
    corpus: Corpus,
    random: np.random.Generator,
    ids: range,
    words: np.ndarray,
    subjects: np.ndarray,
    ends: np.ndarray,
    lengths: np.ndarray,
) -> list[tuple[int, int, str]]:
    """(query id, passage id, text): a passage's subject words and one to four others of its words,
    in lower case.
    """
    spelled = vocabulary(corpus.words).pieces
    bounds = [place * corpus.queries // corpus.passages for place in (ids.start, ids.stop)]
    chosen = np.sort(random.choice(len(ids), min(bounds[1] - bounds[0], len(ids)), replace=False))
    rows = []
    for number, row in enumerate(chosen.tolist(), bounds[0]):
        own = words[ends[row] - lengths[row] : ends[row]]
        subject = subjects[row][np.isin(subjects[row], own)]
        others = own[random.integers(len(own), size=random.integers(1, 5))]
        picked = random.permutation(
            np.concatenate([subject[: random.integers(1, SUBJECT_WORDS + 1)], others])
        )
        text = b" ".join(spelled.take(pa.array(picked)).to_pylist()).decode()
        rows.append((1_000_000 + number, ids[row], text))
    return rows


def make_corpus(
    folder: Path, corpus: Corpus, workers: int = 1, *, overwrite: bool = False
) -> dict[str, object]:
    """Write the files; what came out (counts, mean length), as ``corpus.json`` says it."""
    begun = time.perf_counter()
    shards = range(math.ceil(corpus.passages / SHARD))
    total_bytes, total_words, peak, seen = 0, 0, 0, np.zeros((corpus.words + 7) // 8, np.uint8)
    queries: list[tuple[int, int, str]] = []
    with (
        atomic_file(folder / "collection.tsv", overwrite=overwrite) as partial_file,
        open(partial_file, "wb") as out,
    ):
        for made in map_shards(partial(make_shard, corpus), shards, workers):
            out.write(made.data)
            total_bytes += len(made.data)
            total_words += made.words
            seen |= made.seen
            queries += made.queries
            peak = max(peak, made.peak_kib)
    with atomic_file(folder / "queries.train.tsv", overwrite=overwrite) as place:
        place.write_text(
            "".join(f"{query}\t{text}\n" for query, _, text in queries), encoding="utf-8"
        )
    with atomic_file(folder / "qrels.train.tsv", overwrite=overwrite) as place:
        place.write_text(
            "".join(f"{query}\t0\t{passage}\t1\n" for query, passage, _ in queries),
            encoding="utf-8",
        )
    facts: dict[str, object] = {
        "settings": asdict(corpus),
        "law": [
            " ".join(rule.split())
            for rule in (__doc__ or "").split("\n\n")[2].removeprefix("- ").split("\n- ")
        ],
        "bytes": total_bytes,
        "mean_bytes_a_line": round(total_bytes / corpus.passages, 2),
        "mean_words": round(total_words / corpus.passages, 2),
        "distinct_words": int(np.unpackbits(seen).sum()),
    }
    with atomic_file(folder / "corpus.json", overwrite=overwrite) as place:
        place.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    memory = {"parent": _peak_kib() >> 10, "largest_worker": peak >> 10}
    return {
        **facts,
        "seconds": round(time.perf_counter() - begun, 1),
        "workers": workers,
        "peak_mib": memory,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=" ".join((__doc__ or "").partition("\n\n")[0].split())
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=Corpus.passages)
    parser.add_argument("--queries", type=int, default=Corpus.queries)
    parser.add_argument("--words", type=int, default=Corpus.words, help="size of the vocabulary")
    parser.add_argument("--seed", type=int, default=Corpus.seed)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args()
    corpus = Corpus(given.passages, given.queries, given.words, given.seed)
    facts = make_corpus(given.folder, corpus, given.workers, overwrite=given.overwrite)
    print(json.dumps(facts, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
