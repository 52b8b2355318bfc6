"""The numbers of every study and command at toy size, against those kept in ``rows/``."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from .adapter import COLUMNS, NUMBERS, Row, key_of, rows_of
from .cases import WITH_MODEL, WITHOUT_TRAINING
from .inputs import Inputs
from .studies import TRAINED

CASES = {**WITHOUT_TRAINING, **TRAINED}
KEPT = Path(__file__).parent / "rows"
# largest differences, and the share of a model's rows that may differ by more
EXACT, OF_A_MODEL, SHARE = 1e-6, 1e-3, 0.02


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_rows_are_the_kept_ones(
    name: str, inputs: Inputs, tmp_path: Path, torchs_threads: None
) -> None:
    """To redraw them: ``POSBIAS_REDRAW=1 pytest -n0 tests/golden``, with ``-k NAME`` for one
    file.
    """
    torch.set_num_threads(1)
    rows = rows_of(CASES[name](inputs, tmp_path))
    place = KEPT / f"{name}.csv"
    if os.environ.get("POSBIAS_REDRAW"):
        write_rows(place, rows)
    kept = read_rows(place)
    of_a_model = name in WITH_MODEL or name in TRAINED.keys() - {"pooling"}
    differences = different(rows, kept, OF_A_MODEL if of_a_model else EXACT)
    allowed = SHARE * len(kept) if of_a_model else 0
    assert len(differences) <= allowed, "\n".join(
        [f"{len(differences)} of {len(kept)} rows differ", *differences[:20]]
    )


def different(rows: Sequence[Row], kept: Sequence[Row], most: float) -> list[str]:
    """Describe each row that is missing, new, or differs by more than ``most``, relative to numbers
    above 1.
    """
    pairs: dict[tuple[str, ...], tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, table in enumerate((kept, rows)):
        for row in table:
            pairs[key_of(row)][side].append(row)
    differences = []
    for key, (before, now) in pairs.items():
        name = " | ".join(filter(None, key))
        differences += [f"{name}: kept {len(before)} times, now {len(now)}"] * abs(
            len(before) - len(now)
        )
        for old, new in zip(before, now, strict=False):
            cells = [
                c
                for c in COLUMNS
                if not (close(old[c], new[c], most) if c in NUMBERS else old[c] == new[c])
            ]
            if cells:
                differences.append(
                    f"{name}: " + ", ".join(f"{cell} {old[cell]} → {new[cell]}" for cell in cells)
                )
    return differences


def close(old: str, new: str, most: float) -> bool:
    return old == new or (
        bool(old and new) and abs(float(old) - float(new)) <= most * max(1.0, abs(float(old)))
    )


def read_rows(place: Path) -> list[Row]:
    """Read a file of rows; a column that it lacks is empty."""
    with place.open(encoding="utf-8", newline="") as file:
        return [{name: row.get(name, "") for name in COLUMNS} for row in csv.DictReader(file)]


def write_rows(place: Path, rows: Sequence[Row]) -> None:
    """Write rows, without the columns that are empty in all."""
    columns = [name for name in COLUMNS if any(row[name] for row in rows)]
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
