"""Trainings that are not finished: named so wherever they stand, and compared with no finished
one.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from positionbias.core.rows import Collected
from positionbias.evaluation.convergence import Ending, Finish
from positionbias.evaluation.records import Facts
from positionbias.experiments.endings import ending_sentences, ending_warnings
from positionbias.experiments.measured import as_ended, ending_at
from positionbias.experiments.shown import named
from positionbias.papers.contamination.measured import measure_contamination
from positionbias.papers.contamination.shown import SHOWN as CONTAMINATION

from ..papers.contamination.contaminating import contaminated_study


def write_ending(model: Path, ending: Ending) -> None:
    """Give an invented checkpoint what tells how its training ended."""
    (model / "posbias.json").write_text(
        json.dumps({"kind": "tk", "depth": ending.depth, "shape": {}})
    )
    (model / "training.json").write_text(json.dumps({"log": [], "ending": asdict(ending)}))


def test_facts_say_what_the_trainings_that_they_rest_on_say(tmp_path: Path) -> None:
    finishes = {"original": Finish.FINISHED, "rotated": Finish.NOT_FINISHED}
    for name, finish in finishes.items():
        (tmp_path / name).mkdir()
        write_ending(tmp_path / name, Ending(finish, 0.8, 20, 0.7))
    original, rotated = (tmp_path / name for name in finishes)
    assert ending_at(rotated).finish is Finish.NOT_FINISHED
    facts = Facts(model="tk")
    assert not as_ended(facts, original).unfinished
    assert as_ended(facts, original, rotated).unfinished
    assert not as_ended(facts, tmp_path / "not made yet").unfinished


def test_what_is_found_of_endings() -> None:
    assert ending_warnings([("a", Ending(Finish.FINISHED, 0.8, 20, 0.7)), ("b", Ending())]) == []
    found = ending_warnings(
        [
            ("a, not finished", Ending(Finish.NOT_FINISHED, 0.8, 20, 0.7)),
            ("b", Ending(Finish.TOO_FEW, 0.6, 10, 0.7)),
            ("b", Ending(Finish.FINISHED, 0.8, 10, 0.7)),
        ]
    )
    assert [item.text.partition(". ")[0].rstrip(".") for item in found] == [
        "Trainings not finished: a",
        (
            "Cannot tell from fewer than 4 validations whether these trainings are finished: b (1 "
            "of 2 trainings)"
        ),
        "Does not beat its first stage on validation: b (1 of 2 trainings)",
    ]


def test_what_an_unfinished_teacher_taught_is_compared_with_its_kind_alone(tmp_path: Path) -> None:
    study = contaminated_study(tmp_path / "study", lambda system, source, *_: 1 if source else 3)
    for trial in study.trials:
        if trial.facts.role == "teacher" and trial.facts.source == "dl19":
            write_ending(trial.trained, Ending(Finish.NOT_FINISHED, 0.8, 10, 0.7))
    made = measure_contamination(study)
    systems = made.rows.query("role in ['teacher', 'student'] and whose == ''")
    assert ((systems["source"] == "dl19") == ~systems["finished"]).all()
    compared = systems[systems["against"] != ""]
    assert set(compared["source"]) == {"", "dl20"}
    findings = [finding.text for finding in CONTAMINATION.findings(CONTAMINATION.own(made.rows))]
    started = "Trainings not finished: teacher BERT_CAT (LCE), contaminated with dl19. "
    assert any(text.startswith(started) for text in findings)


def test_what_rows_say_of_endings() -> None:
    made = Collected({"study": "tripclick"})
    ends = {
        "a": [Ending(Finish.NOT_FINISHED, 0.8, 20, 0.7)],
        "b": [Ending(Finish.TOO_FEW, 0.6, 10, 0.7), Ending(Finish.FINISHED, 0.8, 10, 0.7)],
        "c": [Ending()],
    }
    for name, trainings in ends.items():
        for seed, ending in enumerate(trainings, 1):
            cells = {"model": name, "seed": seed, "finished": not ending.unfinished}
            made.add("training", "end", None, answer=ending.finish.value, **cells)
            for statistic, number in (
                ("validation", ending.ndcg),
                ("validation of the first stage", ending.first_stage),
                ("depth", ending.depth),
            ):
                if number is not None:
                    made.add("training", statistic, number, **cells)
    ended = [
        (f"{name}, not finished" if ending.unfinished else name, ending)
        for name, trainings in ends.items()
        for ending in trainings
    ]
    assert ending_sentences(named(made.rows)) == ending_warnings(ended)
