"""Texts at other positions: the same as a model whose table begins elsewhere, with gradients and
without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import load_encoder
from positionbias.models.offset import check_offsets, position_offset, read_from
from positionbias.models.shapes import BertCatConfig, BertDotConfig

from ..tiny import TINY, tiny_encoder, tiny_tk

TEXTS = ["the lamp burns oil in the hall", "iron gate", "stone water green hall what is"]


@pytest.mark.parametrize("offset", [7, 400])  # within the encodings that are kept, and beyond
@pytest.mark.parametrize("gradients", [False, True])
def test_tk_s_passages_begin_elsewhere(
    offset: int, gradients: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny_tk(TEXTS, config=TINY)
    inputs = plain.inputs(plain.read_queries(["the lamp"] * 3), plain.read_passages(TEXTS))
    with torch.set_grad_enabled(gradients):
        before = plain(**inputs)
        with read_from(offset):
            found = plain(**inputs)
        assert torch.equal(plain(**inputs), before)
        monkeypatch.setattr("positionbias.models.tk.PASSAGE_START", 500 + offset)
        expected = tiny_tk(TEXTS, config=TINY)(**inputs)
    assert torch.allclose(found, expected, atol=1e-6)
    assert not torch.allclose(found, before, atol=1e-4)


def cat(folder: Path) -> Any:
    return BertCat(BertCatConfig(pair_length=64), load_encoder(tiny_encoder(folder)))


def dot(folder: Path) -> Any:
    return BertDot(
        BertDotConfig(pooling="mean", passage_length=64, query_length=64),
        load_encoder(tiny_encoder(folder)),
    )


@pytest.mark.parametrize("made", [cat, dot])
def test_an_encoder_s_input_begins_elsewhere(made: Callable[[Path], Any], tmp_path: Path) -> None:
    plain, moved = made(tmp_path / "bert").eval(), made(tmp_path / "bert").eval()
    table = moved.encoder.backbone.embeddings.position_embeddings.weight
    with torch.no_grad():
        table.copy_(table.roll(-9, dims=0))
    inputs = plain.inputs(plain.read_queries(["the lamp"] * 3), plain.read_passages(TEXTS))
    with read_from(9):
        found = plain(**inputs)
    assert torch.allclose(found, moved(**inputs), atol=1e-5)
    with read_from(10_000):  # no further than there are positions
        assert bool(torch.isfinite(plain(**inputs)).all())
    assert position_offset() == 0


def test_models_without_absolute_positions() -> None:
    for positions in ("none", "relative"):
        with pytest.raises(
            SettingError,
            match="--offset-positions: wanted a model with absolute positions; found tk",
        ):
            check_offsets(tiny_tk(TEXTS, config=replace(TINY, positions=positions)))
    with pytest.raises(SettingError, match="found mono_t5"):
        check_offsets(SimpleNamespace(kind="mono_t5", encoder=SimpleNamespace()))
    check_offsets(tiny_tk(TEXTS))
