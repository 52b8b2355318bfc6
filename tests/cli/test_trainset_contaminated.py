"""``posbias model trainset contaminated`` as a user runs it: to a trained teacher, the figures of
real judgements, and bad input in one line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from tests.commands import posbias

from ..tiny import candidates, planted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planted collection with its candidates, where commands run."""
    candidates(planted(tmp_path / "small"), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CONTAMINATED = ("model", "trainset", "contaminated", "./small", "--out", "./set")
TEST = ("--contaminate", "test", "--set", "target_relevant_from=1", "--candidates", "train.run")


def test_to_a_teacher_that_saw_the_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = posbias(capsys, *CONTAMINATED, *TEST, "--set", "group_size=4")
    assert code == 0, err
    collection = Collection(folder / "small")
    test = sum(qrel.grade >= 1 for qrel in collection.qrels("test"))
    stored = Groups(folder / "set")
    train = len(stored) - test
    lines = [line.split() for line in out.splitlines()]
    own = stored.manifest.content["origins"]["train"]
    assert ["train", str(own["queries"]), str(own["groups"])] in [line[:3] for line in lines]
    assert ["test", "18", str(test)] in [line[:3] for line in lines]
    assert f"{train + test} training groups written to set" in err
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
    training = (
        "--set",
        "max_steps=4",
        "--set",
        "validate_every=2",
        "--batch-size",
        4,
        "--set",
        "probe_passages=0",
        "--set",
        "threads=1",
    )
    done = posbias(
        capsys, "train", "tk", "./small", "--trainset", "./set", "--loss", "lce",
        "--set", "group_size=4",
        *shape, *training,
        "--validation-candidates", "validation.run", "--out", "./teacher.ckpt",
    )  # fmt: skip
    assert done[0] == 0, done[2]
    manifest = read_manifest(folder / "teacher.ckpt")
    assert manifest.content["training_groups"] == train + test
    assert manifest.input("trainset").checksum == stored.checksum  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--contaminate", "tset"],
            "small: wanted split 'tset'; found train, validation, test; did you mean test?",
        ),
        (
            ["--contaminate", "test"],
            "small: wanted a passage judged 2 or higher in target 'test'; found",
        ),
        (
            ["--contaminate", "train"],
            "--contaminate, --split: wanted different splits; found 'train' as both",
        ),
        (
            ["--set", "split=validation"],
            "train.run: wanted queries of split 'validation' and passages of planted; found query",
        ),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    run = () if "--candidates" in arguments else ("--candidates", "train.run")
    code, out, err = posbias(capsys, *CONTAMINATED, *run, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(path.name for path in folder.iterdir()) == before
