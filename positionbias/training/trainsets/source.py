"""Open and check the source of a training's groups before anything is written."""

from __future__ import annotations

from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.core.run import Run
from positionbias.ranking.teacher_scores import TeacherScores, open_teacher_scores
from positionbias.training.config import LOSSES
from positionbias.training.plan import TrainPlan
from positionbias.training.trainsets.sample import GroupSource, StoredGroups, make_sampler
from positionbias.training.trainsets.taught import Taught, make_taught_sampler


def group_source(collection: Collection, plan: TrainPlan) -> GroupSource:
    """Return the plan's groups: sampled from candidates or a teacher's ranking, or stored; with a
    teacher's scores if given.

    Raises:
        InputError: a file that is missing or does not fit the collection and split, or a pair
            without its teacher's score.
        SettingError: the loss needs scores, and the teacher has only an order.
    """
    teacher = None if plan.teacher_scores is None else _teacher(plan)
    if plan.trainset is not None:
        source: GroupSource = _stored(plan)
    else:
        source = _sampled(collection, plan, teacher)
    return source if teacher is None else Taught(source, teacher)


def _stored(plan: TrainPlan) -> StoredGroups:
    groups = Groups(str(plan.trainset))
    if plan.split not in (None, *groups.splits) or not len(groups):
        raise bad_input(
            groups.path,
            wanted="training groups" + (f" of split {plan.split!r}" if plan.split else ""),
            found=f"{len(groups):,} of {', '.join(map(repr, groups.splits))}",
            do="leave --split out, or give another --trainset"
            if len(groups)
            else "give another --trainset",
        )
    return StoredGroups(groups, seed=plan.training.seed, group_size=plan.training.group_size)


def _sampled(collection: Collection, plan: TrainPlan, teacher: TeacherScores | None) -> GroupSource:
    assert plan.split is not None
    training = plan.training
    qrels = collection.qrels(plan.split)
    chosen: dict[str, Any] = {
        "seed": training.seed,
        "group_size": training.group_size,
        "relevant_from": plan.relevant_from,
    }
    chosen["absent"] = set(collection.absent(list({qrel.passage_id for qrel in qrels})))
    if plan.candidates is not None:
        run = Run.from_file(plan.candidates)
        collection.rows(run.passage_ids)
        return make_sampler(qrels, run, **chosen)
    assert teacher is not None
    assert plan.teacher_depth is not None
    if teacher.splits and plan.split not in teacher.splits:
        found, do = (
            f"those of {', '.join(map(repr, teacher.splits))}",
            "give the --split that the teacher has scored",
        )
        raise bad_input(
            teacher.path, wanted=f"a teacher's scores of split {plan.split!r}", found=found, do=do
        )
    return make_taught_sampler(qrels, teacher, collection, depth=plan.teacher_depth, **chosen)


def _teacher(plan: TrainPlan) -> TeacherScores:
    teacher = open_teacher_scores(str(plan.teacher_scores))
    if teacher.order_only and not LOSSES[str(plan.training.loss)].order_alone:
        fitting = " or ".join(name for name, kind in LOSSES.items() if kind.order_alone)
        raise SettingError(
            f"--loss: wanted {fitting}: {teacher.path} has only the teacher's order, no scores; "
            f"found {plan.training.loss}; give --loss {fitting}, or a teacher with scores"
        )
    return teacher
