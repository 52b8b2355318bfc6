"""Collections from Python: the same functions that the command line calls."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.errors import SettingError
from positionbias.core.rows import load
from positionbias.planted.settings import PlantedSettings
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import (
    AnswerRange,
    Density,
    HistogramOptions,
    Placing,
    Selection,
)

SMALL = PlantedSettings(queries=40, passages=100, seed=3)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> positionbias.Collection:
    return positionbias.import_planted(
        planted=SMALL, out=tmp_path_factory.mktemp("ops") / "planted"
    )


def test_a_collection_is_given_by_itself_by_its_folder_or_by_its_name(
    planted: positionbias.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSBIAS_HOME", str(planted.path.parent))
    for given in (planted, planted.path, str(planted.path), "planted"):
        rows = positionbias.show(given).rows
        assert rows is not None
        assert rows.set_index("measure")["value"]["passages"] == 100


def test_sample_select_place_and_merge_give_collections(
    planted: positionbias.Collection, tmp_path: Path
) -> None:
    drawn = positionbias.sample(
        planted, queries=5, passages=30, splits=["test"], seed=2, out=tmp_path / "drawn"
    )
    assert (len(drawn), drawn.splits) == (30, ["test"])
    front = positionbias.select(
        planted, selection=Selection(AnswerRange(0, 0.5), split="train"), out=tmp_path / "front"
    )
    assert 0 < len(front.queries("train")) < len(planted.queries("train"))
    placed = positionbias.place(
        planted, placing=Placing(Density("front", 1.0)), out=tmp_path / "placed"
    )
    assert placed.manifest.command == "place"
    merged = positionbias.merge([f"a={drawn.path}", f"b={front.path}"], out=tmp_path / "merged")
    assert len(merged) == 130


def test_a_histogram_is_kept_as_rows_and_written_as_text(
    planted: positionbias.Collection, tmp_path: Path
) -> None:
    found = positionbias.histogram(
        [planted],
        splits=["test"],
        options=HistogramOptions(bins=4, resamples=100),
        out=tmp_path / "found",
    )
    rows = load(tmp_path / "found")
    assert rows.equals(found.to_frame())
    assert set(rows["measure"]) == {"answer positions"}
    assert "planted" in str(found)


def test_what_python_gives_is_checked_as_on_the_command_line(
    planted: positionbias.Collection, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match="--queries: 0 is not in the range x>=1"):
        positionbias.sample(planted, queries=0, passages=5, out=tmp_path / "x")
    with pytest.raises(
        SettingError,
        match="--out: wanted a place apart from what is read; found .*which is the input",
    ):
        positionbias.sample(planted, queries=1, passages=5, out=planted.path, overwrite=True)
    with pytest.raises(SettingError, match="--seed: -1 is not in the range x>=0"):
        positionbias.sample(planted, queries=1, passages=5, seed=-1, out=tmp_path / "x")


def test_the_docstring_has_the_parameters_with_their_help() -> None:
    text = positionbias.sample.__doc__ or ""
    assert "Args:" in text
    assert "queries: Queries to draw of each split, at most." in text
    assert text.index("Args:") < text.index("Returns:") < text.index("Raises:")


def test_debias_rotates_a_collection_and_a_file(
    planted: positionbias.Collection, tmp_path: Path
) -> None:
    rotated = positionbias.debias(planted, rotation=Rotation(seed=4), out=tmp_path / "rotated")
    assert isinstance(rotated, positionbias.Collection)
    assert rotated.manifest.settings == {
        "words": "blingfire",
        "mode": "words",
        "identity": True,
        "seed": 4,
    }
    (tmp_path / "raw.tsv").write_text("p1\tone two three four\n")
    written = positionbias.debias(tmp_path / "raw.tsv", out=tmp_path / "rotated.tsv")
    assert written.to_frame()["count"].max() == 1
    # the doctest of rotate
    assert (tmp_path / "rotated.tsv").read_text() == "p1\ttwo three four one \n"
    with pytest.raises(SettingError, match="--format: wanted a raw file; found the collection"):
        positionbias.debias(planted, format="jsonl", out=tmp_path / "again")
