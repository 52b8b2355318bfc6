"""Trainings that are not finished: named so wherever they stand, and compared with no finished
one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending, Finish
from positionbias.core.manifest import Manifest
from positionbias.core.rows import Collected, save
from positionbias.evaluation.answers import Compared
from positionbias.experiments.artefacts import as_ended, ending_at
from positionbias.experiments.endings import ending_findings, failed_shares, not_finished
from positionbias.experiments.shown import ending_sentences, named
from positionbias.experiments.step import content_of
from positionbias.experiments.systems import subject_of
from positionbias.papers.contamination.measured import measure_contamination
from positionbias.papers.contamination.shown import SHOWN as CONTAMINATION
from positionbias.papers.position_bias.transfer import _alike
from positionbias.papers.tripclick.measured import measure_tripclick
from positionbias.report.html import write_report
from positionbias.results.payloads import Comparison, Finding, TrainingCurve
from positionbias.results.result import Facts, Result, load_results
from tests.sealing import reseal

from ..papers.contamination.contaminating import contaminated_study
from ..papers.position_bias.test_study import run
from ..papers.tripclick.made_up import made_up
from ..tiny import planted

SUBJECT = "tk-rotated-1-seed-1"


def curve(system: str, ending: Ending, seed: int = 1) -> Result:
    return Result(
        "training",
        "c",
        "",
        system,
        1,
        None,
        None,
        1,
        TrainingCurve([0], {}, ending=ending),
        Facts(seed=seed),
    )


def write_ending(model: Path, ending: Ending) -> None:
    """Give an invented checkpoint what tells how its training ended."""
    (model / "posbias.json").write_text(
        json.dumps({"kind": "tk", "depth": ending.depth, "shape": {}})
    )
    (model / "training.json").write_text(json.dumps({"log": [], "ending": asdict(ending)}))


def end_as(model: Path, finish: Finish) -> None:
    """Say in a checkpoint's log that its training ended so."""
    log = json.loads((model / "training.json").read_text())
    (model / "training.json").write_text(
        json.dumps({**log, "ending": {**log["ending"], "finish": finish.value}})
    )
    reseal(model)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("study") / "planted")


@pytest.fixture(scope="module")
def mixed(collection: Collection) -> Path:
    """A study whose rotated training was not finished, and whose original one was."""
    out = collection.path.parent / "mixed"
    run(collection, out)
    for subject, finish in (
        ("tk-original-seed-1", Finish.FINISHED),
        (SUBJECT, Finish.NOT_FINISHED),
    ):
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
    assert all(
        result.facts.unfinished == (result.facts.training == "rotated") for result in results
    )
    said = [result.payload.text for result in results if isinstance(result.payload, Finding)]
    assert any(
        text.startswith("Trainings not finished: tk-rotated. Their validation nDCG@10 still rose")
        for text in said
    )
    assert all("not finished" in text for text in said if "tk-rotated" in text)
    write_report([mixed / "results"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "tk-rotated, not finished" in page
    assert "TK, not finished" in page


def test_it_is_compared_with_itself_and_baselines_alone(mixed: Path) -> None:
    compared = [
        result.payload
        for result in load_results(mixed / "results")
        if isinstance(result.payload, Comparison)
    ]
    systems = {(payload.notes["axis"], *payload.notes["systems"]) for payload in compared}
    assert {axis for axis, *_ in systems} == {"test sets", "baseline"}
    assert ("test sets", "tk-rotated, not finished", "tk-rotated, not finished") in systems
    assert ("baseline", "bm25", "tk-rotated, not finished") in systems


def test_a_finished_one_keeps_its_name(mixed: Path) -> None:
    subject = subject_of(
        Facts(model="tk", training="original"), mixed / "models" / "tk-original-seed-1"
    )
    assert (subject.system, subject.facts.unfinished) == ("tk-original", False)


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
    assert (
        ending_findings([curve("a", Ending(Finish.FINISHED, 0.8, 20, 0.7)), curve("b", Ending())])
        == []
    )
    found = ending_findings(
        [
            curve("a, not finished", Ending(Finish.NOT_FINISHED, 0.8, 20, 0.7)),
            curve("b", Ending(Finish.TOO_FEW, 0.6, 10, 0.7)),
            curve("b", Ending(Finish.FINISHED, 0.8, 10, 0.7), seed=2),
        ]
    )
    assert [item.text.partition(". ")[0].rstrip(".") for item in found] == [
        "Trainings not finished: a",
        (
            "Share of trainings that did not finish: b 0 of 2 (95\u00a0% interval 0\u00a0% to "
            "84\u00a0%)"
        ),
        (
            "Cannot tell from fewer than 4 validations whether these trainings are finished: b (1 "
            "of 2 trainings)"
        ),
        "Does not beat its first stage on validation: b (1 of 2 trainings)",
    ]
    assert not_finished([]) == []


def test_the_share_of_trainings_that_fail_has_an_exact_interval() -> None:
    # none of 3 fails with the chance (1 − p)³, which is 2.5 % at p = 1 − 0.025 ** (1/3) = 0.708; 1
    # of 3: scipy's binomtest
    (found,) = failed_shares(
        [("a", False)] * 3 + [("b", False), ("b, not finished", True), ("b", False), ("c", True)]
    )
    assert found.text.replace("\u00a0", " ") == (
        "Share of trainings that did not finish: a 0 of 3 (95 % interval 0 % to 71 %), b 1 of "
        "3 (95 % interval 1 % to 91 %)."
    )
    assert failed_shares([("a", False), ("b", True)]) == []  # one training each


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
    started = "Trainings not finished: teacher bert_cat (lce), contaminated with dl19. "
    assert any(text.startswith(started) for text in findings)
    manifest = Manifest("results", "study", "study contamination")
    save(tmp_path / "results", made.rows, manifest, made.values)
    page = write_report([tmp_path / "results"], tmp_path / "page.html").read_text()
    assert "BERT_CAT, not finished" in page
    assert "TK, not finished" in page


def test_an_ensemble_is_not_compared_with_a_member_that_is_not_finished(tmp_path: Path) -> None:
    study = made_up(tmp_path / "study", lambda *_: 1)
    unfinished = [
        trial._replace(facts=replace(trial.facts, unfinished=True))
        if trial.facts.model == "tk"
        else trial
        for trial in study.trials
    ]
    made = measure_tripclick(replace(study, trials=unfinished))
    members = made.rows[made.rows["family"].str.startswith("the ensemble")]
    assert len(members)
    assert not members["against"].str.contains("model=tk").any()
    tested = made.rows.query("model == 'tk' and statistic == 'difference' and seed == -1")
    assert set(tested["answer"]) == {Compared.UNFINISHED}
    manifest = Manifest("results", "study", "study tripclick")
    save(tmp_path / "results", made.rows, manifest, made.values)
    page = write_report([tmp_path / "results"], tmp_path / "page.html").read_text()
    assert "TK, not finished" in page


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
    results = [
        curve(f"{name}, not finished" if ending.unfinished else name, ending, seed)
        for name, trainings in ends.items()
        for seed, ending in enumerate(trainings, 1)
    ]
    assert ending_sentences(named(made.rows)) == ending_findings(results)
