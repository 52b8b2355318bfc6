"""Options that name a fault as the command at hand does, do nothing, or are given twice: one line,
before the work.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from positionbias.cli.main import posbias
from positionbias.core.collection import Collection
from positionbias.core.errors import PositionBiasError
from positionbias.core.run import Run

LEAKED = "study contamination x --target test --models tk --teacher tk --out ./s"
TRAIN = "--candidates train.run --out ./m.ckpt"


def refusal(arguments: str) -> str:
    error = CliRunner().invoke(posbias, arguments.split(), standalone_mode=False).exception
    assert isinstance(error, PositionBiasError), error
    assert error.exit_code == 2
    return str(error)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            "study position-bias x --out ./s --set tk.batch_size=0",
            "--set tk.batch_size: 0 is not in the range x>=1",
        ),
        (
            "study position-bias x --out ./s --set heads=0",
            "--set tk.heads: 0 is not in the range x>=1",
        ),
        (
            "study position-bias x --out ./s --positions none",
            "each once; found none; give --positions again",
        ),
        # options that do nothing
        (
            f"{LEAKED} --set patience=3",
            "patience: wanted a validation; found no validation_split",
        ),
        (
            f"train tk x {TRAIN} --set most_depth=20",
            "most_depth: wanted a validation; found no --validation-cand",
        ),
        (
            f"train tk x {TRAIN} --set relative_distance=4",
            "wanted positions relative, which it is of; found positions sinusoid",
        ),
        (
            "leakage find a b --detector lexical --out ./l --encoder e",
            "--encoder: wanted --detector semantic or both",
        ),
        # names given twice
        (
            "study position-bias x --out ./s --set candidates=test=A --set candidates=test=B",
            "candidates: wanted SPLIT=RUN, each name once",
        ),
        (
            "study position-bias x --out ./s --set tk.heads=2 --set tk.heads=4",
            "--set: wanted at least one, each once; found tk",
        ),
    ],
)
def test_a_line_says_what_to_do(arguments: str, found: str) -> None:
    assert found in refusal(arguments)


def test_a_name_for_all_models_and_for_one_are_two_names(small_collection: Collection) -> None:
    given = f"study position-bias {small_collection.path} --out ./s --set heads=2 --set tk.heads=4"
    assert "found no validation" in refusal(given)


@pytest.fixture
def whole(small_collection: Collection) -> str:
    place = small_collection.path
    Run("r", [("q3", ["p-bridge", "p-word"], [2.0, 1.0])]).save(place.parent / "test.run")
    return (
        f"study position-bias {place} --set validation_split=test --dry-run --out "
        f"{place.parent / 'study'}"
    )


def test_candidates_of_another_split_are_refused_in_a_dry_run(whole: str, tmp_path: Path) -> None:
    found = refusal(f"{whole} --set candidates=train={tmp_path / 'test.run'}")
    assert (
        "test.run: wanted queries of split 'train'; found none; check that candidates names "
        "the split"
    ) in found
