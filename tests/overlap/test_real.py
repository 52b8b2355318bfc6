"""Overlap of real data whose sets are known to have none, or little."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.overlap.settings import OverlapSettings

from .sets import ids_in, pairs_in

pytestmark = pytest.mark.realdata


def test_squads_training_articles_share_no_passage_and_no_question_with_dev(tmp_path: Path) -> None:
    data = Path(os.environ["POSBIAS_DATA"]) / "squad"
    pb.import_squad(train=[data / "train44-v1.1.json"], test=data / "dev-v1.1.json", out=tmp_path / "squad")
    sides = [f"{tmp_path / 'squad'}:train"], [f"dev={tmp_path / 'squad'}:test"]
    pb.overlap_leakage(sides[0], tests=sides[1], out=tmp_path / "out")
    assert ids_in(tmp_path / "out", "dev.passages") == ids_in(tmp_path / "out", "dev.pairs") == []
    # what there is are questions of one form, such as "What was the name of the …?"
    found = pairs_in(tmp_path / "out", "dev.queries")
    assert not [pair for pair in found if {"exact", "ngram"} & set(pair["found_by"])]
    assert len([pair for pair in found if "short" in pair["found_by"]]) == 940


def test_a_set_against_itself_is_found_whole(tmp_path: Path) -> None:
    data = Path(os.environ["POSBIAS_DATA"]) / "squad"
    pb.import_squad(test=data / "dev-v1.1.json", out=tmp_path / "squad")
    passages = list(pb.Collection(tmp_path / "squad").passages())
    rows = [{"passage": passage.text, "passage_id": f"c{passage.passage_id}"} for passage in passages]
    copy = pb.Collection.from_records(rows, tmp_path / "copy", split="train")
    settings = OverlapSettings(units=("passages",))
    found = pb.overlap_leakage([copy], tests=[f"{tmp_path / 'squad'}:test"], settings=settings, out=tmp_path / "out")
    assert found.results[0].value == 1.0
    own = {(row["train_id"], row["test_id"]) for row in pairs_in(tmp_path / "out", "squad.test.passages")}
    assert own >= {(f"c{passage.passage_id}", passage.passage_id) for passage in passages}
