"""Word vectors and encoders made from Python."""

from __future__ import annotations

from pathlib import Path

import positionbias
from positionbias.models.settings import DistilSettings, EncoderSettings

from ..tiny import collection_of


def test_an_encoder_and_the_vectors_that_it_gives_words(tmp_path: Path) -> None:
    collection = collection_of(
        tmp_path / "few", ["the lamp burns oil", "the lamp is old", "oil burns", "old lamp the is"]
    )
    settings = EncoderSettings(layers=1, width=8, heads=2, pieces=60, max_length=32)
    made = positionbias.make_encoder([collection], tmp_path / "small", settings)
    assert (made.name, made.content["words"]) == ("small", 6)
    vectors = positionbias.distil_vectors(
        [collection],
        encoder=str(tmp_path / "small"),
        settings=DistilSettings(dimension=2),
        out=tmp_path / "few.safetensors",
    )
    assert vectors.path.is_file()
    counts = vectors.rows.set_index("measure")["value"]
    assert (counts["words"], counts["numbers a word"]) == (6, 2)
