"""``posbias histogram`` and ``posbias debias`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.rows import load
from tests.commands import posbias


def test_debias_then_histogram_of_both(
    small_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = posbias(
        capsys,
        "debias",
        small_collection.path,
        "--out",
        tmp_path / "rotated",
        "--seed",
        "2",
        "--set",
        "identity=false",
    )
    assert code == 0
    assert "rotated: 7 passages, 71.4\u00a0% rotated" in out
    assert "posbias histogram" in err
    saved = tmp_path / "results"
    both = (small_collection.path, tmp_path / "rotated")
    code, out, err = posbias(
        capsys,
        "histogram",
        *both,
        "--split",
        "train",
        "--out",
        saved,
        "--set",
        "resamples=100",
    )
    assert code == 0
    assert "rotated, train: 2 of 2 of the source's spans are among the words' matches." in out
    assert list(load(saved)["collection"].unique()) == ["small", "rotated"]
    assert json.loads((saved / "manifest.json").read_text())["inputs"][0]["path"] == "../small"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["histogram", "COLLECTION", "--bins", "0"],
            "'--bins': 0 is not in the range 1<=x<=1000",
        ),
        (["histogram", "COLLECTION", "--split", "dev"], "wanted split 'dev'; found train, test"),
        (["debias", "COLLECTION", "--out", "COLLECTION"], "which is the input"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    small_collection: Collection,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    code, out, err = posbias(
        capsys,
        *(str(small_collection.path) if item == "COLLECTION" else item for item in arguments),
    )
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
