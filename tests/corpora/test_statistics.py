"""Contents and lengths of a collection, counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.corpora.statistics import collection_rows, length_statistics, word_counts


def test_words_are_counted_as_blingfire_sees_them() -> None:
    # Hello | , | world | ! – nothing – a | b – nothing – do | n't
    assert word_counts(["Hello, world!", "", "a b", " ", "don't"]).tolist() == [4, 0, 2, 0, 2]


def test_length_statistics_by_hand() -> None:
    # 21 texts of 0, 15, 30 … 300 words: position q·20 of the sorted counts, rounded down
    assert length_statistics(np.arange(0, 315, 15), 200) == {
        "mean": 150.0,
        "median": 150,
        "95 %": 285,
        "maximum": 300,
        "empty": 1,
        "truncated": 7 / 21,  # 210, 225 … 300
    }
    assert length_statistics(np.array([], np.int32), 30) == {"empty": 0}


def test_the_contents_of_the_small_collection(small_collection: Collection) -> None:
    rows = collection_rows(small_collection, lengths=True)
    assert set(rows["collection"]) == {"small"}
    held = rows[rows["statistic"] == "count"].set_index(["split", "measure"])["value"]
    assert held.to_dict() == {
        ("", "passages"): 7, ("train", "queries"): 2, ("train", "judgements"): 3,
        ("train", "answers"): 2, ("test", "queries"): 3, ("test", "judgements"): 4,
        ("test", "answers"): 4,
    }  # fmt: skip
    lengths = (
        rows[rows["statistic"] != "count"].set_index(["measure", "split", "statistic"]).sort_index()
    )
    words = lengths["value"]["words of passages", ""]
    assert (words["empty"], words["median"]) == (1, 12)  # of 0, 1, 10, 12, 14, 15, 19
    # "what does the lamp of Orvell burn", "when do travellers pass the gate"
    assert lengths["value"]["words of queries", "train", "mean"] == (7 + 6) / 2


@pytest.mark.realdata
def test_the_share_of_long_squad_paragraphs(posbias_data: Path, tmp_path: Path) -> None:
    from positionbias.formats.squad_json import read_squad

    for name, low, high in (("train44-v1.1.json", 0.11, 0.14), ("dev-v1.1.json", 0.11, 0.14)):
        squad = read_squad(posbias_data / "squad" / name)
        counts = word_counts(
            paragraph.text for article in squad.articles for paragraph in article.paragraphs
        )
        assert low < length_statistics(counts, 200)["truncated"] < high
