"""The demo: the position-bias study on a small planted collection, sized for two cores and five minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.models.tk import TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.studies.position_bias import StudySettings, position_bias
from positionbias.studies.step import Steps
from positionbias.training.config import TrainConfig

__all__ = ["DEMO_COLLECTION", "DEMO_STUDY", "run_demo"]

DEMO_COLLECTION = PlantedSettings(queries=6_000, passages=36_000, validation_share=0.03, test_share=0.15)
DEMO_STUDY = StudySettings(
    depth=10,
    train_depth=20,
    # a narrower TK than the paper's, so that two trainings fit into minutes
    model=TKConfig(dimension=128, heads=8, head_size=16, feed_forward=64),
    training=TrainConfig(
        learning_rate=1e-3,
        kernel_learning_rate=1e-2,
        max_steps=600,
        validate_every=150,
        patience=3,
        probe_passages=200,
        precision="bfloat16",
        threads=1,  # so small a model is slower on two
    ),
    probe_passages=2_000,
)


def run_demo(out: Path, *, seed: int = 1, workers: int = 1, tell: Callable[[str], None] = lambda line: None) -> Path:
    """Plant a small collection in ``out`` and run the study on it; give back the folder of results."""
    planted = replace(DEMO_COLLECTION, seed=seed)
    place = out / "collection"
    steps = Steps(out, tell)

    def make() -> None:
        write_planted(place, planted, name="planted", overwrite=True)

    steps.make("plant", place, asdict(planted), {}, make)
    training = replace(DEMO_STUDY.training, seed=seed)
    settings = replace(DEMO_STUDY, seed=seed, training=training, rotation=replace(DEMO_STUDY.rotation, seed=seed))
    return position_bias(Collection(place), out, settings, workers=workers, tell=tell)
