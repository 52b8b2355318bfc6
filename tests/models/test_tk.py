"""TK: positions, attention, gate, masks; the same score in any batch; gradients everywhere."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from positionbias.core.errors import SettingError
from positionbias.models.protocols import PassageEncoder, Ranker, TermEncoder, TextScorer, pad_rows
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


def test_positions_against_the_formula() -> None:
    half = 150
    table = sinusoid_positions(700, 300).numpy()
    for position in (0, 1, 499, 500, 699):
        for k in (0, 1, 75, 149):
            # the last rate is exactly 10⁻⁴: d/2 − 1 in the denominator
            angle = position / 1e4 ** (k / (half - 1))
            assert table[position, k] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, half + k] == pytest.approx(math.cos(angle), abs=1e-6)


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


def test_gate_mixes_embedding_and_context() -> None:
    tk = model()
    numbers = torch.tensor([[2, 5, 3]])
    mixed = tk.passage_vectors(numbers)
    tk.gate.data = torch.tensor(0.0)
    context = tk.passage_vectors(numbers)
    assert not torch.allclose(context, tk.embedding(numbers))
    torch.testing.assert_close(mixed, 0.5 * tk.embedding(numbers) + 0.5 * context)


# -- the layer -------------------------------------------------------------------------------------


def test_head_size_is_apart_from_the_width() -> None:
    layer = TransformerLayer(dimension=10, heads=3, head_size=7, feed_forward=4)
    shapes = {
        name: tuple(p.shape) for name, p in layer.named_parameters() if name.endswith("weight")
    }
    assert shapes["query.weight"] == shapes["key.weight"] == shapes["value.weight"] == (21, 10)
    assert shapes["output.weight"] == (10, 21)
    assert (shapes["expand.weight"], shapes["contract.weight"]) == ((4, 10), (10, 4))
    assert layer(torch.randn(2, 5, 10), torch.ones(2, 5, dtype=torch.bool)).shape == (2, 5, 10)
    paper = TransformerLayer(300, 16, 32, 100)
    assert paper.query.out_features == 512


def test_a_layer_worked_by_hand() -> None:
    # queries of zeros attend evenly, so each head's output is the mean value over the terms that
    # may be looked at; the feed- forward is zero, so the layer gives LN(LN(x + mean))
    layer = TransformerLayer(dimension=4, heads=1, head_size=2, feed_forward=3)
    for parameter in (
        *layer.query.parameters(),
        *layer.contract.parameters(),
        layer.value.bias,
        layer.output.bias,
    ):
        parameter.data.zero_()
    layer.value.weight.data = torch.eye(2, 4)  # the first two coordinates
    layer.output.weight.data = torch.eye(4, 2)  # put back where they were
    terms = torch.tensor(
        [[[1.0, 0.0, 2.0, 5.0], [3.0, 4.0, -1.0, 0.0], [100.0, 100.0, 100.0, 0.0]]]
    )
    mean = np.array([2.0, 2.0, 0.0, 0.0])  # of the first two terms; the third is masked

    def norm(row: np.ndarray) -> np.ndarray:
        return (row - row.mean()) / np.sqrt(row.var() + 1e-5)

    expected = [norm(norm(row + mean)) for row in terms[0].numpy()]
    found = layer(terms, torch.tensor([[True, True, False]]))[0].detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


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

TEXTS = st.lists(st.sampled_from([*WORDS.words, "unheard", "of"]), max_size=12).map(" ".join)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), st.integers(0, 3))
@settings(max_examples=25)
def test_the_same_score_in_any_batch(pairs: list[tuple[str, str]], padding: int) -> None:
    tk = model(seed=2)
    queries, passages = (
        tk.read_queries([q for q, _ in pairs]),
        tk.read_passages([p for _, p in pairs]),
    )
    with torch.no_grad():
        together = tk(pad_rows(queries), nn.functional.pad(pad_rows(passages), (0, padding)))
        alone = [
            tk(pad_rows([q]), pad_rows([p])).item() for q, p in zip(queries, passages, strict=True)
        ]
    assert together.tolist() == pytest.approx(alone, abs=1e-5, rel=1e-5)


def test_empty_sides_score_finite_numbers() -> None:
    tk = model()
    one, nothing = [2, 3], []
    scores = tk(pad_rows([nothing, one, nothing, one]), pad_rows([one, nothing, nothing, one]))
    assert scores[0].item() == scores[2].item() == 0  # no query term, no sum
    # every kernel clamped, for two query terms
    expected = 2 * math.log(1e-10) * tk.pooling.weight.sum().item()
    assert scores[1].item() == pytest.approx(expected, rel=1e-5)
    assert torch.isfinite(scores).all()
    scores.sum().backward()
    assert all(
        torch.isfinite(p.grad.to_dense()).all() for p in tk.parameters() if p.grad is not None
    )


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


def test_word_order_changes_the_score_and_padding_at_the_end_does_not() -> None:
    tk = model()
    query = pad_rows([[2, 3]])
    one, turned, padded = ([[2, 4, 5]], [[5, 2, 4]], [[2, 4, 5, 0, 0]])
    scores = [tk(query, torch.tensor(rows)).item() for rows in (one, turned, padded)]
    assert scores[0] != pytest.approx(scores[1], abs=1e-4)
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)


# -- other positions -------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", ["none", "relative"])
def test_vectors_do_not_depend_on_where_a_passage_starts(positions: str) -> None:
    rows = pad_rows([[2, 5, 3, 4]])
    near, far = (model(positions=positions, passage_start=start, layers=2) for start in (0, 500))
    assert torch.equal(near.passage_vectors(rows), far.passage_vectors(rows))
    assert torch.equal(far.query_vectors(rows), far.passage_vectors(rows))
    usual = [model(passage_start=start).passage_vectors(rows) for start in (0, 500)]
    assert not torch.allclose(*usual, atol=1e-3)


def test_relative_positions_see_a_neighbourhood_and_not_its_place() -> None:
    # one layer that looks at a word itself and at what follows: a text's last two words are the
    # same whatever stands before
    tk = model(positions="relative", relative_distance=1)
    layer = tk.layers[0]
    # what stands before is not looked at
    layer.relative.keys.data.copy_(torch.tensor([[-1e4], [0.0], [0.0]]).expand(3, 3))
    for part in (layer.query, layer.key):
        part.weight.data.zero_()
    layer.query.bias.data.fill_(1.0)
    early, late = (
        tk.passage_vectors(pad_rows([[2, 5]])),
        tk.passage_vectors(pad_rows([[4, 3, 7, 2, 5]])),
    )
    torch.testing.assert_close(early[0], late[0, 3:])


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


@pytest.mark.parametrize("positions", ["sinusoid", "relative"])
def test_half_precision_is_near_full_precision(positions: str) -> None:
    tk = model(positions=positions)
    queries, passages = pad_rows([[2, 3], [4, 5, 6]]), pad_rows([[5, 2, 4, 3], [3, 6]])
    full = tk(queries, passages)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = tk(queries, passages)
    assert half.dtype == torch.float32  # the kernels stay in full precision
    torch.testing.assert_close(half, full, atol=0.05, rtol=0.05)


def test_no_passage_no_score() -> None:
    assert model()(pad_rows([]), pad_rows([])).shape == (0,)


# -- making one ------------------------------------------------------------------------------------


def test_word_vectors_start_the_embedding() -> None:
    given = np.arange(len(WORDS) * 8, dtype=np.float64).reshape(len(WORDS), 8)
    tk = TK(TINY, WORDS, given)
    np.testing.assert_array_equal(tk.embedding.weight[1:].detach(), given[1:])
    assert tk.embedding.weight[0].abs().sum() == 0  # padding, whatever was given


def test_it_is_what_training_re_ranking_and_the_probe_ask_for() -> None:
    for form in (Ranker, PassageEncoder, TermEncoder):
        assert isinstance(model(), form)
    assert not isinstance(model(), TextScorer)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"layers": 0}, "--layers"),
        ({"heads": 0}, "--heads"),
        ({"head_size": -1}, "--head-size"),
        ({"feed_forward": 0}, "--feed-forward"),
        ({"query_length": 0}, "--query-length"),
        ({"passage_length": 0}, "--passage-length"),
        ({"dimension": 7}, "--dimension"),
        ({"dimension": 2}, "--dimension"),
        ({"kernels": 2}, "--kernels"),
        ({"kernel_layout": "random"}, "--kernel-layout"),
        ({"kernel_sigma": 0.0}, "--kernel-sigma"),
        ({"embedding_deviation": -0.1}, "--embedding-deviation"),
        ({"embedding_deviation": math.nan}, "--embedding-deviation"),
        ({"passage_start": -1}, "--passage-start"),
        ({"positions": "learned"}, "--positions"),
        ({"relative_distance": 0}, "--relative-distance"),
    ],
)
def test_a_setting_out_of_range_names_its_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError, match=rf"^{named}: wanted .*; found "):
        TKConfig(**change)
