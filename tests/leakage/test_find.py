"""Both detectors together on a tiny example: scores, fields and the counts of Table 1 by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Query
from positionbias.formats.trec_topics import read_topics
from positionbias.leakage.find import Found, FoundPair, find_pairs
from positionbias.leakage.found_results import found_results, save_found, table_1
from positionbias.leakage.labels import DIFFERENT
from positionbias.leakage.lexical import read_terms
from positionbias.leakage.pairs import read_pairs
from positionbias.leakage.queries import FieldTexts, TrainSource, field_texts, tsv_source
from positionbias.leakage.settings import FindSettings, LexicalSettings, NearestSettings
from positionbias.results.leakage_pairs import (
    CandidateCounts,
    LabelCounts,
    QueriesRead,
    ReadCount,
    TopicsAndQueries,
)
from positionbias.results.result import load_results

MEANINGS = {
    "car": 0,
    "automobile": 0,
    "insurance": 1,
    "cover": 1,
    "iron": 2,
    "gate": 3,
    "gates": 3,
    "lamp": 4,
}


def encode(texts: Sequence[str]) -> np.ndarray:
    """A text's words counted by meaning; all others are a sixth."""
    out = np.zeros((len(texts), 6), np.float32)
    for row, text in zip(out, texts, strict=True):
        for word in text.split():
            row[MEANINGS.get(word, 5)] += 1
    return out


def source(name: str, *texts: str) -> TrainSource:
    return TrainSource(
        name, lambda: ((f"{name}{number}", text) for number, text in enumerate(texts))
    )


SOURCES = [
    source("m", "automobile cover", "", "iron gates", "old iron gate", "green lamp"),
    source("o", "iron gate", "car price insurance", "iron gate"),
]
QUERIES = [
    Query("t1", "car insurance", {"narrative": "automobile"}),
    Query(
        "t2",
        "iron gate",
        {
            "description": "lamp shade colour glass wood",
            "variant1": "the old gate",
            "variant2": "old iron gate",
        },
    ),
    Query("t3", "nowhere", {"description": "x y z w v u"}),
]
FIELDS = ["title", "description", "variant"]


def found(detector: str, *, encoder: bool = True, threshold: float = 0.91) -> Found:
    settings = FindSettings(detector, NearestSettings(floor=threshold))  # type: ignore[arg-type]
    return find_pairs(
        SOURCES, field_texts(QUERIES, FIELDS).texts, settings, encode if encoder else None
    )


def brief(pairs: Sequence[FoundPair]) -> list[tuple[str, str, str, str]]:
    return [(pair.train_id, pair.test_id, pair.field, pair.type) for pair in pairs]


def test_the_semantic_detector_alone() -> None:
    pairs = found("semantic").pairs
    assert brief(pairs) == [
        ("m0", "t1", "title", "reformulation"),  # no word in common, and cosine 1
        ("m2", "t2", "title", "identical"),
        ("m3", "t2", "variant", "identical"),  # of the two variants the nearer
        ("o0", "t2", "title", "identical"),
        ("o2", "t2", "title", "identical"),
    ]
    assert {pair.found_by for pair in pairs} == {("semantic",)}
    assert [pair.cosine for pair in pairs] == [1.0] * 5
    assert pairs[0].jaccard == 0.0
    assert pairs[2].test_text == "old iron gate"


def test_the_lexical_detector_alone_needs_no_encoder() -> None:
    pairs = found("lexical", encoder=False).pairs
    assert brief(pairs) == [
        ("m2", "t2", "title", "identical"),
        # and not the title, "iron gate", of which it shares one entity
        ("m3", "t2", "variant", "identical"),
        ("o1", "t1", "title", "specialization"),
        ("o0", "t2", "title", "identical"),
        ("o2", "t2", "title", "identical"),
    ]
    assert {pair.cosine for pair in pairs} == {None}
    # of 14 texts "car" and "insurance" are in two, "price" is in one: ln 8 = 2.0794 twice, ln 15 =
    # 2.7081
    assert (pairs[2].jaccard, pairs[2].containment) == (
        pytest.approx(4.1589 / 6.8669, abs=1e-4),
        1.0,
    )


def test_both_detectors_give_each_pair_all_scores_and_say_who_found_it() -> None:
    pairs = {(pair.train_id, pair.field): pair for pair in found("both").pairs}
    assert len(pairs) == 6  # five by words, one more by meaning
    assert pairs["m0", "title"].found_by == ("semantic",)
    assert pairs["m2", "title"].found_by == ("semantic", "lexical")
    price = pairs["o1", "title"]
    assert price.found_by == ("lexical",)
    # (1,1,0…) against (1,1,…,1): 2 / (√2·√3)
    assert price.cosine == pytest.approx(2 / 6**0.5, abs=1e-12)


def test_table_1_by_hand() -> None:
    both = found("both")
    counts = {
        row: {column: (cell.topics, cell.queries) for column, cell in cells.items()}
        for row, cells in table_1(both.pairs, ["m", "o"], FIELDS).rows.items()
    }
    assert counts == {
        "title": {"m": (2, 2), "o": (2, 3), "all sources": (2, 5)},  # m0 m2; o0 o1 o2
        "description": {"m": (0, 0), "o": (0, 0), "all sources": (0, 0)},
        "variant": {"m": (1, 1), "o": (0, 0), "all sources": (1, 1)},  # m3
        "union": {"m": (2, 3), "o": (2, 3), "all sources": (2, 6)},
    }
    assert (both.queries, both.empty) == ({"m": 5, "o": 3}, {"m": 1, "o": 0})


def test_a_question_mark_hides_no_copy() -> None:
    """Whatever the encoder makes of punctuation and case, it never sees them."""

    def by_letters(texts: Sequence[str]) -> np.ndarray:
        return np.array(
            [[text.count(letter) for letter in "?aeilrstI-\u201d"] for text in texts], np.float32
        )

    settings = FindSettings("semantic", NearestSettings(floor=1.0))
    copies = source(
        "m",
        "Iron Gates: ARE they old?",
        "iron-gates are they old",
        "iron gates are they old?!",
        "irate",
    )
    tests = field_texts([Query("t", "\u201ciron gates are they old\u201d")]).texts
    pairs = find_pairs([copies], tests, settings, by_letters).pairs
    assert [(pair.train_id, pair.cosine) for pair in pairs] == [
        ("m0", 1.0),
        ("m1", 1.0),
        ("m2", 1.0),
    ]


def test_sources_are_searched_apart() -> None:
    settings = FindSettings("semantic", NearestSettings(neighbours=1, floor=0.91))
    pairs = find_pairs(SOURCES, field_texts(QUERIES, ["title"]).texts, settings, encode).pairs
    # o2 says the same as o0, and comes after it
    assert [pair.train_id for pair in pairs] == ["m0", "m2", "o0"]


def test_a_folder_keeps_pairs_results_and_what_made_them(tmp_path: Path) -> None:
    both = found("both")
    tests = field_texts(QUERIES, FIELDS)
    results = found_results(both, tests, test_name="topics")
    save_found(
        tmp_path / "leaks",
        both,
        results,
        Manifest(kind="results", name="x", command="leakage find"),
    )
    lines = (tmp_path / "leaks" / "pairs.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "source": "m", "train_id": "m0", "test_id": "t1", "field": "title",
        "train_text": "automobile cover",
        "test_text": "car insurance", "cosine": 1.0, "jaccard": 0.0, "containment": 0.0,
        "type": "reformulation",
        "found_by": ["semantic"],
    }  # fmt: skip
    assert [pair.ids[:3] for pair in read_pairs(tmp_path / "leaks")] == [
        (p.source, p.train_id, p.test_id) for p in both.pairs
    ]
    first, alone, types, read = load_results(tmp_path / "leaks")
    assert (first.measure, first.value, first.count, first.system) == (
        "leakage candidates",
        2 / 3,
        3,
        "m + o",
    )
    assert (alone.measure, alone.value) == ("candidates by words alone", 1 / 3)
    assert isinstance(first.payload, CandidateCounts)
    assert isinstance(alone.payload, CandidateCounts)
    assert first.payload.rows["union"]["all sources"] == TopicsAndQueries(2, 5)
    assert alone.payload.rows["union"]["all sources"] == TopicsAndQueries(1, 1)  # o1
    assert isinstance(types.payload, LabelCounts)
    assert types.payload.rows == {
        "identical": 4, "generalization": 0, "specialization": 1, "reformulation": 1, DIFFERENT: 0,
    }  # fmt: skip
    assert isinstance(read.payload, QueriesRead)
    assert read.payload.rows["m"] == ReadCount(queries=5, empty=1)
    assert [first, alone, types, read] == results
    assert read_manifest(tmp_path / "leaks").command == "leakage find"


def test_nothing_alike_is_a_result_too() -> None:
    texts = FieldTexts(field_texts([QUERIES[2]]).texts, {})
    nothing = find_pairs(SOURCES, texts.texts, None, encode)
    assert nothing.pairs == []
    assert found_results(nothing, texts, test_name="topics")[0].value == 0.0


def test_settings_that_go_together_ill_are_refused() -> None:
    texts = field_texts(QUERIES).texts
    with pytest.raises(
        SettingError, match=r"--detector: wanted one of semantic, lexical, both; found 'none'"
    ):
        FindSettings("none")  # type: ignore[arg-type]
    with pytest.raises(
        SettingError, match=r"--encoder: wanted an encoder for the semantic detector; found none"
    ):
        find_pairs(SOURCES, texts)
    with pytest.raises(SettingError, match=r"--source: wanted different names; found m, m"):
        find_pairs([SOURCES[0], SOURCES[0]], texts, FindSettings("lexical"))
    with pytest.raises(InputError, match=r"vectors: wanted \(n, 6\) numbers"):
        find_pairs(
            SOURCES,
            texts,
            None,
            lambda asked: encode(asked) if len(asked) > 5 else np.ones((len(asked), 2)),
        )


@pytest.mark.realdata
def test_msmarco_queries_that_are_robust04_topics(posbias_data: Path) -> None:
    folder = posbias_data / "leakage"
    topics = read_topics(folder / "topics.robust04.txt")
    texts = field_texts(topics, ["title"]).texts
    msmarco = tsv_source("msmarco", folder / "msmarco_queries.tsv")
    pairs = find_pairs(
        [msmarco], texts, FindSettings("lexical", lexical=LexicalSettings(jaccard=1.0))
    ).pairs
    assert len(texts) == len(topics) == 250
    assert {pair.type for pair in pairs} <= {"identical", "specialization"}
    assert {pair.containment for pair in pairs} == {1.0}
    # topic 441 is "Lyme disease": of the queries that name it, those are left that ask nothing else
    lyme = {text for _, text in msmarco.read() if "lyme disease" in text.lower()}
    assert len(lyme) > 5
    assert {read_terms(pair.train_text).terms for pair in pairs if pair.test_id == "441"} <= {
        read_terms("Lyme disease").terms
    }
    # every query that is a title word for word, by a look at all of them
    titles = {text.text.lower().strip(): text.query_id for text in texts}
    by_hand = {
        (query_id, titles[text.lower()])
        for query_id, text in msmarco.read()
        if text.lower() in titles
    }
    assert by_hand <= {(pair.train_id, pair.test_id) for pair in pairs}
