"""Small things to train and re-rank with: a planted collection, its candidates, a TK of a few hundred weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.records import Passage
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.tk import TK, TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.text.vocabulary import Vocabulary, count_words

TINY = TKConfig(dimension=8, layers=1, heads=2, head_size=3, feed_forward=6)
PLANTED = PlantedSettings(queries=60, passages=150, test_share=0.3, validation_share=0.2)


def planted(place: Path, settings: PlantedSettings = PLANTED) -> Collection:
    """30 training, 12 validation and 18 test queries over 150 passages."""
    return write_planted(place, settings, name="planted")


def candidates(collection: Collection, folder: Path, depth: int = 6) -> dict[str, Path]:
    """A BM25 run for each split."""
    places = {split: folder / f"{split}.run" for split in collection.splits}
    for split, place in places.items():
        retrieve_run(collection, split, depth, Bm25Settings(), place)
    return places


def tiny_tk(texts: Sequence[str], *, seed: int = 1, config: TKConfig = TINY) -> TK:
    """A TK with random weights that knows every word standing twice in ``texts``."""
    torch.manual_seed(seed)
    return TK(config, Vocabulary.build(count_words(texts))).eval()


def saved_tk(place: Path, collection: Collection, *, seed: int = 1, depth: int = 4) -> Path:
    """A checkpoint of a TK with random weights."""
    model = tiny_tk([passage.text for passage in collection.passages()], seed=seed)
    inputs = (input_ref("collection", collection.path, collection.checksum, artefact=place),)
    manifest = Manifest(kind="checkpoint", name=place.name.split(".")[0], command="train tk", inputs=inputs)
    save_checkpoint(place, model, depth=depth, training={}, manifest=manifest)
    return place


def collection_of(place: Path, texts: Sequence[str]) -> Collection:
    """A collection of passages p0, p1 … without queries."""
    with create_collection(place) as writer:
        writer.add_passages(Passage(f"p{number}", text) for number, text in enumerate(texts))
        writer.finish(name=place.name, command="a test", settings={})
    return Collection(place)
