"""How far a system reads: limits of a known number of words are found, scorers that look at one sentence have none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.reads import cliff, reads_of
from positionbias.audit.systems import System, Task
from positionbias.models.checkpoint import load_checkpoint
from positionbias.text.sentences import sentences
from tests.audit.bags import Bags
from tests.audit.tasks import Scorer, blind, overlap, random_task, system
from tests.tiny import saved_tk


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """150 passages of 40 to 250 words."""
    return random_task(tmp_path_factory.mktemp("reads") / "random", 150, sentences=(3, 12), words=(11, 17))


def stopping(words: int) -> Scorer:
    """Overlap with the first words."""
    return lambda query, passages: [overlap(query, " ".join(text.split()[:words])) for text in passages]


def fading(query: str, passages: Sequence[str]) -> list[float]:
    """Reads all, and likes it less the later it stands."""
    return [sum(overlap(query, one) / (1 + place) for place, one in enumerate(sentences(text))) for text in passages]


def first_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [overlap(query, sentences(text)[0]) for text in passages]


def last_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [overlap(query, sentences(text)[-1]) for text in passages]


def best_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [max(overlap(query, one) for one in sentences(text)) for text in passages]


@pytest.mark.parametrize("words", [60, 100, 150])
def test_a_scorer_that_stops_is_found_and_where(task: Task, words: int) -> None:
    found = reads_of(system(stopping(words)), task, declared=None, listwise=False, seed=1)
    assert found.found == "its scores"
    # a sentence has 11 to 17 words, and the answer's three stand at its end: the least limit that fits is one that cuts no read sentence
    assert words - 17 <= found.words <= words
    text = " ".join(["word"] * 400)
    assert found.words is not None
    assert found.fits("query", [text[: 5 * (int(found.words)) - 1], text]) == [True, False]


def test_a_limit_is_found_where_all_passages_are_longer(tmp_path: Path) -> None:
    """Evidence at the end is never read then: places between tell that it is words that count."""
    long = random_task(tmp_path / "long", 60, sentences=(12, 16), words=(11, 17))
    assert 83 <= (cliff(system(stopping(100)), long, 1) or 0) <= 100
    assert cliff(system(first_sentence), long, 1) is None


@pytest.mark.parametrize("scorer", [blind, best_sentence, first_sentence, last_sentence, fading, stopping(1_000)])
def test_scorers_without_a_limit_have_none(task: Task, scorer: Scorer) -> None:
    found = reads_of(system(scorer), task, declared=None, listwise=False, seed=1)
    assert (found.words, found.found) == (None, "no limit found")
    assert found.fits("query", ["word " * 1_000]) == [True]


def test_a_scorer_with_its_own_rounding_still_has_its_limit(task: Task) -> None:
    def rounding(query: str, passages: Sequence[str]) -> np.ndarray:
        return np.array(
            [
                [value * (1 + 1e-7 * (len(text) % 7))]
                for value, text in zip(stopping(100)(query, passages), passages, strict=True)
            ]
        )[:, 0]

    assert cliff(system(rounding), task, 1) == cliff(system(stopping(100)), task, 1)


def test_texts_made_longer_find_the_limit_of_short_passages(tmp_path: Path) -> None:
    """Passages have 24 to 48 words; the texts of the middle have 80 more, so that a limit of 60 or 100 words matters."""
    short = random_task(tmp_path / "short", 40, sentences=(3, 4), words=(8, 10))
    for words in (60, 100):
        found = cliff(system(stopping(words)), short, 1)
        assert found is not None
        assert words - 20 < found <= words
    assert cliff(system(stopping(130)), short, 1) is None


def test_declared_and_listwise_are_not_tried(task: Task) -> None:
    calls: list[str] = []

    def noting(query: str, passages: Sequence[str]) -> list[float]:
        calls.append(query)
        return blind(query, passages)

    declared = reads_of(system(noting), task, declared=3, listwise=False, seed=1)
    assert (declared.words, declared.found) == (3, "declared")
    assert declared.fits("query", ["a b c", "a b c d"]) == [True, False]
    listed = reads_of(system(noting), task, declared=None, listwise=True, seed=1)
    assert (listed.words, listed.found) == (None, "not tried: the scorer is listwise")
    assert calls == []


def test_a_model_s_tokenizer_knows_its_room(task: Task, tmp_path: Path) -> None:
    tk = load_checkpoint(saved_tk(tmp_path / "tk.ckpt", task.collection))
    found = reads_of(System.of(tk), task, declared=None, listwise=False, seed=1)
    assert (found.words, found.found) == (None, "its tokenizer")
    room = tk.model.room
    assert found.fits("query", ["word " * (room - 1), "word " * room, "word " * (room + 1)]) == [True, False, False]
    bags = reads_of(System("bags", model=Bags(7)), task, declared=None, listwise=False, seed=1)
    # an encoder reads query and passage apart: six words leave room, seven just fill it
    assert bags.fits("one two three", ["gate " * 6, "gate " * 7]) == [True, False]
