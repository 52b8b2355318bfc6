"""The study end to end on a small planted collection: its artefacts, what is skipped, what is made
again, and a restart.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load, load_values
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace, position_only_run
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias import CUT, WHOLE
from positionbias.papers.position_bias.settings import PositionBiasSettings
from positionbias.papers.position_bias.shown import SHOWN
from positionbias.papers.position_bias.study import run_position_bias
from positionbias.training import loop
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted

TRAINING = TrainConfig(
    batch_size=8,
    max_steps=4,
    validate_every=2,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    probe_passages=20,
    threads=1,
)
SETTINGS = PositionBiasSettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=6,
    train_depth=6,
    measures=("nDCG@10", "R@10"),
    probe_passages=60,
)
TESTS = ("original", "rotated-1")
SUBJECTS = ("tk-original-seed-1", "tk-rotated-1-seed-1")
AFTER = {
    subject: [
        f"{step}-{subject}-on-{test}{'-test' * (step == 'rerank')}"
        for step in ("rerank", "probe")
        for test in TESTS
    ]
    for subject in SUBJECTS
}
RERANKED = [step for subject in SUBJECTS for step in AFTER[subject] if step.startswith("rerank")]
FIRST = ["rotate-1", "bm25-train", "bm25-validation", "bm25-test"]
POSITION = [f"position-only-on-{test}-test" for test in TESTS]
MODELS = [step for subject in SUBJECTS for step in (f"train-{subject}", *AFTER[subject])]
STEPS = [*FIRST, *POSITION, *MODELS, "measure"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("study") / "planted")


def run(collection: Collection, out: Path, settings: PositionBiasSettings = SETTINGS) -> list[str]:
    """Run the study; the steps that were made, in their order."""
    told: list[str] = []
    assert run_position_bias(collection, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


def unmade(collection: Collection, out: Path, settings: PositionBiasSettings) -> list[str]:
    """Return the steps that the study would make, by a dry run."""
    workspace = Workspace(out, dry_run=True)
    run_position_bias(collection, settings, workspace)
    return [step.name for step in workspace.planned if not step.done]


@pytest.fixture(scope="module")
def finished(collection: Collection) -> Path:
    out = collection.path.parent / "finished"
    assert run(collection, out) == STEPS
    return out


@pytest.fixture
def copied(finished: Path) -> Path:
    """A finished study of one's own, at the same depth of folders: its inputs stand where they
    stood.
    """
    place = finished.with_name("copied")
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(finished, place))


def contents(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }


# -- what it makes ---------------------------------------------------------------------------------


def test_every_artefact_is_there(finished: Path, collection: Collection) -> None:
    assert sorted(path.name for path in finished.iterdir()) == [
        "models",
        "probes",
        "results",
        "rotated-1",
        "runs",
        "steps",
    ]
    assert sorted(path.stem for path in (finished / "steps").iterdir()) == sorted(STEPS)
    rotated = Collection(finished / "rotated-1")
    runs = sorted(path.stem for path in (finished / "runs").glob("*.run"))
    bm25 = ["bm25-test", "bm25-train", "bm25-validation"]
    assert runs == sorted([*bm25, *POSITION, *(step.removeprefix("rerank-") for step in RERANKED)])
    for run_ in (finished / "runs").glob("*.run"):
        assert read_manifest(run_, kind="run").content["checksum"] == sha256_file(run_)
    for subject, source in zip(SUBJECTS, (collection, rotated), strict=True):
        checkpoint = load_checkpoint(finished / "models" / subject)
        trained_on = checkpoint.manifest.input("collection")
        assert trained_on is not None
        assert (checkpoint.name, trained_on.checksum) == (subject, source.checksum)


def test_what_is_measured(finished: Path, collection: Collection) -> None:
    rows, values = load(finished / "results"), load_values(finished / "results")
    means = rows.query("measure == 'nDCG@10' and statistic == 'mean' and axis == ''")
    systems = [("bm25", ""), ("position-only", ""), ("tk", "original"), ("tk", "rotated")]
    keys = ["model", "training", "test"]
    assert set(means.set_index(keys).index) == {
        (*system, test) for system in systems for test in ("original", "rotated")
    } - {("bm25", "", "rotated")}  # one run for both
    # the values are those of the runs on disk
    qrels = collection.qrels("test")
    by_key = means.set_index(keys)
    for subject, training in zip(SUBJECTS, ("original", "rotated"), strict=True):
        for name in TESTS:
            run_ = Run.from_file(finished / "runs" / f"{subject}-on-{name}-test.run")
            by_query = per_query(run_, qrels, ["nDCG@10"])["nDCG@10"]
            row = by_key.loc[("tk", training, name.removesuffix("-1"))]
            assert row["value"] == pytest.approx(sum(by_query.values()) / 18)
            by_item = values[values["row"] == row["row"]]
            assert dict(zip(by_item["item"], by_item["value"], strict=True)) == by_query

    compared = rows.query("measure == 'nDCG@10' and seed == -1 and family != ''")
    # changes by rotation, also over queries left whole; trainings; baselines
    differences = compared[compared["statistic"] == "difference"]
    families = differences["family"].str.partition(":")[0].value_counts()
    assert families.to_dict() == {"test passages": 3 * 2, "trainings": 2, "baselines": 2 * 2 * 2}
    changed = compared.query("family == 'test passages: nDCG@10' and subset == ''")
    for statistic, test in (("baseline mean", "original"), ("candidate mean", "rotated")):
        for row in changed[changed["statistic"] == statistic].itertuples():
            mean = by_key.loc[(row.model, row.training, test)]["value"]
            assert row.value == pytest.approx(mean)

    cut, whole = (
        int(rows.query(f"measure == 'test queries' and statistic == '{name}'")["value"].iloc[0])
        for name in (CUT, WHOLE)
    )
    assert cut + whole == 18
    assert 0 < whole < 18
    said = [finding.text for finding in SHOWN.findings(SHOWN.own(rows))]
    assert all(text.endswith(".") for text in said)
    assert f"cut through the answer of {cut} test queries, and left that of {whole}" in " ".join(
        said
    )


def test_the_position_only_scorer_sees_position(finished: Path, collection: Collection) -> None:
    run_ = position_only_run(collection, "test", Run.from_file(finished / "runs" / "bm25-test.run"))
    assert run_.name == "position-only"
    for ranking in run_.rankings():
        assert ((ranking.scores >= 0) & (ranking.scores <= 1)).all()


# -- what is skipped and what is made again --------------------------------------------------------


def test_a_second_run_touches_nothing(finished: Path, collection: Collection) -> None:
    before = contents(finished)
    assert run(collection, finished) == []
    assert contents(finished) == before


# what must be made again, and what may be: a training that ends in the weights it had before leaves
# nothing to re-rank
@pytest.mark.parametrize(
    ("changed", "made", "maybe"),
    [
        (replace(SETTINGS, measures=("nDCG@10",)), ["measure"], []),
        (
            replace(SETTINGS, probe_passages=50),
            [*(s for s in STEPS if s.startswith("probe")), "measure"],
            [],
        ),
        (
            replace(SETTINGS, bm25=Bm25Settings(b=0.1)),
            [s for s in STEPS[1:] if not s.startswith("probe")],
            MODELS,
        ),
    ],
    ids=["measures", "probe", "bm25"],
)
def test_a_change_makes_again_what_rests_on_it(
    copied: Path,
    collection: Collection,
    changed: PositionBiasSettings,
    made: list[str],
    maybe: list[str],
) -> None:
    steps = unmade(collection, copied, changed)
    assert [step for step in steps if step in made or step not in maybe] == made


def test_a_further_seed_or_draw_leaves_what_was_made(copied: Path, collection: Collection) -> None:
    draws = unmade(collection, copied, replace(SETTINGS, draws=2))
    assert [step for step in draws if "-2" not in step] == ["measure"]
    seeds = unmade(collection, copied, replace(SETTINGS, seeds=2))
    assert [step for step in seeds if "seed-2" not in step] == ["measure"]


@pytest.mark.parametrize(
    ("changed", "made"),
    [
        (
            "runs/tk-original-seed-1-on-original-test.run",
            ["rerank-tk-original-seed-1-on-original-test"],
        ),
        ("models/tk-original-seed-1/training.json", ["train-tk-original-seed-1"]),
    ],
)
def test_an_artefact_changed_by_hand_is_made_again(
    copied: Path, collection: Collection, changed: str, made: list[str]
) -> None:
    with open(copied / changed, "ab") as file:
        file.write(b"\n")
    assert run(collection, copied) == made


# -- restarts --------------------------------------------------------------------------------------


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
        run_position_bias(
            collection, SETTINGS, Workspace(copied, interrupt_after("bm25-validation"))
        )
    validations = []

    def validate(*arguments, **options):
        validations.append(1)
        # in the middle of a training, and before a first state of the next one
        if len(validations) in {3, 6}:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    original = loop.validate
    with monkeypatch.context() as patch:
        patch.setattr(loop, "validate", validate)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                run_position_bias(collection, SETTINGS, Workspace(copied))
    assert run(collection, copied) == STEPS[11:]
    assert sorted(contents(copied)) == sorted(contents(finished))  # and nothing else lies about
    for path in (finished / "results").iterdir():
        if path.name != "manifest.json":  # which says when it was made
            assert (copied / "results" / path.name).read_bytes() == path.read_bytes(), path.name
    records = [read_manifest(study / "results").comparable() for study in (copied, finished)]
    assert records[0] == records[1]


# -- what it refuses -------------------------------------------------------------------------------


def test_measures_follow_the_grade() -> None:
    assert PositionBiasSettings().measures == ("nDCG@10", "RR@10", "R@10")
    assert PositionBiasSettings(test_relevant_from=2).measures == (
        "nDCG@10",
        "RR(rel=2)@10",
        "R(rel=2)@10",
    )
    assert PositionBiasSettings(test_relevant_from=2, measures=("AP",)).measures == ("AP",)


def test_a_measure_that_is_none_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(SettingError, match="-m: wanted a measure; found 'Bogus@3'; try one of"):
        PositionBiasSettings(
            models=(ModelSettings("tk", TINY, TrainConfig()),), measures=("Bogus@3",)
        )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"models": SETTINGS.models * 2}, "--models: wanted at least one, each once; found tk, tk"),
        ({"depth": 0}, "--depth: 0 is not in the range x>=1"),
        (
            {"candidates": {"dev": Path("x")}},
            r"--candidates: wanted splits of the study \(train, validation, test\); found 'dev'",
        ),
    ],
)
def test_settings_are_checked(change: dict, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        PositionBiasSettings(**change)
