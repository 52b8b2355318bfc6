"""A study's folder belongs to the settings that it began with."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import pytest

from positionbias.core.errors import OutputExistsError, StorageError
from positionbias.core.settings import setting
from positionbias.experiments.step import RECORD, record_of, same_settings
from positionbias.training.config import TrainConfig

TWO, FOUR = (
    {"study": "a", "settings": {"max_steps": 2}},
    {"study": "a", "settings": {"max_steps": 4}},
)


def test_the_same_settings_go_on(tmp_path: Path) -> None:
    for _ in range(2):
        with same_settings(tmp_path / "s", TWO):
            assert json.loads((tmp_path / "s" / RECORD).read_text()) == TWO


def test_a_study_at_work_keeps_others_out(tmp_path: Path) -> None:
    def other() -> None:
        with same_settings(tmp_path / "s", TWO, overwrite=True):
            pytest.fail("the block must not run")

    with (
        same_settings(tmp_path / "s", TWO),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(StorageError, match=r"s: .* found another run at work; wait for it"),
    ):
        pool.submit(other).result()


def test_other_settings_replace_a_study_only_when_asked(tmp_path: Path) -> None:
    with same_settings(tmp_path / "s", TWO):
        pass
    with (
        pytest.raises(
            OutputExistsError,
            match=r"another study was made here \(max_steps 2, now 4\); .*--overwrite",
        ),
        same_settings(tmp_path / "s", FOUR),
    ):
        pytest.fail("the block must not run")
    with same_settings(tmp_path / "s", FOUR, overwrite=True):
        pass
    with (
        pytest.raises(OutputExistsError, match="max_steps 4, now 2"),
        same_settings(tmp_path / "s", TWO),
    ):
        pytest.fail("the block must not run")


@dataclass(frozen=True)
class Settings:
    vectors: Annotated[Path | None, "a file"] = setting(None, "Vectors.", place="read")
    training: TrainConfig = field(default_factory=TrainConfig)


def test_files_count_by_their_content_and_what_changes_nothing_is_left_out(tmp_path: Path) -> None:
    for name, text in (("a/v", "1"), ("b/v", "1"), ("c/v", "2")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    one, same, other = (record_of(Settings(tmp_path / name / "v")) for name in "abc")
    assert one == same != other
    threads = replace(TrainConfig(), save_minutes=7.0)
    assert record_of(Settings(tmp_path / "a" / "v", threads)) == one
    assert record_of(Settings(tmp_path / "a" / "v", replace(TrainConfig(), max_steps=7))) != one
    json.dumps(one)
