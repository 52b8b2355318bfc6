"""``posbias model trainset leaked`` as a user runs it: from a planted pair of source and target to
a trained model, and bad input in one line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from tests.commands import posbias

from ..tiny import candidates

# 18 test queries
SETTINGS = PlantedSettings(
    queries=60, passages=240, test_share=0.3, validation_share=0.2, leaked_queries=20
)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planted pair with its candidates, where commands run."""
    collection = write_planted(tmp_path / "pair", SETTINGS)
    candidates(collection, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


LEAKED = ("model", "trainset", "leaked", "./pair", "--target", "test")


def test_from_a_planted_pair_to_a_model(
    pair: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (
        "--set",
        "dimension=8",
        "--set",
        "layers=1",
        "--set",
        "heads=2",
        "--set",
        "head_size=3",
        "--set",
        "feed_forward=6",
    )
    monkeypatch.setenv("COLUMNS", "300")
    training = (
        "--set",
        "max_steps=4",
        "--set",
        "validate_every=2",
        "--batch-size",
        4,
        "--set",
        "probe_passages=0",
    )
    words = set()
    for kind in ("msm", "test"):
        drawn = ("--pairs", "pair", "--candidates", "train.run", "--leakage", kind, "--size", 24)
        code, out, err = posbias(
            capsys, *LEAKED, *drawn, "--leaked-queries", 10, "--out", f"./{kind}"
        )
        assert code == 0, err
        row = next(line.split() for line in out.splitlines() if f"{kind}-24-1" in line)
        assert row[:4] == [f"{kind}-24-1", "24", "10", "83.3"]
        assert f"12 training groups written to {kind}" in err
        done = posbias(
            capsys, "train", "tk", "./pair", "--trainset", f"./{kind}", "--validation-candidates",
            "validation.run", *shape, *training, "--set", "threads=1", "--out", f"./{kind}.ckpt",
        )  # fmt: skip
        assert done[0] == 0, done[2]
        manifest = read_manifest(pair / f"{kind}.ckpt")
        assert manifest.content["training_groups"] == 12
        assert manifest.input("trainset").checksum == Groups(pair / kind).checksum
        words.add(manifest.content["words"])
    assert len(words) == 1  # all kinds know the same words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "none.run"], "none.run: wanted a readable file"),
        (
            ["--candidates", "validation=validation.run"],
            "--candidates: wanted SPLIT=RUN with one of the sources, train; found",
        ),
        (
            ["--source", "train", "--source", "validation", "--candidates", "train.run"],
            "--candidates: wanted SPLIT=RUN with one of the sources",
        ),
        (
            ["--source", "train", "--source", "validation", "--candidates", "train=train.run"],
            (
                "--candidates: wanted a run for each source; found none for 'validation'; add "
                "--candidates validation=RUN"
            ),
        ),
        (
            ["--candidates", "train.run"],
            "--size: wanted at least 72 instances for 36 leaked queries; found 30",
        ),
        (
            ["--candidates", "train.run", "--pairs", "others.tsv"],
            "others.tsv: wanted pairs with queries of the target; found 1 pairs with others",
        ),
    ],
)
def test_bad_input_is_one_line(
    pair: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (pair / "others.tsv").write_text("train_id\ttest_id\na\tb\n")
    before = sorted(path.name for path in pair.iterdir())
    size = () if "--size" in arguments else ("--size", 30)
    kind = () if "--leakage" in arguments else ("--leakage", "test")
    kind = kind if "--pairs" in arguments else (*kind, "--pairs", "pair")
    code, out, err = posbias(capsys, *LEAKED, *size, *kind, *arguments, "--out", "./set")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"posbias: {message}")
    assert sorted(path.name for path in pair.iterdir()) == before
