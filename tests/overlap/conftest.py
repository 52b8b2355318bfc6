"""Sets that several tests search."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias as pb

from .sets import bytes_of, numbered, pairs_in, text_of


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path, dict[str, bytes]]:
    """Four training sets, a test set, and what one process finds."""
    folder = tmp_path_factory.mktemp("many")
    sets = [
        numbered(folder / f"set{n}", range(n, 30, 2), more=text_of(5_000 + n, n)) for n in range(4)
    ]
    test = numbered(folder / "bench", range(10, 40), "test")
    pb.overlap_leakage(sets, tests=[test], out=folder / "out")
    assert len(pairs_in(folder / "out", "bench.test.passages")) > 30
    return sets, test, bytes_of(folder / "out")
