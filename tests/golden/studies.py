"""The cases that train: every study, the demo, and each kind of model, in trainings of two steps on
one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import positionbias as pb
from positionbias import settings as s
from positionbias.core.collection import Collection
from positionbias.core.rows import load
from positionbias.experiments.step import Steps
from positionbias.experiments.workspace import Workspace
from positionbias.papers import runner_of
from positionbias.papers.pooling.settings import PoolingTask
from positionbias.papers.position_bias import study as position_bias_study
from positionbias.papers.tripclick.settings import JudgedSplit
from positionbias.planted.generator import write_planted
from tests.papers.leakage.leaking import leaking_collection, leaking_pairs
from tests.tiny import TINY, planted

from .inputs import Inputs

TRAINING = s.TrainConfig(
    batch_size=8,
    max_steps=2,
    validate_every=2,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    probe_passages=10,
    threads=1,
)
UNVALIDATED = s.TrainConfig(
    batch_size=8, max_steps=2, learning_rate=0.1, kernel_learning_rate=0.1, threads=1
)
SLOW = replace(TRAINING, learning_rate=1e-3)  # for encoders
SMALL = {"depth": 6, "train_depth": 6, "measures": ("nDCG@10",), "probe_passages": 20}
ENCODERS = {
    "bert_cat": s.BertCatConfig(pair_length=30),
    "bert_dot": s.BertDotConfig(query_length=12, passage_length=30),
}
FEW = s.PlantedSettings(queries=50, passages=100, test_share=0.4, validation_share=0.2)
REMEDIES = (
    "rotated once",
    "rotated at reading",
    "shuffled at reading",
    "consistent under rotation",
    "taught by rotations",
)
REMEDIES += (
    "random offsets",
    "no positions",
    "relative positions",
    "rotate-max:2",
    "segments-max:2",
)


def tk(training: s.TrainConfig = TRAINING) -> s.ModelSettings:
    return s.ModelSettings("tk", TINY, training)


def _run(name: str, collections: Sequence[Collection], settings: Any, out: Path) -> Sequence[Any]:
    place = runner_of(name)(*collections, settings, Workspace(out / "study"))
    return [load(place)]


def position_bias(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A TK, two trainings."""
    settings = s.PositionBiasSettings(models=(tk(),), seeds=2, **SMALL)
    return _run("position-bias", [planted(out / "planted")], settings, out)


def position_bias_of_encoders(inputs: Inputs, out: Path) -> Sequence[Any]:
    """BERT_CAT and BERT_DOT."""
    models = tuple(
        s.ModelSettings(kind, shape, SLOW, encoder=str(inputs.encoder))
        for kind, shape in ENCODERS.items()
    )
    return _run(
        "position-bias",
        [planted(out / "planted")],
        s.PositionBiasSettings(models=models, **SMALL),
        out,
    )


def remedies(inputs: Inputs, out: Path) -> Sequence[Any]:
    settings = s.RemedySettings(models=(tk(),), remedies=REMEDIES, moved_queries=20, **SMALL)
    return _run("remedies", [planted(out / "planted", FEW)], settings, out)


def calibration(inputs: Inputs, out: Path) -> Sequence[Any]:
    """The remedy of models with one vector a text."""
    model = s.ModelSettings("bert_dot", ENCODERS["bert_dot"], SLOW, encoder=str(inputs.encoder))
    settings = s.RemedySettings(
        models=(model,), remedies=("calibrate:0.5:16:0.5",), moved_queries=20, **SMALL
    )
    return _run("remedies", [planted(out / "planted", FEW)], settings, out)


def transfer(inputs: Inputs, out: Path) -> Sequence[Any]:
    source = write_planted(
        out / "source",
        s.PlantedSettings(queries=40, passages=90, validation_share=0.2, seed=9),
        name="far",
    )
    settings = s.TransferSettings(
        models=(tk(replace(TRAINING, probe_passages=0)),), **{**SMALL, "probe_passages": None}
    )
    return _run("transfer", [source, planted(out / "target")], settings, out)


def leakage(inputs: Inputs, out: Path) -> Sequence[Any]:
    collection = leaking_collection(out)
    leaking = s.LeakingPairs(
        pairs=(leaking_pairs(out / "pairs.jsonl", collection),), leaked_queries=4
    )
    models = (tk(replace(UNVALIDATED, batch_size=4)),)
    sizes = {"sizes": (12, 20), "seeds": 2, "depth": 6, "folds": 3}
    settings = s.LeakageSettings(
        target="topics", sources=("train",), leaking=leaking, models=models, **sizes
    )
    return _run("leakage", [collection], settings, out)


def contamination_study(inputs: Inputs, out: Path) -> Sequence[Any]:
    losses = (s.Distillation("kl"), s.Distillation("ranknet", 3, 0.5))
    grades = {"target_relevant_from": 1, "train_depth": 8, "depth": 6}
    model = tk(UNVALIDATED)
    settings = s.ContaminationSettings(
        targets=("test", "validation"),
        teacher=model,
        models=(model,),
        losses=losses,
        **grades,
    )
    return _run("contamination", [planted(out / "planted")], settings, out)


def tripclick(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A re-ranker of words on three sets, one of an encoder, and a retriever."""
    shape = s.PlantedSettings(
        queries=60, passages=360, answers_each=3, test_share=0.5, validation_share=0.06
    )
    encoded = [
        s.ModelSettings(kind, shape, UNVALIDATED, encoder=str(inputs.encoder))
        for kind, shape in ENCODERS.items()
    ]
    settings = s.TripClickSettings(
        tests=(JudgedSplit("test", "true"), JudgedSplit("test")),
        models=(tk(UNVALIDATED), *encoded),
        negatives_of={"original": "passed-over"},
        complete_qrels="true",
        compared=("tk",),
        ensemble=("tk", "bert_cat"),
        negatives=3,
        train_depth=20,
        depth=5,
        depths=(2, 5, 12),
        retrieval_depth=12,
    )
    return _run("tripclick", [write_planted(out / "clicks", shape)], settings, out)


def pooling(inputs: Inputs, out: Path) -> Sequence[Any]:
    """Without a model."""
    task = PoolingTask(
        "one", *(inputs.pool / name for name in ("runs", "qrels.txt", "systems.tsv"))
    )
    drawn = s.PoolSettings(pools=3, measures=["P@5"])
    settings = s.PoolingSettings(tasks=(task,), pools=drawn)
    return [load(runner_of("pooling")(settings, Steps(out / "study", print)))]


def every_kind(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A training, the test run that it gives, and its scores, of each kind of model."""
    words: dict[str, Any] = {
        "tk": TINY,
        "knrm": s.KNRMConfig(dimension=8),
        "conv_knrm": s.ConvKNRMConfig(dimension=8, filters=6),
        "duet": s.DuetConfig(filters=6, ngraphs=100, passage_length=40, pooling_window=10),
        "pacrr": s.PACRRConfig(dimension=8, filters=4),
    }
    encoders: dict[str, Any] = {
        "bert_cat": s.BertCatConfig(pair_length=40),
        "bert_dot": s.BertDotConfig(query_length=12, passage_length=30, pooling="mean"),
        "colbert": s.ColBERTConfig(dimension=8, query_length=12, passage_length=30),
        "mono_t5": s.MonoT5Config(pair_length=60),
    }
    results: list[Any] = []
    runs = {}
    for kind, shape in {**words, **encoders}.items():
        started = (
            {}
            if kind in words
            else {"encoder": str(inputs.t5 if kind == "mono_t5" else inputs.encoder)}
        )
        plan = s.TrainPlan(
            kind=kind,
            candidates=inputs.runs["train"],
            validation_candidates=inputs.runs["validation"],
            model=shape,
            training=replace(SLOW, probe_passages=0),
            **started,
        )
        results.append(pb.train(inputs.planted, plan, out=out / kind).to_frame())
        test = inputs.runs["test"]
        pb.rerank(
            inputs.planted,
            model=out / kind,
            candidates=test,
            reranking=s.Reranking(depth=6),
            out=out / f"{kind}.run",
        )
        runs[kind] = pb.Run(kind, pb.Run.from_file(out / f"{kind}.run").rankings())
        scores = np.concatenate([ranking.scores for ranking in runs[kind].rankings()])
        results.append(
            {
                "what": f"scores of {kind}",
                "mean": float(scores.mean()),
                "deviation": float(scores.std()),
            }
        )
    measuring = s.Measuring(measures=("nDCG@10",))
    found = pb.evaluate(list(runs.values()), collection=inputs.planted, measuring=measuring)
    return [*results, found.to_frame()]


def demo(inputs: Inputs, out: Path) -> Sequence[Any]:
    models = (tk(),)
    with pytest.MonkeyPatch.context() as patch:
        collection = s.PlantedSettings(
            queries=40, passages=100, test_share=0.3, validation_share=0.2
        )
        patch.setattr(position_bias_study, "DEMO_COLLECTION", collection)
        patch.setattr(
            position_bias_study, "DEMO_STUDY", s.PositionBiasSettings(models=models, **SMALL)
        )
        return [load(position_bias_study.run_demo(Workspace(out / "study"), seed=1))]


TRAINED = {
    case.__name__.replace("_", "-"): case
    for case in (
        position_bias,
        position_bias_of_encoders,
        remedies,
        calibration,
        transfer,
        leakage,
        contamination_study,
        tripclick,
        pooling,
        every_kind,
        demo,
    )
}
