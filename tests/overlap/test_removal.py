"""Pairs become what is removed: by unit, side and detector, with evidence, worked by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import positionbias as pb
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.corpora.left_out import Removed
from positionbias.leakage.labels import Label
from positionbias.leakage.pairs import Pair
from positionbias.ops.leakage_clean import CountedPairs
from positionbias.overlap.removal import counts, evidence_of, with_judgements
from positionbias.overlap.removing import Removal, Removing
from positionbias.overlap.settings import OverlapSettings

from .sets import query_of, text_of, write_collection, write_lines

EXACT = Pair("a", "x", {"of_test": 1.0}, source="one", found_by=("exact", "ngram"))
NGRAM = Pair("c", "x", {"of_test": 0.9, "of_train": 0.5}, source="one", found_by=("ngram",))
WORDS = Pair("d", "z", {"jaccard": 0.6}, source="one", found_by=("lexical",))
JOINT = Pair(
    "q1",
    "t1",
    {"of_test": 1.0},
    source="two",
    found_by=("exact",),
    train_passage_id="a",
    test_passage_id="x",
)
JUDGED = pa.table(
    {
        "query_id": ["q1", "q1", "q2", "q3"],
        "passage_id": ["a", "b", "a", "c"],
        "grade": pa.array([1, 1, 0, 2], pa.int32()),
    }
)


def test_a_pair_counts_by_its_label_then_by_who_found_it() -> None:
    assert [counts(pair) for pair in (EXACT, NGRAM, WORDS)] == [True, True, False]
    labelled = [
        Pair("d", "z", {}, label=Label(name), found_by=("lexical",))
        for name in ("identical", "different topic")
    ]
    assert [counts(pair) for pair in labelled] == [True, False]
    assert counts(Pair("a", "x", {}, found_by=("semantic",)))
    assert counts(Pair("a", "x", {}))  # nobody says who found it


def test_evidence_of_passages_on_either_side() -> None:
    found = evidence_of([EXACT, NGRAM, WORDS], Removal("passages"))
    assert found.reasons == {
        Removed("", "a"): [
            {"test_passage_id": "x", "found_by": ["exact", "ngram"], "of_test": 1.0}
        ],
        Removed("", "c"): [
            {"test_passage_id": "x", "found_by": ["ngram"], "of_test": 0.9, "of_train": 0.5}
        ],
    }
    assert (found.pairs, found.counted, found.different, found.by_words_alone) == (3, 2, 0, 1)
    assert len(found.others) == 1
    turned = evidence_of([EXACT, NGRAM], Removal("passages", side="test"))
    assert turned.reasons == {
        Removed("", "x"): [
            {
                "source": "one",
                "train_passage_id": "a",
                "found_by": ["exact", "ngram"],
                "of_test": 1.0,
            },
            {
                "source": "one",
                "train_passage_id": "c",
                "found_by": ["ngram"],
                "of_test": 0.9,
                "of_train": 0.5,
            },
        ]
    }
    assert len(turned.others) == 2


def test_evidence_of_a_query_with_its_passage() -> None:
    reason = {"test_query_id": "t1", "test_passage_id": "x", "found_by": ["exact"], "of_test": 1.0}
    assert evidence_of([JOINT], Removal("judgements")).reasons == {Removed("q1", "a"): [reason]}
    assert evidence_of([JOINT], Removal("queries", "pairs")).reasons == {Removed("q1"): [reason]}
    assert evidence_of([JOINT], Removal("passages", "pairs")).reasons == {
        Removed("", "a"): [reason]
    }
    assert list(evidence_of([JOINT], Removal("judgements", side="test")).reasons) == [
        Removed("t1", "x")
    ]


def test_judgements_say_what_a_passage_or_query_stands_for() -> None:
    removal = Removal("queries", "passages")
    found = with_judgements(evidence_of([EXACT], removal), removal, JUDGED)
    # q2's judgement of a is of grade 0
    assert found == {
        Removed("q1"): [
            {
                "passage_id": "a",
                "test_passage_id": "x",
                "found_by": ["exact", "ngram"],
                "of_test": 1.0,
            }
        ]
    }
    removal = Removal("judgements", "passages")
    assert list(with_judgements(evidence_of([EXACT, NGRAM], removal), removal, JUDGED)) == [
        Removed("q1", "a"),
        Removed("q3", "c"),
    ]
    removal = Removal("judgements", "queries")
    asked = Pair("q1", "t1", {}, found_by=("exact",))
    assert list(with_judgements(evidence_of([asked], removal), removal, JUDGED)) == [
        Removed("q1", "a"),
        Removed("q1", "b"),
    ]
    plain = Removal("passages")
    assert list(with_judgements(evidence_of([EXACT], plain), plain, JUDGED)) == [Removed("", "a")]


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(
        SettingError, match="--unit: wanted passages or pairs with --remove passages; found queries"
    ):
        Removing(remove="passages", unit="queries")
    assert [Removal(what).unit for what in ("queries", "passages", "judgements")] == [
        "queries",
        "passages",
        "pairs",
    ]  # type: ignore[arg-type]
    assert not Removing().asked
    assert Removing(side="test").asked


def test_repeated_rows_are_no_missing_pairs(tmp_path: Path) -> None:
    queries = {f"r{n}": query_of(n) for n in range(3)}
    passages = {f"p{n}": text_of(n) for n in range(3)}
    write_collection(
        tmp_path / "train", passages, train=(queries, [Qrel(f"r{n}", f"p{n}", 1) for n in range(3)])
    )
    write_collection(
        tmp_path / "bench", {"d": text_of(0)}, test=({"t": query_of(0)}, [Qrel("t", "d", 1)])
    )
    rows = [
        {"query_id": f"r{n}", "query": query_of(n), "passage_id": f"p{n}", "passage": text_of(n)}
        for n in range(3)
    ]
    table = write_lines(tmp_path / "rows.jsonl", [*rows, *rows])
    pb.overlap_leakage([table], tests=[tmp_path / "bench"], out=tmp_path / "overlap")
    counted, removing = (
        CountedPairs(pairs=tmp_path / "overlap", source="rows"),
        Removing(remove="queries"),
    )
    made = pb.clean_leakage(
        tmp_path / "train", counted=counted, removing=removing, out=tmp_path / "clean"
    )
    assert Collection(made.path).count_queries("train") == 2
    settings = OverlapSettings(kept=1)
    pb.overlap_leakage(
        [table],
        tests=[tmp_path / "bench"],
        settings=settings,
        out=tmp_path / "overlap",
        overwrite=True,
    )
    with pytest.raises(InputError, match="wanted all 2 pairs of queries by exact"):
        pb.clean_leakage(
            tmp_path / "train", counted=counted, removing=removing, out=tmp_path / "other"
        )
