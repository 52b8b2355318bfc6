"""TK: positions, attention, gate, masks; the same score in any batch; gradients everywhere."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from positionbias.core.errors import SettingError
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK, TransformerLayer, sinusoid_positions
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

from ..tiny import TINY

WORDS = Vocabulary("lamp gate bridge tower oil iron stone north".split())


def model(seed: int = 1, **changes: object) -> TK:
    torch.manual_seed(seed)
    return TK(replace(TINY, **changes), WORDS)  # type: ignore[arg-type]


# -- positions, gate -------------------------------------------------------------------------------


def test_positions_by_hand() -> None:
    # dimension 4: two rates, 1 and 10⁻⁴; the sine half stands before the cosine half
    table = sinusoid_positions(3, 4)
    expected = [
        [math.sin(p), math.sin(p * 1e-4), math.cos(p), math.cos(p * 1e-4)] for p in range(3)
    ]
    assert table.tolist() == [pytest.approx(row, abs=1e-7) for row in expected]


def test_gate_and_starts_without_layers() -> None:
    # without layers the context is embedding + position, so ĥ = α·e + (1 − α)(e + position) = e +
    # (1 − α)·position
    tk = model()
    tk.layers = nn.ModuleList()
    assert tk.gate.item() == 0.5
    numbers = torch.tensor([[2, 5, 3]])
    embedded = tk.embedding(numbers)
    table = sinusoid_positions(600, TINY.dimension)
    torch.testing.assert_close(tk.query_vectors(numbers), embedded + 0.5 * table[0:3])
    torch.testing.assert_close(tk.passage_vectors(numbers), embedded + 0.5 * table[500:503])
    tk.gate.data = torch.tensor(0.75)  # one gate for both sides
    torch.testing.assert_close(tk.query_vectors(numbers), embedded + 0.25 * table[0:3])
    torch.testing.assert_close(tk.passage_vectors(numbers), embedded + 0.25 * table[500:503])


# -- the layer -------------------------------------------------------------------------------------


def test_parity_with_torchs_encoder_layer() -> None:
    torch.manual_seed(3)
    theirs = nn.TransformerEncoderLayer(
        12, 3, dim_feedforward=7, dropout=0.0, activation="relu", batch_first=True, norm_first=False
    )
    ours = TransformerLayer(12, 3, 4, 7)
    for name, part in zip(("query", "key", "value"), range(3), strict=True):
        rows = slice(12 * part, 12 * part + 12)
        getattr(ours, name).weight.data = theirs.self_attn.in_proj_weight.data[rows]
        getattr(ours, name).bias.data = torch.randn(12)
        theirs.self_attn.in_proj_bias.data[rows] = getattr(ours, name).bias.data
    pairs = (
        (ours.output, theirs.self_attn.out_proj),
        (ours.norm_attention, theirs.norm1),
        (ours.expand, theirs.linear1),
        (ours.contract, theirs.linear2),
        (ours.norm_feed_forward, theirs.norm2),
    )
    for own, other in pairs:
        own.load_state_dict(other.state_dict())
    terms, lengths = torch.randn(4, 6, 12), torch.tensor([6, 4, 1, 3])
    key_mask = torch.arange(6) < lengths[:, None]
    theirs.train()  # evaluation takes a fused path that leaves masked places at zero
    found, expected = ours(terms, key_mask), theirs(terms, src_key_padding_mask=~key_mask)
    torch.testing.assert_close(found[key_mask], expected[key_mask], atol=1e-5, rtol=1e-5)


# -- scores ----------------------------------------------------------------------------------------


def test_gradients_reach_every_parameter() -> None:
    tk = model(layers=2)
    numbers = {2, 3, 4, 5, UNKNOWN}
    tk(pad_rows([[2, 3], [4]]), pad_rows([[5, 2, UNKNOWN], [3, 4, 5, 2]])).sum().backward()
    for name, parameter in tk.named_parameters():
        assert parameter.grad is not None, name
        gradient = parameter.grad.to_dense()
        assert torch.isfinite(gradient).all(), name
        if name == "embedding.weight":
            used = set(torch.nonzero(gradient.abs().sum(dim=1)).flatten().tolist())
            assert used == numbers  # the rows read, and neither padding nor another
        elif not name.endswith("key.bias"):  # attention does not change when all keys shift alike
            assert gradient.abs().max() > 0, name
    assert tk.embedding.weight.grad is not None
    assert tk.embedding.weight.grad.is_sparse


# -- other positions -------------------------------------------------------------------------------


# -- what need not be computed ---------------------------------------------------------------------


@pytest.mark.parametrize("positions", ["sinusoid", "none", "relative"])
@pytest.mark.parametrize("times", [1, 2])
def test_groups_of_alike_length_change_nothing(positions: str, times: int) -> None:
    tk = model(positions=positions, layers=2)
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(0, 30, (11 * times,), generator=generator).tolist()
    passages = pad_rows([torch.randint(1, 10, (n,), generator=generator).tolist() for n in lengths])
    queries = pad_rows(
        [torch.randint(1, 10, (n % 5,), generator=generator).tolist() for n in range(11)]
    )
    query, mask = tk.query_vectors(queries).repeat(times, 1, 1), (queries != 0).repeat(times, 1)
    # all at once, padded to the longest
    expected = tk.interact(query, mask, tk.passage_vectors(passages), passages != 0)
    found = tk(queries, passages)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    weights = torch.randn(len(passages), generator=generator)
    gradients = [
        torch.autograd.grad((scores * weights).sum(), list(tk.parameters()))
        for scores in (expected, found)
    ]
    for (name, _), one, other in zip(tk.named_parameters(), *gradients, strict=True):
        torch.testing.assert_close(
            other.to_dense(),
            one.to_dense(),
            atol=2e-4,
            rtol=1e-4,
            msg=lambda text, n=name: f"{n}: {text}",
        )


def test_no_passage_no_score() -> None:
    assert model()(pad_rows([]), pad_rows([])).shape == (0,)


# -- making one ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"layers": 0}, "--layers"),
        ({"dimension": 7}, "--dimension"),
        ({"positions": "learned"}, "--positions"),
    ],
)
def test_a_setting_out_of_range_names_its_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError, match=rf"^{named}: .*({next(iter(change.values()))})"):
        TKConfig(**change)
