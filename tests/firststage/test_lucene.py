"""BM25 by Lucene in a running Java: the formula, ties, raw queries, reuse, and agreement with bm25s
and with Pyserini.

All tests that start Java in their own process stand in this file, so that one test worker runs
them.
"""

from __future__ import annotations

import math
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, StorageError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.rank_order import Ranking
from positionbias.core.records import Passage, Query
from positionbias.core.run import Run
from positionbias.firststage import lucene
from positionbias.firststage.bm25 import open_index, retrieve, search
from positionbias.firststage.java import java_class
from positionbias.firststage.settings import PRESETS, Bm25Settings
from tests.lucene import needs_lucene
from tests.sealing import reseal

pytestmark = needs_lucene


def collection_of(path: Path, texts: Mapping[str, str]) -> Collection:
    with create_collection(path) as writer:
        writer.add_passages(Passage(*item) for item in texts.items())
        writer.finish(Manifest("collection", path.name, "a test"))
    return Collection(path)


def rank(collection: Collection, text: str, depth: int = 10, **bm25: float) -> Ranking:
    return retrieve(collection, [Query("q", text)], depth, Bm25Settings(**bm25), backend="lucene")[
        "q"
    ]


def origin(collection: Collection, **bm25: float) -> str:
    return open_index(collection, Bm25Settings(**bm25), backend="lucene").origin


@pytest.fixture
def animals(tmp_path):
    return collection_of(
        tmp_path / "animals", {"p1": "Red fox.", "p2": "red, red hen", "p3": "blue whale song"}
    )


def test_scores_worked_by_hand(animals):
    # as for bm25s: 3 passages of 2, 3 and 3 terms (so short that the byte holds them exactly), mean
    # 8/3; idf = ln(1 + 1.5 / 2.5)
    idf = math.log(1.6)
    p1, p2 = idf * 1 / 1.81, idf * 2 / 2.945
    ranking = rank(animals, "red")
    assert ranking.passage_ids == ["p2", "p1"]
    assert ranking.scores == pytest.approx([p2, p1], rel=1e-6)
    # a repeated term counts twice; "fox" stands in one: idf = ln(1 + 2.5 / 1.5)
    ranking = rank(animals, "red fox red")
    assert ranking.passage_ids == ["p1", "p2"]
    assert ranking.scores == pytest.approx(
        [2 * p1 + math.log(1 + 2.5 / 1.5) / 1.81, 2 * p2], rel=1e-6
    )
    # k1 = 0: every score is its idf
    assert rank(animals, "red", k1=0.0, b=0.0).scores == pytest.approx([idf, idf], rel=1e-6)


def test_analysis_is_anserinis(tmp_path):
    texts = {"a": "the running of Rome's foxes", "b": "generalizations", "c": "Vitamin-C"}
    collection = collection_of(tmp_path / "c", texts)
    assert rank(collection, "RUNS").passage_ids == ["a"]
    assert rank(collection, "rome").passage_ids == ["a"]
    assert rank(collection, "vitamin").passage_ids == ["c"]
    # Porter takes both to "gener"; the newer Snowball rules know "general" as an exception of their
    # own
    assert rank(collection, "generously").passage_ids == ["b"]


@pytest.mark.parametrize("text", ["zebra", "", "the of and", "?!", " \n\t"])
def test_a_query_without_a_known_term_has_an_empty_ranking(animals, text):
    ranking = rank(animals, text)
    assert ranking.passage_ids == []
    assert ranking.scores.shape == (0,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('"red" AND (fox: OR', "red fox"),
        ("+red -red", "red red"),
        ("contents: red", "red"),
        ("red~2 AND NOT hen*", "red hen"),
        ("[a TO red} ^9", "red"),
        ("red\\", "red"),
        ("/red/ || fox && !hen", "red fox hen"),
        ("id: p1 red", "red"),
        ("red \x00 \ufeff", "red"),
    ],
)
def test_a_query_is_words_never_syntax(animals, text, plain):
    ranking, expected = rank(animals, text), rank(animals, plain)
    assert ranking.passage_ids == expected.passage_ids != []
    assert ranking.scores.tolist() == expected.scores.tolist()


def test_a_query_of_ten_thousand_words(animals):
    text = " ".join(f"word{number}" for number in range(10_000))
    assert rank(animals, text).passage_ids == []
    assert rank(animals, f"{text} whale").passage_ids == ["p3"]


IDS = ("a b", 'quote"d', "back\\slash", "tab\tbed", "é", "中", "😀", "\u2028", "0", "00", "{}")


def test_ids_and_texts_come_through_as_they_are(tmp_path):
    collection = collection_of(
        tmp_path / "c", dict.fromkeys(IDS, "same") | {"x": "人口 \x00 😀 \\n"}
    )
    # every text alike: the tie rule orders them, by code points, descending
    assert rank(collection, "same", 20).passage_ids == sorted(IDS, reverse=True)
    assert rank(collection, "人口").passage_ids == ["x"]
    assert rank(collection, "😀").passage_ids == ["x"]


def test_ties_go_to_the_higher_id_at_the_cut_too(tmp_path):
    texts = {
        "a9": "same words",
        "b1": "same words",
        "c5": "same words",
        "a1": "same words same",
        "zz": "other",
    }
    collection = collection_of(tmp_path / "ties", texts)
    assert rank(collection, "same", 3, b=0.0).passage_ids == ["a1", "c5", "b1"]
    assert rank(collection, "same", 2, b=0.0).passage_ids == ["a1", "c5"]
    many = collection_of(
        tmp_path / "many", {f"{(7919 * number) % 1000:03d}": "same" for number in range(1000)}
    )
    assert rank(many, "same", 5).passage_ids == ["999", "998", "997", "996", "995"]


WORDS = st.sampled_from(["red", "fox", "hen", "song"])
TEXT = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@settings(max_examples=12, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.integers(1, 14))
def test_equals_bm25s_where_both_see_the_same_terms(tmp_path_factory, texts, query, depth):
    path = tmp_path_factory.mktemp("both") / "c"
    collection = collection_of(path, {f"{(7 * i) % 13:02d}": text for i, text in enumerate(texts)})
    ours = retrieve(collection, [Query("q", query)], depth, Bm25Settings(), backend="bm25s")["q"]
    found = rank(collection, query, depth)
    assert found.scores == pytest.approx(ours.scores, rel=1e-5)
    # where scores differ by more than float32's last digits, so do the places
    close = zip(found.passage_ids, found.scores, ours.passage_ids, ours.scores, strict=True)
    assert all(
        theirs == mine or abs(score - other) <= 1e-5 * other for theirs, score, mine, other in close
    )


def test_one_index_serves_every_setting(animals):
    assert origin(animals) == "built"
    assert origin(animals) == "reused"
    assert origin(animals, k1=1.2, b=0.75) == "reused"
    assert open_index(animals, Bm25Settings(), backend="bm25s").origin == "built"
    assert sorted(
        path.name for path in animals.cache.iterdir() if path.name in ("bm25s", "lucene")
    ) == ["bm25s", "lucene"]


def test_an_index_that_does_not_belong_is_built_anew(animals, tmp_path):
    origin(animals)
    folder = animals.cache / "lucene" / "english"
    assert {"pyserini", "anserini", "lucene"} < set(read_manifest(folder).versions)
    reseal(folder, lambda record: record["versions"].update(lucene="8.0.0"))
    assert origin(animals) == "built"
    other = collection_of(tmp_path / "other", {"p9": "red whale"})
    shutil.copytree(animals.cache / "lucene", other.cache / "lucene")
    assert rank(other, "red").passage_ids == ["p9"]


@pytest.mark.parametrize("kind", ["segments_*", "*.doc", "*.dvd", "*.fdt"])
def test_a_damaged_index_is_built_anew(animals, kind):
    before = rank(animals, "red fox")
    (path,) = (animals.cache / "lucene" / "english" / "index").glob(kind)
    path.write_bytes(path.read_bytes()[:-7])
    assert origin(animals) == "built"
    assert rank(animals, "red fox").scores.tolist() == before.scores.tolist()


def test_a_cache_that_cannot_be_written_does_not_stop_the_search(animals):
    animals.cache.mkdir()
    (animals.cache / "lucene").write_text("in the way")
    index = open_index(animals, Bm25Settings(), backend="lucene")
    assert index.origin.startswith("built, not kept: ")
    assert search(index, [Query("q", "whale")], 1)["q"].passage_ids == ["p3"]


def test_an_interrupted_build_leaves_no_index(animals, monkeypatch):
    monkeypatch.setattr(lucene, "_BATCH", 1)

    def passages() -> Iterable[Passage]:
        yield Passage("p1", "Red fox.")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(animals, "passages", passages)
        with pytest.raises(KeyboardInterrupt):
            origin(animals)
    assert not (animals.cache / "lucene" / "english").exists()
    assert origin(animals) == "built"
    assert rank(animals, "red").passage_ids == ["p2", "p1"]
    assert [path.name for path in (animals.cache / "lucene").iterdir()] == ["english"]


def test_blank_passages_are_left_out_and_none_else(tmp_path):
    texts = {"a": "red", "b": "", "c": " \t\x00\n", "d": "\u3000", "e": "the"}
    collection = collection_of(tmp_path / "c", texts)
    assert rank(collection, "red").passage_ids == ["a"]
    directory = java_class("org.apache.lucene.store.FSDirectory").open(
        lucene._path(collection.cache / "lucene" / "english" / "index")
    )
    # a, d, e
    assert java_class("org.apache.lucene.index.DirectoryReader").open(directory).numDocs() == 3


def test_a_passage_that_lucene_leaves_out_is_no_silent_loss(tmp_path, monkeypatch):
    collection = collection_of(tmp_path / "c", {"a": "red", "b": " "})
    # so that the blank one is handed over, and Anserini drops it
    monkeypatch.setattr(lucene, "_JAVA_BLANK", "x")
    with pytest.raises(StorageError, match="wanted an index of 2 passages; found 1; check"):
        lucene.build_lucene(collection, tmp_path)


@pytest.mark.parametrize("texts", [{}, {"a": " "}])
def test_a_collection_without_text_is_one_clear_line(tmp_path, texts):
    with pytest.raises(InputError, match="wanted passages with text to index; found none"):
        rank(collection_of(tmp_path / "none", texts), "red")


def test_a_line_of_ten_megabytes(tmp_path):
    collection = collection_of(
        tmp_path / "c", {"long": "fox " * 2_500_000, "word": "人" * 3_000_000, "short": "fox hen"}
    )
    assert rank(collection, "fox").passage_ids == ["long", "short"]
    assert rank(collection, "人").passage_ids == ["word"]


@pytest.mark.slow
def test_pyserini_searches_our_index_alike(tmp_path, monkeypatch):
    texts = {f"p{n:02d}": f"red {'fox ' * (n % 5)}number{n} {'hen ' * (n % 3)}" for n in range(60)}
    collection = collection_of(tmp_path / "c", texts)
    ours = rank(collection, "red fox hen number7", 10, k1=0.82, b=0.68)
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # importing it makes a client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Pyserini imports
        from pyserini.search.lucene import LuceneSearcher
    searcher = LuceneSearcher(str(collection.cache / "lucene" / "english" / "index"))
    searcher.set_bm25(0.82, 0.68)
    hits = {hit.docid: hit.score for hit in searcher.search("red fox hen number7", k=60)}
    assert len(hits) == 60
    # Pyserini rounds scores and lowers those that tie; the tied ones it orders by ascending id
    assert [hits[passage_id] for passage_id in ours.passage_ids] == pytest.approx(
        ours.scores, abs=2e-4
    )
    assert (
        min(hits[passage_id] for passage_id in ours.passage_ids)
        >= sorted(hits.values())[-10] - 2e-4
    )


def overlap(one: Run, other: Run, depth: int) -> float:
    """The mean share of the first ``depth`` passages that both have."""
    return mean(
        len({*one[q].passage_ids[:depth]} & {*other[q].passage_ids[:depth]}) / depth for q in other
    )


def reciprocal_rank(run: Run, relevant: Mapping[str, set[str]]) -> float:
    """RR@10, mean over the queries with a relevant passage."""
    ranks = (
        next((n for n, p in enumerate(run[q].passage_ids[:10], 1) if p in found), math.inf)
        for q, found in relevant.items()
    )
    return mean(1 / rank for rank in ranks)


@pytest.mark.realdata
def test_agreement_with_anserini_over_all_of_ms_marco(posbias_data, tmp_path):
    mini = posbias_data / "msmarco_mini"
    with create_collection(tmp_path / "mini") as writer:
        writer.add_passages(
            Passage(*line.split("\t", 1))
            for line in (mini / "collection.tsv").read_text("utf-8").rstrip("\n").split("\n")
        )
        writer.finish(Manifest("collection", "mini", "a test"))
    collection = Collection(tmp_path / "mini")
    queries = [
        Query(*line.split("\t"))
        for line in (mini / "queries.dl19.tsv").read_text("utf-8").splitlines()
    ]
    relevant: dict[str, set[str]] = {}
    for line in (mini / "qrels.dl19.txt").read_text("utf-8").splitlines():
        query_id, _, passage_id, grade = line.split()
        if int(grade) >= 2:
            relevant.setdefault(query_id, set()).add(passage_id)
    # over 8.8 million passages, all that it found are in the small collection: terms weigh
    # otherwise here, and what is found is alike
    reference = Run.from_file(mini / "bm25.dl19.run")
    ours, found = (
        retrieve(collection, queries, 100, PRESETS["anserini"], backend=backend)
        for backend in ("bm25s", "lucene")
    )
    assert (len(collection), len(reference), reference.depth) == (36_985, 43, 100)
    assert overlap(ours, found, 10) > 0.88  # measured: 0.909
    assert overlap(ours, found, 100) > 0.94  # 0.961
    assert overlap(ours, reference, 10) > 0.75  # 0.784
    assert overlap(ours, reference, 100) > 0.84  # 0.862
    assert overlap(found, reference, 10) > 0.79  # 0.819
    assert overlap(found, reference, 100) > 0.86  # 0.884
    assert reciprocal_rank(reference, relevant) == pytest.approx(0.702, abs=0.001)
    assert reciprocal_rank(ours, relevant) == pytest.approx(0.679, abs=0.02)
    assert reciprocal_rank(found, relevant) == pytest.approx(0.682, abs=0.02)
