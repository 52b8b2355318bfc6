"""No part of others' models is drawn at random: a folder that lacks a tensor is refused, whatever
the library says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from positionbias.core.errors import InputError
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import quiet_transformers

from ..tiny import tiny_encoder, tiny_tokenizer
from .encoders import saved
from .library import bi_encoder, kept, pooling, transformer

SHAPE = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.5,
}


def masked(place: Path) -> Path:
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = tiny_tokenizer()
    with quiet_transformers():
        BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **SHAPE)).save_pretrained(place)
        tokenizer.save_pretrained(place)
    return place


def causal(place: Path) -> Path:
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny_tokenizer()
    with quiet_transformers():
        LlamaForCausalLM(
            LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, **SHAPE)
        ).save_pretrained(place)
        tokenizer.save_pretrained(place)
    return place


def classifier(place: Path) -> Path:
    return saved("bert", place, classifier=True)


def max_pooled(place: Path) -> Path:
    return kept(bi_encoder(modules=[transformer(place.parent / "tiny"), pooling("max")]), place)


def colbert(place: Path) -> Path:
    """As Stanford saved it, whole where its projection stands beside the encoder."""
    config = json.loads((tiny_encoder(place) / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    tensors = load_file(place / "model.safetensors")
    bert = {f"bert.{name}": part for name, part in tensors.items()}
    save_file(
        {**bert, "linear.weight": torch.ones(4, 16)},
        place / "model.safetensors",
        metadata={"format": "pt"},
    )
    return place


HEADS: dict[str, tuple[Callable[[Path], Path], str | None, str, str]] = {
    "a classifier's head": (
        classifier,
        None,
        "classifier.",
        (
            "a text encoder and its head, with its tokenizer; found no tensor classifier.bias, "
            "classifier.weight; give"
        ),
    ),
    "a masked language model's head": (
        masked,
        "sparse",
        "cls.",
        "no tensor cls.predictions.bias, cls.predictions",
    ),
    "a language model's head": (causal, "cross-encoder", "lm_head.", "no tensor lm_head.weight"),
    "a layer of a language model": (
        causal,
        "bi-encoder",
        "model.layers.1.mlp",
        "no tensor layers.1.mlp.down_proj.weight, layers.1",
    ),
    "a layer of an encoder": (
        max_pooled,
        None,
        "encoder.layer.1",
        "no tensor encoder.layer.1.attention",
    ),
    "a projection": (colbert, None, "linear.", "linear.weight"),
}


@pytest.mark.parametrize("part", HEADS)
def test_a_part_that_the_files_lack_is_not_drawn(part: str, tmp_path: Path) -> None:
    make, kind, start, message = HEADS[part]
    place = make(tmp_path / "model")
    load_checkpoint(place, kind)  # whole
    tensors = load_file(place / "model.safetensors")
    left = {name: tensor for name, tensor in tensors.items() if not name.startswith(start)}
    assert len(left) < len(tensors)
    save_file(left, place / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(place, kind)
    assert "\n" not in str(caught.value)


def test_a_pooler_that_nothing_reads_may_be_lacking(tmp_path: Path) -> None:
    from transformers import PreTrainedModel

    loader = PreTrainedModel.__dict__["from_pretrained"]
    place = max_pooled(tmp_path / "model")
    tensors = load_file(place / "model.safetensors")
    left = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
    assert len(left) < len(tensors)
    save_file(left, place / "model.safetensors", metadata={"format": "pt"})
    assert load_checkpoint(place).model.kind == "bi-encoder"
    assert PreTrainedModel.__dict__["from_pretrained"] is loader
