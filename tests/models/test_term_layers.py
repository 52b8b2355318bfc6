"""Term vectors of an encoder are plain transformers' hidden states of the same text, special tokens
aside.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import load_encoder, quiet_transformers
from positionbias.models.protocols import PassageEncoder, TermEncoder
from positionbias.models.shapes import BertCatConfig, BertDotConfig
from positionbias.models.term_layers import WordPieces, term_encoder
from positionbias.text.vocabulary import UNKNOWN

from ..tiny import tiny_encoder, tiny_tk
from .encoders import saved

TEXTS = ["the lamp of the hall burns", "", "iron gate", "lamp " * 40, "green ☃ oil"]
LENGTH = 24


def hidden_states(place: Path, text: str) -> tuple[list[int], list[np.ndarray]]:
    """Word pieces of a text and their states after each layer, by transformers alone, without the
    special tokens.
    """
    from transformers import AutoModel, AutoTokenizer

    with quiet_transformers():
        tokenizer, model = (
            AutoTokenizer.from_pretrained(place),
            AutoModel.from_pretrained(place).eval(),
        )
    given = tokenizer(
        text,
        truncation=True,
        max_length=LENGTH,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    special = given.pop("special_tokens_mask")[0].bool()
    if "token_type_ids" in given and type(model).__name__ == "DistilBertModel":
        given.pop("token_type_ids")
    with torch.no_grad():
        states = model(**given, output_hidden_states=True).hidden_states
    return given["input_ids"][0][~special].tolist(), [
        layer[0, ~special].numpy() for layer in states
    ]


@pytest.mark.parametrize(
    "architecture", ["bert", "distilbert", "electra", "roberta", "modernbert", "mpnet"]
)
def test_vectors_are_the_hidden_states_of_plain_transformers(
    architecture: str, tmp_path: Path
) -> None:
    place = saved(architecture, tmp_path / architecture)
    pieces = WordPieces(load_encoder(place).eval(), LENGTH, "all")
    rows = pieces.read_passages(TEXTS)
    vectors = pieces.term_vectors(rows)
    assert pieces.term_layers == (0, 1, 2)
    # all texts in one padded batch
    assert vectors.shape == (3, len(TEXTS), max(map(len, rows)), 16)
    for index, text in enumerate(TEXTS):
        if not text:
            assert rows[index] == []
            continue
        numbers, states = hidden_states(place, text)
        unknown = pieces._encoder.tokenizer.unk_token_id
        assert rows[index] == [UNKNOWN if number == unknown else number + 2 for number in numbers]
        for layer in range(3):
            np.testing.assert_allclose(
                vectors[layer, index, : len(numbers)], states[layer], atol=1e-5
            )
    assert len(rows[3]) == pieces.room == LENGTH - 2  # cut as transformers cuts
    assert UNKNOWN in rows[4]


def test_some_layers_in_the_order_asked_for(tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoder(tmp_path / "tiny")).eval()
    rows = WordPieces(encoder, LENGTH).read_passages(TEXTS)
    every = WordPieces(encoder, LENGTH, "all").term_vectors(rows)
    assert torch.equal(WordPieces(encoder, LENGTH, [2, 0]).term_vectors(rows), every[[2, 0]])
    assert WordPieces(encoder, LENGTH).term_layers == (2,)
    assert torch.equal(WordPieces(encoder, LENGTH).term_vectors(rows)[0], every[2])


def test_of_which_models(tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoder(tmp_path / "tiny"))
    cat, dot = (
        BertCat(BertCatConfig(pair_length=30), encoder),
        BertDot(BertDotConfig(passage_length=20), encoder),
    )
    assert (term_encoder(cat).room, term_encoder(dot, [1]).room) == (28, 18)
    assert isinstance(term_encoder(cat), TermEncoder)
    assert not isinstance(cat, TermEncoder)
    tk = tiny_tk(["word"] * 2)
    assert term_encoder(tk) is tk
    assert isinstance(tk, TermEncoder | PassageEncoder)


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ([3], "found 3"),
        ([0, 0], "found one given twice"),
        ([], "found none"),
    ],
)
def test_layers_that_are_not_there(layers: list, found: str, tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoder(tmp_path / "tiny"))
    with pytest.raises(
        SettingError,
        match=f"--probe-layers: wanted numbers from 0 to 2, or all; {found}; give others",
    ):
        WordPieces(encoder, LENGTH, layers)


def test_models_without() -> None:
    with pytest.raises(
        SettingError,
        match=(
            "--probe-layers: wanted a model over an encoder; found one of kind tk; leave "
            "--probe-layers out"
        ),
    ):
        term_encoder(tiny_tk(["word"] * 2), "all")
    with pytest.raises(
        SettingError,
        match="--model: wanted a model with term vectors .*; found one of kind function",
    ):
        term_encoder(load_checkpoint("operator:add").model)
