"""Near-duplicates by surface: coefficients by hand, and the index against holding
every pair together.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.leakage import lexical
from positionbias.leakage.lexical import (
    Rarity,
    TermIndex,
    coefficients,
    comparable,
    one_entity,
    read_terms,
)


def terms(text: str) -> frozenset[str]:
    return read_terms(text).terms


def test_coefficients_by_hand() -> None:
    train, test = terms("attacks of black bears on hikers in parks"), terms("Black Bear Attack")
    assert test == {"black", "bear", "attack"}  # without plurals: shared 3, together 5
    assert coefficients(train, test) == (3 / 5, 1.0)
    assert coefficients(test, train) == (3 / 5, 3 / 5)
    assert coefficients(train, terms("lamp")) == (0.0, 0.0)
    assert coefficients(terms("the"), terms("of a")) == (0.0, 0.0)


def test_rare_terms_weigh_more_by_hand() -> None:
    # four queries: "lamp" in three of them, "orvell" in one: ln(1 + 4/3) = 0.8473, ln(1 + 4) =
    # 1.6094
    rarity = Rarity(["lamp", "the lamp of Orvell", "lamps and lamps", "gate"])
    assert (rarity.weight("lamp"), rarity.weight("orvell")) == (
        pytest.approx(0.84730, abs=1e-5),
        pytest.approx(1.60944, abs=1e-5),
    )
    assert rarity.weight("nowhere") == rarity.weight("orvell")  # as one that a single query has
    first, second = terms("lamp of Orvell"), terms("lamp gate")
    assert coefficients(first, second, rarity) == (
        pytest.approx(0.84730 / (0.84730 + 2 * 1.60944), abs=1e-5),
        pytest.approx(0.84730 / (0.84730 + 1.60944), abs=1e-5),
    )


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("queries", "query"),
        ("taxes", "tax"),
        ("Orvell's", "orvell"),
    ],
)
def test_a_plural_is_the_same_term(word: str, same: str) -> None:
    assert terms(word) == terms(same)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("marinate", "marine"),
        ("cars", "care"),
    ],
)
def test_another_word_is_another_term(word: str, other: str) -> None:
    assert not terms(word) & terms(other)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("lyme disease rash pictures", "Lyme Disease"),  # one thing, asked about twice
        ("bear", "black bear"),
    ],
)
def test_a_shared_entity_is_no_pair(train: str, test: str) -> None:
    index = TermIndex([test], Rarity([test]))
    assert list(index.search([(0, train)])) == []


def test_one_entity_by_hand() -> None:
    read = read_terms
    assert one_entity(read("lyme disease in dogs"), read("Lyme disease"))
    assert one_entity(read("who has lyme"), read("Lyme disease"))
    # side by side in one of them alone
    assert not one_entity(read("lyme is a disease of ticks"), read("Lyme ticks"))
    # words stand between
    assert not one_entity(read("how high is the tower of Orvell"), read("how high is the tower"))
    assert not one_entity(read("black bear attacks in parks"), read("black bear attacks"))  # three


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("What is Lyme disease?", "what is lyme disease"),
        ("«what» is lyme-disease …", "what is lyme disease"),
        ("food/drug laws", "Food, drug laws."),
        ("Rome’s fall", "rome's fall"),
        ("ﬁsh  and\tchips", "fish and chips"),
    ],
)
def test_copies_have_one_comparable_form(text: str, same: str) -> None:
    assert comparable(text) == comparable(same)


def test_signs_that_tell_words_apart_stay() -> None:
    assert (
        len({comparable(text) for text in ("c", "C++", "c#", "$5", "5%", "5", "1.5", "1 5")}) == 8
    )


@given(st.text(max_size=30))
def test_a_comparable_form_is_its_own(text: str) -> None:
    assert comparable(comparable(text)) == comparable(text)


def test_what_is_found_and_why() -> None:
    tests = ["Black bear attacks", "to be or not to be", "polio"]
    index = TermIndex(tests, Rarity(tests))
    queries = [
        (3, "attacks by black bears"),  # the same terms
        (5, "black bear attacks in national parks"),  # all three in it
        # less than 0.6 of all, but the whole text
        (6, "which victims survived black bear attacks in parks of oregon"),
        (7, "black bear"),  # one animal
        # two of three, apart in one: 0.75 of the weight would do, 2/3 of it does
        (8, "attacks black"),
        (9, "To be, or not to be?"),  # stop words alone: only the words themselves tell
        (10, "polio vaccine"),  # all of it, but one term
        (11, "what is polio?"),  # the same terms
        (12, "Polio?"),
    ]
    assert list(index.search(queries)) == [
        (3, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 2), (12, 2),
    ]  # fmt: skip


WORDS = st.lists(
    st.sampled_from(["lamp", "lamps", "gate", "river", "tower", "the", "of", "bridge"]), max_size=6
).map(" ".join)


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, max_size=8),
    st.sampled_from([0.2, 1 / 3, 0.5, 0.6, 1.0]),
    st.sampled_from([0.25, 0.5, 2 / 3, 1.0]),
)
def test_the_index_finds_what_comparing_every_pair_finds(
    tests: list[str], train: list[str], alike: float, contained: float
) -> None:
    rarity = Rarity([*tests, *train])
    expected = []
    for number, query in enumerate(train):
        for place, text in enumerate(tests):
            a, b = read_terms(query), read_terms(text)
            exact = query.split() == text.split() and bool(text)
            scores = coefficients(a.terms, b.terms, rarity)
            reached = scores[0] >= alike - 1e-9 or scores[1] >= contained - 1e-9
            if exact or (
                a.terms & b.terms and reached and (a.terms == b.terms or not one_entity(a, b))
            ):
                expected.append((number, place))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lexical, "JACCARD", alike)
        patched.setattr(lexical, "CONTAINMENT", contained)
        index = TermIndex(tests, rarity)
        assert list(index.search(enumerate(train))) == expected


def test_a_long_run_of_signs_is_gone_through_once() -> None:
    signs = "!" * 300_000  # minutes, where it is tried again from each of them
    assert comparable(f"a {signs}b{signs} c.+.") == "a b c.+"
