"""Table 1 of a collection, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Query
from positionbias.results.collections import PassageLengths, QueryLengths
from positionbias.results.result import Result
from positionbias.text.statistics import (
    collection_counts,
    collection_statistics,
    length_statistics,
    word_counts,
)


def rows(result: Result) -> Any:
    return result.payload.to_rows()  # type: ignore[union-attr]


def test_words_are_counted_as_blingfire_sees_them() -> None:
    # Hello | , | world | ! – nothing – a | b – nothing – do | n't
    assert word_counts(["Hello, world!", "", "a b", " ", "don't"]).tolist() == [4, 0, 2, 0, 2]


def test_length_statistics_by_hand() -> None:
    # 21 texts of 0, 15, 30 … 300 words: position q·20 of the sorted counts, rounded down
    found = length_statistics(np.arange(0, 315, 15), PassageLengths)
    assert found == PassageLengths(
        words=3150,
        mean_words=150.0,
        words_quantiles={
            "minimum": 0,
            "5%": 15,
            "25%": 75,
            "median": 150,
            "75%": 225,
            "95%": 285,
            "maximum": 300,
        },
        without_words=1,
        share_over=7 / 21,  # 210, 225 … 300
    )


def test_nothing_to_measure_is_undefined_not_zero() -> None:
    found = length_statistics(np.array([], np.int32), QueryLengths)
    assert found.mean_words is found.share_over is None
    assert set(found.words_quantiles.values()) == {None}


def test_table_1_of_the_small_collection(small_collection: Collection) -> None:
    passages, train, test = collection_statistics(small_collection)
    assert (passages.measure, passages.count, passages.value, passages.split) == (
        "passages",
        7,
        7.0,
        "",
    )
    assert rows(passages)["words_quantiles"]["minimum"] == 0
    assert rows(passages)["without_words"] == 1
    assert rows(passages)["words_quantiles"]["median"] == 12  # of 0, 1, 10, 12, 14, 15, 19
    assert [(item.measure, item.split, item.count) for item in (train, test)] == [
        ("queries", "train", 2),
        ("queries", "test", 3),
    ]
    assert {key: rows(train)[key] for key in ("queries", "judgements", "answers")} == {
        "queries": 2,
        "judgements": 3,
        "answers": 2,
    }
    assert {key: rows(test)[key] for key in ("queries", "judgements", "answers")} == {
        "queries": 3,
        "judgements": 4,
        "answers": 4,
    }
    # "what does the lamp of Orvell burn", "when do travellers pass the gate"
    assert rows(train)["words"] == 7 + 6
    assert all(item.collection == "small" for item in (passages, train, test))


def test_the_manifest_stands_in_it_with_long_lists_as_their_length(tmp_path: Path) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p", "one two")])
        writer.add_split("test", [Query("q", "one")], [])
        content = {
            "source": {"files": [{"role": "test", "articles": [["t", 1]] * 9}], "short": [1, 2]}
        }
        writer.finish(
            Manifest(
                "collection",
                "c",
                "import x",
                settings={"a": 1},
                licence="CC0",
                notes=("n",),
                content=content,
            )
        )
    made = rows(collection_counts(Collection(tmp_path / "c"))[0])["manifest"]
    assert (made["command"], made["settings"], made["licence"], made["notes"]) == (
        "import x",
        {"a": 1},
        "CC0",
        ["n"],
    )
    assert made["content"]["source"] == {
        "files": [{"role": "test", "articles": 9}],
        "short": [1, 2],
    }
    assert len(made["content"]["checksum"]) == 32
    assert "splits" not in made["content"]


@pytest.mark.realdata
def test_the_share_of_long_squad_paragraphs(posbias_data: Path, tmp_path: Path) -> None:
    from positionbias.formats.squad import read_squad

    for name, low, high in (("train44-v1.1.json", 0.11, 0.14), ("dev-v1.1.json", 0.11, 0.14)):
        squad = read_squad(posbias_data / "squad" / name)
        counts = word_counts(
            paragraph.text for article in squad.articles for paragraph in article.paragraphs
        )
        assert low < length_statistics(counts, PassageLengths).share_over < high
