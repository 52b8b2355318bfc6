"""The architecture study end to end on a small planted collection: three kinds of positions, each
trained on both texts.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.manifest import read_manifest
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.shapes import POSITIONS
from positionbias.papers.position_bias import ARCHITECTURES, VARIANTS
from positionbias.papers.position_bias.architecture import architecture_table
from positionbias.papers.position_bias.settings import PositionBiasSettings
from positionbias.papers.position_bias.variants import rotated_against_changed, run_architecture
from positionbias.report.html import report_tables
from positionbias.report.load import load_studies
from positionbias.results.payloads import Comparison, PerQuery
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
SETTINGS = PositionBiasSettings(
    models=(ModelSettings("tk", TINY, TRAINING),),
    depth=6,
    train_depth=6,
    measures=("nDCG@10", "R@10"),
    probe_passages=40,
    positions=POSITIONS,
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("architecture") / "planted")


def run(collection: Collection, out: Path, settings: PositionBiasSettings = SETTINGS) -> list[str]:
    """Run the study; the steps that were made, in their order."""
    told: list[str] = []
    assert run_architecture(collection, settings, Workspace(out, told.append)) == out / "results"
    return [line.split(":")[0] for line in told if not line.endswith("done before")]


@pytest.fixture(scope="module")
def finished(collection: Collection) -> Path:
    out = collection.path.parent / "finished"
    made = run(collection, out)
    assert [name for name in made if name.startswith("train-")] == [
        f"train-tk-{positions}-{training}-seed-1"
        for positions in VARIANTS
        for training in ("original", "rotated-1")
    ]
    assert made[-1] == "measure"
    return out


def test_models_differ_in_their_positions_alone(finished: Path) -> None:
    models = {
        name: load_checkpoint(finished / "models" / f"tk-{name}-original-seed-1").model
        for name in VARIANTS
    }
    for name, model in models.items():
        assert model.config == replace(TINY, positions=name)
    rows = torch.tensor([[2, 5, 3, 4]])
    with torch.no_grad():
        turned = {
            name: model.passage_vectors(rows.flip(1)).flip(1) for name, model in models.items()
        }
        same = {
            name: torch.allclose(turned[name], models[name].passage_vectors(rows), atol=1e-5)
            for name in models
        }
    assert same == {"sinusoid": False, "none": True, "relative": False}
    record = read_manifest(finished / "results").settings["study"]
    assert [model["model"]["positions"] for model in record["models"]] == list(VARIANTS)


def test_what_is_measured(finished: Path) -> None:
    results = load_results(finished / "results")
    for kind, number in (("per_query", 3 * 2 * 2 * 2), ("ats", 3 * 2 * 2), ("training", 3 * 2)):
        models = [r for r in results if r.kind == kind and r.facts.model == "tk"]
        assert len(models) == number
        assert {r.facts.variant for r in models} == set(VARIANTS.values())
    compared = [
        r
        for r in results
        if isinstance(r.payload, Comparison) and r.payload.notes["axis"] == ARCHITECTURES
    ]
    values = {
        (r.measure, r.system, r.facts.test): r.value
        for r in results
        if isinstance(r.payload, PerQuery)
    }
    found = set()
    for result in compared:
        assert isinstance(result.payload, Comparison)
        one, other = result.payload.notes["systems"]
        test = result.facts.test
        found.add((result.measure, one, test))
        assert other == "tk-rotated, sinusoid positions"
        assert result.payload.notes["test_sets"] == [test, test]
        change = values[result.measure, other, test] - values[result.measure, one, test]
        assert result.value == pytest.approx(change)
    assert found == {
        (measure, f"tk-original, {VARIANTS[name]}", test)
        for measure in ("nDCG@10", "R@10")
        for name in ("none", "relative")
        for test in ("original", "rotated")
    }


def test_the_table_has_a_row_a_training(finished: Path) -> None:
    results = load_results(finished / "results")
    table = report_tables(load_studies([finished]))["architecture"]
    assert [(row[1].text, row[2].text) for row in table.rows] == [
        (variant, training) for variant in VARIANTS.values() for training in ("original", "rotated")
    ]
    first = table.rows[0]
    shown = {
        r.facts.test: r.value
        for r in results
        if r.measure == "nDCG@10"
        and r.system == "tk-original, sinusoid positions"
        and r.kind == "per_query"
    }
    assert (first[3].value, first[4].value) == (shown["original"], shown["rotated"])
    assert first[7].value == pytest.approx(shown["rotated"] / shown["original"] - 1)
    (mats,) = [
        r.value
        for r in results
        if r.kind == "ats"
        and r.system == "tk-original, sinusoid positions"
        and r.facts.test == "original"
    ]
    assert first[8].value == mats


# -- comparisons, on invented values ---------------------------------------------------------------


def invented(
    variant: str,
    training: str,
    test: str,
    values: list[float],
    seed: int = 1,
    draw: int | None = None,
) -> Result:
    payload = PerQuery([f"q{i}" for i in range(len(values))], values)
    facts = Facts(
        model="tk", training=training, test=test, variant=variant, seed=seed, rotation=draw
    )
    return Result(
        "nDCG@10",
        "c",
        "test",
        f"tk-{training}, {variant}",
        1,
        float(np.mean(values)),
        None,
        len(values),
        payload,
        facts,
    )


def test_each_seed_and_draw_meets_its_own() -> None:
    low, high = [0.0, 0.2, 0.4], [0.5, 0.6, 0.7]
    results = []
    for seed in (1, 2):
        results.append(invented("no positions", "original", "original", low, seed))
        for draw in (1, 2):
            results.append(
                invented(
                    "no positions", "original", "rotated", [v + draw / 10 for v in low], seed, draw
                )
            )
            results += [
                invented("sinusoid positions", "rotated", test, high, seed, draw)
                for test in ("original", "rotated")
            ]
    found = rotated_against_changed(results, ["sinusoid positions", "no positions"], {}, seed=1)
    assert len(found) == 8
    for result in found:
        # means 0.6 and 0.2
        expected = 0.4 - (result.facts.rotation or 0) / 10 * (result.facts.test == "rotated")
        assert result.value == pytest.approx(expected)
        assert (result.facts.variant, result.facts.training) == ("sinusoid positions", "rotated")
    assert len({result.facts for result in found}) == 8


def test_no_table_of_one_variant_or_none() -> None:
    one = [
        invented("no positions", "original", test, [0.1, 0.2]) for test in ("original", "rotated")
    ]
    assert architecture_table([]).rows == architecture_table(one).rows == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"positions": ("sinusoid",)}, "--positions"),
        ({"positions": ("sinusoid", "sinusoid")}, "--positions"),
        ({"positions": ("sinusoid", "none", "learned")}, "--positions"),
        (
            {"models": (ModelSettings("tk", TINY), ModelSettings("bert_dot", encoder="minilm"))},
            "--models",
        ),
        ({"models": (ModelSettings("tk", start=Path("model")),)}, "--start"),
    ],
    ids=["one", "twice", "unknown", "bert", "start"],
)
def test_settings_out_of_range_name_their_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError, match=rf"^{named}: wanted .*; found "):
        replace(SETTINGS, **change)
