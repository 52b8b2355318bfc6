"""Audit tasks made by hand: passages as sentences, queries whose evidence is one of them, and
scorers that add up sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame
from pandas.testing import assert_frame_equal

from positionbias.audit.answers import Question, Verdict
from positionbias.audit.audit import make_task
from positionbias.audit.measured import given_in
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.rows import Collected, load, load_values, save
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.models.user_code import UserFunction
from positionbias.text.sentences import sentences

Scorer = Callable[[str, Sequence[str]], Any]


class Asked(NamedTuple):
    """A query: its text, its passage, and which of the passage's sentences answers it."""

    text: str
    passage_id: str
    own: int


def make_task_of(
    place: Path, passages: Mapping[str, Sequence[str]], asked: Mapping[str, Asked]
) -> Task:
    """A task of these passages, each given by its sentences; every query has all of them as
    candidates.
    """
    answers = []
    for query_id, (_, passage_id, own) in asked.items():
        parts = passages[passage_id]
        start = len(" ".join(parts[:own])) + (own > 0)
        answers.append(Answer(query_id, passage_id, parts[own], start, start + len(parts[own])))
    with create_collection(place) as writer:
        writer.add_passages([Passage(name, " ".join(parts)) for name, parts in passages.items()])
        queries = [Query(query_id, one.text) for query_id, one in asked.items()]
        writer.add_split(
            "test",
            queries,
            [Qrel(query_id, one.passage_id, 1) for query_id, one in asked.items()],
            answers,
        )
        writer.finish(Manifest("collection", "small", "a test", seed=1, licence="invented"))
    ids = list(passages)
    run = Run("first", [(query_id, ids, -np.arange(len(ids), dtype=float)) for query_id in asked])
    return make_task(Collection(place), "test", run, AuditSettings(depth=len(ids)))


def rows_in(made: Collected, measure: str, system: str = "") -> list[Any]:
    """The rows of this measure, of one system where it is named."""
    rows = made.rows[made.rows["measure"] == measure]
    return list((rows[rows["model"] == system] if system else rows).itertuples())


def counts_of(made: Collected, measure: str, system: str = "") -> dict[str, Any]:
    """The counts of this measure, by name."""
    return {row.statistic: row.label or row.value for row in rows_in(made, measure, system)}


def verdict_of(made: Collected, system: str = "", question: Question = Question.PASSAGE) -> Verdict:
    """The verdict on this question."""
    (verdict,) = (
        one.verdict
        for one in given_in(made.rows)
        if system in ("", one.system) and one.verdict.question is question
    )
    return verdict


def read_again(made: Collected, folder: Path) -> DataFrame:
    """The rows of what was measured, saved and loaded."""
    save(folder, made.rows, Manifest(kind="results", name="r", command="a test"), made.values)
    again = load(folder)
    assert_frame_equal(again, made.rows)
    assert_frame_equal(load_values(folder, again), made.values)
    return again


def same_rows(one: Collected, other: Collected, **options: Any) -> None:
    """Refuse two audits with other rows, or other values by query."""
    assert_frame_equal(one.rows, other.rows, **options)
    assert_frame_equal(one.values, other.values, **options)


def system(scorer: Scorer, name: str = "scorer") -> System:
    """A scorer of texts as a system."""
    return System(name, model=UserFunction(scorer))


def words_of(text: str) -> list[str]:
    """Its words in lower case without punctuation."""
    return text.lower().replace(".", " ").replace(",", " ").split()


def overlap(query: str, text: str) -> float:
    """How many of the query's words stand in the text."""
    return float(len(set(words_of(query)) & set(words_of(text))))


def by_sentence(weight: Callable[[int, int], float]) -> Scorer:
    """Σ over sentences i of n: weight(i, n) · its words in common with the query."""

    def score(query: str, passages: Sequence[str]) -> list[float]:
        split = [sentences(text) for text in passages]
        return [
            sum(weight(place, len(parts)) * overlap(query, one) for place, one in enumerate(parts))
            for parts in split
        ]

    return score


def blind(query: str, passages: Sequence[str]) -> list[float]:
    """Words in common, wherever they stand."""
    return [overlap(query, text) for text in passages]


CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def random_task(
    place: Path,
    queries: int,
    *,
    sentences: tuple[int, int] = (3, 6),
    words: tuple[int, int] = (5, 12),
    per_passage: int = 1,
    seed: int = 1,
) -> Task:
    """Passages of invented words; the evidence holds three words that its query asks for, at a
    uniform place. Each query's candidates are all passages.
    """
    rng = generator(seed, "random task")

    def word() -> str:
        return "".join(CONSONANTS[rng.integers(14)] + VOWELS[rng.integers(5)] for _ in range(3))

    passages, asked = {}, {}
    common = [word() for _ in range(60)]
    for number in range(-(-queries // per_passage)):
        count = int(rng.integers(sentences[0], sentences[1] + 1))
        parts = [
            [common[rng.integers(60)] for _ in range(rng.integers(words[0], words[1] + 1))]
            for _ in range(count)
        ]
        for each in range(per_passage):
            if (query := number * per_passage + each) < queries:
                wanted, own = [word() for _ in range(3)], int(rng.integers(count))
                parts[own] += wanted
                asked[f"q{query:03d}"] = Asked(" ".join(wanted), f"p{number:03d}", own)
        passages[f"p{number:03d}"] = [f"{' '.join(one).capitalize()}." for one in parts]
    return make_task_of(place, passages, asked)
