"""All rows, in the order of the table."""

from __future__ import annotations

from harness.records import Row

from rows import evaluation, vectors

ROWS: tuple[Row, ...] = (*evaluation.ROWS, *vectors.ROWS)
