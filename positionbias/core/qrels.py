"""Read and write judgements: TREC's four columns ``query iteration passage grade``, BEIR's three,
and forms of other packages.

Columns are separated by spaces or tabs, files plain or compressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from positionbias.core.blocks import file_lines
from positionbias.core.errors import bad_input
from positionbias.core.exchange import (
    Form,
    Rows,
    frame_rows,
    in_form,
    ir_measures_library,
    mapping_rows,
    write_columns,
)
from positionbias.core.places import Place, input_place, output_place
from positionbias.core.records import HIGHEST_GRADE, Qrel

if TYPE_CHECKING:
    import ir_measures


BEIR_HEADER = ("query-id", "corpus-id", "score")


_TREC: tuple[str, ...] = ("query", "iteration", "passage", "grade")


class Qrels(list[Qrel]):
    """Judgements as a list of ``Qrel`` records, from those or from ``{query: {passage: grade}}``.

    ``Collection.qrels`` returns those of a split. ir_measures accepts them as a data frame (it
    reads ``columns`` and ``itertuples``).

    Raises:
        InputError: an id that is not a text or whole number, a grade that is not a whole number, or
            records of another type.

    Example:
        >>> import positionbias as pb
        >>> pb.Qrels({"q1": {"p1": 1, "p2": 0}})[0]
        Qrel(query_id='q1', passage_id='p1', grade=1)
        >>> import ir_measures
        >>> qrels = pb.Collection("planted").qrels("test")
        >>> qrels
        Qrels(18 queries, 76 judgements)
        >>> ir_measures.calc_aggregate(
        ...     [ir_measures.RR @ 10], qrels, pb.Run.from_file("test.run")
        ... )
        {RR@10: 0.777...}
    """

    columns = ("query_id", "doc_id", "relevance")

    def __init__(
        self, judgements: Iterable[Qrel] | Mapping[str, Mapping[str, int]] = (), /
    ) -> None:
        if isinstance(judgements, Mapping):
            judgements = _qrels_of(mapping_rows(judgements, "grade", "Qrels"), "Qrels")
        if not isinstance(judgements, Iterable):
            wanted, found = "records of Qrel, or {query: {passage: grade}}", type(judgements)
            raise bad_input("Qrels", wanted=wanted, found=found.__name__, do="give these")
        super().__init__(judgements)
        if others := {*map(type, self)} - {Qrel}:
            found, do = f"records of {others.pop().__name__}", "use from_frame or from_file"
            raise bad_input("Qrels", wanted="records of Qrel", found=found, do=do)

    def __repr__(self) -> str:
        return f"Qrels({len({qrel.query_id for qrel in self}):,} queries, {len(self):,} judgements)"

    @classmethod
    def from_file(cls, path: Place) -> Qrels:
        """Read a file in TREC's form, or in BEIR's with its header, in its order; also looked up
        under ``$POSBIAS_HOME``. The iteration column is not used.

        Raises:
            InputError: a malformed line (numbered), a pair judged twice, an empty or broken file.

        Example:
            >>> import positionbias as pb
            >>> pb.Qrels.from_file("beir/qrels/test.tsv")
            Qrels(18 queries, 76 judgements)
        """
        place = input_place(path)
        return cls(parse_qrels(file_lines(place), place))

    @classmethod
    def from_frame(cls, frame: pandas.DataFrame) -> Qrels:
        """Make judgements of a pandas data frame with the columns of PyTerrier (qid, docno, label),
        ir_measures (query_id, doc_id, relevance) or ours; ir_measures' records are
        ``pandas.DataFrame(records)``.

        Raises:
            InputError: a missing column, a pair judged twice, and as ``Qrels``.

        Example:
            >>> import pandas, positionbias as pb
            >>> pb.Qrels.from_frame(
            ...     pandas.DataFrame({"qid": ["q1"], "docno": ["p1"], "label": [1]})
            ... ).to_dict()
            {'q1': {'p1': 1}}
        """
        source = "Qrels.from_frame"
        return cls(_qrels_of(frame_rows(frame, "grade", source), source))

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return ``{query: {passage: grade}}``."""
        grades: dict[str, dict[str, int]] = {}
        for qrel in self:
            grades.setdefault(qrel.query_id, {})[qrel.passage_id] = qrel.grade
        return grades

    def to_frame(self, form: Form = "ir_measures") -> pandas.DataFrame:
        """Return a pandas data frame with a row for each judgement: ir_measures' columns, or
        PyTerrier's.

        Example:
            >>> import positionbias as pb
            >>> pb.Qrels({"q1": {"p1": 1, "p2": 0}}).to_frame("pyterrier")
              qid docno  label
            0  q1    p1      1
            1  q1    p2      0
        """
        return in_form(pandas.DataFrame(self, columns=list(self.columns)), form)

    def itertuples(self) -> Iterator[ir_measures.Qrel]:
        """Yield an ``ir_measures.Qrel`` for each judgement: ir_measures reads a frame so."""
        return (ir_measures_library().Qrel(*qrel) for qrel in self)

    def save(self, path: Place, *, overwrite: bool = False, separator: str = " ") -> Path:
        """Write the judgements in TREC's form with iteration 0, gzipped for ``.gz``; return their
        path. MS MARCO's ``separator`` is a tab.

        Raises:
            InputError: an id with a space.
            OutputExistsError: ``path`` exists and ``overwrite`` is false.
        """
        place = output_place(path)
        rows = ((qrel.query_id, "0", qrel.passage_id, str(qrel.grade)) for qrel in self)
        blocks = (((row[0], row[2]), f"{separator.join(row)}\n") for row in rows)
        write_columns(place, blocks, place, overwrite=overwrite)
        return place


def _qrels_of(rows: Rows, source: str) -> list[Qrel]:
    """Return the records of each query's passages and grades, checked."""
    pairs = ((None, query_id, *pair) for query_id, *row in rows for pair in zip(*row, strict=True))
    return _checked(pairs, source, "convert it")


def _checked(
    rows: Iterable[tuple[int | None, str, str, Any]], source: Path | str, do: str
) -> list[Qrel]:
    """Return the records of numbered lines or of other rows.

    Raises:
        InputError: a grade that is no whole number, or a pair judged twice.
    """
    lines: dict[tuple[str, str], int | None] = {}
    qrels = []
    for line, query_id, passage_id, value in rows:
        try:
            grade = int(value)
        except (TypeError, ValueError, OverflowError):
            grade = HIGHEST_GRADE + 1
        if abs(grade) > HIGHEST_GRADE or (not isinstance(value, str) and grade != value):
            wanted = f"a whole number up to {HIGHEST_GRADE:,} as grade"
            raise bad_input(source, line=line, wanted=wanted, found=repr(value), do=do)
        if (query_id, passage_id) in lines:
            first = lines[query_id, passage_id]
            found = f"passage {passage_id!r} of query {query_id!r} again"
            found += f", first at line {first}" if first else ""
            wanted = "each pair judged once"
            raise bad_input(source, line=line, wanted=wanted, found=found, do="drop one")
        lines[query_id, passage_id] = line
        qrels.append(Qrel(query_id, passage_id, grade))
    return qrels


def parse_qrels(lines: Iterable[tuple[int, str]], source: Path | str) -> list[Qrel]:
    """Parse numbered lines as ``Qrels.from_file`` does; messages name ``source``."""
    do = "fix or drop the line"
    if not (qrels := _checked(_rows(lines, source, do), source, do)):
        wanted = f"four columns: {' '.join(_TREC)}"
        raise bad_input(source, wanted=wanted, found="an empty file", do="check the path")
    return qrels


def _rows(
    lines: Iterable[tuple[int, str]], source: Path | str, do: str
) -> Iterator[tuple[int, str, str, str]]:
    """Yield the number, query, passage and grade of each line with content."""
    names, width = _TREC, "four"
    for number, line in lines:
        columns = (line.removeprefix("\ufeff") if number == 1 else line).split()
        if number == 1 and tuple(columns) == BEIR_HEADER:
            names, width = BEIR_HEADER, "three"
        elif columns:
            if len(columns) != len(names):
                wanted, found = f"{width} columns: {' '.join(names)}", f"{len(columns)} columns"
                raise bad_input(source, line=number, wanted=wanted, found=found, do=do)
            yield number, columns[0], columns[-2], columns[-1]
