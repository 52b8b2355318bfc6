"""BERT_DOT is the dot product of the vectors that plain transformers gives; each side stands
alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from positionbias.core.errors import SettingError
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import load_encoder
from positionbias.models.shapes import BertDotConfig

from ..tiny import tiny_encoder
from .encoders import saved

QUERIES = ["what is the lamp", "the iron gate of the hall and more words"]
PASSAGES = [
    "The lamp of Orvell burns green oil.",
    "a gate",
    "Water, stone " * 9,
    "the green hall and the iron gate",
]
LENGTHS = {"query_length": 8, "passage_length": 20}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> BertDot:
    encoder = load_encoder(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))
    return BertDot(BertDotConfig(**LENGTHS), encoder).eval()


def scores(model: BertDot, queries: list[str], passages: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model(**model.inputs(model.read_queries(queries), model.read_passages(passages)))


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "electra", "roberta", "modernbert"])
@pytest.mark.parametrize("shape", [{}, {"pooling": "mean", "normalize": True}], ids=["cls", "mean"])
def test_scores_are_those_of_plain_transformers(
    architecture: str, shape: dict[str, Any], tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoTokenizer

    place = saved(architecture, tmp_path / architecture)
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)

    def vectors(texts: list[str], limit: int) -> torch.Tensor:
        given = tokenizer(
            texts, truncation=True, max_length=limit, padding=True, return_tensors="pt"
        )
        if architecture == "distilbert":
            given.pop("token_type_ids")
        states = plain(**given).last_hidden_state
        if not shape:
            return states[:, 0]
        mask = given["attention_mask"].unsqueeze(-1)
        return F.normalize((states * mask).sum(dim=1) / mask.sum(dim=1), dim=1)

    with torch.no_grad():
        wanted = (vectors(QUERIES, 8).repeat(2, 1) * vectors(PASSAGES, 20)).sum(dim=1)
    found = scores(
        BertDot(BertDotConfig(**LENGTHS, **shape), load_encoder(place)).eval(), QUERIES, PASSAGES
    )
    assert torch.allclose(found, wanted, atol=1e-5)
    assert found.std() > 0.01


def test_a_dot_product_by_hand(model: BertDot) -> None:
    query, passage = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0]], [[0.5, -1.0]]])
    masks = torch.ones(1, 1, dtype=torch.bool), torch.ones(2, 1, dtype=torch.bool)
    # 1·3 + 2·4; 1·0.5 − 2·1
    assert model.interact(query, masks[0], passage, masks[1]).tolist() == [11.0, -1.5]


def test_texts_are_cut_at_their_own_lengths(model: BertDot) -> None:
    made = model.inputs(model.read_queries(["gate " * 50]), model.read_passages(["lamp " * 50]))
    assert {
        name: tuple(part.shape) for name, part in made.items() if name.endswith("input_ids")
    } == {
        "query_input_ids": (1, 8),
        "passage_input_ids": (1, 20),
    }


def test_empty_sides_score_finitely(model: BertDot) -> None:
    found = scores(model, ["", "gate"], ["", "", "lamp", ""])
    assert found.isfinite().all()
    assert found.shape == (4,)


def test_lengths_beyond_the_positions_are_refused(model: BertDot) -> None:
    with pytest.raises(
        SettingError,
        match="--passage-length: wanted at most 256, the positions of this encoder; found 300",
    ):
        BertDot(BertDotConfig(passage_length=300), model.encoder)
    with pytest.raises(SettingError, match="--query-length: wanted at least 3"):
        BertDot(BertDotConfig(query_length=2), model.encoder)
