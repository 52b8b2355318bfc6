"""A small encoder from nothing: its shape and pieces, the same twice, read by whatever reads
encoders.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.models.encoder import load_encoder
from positionbias.models.new_encoder import make_encoder
from positionbias.models.settings import EncoderSettings
from tests.tiny import collection_of

TEXTS = [
    "The green lamp burns oil in the hall",
    "the iron lamp: café oil",
    "water, oil and the lamp",
]
SMALL = EncoderSettings(layers=1, width=8, heads=2, pieces=60, max_length=32)


def test_what_is_made(tmp_path: Path) -> None:
    manifest = make_encoder([collection_of(tmp_path / "c", TEXTS)], tmp_path / "small", SMALL)
    encoder = load_encoder(tmp_path / "small")
    shape = encoder.backbone.config
    assert (
        shape.num_hidden_layers,
        shape.hidden_size,
        shape.num_attention_heads,
        shape.intermediate_size,
    ) == (1, 8, 2, 32)
    assert (encoder.dimension, encoder.positions, len(encoder.tokenizer)) == (
        8,
        32,
        shape.vocab_size,
    )
    # lamp, oil and the stand thrice, so they are pieces; ##s of burns was seen in it alone
    assert encoder.tokenizer.tokenize("THE lamps, oil") == ["the", "lamp", "##s", ",", "oil"]
    assert encoder.tokenizer.tokenize("Café") == [*"c", *("##a", "##f", "##e")]
    assert encoder.tokenizer.tokenize("zoo") == ["[UNK]"]
    assert manifest.content["pieces"] == shape.vocab_size <= 60
    assert manifest.content["weights"] == sum(
        weight.numel() for weight in encoder.backbone.parameters()
    )
    assert read_manifest(tmp_path / "small", kind="encoder").seed == 1
    weights = encoder.backbone.embeddings.word_embeddings.weight.detach()
    assert float(weights[1:].std()) == pytest.approx(0.02, rel=0.15)  # BERT's own


def test_what_does_not_do(tmp_path: Path) -> None:
    for given, line in (
        ({"width": 9}, "--width: wanted a multiple of the 2 heads; found 9"),
        ({"max_length": 7}, "--max-length: 7 is not in the range x>=8"),
    ):
        with pytest.raises(SettingError, match=line):
            EncoderSettings(**given)
    with pytest.raises(
        InputError, match="wanted passages to learn word pieces from; found no word in them"
    ):
        make_encoder([collection_of(tmp_path / "empty", ["", " "])], tmp_path / "x", SMALL)
    assert not (tmp_path / "x").exists()
    collection = collection_of(tmp_path / "c", TEXTS)
    make_encoder([collection], tmp_path / "x", SMALL)
    with pytest.raises(OutputExistsError):
        make_encoder([collection], tmp_path / "x", SMALL)
