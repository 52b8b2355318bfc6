"""ATS and MATS from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import OutputExistsError, SettingError
from positionbias.core.rows import load
from positionbias.probe.settings import ProbeSettings
from tests.tiny import saved_tk


def test_curves_and_their_summary_are_of_one_probe(
    small_collection: Collection, tmp_path: Path
) -> None:
    model = saved_tk(tmp_path / "tk", small_collection)
    settings = ProbeSettings(minimum_terms=1, sample_pairs=10)
    curves = positionbias.mats(small_collection, models=[model], curve=True, settings=settings)
    number = positionbias.mats(small_collection.path, models=[model], settings=settings)
    assert curves.to_frame().drop(columns="study").equals(number.to_frame().drop(columns="study"))
    assert str(curves).startswith("tk on small: where positions differ, a word's vectors are ")
    assert "\nAverage term similarity (ATS)" in str(curves)
    assert "\nTerm similarity by distance in position (MATS)" in str(number)
    assert load(curves.save(tmp_path / "kept")).equals(curves.to_frame())


def test_what_is_there_is_kept_and_settings_are_checked(
    small_collection: Collection, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(OutputExistsError):
        positionbias.mats(small_collection, models=["nothing"], out=tmp_path / "kept")
    with pytest.raises(
        SettingError,
        match=r"--probe-layers: wanted numbers with commas between them, or all; found 'last'",
    ):
        ProbeSettings(probe_layers="last")  # type: ignore[arg-type]
    assert ProbeSettings(probe_layers="0,2").probe_layers == (0, 2)  # type: ignore[arg-type]
