"""Data sets of the Hub: what cannot be had is one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import DependencyError, InputError
from positionbias.formats.columns import Columns
from positionbias.formats.table import import_table
from positionbias.formats.table_files import load_hub
from positionbias.formats.validation_draw import ValidationDraw


def bring(name: str, out: Path, **columns: Any) -> Collection:
    return import_table(
        [load_hub(name)], out, columns=Columns(**columns), validation=ValidationDraw()
    )


def test_the_splits_of_a_saved_data_set_become_splits(tmp_path: Path) -> None:
    own = datasets.Dataset.from_dict({"context": ["Oil burns."], "question": ["What burns?"]})
    datasets.DatasetDict({"train": own, "dev": own}).save_to_disk(tmp_path / "saved")
    assert bring(str(tmp_path / "saved"), tmp_path / "c").splits == ["train", "validation"]


def test_the_names_of_classes_are_read_not_their_numbers(tmp_path: Path) -> None:
    rows = {"passage": ["yes", "no", "open"], "query": ["a", "a", "b"], "label": [0, 1, -1]}
    features = {name: datasets.Value("string") for name in ("passage", "query")}
    coded = datasets.Features(
        {**features, "label": datasets.ClassLabel(names=["entailment", "not_entailment"])}
    )
    graded = datasets.Features({**features, "label": datasets.ClassLabel(names=["2", "0"])})
    qnli = datasets.Dataset.from_dict(rows, features=coded)
    qnli.save_to_disk(tmp_path / "saved")
    qnli.to_parquet(tmp_path / "saved.parquet")
    datasets.Dataset.from_dict(rows, features=graded).save_to_disk(tmp_path / "graded")
    for place in (str(tmp_path / "saved"), str(tmp_path / "saved.parquet")):
        with pytest.raises(
            InputError, match="found none of 3 .*classes need --grade CLASS=GRADE: 2"
        ):
            import_table([place], tmp_path / "c", columns=Columns(), validation=ValidationDraw())
    made = bring(str(tmp_path / "saved"), tmp_path / "c", grade={"entailment": "1"})
    assert [qrel.grade for qrel in made.qrels("test")] == [1, 0]
    assert made.manifest.content["source"]["counts"]["left_out"] == {"unlabelled (label -1)": 1}
    bring(str(tmp_path / "graded"), tmp_path / "d")
    assert [qrel.grade for qrel in Collection(tmp_path / "d").qrels("test")] == [2, 0]


def test_without_the_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        DependencyError,
        match=(r"hf: wanted the package datasets; found it is not installed; run: pip install"),
    ):
        bring("x", tmp_path / "c")


def test_what_is_no_data_set_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        InputError, match="empty: wanted a data set of the Hub, or its folder; found "
    ) as caught:
        bring(str(tmp_path / "empty"), tmp_path / "c")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "c").exists()
