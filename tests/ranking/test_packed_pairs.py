"""Packed re-ranking, block by block, gives the padded scores and counts; a passage is tokenized
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
from positionbias.core.run import Run
from positionbias.models import packed_models
from positionbias.models.bert_cat import BertCat
from positionbias.models.protocols import Ranker
from positionbias.ranking import packed_pairs
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
def test_equals_padded(
    bert_cat: BertCat, monkeypatch: pytest.MonkeyPatch, first: int, most_tokens: int
) -> None:
    padded = rescore(bert_cat, Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    monkeypatch.setattr(packed_pairs, "_FIRST_PAIRS", first)
    monkeypatch.setattr(packed_pairs, "_MOST_TOKENS", most_tokens)
    texts = Counted()
    done = rescore(
        bert_cat, texts, QUERIES, RUN, name="ours", config=RankingConfig(batch_tokens=300)
    )
    assert scores(done.run) == pytest.approx(scores(padded.run), abs=1e-4, rel=1e-5)
    assert done.counts.truncated == padded.counts.truncated
    assert len(done.counts.empty) == 1
    assert (texts.read == len(TEXTS)) is bool(most_tokens or first > len(TEXTS))


def stored(place: Path, texts: dict[str, str]) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages(Passage(*item) for item in texts.items())
        writer.add_split("test", QUERIES, [], [])
        writer.finish(Manifest("collection", "texts", "a test"))
    return Collection(place)


def test_what_a_model_read_of_a_collection_is_kept_for_the_same_run(
    bert_cat: BertCat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    whole, other = (
        stored(tmp_path / "one", TEXTS),
        stored(tmp_path / "other", TEXTS | {"p1": "word4", "p7": ""}),
    )
    expected = {
        one: rescore(bert_cat, Texts() if one is whole else one, QUERIES, RUN, name="ours")
        for one in (whole, other)
    }
    read: list[int] = []
    texts = Collection.texts
    monkeypatch.setattr(
        Collection, "texts", lambda self, ids: read.append(len(ids)) or texts(self, ids)
    )
    few = Run("few", [("q-one", ["p2", "p1"], [2, 1])])
    again = RUN.only(list(RUN), "again")  # with ids of its own
    for collection, run, count in [
        (whole, RUN, len(TEXTS)),
        (whole, again, 0),
        (other, RUN, len(TEXTS)),
        (other, few, 2),
        (other, RUN, len(TEXTS)),
    ]:
        read.clear()
        done = rescore(bert_cat, collection, QUERIES, run, name="ours")
        assert sum(read) == count
        known = scores(expected[collection].run)
        assert scores(done.run) == {
            pair: pytest.approx(known[pair], abs=1e-6) for pair in scores(run)
        }
    assert len(packed_pairs._kept) == 1
    monkeypatch.setattr(packed_pairs, "_MOST_KEPT", 10)
    rescore(bert_cat, other, QUERIES, RUN, name="ours")
    assert not packed_pairs._kept  # too many to be kept


def test_memory_that_does_not_suffice_makes_smaller_batches(
    bert_cat: BertCat, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_packed_passages_of_a_bi_encoder(
    rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = rescore(rankers["bert_dot"], Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    done = rescore(
        rankers["bert_dot"],
        Texts(),
        QUERIES,
        RUN,
        name="ours",
        config=RankingConfig(batch_tokens=300),
    )
    assert scores(done.run) == pytest.approx(scores(padded.run), abs=1e-4, rel=1e-5)
