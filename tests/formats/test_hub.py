"""Data sets of the Hub: what cannot be had is one line."""

from __future__ import annotations

import sys
from pathlib import Path

import datasets
import pytest

from positionbias.core.columns import Columns
from positionbias.core.errors import DependencyError, InputError
from positionbias.core.validation_draw import ValidationDraw
from positionbias.formats.hub import import_hub


def bring(name: str, out: Path) -> list[str]:
    return import_hub(name, out, config="", columns=Columns(), validation=ValidationDraw()).splits


def test_the_splits_of_a_saved_data_set_become_splits(tmp_path: Path) -> None:
    own = datasets.Dataset.from_dict({"context": ["Oil burns."], "question": ["What burns?"]})
    datasets.DatasetDict({"train": own, "dev": own}).save_to_disk(tmp_path / "saved")
    assert bring(str(tmp_path / "saved"), tmp_path / "c") == ["train", "validation"]


def test_without_the_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        DependencyError, match=r"import hf: wanted the package datasets; found it is not installed; run: pip install"
    ):
        bring("x", tmp_path / "c")


def test_what_is_no_data_set_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: wanted a data set of the Hub, or its folder; found ") as caught:
        bring(str(tmp_path / "empty"), tmp_path / "c")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "c").exists()
