"""How far a system reads: limits of a known number of words are found, scorers that look at one
sentence have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.reads import Reads, cliff, longest_texts, reads_of
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import make_trials
from positionbias.models.checkpoint import load_checkpoint
from positionbias.text.sentences import sentences
from tests.audit.bags import Bags
from tests.audit.tasks import Scorer, blind, overlap, random_task, system
from tests.tiny import saved_tk


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """60 passages of 40 to 250 words."""
    return random_task(
        tmp_path_factory.mktemp("reads") / "random", 60, sentences=(3, 12), words=(11, 17)
    )


def stopping(words: int) -> Scorer:
    """Overlap with the first words."""
    return lambda query, passages: [
        overlap(query, " ".join(text.split()[:words])) for text in passages
    ]


def starting(words: int) -> Scorer:
    """Overlap with the last words."""
    return lambda query, passages: [
        overlap(query, " ".join(text.split()[-words:])) for text in passages
    ]


def fading(query: str, passages: Sequence[str]) -> list[float]:
    """Reads all, and likes it less the later it stands."""
    return [
        sum(overlap(query, one) / (1 + place) for place, one in enumerate(sentences(text)))
        for text in passages
    ]


def first_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [overlap(query, sentences(text)[0]) for text in passages]


def last_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [overlap(query, sentences(text)[-1]) for text in passages]


def best_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [max(overlap(query, one) for one in sentences(text)) for text in passages]


def longest(task: Task) -> dict[str, int]:
    """The words of the longest text that an audit of two orders scores of each query."""
    trials, _ = make_trials(task, task.query_ids, most=len(task.query_ids), orders=2, seed=1)
    return longest_texts(trials)


def reads(task: Task, scorer: Scorer) -> Reads:
    return reads_of(system(scorer), task, longest(task), declared=None, listwise=False, seed=1)


def limit(task: Task, scorer: Scorer) -> Reads | None:
    return cliff(system(scorer), task, longest(task), 1)


@pytest.mark.parametrize("words", [150])
def test_a_scorer_that_stops_is_found_and_where(task: Task, words: int) -> None:
    found = reads(task, stopping(words))
    assert (found.found, found.from_end) == ("its scores", False)
    # a sentence has 11 to 17 words, and the answer's three stand at its end: the least limit that
    # fits is one that cuts no read sentence
    assert words - 17 <= found.words <= words
    text = " ".join(["word"] * 400)
    assert found.words is not None
    assert found.fits("query", [text[: 5 * (int(found.words)) - 1], text]) == [True, False]


def test_a_limit_is_found_where_all_passages_are_longer(tmp_path: Path) -> None:
    """Evidence at the end is never read then: places between tell that it is words that count."""
    long = random_task(tmp_path / "long", 60, sentences=(12, 16), words=(11, 17))
    found = limit(long, stopping(100))
    assert found is not None
    assert 83 <= found.words <= 100
    assert limit(long, first_sentence) is None


@pytest.mark.parametrize("scorer", [first_sentence, fading, stopping(1_000)])
def test_scorers_without_a_limit_have_none(task: Task, scorer: Scorer) -> None:
    found = reads(task, scorer)
    assert (found.words, found.found) == (None, "no limit found")
    assert found.fits("query", ["word " * 1_000]) == [True]


@pytest.mark.parametrize("words", [60])
def test_a_scorer_of_the_last_words_is_found_from_the_end(task: Task, words: int) -> None:
    found = reads(task, starting(words))
    assert (found.found, found.from_end) == ("its scores", True)
    # the three words of the answer end their sentence: only with them is a text of that many words
    # cut
    assert found.words is not None
    assert words - 3 <= found.words <= words


def test_a_scorer_with_its_own_rounding_still_has_its_limit(task: Task) -> None:
    def rounding(query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array(
            [
                [value * (1 + 1e-7 * (len(text) % 7))]
                for value, text in zip(stopping(100)(query, passages), passages, strict=True)
            ]
        )[:, 0]

    found, plain = limit(task, rounding), limit(task, stopping(100))
    assert found is not None
    assert plain is not None
    assert (found.words, found.from_end) == (plain.words, plain.from_end)


def test_texts_made_longer_find_the_limit_of_short_passages(tmp_path: Path) -> None:
    """Passages have 27 to 43 words, the texts of the middle 20 to 40 more: a limit of 60 words
    matters, one of 100 does not.
    """
    short = random_task(tmp_path / "short", 40, sentences=(3, 4), words=(8, 10))
    assert max(longest(short).values()) <= 83
    found = limit(short, stopping(60))
    assert found is not None
    assert 60 - 13 < found.words <= 60
    assert limit(short, stopping(100)) is None


def test_declared_and_listwise_are_not_tried(task: Task) -> None:
    calls: list[str] = []

    def noting(query: str, passages: Sequence[str]) -> list[float]:
        calls.append(query)
        return blind(query, passages)

    declared = reads_of(system(noting), task, {}, declared=3, listwise=False, seed=1)
    assert (declared.words, declared.found) == (3, "declared")
    assert declared.fits("query", ["a b c", "a b c d"]) == [True, False]
    listed = reads_of(system(noting), task, {}, declared=None, listwise=True, seed=1)
    assert (listed.words, listed.found) == (None, "not tried: the scorer is listwise")
    assert calls == []


def test_a_model_s_tokenizer_knows_its_room(task: Task, tmp_path: Path) -> None:
    tk = load_checkpoint(saved_tk(tmp_path / "tk.ckpt", task.collection))
    found = reads_of(System.of(tk), task, {}, declared=None, listwise=False, seed=1)
    assert (found.words, found.found) == (None, "its tokenizer")
    room = tk.model.room
    assert found.fits("query", ["word " * (room - 1), "word " * room, "word " * (room + 1)]) == [
        True,
        False,
        False,
    ]
    bags = reads_of(System("bags", model=Bags(7)), task, {}, declared=None, listwise=False, seed=1)
    # an encoder reads query and passage apart: six words leave room, seven just fill it
    assert bags.fits("one two three", ["gate " * 6, "gate " * 7]) == [True, False]
    assert (bags.words, bags.from_end) == (None, False)
    left = Bags(7)
    left.cut_side = "left"  # type: ignore[attr-defined]
    cut = reads_of(System("left", model=left), task, {}, declared=None, listwise=False, seed=1)
    assert (cut.words, cut.from_end) == (None, True)
