"""``posbias model encode`` and ``posbias retrieve --vectors``: what they print and write, and one
clear line where they cannot.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.core.run import read_run
from positionbias.dense.vectors import Vectors

from ..dense.conftest import saved_dot
from ..tiny import saved_tk


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, output.out, output.err


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
    assert (read_run(out).depth, read_run(out).name) == (7, "dot")
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


def test_fewer_candidates_than_asked_for_are_said(
    small_collection: Collection, dot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("faiss")
    vectors, out = tmp_path / "vectors", tmp_path / "dense.run"
    assert (
        posbias(capsys, "model", "encode", small_collection.path, "--model", dot, "--out", vectors)[
            0
        ]
        == 0
    )
    options = (
        "--vectors",
        vectors,
        "--model",
        dot,
        "--out",
        out,
        "--set",
        "index=ivf",
        "--set",
        "ivf_lists=4",
        "--overwrite",
    )
    code, printed, err = posbias(
        capsys, "retrieve", small_collection.path, *options, "--set", "ivf_probes=1", "--json"
    )
    assert code == 0, err
    rows = {row["measure"]: row["value"] for row in json.loads(printed)["rows"]}
    assert rows["queries with fewer candidates than asked for"] == 3
    assert "3 of 3 queries have fewer than 7 candidates: more ivf_probes may find them" in err
    assert read_manifest(out).content["short_queries"] == 3
    code, _, err = posbias(
        capsys, "retrieve", small_collection.path, *options, "--set", "ivf_probes=4"
    )
    assert (code, "have fewer" in err) == (0, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "k1=1"], "k1: wanted no --vectors beside it; found them"),
        (["--set", "backend=bm25s"], "backend: wanted no --vectors beside it; found them"),
        (
            ["--set", "hnsw_links=16"],
            "hnsw_links: wanted index hnsw beside it; found index exact; leave it out",
        ),
        (
            ["--set", "hnsw_links=50"],
            "hnsw_links: wanted index hnsw beside it; found index exact; leave it out",
        ),
        (
            ["--set", "index=hnsw", "--set", "memory=1"],
            "memory: wanted index exact beside it; found index hnsw",
        ),
        (
            ["--set", "index=hnsw", "--set", "ivf_lists=3"],
            "ivf_lists: wanted index ivf beside it; found index hnsw",
        ),
        (
            ["--set", "index_shards=2"],
            "index_shards: wanted index hnsw or ivf beside it; found index exact",
        ),
        (
            ["--set", "index=hnsw", "--set", "engine=ray"],
            (
                "engine: wanted index exact, or index_shards above 1, beside it; "
                "found neither; leave it out"
            ),
        ),
        (["--set", "memory=-1"], "memory: wanted GiB above 0; found -1.0"),
        (["--depth", "0"], "--depth: wanted at least 1; found 0"),
        (["--set", "kind=sparse"], "kind: wanted"),
        (
            ["--set", "index=hnsw", "--set", "hnsw_links=1"],
            "hnsw_links: wanted at least 2; found 1",
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


def test_workers_apply_with_and_without_vectors(
    small_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = posbias(
        capsys, "retrieve", small_collection.path, "--workers", "1", "--out", tmp_path / "x.run"
    )
    assert code == 0, err


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
            ["retrieve", small_collection.path, "--model", dot, "--out", out],
            "--model: wanted --vectors beside it",
        ),
        (
            ["retrieve", small_collection.path, "--vectors", out, "--out", out],
            "--model: wanted the model that made the vectors, with --vectors; found none",
        ),
        (
            ["retrieve", small_collection.path, "--vectors", out, "--model", dot, "--out", out],
            "wanted a posbias vectors",
        ),
    ):
        code, printed, err = posbias(capsys, *arguments)
        assert (code, printed, err.count("\n")) == (2, "", 1), err
        assert message in err
        assert not out.exists()
