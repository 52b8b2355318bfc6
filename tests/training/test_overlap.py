"""Validation queries whose relevant passages are training positives too: counted, recorded and
said.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.training.train import train_model
from positionbias.training.trainsets.sample import GroupSampler, StoredGroups

from ..cli.test_train import SMALL
from .conftest import Task
from .test_trainset import stored


def overlapping(task: Task, folder: Path) -> Groups:
    """Groups of four training queries, whose positives are relevant to 3 of the 12 validation
    queries, and of one of their own.
    """
    validation = [qrel.passage_id for qrel in task.collection.qrels("validation") if qrel.grade][:3]
    own = [
        (qrel.query_id, qrel.passage_id) for qrel in task.collection.qrels("train") if qrel.grade
    ][:4]
    positives = [*validation, own[3][1]]
    other = next(item for item in task.collection.passage_ids() if item not in positives)
    groups = [
        TrainingGroup(query_id, (positive, other), (1, 0))
        for (query_id, _), positive in zip(own, positives, strict=True)
    ]
    return stored(folder, groups)


def test_both_kinds_of_groups_know_their_positives(tmp_path: Path) -> None:
    groups = stored(
        tmp_path / "set",
        [TrainingGroup("q", ("a", "b"), (1, 0)), TrainingGroup("r", ("c", "a", "d"), (1, 0, 0))],
    )
    sampler = GroupSampler(
        [("q", "a"), ("r", "c")], {"q": ["b"], "r": ["a", "d"]}, seed=1, left_out=0
    )
    for source in (StoredGroups(groups, seed=1), sampler):
        assert source.positives_among({"a", "b", "d", "x"}) == {"a"}  # b and d are negatives alone
        assert source.positives_among(set()) == set()


def test_the_overlap_is_counted_and_recorded(task: Task, tmp_path: Path, uninterrupted) -> None:
    content = uninterrupted.manifest.content
    # each answer is of one query
    assert (content["validation_queries"], content["validation_queries_seen"]) == (12, 0)
    plan = replace(
        task.plan(max_steps=2), candidates=None, trainset=overlapping(task, tmp_path / "set").path
    )
    checkpoint = train_model(task.collection, plan, tmp_path / "tk.ckpt")
    assert checkpoint.manifest.content["validation_queries_seen"] == 3


def test_train_says_so(task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        "--trainset": overlapping(task, tmp_path / "set").path,
        "--validation-candidates": task.runs["validation"],
        "--out": tmp_path / "tk.ckpt",
    }
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "train",
                "tk",
                str(task.collection.path),
                *(str(part) for pair in options.items() for part in pair),
                *map(str, SMALL),
            ]
        )
    assert not stop.value.code
    said = capsys.readouterr().err
    assert (
        "3 of 12 validation queries (25.0%) have a relevant passage that is a training positive too"
        in said
    )
    assert "--set validation_by=passage" in said
