"""TREC qrels: ``query iteration passage grade``, four columns parted by spaces or tabs, plain or compressed.

Runs in TREC form are ``positionbias.core.run``'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import atomic_file, byte_writer, input_errors, open_text
from positionbias.core.records import Qrel

__all__ = ["read_qrels", "write_qrels"]

_WANTED = "four columns: query iteration passage grade"


def read_qrels(path: Path | str) -> list[Qrel]:
    """Read judgements, in the order of the file; the iteration column is not used.

    Raises:
        InputError: a malformed line (numbered), a pair judged twice, an empty or broken file.
    """
    path = Path(path)
    first_line: dict[tuple[str, str], int] = {}
    qrels: list[Qrel] = []
    with input_errors(path, wanted="TREC qrels"), open_text(path) as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            qrel = _parse(path, number, line)
            earlier = first_line.setdefault((qrel.query_id, qrel.passage_id), number)
            if earlier != number:
                raise bad_input(
                    path,
                    line=number,
                    wanted="each pair judged once",
                    found=f"passage {qrel.passage_id!r} of query {qrel.query_id!r} again, first at line {earlier}",
                    do="drop one of the lines",
                )
            qrels.append(qrel)
    if not qrels:
        raise bad_input(path, wanted=_WANTED, found="an empty file", do="check the path")
    return qrels


def _parse(path: Path, number: int, line: str) -> Qrel:
    parts = line.split()
    if len(parts) != 4:
        raise bad_input(path, line=number, wanted=_WANTED, found=f"{len(parts)} columns", do="mend or drop the line")
    try:
        return Qrel(parts[0], parts[2], int(parts[3]))
    except ValueError:
        raise bad_input(
            path, line=number, wanted="a whole number as grade", found=repr(parts[3]), do="mend or drop the line"
        ) from None


def write_qrels(path: Path | str, qrels: Iterable[Qrel], *, overwrite: bool = False) -> None:
    """Write judgements with iteration 0; ``.gz`` by its ending.

    Raises:
        InputError: an id that is empty or holds a space, which this form cannot carry.
        OutputExistsError: ``path`` exists and ``overwrite`` is false.
    """
    path = Path(path)
    with atomic_file(path, overwrite=overwrite) as partial, byte_writer(partial, compress=path.suffix == ".gz") as raw:
        for qrel in qrels:
            for item in (qrel.query_id, qrel.passage_id):
                if item.split() != [item]:
                    raise InputError(f"{path}: wanted ids without spaces; found {item!r}; rename it in the collection")
            raw.write(f"{qrel.query_id} 0 {qrel.passage_id} {qrel.grade}\n".encode())
