"""Near-duplicates by surface: coefficients by hand, types by hand, and the index against holding every pair together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.firststage.terms import Analyzer
from positionbias.leakage.labels import DIFFERENT
from positionbias.leakage.lexical import LexicalHit, LexicalSettings, TermIndex, containment, jaccard, read_terms
from positionbias.leakage.reformulation import guess_type


def terms(text: str) -> frozenset[str]:
    return read_terms(text, Analyzer()).terms


def test_coefficients_by_hand() -> None:
    train, test = terms("black bears attacked two hikers"), terms("Black Bear Attacks")
    assert test == {"black", "bear", "attack"}  # stemmed alike: shared 3, together 5
    assert (jaccard(train, test), containment(train, test)) == (3 / 5, 1.0)
    assert (jaccard(test, train), containment(test, train)) == (3 / 5, 3 / 5)
    assert (jaccard(train, terms("lamp")), containment(train, terms("lamp"))) == (0.0, 0.0)
    assert (jaccard(terms("the"), terms("of a")), containment(train, terms("the"))) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("train", "guessed"),
    [
        ("Lyme disease", "identical"),
        ("the diseases of Lyme", "identical"),  # inflection, word order, stop words
        ("lyme", "generalization"),
        ("lyme disease in dogs", "specialization"),
        ("lyme infection", "reformulation"),
        ("weather in paris", DIFFERENT),
        ("the", DIFFERENT),
    ],
)
def test_types_by_the_papers_definitions(train: str, guessed: str) -> None:
    analyzer = Analyzer()
    assert guess_type(read_terms(train, analyzer), read_terms("lyme disease", analyzer)) == guessed


def test_a_pair_alike_in_meaning_that_shares_no_term_is_a_reformulation() -> None:
    analyzer = Analyzer()
    first, second = read_terms("automobile cover", analyzer), read_terms("car insurance", analyzer)
    assert guess_type(first, second) == DIFFERENT
    assert guess_type(first, second, same_meaning=True) == "reformulation"


def test_what_is_found_and_why() -> None:
    index = TermIndex(["Black bear attacks", "to be or not to be", "polio"])
    queries = [
        (3, "attacks by black bears"),  # the same terms
        (5, "black bear attacks in national parks"),  # all three in it: 3 of 5
        (6, "how often did black bear attacks happen in national parks"),  # less than 0.6 of all, but the whole text
        (7, "black bear"),  # 2 of 3
        (8, "bear"),  # 1 of 3
        (9, "To be, or not to be?"),  # stop words alone: only the words themselves tell
        (10, "polio vaccine"),  # 1 of 2; all of it, but one term
        (11, "polio"),
    ]
    found = [(hit.train, hit.test, hit.exact) for hit in index.search(queries)]
    assert found == [(3, 0, False), (5, 0, False), (6, 0, False), (7, 0, False), (9, 1, True), (11, 2, True)]


WORDS = st.lists(st.sampled_from(["lamp", "lamps", "gate", "river", "tower", "the", "of", "bridge"]), max_size=6).map(" ".join)


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, max_size=8),
    st.sampled_from([0.2, 1 / 3, 0.5, 0.6, 1.0]),
    st.sampled_from([0.25, 0.5, 2 / 3, 1.0]),
    st.integers(1, 3),
)
def test_the_index_finds_what_comparing_every_pair_finds(
    tests: list[str], train: list[str], alike: float, contained: float, shared: int
) -> None:
    settings = LexicalSettings(alike, contained, shared)
    expected = []
    for number, query in enumerate(train):
        for place, text in enumerate(tests):
            a, b = terms(query), terms(text)
            exact = query.split() == text.split() and bool(text)
            scores = jaccard(a, b), containment(a, b)
            if exact or scores[0] >= alike or (scores[1] >= contained and len(a & b) >= shared):
                expected.append(LexicalHit(number, place, exact, *scores))
    assert list(TermIndex(tests, settings).search(enumerate(train))) == expected


def test_the_stemmers_memory_starts_anew_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [(number, text) for number, text in enumerate(["iron gates", "an iron gate", "lamp", "iron gate"])]
    before = list(TermIndex(["iron gate"]).search(queries))
    monkeypatch.setattr("positionbias.leakage.lexical.RENEW", 2)
    assert list(TermIndex(["iron gate"]).search(queries)) == before
    assert [hit.train for hit in before] == [0, 1, 3]


def test_thresholds_outside_their_range_are_refused() -> None:
    for setting, flag in (
        ({"jaccard": 0.0}, "--jaccard"),
        ({"containment": 1.5}, "--containment"),
        ({"shared": 0}, "--shared"),
    ):
        with pytest.raises(SettingError, match=f"^{flag}: wanted"):
            LexicalSettings(**setting)
