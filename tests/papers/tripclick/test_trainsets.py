"""The training sets of a TripClick study: what is drawn, what is left out and counted, whatever the
order of judgements and the number of workers.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.engine.local import map_shards
from positionbias.experiments.model_settings import ModelSettings
from positionbias.papers.tripclick import CLEANED
from positionbias.papers.tripclick.settings import (
    OWN_JUDGEMENTS,
    JudgedSplit,
    Negatives,
    TripClickSettings,
)
from positionbias.papers.tripclick.trainsets import LEFT_OUT, write_study_set
from positionbias.planted.clicks import PASSED_OVER
from positionbias.planted.generator import PlantedSettings, write_planted
from tests.tiny import TINY

from .made_up import judged_collection


def settings(**changes: Any) -> TripClickSettings:
    given: dict[str, Any] = {
        "tests": (JudgedSplit("test"),),
        "models": (ModelSettings("tk", TINY),),
    }
    return TripClickSettings(**{**given, **changes})


def test_what_a_set_leaves_out_is_counted(tmp_path: Path) -> None:
    found, runs = judged_collection(tmp_path / "judged")
    own, more = Negatives("original", OWN_JUDGEMENTS), Negatives("more", "more")
    of = settings(
        negatives_of=(own, more),
        complete_qrels="truth",
        cleaned=True,
        negatives=2,
        tests=(JudgedSplit("test"),),
    )
    for name, triples, without, fewer in (
        ("original", {("q1", 2), ("q2", 1)}, 1, 1),  # q3 has nothing of grade 0
        (f"original{CLEANED}", {("q1", 2)}, 2, 0),  # what q2 has is relevant
        ("more", {("q1", 2), ("q2", 2), ("q3", 2)}, 0, 0),
        (f"more{CLEANED}", {("q1", 2), ("q2", 1), ("q3", 2)}, 0, 1),
    ):
        (which,) = [one for one in of.sets if one.name == name]
        made = write_study_set(tmp_path / name, found, runs, which, of)
        assert set(Counter(group.query_id for group in made).items()) == triples
        assert made.manifest.content[LEFT_OUT] == {
            "positives": 4,
            "positives missing from the corpus": 1,
            "positives without negatives": without,
            "positives with fewer negatives than asked for": fewer,
        }
    stored = Negatives(f"mine{CLEANED}", stored=tmp_path / "original", cleaned=True)
    made = write_study_set(tmp_path / "mine", found, runs, stored, of)
    assert [group.query_id for group in made] == ["q1", "q1"]
    assert made.manifest.content[LEFT_OUT] == {"groups without a negative left": 1}


def test_a_set_does_not_depend_on_the_order_of_judgements_or_on_workers(tmp_path: Path) -> None:
    of = settings(negatives=1, negatives_of=(Negatives("own", OWN_JUDGEMENTS),))
    sets = []
    for order in (1, -1):
        found, runs = judged_collection(tmp_path / f"judged-{order}", order)
        sets.append(list(write_study_set(tmp_path / f"set-{order}", found, runs, of.sets[1], of)))
    assert sets[0] == sets[1]
    assert len(sets[0]) == 2
    planted = write_planted(
        tmp_path / "clicks", PlantedSettings(queries=30, passages=30 * 5, answers_each=3)
    )
    of = settings(negatives=3, negatives_of=(Negatives("passed", PASSED_OVER),))
    made = [
        write_study_set(
            tmp_path / f"by-{workers}",
            planted,
            runs,
            of.sets[1],
            of,
            map_shards=partial(map_shards, workers=workers),
        )
        for workers in (1, 2)
    ]
    shards = [
        [path.read_bytes() for path in sorted((groups.path / "groups").iterdir())]
        for groups in made
    ]
    assert shards[0] == shards[1]
    assert len(made[0]) > 50
