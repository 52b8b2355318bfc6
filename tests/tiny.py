"""Small things to train and re-rank with: a planted collection, its candidates, a TK of a few
hundred weights, an encoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase, digits, punctuation
from typing import Any

import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, input_ref, read_manifest
from positionbias.core.records import Passage
from positionbias.firststage.bm25 import retrieve_run
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.encoder import quiet_transformers
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
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
        retrieve_run(collection, Retrieval(split, depth), Bm25Settings(), place)
    return places


def tiny_tk(texts: Sequence[str], *, seed: int = 1, config: TKConfig = TINY) -> TK:
    """A TK with random weights that knows every word standing twice in ``texts``."""
    torch.manual_seed(seed)
    return TK(config, Vocabulary.build(count_words(texts))).eval()


def saved_tk(place: Path, collection: Collection, *, seed: int = 1, depth: int = 4) -> Path:
    """A checkpoint of a TK with random weights."""
    model = tiny_tk([passage.text for passage in collection.passages()], seed=seed)
    inputs = (input_ref("collection", collection.path, collection.checksum, artefact=place),)
    manifest = Manifest(
        kind="checkpoint", name=place.name.split(".")[0], command="train tk", inputs=inputs
    )
    save_checkpoint(place, model, depth=depth, training={}, manifest=manifest)
    return place


def collection_of(place: Path, texts: Sequence[str]) -> Collection:
    """A collection of passages p0, p1 … without queries."""
    with create_collection(place) as writer:
        writer.add_passages(Passage(f"p{number}", text) for number, text in enumerate(texts))
        writer.finish(Manifest("collection", place.name, "a test"))
    return Collection(place)


WORDS = (
    "what",
    "the",
    "of",
    "in",
    "is",
    "and",
    "lamp",
    "gate",
    "green",
    "iron",
    "oil",
    "burn",
    "hall",
    "water",
    "stone",
)


def tiny_encoder(
    folder: Path, words: Sequence[str] = WORDS, *, seed: int = 1, **config: object
) -> Path:
    """A folder with a BERT of two layers, 16 wide, with random weights, and a word-piece tokenizer
    that spells most words.
    """
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    shape: dict[str, object] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    shape["initializer_range"] = 0.5  # wide enough that scores differ
    tokenizer = tiny_tokenizer(words)
    settings = BertConfig(
        **{**shape, "vocab_size": len(tokenizer), "max_position_embeddings": 256, **config}
    )
    with quiet_transformers():
        BertModel(settings, add_pooling_layer=False).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def tiny_tokenizer(words: Sequence[str] = WORDS) -> Any:
    """Lower-cased word pieces: some words whole, all else by letters."""
    from transformers import BertTokenizer

    letters = [*ascii_lowercase, *digits, *punctuation]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        *words,
    ]
    return BertTokenizer(
        vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=True
    )


def assert_same_study(one: Path, other: Path) -> None:
    """Two studies have the same artefacts, but for what says when, where and how fast they were
    made.
    """
    found = {path.relative_to(one) for path in one.rglob("*") if path.is_file()}
    assert found == {path.relative_to(other) for path in other.rglob("*") if path.is_file()}
    for path in found:
        if path.name == "manifest.json":
            assert (
                read_manifest((one / path).parent).comparable()
                == read_manifest((other / path).parent).comparable()
            ), path
        elif path.suffix == ".html":
            assert _undated((one / path).read_text()) == _undated((other / path).read_text()), path
        elif (
            path.parts[0] != "steps"
            and path.name != "log.jsonl"
            and not path.name.endswith(".manifest.json")
        ):
            assert (one / path).read_bytes() == (other / path).read_bytes(), path


def _undated(page: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "", page)
