"""Record a placement, one row per question, and weights that match distances over arms.

The weights match every arm to uniform placement of the same sentences, which each arm can compute
by itself [decision]: a question that moved d sentences weighs  (questions that uniform placement
moves d sentences, on average) / (questions moved d sentences here),  so that distances are equal in
any two arms. A distance that no sentence moved here has no weight; its share counts as unmatched.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from positionbias.core.errors import bad_input

COLUMNS = ("query_id", "passage_id", "sentences", "before", "after")


@dataclass(frozen=True, slots=True)
class PlacedQuestions:
    """Questions in passages, one per row: sentence ``before`` of ``sentences`` became sentence
    ``after``, from 0; each (rows,) int64.

    ``weight`` is (rows,) float64, or None if distances were not matched.
    """

    query_ids: list[str]
    passage_ids: list[str]
    sentences: np.ndarray
    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray | None = None

    @property
    def distance(self) -> np.ndarray:
        """Return the distance that the evidence moved, in sentences."""
        return np.abs(self.after - self.before)

    def passages(self) -> PlacedQuestions:
        """Return one row per passage."""
        rows = [*{passage_id: row for row, passage_id in enumerate(self.passage_ids)}.values()]
        query_ids, passage_ids = (
            [column[row] for row in rows] for column in (self.query_ids, self.passage_ids)
        )
        return PlacedQuestions(
            query_ids, passage_ids, self.sentences[rows], self.before[rows], self.after[rows]
        )

    def write(self, path: Path) -> None:
        """Write the rows as Parquet."""
        columns = [
            self.query_ids,
            self.passage_ids,
            *(item.astype(np.int32) for item in (self.sentences, self.before, self.after)),
        ]
        table = pa.table(dict(zip(COLUMNS, columns, strict=True)))
        pq.write_table(
            table if self.weight is None else table.append_column("weight", pa.array(self.weight)),
            path,
        )

    @classmethod
    def read(cls, path: Path) -> PlacedQuestions:
        """Read what ``write`` wrote.

        Raises:
            InputError: no such file, or not in this form.
        """
        try:
            table = pq.read_table(path)
            query_ids, passage_ids = (table.column(name).to_pylist() for name in COLUMNS[:2])
            sentences, before, after = (
                table.column(name).to_numpy().astype(np.int64) for name in COLUMNS[2:]
            )
            weight = table.column("weight").to_numpy() if "weight" in table.column_names else None
        except (pa.ArrowInvalid, OSError, KeyError) as error:
            found = str(error).splitlines()[0]
            raise bad_input(
                path,
                wanted="a table of placed questions",
                found=found,
                do="place the collection again",
            ) from error
        return cls(query_ids, passage_ids, sentences, before, after, weight)


def _uniform_distances(placed: PlacedQuestions) -> np.ndarray:
    """Return the mean number of questions that uniform placement moves by 0, 1 … sentences;
    ``(most sentences,)``.
    """
    expected = np.zeros(int(placed.sentences.max()))
    for number, before in zip(placed.sentences.tolist(), placed.before.tolist(), strict=True):
        np.add.at(expected, np.abs(np.arange(number) - before), 1 / number)
    return expected


def weights_by_distance(placed: PlacedQuestions) -> np.ndarray:
    """Return each question's weight, ``(rows,)``; their mean is 1 minus the unmatched share."""
    uniform = _uniform_distances(placed)
    counts = np.bincount(placed.distance, minlength=len(uniform))
    weights = np.divide(uniform, counts, out=np.zeros(len(uniform)), where=counts > 0)
    return np.asarray(weights[placed.distance])
