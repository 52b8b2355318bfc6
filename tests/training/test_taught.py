"""Groups by a teacher: its scores beside candidates or a training set, negatives from its ranking,
and every pair without a score named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.rank_order import Ranking, order_by_score
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.ranking.teacher_scores import (
    KIND,
    ScoredBlock,
    TeacherScores,
    write_teacher_scores,
)
from positionbias.training.plan import TrainPlan
from positionbias.training.trainsets.sample import StoredGroups, make_sampler
from positionbias.training.trainsets.source import group_source
from positionbias.training.trainsets.taught import Taught, make_taught_sampler

from .conftest import Task

JUDGED = [
    Qrel("q1", "b", 1),
    Qrel("q1", "d", 2),
    Qrel("q1", "gone", 1),
    Qrel("q1", "c", 0),
    Qrel("q2", "a", 1),
    Qrel("q3", "a", 1),
]
# by rank of q1: c, d, e, b, a
SCORES = {"q1": {"a": 1.0, "b": 2.0, "c": 9.0, "d": 4.0, "e": 3.0}, "q2": {"a": 5.0}}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("taught") / "small"
    with create_collection(place) as writer:
        writer.add_passages(Passage(name, f"text of {name}") for name in "abcde")
        writer.add_split("train", [Query(f"q{number}", "text") for number in (1, 2, 3)], JUDGED)
        writer.finish(Manifest("collection", "small", "a test"), allow_absent=True)
    return Collection(place)


def teacher_of(
    folder: Path, scores: Mapping[str, Mapping[str, float]], *splits: str, order_only: bool = False
) -> TeacherScores:
    rankings = []
    for query_id, own in scores.items():
        passage_ids, values = list(own), np.array(list(own.values()), np.float32)
        order = order_by_score(passage_ids, values)
        rankings.append(Ranking(query_id, [passage_ids[place] for place in order], values[order]))
    folder.mkdir()
    write_teacher_scores(
        folder,
        lambda part: ScoredBlock(part, {}),
        [rankings],
        Manifest(KIND, "teacher", "a test"),
        splits=splits or ("train",),
        order_only=order_only,
    )
    return TeacherScores(folder)


@pytest.fixture
def teacher(tmp_path: Path) -> TeacherScores:
    return teacher_of(tmp_path / "scores", SCORES)


def groups_of(folder: Path, *groups: TrainingGroup) -> Groups:
    folder.mkdir()
    write_groups(folder, list, [groups], Manifest("trainset", "set", "a test"), splits=("train",))
    return Groups(folder)


def test_negatives_stand_high_in_the_teachers_order_and_are_not_relevant(
    small: Collection, teacher: TeacherScores
) -> None:
    sampler = make_taught_sampler(
        JUDGED, teacher, small, depth=4, seed=1, absent={"gone"}, group_size=3
    )
    # of q1's first four, c, d, e and b, two are relevant; q2's only passage is relevant, q3 has no
    # scores
    assert (len(sampler), sampler.left_out, sampler.absent) == (2, 2, 1)
    groups = [group for epoch in range(9) for _, group in Taught(sampler, teacher).epoch(epoch)]
    assert {
        (group.query_id, group.passage_ids[0], frozenset(group.passage_ids[1:])) for group in groups
    } == {
        ("q1", "b", frozenset("ce")),
        ("q1", "d", frozenset("ce")),
    }
    for group in groups:
        assert group.teacher_scores == tuple(
            SCORES["q1"][passage_id] for passage_id in group.passage_ids
        )
        assert group.labels == (1, 0, 0)


def test_each_negative_is_drawn_at_some_time_and_depth_and_grade_count(
    small: Collection, teacher: TeacherScores
) -> None:
    sampler = make_taught_sampler(JUDGED, teacher, small, depth=9, seed=1, relevant_from=2)
    drawn = Counter(group.passage_ids for epoch in range(60) for _, group in sampler.epoch(epoch))
    assert set(drawn) == {("d", "a"), ("d", "b"), ("d", "c"), ("d", "e")}
    first = make_taught_sampler(JUDGED, teacher, small, depth=1, seed=1, relevant_from=2)
    assert {group.passage_ids for epoch in range(5) for _, group in first.epoch(epoch)} == {
        ("d", "c")
    }


def test_scores_beside_candidates_and_beside_a_training_set(
    teacher: TeacherScores, tmp_path: Path
) -> None:
    run = Run("bm25", [("q1", ["a", "c"], [2, 1])])
    source = Taught(make_sampler([JUDGED[1]], run, seed=1, group_size=9), teacher)
    (group,) = [group for _, group in source.epoch(0)]
    assert dict(zip(group.passage_ids, group.teacher_scores or (), strict=True)) == {
        "d": 4.0,
        "a": 1.0,
        "c": 9.0,
    }
    stored = groups_of(
        tmp_path / "set", TrainingGroup("q1", ("b", "e", "a"), (1, 0, 0), (7.0, 7.0, 7.0))
    )
    (group,) = [
        group for _, group in Taught(StoredGroups(stored, seed=1, group_size=9), teacher).epoch(0)
    ]
    # its own scores give way
    assert group == TrainingGroup("q1", ("b", "e", "a"), (1, 0, 0), (2.0, 3.0, 1.0))


def test_a_pair_without_a_score_is_named_before_training(
    small: Collection, teacher: TeacherScores, tmp_path: Path
) -> None:
    stored = groups_of(
        tmp_path / "set",
        TrainingGroup("q1", ("b", "e"), (1, 0)),
        TrainingGroup("q2", ("a", "e"), (1, 0)),
    )
    with pytest.raises(
        InputError,
        match="the teacher's score of passage 'e' for query 'q2'; found those of 1 other passages",
    ):
        Taught(StoredGroups(stored, seed=1), teacher)
    run = Run("bm25", [("q1", ["a"], [1]), ("q2", ["b", "c"], [2, 1])])
    # though it may never be drawn
    with pytest.raises(InputError, match="score of passage 'b' for query 'q2'"):
        Taught(make_sampler(JUDGED, run, seed=1, absent={"gone"}), teacher)
    unscored = teacher_of(tmp_path / "unscored", {"q1": {"a": 1.0, "c": 2.0, "d": 0.0}})
    # a positive
    with pytest.raises(
        InputError, match="unscored: wanted the teacher's score of passage 'b' for query 'q1'"
    ):
        Taught(
            make_taught_sampler(JUDGED, unscored, small, depth=9, seed=1, absent={"gone"}), unscored
        )


def test_a_teacher_of_others_is_one_line(small: Collection, tmp_path: Path) -> None:
    nobody = teacher_of(tmp_path / "nobody", {"x": {"a": 1.0, "b": 2.0}})
    with pytest.raises(
        InputError,
        match=(
            "ranking of passages for the training queries; found none that fit; check that the "
            "teacher"
        ),
    ):
        make_taught_sampler(JUDGED, nobody, small, depth=9, seed=1)
    alien = teacher_of(tmp_path / "alien", {"q1": {"b": 1.0, "d": 1.0, "z": 2.0}})
    with pytest.raises(InputError, match="wanted passage 'z' in the collection"):
        make_taught_sampler(JUDGED, alien, small, depth=9, seed=1)


@pytest.mark.parametrize("loss", ["kl"])
def test_an_order_alone_is_for_ranknet(task: Task, tmp_path: Path, loss: str) -> None:
    place = teacher_of(tmp_path / "order", SCORES, order_only=True).path
    plan = TrainPlan(teacher_scores=place, training=replace(task.plan().training, loss=loss))
    with pytest.raises(
        SettingError,
        match=(
            f"--loss: wanted ranknet: .* has only the teacher's order, no scores; found {loss}; "
            "give --loss ranknet"
        ),
    ):
        group_source(task.collection, plan)
    fitting = replace(plan, training=replace(plan.training, loss="ranknet"))
    # it goes on to what else is wrong
    with pytest.raises(InputError, match="for the training queries; found none that fit"):
        group_source(task.collection, fitting)


def test_a_student_learns_a_teachers_order(task: Task, tmp_path: Path) -> None:
    """The teacher knows the relevant passage; the student comes to score it above the others."""
    run = Run.from_file(task.runs["train"])
    relevant = {(q.query_id, q.passage_id) for q in task.collection.qrels("train") if q.grade}
    scores = {
        r.query_id: {item: float((r.query_id, item) in relevant) * 4 for item in r.passage_ids}
        for r in run.rankings()
    }
    for query_id, passage_id in relevant:
        scores[query_id][passage_id] = 4.0
    place = teacher_of(tmp_path / "scores", scores).path
    steps = {"max_steps": 16, "validate_every": 8}
    plan = task.plan(
        loss="margin_mse", group_size=3, candidates=None, teacher_scores=place, **steps
    )
    whole = task.train(tmp_path / "whole.ckpt", plan)
    log = whole.training.log
    assert log[-1]["loss"] < log[1]["loss"]  # there is none at step 0
    assert log[-1]["pair_accuracy"] > log[1]["pair_accuracy"]
    manifest = whole.manifest
    assert manifest.input("teacher_scores").checksum == TeacherScores(place).checksum
    assert manifest.settings["teacher_depth"] == 100


def test_scores_of_another_split_are_one_line(task: Task, tmp_path: Path) -> None:
    place = teacher_of(tmp_path / "scores", SCORES, "dev", "test").path
    plan = TrainPlan(teacher_scores=place, training=replace(task.plan().training, loss="kl"))
    with pytest.raises(
        InputError,
        match=(
            "wanted a teacher's scores of split 'train'; found those of 'dev', 'test'; give the "
            "--split"
        ),
    ):
        group_source(task.collection, plan)
