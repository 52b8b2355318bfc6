"""Texts of one meaning: by hand, against all cosines, and what candidates of the words leave out."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.nearest import AtLeast
from positionbias.core.similarity import cosines
from positionbias.overlap.detectors import Hits, Texts, searches
from positionbias.overlap.meaning import candidates
from positionbias.overlap.recall import candidate_recall
from positionbias.overlap.settings import OverlapSettings
from positionbias.results.overlap import CandidateFigures
from tests.overlap.encoders import encode


def texts(*given: str) -> Texts:
    return Texts([f"p{number}" for number in range(len(given))], given)


def settings(threshold: float, looked_at: str = "all") -> OverlapSettings:
    return OverlapSettings(detectors=("meaning",), threshold=threshold, encode=looked_at)


def found(test: Texts, train: Texts, threshold: float, looked_at: str = "all") -> Hits:
    return searches(test, settings(threshold, looked_at), encode)["meaning"](train)


def by_pair(hits: Hits) -> dict[tuple[int, int], float]:
    return dict(zip(zip(hits.train.tolist(), hits.test.tolist(), strict=True), hits.scores["cosine"].tolist(), strict=True))


TEST = texts("car insurance", "...", "iron gate", "lamp")
TRAIN = texts("Automobile cover!", "", "old iron gates", "car", "lamp lamp")


def test_synonyms_by_hand() -> None:
    # old iron gates: 1 1 1 against 1 1 0, 2 / √(3 · 2); car: 1 0 against 1 1, 1 / √2. Texts without a word are nobody's
    expected = {(0, 0): 1.0, (2, 2): 2 / np.sqrt(6), (3, 0): np.sqrt(0.5), (4, 3): 1.0}
    assert by_pair(found(TEST, TRAIN, 0.7)) == pytest.approx(expected)
    assert by_pair(found(TEST, TRAIN, 0.9)) == {(0, 0): 1.0, (4, 3): 1.0}
    assert len(found(texts("..."), TRAIN, 0.5).train) == len(found(TEST, texts("", "!"), 0.5).train) == 0


def test_candidates_share_half_of_the_words() -> None:
    # old iron gates has iron of iron gate: half of its words; automobile cover has no word of any text; car is half of car insurance
    assert candidates(TEST, settings(0.7))(TRAIN).tolist() == [False, False, True, True, True]
    assert set(by_pair(found(TEST, TRAIN, 0.7, "candidates"))) == {(2, 2), (3, 0), (4, 3)}


def test_candidates_of_long_texts_share_a_tenth_of_the_runs_of_three_words() -> None:
    words = [f"w{number}" for number in range(32)]
    long = texts(" ".join(words))  # 30 runs
    others = [f"x{number}" for number in range(40)]
    # 5 words in common make 3 runs, which are a tenth; 4 words make 2, of 30 and of 42
    train = texts(" ".join([*words[:5], *others]), " ".join([*words[:4], *others]), " ".join([*words[:3], *others[:8]]))
    assert candidates(long, settings(0.7))(train).tolist() == [True, False, True]  # of the third, 1 of its own 9


def test_what_candidates_miss_is_counted() -> None:
    result = candidate_recall(TEST, [TRAIN], len(TRAIN), settings(0.7), encode, test_set="t", unit="queries", seed=1)
    assert result.payload == CandidateFigures(unit="queries", drawn=5, candidates=3, pairs=4, found=3)
    assert result.value == 0.75
    assert result.interval is not None
    none = candidate_recall(TEST, [texts("zinc")], 1, settings(0.7), encode, test_set="t", unit="queries", seed=1)
    assert (none.value, none.count) == (None, 0)


def test_the_sample_of_a_large_set_depends_on_ids_alone() -> None:
    train = texts(*["lamp"] * 2_000)

    def drawn(*batches: Texts) -> object:
        return candidate_recall(TEST, batches, 40_960, settings(0.7), encode, test_set="t", unit="queries", seed=3).payload

    whole = drawn(train)
    assert isinstance(whole, CandidateFigures)
    assert 130 < whole.drawn < 270  # a tenth of 2,000, with a deviation of 13
    assert drawn(Texts(train.ids[:700], train.texts[:700]), Texts(train.ids[700:], train.texts[700:])) == whole


@pytest.mark.parametrize("tests", [1, 7, 700, 1_500])  # from 1,024 on tests are sieved in bfloat16 where there is one
@pytest.mark.parametrize("floor", [-1.0, 0.0, 0.35, 0.95])
def test_every_pair_from_a_cosine_on_is_found_with_its_score(tests: int, floor: float) -> None:
    random = np.random.default_rng(tests)
    asked, given = (random.normal(size=(count, 24)).astype(np.float32) for count in (tests, 60))
    given[:3], asked[0] = asked[0], 3 * asked[0]  # equal up to the length: a cosine of 1
    given[5] = 0
    rows, columns, scores = AtLeast(asked, floor)(given)
    every = np.stack([cosines(given, np.repeat(one[None], len(given), axis=0)) for one in asked], axis=1)
    expected = np.argwhere(every >= floor)
    assert np.array_equal(np.stack([rows, columns], axis=1), expected)
    assert np.array_equal(scores, every[tuple(expected.T)])


def test_the_threshold_itself_is_found() -> None:
    asked, given = np.array([[1.0, 1.0]], np.float32), np.array([[1.0, 0.0], [1.0, 1.0]], np.float32)
    floor = float(cosines(given[:1], asked)[0])
    assert AtLeast(asked, floor)(given)[0].tolist() == [0, 1]
    assert AtLeast(asked, np.nextafter(floor, 1))(given)[0].tolist() == [1]
    assert [len(column) for column in AtLeast(asked, floor)(given[:0])] == [0, 0, 0]


def test_bad_vectors_are_refused() -> None:
    asked = np.ones((2, 3), np.float32)
    with pytest.raises(InputError, match=r"wanted \(n, 3\) numbers; found \(2, 4\)"):
        AtLeast(asked, 0.5)(np.ones((2, 4), np.float32))
    with pytest.raises(InputError, match="finite"):
        AtLeast(asked, 0.5)(np.full((2, 3), np.nan, np.float32))
    with pytest.raises(InputError, match=r"wanted \(3, dim\) numbers"):
        searches(TEST, settings(0.5), lambda found: np.zeros((4, 2), np.float32))["meaning"]
