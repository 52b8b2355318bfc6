"""``posbias collection select`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection

from ..tiny import planted
from .conftest import RunPosbias


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return planted(tmp_path / "planted")


def test_a_selection_is_written_and_counted(
    run_posbias: RunPosbias, collection: Collection, tmp_path: Path
) -> None:
    done = run_posbias(
        "collection",
        "select",
        "./planted",
        "--answers-in",
        "0:0.5",
        "--out",
        "./front",
        "--workers",
        2,
    )
    assert done.returncode == 0, done.stderr
    made = Collection(tmp_path / "front")
    number = len(made.queries("train"))
    assert 0 < number < 30
    assert done.stdout.startswith(f"front: {number} of 30 train queries kept\n")
    assert (
        "written to front; see where its answers are with: posbias histogram front" in done.stderr
    )
    assert [len(made.queries(split)) for split in ("validation", "test")] == [12, 18]
    shown = run_posbias("collection", "show", "./front")
    assert shown.returncode == 0
    assert "answers_in 0:0.5" in shown.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--answers-in", "front"],
            "--answers-in: wanted LOW:HIGH with 0 ≤ LOW < HIGH ≤ 1, as in 0:0.2; found front",
        ),
        (["--answers-in", "0.999999:1"], "whose answers start in 0.999999:1; found none among 30"),
        (
            ["--answers-in", "0:1", "--queries", "31"],
            "--queries: wanted 31 queries of split 'train'",
        ),
    ],
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias, collection: Collection, tmp_path: Path, more: list[str], message: str
) -> None:
    done = run_posbias("collection", "select", "./planted", *more, "--out", "./made")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["planted"]
