"""Evened-out attention: rows by hand, an encoder's last layer computed step by step, texts in
batches, and models it is not for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.models.bert_dot import BertDot
from positionbias.models.calibration import evened_out
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import load_encoder, quiet_transformers
from positionbias.models.protocols import SingleVector
from positionbias.models.remedied import CalibratedEncoder, remedied
from positionbias.models.remedies import Calibration, read_remedy
from positionbias.models.shapes import BertDotConfig

from ..tiny import planted, saved_tk, tiny_encoder

TEXTS = [
    "the lamp burns oil in the hall of stone",
    "iron gate",
    "stone",
    "water is green and iron is in the hall",
]


def row(*weights: float) -> Tensor:
    return torch.tensor(weights, dtype=torch.float64).view(1, 1, 1, -1)


def allowed(*there: int) -> Tensor:
    return torch.tensor(there, dtype=torch.bool).view(1, 1, 1, -1)


def test_a_row_by_hand() -> None:
    # the first and last token keep 0.2 and 0.1; baskets of two hold 0.6 and 0.1 of 0.7: each should
    # have 0.35
    weights = row(0.2, 0.5, 0.1, 0.06, 0.04, 0.1)
    even = evened_out(weights, allowed(1, 1, 1, 1, 1, 1), strength=1, basket=2).flatten().tolist()
    assert even == pytest.approx(
        [0.2, 0.5 * 0.35 / 0.6, 0.1 * 0.35 / 0.6, 0.06 * 3.5, 0.04 * 3.5, 0.1]
    )
    half = evened_out(weights, allowed(1, 1, 1, 1, 1, 1), strength=0.5, basket=2).flatten().tolist()
    assert half == pytest.approx(
        [(a + b) / 2 for a, b in zip(even, weights.flatten().tolist(), strict=True)]
    )


def test_a_shorter_last_basket_counts_by_its_size_and_padding_not_at_all() -> None:
    # two baskets: two tokens with 0.6, one with 0.2; of 0.8 the first should have 2/3, the second
    # 1/3
    weights = row(0.1, 0.4, 0.2, 0.2, 0.1, 0.0, 0.0)
    even = (
        evened_out(weights, allowed(1, 1, 1, 1, 1, 0, 0), strength=1, basket=2).flatten().tolist()
    )
    assert even == pytest.approx([0.1, 0.4 * 8 / 9, 0.2 * 8 / 9, 0.2 * 4 / 3, 0.1, 0, 0])
    left = row(0.0, 0.0, 0.1, 0.4, 0.2, 0.2, 0.1)
    assert evened_out(
        left, allowed(0, 0, 1, 1, 1, 1, 1), strength=1, basket=2
    ).flatten().tolist() == pytest.approx([0, 0, *even[:5]])


def test_a_basket_without_attention_gets_its_own_evenly() -> None:
    for least in (0.0, 1e-40, 1e-44):
        weights = torch.tensor([0.2, 0.6, 0.0, least, least, 0.2]).view(1, 1, 1, -1)
        even = (
            evened_out(weights, allowed(1, 1, 1, 1, 1, 1), strength=1, basket=2).flatten().tolist()
        )
        assert even == pytest.approx([0.2, 0.3, 0.0, 0.15, 0.15, 0.2])


def dot(folder: Path, pooling: str = "cls", **encoder: object) -> BertDot:
    shape = BertDotConfig(pooling=pooling, passage_length=64)  # type: ignore[arg-type]
    return BertDot(shape, load_encoder(tiny_encoder(folder, **encoder))).eval()  # type: ignore


def vectors(model: SingleVector, texts: list[str]) -> Tensor:
    with torch.inference_mode():
        return model.encode_passages(model.read_passages(texts))[0][:, 0]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_last_layer_step_by_step(tmp_path: Path, pooling: str) -> None:
    base = dot(tmp_path / "bert", pooling)
    model = remedied(base, Calibration(0.7, basket=3, layers=0.5), {})
    assert isinstance(model, CalibratedEncoder)
    backbone: Any = base.encoder.backbone
    with torch.inference_mode():
        inputs = base.encoder.assemble(base.read_passages(TEXTS[:1]), limit=64)
        backbone.set_attn_implementation("eager")
        given = backbone(**inputs, output_attentions=True, output_hidden_states=True)
        weights, states, last = (
            given.attentions[-1][0],
            given.hidden_states[-2],
            backbone.encoder.layer[-1],
        )
        changed = weights.clone()  # (heads, rows, keys)
        for head in range(len(weights)):
            for place in range(weights.shape[1]) if pooling == "mean" else [0]:
                inner = weights[head, place, 1:-1]
                parts = list(inner.split(3))
                even = torch.cat(
                    [part * inner.sum() * len(part) / len(inner) / part.sum() for part in parts]
                )
                changed[head, place, 1:-1] = 0.3 * inner + 0.7 * even
        value = (
            last.attention.self.value(states)[0].unflatten(-1, (len(weights), -1)).transpose(0, 1)
        )
        mixed = (changed @ value).transpose(0, 1).flatten(1)[None]
        expected = last.feed_forward_chunk(last.attention.output(mixed, states))[0]
        expected = expected[0] if pooling == "cls" else expected.mean(dim=0)
        backbone.set_attn_implementation("positionbias_calibrated")
    found = vectors(model, TEXTS[:1])[0]
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, vectors(base, TEXTS[:1])[0], atol=1e-3)


def test_batches_and_padding_change_nothing_and_queries_are_read_as_before(tmp_path: Path) -> None:
    plain, base = dot(tmp_path / "bert"), dot(tmp_path / "bert")
    model = remedied(base, Calibration(1.0, basket=2, layers=1.0), {})
    assert isinstance(model, SingleVector)
    together = vectors(model, TEXTS)
    assert torch.allclose(
        together, torch.cat([vectors(model, [text]) for text in TEXTS]), atol=1e-5
    )
    with torch.inference_mode():
        own = [one.encode_queries(one.read_queries(TEXTS))[0] for one in (plain, model)]
    assert torch.allclose(*own, atol=1e-5)
    wide = remedied(dot(tmp_path / "bert"), Calibration(1.0, basket=64, layers=1.0), {})
    assert isinstance(wide, SingleVector)
    assert torch.allclose(vectors(wide, TEXTS), vectors(plain, TEXTS), atol=1e-5)


def test_a_model_that_reads_left_to_right_pools_its_last_token(tmp_path: Path) -> None:
    from sentence_transformers.base.modules import Transformer

    from .library import bi_encoder, kept, pooling  # skips without sentence-transformers

    with quiet_transformers():
        causal = Transformer(str(tiny_encoder(tmp_path / "causal", is_decoder=True)))
        place = kept(bi_encoder(modules=[causal, pooling("lasttoken")]), tmp_path / "model")
    plain, base = load_checkpoint(place).model, load_checkpoint(place).model
    model = remedied(base, Calibration(1.0, basket=2, layers=0.5), {})
    assert isinstance(model, SingleVector)
    assert isinstance(plain, SingleVector)
    together = vectors(model, TEXTS)
    assert torch.allclose(
        together, torch.cat([vectors(model, [text]) for text in TEXTS]), atol=1e-5
    )
    assert not torch.allclose(together[0], vectors(plain, TEXTS)[0], atol=1e-3)
    assert torch.allclose(together[2], vectors(plain, TEXTS)[2], atol=1e-5)  # one basket


def test_a_saved_model_scores_the_same(tmp_path: Path) -> None:
    base = dot(tmp_path / "bert", "mean")
    base.save(tmp_path / "model")
    text = positionbias.debias_model(
        tmp_path / "model", remedy="calibrate:1:2:1", out=tmp_path / "even"
    )
    assert (
        str(text)
        .splitlines()[0]
        .endswith("calibrate:1:2:1: 2 tokens in each part that attention is evened out over")
    )
    found = load_checkpoint(tmp_path / "even").model
    assert isinstance(found, SingleVector)
    expected = remedied(base, Calibration(1.0, 2, 1.0), {})
    assert isinstance(expected, SingleVector)
    assert torch.allclose(vectors(found, TEXTS), vectors(expected, TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    "told",
    [
        "calibrate",
        "calibrate:",
        "calibrate:0",
        "calibrate:1.1",
        "calibrate:nan",
        "calibrate:1:0",
        "calibrate:1:2:0",
        "calibrate:1:2:1:1",
    ],
)
def test_no_calibration(told: str) -> None:
    with pytest.raises(SettingError, match="--remedy: wanted calibrate:STRENGTH"):
        read_remedy(told)


def test_a_calibration_as_text() -> None:
    assert read_remedy("calibrate:0.5") == Calibration(0.5, 128, 0.5)
    assert str(read_remedy("calibrate:0.25:16")) == "calibrate:0.25:16:0.5"
    assert [Calibration(1, 1, share).first_layer(6) for share in (0.01, 0.5, 1.0)] == [5, 3, 0]


def test_models_it_is_not_for(tmp_path: Path) -> None:
    collection: Collection = planted(tmp_path / "planted")
    tk = saved_tk(tmp_path / "tk", collection)
    with pytest.raises(SettingError, match="wanted a model with one vector a text; found a tk"):
        positionbias.debias_model(tk, remedy="calibrate:0.5", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    dot(tmp_path / "bert").save(tmp_path / "model")
    positionbias.debias_model(tmp_path / "model", remedy="rotate:2", out=tmp_path / "turned")
    with pytest.raises(SettingError, match="pools by the first token, the last, or the mean"):
        positionbias.debias_model(tmp_path / "turned", remedy="calibrate:0.5", out=tmp_path / "out")
