"""One small model of each kind."""

from __future__ import annotations

import pytest
import torch

from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.colbert import ColBERT
from positionbias.models.encoder import load_encoder
from positionbias.models.protocols import Ranker
from positionbias.models.shapes import BertCatConfig, BertDotConfig, ColBERTConfig

from ..tiny import tiny_encoder, tiny_tk

RANKING_WORDS = [f"word{i}" for i in range(20)]


@pytest.fixture(scope="session")
def rankers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ranker]:
    folder = tiny_encoder(tmp_path_factory.mktemp("encoder") / "bert")
    torch.manual_seed(1)
    models = (
        BertCat(BertCatConfig(), load_encoder(folder)),
        BertDot(BertDotConfig(), load_encoder(folder)),
        ColBERT(ColBERTConfig(dimension=12), load_encoder(folder)),
    )
    return {
        "tk": tiny_tk([" ".join(RANKING_WORDS)] * 2),
        **{model.kind: model.eval() for model in models},
    }


@pytest.fixture(scope="session", params=["tk", "bert_dot", "bert_cat", "colbert"])
def ranker(request: pytest.FixtureRequest, rankers: dict[str, Ranker]) -> Ranker:
    return rankers[request.param]
