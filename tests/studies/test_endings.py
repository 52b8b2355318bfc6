"""Trainings that are not finished: named so wherever they stand, and compared with no finished one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending, Finish
from positionbias.core.payloads import Comparison, Finding, TrainingCurve
from positionbias.core.result import Facts, Result, load_results
from positionbias.report.html import write_report
from positionbias.report.load import load_studies
from positionbias.studies.artefacts import as_ended, ending_at
from positionbias.studies.endings import ending_findings, not_finished
from positionbias.studies.step import content_of
from positionbias.studies.systems import subject_of
from positionbias.studies.transfer import _alike

from ..tiny import planted
from .test_position_bias_study import run

SUBJECT = "tk-rotated-1-seed-1"


def curve(system: str, ending: Ending, seed: int = 1) -> Result:
    return Result("training", "c", "", system, 1, None, None, 1, TrainingCurve([0], {}, ending=ending), Facts(seed=seed))


def end_as(model: Path, finish: Finish) -> None:
    """Say in a checkpoint's log that its training ended so."""
    log = json.loads((model / "training.json").read_text())
    (model / "training.json").write_text(json.dumps({**log, "ending": {**log["ending"], "finish": finish.value}}))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("study") / "planted")


@pytest.fixture(scope="module")
def mixed(collection: Collection) -> Path:
    """A study whose rotated training was not finished, and whose original one was."""
    out = collection.path.parent / "mixed"
    run(collection, out)
    for subject, finish in (("tk-original-seed-1", Finish.FINISHED), (SUBJECT, Finish.NOT_FINISHED)):
        end_as(out / "models" / subject, finish)
        receipt = out / "steps" / f"train-{subject}.json"
        record = json.loads(receipt.read_text())
        receipt.write_text(json.dumps({**record, "content": content_of(out / "models" / subject)}))
    made = run(collection, out)
    assert "measure" in made
    assert not [step for step in made if step.startswith(("train", "rerank"))]  # the same models
    return out


def test_the_words_stand_wherever_the_training_does(mixed: Path, tmp_path: Path) -> None:
    results = load_results(mixed / "results")
    rotated = {result.system for result in results if result.facts.training == "rotated"}
    assert rotated == {"tk-rotated, not finished"}
    assert all(result.facts.unfinished == (result.facts.training == "rotated") for result in results)
    said = [result.payload.text for result in results if isinstance(result.payload, Finding)]
    assert any(text.startswith("Trainings not finished: tk-rotated. Their validation nDCG@10 still rose") for text in said)
    assert all("not finished" in text for text in said if "tk-rotated" in text)
    write_report([mixed / "results"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "tk-rotated, not finished" in page
    assert "TK, not finished" in page


def test_it_is_compared_with_itself_and_baselines_alone(mixed: Path) -> None:
    compared = [result.payload for result in load_results(mixed / "results") if isinstance(result.payload, Comparison)]
    systems = {(payload.notes["axis"], *payload.notes["systems"]) for payload in compared}
    assert {axis for axis, *_ in systems} == {"test sets", "baseline"}
    assert ("test sets", "tk-rotated, not finished", "tk-rotated, not finished") in systems
    assert ("baseline", "bm25", "tk-rotated, not finished") in systems


def test_both_of_a_kind_are_compared(mixed: Path, collection: Collection, tmp_path: Path) -> None:
    both = tmp_path / "both"
    shutil.copytree(mixed, both)
    end_as(both / "models" / SUBJECT, Finish.FINISHED)
    assert not subject_of(Facts(model="tk", training="rotated"), both / "models" / SUBJECT).facts.unfinished
    assert load_studies([mixed / "results"])


def test_facts_say_what_the_trainings_that_they_rest_on_say(mixed: Path) -> None:
    original, rotated = (mixed / "models" / name for name in ("tk-original-seed-1", SUBJECT))
    assert ending_at(rotated).finish is Finish.NOT_FINISHED
    facts = Facts(model="tk")
    assert not as_ended(facts, original).unfinished
    assert as_ended(facts, original, rotated).unfinished
    assert not as_ended(facts, mixed / "models" / "not made yet").unfinished
    assert _alike(facts, Facts(model="tk", seed=2))
    assert not _alike(facts, Facts(model="tk", unfinished=True))


def test_what_is_found_of_endings() -> None:
    assert ending_findings([curve("a", Ending(Finish.FINISHED, 0.8, 20, 0.7)), curve("b", Ending())]) == []
    found = ending_findings(
        [
            curve("a, not finished", Ending(Finish.NOT_FINISHED, 0.8, 20, 0.7)),
            curve("b", Ending(Finish.TOO_FEW, 0.6, 10, 0.7)),
            curve("b", Ending(Finish.FINISHED, 0.8, 10, 0.7), seed=2),
        ]
    )
    assert [item.text.partition(". ")[0].rstrip(".") for item in found] == [
        "Trainings not finished: a",
        "Whether these trainings are finished cannot be told from fewer than 4 validations: b (1 of 2 trainings)",
        "Does not beat its first stage on validation: b (1 of 2 trainings)",
    ]
    assert not_finished([]) == []
