"""Sets that several files search."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias as pb

from .sets import bytes_of, pairs_in, text_of, triplets, write_beir, write_lines


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path, dict[str, bytes]]:
    """Eight training files, a test set, and what one process finds."""
    folder = tmp_path_factory.mktemp("many")
    files = []
    for number in range(8):
        rows = [
            {**row, "positive": f"{row['positive']} {text_of(5_000 + number, number)}"}
            for row in triplets(range(number, 30, 2))
        ]
        files.append(write_lines(folder / f"set{number}.jsonl", rows))
    test = write_beir(folder / "bench", range(10, 40))
    pb.overlap_leakage(files, tests=[test], out=folder / "out")
    assert len(pairs_in(folder / "out", "bench.pairs")) > 50
    return files, test, bytes_of(folder / "out")
