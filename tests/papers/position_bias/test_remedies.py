"""The study of remedies: end to end on a small planted collection, and its comparisons, table and
sentences on figures known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending, Finish
from positionbias.core.errors import SettingError
from positionbias.core.manifest import read_manifest
from positionbias.evaluation.significance import compare
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias import IN_TRAINING, MOVED, NO_REMEDY, OF_TK
from positionbias.papers.position_bias.dominance import dominated
from positionbias.papers.position_bias.remedies import (
    CALIBRATIONS,
    chosen_finding,
    compared_values,
    compared_with_none,
    over_seeds,
    remedy_findings,
    run_remedies,
)
from positionbias.papers.position_bias.remedy_table import (
    remedy_figure,
    remedy_table,
    shows_remedies,
)
from positionbias.papers.position_bias.settings import RemedySettings
from positionbias.papers.position_bias.study import best_of
from positionbias.papers.position_bias.tiles import position_tiles
from positionbias.results.payloads import Finding, PerQuery, TrainingCurve
from positionbias.results.result import Facts, Result, load_results
from positionbias.results.select import of_type
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted, tiny_encoder

TRAINING = TrainConfig(
    batch_size=8,
    max_steps=2,
    validate_every=2,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    probe_passages=10,
    threads=1,
)
SETTINGS = RemedySettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=4,
    train_depth=6,
    measures=("nDCG@10",),
    probe_passages=20,
    moved_queries=20,
    remedies=(*IN_TRAINING, "rotate:2", "segments-max:2"),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remedies")
    collection = planted(folder / "planted")
    assert (
        run_remedies(collection, SETTINGS, Workspace(folder / "study"))
        == folder / "study" / "results"
    )
    told: list[str] = []
    run_remedies(Collection(folder / "planted"), SETTINGS, Workspace(folder / "study", told.append))
    assert all(line.endswith("done before") for line in told)
    return folder / "study"


def test_every_remedy_is_trained_or_built_in_tested_and_moved(finished: Path) -> None:
    results = load_results(finished / "results")
    variants = [NO_REMEDY, *IN_TRAINING, "rotate:2 at inference", "segments-max:2 at inference"]
    found = {
        (r.measure, r.facts.variant, r.facts.test)
        for r in results
        if isinstance(r.payload, PerQuery) and r.facts.variant
    }
    tested = {(variant, test) for measure, variant, test in found if measure == "nDCG@10"}
    assert tested == {(variant, test) for variant in variants for test in ("original", "rotated")}
    # of a few steps some models give the evidence no worth, and then it has no effect
    moved = {(variant, test) for measure, variant, test in found if measure == MOVED}
    assert moved
    assert moved <= {(variant, "original") for variant in variants}
    plans = {
        name: load_checkpoint(
            finished / "models" / f"tk-{name.replace(' ', '-')}-seed-1"
        ).manifest.settings
        for name in IN_TRAINING
        if name != "consistent under rotation"
    }
    assert plans["rotated at reading"]["rotate"]["seed"] == 1
    assert plans["shuffled at reading"]["shuffle"] == {"seed": 1}
    assert plans["taught by rotations"]["training"]["loss"] == "margin_mse"
    (teacher,) = (finished / "taught").iterdir()
    assert teacher.name == "tk-no-remedy-seed-1-rotate-4-on-train"
    assert [plans[name]["model"]["positions"] for name in sorted(OF_TK)] == ["none", "relative"]
    assert (
        load_checkpoint(finished / "models" / "tk-no-remedy-seed-1-rotate-2").model.kind
        == "remedied"
    )


def test_validation_chooses_the_weight_of_consistency(finished: Path) -> None:
    choice = load_results(
        finished / "evaluated" / "tk-consistent-under-rotation-seed-1-on-validation"
    )
    assert [one.system for one in choice] == ["0.1", "0.3", "1"]
    for one in choice:
        path = finished / "models" / f"tk-consistent-under-rotation-{one.system}-seed-1"
        assert load_checkpoint(path).manifest.settings["training"]["consistency"] == float(
            one.system
        )
    best = max(choice, key=lambda one: one.value or 0)
    (told,) = [
        f.text
        for _, f in of_type(load_results(finished / "results"), Finding)
        if f.text.startswith("tk, consistent under rotation, seed 1: ")
    ]
    assert f": {best.system} was chosen, as it " in told
    assert f" nDCG@10 on rotated passages of validation ({choice[0].value:.3f} with 0.1, " in told
    tested = (
        finished
        / "runs"
        / f"tk-consistent-under-rotation-{best.system}-seed-1-on-original-test.run"
    )
    assert tested.exists()
    assert len(list(finished.glob("runs/tk-consistent-*-on-original-test.run"))) == 1


def test_validation_chooses_how_to_calibrate(tmp_path: Path) -> None:
    model = ModelSettings(
        "bert_dot",
        training=replace(TRAINING, learning_rate=1e-3),
        encoder=str(tiny_encoder(tmp_path / "tiny")),
    )
    settings = replace(SETTINGS, models=(model,), remedies=("calibrate",))
    run_remedies(planted(tmp_path / "planted"), settings, Workspace(tmp_path / "study"))
    choice = load_results(
        tmp_path / "study" / "evaluated" / "bert_dot-no-remedy-seed-1-calibrate-on-validation"
    )
    assert [one.system for one in choice] == [str(one) for one in CALIBRATIONS]
    results = load_results(tmp_path / "study" / "results")
    assert {r.facts.variant for r in results if isinstance(r.payload, PerQuery)} >= {
        NO_REMEDY,
        "calibrate at inference",
    }
    assert (
        len(
            [
                f
                for _, f in of_type(results, Finding)
                if "calibrate at inference, seed 1: calibrate:" in f.text
            ]
        )
        == 1
    )
    assert len(remedy_table(results).rows) == 2


def test_log_probabilities_are_not_taught() -> None:
    model = ModelSettings("mono_t5", encoder="t5")
    settings = replace(SETTINGS, models=(model,))
    assert settings.in_training(model) == tuple(
        name for name in IN_TRAINING if name not in {*OF_TK, "taught by rotations"}
    )


def test_the_first_of_equal_settings_is_chosen() -> None:
    made = [
        Result("nDCG@10", "c", "validation", name, 1, value, None, 3, None)
        for name, value in (("a", 0.4), ("b", 0.5), ("c", 0.5))
    ]
    assert best_of(made).system == "b"
    values = "(0.400 with a, 0.500 with b, 0.500 with c)"
    where = f"nDCG@10 on rotated passages of validation {values}."
    assert chosen_finding(made).text.endswith(
        f": b was chosen, as it is the first of 2 settings that share the best {where}"
    )
    assert chosen_finding(made[:2]).text.endswith(
        "b was chosen, as it has the best nDCG@10 on rotated passages of validation (0.400 with a, "
        "0.500 with b)."
    )


def test_notes_are_of_the_remedies_of_the_study(finished: Path) -> None:
    notes = " ".join(read_manifest(finished / "results").notes)
    assert (
        "the weight of consistency is the best of 0.1, 0.3, 1 by nDCG@10 on validation passages"
        in notes
    )
    assert "read by rotate:4" in notes
    assert "calibrate" not in notes


def test_what_rotation_does_recommends_no_remedy() -> None:
    """Rotating changes nothing for a mean over rotations by construction, so its tile must not say:
    use it.
    """
    without, mean = ("tk-original, no remedy", "tk-original, rotate:4 at inference")
    notes = {"axis": "test sets", "test_sets": ["original", "rotated"]}
    before, low = (
        dict(zip(QUERIES, spread(mean, seed), strict=True)) for mean, seed in ((0.9, 1), (0.5, 2))
    )
    # not to the bit
    same = {
        query_id: value + (-1) ** place / 1000
        for place, (query_id, value) in enumerate(before.items())
    }
    turned = [
        Result(
            "nDCG@10",
            "c",
            "test",
            system,
            1,
            None,
            None,
            200,
            compare(
                before, after, names=["a", "b"], notes={**notes, "systems": [system] * 2}, seed=1
            ),
        )
        for system, after in ((without, low), (mean, same))
    ]
    assert position_tiles(turned)[0].advice.startswith("Use tk-original, rotate:4")
    compared = made(spread(0.7, 2), spread(0.5, 3))
    assert position_tiles([*turned, *compared])[0].advice.startswith(
        "Look at “Remedies: quality and bias”"
    )


QUERIES = [f"q{number}" for number in range(200)]


def of_system(variant: str, measure: str, values: Sequence[float], seed: int = 1) -> Result:
    facts = Facts(model="tk", training="original", test="original", seed=seed, variant=variant)
    mean = float(np.mean(values))
    return Result(
        measure,
        "c",
        "test",
        f"tk-original, {variant}",
        1,
        mean,
        None,
        len(values),
        PerQuery(QUERIES, list(values)),
        facts,
    )


def made(quality: Sequence[float], moved: Sequence[float]) -> list[Result]:
    """A model without a remedy, whose front is preferred by 2 deviations, and one with."""
    noise = np.random.default_rng(1).normal(0, 0.05, len(QUERIES))
    results = [
        of_system(NO_REMEDY, "nDCG@10", (0.8 + noise).tolist()),
        of_system(NO_REMEDY, MOVED, (-2 + noise).tolist()),
        of_system("rotate:4 at inference", "nDCG@10", quality),
        of_system("rotate:4 at inference", MOVED, moved),
    ]
    return results + [
        one for measure in ("nDCG@10", MOVED) for one in compared_with_none(results, measure, {}, 1)
    ]


def spread(mean: float, seed: int) -> list[float]:
    return (mean + np.random.default_rng(seed).normal(0, 0.05, len(QUERIES))).tolist()


@pytest.mark.parametrize(
    ("quality", "moved", "size", "words"),
    [
        # the other side counts by its size: 0.5 − 2
        (0.7, 0.5, -1.5, "less bias, at a price in quality"),
        (0.9, -0.5, -1.5, "less bias and more quality"),
        (0.8, -2.5, 0.5, "no remedy here: the bias does not fall"),
    ],
)
def test_sizes_of_effects_and_sentences(
    quality: float, moved: float, size: float, words: str
) -> None:
    results = made(spread(quality, 2), spread(moved, 3))
    by_measure = {r.measure: r.value for r in results if r.kind == "comparison"}
    assert by_measure["nDCG@10"] == pytest.approx(quality - 0.8, abs=0.02)
    assert by_measure[MOVED] == pytest.approx(size, abs=0.02)
    (sentence,) = [
        f.text for f in remedy_findings(results, "nDCG@10") if f.text.startswith("tk, rotate:4")
    ]
    assert sentence.endswith(f"{words}.")


def test_over_trainings_sizes_are_compared_too() -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, (3, len(QUERIES)))
    results = [
        of_system(variant, MOVED, (mean + noise[seed - 1]).tolist(), seed)
        for seed in (1, 2, 3)
        for variant, mean in ((NO_REMEDY, -2.0), ("rotate:4 at inference", 0.5))
    ]
    compared = compared_with_none(results, MOVED, {}, 1)
    assert [one.value for one in compared] == pytest.approx([-1.5] * 3, abs=0.02)
    (pooled,) = over_seeds([*results, *compared], {}, 1)
    assert pooled.value == pytest.approx(-1.5, abs=0.02)
    assert pooled.interval is not None
    assert pooled.interval.high < 0


def test_the_same_values_decide_nothing() -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, len(QUERIES))
    results = made((0.8 + noise).tolist(), (-2 + noise).tolist())
    assert any("these data decide neither" in f.text for f in remedy_findings(results, "nDCG@10"))
    assert any("No remedy is shown" in f.text for f in remedy_findings(results, "nDCG@10"))


@pytest.mark.parametrize(("quality", "word"), [(0.7, "less"), (0.9, "more")])
def test_an_undecided_bias_is_not_said_to_stay(quality: float, word: str) -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, len(QUERIES))
    results = made(spread(quality, 2), (-2 + noise).tolist())
    (sentence,) = [
        f for f in remedy_findings(results, "nDCG@10") if f.text.startswith("tk, rotate:4")
    ]
    assert sentence.text.endswith(
        f"{word} quality, and these data do not decide whether the bias falls."
    )
    assert sentence.holds is None


def of_many(
    means: dict[str, tuple[float, float]], seeds: Sequence[int] = (1, 2, 3)
) -> list[Result]:
    """Systems by remedy with these means of quality and of moved sentences."""
    noise = np.random.default_rng(1).normal(0, 0.05, (9, len(QUERIES)))
    return [
        of_system(variant, measure, (mean + noise[(seed + number) % 9]).tolist(), seed)
        for seed in seeds
        for number, (variant, both) in enumerate(means.items())
        for measure, mean in zip(("nDCG@10", MOVED), both, strict=True)
    ]


def test_advice_rests_on_several_trainings() -> None:
    alone = made(spread(0.8, 2), spread(-0.1, 3))
    assert any(f.text.startswith("No remedy is shown") for f in remedy_findings(alone, "nDCG@10"))
    many = of_many({NO_REMEDY: (0.8, -2), "rotate:4 at inference": (0.8, -0.1)})
    many += [
        one for measure in ("nDCG@10", MOVED) for one in compared_with_none(many, measure, {}, 1)
    ]
    many += over_seeds(many, {}, 1)
    (advice,) = [
        f for f in remedy_findings(many, "nDCG@10") if f.text.startswith("Remedies that lower")
    ]
    assert "tk with rotate:4 at inference" in advice.text


def worse(results: list[Result]) -> Finding:
    (found,) = dominated(results, "nDCG@10", compared_values(results), {})
    return found


def test_dominated_is_what_is_worse_in_both() -> None:
    found = worse(
        of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.9, 0.5), "random offsets": (0.7, 0.1)})
    )
    assert found.holds
    assert "bias: no remedy by rotated once (6 comparisons of tk, corrected together)" in found.text
    found = worse(of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.7, 0.5)}))
    assert found.holds is None
    assert "no remedy is shown to be dominated" in found.text


def test_unfinished_trainings_dominate_nothing() -> None:
    results = of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.9, 0.5)})
    results = [
        replace(one, facts=replace(one.facts, unfinished=one.facts.seed == 3)) for one in results
    ]
    assert "do not decide" in worse(results).text


def idle(variant: str, seed: int) -> Result:
    """A training that keeps the first stage's order."""
    curve = TrainingCurve([200], {}, ending=Ending(Finish.FINISHED, 0.8, 1, 0.8))
    return replace(of_system(variant, MOVED, [0.0], seed), measure="x", payload=curve)


def test_a_training_that_keeps_the_order_is_no_remedy() -> None:
    results = of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.9, 0.5)})
    results += [
        one for measure in ("nDCG@10", MOVED) for one in compared_with_none(results, measure, {}, 1)
    ]
    found = [one.text for one in remedy_findings([*results, idle("rotated once", 3)], "nDCG@10")]
    assert any(
        "whether a remedy is dominated by another, these data do not decide" in text
        for text in found
    )
    assert [row[-1].text for row in remedy_table(results).rows] == ["3", "3"]
    assert [row[-1].text for row in remedy_table([*results, idle("rotated once", 3)]).rows] == [
        "3",
        "2",
    ]
    every = [*results, *(idle("rotated once", seed) for seed in (1, 2, 3))]
    assert [row[-1].text for row in remedy_table(every).rows] == ["3", "3"]


def test_two_trainings_decide_no_dominance() -> None:
    found = worse(of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.9, 0.5)}, (1, 2)))
    assert "do not decide: two trainings have no intervals" in found.text


def test_remedies_that_do_nothing_are_dominated_at_most_in_one_of_twenty_studies() -> None:
    draws = np.random.default_rng(7)
    alarms = 0
    for _ in range(30):
        results = [
            of_system(
                variant,
                measure,
                (mean + draws.normal(0, 0.02) + draws.normal(0, 0.1, len(QUERIES))).tolist(),
                seed,
            )
            for variant in (NO_REMEDY, "rotated once", "random offsets", "no positions")
            for seed in (1, 2, 3)
            for measure, mean in (("nDCG@10", 0.8), (MOVED, -1.0))
        ]
        alarms += worse(results).holds is True
    assert alarms <= 4  # 1.5 expected at most: 5 % of 30


def test_noise_of_many_trainings_is_no_bias() -> None:
    """Without bias anywhere, effects that vary ten times as much are no larger, however many
    trainings there are.
    """
    draws = np.random.default_rng(5)
    alarms = 0
    for _ in range(20):
        results = [
            of_system(
                variant, measure, (mean + draws.normal(0, noise, len(QUERIES))).tolist(), seed
            )
            for variant, quality, of_effect in ((NO_REMEDY, 0.5, 1.0), ("rotated once", 0.9, 0.1))
            for seed in range(1, 11)
            for measure, mean, noise in (("nDCG@10", quality, 0.1), (MOVED, 0.0, of_effect))
        ]
        alarms += worse(results).holds is True
    assert alarms <= 3  # 1 expected at most: 5 % of 20


def test_table_and_figure() -> None:
    results = made(spread(0.7, 2), spread(0.5, 3))
    table = remedy_table(results)
    assert [[cell.text for cell in row][1] for row in table.rows] == [
        NO_REMEDY,
        "rotate:4 at inference",
    ]
    assert [row[7].text for row in table.rows] == ["", "reads 4 times"]
    assert shows_remedies(results)
    figure = remedy_figure(results)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        NO_REMEDY,
        "rotate:4 at inference",
    ]


def test_an_unfinished_training_has_no_difference_of_finished_ones() -> None:
    results = of_many({NO_REMEDY: (0.8, -2.0), "rotated once": (0.9, 0.5)})
    results += [
        one for measure in ("nDCG@10", MOVED) for one in compared_with_none(results, measure, {}, 1)
    ]
    results += over_seeds(results, {}, 1)
    apart = [
        replace(one, facts=replace(one.facts, unfinished=True, seed=4))
        for one in of_many({"rotated once": (0.9, 0.5)}, (1,))
    ]
    rows = [[cell.text for cell in row] for row in remedy_table([*results, *apart]).rows]
    assert [(row[0], row[3]) for row in rows] == [
        ("TK", "–"),
        ("TK", rows[1][3]),
        ("TK, not finished", "–"),
    ]
    assert rows[1][3] != "–"


def test_the_legend_names_the_points_of_all_panels() -> None:
    results = made(spread(0.7, 2), spread(0.5, 3))
    other = [
        replace(one, facts=replace(one.facts, model="knrm"))
        for one in of_many({NO_REMEDY: (0.8, -1.0)}, (1,))
    ]
    figure = remedy_figure([*results, *other])
    assert len(figure.axes) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        NO_REMEDY,
        "rotate:4 at inference",
    ]


def test_every_remedy_has_a_look_of_its_own() -> None:
    results = of_many(
        dict.fromkeys(
            (NO_REMEDY, *IN_TRAINING, *(f"rotate:{k} at inference" for k in range(2, 8))),
            (0.8, -1.0),
        ),
        (1,),
    )
    results += [
        one for measure in ("nDCG@10", MOVED) for one in compared_with_none(results, measure, {}, 1)
    ]
    points = [
        line
        for line in remedy_figure(results).axes[0].get_lines()
        if line.get_linestyle() == "None"
    ]
    assert len(points) == 15
    assert len({(line.get_color(), line.get_marker()) for line in points}) == len(points)


def test_nothing_without_remedies() -> None:
    assert not remedy_table([]).rows
    assert not shows_remedies([])


def test_findings_are_of_the_results(finished: Path) -> None:
    assert any(
        "No remedy is shown" in f.text or "Remedies that lower" in f.text
        for _, f in of_type(load_results(finished / "results"), Finding)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"remedies": ("turn",)}, "or one of rotated once"),
        ({"remedies": ()}, "wanted at least one"),
        ({"remedies": ("rotate:4", "rotate:4")}, "--remedy"),
        (
            {"remedies": ("calibrate",)},
            "wanted one or more that tk can have; found calibrate; add another",
        ),
        ({"rotate_at_reading": True}, "wanted --remedy"),
    ],
)
def test_refused(settings: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        RemedySettings(**settings)
