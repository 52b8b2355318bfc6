"""Runs measured and fused from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, SettingError
from positionbias.core.rows import load, load_values
from positionbias.core.run import Run
from positionbias.evaluation.fusing import Fusing
from positionbias.evaluation.settings import Measuring


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Relevant passages at ranks 1, 2, none; and 1, 1, none."""
    one, two = tmp_path / "one.run", tmp_path / "two.run"
    one.write_text(
        "q3 Q0 p-bridge 1 2.5 one\nq3 Q0 p-lamp 2 1 one\nq4 Q0 p-lamp 1 9 one\nq4 Q0 p-tower 2 8 "
        "one\n"
    )
    two.write_text("q3 Q0 p-bridge 1 2 two\nq4 Q0 p-tower 1 3 two\nq4 Q0 p-lamp 2 1 two\n")
    return [one, two]


def test_runs_are_measured_compared_and_saved(
    small_collection: Collection, runs: list[Path], tmp_path: Path
) -> None:
    found = positionbias.evaluate(
        runs, collection=small_collection, measuring=Measuring(measures=("RR@10",))
    )
    ours = found.rows.query("measure == 'RR@10' and statistic in ('mean', 'difference')")
    assert list(zip(ours.model, ours.statistic, strict=True)) == [
        ("one", "mean"),
        ("two", "mean"),
        ("two", "difference"),
    ]
    assert list(ours.value) == pytest.approx([1.5 / 3, 2 / 3, 0.5 / 3])
    assert list(ours.against) == ["", "", "model=one"]
    assert str(found).startswith("two has the highest RR@10 of 2 runs, 0.667")
    assert ["Run", "RR@10", "J@10"] in [line.split() for line in str(found).splitlines()]
    place = found.save(tmp_path / "kept")
    assert load(place).equals(found.rows)
    assert load_values(place).equals(found.values)
    with pytest.raises(OutputExistsError):
        found.save(tmp_path / "kept")


def test_settings_that_do_not_go_together(
    small_collection: Collection, runs: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(
        SettingError, match=r"--qrels: wanted judgements from one source; found neither"
    ):
        positionbias.evaluate(runs)
    with pytest.raises(SettingError, match=r"--qrels-name: wanted --collection beside it"):
        positionbias.evaluate(runs, qrels=runs[0], measuring=Measuring(qrels_name="more"))
    with pytest.raises(
        SettingError, match=r"--out: wanted a place apart from what is read; found .*one.run"
    ):
        positionbias.evaluate(runs, collection=small_collection, out=runs[0], overwrite=True)


def test_runs_become_one(runs: list[Path], tmp_path: Path) -> None:
    fused = positionbias.ensemble(
        runs, fusing=Fusing("reciprocal-ranks", k=1), name="both", out=tmp_path / "both.run"
    )
    assert Run.from_file(tmp_path / "both.run").name == fused.run.name == "both"
    # p-tower is second and first, p-lamp first and second
    assert fused.run["q4"].scores.tolist() == pytest.approx([1 / 3 + 1 / 2] * 2)
    assert fused.rows.set_index("measure")["value"]["passages"] == 4
