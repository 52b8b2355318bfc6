"""``posbias model trainset contaminated`` as a user runs it: to a trained teacher, the figures of
real judgements, and bad input in one line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.core.run import Run, write_run

from ..tiny import candidates, planted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planted collection with its candidates, where commands run."""
    candidates(planted(tmp_path / "small"), tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    return stop.value.code, *capsys.readouterr()  # type: ignore[return-value]


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


@pytest.mark.realdata
def test_the_deep_learning_track_over_a_sample_of_its_corpus(
    tmp_path: Path,
    posbias_data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the paper's 2,501 positives those whose passages are in the sample, each once; the others
    are counted.
    """
    name, groups, missing = "dl19", 1_790, 711
    monkeypatch.chdir(tmp_path)
    source = posbias_data / "msmarco_mini"
    attached = ("--attach", name, source / f"queries.{name}.tsv", source / f"qrels.{name}.txt")
    assert (
        posbias(
            capsys,
            "import",
            "msmarco",
            source,
            *attached,
            "--validation-queries",
            200,
            "--out",
            "./mini",
        )[0]
        == 0
    )
    collection = Collection(tmp_path / "mini")
    some = [passage.passage_id for passage, _ in zip(collection.passages(), range(5), strict=False)]
    rankings = (
        (query_id, some, [5.0, 4.0, 3.0, 2.0, 1.0])
        for query_id, _ in collection.query_texts("train")
    )
    write_run(tmp_path / "some.run", Run("some", rankings))
    made = posbias(
        capsys,
        "model",
        "trainset",
        "contaminated",
        "./mini",
        "--contaminate",
        name,
        "--candidates",
        "some.run",
        "--out",
        "./set",
        "--json",
    )
    assert made[0] == 0, made[2]
    content = Groups(tmp_path / "set").manifest.content
    counts = content["origins"][name]
    assert (counts["queries"], counts["groups"]) == (43, groups)
    assert counts["positives missing from the corpus"] == missing
    relevant = {
        (qrel.query_id, qrel.passage_id) for qrel in collection.qrels(name) if qrel.grade >= 2
    }
    assert groups + missing == len(relevant) == 2_501
    judged = {query_id for query_id, _ in relevant}
    stored = [group for group in Groups(tmp_path / "set") if group.query_id in judged]
    there = {(group.query_id, group.passage_ids[0]) for group in stored}
    assert len(there) == groups
    assert there <= relevant
    assert counts["judged negatives"] + counts["random negatives"] == groups
    assert not any((group.query_id, group.passage_ids[1]) in relevant for group in stored)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--contaminate", "tset"],
            "small: wanted a split 'tset' for --contaminate; found train, validation, test",
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
            ["--contaminate", "test", "--set", "group_size=1"],
            "group_size: wanted at least 2; found 1",
        ),
        (
            ["--set", "split=nowhere"],
            "small: wanted split 'nowhere'; found train, validation, test",
        ),
        (
            ["--set", "split=validation"],
            "train.run: wanted queries of split 'validation'; found query",
        ),
        (["--candidates", "none.run"], "none.run: wanted a readable file"),
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
