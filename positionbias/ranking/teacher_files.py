"""Read an outside teacher's scores from a file: a commercial model's ranking, or published scores.

    query Q0 passage rank score tag                          a TREC run
    query passage score                                      a table
    positive_score negative_score query positive negative    margins, as published for distillation

Columns are separated by tabs or spaces; the number of columns in the first line identifies the
layout. Plain, ``.gz`` or ``.zst``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.blocks import file_lines
from positionbias.core.errors import bad_input
from positionbias.core.rank_order import Ranking, order_by_score

RUN, TABLE, MARGINS = 6, 3, 5  # columns
_WANTED = (
    "six columns (query Q0 passage rank score tag), three (query passage score) or five "
    "(positive_score negative_score query positive negative)"
)
_MOST = float(np.finfo(np.float32).max)
_SPILL_BYTES = 16 << 20  # of a file held at once: some 250 MB in memory
_MOST_SPILLS = 256  # files open at once


class ScoredPair(NamedTuple):
    """A pair with its score and its line, from 1."""

    line: int
    query_id: str
    passage_id: str
    score: float


@dataclass
class Repeats:
    """Pairs that recur in margins with another score: their number and largest difference. The
    first score is kept [decision].
    """

    differing: int = 0
    largest: float = 0.0

    def count(self, first: float, again: float) -> None:
        """Count a further score of a pair."""
        if first != again:
            self.differing, self.largest = self.differing + 1, max(self.largest, abs(first - again))


def teacher_name(path: Path) -> str:
    """Return an outside teacher's name: its file's name without suffixes."""
    return path.name.split(".")[0] or path.name


def scored_pairs(path: Path | str) -> Iterator[tuple[int, ScoredPair]]:
    """Yield (columns, pair) for every pair in the file, in order; a line of margins gives two.

    Raises:
        InputError: an empty file; a line with another number of columns than the first, or a score
            that is not finite (numbered).
    """
    path = Path(path)
    columns = 0
    for number, line in file_lines(path):
        parts = line.split()
        if not parts:
            continue
        if not columns and len(parts) not in (RUN, TABLE, MARGINS):
            do = "check that it is a file of scores"
            raise bad_input(path, line=number, wanted=_WANTED, found=f"{len(parts)} columns", do=do)
        columns = columns or len(parts)
        if len(parts) != columns:
            wanted, found = f"{columns} columns, as in the lines before", f"{len(parts)} columns"
            raise bad_input(
                path, line=number, wanted=wanted, found=found, do="fix or drop the line"
            )
        if columns == MARGINS:
            yield columns, ScoredPair(number, parts[2], parts[3], _score(path, number, parts[0]))
            yield columns, ScoredPair(number, parts[2], parts[4], _score(path, number, parts[1]))
        else:
            passage, score = (parts[2], parts[4]) if columns == RUN else (parts[1], parts[2])
            yield columns, ScoredPair(number, parts[0], passage, _score(path, number, score))
    if not columns:
        raise bad_input(path, wanted=_WANTED, found="an empty file", do="check the path")


def _score(path: Path, number: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not abs(score) <= _MOST:
        raise bad_input(
            path, line=number, wanted="a finite score", found=repr(text), do="fix or drop the line"
        )
    return score


def read_teacher_file(path: Path | str) -> list[Ranking]:
    """Read all rankings of the file, best first, into memory.

    Raises:
        InputError: as ``scored_pairs``; a repeated pair, except in margins.
    """
    return _part(scored_pairs(path), Path(path), Repeats()).rankings


@dataclass(frozen=True)
class TeacherPart:
    """Some of a file's queries with all their passages, best first; ``scored`` has each pair's
    score and line, by query and passage id.
    """

    rankings: list[Ranking]
    scored: dict[str, dict[str, tuple[float, int]]]

    def line(self, query_id: str, passage_id: str) -> int:
        """Return the first line of the pair in the file."""
        return self.scored[query_id][passage_id][1]


def spilled_parts(path: Path, folder: Path, repeats: Repeats) -> Iterator[TeacherPart]:
    """Yield the whole file in parts; ``folder`` has room for a copy of it.

    Lines are first split by query into files of about 16 MB, so that margins in any order are
    joined without holding them all.

    Raises:
        InputError: as ``read_teacher_file``.
    """
    size = path.stat().st_size * (8 if path.suffix in (".gz", ".zst") else 1)
    spills = [
        folder / f"{number:03d}.tsv"
        for number in range(min(_MOST_SPILLS, 1 + size // _SPILL_BYTES))
    ]
    with ExitStack() as stack:
        handles = [
            stack.enter_context(open(spill, "w", encoding="utf-8", newline="\n"))
            for spill in spills
        ]
        for columns, pair in scored_pairs(path):
            handle = handles[zlib.crc32(pair.query_id.encode()) % len(handles)]
            handle.write(
                f"{columns} {pair.line} {pair.query_id} {pair.passage_id} {pair.score!r}\n"
            )
    for spill in spills:
        with open(spill, encoding="utf-8") as lines:
            yield _part(map(_spilled, lines), path, repeats)


def _spilled(line: str) -> tuple[int, ScoredPair]:
    columns, number, query_id, passage_id, score = line.split()
    return int(columns), ScoredPair(int(number), query_id, passage_id, float(score))


def _part(pairs: Iterable[tuple[int, ScoredPair]], path: Path, repeats: Repeats) -> TeacherPart:
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for columns, (line, query_id, passage_id, score) in pairs:
        known, earlier = found.setdefault(query_id, {}).setdefault(passage_id, (score, line))
        if columns == MARGINS:
            repeats.count(known, score)
        elif earlier != line:
            raise bad_input(
                path,
                line=line,
                wanted="each pair once",
                found=(
                    f"passage {passage_id!r} of query {query_id!r} again, first at line {earlier}"
                ),
                do="drop one of the lines",
            )
    return TeacherPart([_ranking(query_id, scored) for query_id, scored in found.items()], found)


def _ranking(query_id: str, scored: dict[str, tuple[float, int]]) -> Ranking:
    passage_ids, values = (
        list(scored),
        np.fromiter((score for score, _ in scored.values()), np.float32, len(scored)),
    )
    order = order_by_score(passage_ids, values)
    return Ranking(query_id, [passage_ids[place] for place in order], values[order])
