"""Training on stored groups: each once an epoch, the same after a stop, and the same as the groups
that they hold.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.run import Run
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan
from positionbias.training.train import train_model
from positionbias.training.trainsets.sample import StoredGroups

from .conftest import Task


def stored(folder: Path, groups: list[TrainingGroup], *splits: str) -> Groups:
    folder.mkdir()
    write_groups(
        folder, list, [groups], Manifest("trainset", "set", "a test"), splits=splits or ("train",)
    )
    return Groups(folder)


def trainset(task: Task, folder: Path) -> Groups:
    run, relevant = (
        Run.from_file(task.runs["train"]),
        {q.query_id: q.passage_id for q in task.collection.qrels("train") if q.grade},
    )
    groups = []
    for ranking in run.rankings():
        negatives = tuple(
            item for item in ranking.passage_ids if item != relevant[ranking.query_id]
        )[:3]
        groups.append(
            TrainingGroup(
                ranking.query_id,
                (relevant[ranking.query_id], *negatives),
                (1, *(0 for _ in negatives)),
            )
        )
    return stored(folder, groups)


def test_each_group_stands_once_in_an_epoch_and_epochs_differ(tmp_path: Path) -> None:
    groups = [TrainingGroup(f"q{n}", ("p", "n"), (1, 0)) for n in range(50)]
    source = StoredGroups(stored(tmp_path / "set", groups), seed=3)
    first, second = ([group.query_id for _, group in source.epoch(epoch)] for epoch in (0, 1))
    assert sorted(first) == sorted(second) == sorted(group.query_id for group in groups)
    assert first != second
    assert list(source.epoch(1, 17)) == list(source.epoch(1))[17:]


def test_of_many_negatives_each_is_drawn_at_some_time(tmp_path: Path) -> None:
    group = TrainingGroup("q", ("p", "a", "b", "c"), (2, 0, 1, 0), (9.0, 1.0, 2.0, 3.0))
    source = StoredGroups(stored(tmp_path / "set", [group]), seed=1)
    drawn = [pair for epoch in range(60) for _, pair in source.epoch(epoch)]
    assert {pair.passage_ids[0] for pair in drawn} == {"p"}
    counts = Counter(pair.passage_ids[1] for pair in drawn)
    assert set(counts) == {"a", "b", "c"}
    b = next(pair for pair in drawn if pair.passage_ids[1] == "b")
    assert (b.labels, b.teacher_scores) == ((2, 1), (9.0, 2.0))


def test_several_negatives_are_different_ones_and_small_groups_stay_whole(tmp_path: Path) -> None:
    large = TrainingGroup("q", ("p", "a", "b", "c"), (2, 0, 1, 0), (9.0, 1.0, 2.0, 3.0))
    source = StoredGroups(
        stored(tmp_path / "set", [large, TrainingGroup("r", ("p", "a"), (1, 0))]),
        seed=1,
        group_size=3,
    )
    drawn = [group for epoch in range(40) for _, group in source.epoch(epoch)]
    assert {group.passage_ids for group in drawn if group.query_id == "r"} == {("p", "a")}
    sets = Counter(frozenset(group.passage_ids[1:]) for group in drawn if group.query_id == "q")
    assert set(sets) == {frozenset("ab"), frozenset("ac"), frozenset("bc")}
    whole = StoredGroups(source.groups, seed=1, group_size=9)
    assert large in [group for _, group in whole.epoch(0)]


def test_groups_of_another_split_are_one_line(task: Task, tmp_path: Path) -> None:
    groups = stored(
        tmp_path / "set", [TrainingGroup("q", ("p", "n"), (1, 0))], "validation", "test"
    )
    plan = replace(task.plan(), candidates=None, trainset=groups.path)
    with pytest.raises(
        InputError, match="wanted training groups of split 'train'; found 1 of 'validation', 'test'"
    ):
        train_model(task.collection, plan, tmp_path / "tk.ckpt")


@pytest.mark.parametrize(
    ("given", "loss", "complaint"),
    [
        (
            (),
            "hinge",
            "--candidates, --trainset, --teacher-scores: wanted one of them; found none; give one",
        ),
        (
            ("candidates", "teacher_scores"),
            "lce",
            (
                "--teacher-scores: wanted a loss that reads them (margin_mse, kl, ranknet); found "
                "--loss lce"
            ),
        ),
        (("candidates",), "kl", "--loss: wanted --teacher-scores beside kl; found none"),
    ],
    ids=[
        "neither",
        "scores for nothing",
        "no teacher",
    ],
)
def test_where_groups_come_from(given: tuple[str, ...], loss: str, complaint: str) -> None:
    places: dict[str, Any] = {name: 7 if name == "teacher_depth" else Path(name) for name in given}
    with pytest.raises(SettingError, match=re.escape(complaint)):
        TrainPlan(validation_candidates=Path("v"), training=TrainConfig(loss=loss), **places)


def test_a_teachers_ranking_alone_says_what_negatives_are() -> None:
    plan = TrainPlan(teacher_scores=Path("scores"), training=TrainConfig(loss="kl"))
    assert (plan.split, plan.teacher_depth) == ("train", 100)


def test_groups_without_a_teachers_scores_are_named(task: Task, tmp_path: Path) -> None:
    groups = trainset(task, tmp_path / "set")
    plan = replace(
        task.plan(),
        candidates=None,
        trainset=groups.path,
        training=replace(task.plan().training, loss="kl"),
    )
    with pytest.raises(
        InputError,
        match="wanted a teacher's scores of every training group; found none of query '.*' with",
    ):
        train_model(task.collection, plan, tmp_path / "tk.ckpt")


def test_a_teachers_score_that_is_no_number_is_refused_when_it_is_written(tmp_path: Path) -> None:
    group = TrainingGroup("q7", ("p1", "p2"), (1, 0), (float("nan"), 1.0))
    with pytest.raises(
        InputError, match="query 'q7': wanted finite teacher's scores; found nan of passage 'p1'"
    ):
        stored(tmp_path / "set", [group])
