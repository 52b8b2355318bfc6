"""Packed re-ranking, block by block, gives the padded scores and counts; a passage is tokenized once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from positionbias.models import packed_models
from positionbias.models.bert_cat import BertCat
from positionbias.models.protocols import Ranker
from positionbias.ranking import packed_pairs, query_blocks
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.rerank import rescore

from .test_rescore import QUERIES, RUN, TEXTS, Texts, scores


class Counted(Texts):
    """Counts the texts read."""

    read = 0

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        self.read += len(passage_ids)
        return super().texts(passage_ids)


@pytest.fixture
def bert_cat(rankers: dict[str, Ranker]) -> BertCat:
    found = rankers["bert_cat"]
    assert isinstance(found, BertCat)
    return found


@pytest.mark.parametrize(("first", "most_tokens"), [(16_384, 1 << 28), (3, 1 << 28), (3, 0)])
def test_equals_padded(bert_cat: BertCat, monkeypatch: pytest.MonkeyPatch, first: int, most_tokens: int) -> None:
    padded = rescore(bert_cat, Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    monkeypatch.setattr(packed_pairs, "_FIRST_PAIRS", first)
    monkeypatch.setattr(packed_pairs, "_MOST_TOKENS", most_tokens)
    texts = Counted()
    done = rescore(bert_cat, texts, QUERIES, RUN, name="ours", config=RankingConfig(batch_tokens=300))
    assert scores(done.run) == pytest.approx(scores(padded.run), abs=1e-4, rel=1e-5)
    assert done.counts.truncated == padded.counts.truncated
    assert done.counts.empty_queries == 1
    assert (texts.read == len(TEXTS)) is bool(most_tokens or first > len(TEXTS))


def test_memory_that_does_not_suffice_makes_smaller_batches(bert_cat: BertCat, monkeypatch: pytest.MonkeyPatch) -> None:
    padded = rescore(bert_cat, Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    whole = packed_models.PackedPairs.scores

    def scarce(self: packed_models.PackedPairs, batch: packed_models.PackedBatch) -> torch.Tensor:
        if len(batch) > 5:
            raise torch.OutOfMemoryError
        return whole(self, batch)

    monkeypatch.setattr(packed_models.PackedPairs, "scores", scarce)
    done = rescore(bert_cat, Texts(), QUERIES, RUN, name="ours")
    assert scores(done.run) == pytest.approx(scores(padded.run), abs=1e-4, rel=1e-5)
    assert done.counts.batch_tokens is not None


def test_blocks_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_blocks, "BLOCK_PAIRS", 6)
    sizes = [sum(len(RUN.numbers(query_id)) for query_id in block) for block in query_blocks.query_blocks(RUN, 2)]
    assert sizes == [3, 5, 3 + len(TEXTS)]  # of 3, 3, 2, 3, and all: at least 2, 4, 6
    assert np.sum(sizes) == RUN.pairs


def test_packed_passages_of_a_bi_encoder(rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch) -> None:
    padded = rescore(rankers["bert_dot"], Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    done = rescore(rankers["bert_dot"], Texts(), QUERIES, RUN, name="ours", config=RankingConfig(batch_tokens=300))
    assert scores(done.run) == pytest.approx(scores(padded.run), abs=1e-4, rel=1e-5)
