"""The study with all three models, two seeds and two draws, test splits of its own and given candidates; a dry run of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.run import read_run, write_run
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.shapes import BertCatConfig, BertDotConfig
from positionbias.papers.position_bias.settings import PositionBiasSettings
from positionbias.papers.position_bias.study import run_study
from positionbias.report.plan_text import plan_text
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Facts, load_results
from positionbias.training.config import TrainConfig

from ...tiny import TINY, planted, tiny_encoder

TRAINING = TrainConfig(batch_size=4, max_steps=2, validate_every=2, learning_rate=0.01, probe_passages=0, threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("three")


@pytest.fixture(scope="module")
def collection(folder: Path) -> Collection:
    """A planted collection without answers, whose test queries are two splits, graded 0, 1 and 2."""
    source = planted(folder / "planted")
    place = folder / "graded"
    with create_collection(place) as writer:
        writer.add_passages(source.passages())
        for split in ("train", "validation"):
            writer.add_split(split, source.queries(split), source.qrels(split))
        queries, qrels = source.queries("test"), source.qrels("test")
        ids = [query.query_id for query in queries]
        for split, chosen in (("dl19", set(ids[:9])), ("dl20", set(ids[9:]))):
            graded = [qrel._replace(grade=2 * qrel.grade) for qrel in qrels if qrel.query_id in chosen]
            writer.add_split(split, [query for query in queries if query.query_id in chosen], graded)
        writer.finish(Manifest("collection", "graded", "a test", licence="invented"))
    return Collection(place)


@pytest.fixture(scope="module")
def settings(folder: Path, collection: Collection) -> PositionBiasSettings:
    encoder = str(tiny_encoder(folder / "encoder"))
    given = folder / "bm25.dl19.run"
    write_run(given, retrieve(collection, collection.queries("dl19"), 5, Bm25Settings()))
    models = (
        ModelSettings("tk", TINY, TRAINING),
        ModelSettings("bert_cat", BertCatConfig(pair_length=30), TRAINING, encoder=encoder),
        ModelSettings("bert_dot", BertDotConfig(query_length=12, passage_length=24), TRAINING, encoder=encoder),
    )
    return PositionBiasSettings(
        models=models,
        draws=(1, 2),
        depth=4,
        train_depth=4,
        tests=("dl19", "dl20"),
        candidates={"dl19": given},
        test_relevant_from=2,
        probe_passages=30,
    )


@pytest.fixture(scope="module")
def finished(folder: Path, collection: Collection, settings: PositionBiasSettings) -> Path:
    out = folder / "study"
    assert run_study(collection, settings, Workspace(out)) == out / "results"
    return out


def test_a_dry_run_writes_nothing_and_knows_every_step(
    folder: Path, collection: Collection, settings: PositionBiasSettings
) -> None:
    before = sorted(folder.rglob("*"))
    workspace = Workspace(folder / "dry", dry_run=True)
    assert run_study(collection, settings, workspace) == folder / "dry" / "results"
    assert sorted(folder.rglob("*")) == before
    trainings = 3 * (1 + 2)
    kinds = Counter(step.name.partition("-")[0] for step in workspace.planned)
    # an original training is tested on the original and both draws, each rotated one on the original and its own; two splits
    assert kinds == {
        "rotate": 2,
        "bm25": 3,
        "position": 6,
        "train": trainings,
        "rerank": 2 * 3 * (3 + 2 * 2),
        "probe": 7,
        "measure": 1,
    }
    assert not any(step.done for step in workspace.planned)
    assert all(step.seconds is None for step in workspace.planned)  # no step has run yet
    assert {step.note for step in workspace.planned if step.name.startswith("train")} == {"at most 2 steps"}
    result = workspace.steps.plan("graded")
    text = plan_text([result])
    assert f"{len(workspace.planned)} of {len(workspace.planned)} steps to be made" in text
    assert (result.count, len(result.payload.rows)) == (len(workspace.planned), len(workspace.planned))


def test_a_dry_run_of_a_finished_study(finished: Path, collection: Collection, settings: PositionBiasSettings) -> None:
    workspace = Workspace(finished, dry_run=True)
    run_study(collection, settings, workspace)
    assert all(step.done for step in workspace.planned)
    # a further seed: its trainings and what rests on them, by the time that the others took
    workspace = Workspace(finished, dry_run=True)
    run_study(collection, replace(settings, seeds=(1, 2)), workspace)
    left = [step for step in workspace.planned if not step.done]
    assert all("seed-2" in step.name or step.name == "measure" for step in left)
    assert len([step for step in left if step.name.startswith("train")]) == 9
    assert all(step.seconds is not None for step in left)


def test_every_model_training_test_set_and_measure(finished: Path) -> None:
    results = load_results(finished / "results")
    names = ["nDCG@10", "RR(rel=2)@10", "R(rel=2)@10"]
    cells = Counter(
        (r.facts.model, r.facts.training, r.facts.test, r.facts.rotation, r.measure)
        for r in results
        if isinstance(r.payload, PerQuery) and r.facts.training
    )
    wanted = [
        (model, training, test, draw, name)
        for model in ("tk", "bert_cat", "bert_dot")
        for training, places in (
            ("original", [("original", None), ("rotated", 1), ("rotated", 2)]),
            ("rotated", [("original", 1), ("rotated", 1), ("original", 2), ("rotated", 2)]),
        )
        for test, draw in places
        for name in names
    ]
    assert cells == Counter(wanted)
    assert {(r.split, r.count) for r in results if isinstance(r.payload, PerQuery)} == {("dl19+dl20", 18)}
    between_tests = Counter(
        (r.facts.model, r.facts.training, r.facts.rotation)
        for r in results
        if isinstance(r.payload, Comparison) and r.payload.notes["axis"] == "test sets" and r.measure == names[0]
    )
    # a comparison that a draw plays a part in stands once for each; none over queries left whole: nothing tells where answers are
    models = [
        (model, training, draw)
        for model in ("tk", "bert_cat", "bert_dot")
        for training in ("original", "rotated")
        for draw in (1, 2)
    ]
    assert between_tests == Counter([*models, ("position-only", "", 1), ("position-only", "", 2)])
    # against BM25 on the original passages a draw plays a part for models trained on rotated passages alone
    baseline = Counter(
        (r.facts.model, r.facts.training, r.facts.test, r.facts.rotation)
        for r in results
        if isinstance(r.payload, Comparison)
        and (r.payload.notes["axis"], r.payload.notes["systems"][0], r.measure) == ("baseline", "bm25", names[0])
    )
    assert set(baseline.values()) == {1}
    assert len(baseline) == 3 * 7
    assert {r.facts for r in results if r.measure == "MATS"} == {
        Facts(model="tk", training=training, test=test, rotation=draw, seed=1)
        for training, test, draw in (
            ("original", "original", None), ("original", "rotated", 1), ("original", "rotated", 2),
            ("rotated", "original", 1), ("rotated", "rotated", 1), ("rotated", "original", 2), ("rotated", "rotated", 2),
        )
    }  # fmt: skip
    curves = [r.facts for r in results if r.kind == "training"]
    assert Counter((f.model, f.training, f.pretrained) for f in curves) == {
        (model, training, pretrained): number
        for model, pretrained in (("tk", ""), ("bert_cat", "encoder"), ("bert_dot", "encoder"))
        for training, number in (("original", 1), ("rotated", 2))
    }


def test_a_given_run_is_re_ranked_as_it_is(finished: Path, settings: PositionBiasSettings) -> None:
    assert not (finished / "runs" / "bm25-dl19.run").exists()
    given, done = (
        read_run(settings.candidates["dl19"]),
        read_run(finished / "runs" / "bert_cat-original-seed-1-on-original-dl19.run"),
    )
    assert {r.query_id: sorted(r.passage_ids) for r in done.rankings()} == {
        r.query_id: sorted(r.passage_ids) for r in given.rankings()
    }


def test_a_collection_without_answers_has_no_figure_1_and_says_so(finished: Path) -> None:
    results = load_results(finished / "results")
    assert not any(r.kind == "histogram" for r in results)
    assert any(r.kind == "finding" and "Figure 1, the positions of answers, is left out" in r.payload.text for r in results)
