"""Leakage found, labelled and removed from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.rows import load
from positionbias.leakage.pairs import read_pairs
from positionbias.leakage.settings import FindSettings, SampleSettings
from positionbias.overlap.settings import CountedPairs
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings

PLANTED = PlantedSettings(
    queries=60, passages=240, test_share=0.3, validation_share=0.2, leaked_queries=20
)
WORDS = FindSettings("lexical")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A planted collection of which 20 training queries leak test queries."""
    return write_planted(tmp_path_factory.mktemp("planted") / "pair", PLANTED)


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """Four labelled pairs of three test queries."""
    rows = [
        ("q1", "q3", 0.99, "yes"),
        ("q1", "q4", 0.95, "no"),
        ("q2", "q4", 0.93, "identical"),
        ("q9", "q5", 0.85, "no"),
    ]
    lines = [
        json.dumps({"train_id": a, "test_id": b, "cosine": cosine, "label": label})
        for a, b, cosine, label in rows
    ]
    (place := tmp_path / "sheet.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return place


def test_pairs_are_found_and_stand_in_a_folder(pair: Collection, tmp_path: Path) -> None:
    found = positionbias.find_leakage([pair, pair], settings=WORDS, out=tmp_path / "leaks")
    assert load(tmp_path / "leaks").equals(found.rows)
    pairs = list(read_pairs(tmp_path / "leaks"))
    assert found.content["pairs"] == len(pairs)
    true = {item.ids[1:3] for item in read_pairs(pair.path)}
    right = true.intersection(item.ids[1:3] for item in pairs)
    assert (len(right), len(pairs)) == (10, 10)  # of 20; the others have other words
    assert str(found).startswith(
        "10 of 18 test queries (55.6%) have candidates found by words alone"
    )


def test_pairs_are_drawn_to_be_labelled(sheet: Path, tmp_path: Path) -> None:
    drawn = positionbias.label_pairs(
        [sheet], settings=SampleSettings(sample_size=2, strata=2), out=tmp_path / "drawn.tsv"
    )
    counts = drawn.rows.pivot_table(index="label", columns="statistic", values="value")
    assert counts.loc["0.800 to 0.900"].to_dict() == {"drawn": 1, "pairs": 1}
    assert counts.loc["0.900 to 1.000"].to_dict() == {"drawn": 1, "pairs": 3}
    with pytest.raises(SettingError, match="--out: wanted a place apart from what is read"):
        positionbias.label_pairs([sheet], out=sheet, overwrite=True)


def test_the_most_similar_pairs_are_drawn(sheet: Path, tmp_path: Path) -> None:
    low = SampleSettings(above=0)
    assert (
        positionbias.label_pairs([sheet], settings=low, per_test=5, out=tmp_path / "sheet.tsv")
        is None
    )
    assert len(list(read_pairs(tmp_path / "sheet.tsv"))) == 4
    with pytest.raises(SettingError, match="or --labels, to read what people said; found both"):
        positionbias.label_pairs([sheet], labels=sheet, out=tmp_path / "again.tsv")


def test_labels_are_counted_and_a_threshold_is_saved(sheet: Path, tmp_path: Path) -> None:
    found = positionbias.label_pairs([sheet], rule="paper", least_precision=0.6, apply=0.95)
    assert found is not None
    values = found.rows.set_index(["measure", "statistic", "subset"])["value"]
    assert values["reviewed pairs", "pairs", "true"] == 2
    assert values["threshold", "lowest", ""] == 0.93
    assert values["precision", "share", "given"] == 0.5
    assert load(found.save(tmp_path / "saved")).equals(found.rows)


def test_leaked_queries_are_removed(pair: Collection, tmp_path: Path) -> None:
    cleaned = positionbias.clean_leakage(
        pair, counted=CountedPairs(pair.path), out=tmp_path / "clean"
    )
    leaked = {item.train_id for item in read_pairs(pair.path)}
    assert {query.query_id for query in pair.queries("train")} - leaked == {
        query.query_id for query in cleaned.collection.queries("train")
    }
    assert cleaned.rows["value"].iloc[0] == len(leaked) / len(pair.queries("train"))
    looked = positionbias.clean_leakage(
        pair,
        against=pair,
        detector="lexical",
        counted=CountedPairs(lexical=True),
        out=tmp_path / "looked",
    )
    assert looked.rows.query("statistic == 'removed'")["value"].item() > 0
    with pytest.raises(SettingError, match="wanted --against or --pairs; found both"):
        positionbias.clean_leakage(
            pair, against=pair, counted=CountedPairs(pair.path), out=tmp_path / "both"
        )
