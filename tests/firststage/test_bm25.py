"""BM25: the formula by hand, the tie rule at the cut, and an index that is reused only when it may
be.
"""

import json
import math
import shutil
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Query
from positionbias.firststage.bm25 import open_index, retrieve, search
from positionbias.firststage.settings import PRESETS, Bm25Settings
from positionbias.firststage.terms import Analyzer

from ..sealing import reseal

FOLDER = "k1-0.9-b-0.4"


def collection_of(path, texts):
    passages = [Passage(*item) for item in texts.items()]
    with create_collection(path, overwrite=True) as writer:
        writer.add_passages(passages)
        writer.finish(Manifest("collection", path.name, "test"))
    return Collection(path)


def rank(collection, text, depth=10, **bm25):
    return retrieve(collection, [Query("q", text)], depth, Bm25Settings(**bm25))["q"]


@pytest.fixture
def animals(tmp_path):
    return collection_of(
        tmp_path / "animals", {"p1": "Red fox.", "p2": "red, red hen", "p3": "blue whale song"}
    )


def test_scores_worked_by_hand(animals):
    # 3 passages of 2, 3 and 3 terms, mean 8/3; "red" stands in two: idf = ln(1 + 1.5 / 2.5) = ln
    # 1.6
    idf = math.log(1.6)
    # p1: f 1, 0.9 · (0.6 + 0.4 · 2 / (8/3)) = 0.81; p2: f 2, 0.9 · (0.6 + 0.4 · 3 / (8/3)) = 0.945
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


def test_scripts_without_spaces_are_indexed_by_bigrams(tmp_path):
    made = collection_of(
        tmp_path / "cities",
        {"p1": "東京都の天気", "p2": "京都の天気", "p3": "กรุงเทพ is a city", "p4": "서울 날씨"},
    )
    # the bigrams of 東京都 are 東京 and 京都: p1 has both, p2 one;
    # one word in all a passage would find neither
    assert rank(made, "東京都").passage_ids == ["p1", "p2"]
    assert rank(made, "京都").passage_ids == ["p2", "p1"]  # as often, and p2 is shorter
    assert rank(made, "เทพ").passage_ids == ["p3"]
    assert rank(made, "서울").passage_ids == ["p4"]  # Hangul has spaces
    assert rank(made, "울").passage_ids == []
    assert Analyzer()("東京都2024年 Rome’s") == ["東京", "京都", "2024", "年", "rome"]


def test_k1_and_b_are_used(animals):
    # k1 = 0: every score is its idf, whatever the frequency; the tie goes to the higher id
    ranking = rank(animals, "red", k1=0.0, b=0.0)
    assert ranking.passage_ids == ["p2", "p1"]
    assert ranking.scores == pytest.approx([math.log(1.6)] * 2, rel=1e-6)


def test_passages_that_share_no_term_are_not_retrieved(animals):
    assert rank(animals, "whale").passage_ids == ["p3"]


@pytest.mark.parametrize("text", ["zebra", "", "the of and", "?!"])
def test_a_query_without_a_known_term_has_an_empty_ranking(animals, text):
    ranking = rank(animals, text)
    assert ranking.passage_ids == []
    assert ranking.scores.shape == (0,)


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
    assert rank(collection, "words", 3, k1=0.0).passage_ids == ["c5", "b1", "a9"]


def test_terms():
    analyze = Analyzer()
    assert analyze("Rome's foxes were RUNNING in the vitamin-C §4 naïve café") == [
        *("rome", "fox", "were", "run", "vitamin", "c", "4", "naïv", "café")
    ]
    assert analyze("the cat’s ‘toys’") == ["cat", "toy"]
    assert analyze(" ...\n") == []


WORDS = st.sampled_from(["red", "fox", "hen", "song", "the"])
TEXT = st.lists(WORDS, max_size=6).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.integers(1, 14))
def test_equals_a_plain_loop(tmp_path_factory, texts, query, depth):
    terms = [[word for word in text.split() if word != "the"] for text in texts]
    path = tmp_path_factory.mktemp("bm25") / "c"
    collection = collection_of(path, {f"{(7 * i) % 13:02d}": text for i, text in enumerate(texts)})
    if not any(terms):
        with pytest.raises(InputError, match="passages with words"):
            rank(collection, query)
        return
    mean = sum(map(len, terms)) / len(terms)
    scored = []
    for passage_id, passage in zip(collection.passage_ids(), terms, strict=True):
        score = 0.0
        for term in (word for word in query.split() if word != "the"):
            holding = sum(term in other for other in terms)
            idf = math.log(1 + (len(terms) - holding + 0.5) / (holding + 0.5))
            f = Counter(passage)[term]
            score += idf * f / (f + 0.9 * (0.6 + 0.4 * len(passage) / mean))
        if score:
            scored.append((round(score, 5), passage_id))
    ranking = rank(collection, query, depth)
    expected = sorted(scored, reverse=True)
    assert len(ranking.passage_ids) == min(depth, len(expected))
    assert ranking.scores == pytest.approx([score for score, _ in expected[:depth]], abs=2e-5)
    rounded = [
        (round(float(s), 4), p) for s, p in zip(ranking.scores, ranking.passage_ids, strict=True)
    ]
    assert rounded == sorted(rounded, reverse=True)


def test_the_index_is_kept_and_reused(animals):
    first = open_index(animals, Bm25Settings())
    again = open_index(animals, Bm25Settings())
    assert (first.origin, again.origin) == ("built", "reused")
    queries = [Query("a", "red whale"), Query("b", "song fox")]
    one, two = search(first, queries, 5), search(again, queries, 5)
    for query_id in ("a", "b"):
        assert one[query_id].passage_ids == two[query_id].passage_ids
        assert one[query_id].scores.tobytes() == two[query_id].scores.tobytes()
    assert open_index(animals, Bm25Settings(k1=1.2)).origin == "built"


def test_an_index_made_otherwise_is_built_anew(animals):
    open_index(animals, Bm25Settings())
    path = animals.cache / "bm25s" / FOLDER / "manifest.json"
    record = json.loads(path.read_text())
    record["versions"]["bm25s"] = "0.0.1"
    path.write_text(json.dumps(record))
    assert open_index(animals, Bm25Settings()).origin == "built"
    assert open_index(animals, Bm25Settings()).origin == "reused"


@pytest.mark.parametrize(
    "name", ["data.csc.index.npy", "terms.arrow", "places.npy", "params.index.json"]
)
def test_a_damaged_index_is_built_anew(animals, name):
    before = rank(animals, "red fox").scores
    path = animals.cache / "bm25s" / FOLDER / name
    path.write_bytes(path.read_bytes()[:20])
    assert open_index(animals, Bm25Settings()).origin == "built"
    assert rank(animals, "red fox").scores.tolist() == before.tolist()


def test_an_index_that_is_a_link_is_refused(animals, tmp_path):
    folder = animals.cache / "bm25s" / FOLDER
    folder.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="wanted a folder; found a link; remove it"):
        open_index(animals, Bm25Settings())
    assert not any((tmp_path / "elsewhere").iterdir())


def test_the_index_of_the_same_passages_in_another_order_is_not_reused(tmp_path):
    texts = {"p1": "red fox", "p2": "red hen", "p3": "whale"}
    first = collection_of(tmp_path / "first", texts)
    open_index(first, Bm25Settings())
    second = collection_of(tmp_path / "second", dict(reversed(texts.items())))
    shutil.copytree(first.cache / "bm25s", second.cache / "bm25s")
    assert (
        first.manifest.content["passages_checksum"] == second.manifest.content["passages_checksum"]
    )
    assert rank(second, "whale").passage_ids == ["p3"]


def test_a_cache_that_cannot_be_written_does_not_stop_the_search(animals):
    animals.cache.mkdir()
    (animals.cache / "bm25s").write_text("in the way")
    index = open_index(animals, Bm25Settings())
    assert index.origin.startswith("built, not kept: ")
    assert search(index, [Query("q", "whale")], 1)["q"].passage_ids == ["p3"]


def test_settings_outside_their_range_name_the_flag(animals):
    for wrong, flag in (
        ({"k1": -1.0}, "--k1"),
        ({"k1": math.inf}, "--k1"),
        ({"b": 1.5}, "--b"),
        ({"b": math.nan}, "--b"),
    ):
        with pytest.raises(SettingError, match=flag):
            Bm25Settings(**wrong)
    with pytest.raises(SettingError, match="--depth"):
        rank(animals, "red", 0)
    with pytest.raises(SettingError, match="--backend: wanted one of bm25s, lucene; found 'best'"):
        open_index(animals, Bm25Settings(), backend="best")
    assert (PRESETS["msmarco"].k1, PRESETS["msmarco"].b) == (0.82, 0.68)


def test_an_empty_collection_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="passages with words"):
        rank(collection_of(tmp_path / "none", {}), "red")


def test_scores_are_float32(animals):
    assert rank(animals, "red").scores.dtype == np.float32


def _one_term_less(folder):
    terms = pa.ipc.open_file(folder / "terms.arrow").read_all()
    with pa.ipc.new_file(str(folder / "terms.arrow"), terms.schema) as writer:
        writer.write_table(terms.slice(1))


def _offsets_outside(folder):
    path = folder / "terms.arrow"
    terms = pa.ipc.open_file(path).get_batch(0).column("term")
    offsets = np.frombuffer(terms.buffers()[1], np.int64)
    path.write_bytes(
        path.read_bytes().replace(
            offsets.tobytes(), np.where(offsets, offsets + (1 << 40), 0).tobytes()
        )
    )


def _saved(name, change):
    def damage(folder):
        np.save(folder / name, change(np.load(folder / name)))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _one_term_less,
        _offsets_outside,
        _saved("data.csc.index.npy", lambda data: data[1:]),
        _saved("data.csc.index.npy", lambda data: data.astype("S3")),
        _saved("indices.csc.index.npy", lambda rows: rows + 100),
        _saved("indices.csc.index.npy", lambda rows: rows - 100),
        _saved("indices.csc.index.npy", lambda rows: 2 - rows),  # no longer rising
        _saved("indices.csc.index.npy", lambda rows: rows.astype(np.float64)),
        _saved("indptr.csc.index.npy", lambda starts: starts[::-1]),
        _saved("indptr.csc.index.npy", lambda starts: starts.reshape(1, -1)),
        _saved("places.npy", lambda places: places[1:]),
        _saved("bests.npy", lambda bests: bests[:, 1:]),
        _saved("bests.npy", lambda bests: bests.astype(np.float64)),
        lambda folder: (folder / "params.index.json").write_text("[]"),
        lambda folder: (folder / "params.index.json").write_text(
            (folder / "params.index.json")
            .read_text()
            .replace('"num_docs": ', '"num_docs": 1000000000000')
        ),
    ],
)
def test_an_index_that_somebody_made_up_is_built_anew(animals, damage):
    before = rank(animals, "red fox").scores
    folder = animals.cache / "bm25s" / FOLDER
    damage(folder)
    reseal(folder)
    assert open_index(animals, Bm25Settings()).origin == "built"
    assert rank(animals, "red fox").scores.tolist() == before.tolist()


def test_a_manifest_that_counts_other_passages_is_refused(animals):
    reseal(animals.path, lambda record: record["content"].update(passages=len(animals) + 1))
    with pytest.raises(InputError, match="passages"):
        open_index(Collection(animals.path), Bm25Settings())
