"""Record a placement, one row per question: the fit of the places to the density, distances moved,
and weights that match distances over arms.

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
from msgspec import structs
from scipy.stats import chi2

from positionbias.core.errors import bad_input
from positionbias.positions.density import Density
from positionbias.results.curves import MovesFigures
from positionbias.results.payloads import PlaceHistogram, SentenceMoves

__all__ = [
    "BINS",
    "PlacedQuestions",
    "bin_of",
    "moves_of",
    "place_histogram",
    "weights_by_distance",
]

BINS = 5
LEAST_EXPECTED = 5.0  # passages in a cell of the chi-square test
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


def bin_of(place: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """Return the fifth of the passage that holds the middle of sentence ``place``, with
    ``sentences`` of equal length.

    >>> bin_of(np.arange(3), np.full(3, 3)).tolist()
    [0, 2, 4]
    """
    return (2 * place + 1) * BINS // (2 * sentences)


def place_histogram(placed: PlacedQuestions, density: Density) -> PlaceHistogram:
    """Return the wanted, reached and original places of the evidence sentences (one row per
    passage).
    """
    wanted, statistic, freedom = np.zeros(BINS), 0.0, 0
    for number in np.unique(placed.sentences).tolist():
        shares = np.array(density.shares(number))
        after = placed.after[placed.sentences == number]
        np.add.at(wanted, bin_of(np.arange(number), np.full(number, number)), len(after) * shares)
        added, free = _chi_square(np.bincount(after, minlength=number), len(after) * shares)
        statistic, freedom = statistic + added, freedom + free
    tested = freedom > 0 or statistic > 0
    return PlaceHistogram(
        edges=[edge / BINS for edge in range(BINS + 1)],
        wanted=(wanted / wanted.sum()).tolist(),
        reached=np.bincount(bin_of(placed.after, placed.sentences), minlength=BINS).tolist(),
        before=np.bincount(bin_of(placed.before, placed.sentences), minlength=BINS).tolist(),
        chi_square=statistic if tested else None,
        freedom=freedom,
        p=float(chi2.sf(statistic, max(freedom, 1))) if tested else None,
    )


def _chi_square(observed: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Return Pearson's statistic and its degrees of freedom, with neighbouring places joined until
    5 passages are expected; infinite if a sentence is at a place of density 0."""
    if observed[expected < 1e-9].any():
        return float("inf"), 0
    cells: list[list[float]] = [[0.0, 0.0]]
    for found, wanted in zip(observed.tolist(), expected.tolist(), strict=True):
        if cells[-1][1] >= LEAST_EXPECTED:
            cells.append([0.0, 0.0])
        cells[-1][0] += found
        cells[-1][1] += wanted
    if cells[-1][1] < LEAST_EXPECTED and len(cells) > 1:
        found, wanted = cells.pop()
        cells[-1] = [cells[-1][0] + found, cells[-1][1] + wanted]
    return sum((found - wanted) ** 2 / wanted for found, wanted in cells), len(cells) - 1


def _uniform_distances(placed: PlacedQuestions) -> np.ndarray:
    """Return the mean number of questions that uniform placement moves by 0, 1 … sentences;
    ``(most sentences,)``.
    """
    expected = np.zeros(int(placed.sentences.max()))
    for number, before in zip(placed.sentences.tolist(), placed.before.tolist(), strict=True):
        np.add.at(expected, np.abs(np.arange(number) - before), 1 / number)
    return expected


def _weights(uniform: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the weight of a question by the distance it moved; 0 for a distance that none
    moved.
    """
    return np.divide(uniform, counts, out=np.zeros(len(uniform)), where=counts > 0)


def weights_by_distance(placed: PlacedQuestions) -> np.ndarray:
    """Return each question's weight, ``(rows,)``; their mean is 1 minus the unmatched share."""
    uniform = _uniform_distances(placed)
    return _weights(uniform, np.bincount(placed.distance, minlength=len(uniform)))[placed.distance]


def moves_of(placed: PlacedQuestions) -> SentenceMoves:
    """Return the distances that these questions' sentences moved, and the cost of matching them."""
    uniform, distance = _uniform_distances(placed), placed.distance
    counts = np.bincount(distance, minlength=len(uniform))
    figures = MovesFigures(
        mean_distance=float(distance.mean()),
        mean_distance_of_uniform=float(np.average(np.arange(len(uniform)), weights=uniform)),
        share_unmoved=float((distance == 0).mean()),
        share_moved_forward=float((placed.after < placed.before).mean()),
        share_moved_backward=float((placed.after > placed.before).mean()),
    )
    weights = np.zeros(0)
    if placed.weight is not None:
        weights = _weights(uniform, counts)
        figures = structs.replace(
            figures,
            mean_distance_weighted=float(np.average(distance, weights=placed.weight)),
            share_unmatched=float(uniform[counts == 0].sum() / uniform.sum()),
            effective_questions=float(placed.weight.sum() ** 2 / (placed.weight**2).sum()),
            largest_weight=float(placed.weight.max()),
        )
    return SentenceMoves(counts.tolist(), uniform.tolist(), weights.tolist(), figures)
