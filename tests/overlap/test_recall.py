"""Recall of planted duplicates: counts by hand, intervals, and the same for any other test sets beside."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.leakage.precision import wilson
from positionbias.overlap.detectors import Hits, Texts, searches
from positionbias.overlap.planted import DuplicateKind, plan_duplicates
from positionbias.overlap.recall import planted_recall
from positionbias.overlap.settings import OverlapSettings
from positionbias.planted.generator import PlantedSettings, plan_queries
from positionbias.planted.leaks import plan_leaks
from positionbias.results.overlap import ANY, RecallFigures
from positionbias.results.result import Result

TEXTS = [
    (
        f"p{number}",
        f"Number {number} stands first in this text. Then comes letter {chr(97 + number)} with its own long list of words. "
        f"At the end some remark number {number * 7} closes passage {chr(122 - number)} for good.",
    )
    for number in range(12)
]


def texts() -> Texts:
    return Texts(*zip(*TEXTS, strict=True))


def measured(tests: Texts, of_set: slice, number: int = 12) -> dict[str, Result]:
    chosen = OverlapSettings(detectors=("exact", "ngram", "near", "short"))
    results = planted_recall(
        tests, of_set, searches(tests, chosen), chosen, test_set="t", unit="passages", number=number, seed=1
    )
    return {one.payload.detector: one for one in results if isinstance(one.payload, RecallFigures)}


def test_what_a_rule_must_find_is_found() -> None:
    by = measured(texts(), slice(0, 12))
    kinds = {name: one.payload.kinds for name, one in by.items() if isinstance(one.payload, RecallFigures)}
    assert list(by) == ["exact", "ngram", "near", ANY]
    assert {kind for kind, of in kinds["exact"].items() if of.found} == {DuplicateKind.EXACT, DuplicateKind.CASE}
    for detector, whole in (
        ("ngram", [DuplicateKind.EXACT, DuplicateKind.CASE, DuplicateKind.TRUNCATED, DuplicateKind.MERGED]),
        ("near", [DuplicateKind.EXACT, DuplicateKind.CASE, DuplicateKind.TRUNCATED, DuplicateKind.SENTENCES]),
    ):
        assert [kinds[detector][kind].found for kind in whole] == [12] * 4
    assert kinds["near"][DuplicateKind.REPLACED].found == kinds["ngram"][DuplicateKind.REPLACED].found == 0
    for kind, of in kinds[ANY].items():
        assert of.found >= max(kinds[name][kind].found for name in ("exact", "ngram", "near"))


def test_a_kind_has_wilsons_interval_and_all_kinds_one_by_test_text() -> None:
    result = measured(texts(), slice(0, 12))["exact"]
    assert isinstance(result.payload, RecallFigures)
    of_exact, of_dropped = result.payload.kinds["exact"], result.payload.kinds["words dropped"]
    assert (of_exact.low, of_exact.high) == pytest.approx((wilson(1.0, 12).low, 1.0))
    assert (of_dropped.low, of_dropped.high) == pytest.approx((0.0, wilson(0.0, 12).high))
    assert (result.value, result.count, result.payload.tests) == (2 / 9, 108, 12)
    assert result.interval is not None
    # each text has exactly 2 of 9: the 108 are worth no more than the 12 texts
    assert (result.interval.low, result.interval.high) == pytest.approx((wilson(2 / 9, 12).low, wilson(2 / 9, 12).high))


def test_other_test_sets_change_nothing() -> None:
    alone = measured(texts(), slice(0, 12), 5)
    beside = Texts([*["x"] * 3, *texts().ids, "y"], [*["An unrelated text of another set."] * 3, *texts().texts, "One more."])
    assert measured(beside, slice(3, 15), 5) == alone


def test_a_detector_answers_for_texts_with_words_enough() -> None:
    mixed = Texts(["a", "b", "c"], ["Two words.", "A text of six words alone.", texts().texts[0]])
    by = {name: one.payload for name, one in measured(mixed, slice(0, 3)).items() if isinstance(one.payload, RecallFigures)}
    # short needs 5 words (and at most 12), near and ngram 13
    assert {name: of.tests for name, of in by.items()} == {"exact": 3, "ngram": 1, "near": 1, "short": 1, ANY: 3}
    assert by["short"].kinds["exact"].planted == by["short"].kinds["exact"].found == 1
    assert "sentences reordered" not in by["short"].kinds  # it has one sentence
    assert "ngram" not in measured(mixed, slice(0, 2))


def test_only_a_pair_with_its_own_test_text_counts() -> None:
    def of_its_neighbour(batch: Texts) -> Hits:
        return Hits(np.arange(len(batch)), np.array([(one.test + 1) % 12 for one in planted]))

    planted = plan_duplicates(TEXTS, 12, 1)
    (found, _) = planted_recall(
        texts(),
        slice(0, 12),
        {"exact": of_its_neighbour},
        OverlapSettings(detectors=("exact",)),
        test_set="t",
        unit="u",
        number=12,
        seed=1,
    )
    assert found.value == 0.0


def test_no_texts_give_no_results() -> None:
    assert not measured(texts(), slice(4, 4))


def test_paraphrases_of_the_planted_collection_are_found_by_their_way() -> None:
    """Queries reworded by the grammar, four ways: of a query with a word more all runs of words are left, of a part of it none."""
    queries, _ = plan_queries(PlantedSettings(queries=120, passages=840))
    leaks = plan_leaks([query for query in queries if query.split == "test"], 80, 1)
    tests = {leak.repeats.query_id: leak.repeats.text for leak in leaks}
    side = Texts(list(tests), list(tests.values()))
    search = searches(side, OverlapSettings(detectors=("short",), short_n=3))["short"]
    hits = search(Texts([leak.query_id for leak in leaks], [leak.text for leak in leaks]))
    pairs = {(leak, side.ids[test]) for leak, test in zip(hits.train.tolist(), hits.test.tolist(), strict=True)}
    share: dict[str, list[bool]] = {}
    for number, leak in enumerate(leaks):
        share.setdefault(leak.way, []).append((number, leak.repeats.query_id) in pairs)
    assert np.mean(share["specialization"]) > 0.9
    assert np.mean(share["generalization"]) < 0.1
