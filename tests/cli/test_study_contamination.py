"""``posbias study contamination`` as a user runs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.models.new_encoder import make_encoder
from positionbias.models.settings import EncoderSettings

from ..tiny import PLANTED, TINY, planted

GIVEN = [
    "--target",
    "test",
    "--set",
    "target_relevant_from=1",
    "--out",
    "./study",
    "--set",
    "depth=6",
]
GIVEN += [
    "--set",
    "train_depth=8",
    "--set",
    "threads=1",
    "--set",
    "batch_size=8",
    "--loss",
    "kl",
    "--seeds",
    1,
]
NAMES = ("dimension", "layers", "heads", "head_size", "feed_forward")
SHAPE = [f"{name}={getattr(TINY, name)}" for name in NAMES]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    # 27 training, 15 validation and 18 test queries: of fewer a Wilcoxon test takes long
    return planted(
        tmp_path_factory.mktemp("contamination") / "planted",
        replace(PLANTED, validation_share=0.25),
    )


@pytest.fixture(scope="module")
def command(collection: Collection) -> list[object]:
    """Teacher and student over small encoders, the student's beside a TK."""
    place = collection.path.parent / "small"
    make_encoder([collection], place, EncoderSettings(layers=1, width=8, heads=2, pieces=120))
    given: list[object] = ["study", "contamination", collection.path, *GIVEN, "--encoder", place]
    given += ["--models", "tk", "--models", "bert_dot", "--set", "learning_rate=1e-3"]
    for assignment in SHAPE:
        given += ["--set", f"tk.{assignment}"]
    return given


def test_bad_options(
    command: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for more, line in (
        (
            ["--loss", "lce"],
            ("--loss: wanted one that reads a teacher's scores (margin_mse, kl, ranknet)"),
        ),
        (
            ["--source", "test"],
            "--source, --target, validation_split: wanted different splits; found",
        ),
        (
            ["--set", "target_relevant_from=3"],
            "wanted passages judged 3 or higher in target 'test'; found none",
        ),
        (
            ["--contaminate", "train"],
            "--contaminate: wanted splits among test; found 'train'",
        ),
    ):
        with pytest.raises(SystemExit) as stop:
            main([*map(str, command), *map(str, more)])
        said = capsys.readouterr().err
        assert (stop.value.code, said.count("\n")) == (2, 1), said
        assert line in said
    assert not (tmp_path / "study").exists()
