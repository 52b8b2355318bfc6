"""The training sets of a TripClick study: what is drawn and counted, whatever the order of
judgements.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.publish import atomic_folder
from positionbias.experiments.models import ModelSettings
from positionbias.papers.tripclick.measured import count_set
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.papers.tripclick.study import write_study_set
from tests.tiny import TINY

from .made_up import judged_collection


def settings(**changes: Any) -> TripClickSettings:
    given: dict[str, Any] = {
        "tests": (JudgedSplit("test"),),
        "models": (ModelSettings("tk", TINY),),
    }
    return TripClickSettings(**{**given, **changes})


def test_which_triples_a_judged_set_has(tmp_path: Path) -> None:
    found, run = judged_collection(tmp_path / "judged")
    of = settings(negatives_of={"original": "own", "more": "more"}, negatives=2)
    for which, triples in (
        (of.sets[1], {("q1", 2), ("q2", 1)}),  # q3 has nothing of grade 0
        (of.sets[2], {("q1", 2), ("q2", 2), ("q3", 2)}),
    ):
        made = write_study_set(tmp_path / which, found, run, which, of)
        assert set(Counter(group.query_id for group in made).items()) == triples


def test_false_negatives_are_counted_by_the_complete_judgements(tmp_path: Path) -> None:
    found, _ = judged_collection(tmp_path / "judged")
    groups = [
        TrainingGroup("q1", ("a", "b"), (1, 0)),
        TrainingGroup("q2", ("a", "q2-1"), (1, 0)),
        TrainingGroup("q2", ("d", "q2-1"), (1, 0)),
        TrainingGroup("q2", ("a", "q2-4", "q2-3"), (1, 0, 0)),
    ]
    with atomic_folder(tmp_path / "set") as folder:
        manifest = Manifest("trainset", "set", "a test")
        write_groups(folder, list, [groups], manifest, splits=("train",))
    counts = {"groups": 4, "queries": 2, "positives": 3, "negatives": 5}
    stored = Groups(tmp_path / "set")
    # in the truth 1 and 4 of q2 are relevant
    complete = settings(complete_qrels="truth")
    assert count_set(stored, found, complete) == {**counts, "false negatives": 3}
    assert count_set(stored, found, settings()) == counts
