"""``posbias model encode`` and ``posbias retrieve --vectors``: what they print and write, and one
clear line where they cannot.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.run import Run
from positionbias.dense.vectors import Vectors
from tests.commands import posbias

from ..dense.conftest import saved_dot
from ..tiny import saved_tk


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    return saved_dot(tmp_path / "dot").path


def test_from_a_collection_to_a_run(
    small_collection: Collection, dot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, out = tmp_path / "vectors", tmp_path / "dense.run"
    code, printed, err = posbias(
        capsys, "model", "encode", small_collection.path, "--model", dot, "--out", vectors
    )
    assert code == 0, err
    assert printed.startswith("dot: 7 vectors, 16 numbers a vector")
    assert "1 passages are empty: they have the vector of an empty text" in err
    options = ("--vectors", vectors, "--model", dot, "--split", "test", "--out", out)
    code, printed, err = posbias(capsys, "retrieve", small_collection.path, *options, "--json")
    assert code == 0, err
    counts = {row["measure"]: row["value"] for row in json.loads(printed)["rows"]}
    assert (counts["queries"], counts["candidates"]) == (3, 21)
    assert "7 vectors searched (exact)" in err
    assert (Run.from_file(out).depth, Run.from_file(out).name) == (7, "dot")
    assert len(Vectors(vectors)) == 7
    pytest.importorskip("faiss")
    for origin in ("built", "reused"):
        again = (
            "--set",
            "index=ivf",
            "--set",
            "ivf_lists=2",
            "--set",
            "ivf_probes=2",
            "--depth",
            3,
            "--name",
            "near",
            "--overwrite",
        )
        code, printed, err = posbias(capsys, "retrieve", small_collection.path, *options, *again)
        assert (code, printed) == (0, "near: 3 queries, 9 candidates\n")
        assert f"ivf index {origin}" in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "k1=1"], "k1: wanted no --vectors beside it; found them"),
        (
            ["--set", "hnsw_search_width=16"],
            "hnsw_search_width: wanted index hnsw beside it; found index exact; leave it out",
        ),
        (
            ["--set", "index=hnsw", "--set", "ivf_lists=3"],
            "ivf_lists: wanted index ivf beside it; found index hnsw",
        ),
        (
            ["--set", "index=hnsw", "--set", "engine=ray"],
            "engine: wanted index exact beside it; found index hnsw; leave it out",
        ),
    ],
)
def test_wrong_options_are_one_line(
    small_collection: Collection,
    dot: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    message: str,
) -> None:
    vectors = tmp_path / "vectors"
    assert (
        posbias(capsys, "model", "encode", small_collection.path, "--model", dot, "--out", vectors)[
            0
        ]
        == 0
    )
    options = ("--vectors", vectors, "--model", dot, "--out", tmp_path / "x.run", *given)
    code, printed, err = posbias(capsys, "retrieve", small_collection.path, *options)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert message in err


def test_what_is_missing_or_of_another_kind_is_one_line(
    small_collection: Collection, dot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tk = saved_tk(tmp_path / "tk", small_collection)
    out = tmp_path / "out"
    for arguments, message in (
        (
            ["model", "encode", small_collection.path, "--model", tk, "--out", out],
            "wanted a model with one vector a text",
        ),
        (
            ["retrieve", small_collection.path, "--vectors", out, "--out", out],
            "--model: wanted the model that made the vectors, with --vectors; found none",
        ),
    ):
        code, printed, err = posbias(capsys, *arguments)
        assert (code, printed, err.count("\n")) == (2, "", 1), err
        assert message in err
        assert not out.exists()
