"""A collection without some queries: exactly the others stay, and why the rest went is written
down.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.files import sha256_file
from positionbias.corpora import without as without_module
from positionbias.corpora.left_out import LeftOut
from positionbias.corpora.without import without

REASONS = {
    "q1": [{"test_id": "t1", "cosine": 0.95}],
    "not-there": [{"test_id": "t2"}],
}
LEAKED = LeftOut("train", REASONS, "They leak.", "leakage clean", {"split": "train"})


def test_exactly_the_others_stay(small_collection: Collection, tmp_path: Path) -> None:
    made = without(small_collection, tmp_path / "clean", LEAKED)
    assert [query.query_id for query in made.queries("train")] == ["q2"]
    assert [(qrel.query_id, qrel.passage_id) for qrel in made.qrels("train")] == [("q2", "p-gate")]
    assert [answer.query_id for answer in made.answers("train")] == ["q2"]
    assert made.queries("test") == small_collection.queries("test")
    assert made.answers("test") == small_collection.answers("test")
    assert list(made.passages()) == list(small_collection.passages())
    assert made.checksum != small_collection.checksum
    lines = (
        (tmp_path / "clean" / "left_out" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    )
    assert [json.loads(line) for line in lines] == [
        {
            "query_id": "q1",
            "text": "what does the lamp of Orvell burn",
            "reasons": REASONS["q1"],
        }
    ]
    facts = dict(made.manifest.content["left_out"])
    assert facts.pop("checksum") == sha256_file(tmp_path / "clean" / "left_out" / "train.jsonl")
    assert facts == {
        "split": "train",
        "queries": 2,
        "left_out": 1,
        "qrels_left_out": 2,
        "answers_left_out": 1,
        "named_and_not_there": 1,
        "queries_without_judgement": 0,
    }
    assert made.manifest.notes[-1] == "They leak."


def test_nothing_leaks_and_all_leak(small_collection: Collection, tmp_path: Path) -> None:
    same = without(
        small_collection, tmp_path / "same", LeftOut("train", {}, "", "leakage clean", {})
    )
    assert same.checksum == small_collection.checksum
    everything = LeftOut("train", {"q1": [], "q2": []}, "", "leakage clean", {})
    with pytest.raises(InputError, match="found reasons to remove all 2"):
        without(small_collection, tmp_path / "none", everything)
    with pytest.raises(InputError, match="wanted split 'dev'"):
        without(small_collection, tmp_path / "none", LeftOut("dev", {}, "", "leakage clean", {}))
    with pytest.raises(OutputExistsError):
        without(small_collection, tmp_path / "same", LEAKED)
    assert not (tmp_path / "none").exists()


def test_an_interrupted_run_leaves_nothing_and_can_be_repeated(
    small_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(without_module, "write_ledger", stop)
        with pytest.raises(KeyboardInterrupt):
            without(small_collection, tmp_path / "clean", LEAKED)
    assert [path.name for path in tmp_path.iterdir()] == [small_collection.path.name]
    again = without(small_collection, tmp_path / "clean", LEAKED)
    assert again.checksum == without(small_collection, tmp_path / "other", LEAKED).checksum
    assert list(small_collection.passages()) == list(again.passages())
