"""All rows, in the order of the table."""

from __future__ import annotations

from harness.records import Row

from rows import audit, colbert, corpus, encoders, evaluation, training, vectors

ROWS: tuple[Row, ...] = (
    *encoders.ROWS,
    *colbert.ROWS,
    *audit.ROWS,
    *training.ROWS,
    *vectors.ROWS,
    *corpus.ROWS,
    *evaluation.ROWS,
)
