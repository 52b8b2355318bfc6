"""Both detectors together on a tiny example: scores, fields and the counts of Table 1 by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Query
from positionbias.formats.trec_topics import read_topics
from positionbias.leakage.find import find_pairs
from positionbias.leakage.lexical import read_terms
from positionbias.leakage.measured import MEANING, WORDS, found_rows
from positionbias.leakage.pairs import Pair, read_pairs, write_pairs
from positionbias.leakage.queries import TrainSource, field_texts, tsv_source
from positionbias.leakage.semantic import open_semantic
from positionbias.leakage.settings import Encoder, FindSettings

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
    Query("t1", "car insurance"),
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


def found(detector: str, *, encoder: bool = True, threshold: float = 0.91) -> list[Pair]:
    settings = FindSettings(detector, threshold)  # type: ignore[arg-type]
    return find_pairs(SOURCES, field_texts(QUERIES), settings, encode if encoder else None)


def brief(pairs: Sequence[Pair]) -> list[tuple[str, str, str]]:
    return [(pair.train_id, pair.test_id, pair.field) for pair in pairs]


def test_the_semantic_detector_alone() -> None:
    pairs = found("semantic")
    assert brief(pairs) == [
        ("m0", "t1", "title"),  # no word in common, and cosine 1
        ("m2", "t2", "title"),
        ("m3", "t2", "variant"),  # of the two variants the nearer
        ("o0", "t2", "title"),
        ("o2", "t2", "title"),
    ]
    assert {pair.found_by for pair in pairs} == {("semantic",)}
    assert [pair.scores["cosine"] for pair in pairs] == [1.0] * 5
    assert pairs[0].scores["jaccard"] == 0.0
    assert pairs[2].test_text == "old iron gate"


def test_the_lexical_detector_alone_needs_no_encoder() -> None:
    pairs = found("lexical", encoder=False)
    assert brief(pairs) == [
        ("m2", "t2", "title"),
        # and not the title, "iron gate", of which it shares one entity
        ("m3", "t2", "variant"),
        ("o1", "t1", "title"),
        ("o0", "t2", "title"),
        ("o2", "t2", "title"),
    ]
    assert not any("cosine" in pair.scores for pair in pairs)
    # of 14 texts "car" and "insurance" are in two, "price" is in one: ln 8 = 2.0794 twice, ln 15 =
    # 2.7081
    assert tuple(pairs[2].scores.values()) == (
        pytest.approx(4.1589 / 6.8669, abs=1e-4),
        1.0,
    )


def test_both_detectors_give_each_pair_all_scores_and_say_who_found_it() -> None:
    pairs = {(pair.train_id, pair.field): pair for pair in found("both")}
    assert len(pairs) == 6  # five by words, one more by meaning
    assert pairs["m0", "title"].found_by == ("semantic",)
    assert pairs["m2", "title"].found_by == ("semantic", "lexical")
    price = pairs["o1", "title"]
    assert price.found_by == ("lexical",)
    # (1,1,0…) against (1,1,…,1): 2 / (√2·√3)
    assert price.scores["cosine"] == pytest.approx(2 / 6**0.5, abs=1e-12)


def test_table_1_by_hand() -> None:
    both = found("both")
    rows = found_rows(both, ["m", "o"], field_texts(QUERIES), "topics", "both").rows

    def counts(measure: str, subset: str) -> dict[str, tuple[float, float]]:
        own = rows[(rows["measure"] == measure) & (rows["subset"] == subset)]
        table = own.pivot_table(index="source", columns="statistic", values="value")
        return {source: (row["topics"], row["queries"]) for source, row in table.iterrows()}

    # m0 m2; o0 o2, and o1 by words alone
    assert counts(MEANING, "title") == {"m": (2, 2), "o": (1, 2), "all sources": (2, 4)}
    assert counts(MEANING, "description") == {"m": (0, 0), "o": (0, 0), "all sources": (0, 0)}
    assert counts(MEANING, "variant") == {"m": (1, 1), "o": (0, 0), "all sources": (1, 1)}  # m3
    assert counts(MEANING, "union") == {"m": (2, 3), "o": (1, 2), "all sources": (2, 5)}
    assert counts(WORDS, "union") == {"m": (0, 0), "o": (1, 1), "all sources": (1, 1)}
    shares = rows[rows["statistic"] == "share"].set_index("measure")[["value", "count"]]
    assert shares.loc[MEANING].tolist() == [2 / 3, 3]
    assert shares.loc[WORDS].tolist() == [1 / 3, 3]


def test_a_question_mark_hides_no_copy() -> None:
    """Whatever the encoder makes of punctuation and case, it never sees them."""

    def by_letters(texts: Sequence[str]) -> np.ndarray:
        return np.array(
            [[text.count(letter) for letter in "?aeilrstI-\u201d"] for text in texts], np.float32
        )

    settings = FindSettings("semantic", threshold=1.0)
    copies = source(
        "m",
        "Iron Gates: ARE they old?",
        "iron-gates are they old",
        "iron gates are they old?!",
        "irate",
    )
    tests = field_texts([Query("t", "\u201ciron gates are they old\u201d")])
    pairs = find_pairs([copies], tests, settings, by_letters)
    assert [(pair.train_id, pair.scores["cosine"]) for pair in pairs] == [
        ("m0", 1.0),
        ("m1", 1.0),
        ("m2", 1.0),
    ]


def test_parts_encoded_apart_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found("both")
    monkeypatch.setattr("positionbias.leakage.find.ENCODE_TEXTS", 2)
    assert found("both") == whole


def test_sources_are_searched_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("positionbias.leakage.find.NEIGHBOURS", 1)
    settings = FindSettings("semantic", threshold=0.91)
    pairs = find_pairs(
        SOURCES, [text for text in field_texts(QUERIES) if text.field == "title"], settings, encode
    )
    # o2 says the same as o0, and comes after it
    assert [pair.train_id for pair in pairs] == ["m0", "m2", "o0"]


def test_pairs_are_read_as_they_were_written(tmp_path: Path) -> None:
    both = found("both")
    write_pairs(tmp_path / "pairs.jsonl", both)
    lines = (tmp_path / "pairs.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "source": "m", "train_id": "m0", "test_id": "t1", "field": "title",
        "train_text": "automobile cover",
        "test_text": "car insurance", "cosine": 1.0, "jaccard": 0.0, "containment": 0.0,
        "found_by": ["semantic"],
    }  # fmt: skip
    read = list(read_pairs(tmp_path))
    assert [(pair.ids, pair.scores, pair.found_by) for pair in read] == [
        (pair.ids, pair.scores, pair.found_by) for pair in both
    ]


def test_nothing_alike_is_a_result_too() -> None:
    texts = field_texts([QUERIES[2]])
    nothing = find_pairs(SOURCES, texts, None, encode)
    assert nothing == []
    rows = found_rows(nothing, ["m", "o"], texts, "topics", "both").rows
    assert set(rows[rows["measure"] == MEANING]["value"]) == {0.0}


def test_settings_that_go_together_ill_are_refused() -> None:
    texts = field_texts(QUERIES)
    with pytest.raises(
        SettingError, match=r"--detector: 'none' is not one of 'semantic', 'lexical', 'both'"
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
    texts = [text for text in field_texts(topics) if text.field == "title"]
    msmarco = tsv_source("msmarco", folder / "msmarco_queries.tsv")
    pairs = find_pairs([msmarco], texts, FindSettings("lexical"))
    assert len(texts) == len(topics) == 250
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


def test_an_encoder_without_labelled_cosines_needs_a_threshold() -> None:
    with pytest.raises(
        SettingError, match=r"--threshold: wanted a cosine for the encoder other, as each encoder"
    ):
        open_semantic(Encoder("other"), None)
