"""The dose study end to end on a small planted collection, and its sentences on invented
figures.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending, Finish
from positionbias.core.errors import InputError, SettingError
from positionbias.core.interval import Interval
from positionbias.core.manifest import read_manifest
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias.settings import Level, PositionBiasSettings
from positionbias.papers.position_bias.variants import (
    changes_between_doses,
    dose_findings,
    run_dose,
)
from positionbias.probe.passages import original_collection
from positionbias.report.html import report_tables
from positionbias.report.load import load_studies
from positionbias.results.curves import AtsFigures, HistogramFigures, PositionFigure
from positionbias.results.payloads import (
    AtsCurve,
    Comparison,
    PerQuery,
    PositionHistogram,
    TrainingCurve,
)
from positionbias.results.result import Facts, Result, load_results
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted

TRAINING = TrainConfig(
    batch_size=8,
    max_steps=2,
    validate_every=2,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    probe_passages=10,
    threads=1,
)
FRONT, WHOLE = Level(0, 0.4), Level(0, 1)
SETTINGS = PositionBiasSettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=6,
    train_depth=6,
    measures=("nDCG@10", "R@10"),
    probe_passages=40,
    doses=(FRONT, WHOLE),
)
LABELS = {"answers in 0:0.4": "answers-0-0_4", "answers in 0:1": "answers-0-1"}
SELECTED = [
    f"select-{label}-{text}" for label in LABELS.values() for text in ("original", "rotated-1")
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("dose") / "planted")


def run(collection: Collection, out: Path, settings: PositionBiasSettings = SETTINGS) -> list[str]:
    """Run the study; the steps that were made, in their order."""
    told: list[str] = []
    assert run_dose(collection, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def finished(collection: Collection) -> Path:
    out = collection.path.parent / "finished"
    made = run(collection, out)
    assert made[:1] == ["rotate-1"]
    assert made[4:8] == SELECTED
    assert [name for name in made if name.startswith("train-")] == [
        f"train-tk-{label}-{training}-seed-1"
        for label in LABELS.values()
        for training in ("original", "rotated-1")
    ]
    assert made[-1] == "measure"
    return out


def test_each_dose_has_as_many_training_queries_and_its_own(
    finished: Path, collection: Collection
) -> None:
    numbers = set()
    for variant, label in LABELS.items():
        original, rotated = (
            Collection(finished / "selected" / label / text) for text in ("original", "rotated-1")
        )
        assert original.queries("train") == rotated.queries("train")
        for split in ("validation", "test"):
            assert original.queries(split) == collection.queries(split)
        assert original_collection(rotated).path.resolve() == collection.path.resolve()
        assert original.name == f"planted, {variant}"
        numbers.add(len(original.queries("train")))
    (number,) = numbers
    assert 0 < number < 30
    assert read_manifest(finished / "results").settings["study"]["queries"] == number
    assert (
        read_manifest(finished / "results")
        .notes[-1]
        .startswith(f"Every level has {number} training queries;")
    )
    for variant, label in LABELS.items():
        for training, text in (("original", "original"), ("rotated-1", "rotated-1")):
            checkpoint = load_checkpoint(finished / "models" / f"tk-{label}-{training}-seed-1")
            trained_on = checkpoint.manifest.input("collection")
            assert trained_on is not None
            assert trained_on.checksum == Collection(finished / "selected" / label / text).checksum
            assert checkpoint.manifest.content["training_groups"] <= number, variant


def test_what_is_measured(finished: Path) -> None:
    results = load_results(finished / "results")
    by_kind: dict[str, list[Result]] = {}
    for result in results:
        by_kind.setdefault(result.kind, []).append(result)
    shown = [r for r in by_kind["histogram"] if r.facts.variant]
    assert {r.facts.variant: r.collection for r in shown} == {v: f"planted, {v}" for v in LABELS}
    front = next(r for r in shown if r.facts.variant == "answers in 0:0.4").payload
    assert isinstance(front, PositionHistogram)
    assert sum(front.counts[8:]) == 0 < sum(front.counts)
    for kind, number in (
        ("per_query", 2 * 2 * 2 * 2),
        ("ats", 2 * 2 * 2),
        ("training", 2 * 2),
    ):  # doses, trainings, tests, measures
        models = [r for r in by_kind[kind] if r.facts.model == "tk"]
        assert len(models) == number
        assert {r.facts.variant for r in models} == set(LABELS)
        assert {r.system for r in models} == {
            f"tk-{t}, {v}" for t in ("original", "rotated") for v in LABELS
        }
    axes: dict[str, list[Comparison]] = {}
    for result in by_kind["comparison"]:
        assert isinstance(result.payload, Comparison)
        if result.measure == "nDCG@10" and result.payload.subset == "all queries":
            axes.setdefault(result.payload.notes["axis"], []).append(result.payload)
    assert [c.notes["systems"] for c in axes["trainings"]] == [
        [f"tk-original, {variant}", f"tk-rotated, {variant}"]
        for variant in LABELS
        for _ in ("original", "rotated")
    ]
    # the difference between doses is that of their own differences between test sets
    changes = {c.notes["systems"][0]: c.difference for c in axes["test sets"]}
    assert len(axes["doses"]) == 2
    for comparison in axes["doses"]:
        least, most = comparison.notes["systems"]
        assert comparison.difference == pytest.approx(changes[most] - changes[least])
        assert (comparison.relative, comparison.relative_interval) == (None, None)


def test_the_table_has_the_dose(finished: Path) -> None:
    table = report_tables(load_studies([finished]))["doses"]
    assert [(row[0].text, row[5].text) for row in table.rows] == [
        (variant, training) for variant in reversed(LABELS) for training in ("original", "rotated")
    ]


def test_another_dose_leaves_what_it_does_not_touch(finished: Path, collection: Collection) -> None:
    more = replace(SETTINGS, doses=(FRONT, WHOLE, Level(0, 0.8)))
    workspace = Workspace(finished, dry_run=True)
    run_dose(collection, more, workspace)
    unmade = [step.name for step in workspace.planned if not step.done]
    assert unmade
    assert all("answers-0-0_8" in name for name in unmade[:-1])
    assert unmade[-1] == "measure"


def test_fresh_rotations_need_no_rotated_selections(collection: Collection, tmp_path: Path) -> None:
    settings = replace(SETTINGS, rotate_at_reading=True, queries=3)
    workspace = Workspace(tmp_path / "x", dry_run=True)
    run_dose(collection, settings, workspace)
    names = [step.name for step in workspace.planned]
    assert [name for name in names if name.startswith("select-")] == [
        f"select-{label}-original" for label in LABELS.values()
    ]


def test_what_does_not_fit_is_one_clear_line(collection: Collection, tmp_path: Path) -> None:
    for doses in ((FRONT,), (FRONT, FRONT)):
        with pytest.raises(
            SettingError, match="--answers-in: wanted two or more, each once; found "
        ):
            PositionBiasSettings(doses=doses)
    with pytest.raises(SettingError, match="--queries: wanted at least 1; found 0"):
        PositionBiasSettings(doses=(FRONT, WHOLE), queries=0)
    workspace = Workspace(tmp_path / "x")
    with pytest.raises(
        SettingError,
        match=(
            r"--queries: wanted 30 training queries a level; found \d+ with answers in 0:0.4; "
            r"lower it"
        ),
    ):
        run_dose(collection, replace(SETTINGS, queries=30), workspace)
    with pytest.raises(InputError, match=r"whose answers start in 0.999:1; found none among 30"):
        run_dose(collection, replace(SETTINGS, doses=(WHOLE, Level(0.999, 1))), workspace)
    with pytest.raises(InputError, match="found no dev"):
        run_dose(collection, replace(SETTINGS, tests=("dev",)), workspace)
    assert not (tmp_path / "x").exists()


# -- the numbers -----------------------------------------------------------------------------------


def per_query(
    variant: str, training: str, test: str, values: list[float], *, seed: int = 1
) -> Result:
    facts = Facts(
        "tk",
        training,
        test,
        rotation=1 if training == "rotated" or test == "rotated" else None,
        seed=seed,
        variant=variant,
    )
    payload = PerQuery([f"q{n}" for n in range(len(values))], values)
    mean = sum(values) / len(values)
    return Result(
        "nDCG@10",
        "squad",
        "test",
        f"tk-{training}, {variant}",
        1,
        mean,
        None,
        len(values),
        payload,
        facts,
    )


def test_the_change_between_doses_by_hand() -> None:
    results = [
        per_query("anywhere", "original", "original", [1.0, 0.8, 0.6, 0.5]),
        per_query("anywhere", "original", "rotated", [1.0, 0.7, 0.6, 0.5]),  # changes 0, −0.1, 0, 0
        per_query("front", "original", "original", [1.0, 0.9, 0.5, 0.5]),
        # changes −0.2, −0.4, 0, −0.1
        per_query("front", "original", "rotated", [0.8, 0.5, 0.5, 0.4]),
        per_query("front", "rotated", "rotated", [0.8, 0.5, 0.5, 0.4]),  # nothing to set it against
    ]
    (found,) = changes_between_doses(results, "nDCG@10", ["anywhere", "front"], {}, seed=1)
    assert found.value == pytest.approx((-0.2 - 0.3 + 0 - 0.1) / 4)
    assert isinstance(found.payload, Comparison)
    assert (found.payload.baseline_mean, found.payload.candidate_mean) == (
        pytest.approx(-0.025),
        pytest.approx(-0.175),
    )
    assert found.payload.notes["systems"] == ["tk-original, anywhere", "tk-original, front"]
    assert (found.facts.variant, found.facts.test, found.count) == ("front", "rotated", 4)


def histogram(variant: str, share: float, mean: float) -> Result:
    payload = PositionHistogram(
        [0, 1], [3_335], [1.0], {}, HistogramFigures(first_fifth=PositionFigure(share))
    )
    return Result(
        "answer positions",
        "squad",
        "train",
        "answers",
        1,
        mean,
        None,
        3_335,
        payload,
        Facts(variant=variant),
    )


def changed(axis: str, variant: str, value: float, half: float) -> Result:
    bounds = Interval(value - half, value + half)
    payload = Comparison(
        "a", "b", 0.8, 0.8 + value, value, bounds, value, None, bounds, None, None, None,
        notes={"axis": axis, "systems": ["tk-original", "tk-original"],
        "test_sets": ["original", "rotated"], "queries": 9},
    )  # fmt: skip
    facts = Facts("tk", "original", "rotated", rotation=1, seed=1, variant=variant)
    return Result(
        "nDCG@10", "squad", "test", f"tk-original, {variant}", 1, value, bounds, 9, payload, facts
    )


def mats(variant: str, value: float) -> Result:
    facts = Facts("tk", "original", "original", seed=1, variant=variant)
    return Result(
        "MATS",
        "squad",
        "",
        "tk-original",
        1,
        value,
        None,
        9,
        AtsCurve([], [], [], [], [], [], AtsFigures()),
        facts,
    )


@pytest.mark.parametrize(
    ("difference", "holds", "words"),
    [
        (
            -0.04,
            True,
            (
                "−0.040 (95 % interval −0.050 to −0.030, over queries of one training: speaks of "
                "this checkpoint) in nDCG@10: the more front-loaded training loses more."
            ),
        ),
        (
            0.04,
            False,
            (
                "+0.040 (95 % interval +0.030 to +0.050, over queries of one training: speaks of "
                "this checkpoint) in nDCG@10: the more front-loaded training loses less"
            ),
        ),
        (
            0.005,
            None,
            (
                "+0.005 (95 % interval −0.005 to +0.015, over queries of one training: speaks of "
                "this checkpoint) in nDCG@10: these data do not distinguish the two levels"
            ),
        ),
    ],
)
def test_the_sentences(difference: float, holds: bool | None, words: str) -> None:
    results = [
        histogram("front", 1.0, 0.08), histogram("anywhere", 0.3, 0.4),
        changed("test sets", "front", -0.05, 0.01), changed("test sets", "anywhere", -0.01, 0.01),
        changed("doses", "front", difference, 0.01),
        mats("front", 0.2), mats("anywhere", 0.05),
    ]  # fmt: skip
    positions, change, response, similarity = dose_findings(results, "nDCG@10")
    assert positions.text == (
        "Of the 3,335 training answers of each level: with anywhere, 30.0\u00a0% start in the "
        "first fifth (mean position 0.400); front, 100.0\u00a0% start in the first fifth (mean "
        "position 0.080)."
    )
    assert change.text == (
        "tk trained on original passages: when the test passages are rotated, nDCG@10 changes by "
        "−1.0\u00a0% (95 % interval −2.0\u00a0% to 0.0\u00a0%, over queries of one training: "
        "speaks of this checkpoint) with anywhere; −5.0\u00a0% (95 % interval −6.0\u00a0% to "
        "−4.0\u00a0%, over queries of one training: speaks of this checkpoint) with front."
    )
    assert words in response.text
    assert response.holds is holds
    assert similarity.text == (
        "tk trained on original passages: MATS on the original passages is 0.050 with "
        "anywhere; 0.200 with front."
    )


def test_a_dose_whose_model_re_ranks_nothing_has_no_effect_to_compare() -> None:
    """The change of BM25's order is 0: less that of a model it would look as if front-loading
    helped.
    """
    curve = TrainingCurve([200], {"ndcg": [0.8]}, ending=Ending(Finish.FINISHED, 0.8, 1, 0.8))
    front = changed("doses", "front", 0.04, 0.01)
    assert isinstance(front.payload, Comparison)
    names = [f"tk-original, {variant}" for variant in ("anywhere", "front")]
    compared = replace(
        front, payload=replace(front.payload, notes={**front.payload.notes, "systems": names})
    )
    facts = Facts("tk", "original", "original", seed=1, variant="front")
    results = [
        histogram("front", 1.0, 0.08), histogram("anywhere", 0.3, 0.4),
        changed("test sets", "anywhere", -0.01, 0.01), compared,
        Result("training", "squad", "", names[1], 1, None, None, 9, curve, facts),
    ]  # fmt: skip
    said = [finding.text for finding in dose_findings(results, "nDCG@10")]
    assert any(
        text.startswith("Does not beat its first stage on validation: tk-original, front.")
        for text in said
    )
    assert any(
        text.endswith(
            "the change with front less the change with anywhere is undefined: it needs a model "
            "that re-ranks at both."
        )
        for text in said
    )
    assert not any("loses less" in text for text in said)
