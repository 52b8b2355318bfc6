"""Products in int8: numbers worked by hand, their error, and results that depend on no other row."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from positionbias.core.errors import SettingError
from positionbias.models.bert_cat import BertCat
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.int8 import int8_product, multiplies_int8
from positionbias.models.packed import is_packable
from positionbias.models.shapes import BertCatConfig
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_pairs

from .encoders import saved

pytestmark = pytest.mark.skipif(not multiplies_int8(), reason="this processor has no instructions for int8")
CPU = torch.device("cpu")


def layer(weight: torch.Tensor, bias: torch.Tensor | None = None) -> nn.Linear:
    made = nn.Linear(weight.shape[1], len(weight), bias=bias is not None)
    with torch.no_grad():
        made.weight.copy_(weight)
        if bias is not None:
            made.bias.copy_(bias)
    return made


def test_whole_levels_are_exact() -> None:
    # weights are whole multiples of 1 and 0.5, inputs of 1 from −55 to 200: every level is a whole number
    made = int8_product([layer(torch.tensor([[127.0, -3.0, 1.0], [0.5, 63.5, -1.0]]), torch.tensor([1.0, -2.0]))])
    found = made(torch.tensor([[-55.0, 200.0, 7.0], [0.0, 255.0, 1.0]]))
    assert torch.allclose(found, torch.tensor([[-7577.0, 12663.5], [-763.0, 16189.5]]), atol=0.01)


def test_layers_side_by_side_and_without_bias() -> None:
    torch.manual_seed(1)
    layers, rows = [layer(torch.randn(5, 16)), layer(torch.randn(3, 16), torch.randn(3))], torch.randn(9, 16)
    both = int8_product(layers)(rows)
    assert torch.equal(both, torch.cat([int8_product([one])(rows) for one in layers], dim=1))
    assert int8_product(layers)(rows[:0]).shape == (0, 8)


def test_the_error_is_that_of_the_levels() -> None:
    torch.manual_seed(2)
    weight, rows = torch.randn(24, 64), torch.randn(40, 64) * torch.logspace(-3, 3, 40).unsqueeze(1) + 5
    exact = rows.double() @ weight.double().T
    # half a level of a weight times the inputs, and half a level of an input times the weights
    of_weight = 0.5 * weight.abs().amax(1) / 127 * (rows - rows.amin(1, keepdim=True)).sum(1, keepdim=True)
    of_rows = 0.5 * (rows.amax(1) - rows.amin(1)).unsqueeze(1) / 255 * weight.abs().sum(1) * (1 + 1 / 127)
    least = rows.amin(1, keepdim=True).abs() * 64 * 0.5 * weight.abs().amax(1) / 127
    assert ((int8_product([layer(weight)])(rows) - exact).abs() <= (of_weight + of_rows + least) * 1.001 + 1e-3).all()


@pytest.mark.parametrize("value", [0.0, 3.5, -1e20])
def test_rows_of_equal_values(value: float) -> None:
    found = int8_product([layer(torch.tensor([[2.0, -1.0]]), torch.tensor([1.0]))])(torch.full((1, 2), value))
    assert torch.allclose(found, torch.tensor([[value + 1.0]]), rtol=0.02)


def test_a_row_depends_on_no_other() -> None:
    torch.manual_seed(3)
    made, rows = int8_product([layer(torch.randn(40, 32), torch.randn(40))]), torch.randn(529, 32)
    whole, threads = made(rows), torch.get_num_threads()
    assert torch.equal(whole[259:], made(rows[259:]))
    assert torch.equal(whole[5:6], made(rows[5:6]))
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        assert torch.equal(whole, made(rows))
    finally:
        torch.set_num_threads(threads)


TEXTS = ["green oil in the hall", "a stone", "", "water and iron and stone of the green gate in the hall", "a stone"]
PAIRS = [("what is the lamp", text) for text in TEXTS]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return open_encoder(saved("bert", Path(tmp_path_factory.mktemp("int8")) / "bert")).eval()


def test_scores_alone_and_among_others(encoder: Encoder) -> None:
    torch.manual_seed(1)
    model = BertCat(BertCatConfig(pair_length=24), encoder).eval()
    exact = score_pairs(model, PAIRS)
    found = score_pairs(model, PAIRS, RankingConfig(precision="int8"))
    scale = max(1.0, abs(exact).max())
    assert 0 < abs(found - exact).max() < 0.1 * scale
    for tokens in (1, 40, 4_096):
        assert (
            abs(score_pairs(model, PAIRS, RankingConfig(tokens, "int8")) - found).max() < 2e-6 * scale
        )  # the head is in float32
    assert abs(score_pairs(model, PAIRS) - exact).max() == 0  # float32 goes on as before


def test_where_there_is_none(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    config = RankingConfig(precision="int8")
    assert config.dtype(CPU) == torch.int8
    assert is_packable(BertCat(BertCatConfig(pair_length=24), encoder))
    config.check(BertCat(BertCatConfig(pair_length=24), encoder), CPU)
    with pytest.raises(SettingError, match="--precision int8: wanted a CPU; found cuda; give bfloat16 there, or --device cpu"):
        config.dtype(torch.device("cuda"))

    class Words(nn.Module):
        kind = "knrm"

    with pytest.raises(
        SettingError, match="wanted an encoder of BERT's family that posbias computes itself; found a model of kind knrm"
    ):
        config.check(Words(), CPU)
    monkeypatch.setattr("positionbias.models.int8.multiplies_int8", lambda: False)
    with pytest.raises(SettingError, match="wanted a processor with AVX-512 VNNI, AVX-VNNI or AMX; found none"):
        config.dtype(CPU)
