"""``posbias model ensemble``: runs in, one run out, and what is missing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.run import Run
from tests.commands import posbias


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    places = tmp_path / "one.run", tmp_path / "two.run"
    Run("bm25", [("q", ["a", "b", "c"], [9.0, 6.0, 3.0]), ("r", ["a"], [1.0])]).save(places[0])
    Run("dot", [("q", ["c", "a"], [1.0, 0.0])]).save(places[1])
    return places


def test_an_ensemble_is_a_run(runs: tuple[Path, Path], capsys, tmp_path: Path) -> None:
    code, out, err = posbias(
        capsys, "model", "ensemble", *runs, "--out", tmp_path / "both.run", "--name", "both"
    )
    assert code == 0, err
    assert out.startswith("both: 2 runs, 2 queries, 4 passages\n")
    assert f"written to {tmp_path / 'both.run'}; next: posbias evaluate" in err
    assert "dot is without 1 queries that others have and 1 passages that others have" in err
    run = Run.from_file(tmp_path / "both.run")
    assert (run.name, run["q"].passage_ids) == ("both", ["a", "c", "b"])
    ranks = (
        "model",
        "ensemble",
        *runs,
        "--by",
        "reciprocal-ranks",
        "--k",
        1,
        "--out",
        tmp_path / "ranks.run",
        "--json",
    )
    code, out, err = posbias(capsys, *ranks)
    assert code == 0, err
    counts = [row["value"] for row in json.loads(out)["rows"][:3]]
    assert counts == [2, 2, 4]  # runs, queries, passages
    assert Run.from_file(tmp_path / "ranks.run")["q"].scores[0] == pytest.approx(1 / 2 + 1 / 3)


def test_what_is_refused(runs: tuple[Path, Path], capsys, tmp_path: Path) -> None:
    Run("other", [("elsewhere", ["a"], [1.0])]).save(tmp_path / "other.run")
    for arguments, complaint in (
        ((runs[0],), "RUN: wanted at least 2 runs; found 1"),
        (
            (runs[0], tmp_path / "other.run"),
            "run 'other': wanted queries of run 'bm25'; found none of them",
        ),
        ((runs[0], tmp_path / "none.run"), "none.run: wanted"),
        (
            (*runs, "--overwrite", "--out", runs[0]),
            "--out: wanted a place apart from what is read; found",
        ),
        ((*runs, "--k", 5), "--k: wanted --by reciprocal-ranks; found --by z-scores"),
    ):
        code, _, err = posbias(
            capsys, "model", "ensemble", "--out", tmp_path / "no.run", *arguments
        )
        assert (code, err.count("\n")) == (2, 1), err
        assert complaint in err
    assert not (tmp_path / "no.run").exists()
