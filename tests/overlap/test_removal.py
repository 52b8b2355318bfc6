"""Pairs become what is removed: by unit, side and detector, with evidence, worked by hand."""

from __future__ import annotations

from positionbias.leakage.pairs import Pair
from positionbias.overlap.removal import Evidence, evidence_of
from positionbias.overlap.settings import CountedPairs, Removing

EXACT = Pair("a", "x", {"of_test": 1.0}, source="one", found_by=("exact", "ngram"))
NGRAM = Pair("c", "x", {"of_test": 0.9, "of_train": 0.5}, source="one", found_by=("ngram",))
WORDS = Pair("d", "z", {"jaccard": 0.6}, source="one", found_by=("lexical",))


def evidence(*pairs: Pair, lexical: bool = False, **removing: str) -> Evidence:
    return evidence_of(pairs, CountedPairs(lexical=lexical), Removing(**removing))  # type: ignore[arg-type]


def test_a_pair_counts_by_its_label_then_by_who_found_it() -> None:
    labelled = [
        Pair("d", "z", {}, label=name, found_by=("lexical",))
        for name in ("identical", "different topic")
    ]
    found = evidence(WORDS, *labelled, Pair("a", "x", {}))
    assert list(found.reasons) == ["d", "a"]
    assert (found.pairs, dict(found.ignored)) == (
        4,
        {"pairs found by words alone": 1, "pairs of different topics": 1},
    )
    assert evidence(WORDS, lexical=True).ignored.total() == 0


def test_evidence_of_passages_on_either_side() -> None:
    found = evidence(EXACT, NGRAM, WORDS, remove="passages")
    assert found.reasons == {
        "a": [{"test_passage_id": "x", "found_by": ["exact", "ngram"], "of_test": 1.0}],
        "c": [{"test_passage_id": "x", "found_by": ["ngram"], "of_test": 0.9, "of_train": 0.5}],
    }
    assert len(found.others) == 1
    turned = evidence(EXACT, NGRAM, remove="passages", side="test")
    assert turned.reasons == {
        "x": [
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
