"""Packed texts give the padded ones' states, scores and vectors, in every architecture; and they
follow the weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.models import linear as linears
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.colbert import ColBERT
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.inference import inference_form
from positionbias.models.linear import product
from positionbias.models.packed_attention import attend_packed
from positionbias.models.shapes import BertCatConfig, BertDotConfig, ColBERTConfig
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_pairs

from .encoders import ARCHITECTURES, saved

PACKED = [name for name in ARCHITECTURES if name not in ("modernbert", "mpnet")]
TEXTS = [
    "green oil in the hall",
    "a stone",
    "",
    "water and iron and stone of the green gate in the hall",
    "a stone",
]
PAIRS = [("what is the lamp", text) for text in TEXTS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


def encoder_of(folders: Path, architecture: str, *, classifier: bool = False) -> Encoder:
    place = folders / f"{architecture}{'-classifier' * classifier}"
    made = place if place.exists() else saved(architecture, place, classifier=classifier)
    return open_encoder(made, classifier=classifier).eval()


def inputs(encoder: Encoder, texts: list[str] = TEXTS) -> dict[str, Tensor]:
    return encoder.assemble(encoder.read(texts, 40), limit=60)


def whole(encoder: Encoder, given: dict[str, Tensor]) -> Tensor:
    """The states of transformers' own module, ``(n, length, dim)``."""
    with torch.no_grad():
        return encoder.backbone(**given).last_hidden_state


@pytest.mark.parametrize("architecture", PACKED)
def test_states_are_those_of_the_model(folders: Path, architecture: str) -> None:
    encoder = encoder_of(folders, architecture)
    for given in (inputs(encoder), inputs(encoder, ["a stone"] * 3)):
        expected = whole(encoder, given)
        mask = given.get("attention_mask", torch.ones_like(given["input_ids"])).bool()
        with torch.inference_mode():
            found = encoder.last_hidden(**given)
            assert inference_form(encoder.backbone) is not None
            assert (found - expected)[mask].abs().max() < 1e-5
            assert not found[~mask].any()
            assert torch.allclose(encoder.cls(**given), expected[:, 0], atol=1e-5)
        assert expected.std() > 0.1


@pytest.mark.parametrize("head", ["linear", "transformers"])
@pytest.mark.parametrize("architecture", PACKED)
def test_scores_of_pairs_alone_and_among_others(
    folders: Path, architecture: str, head: Any
) -> None:
    torch.manual_seed(1)
    config = BertCatConfig(pair_length=24, head=head)  # short, so that pairs are cut
    model = BertCat(
        config, encoder_of(folders, architecture, classifier=head == "transformers")
    ).eval()
    read = (
        model.read_queries([query for query, _ in PAIRS]),
        model.read_passages([text for _, text in PAIRS]),
    )
    # with gradients: the model's own layers
    expected = model(**model.inputs(*read)).detach().numpy()
    for tokens in (1, 40, 4_096):
        assert abs(score_pairs(model, PAIRS, RankingConfig(tokens)) - expected).max() < 1e-5
    assert abs(score_pairs(model, PAIRS[::-1])[::-1] - expected).max() < 1e-5
    half = score_pairs(model, PAIRS, RankingConfig(precision="bfloat16"))
    assert 0 < abs(half - expected).max() < 0.1 * max(1.0, abs(expected).max())


@pytest.mark.parametrize(
    ("kind", "config"),
    [(BertDot, BertDotConfig(passage_length=16, pooling=pooling)) for pooling in ("cls", "mean")]
    + [(ColBERT, ColBERTConfig(passage_length=16, dimension=8))],
)
def test_vectors_of_dual_encoders(folders: Path, kind: Any, config: Any) -> None:
    torch.manual_seed(1)
    model = kind(config, encoder_of(folders, "bert")).eval()
    rows = model.read_passages(TEXTS)
    expected, mask = model.encode_passages(rows)  # with gradients
    with torch.inference_mode():
        found, again = model.encode_passages(rows)
    assert torch.equal(mask, again)
    assert torch.allclose(found[mask], expected[mask], atol=2e-5)


def test_it_follows_the_weights(folders: Path) -> None:
    encoder = encoder_of(folders, "bert")
    given = inputs(encoder)
    for change in (
        lambda: torch.optim.AdamW(encoder.parameters(), lr=0.1).step(),
        lambda: encoder.load_state_dict(
            {name: 0.9 * weight for name, weight in encoder.state_dict().items()}
        ),
        lambda: [part.data.mul_(1.1) for part in encoder.parameters()],
    ):
        with torch.no_grad():
            before = encoder.cls(**given)
        encoder.last_hidden(**given).square().sum().backward()
        with torch.no_grad():
            change()
            found = encoder.cls(**given)
        assert (found - before).abs().max() > 1e-3
        assert torch.allclose(found, whole(encoder, given)[:, 0], atol=1e-5)


def test_only_for_inference_in_precisions_that_it_has(folders: Path) -> None:
    backbone = encoder_of(folders, "bert").backbone
    assert inference_form(backbone) is None  # gradients are wanted
    with torch.no_grad():
        assert inference_form(backbone) is inference_form(backbone) is not None
        with torch.autocast("cpu", dtype=torch.float16):
            assert inference_form(backbone) is None
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert inference_form(backbone) is not None
        assert inference_form(backbone.train()) is None
        assert inference_form(encoder_of(folders, "modernbert").backbone) is None


def test_attention_is_that_of_each_text_with_its_mask() -> None:
    torch.manual_seed(2)
    lengths = torch.tensor([3, 3, 1, 5])
    offsets = F.pad(lengths.cumsum(0), (1, 0)).int()
    query, key, value = (torch.randn(12, 2, 4) for _ in range(3))
    text = torch.repeat_interleave(torch.arange(4), lengths)
    weights = torch.einsum("ihd,jhd->hij", query, key) / 2  # √4
    weights = weights.masked_fill(text[:, None] != text, float("-inf")).softmax(dim=-1)
    expected = torch.einsum("hij,jhd->ihd", weights, value)
    assert torch.allclose(attend_packed(query, key, value, offsets, 5), expected, atol=1e-6)
    firsts = offsets[:-1].long()
    assert torch.allclose(
        attend_packed(query[firsts], key, value, offsets, 5), expected[firsts], atol=1e-6
    )
    nothing = torch.zeros(0, 2, 4)
    assert attend_packed(nothing, nothing, nothing, torch.zeros(1, dtype=torch.int32), 0).shape == (
        0,
        2,
        4,
    )


@pytest.mark.parametrize("available", [True, False])
def test_a_product_of_two_layers(monkeypatch: pytest.MonkeyPatch, available: bool) -> None:
    # a processor without oneDNN's kernels
    monkeypatch.setattr(linears, "has_onednn", lambda: available)
    torch.manual_seed(1)
    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 4)
    rows = torch.randn(5, 3)
    with torch.no_grad():
        made = product([first, second], torch.float32)
        assert torch.allclose(made(rows), torch.cat([first(rows), second(rows)], dim=1), atol=1e-6)
        assert made(rows[:0]).shape == (0, 6)
        assert torch.allclose(made.gelu(rows), F.gelu(made(rows)), atol=1e-6)
        assert torch.allclose(made.plus(rows, made(rows)), 2 * made(rows), atol=1e-6)
        assert (
            made.gelu(rows[:0]).shape == made.plus(rows[:0], rows.new_zeros(0, 6)).shape == (0, 6)
        )
        half = product([first], torch.bfloat16)(rows.bfloat16())
        assert half.dtype == torch.bfloat16
        assert torch.allclose(half.float(), first(rows), atol=0.05)
        whole = product([first], torch.bfloat16).plus(rows.bfloat16(), first(rows))
        assert whole.dtype == torch.float32  # the residual's
        assert torch.allclose(whole, 2 * first(rows), atol=0.05)
