"""The demo: the position-bias study on a small planted collection, sized for two cores and five minutes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.models.shapes import TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.studies.model_settings import ModelSettings
from positionbias.studies.position_bias import StudySettings, position_bias
from positionbias.studies.workshop import Workshop
from positionbias.training.config import TrainConfig

__all__ = ["DEMO_COLLECTION", "DEMO_STUDY", "run_demo"]

# every answer's place is drawn from the biased density
DEMO_COLLECTION = PlantedSettings(1.0, queries=5_000, passages=20_000, validation_share=0.05, test_share=0.15, sentences=(3, 4))
DEMO_STUDY = StudySettings(
    models=(
        ModelSettings(
            "tk",
            # smaller than the paper's, so that two trainings end in minutes, and not before they are finished
            TKConfig(dimension=64, heads=4, head_size=16, feed_forward=64, layers=1),
            TrainConfig(
                learning_rate=4e-3,
                kernel_learning_rate=1e-2,
                max_steps=1_800,
                validate_every=100,
                warmup_share=0.05,
                schedule="linear",  # so that the curve is flat at the end
                probe_passages=200,
                threads=1,  # so small a model is slower on two
            ),
        ),
    ),
    depth=5,  # one passage answers a query and three mention its words; negatives that do not teach little
    train_depth=5,
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
