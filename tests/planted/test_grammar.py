"""The planted language: what answers, what only mentions, and an oracle that tells them apart."""

from __future__ import annotations

from random import Random

import pytest

from positionbias.planted.grammar import (
    ANSWERING,
    ATTRIBUTES,
    FIRST_NAMES,
    MENTIONING,
    SECOND_NAMES,
    Thing,
    answering,
    mentioning,
    question,
)
from positionbias.text.overlap import content_words
from tests.oracles import states_value

THING = Thing("Fenmol", "lonorm")


def test_names_are_many_and_share_no_word() -> None:
    assert len(set(FIRST_NAMES)) == len(set(SECOND_NAMES)) == 512
    assert not {name.lower() for name in FIRST_NAMES} & set(SECOND_NAMES)


def test_every_attribute_has_sixteen_distinct_values() -> None:
    assert {len(set(values)) for values in ATTRIBUTES.values()} == {16}


@pytest.mark.parametrize("template", ANSWERING)
def test_the_oracle_reads_every_answering_sentence(template: str) -> None:
    sentence = template.format(thing=THING, attribute="season", value="winter")
    assert states_value(f"and so on. {sentence} The guide", THING, "season")
    assert not states_value(sentence, THING, "colour")
    assert not states_value(sentence, Thing("Fenmol", "other"), "season")


@pytest.mark.parametrize("template", MENTIONING)
def test_no_mentioning_sentence_answers(template: str) -> None:
    sentence = template.format(thing=THING, attribute="season", value="winter")
    assert not states_value(f"and so on. {sentence} The guide", THING, "season")


def test_both_kinds_hold_all_query_words() -> None:
    random = Random(3)
    wanted = content_words(question(random, THING, "season"))
    for _ in range(50):
        assert {"fenmol", "lonorm", "season"} <= content_words(answering(random, THING, "season"))
        assert {"fenmol", "lonorm", "season"} <= content_words(mentioning(random, THING, "season"))
    assert {"fenmol", "lonorm", "season"} <= wanted


def test_no_word_stands_in_answering_sentences_only() -> None:
    words = [
        {word for template in templates for word in content_words(template)}
        for templates in (ANSWERING, MENTIONING)
    ]
    # what tells the kinds apart is the company of the query's words, not a vocabulary of its own
    assert words[0] <= words[1]
