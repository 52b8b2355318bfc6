"""The study end to end on a small planted collection: its artefacts, what is skipped, what is made again, and a restart."""

from __future__ import annotations

import csv
import html
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.result import Comparison, Finding, Result, load_results
from positionbias.core.run import read_run
from positionbias.evaluation.measures import per_query
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.models.checkpoint import load_checkpoint
from positionbias.positions.rotate import Rotation
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.report.table import save_tables
from positionbias.studies.measured import position_only_run
from positionbias.studies.position_bias import StudySettings, position_bias
from positionbias.training import loop
from positionbias.training.config import TrainConfig

from ..tiny import TINY, planted

SETTINGS = StudySettings(
    depth=6,
    train_depth=6,
    model=TINY,
    training=TrainConfig(
        batch_size=8,
        max_steps=4,
        validate_every=2,
        learning_rate=0.1,
        kernel_learning_rate=0.1,
        probe_passages=20,
        threads=1,
    ),
    measures=("nDCG@10", "R@10"),
    probe_passages=60,
)
RERANKED = [f"rerank-tk-{model}-on-{test}" for model in ("original", "rotated") for test in ("original", "rotated")]
TRAINED = ["train-tk-original", "train-tk-rotated"]
STEPS = ["rotate", "bm25-train", "bm25-validation", "bm25-test", *TRAINED, *RERANKED, "measure"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("study") / "planted")


def run(collection: Collection, out: Path, settings: StudySettings = SETTINGS) -> list[str]:
    """Run the study; the steps that were made, in their order."""
    told: list[str] = []
    assert position_bias(collection, out, settings, tell=told.append) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def finished(collection: Collection) -> Path:
    out = collection.path.parent / "finished"
    assert run(collection, out) == STEPS
    return out


@pytest.fixture
def copied(finished: Path) -> Path:
    """A finished study of one's own, at the same depth of folders: its inputs stand where they stood."""
    place = finished.with_name("copied")
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(finished, place))


def contents(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def of(results: list[Result], measure: str) -> list[Result]:
    return [result for result in results if result.measure == measure]


# -- what it makes ----------------------------------------------------------------------------------------


def test_every_artefact_is_there(finished: Path, collection: Collection) -> None:
    assert sorted(path.name for path in finished.iterdir()) == ["models", "results", "rotated", "runs", "steps"]
    assert sorted(path.stem for path in (finished / "steps").iterdir()) == sorted(STEPS)
    rotated = Collection(finished / "rotated")
    assert (len(rotated), rotated.manifest.command, rotated.name) == (len(collection), "debias", "planted-rotated")
    runs = sorted(path.name for path in (finished / "runs").glob("*.run"))
    assert runs == [
        "bm25-test.run", "bm25-train.run", "bm25-validation.run",
        "tk-original-on-original.run", "tk-original-on-rotated.run", "tk-rotated-on-original.run", "tk-rotated-on-rotated.run",
    ]  # fmt: skip
    for variant, source in (("original", collection), ("rotated", rotated)):
        checkpoint = load_checkpoint(finished / "models" / f"tk-{variant}")
        trained_on = checkpoint.manifest.input("collection")
        assert trained_on is not None
        assert (checkpoint.name, trained_on.checksum) == (f"tk-{variant}", source.checksum)
    manifest = read_manifest(finished / "results", kind="results")
    assert not any(item.path.startswith("/") for item in manifest.inputs)
    assert manifest.settings["study"]["training"]["max_steps"] == 4


def test_what_is_measured(finished: Path, collection: Collection) -> None:
    results = load_results(finished / "results")
    systems = ["bm25", "position-only", "tk-original", "tk-rotated"]
    per_system = [r for r in of(results, "nDCG@10") if r.kind == "per_query"]
    assert [(r.collection, r.system) for r in per_system] == [
        (test, system) for test in ("planted", "planted-rotated") for system in systems
    ]
    # the values are those of the runs on disk
    qrels = collection.qrels("test")
    for result in per_system:
        test = "rotated" if result.collection == "planted-rotated" else "original"
        if result.system.startswith("tk"):
            values = per_query(read_run(finished / "runs" / f"{result.system}-on-{test}.run"), qrels, ["nDCG@10"])["nDCG@10"]
            assert result.value == pytest.approx(sum(values.values()) / 18)
    by_key = {(r.collection, r.system): r.value for r in per_system}
    assert by_key["planted", "bm25"] == by_key["planted-rotated", "bm25"]  # one run for both test sets

    compared = [r.payload for r in of(results, "nDCG@10") if isinstance(r.payload, Comparison)]
    axes = [(c.notes["axis"], *c.notes["systems"], *c.notes["test_sets"]) for c in compared if c.subset == "all queries"]
    models = ("tk-original", "tk-rotated")
    assert axes == [
        *(("test sets", s, s, "original", "rotated") for s in (*models, "position-only")),
        *(("trainings", "tk-original", "tk-rotated", t, t) for t in ("original", "rotated")),
        *(("baseline", b, m, t, t) for m in models for t in ("original", "rotated") for b in ("bm25", "position-only")),
    ]
    for comparison in compared:
        if comparison.subset == "all queries":
            one, other = (
                by_key["planted-rotated" if test == "rotated" else "planted", system]
                for system, test in zip(comparison.notes["systems"], comparison.notes["test_sets"], strict=True)
            )
            assert (comparison.baseline_mean, comparison.candidate_mean) == (pytest.approx(one), pytest.approx(other))
    whole = [c.notes["queries"] for c in compared if c.subset != "all queries"]
    assert len(whole) == 3
    assert 0 < whole[0] < 18

    assert [(r.collection, r.system) for r in of(results, "MATS")] == [
        (test, model) for test in ("planted", "planted-rotated") for model in models
    ]
    assert [r.collection for r in of(results, "answer positions")] == ["planted", "planted-rotated"]
    curves = of(results, "training")
    assert [(r.system, r.payload.steps) for r in curves] == [("tk-original", [0, 2, 4]), ("tk-rotated", [0, 2, 4])]
    assert {"loss", "validation nDCG@10", "MATS"} <= set(curves[0].payload.series)
    assert {r.seed for r in results} == {1}
    sentences = [r.payload for r in of(results, "finding")]
    assert all(isinstance(item, Finding) and item.text.endswith(".") for item in sentences)
    cut = 18 - whole[0]
    assert f"cut through the answer of {cut} of the 18 test queries" in " ".join(item.text for item in sentences)


def test_the_position_only_scorer_sees_position(finished: Path, collection: Collection) -> None:
    run_ = position_only_run(collection, read_run(finished / "runs" / "bm25-test.run"))
    assert run_.name == "position-only"
    for ranking in run_.rankings():
        assert ((ranking.scores >= 0) & (ranking.scores <= 1)).all()


def test_the_report_renders(finished: Path, tmp_path: Path) -> None:
    page = write_report([finished / "results"], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    words = " ".join(html.unescape(page).split())  # whatever keeps a number and its sign on one line
    for result in of(load_results(finished / "results"), "finding"):
        assert result.payload.text in words
    save_tables(report_tables(load_studies([finished / "results"])), tmp_path / "tables")
    tables = sorted(path.suffix for path in (tmp_path / "tables").iterdir())
    assert ".csv" in tables
    assert ".tex" in tables
    for path in (tmp_path / "tables").glob("*.csv"):
        assert len(list(csv.reader(path.read_text(encoding="utf-8").splitlines()))) > 1


# -- what is skipped and what is made again -----------------------------------------------------------------


def test_a_second_run_touches_nothing(finished: Path, collection: Collection) -> None:
    before = contents(finished)
    assert run(collection, finished) == []
    assert contents(finished) == before


STILL = replace(SETTINGS, training=replace(SETTINGS.training, learning_rate=1e-12, kernel_learning_rate=1e-12, max_steps=2))


# what must be made again, and what may be: a training that ends in the weights it had before leaves nothing to re-rank
@pytest.mark.parametrize(
    ("changed", "made", "maybe"),
    [
        (replace(SETTINGS, measures=("nDCG@10",)), ["measure"], []),
        (replace(SETTINGS, probe_passages=50), ["measure"], []),
        (
            replace(SETTINGS, rotation=Rotation(seed=9)),
            ["rotate", "train-tk-rotated", "rerank-tk-original-on-rotated", "rerank-tk-rotated-on-rotated", "measure"],
            ["rerank-tk-rotated-on-original"],
        ),
        (replace(SETTINGS, bm25=Bm25Settings(b=0.1)), STEPS[1:], []),
        (replace(SETTINGS, train_depth=5), ["bm25-train", *TRAINED, "measure"], RERANKED),
    ],
    ids=["measures", "probe", "rotation", "bm25", "train depth"],
)
def test_a_change_makes_again_what_rests_on_it(
    copied: Path, collection: Collection, changed: StudySettings, made: list[str], maybe: list[str]
) -> None:
    assert [step for step in run(collection, copied, changed) if step not in maybe] == made


def test_another_log_of_the_same_weights_is_shown(copied: Path, collection: Collection) -> None:
    # nothing is learned, so longer trainings end in the same weights: nothing to re-rank, but another curve to draw
    assert run(collection, copied, STILL)[:2] == TRAINED
    longer = replace(STILL, training=replace(STILL.training, max_steps=4))
    assert run(collection, copied, longer) == [*TRAINED, "measure"]
    assert [r.payload.steps for r in of(load_results(copied / "results"), "training")] == [[0, 2, 4]] * 2


def test_other_candidates_are_measured_though_the_order_stays(copied: Path) -> None:
    receipt = json.loads((copied / "steps" / "measure.json").read_text())
    logs = {f"tk-{variant} log" for variant in ("original", "rotated")}
    assert {"candidates", "collection", "rotated", "tk-original", "tk-rotated"} | logs <= set(receipt["inputs"])


def test_one_training_then_the_other(collection: Collection, finished: Path, copied: Path) -> None:
    shutil.rmtree(copied)
    assert run(collection, copied, replace(SETTINGS, trainings=("rotated",))) == [
        *STEPS[:4], "train-tk-rotated", *RERANKED[2:], "measure",
    ]  # fmt: skip
    assert {r.system for r in of(load_results(copied / "results"), "MATS")} == {"tk-rotated"}
    # asked for in whatever order, the original training is the one that the other stands against
    both = replace(SETTINGS, trainings=("rotated", "original", "rotated"))
    assert run(collection, copied, both) == ["train-tk-original", *RERANKED[:2], "measure"]
    assert (copied / "results" / "results.json").read_text() == (finished / "results" / "results.json").read_text()


# -- restarts -----------------------------------------------------------------------------------------------


def interrupt_after(step: str) -> Callable[[str], None]:
    def tell(line: str) -> None:
        if line.startswith(f"{step}: "):
            raise KeyboardInterrupt

    return tell


def test_stopped_in_the_middle_and_restarted(
    collection: Collection, finished: Path, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(copied)
    with pytest.raises(KeyboardInterrupt):  # between two steps
        position_bias(collection, copied, SETTINGS, tell=interrupt_after("bm25-validation"))
    validations = []

    def validate(*arguments, **options):
        validations.append(1)
        if len(validations) in {3, 6}:  # before a first state is saved (3), and in the middle of a training (6)
            raise KeyboardInterrupt
        return original(*arguments, **options)

    original = loop.validate
    with monkeypatch.context() as patch:
        patch.setattr(loop, "validate", validate)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                position_bias(collection, copied, SETTINGS)
    assert run(collection, copied) == [*STEPS[5:]]
    assert sorted(contents(copied)) == sorted(contents(finished))  # and nothing else lies about
    for path in (finished / "results").iterdir():
        if path.name != "manifest.json":  # which says when it was made
            assert (copied / "results" / path.name).read_bytes() == path.read_bytes(), path.name
    records = [read_manifest(study / "results").comparable() for study in (copied, finished)]
    assert records[0] == records[1]


# -- what it refuses ----------------------------------------------------------------------------------------


def test_a_collection_without_the_splits(tmp_path: Path) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("a", "lamp")])
        writer.add_split("test", [Query("q", "lamp")], [Qrel("q", "a", 1)])
        writer.finish(name="c", command="a test", settings={})
    with pytest.raises(InputError, match="wanted the splits train, validation, test; found no train, validation; import it"):
        position_bias(Collection(tmp_path / "c"), tmp_path / "s", SETTINGS)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"models": ("bert",)}, "--models: wanted some of tk; found bert"),
        ({"models": ()}, "--models: wanted some of tk; found none"),
        ({"trainings": ("both",)}, "--only: wanted some of original, rotated; found both"),
        ({"depth": 0}, "--depth: wanted at least 1; found 0"),
        ({"train_depth": -1}, "--train-depth: wanted at least 1"),
    ],
)
def test_settings_are_checked(change: dict, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        StudySettings(**change)
