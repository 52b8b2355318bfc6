"""TREC qrels: ``query iteration passage grade``, four columns separated by spaces or tabs, plain or compressed.

Runs in TREC form are ``positionbias.core.run``'s.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from positionbias.core.blocks import file_lines
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import byte_writer
from positionbias.core.publish import atomic_file
from positionbias.core.records import HIGHEST_GRADE, Qrel

__all__ = ["parse_qrels", "read_qrels", "write_qrels"]

_WANTED = "four columns: query iteration passage grade"


def read_qrels(path: Path | str) -> list[Qrel]:
    """Read judgements, in the order of the file; the iteration column is not used.

    Raises:
        InputError: a malformed line (numbered), a pair judged twice, an empty or broken file.
    """
    path = Path(path)
    return parse_qrels(file_lines(path), path)


def parse_qrels(lines: Iterable[tuple[int, str]], source: Path | str) -> list[Qrel]:
    """Parse numbered lines as ``read_qrels`` does; messages name ``source``."""
    qrels: list[Qrel] = []
    numbers, pairs = array("q"), array("q")
    for number, line in lines:
        line = line.removeprefix("\ufeff") if number == 1 else line
        if line.strip():
            qrels.append(_parse(source, number, line))
            numbers.append(number)
            pairs.append(hash(qrels[-1][:2]))
    if not qrels:
        raise bad_input(source, wanted=_WANTED, found="an empty file", do="check the path")
    # sorted hashes take 8 bytes a line; a table of 19 million pairs would take gigabytes
    hashes = np.sort(np.frombuffer(pairs, np.int64))
    if (hashes[1:] == hashes[:-1]).any():
        _refuse_repeated(source, qrels, numbers)
    return qrels


def _refuse_repeated(source: Path | str, qrels: Sequence[Qrel], numbers: Sequence[int]) -> None:
    first_line: dict[tuple[str, str], int] = {}
    for qrel, number in zip(qrels, numbers, strict=True):
        earlier = first_line.setdefault(qrel[:2], number)
        if earlier != number:
            raise bad_input(
                source,
                line=number,
                wanted="each pair judged once",
                found=f"passage {qrel.passage_id!r} of query {qrel.query_id!r} again, first at line {earlier}",
                do="drop one of the lines",
            )


def _parse(path: Path | str, number: int, line: str) -> Qrel:
    parts = line.split()
    if len(parts) != 4:
        raise bad_input(path, line=number, wanted=_WANTED, found=f"{len(parts)} columns", do="fix or drop the line")
    try:
        grade = int(parts[3])
    except ValueError:
        grade = HIGHEST_GRADE + 1
    if abs(grade) > HIGHEST_GRADE:
        wanted = f"a whole number up to {HIGHEST_GRADE:,} as grade"
        raise bad_input(path, line=number, wanted=wanted, found=repr(parts[3]), do="fix or drop the line")
    return Qrel(parts[0], parts[2], grade)


def write_qrels(path: Path | str, qrels: Iterable[Qrel], *, overwrite: bool = False, separator: str = " ") -> None:
    """Write judgements with iteration 0, gzipped if the name ends in ``.gz``. MS MARCO's ``separator`` is a tab.

    Raises:
        InputError: an id that is empty or has a space, which this form cannot express.
        OutputExistsError: ``path`` exists and ``overwrite`` is false.
    """
    path = Path(path)
    with atomic_file(path, overwrite=overwrite) as partial, byte_writer(partial, compress=path.suffix == ".gz") as raw:
        for qrel in qrels:
            for item in (qrel.query_id, qrel.passage_id):
                if item.split() != [item]:
                    raise InputError(f"{path}: wanted ids without spaces; found {item!r}; rename it in the collection")
            raw.write(separator.join((qrel.query_id, "0", qrel.passage_id, f"{qrel.grade}\n")).encode())
