"""The invented corpus: MS MARCO's layout, the stated law, the same bytes for any number of workers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PLACE = Path(__file__).parents[2] / "benchmarks" / "make_corpus.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_corpus", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_corpus"] = module
    spec.loader.exec_module(module)
    return module


def test_every_word_of_the_vocabulary_is_another(script: ModuleType) -> None:
    spelled = script.vocabulary(30_000).pieces
    assert len(spelled) == 2 * 30_000 + len(script.SEPARATORS)
    words = spelled[:30_000]
    assert len(words.unique()) == 30_000
    # ranks 1 and 2 are the first two syllables, plain; their capitals stand one vocabulary further
    assert words[:2].to_pylist() == [b"ba", b"da"]
    assert spelled[30_000:30_002].to_pylist() == [b"Ba", b"Da"]


def test_the_files_are_msmarcos_and_the_numbers_those_of_the_law(script: ModuleType, tmp_path: Path) -> None:
    corpus = script.Corpus(passages=40_000, queries=50, words=20_000, seed=3)  # two shards
    facts = script.make_corpus(tmp_path, corpus)
    data = (tmp_path / "collection.tsv").read_bytes()
    lines = data.decode().splitlines()
    passages = dict(line.split("\t") for line in lines)
    assert list(passages) == [str(number) for number in range(40_000)]
    assert facts["bytes"] == len(data)
    lengths = np.array([len(text.split()) for text in passages.values()])
    assert facts["mean_words"] == pytest.approx(lengths.mean(), abs=0.005)
    assert lengths.mean() == pytest.approx(56, abs=0.5)
    assert np.log(lengths).std() == pytest.approx(0.42, abs=0.01)
    assert all(text[0] == text[0].upper() for text in passages.values())
    assert all(text.endswith(".") for text in passages.values())

    queries = dict(line.split("\t") for line in (tmp_path / "queries.train.tsv").read_text("utf-8").splitlines())
    qrels = [line.split("\t") for line in (tmp_path / "qrels.train.tsv").read_text("utf-8").splitlines()]
    assert len(queries) == len(qrels) == 50
    for query_id, zero, passage_id, grade in qrels:
        assert (zero, grade) == ("0", "1")
        text = passages[passage_id].casefold()
        assert all(word.casefold() in text for word in queries[query_id].split())


def test_the_law_of_words_is_zipfs(script: ModuleType) -> None:
    drawn = np.bincount(script.zipf(np.random.default_rng(1), 400_000, 1_000), minlength=1_000)
    # P(1) = ln 2 / ln 1001 = 0.1003, P(1..31) = ln 32 / ln 1001 = 0.5017
    assert drawn[0] / 400_000 == pytest.approx(0.1003, abs=0.003)
    assert drawn[:31].sum() / 400_000 == pytest.approx(0.5017, abs=0.004)


def test_shards_are_drawn_alone(script: ModuleType) -> None:
    corpus = script.Corpus(passages=70_000, queries=20, words=5_000, seed=1)
    second = script.make_shard(corpus, 1)
    assert script.make_shard(corpus, 1).data == second.data
    assert second.data.startswith(b"32768\t")
    assert second.data.count(b"\n") == 32_768
    assert script.make_shard(corpus, 2).data.count(b"\n") == 70_000 - 65_536
    assert sum(len(script.make_shard(corpus, shard).queries) for shard in range(3)) == 20
