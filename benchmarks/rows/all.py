"""All rows, in the order of the table."""

from __future__ import annotations

from harness.records import Row

from rows import corpus, encoders, evaluation, training, vectors

ROWS: tuple[Row, ...] = (*encoders.ROWS, *training.ROWS, *evaluation.ROWS, *corpus.ROWS, *vectors.ROWS)
