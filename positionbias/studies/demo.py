"""The demo: the position-bias study on a small planted collection, sized for two cores and five minutes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.models.tk import TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.studies.model_settings import ModelSettings
from positionbias.studies.position_bias import StudySettings, position_bias
from positionbias.studies.workshop import Workshop
from positionbias.training.config import TrainConfig

__all__ = ["DEMO_COLLECTION", "DEMO_STUDY", "run_demo"]

DEMO_COLLECTION = PlantedSettings(queries=6_000, passages=36_000, validation_share=0.03, test_share=0.15)
DEMO_STUDY = StudySettings(
    models=(
        ModelSettings(
            "tk",
            # narrower than the paper's, so that two trainings fit into minutes
            TKConfig(dimension=128, heads=8, head_size=16, feed_forward=64),
            TrainConfig(
                learning_rate=1e-3,
                kernel_learning_rate=1e-2,
                max_steps=600,
                validate_every=150,
                patience=3,
                probe_passages=200,
                precision="bfloat16",
                threads=1,  # so small a model is slower on two
            ),
        ),
    ),
    depth=10,
    train_depth=20,
    probe_passages=2_000,
)


def run_demo(shop: Workshop, *, seed: int = 1) -> Path:
    """Plant a small collection in the workshop's folder and run the study on it; give back the folder of results."""
    planted = replace(DEMO_COLLECTION, seed=seed)
    place = shop.folder / "collection"

    def make() -> None:
        write_planted(place, planted, name="planted", overwrite=True)

    shop.steps.make("plant", place, asdict(planted), {}, make)
    return position_bias(Collection(place), replace(DEMO_STUDY, seed=seed, seeds=(seed,), draws=(seed,)), shop)
