"""Retrieval from Python: by BM25 and by vectors, with settings that fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.errors import SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.run import Run
from positionbias.dense.settings import ByVectors, DenseSearch
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Search
from tests.dense.conftest import saved_dot


def test_bm25_with_a_preset(small_collection: positionbias.Collection, tmp_path: Path) -> None:
    search = Bm25Search(preset="msmarco", b=0.0)
    found = positionbias.retrieve(
        small_collection, wanted=Retrieval("train", 2), bm25=search, out=tmp_path / "bm25.run"
    )
    made = read_manifest(tmp_path / "bm25.run", kind="run")
    assert [made.settings[name] for name in ("split", "depth", "k1", "b")] == [
        "train",
        2,
        0.82,
        0.0,
    ]
    counts = found.rows.set_index("measure")["value"]
    assert (counts["queries"], counts["candidates"]) == (2, Run.from_file(found.path).pairs)


def test_encode_gives_vectors_to_retrieve_by(
    small_collection: positionbias.Collection, tmp_path: Path
) -> None:
    dot = saved_dot(tmp_path / "dot").path
    vectors = positionbias.encode(
        small_collection, model=dot, precision_on_disk="float32", out=tmp_path / "vectors"
    )
    assert vectors.rows.set_index("measure")["value"]["vectors"] == 7
    by = ByVectors(vectors.path, dot)
    found = positionbias.retrieve(small_collection, dense=by, out=tmp_path / "dense.run")
    counts = found.rows.set_index("measure")["value"]
    assert (counts["queries"], counts["candidates"]) == (3, 21)


def test_settings_of_the_other_retriever_are_refused(
    small_collection: positionbias.Collection, tmp_path: Path
) -> None:
    out = tmp_path / "x.run"
    with pytest.raises(SettingError, match="--model: wanted --vectors beside it; found none"):
        positionbias.retrieve(small_collection, dense=ByVectors(model="dot"), out=out)
    with pytest.raises(SettingError, match="--preset: wanted no --vectors beside it; found them"):
        positionbias.retrieve(
            small_collection,
            bm25=Bm25Search(preset="msmarco"),
            dense=ByVectors("vectors", "dot"),
            out=out,
        )
    with pytest.raises(
        SettingError, match="--memory: wanted --index exact beside it; found --index ivf"
    ):
        DenseSearch("ivf", memory=1)
