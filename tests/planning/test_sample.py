"""Texts to time a model on, and what timing one returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.models.checkpoint import load_checkpoint
from positionbias.planning.sample import Sample, _even, invented_texts, texts_of, written_at
from positionbias.ranking.config import RankingConfig
from tests.dense.conftest import saved_dot
from tests.tiny import saved_tk


def test_invented_texts_have_the_stated_length() -> None:
    lengths = [len(text.split()) for text in invented_texts(40, 1_000)]
    assert min(lengths) >= 20
    assert max(lengths) <= 60
    assert abs(np.mean(lengths) - 40) < 1.5
    assert invented_texts(40, 1_000) == invented_texts(40, 1_000)
    assert all(invented_texts(1, 10))


def test_each_block_has_texts_of_all_lengths() -> None:
    """Of 512 texts of 1 to 512 letters, in blocks of 128: each block's mean is within two letters of 256.5."""
    texts = _even(["x" * length for length in range(1, 513)])
    means = [np.mean([len(text) for text in texts[first : first + 128]]) for first in range(0, 512, 128)]
    assert sorted(texts, key=len)[-1] == "x" * 512
    assert len(texts) == 512
    assert max(abs(mean - 256.5) for mean in means) <= 2
    assert _even(["a"]) == ["a"]


def test_texts_are_drawn_from_the_collection(small_collection: Collection) -> None:
    own = {passage.text for passage in small_collection.passages()}
    assert set(texts_of(small_collection)) == own


def test_a_bi_encoder_is_timed_for_every_step(tmp_path: Path) -> None:
    sample = Sample(load_checkpoint(saved_dot(tmp_path / "dot").path), invented_texts(8, 64), RankingConfig(), 0.01)
    encode, rerank, search = (sample.rate(step) for step in ("encode", "rerank", "retrieve"))  # type: ignore[arg-type]
    assert encode.passage > 0
    assert (encode.pair, encode.product) == (0, 0)
    assert rerank.passage + rerank.pair > 0
    assert search.product > 0
    assert encode.processor is not None
    assert encode.processor >= 0
    assert encode.note.startswith("here, 20")
    assert "64 texts at most on " in encode.note
    assert "at load" in encode.note
    assert (encode.device, encode.origin) == ("cpu", "measured")
    assert encode.memory
    assert encode.memory > 1e7
    assert encode.gpu_memory is None


def test_a_model_with_several_vectors_has_none_to_search(tmp_path: Path, small_collection: Collection) -> None:
    sample = Sample(load_checkpoint(saved_tk(tmp_path / "tk", small_collection)), ["one two", "three"], RankingConfig(), 0.01)
    assert sample.rate("teach").passage >= 0
    with pytest.raises(SettingError, match="--model: wanted a model with one vector a text"):
        sample.rate("encode")


def test_what_a_file_takes_is_measured_here() -> None:
    assert all(seconds > 0 for seconds in written_at(1 << 16))
