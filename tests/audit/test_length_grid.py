"""The length by place grid: scorers of known behaviour at all lengths, and what its texts are made
of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.audit.audit import audit, make_task
from positionbias.audit.length_grid import LENGTHS as LEAD
from positionbias.audit.length_grid import PLACES, Material, make_materials, sizes_of
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Task
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from tests.audit.tasks import system, words_of

LENGTHS = (128, 256, 2_048)
SETTINGS = AuditSettings(lengths=LENGTHS, needles=16, rotation=False, depth=12)
READS = 300  # words of the scorer that is cut


def common(query: str, words: Sequence[str]) -> float:
    return float(len(set(query.lower().split()) & set(words)))


def reads_all(query: str, passages: Sequence[str]) -> list[float]:
    return [common(query, words_of(text)) for text in passages]


def reads_first(query: str, passages: Sequence[str]) -> list[float]:
    return [common(query, words_of(" ".join(text.split()[:READS]))) for text in passages]


def grid_task(place: Path, queries: int = 16) -> Task:
    """A query's passage has its four words in one sentence, and ten competitors have none to three
    of them; all other words are common ones.
    """
    rng = generator(1, "grid task")
    passages, asked, rankings = dict[str, str](), list[Query](), []
    qrels, answers = list[Qrel](), list[Answer]()

    def drawn(count: int) -> list[list[str]]:
        return [[f"w{rng.integers(200)}" for _ in range(rng.integers(6, 12))] for _ in range(count)]

    for number in range(queries):
        query_id, wanted = f"q{number:02d}", [f"{letter}{number}" for letter in "abcd"]
        names = [f"p{number:02d}", *(f"c{number:02d}-{other}" for other in range(10))]
        for rank, name in enumerate(names):
            parts, own = drawn(5), int(rng.integers(5))
            parts[own] += wanted if rank == 0 else wanted[: rank % 4]
            lines = [f"{' '.join(part)}.".capitalize() for part in parts]
            passages[name] = " ".join(lines)
            if rank == 0:
                start = len(" ".join(lines[:own])) + (own > 0)
                answers.append(Answer(query_id, name, lines[own], start, start + len(lines[own])))
        asked.append(Query(query_id, " ".join(wanted)))
        qrels.append(Qrel(query_id, names[0], 1))
        rankings.append((query_id, names, -np.arange(len(names), dtype=float)))
    with create_collection(place) as writer:
        writer.add_passages([Passage(name, text) for name, text in passages.items()])
        writer.add_split("test", asked, qrels, answers)
        writer.finish(Manifest("collection", "small", "a test", seed=1, licence="invented"))
    return make_task(Collection(place), "test", Run("first", rankings), SETTINGS)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return grid_task(tmp_path_factory.mktemp("grid") / "task")


def grid(
    task: Task,
    scorer: Callable[[str, Sequence[str]], list[float]],
    settings: AuditSettings = SETTINGS,
) -> DataFrame:
    """The rows of the grid."""
    rows = audit(task, [system(scorer)], settings).rows
    return rows[rows.measure == LEAD]


def values(found: DataFrame, statistic: str) -> dict[tuple[str, float], float]:
    """The values of a statistic, by length and place."""
    own = found[found.statistic == statistic]
    return {(row.length, row.at): row.value for row in own.itertuples()}


def test_scorer_of_all_words_has_equal_cells_at_every_length(task: Task) -> None:
    found = grid(task, reads_all)
    assert list(values(found, "mean")) == [
        (str(length), place) for length in LENGTHS for place in PLACES
    ]
    means = found[found.statistic == "mean"]
    assert set(means["count"]) == {16}
    assert len(set(zip(means.value, means.low, means.high, strict=True))) == 1
    moved = found[found.statistic == "difference"]
    assert len(moved) == len(LENGTHS) * (len(PLACES) - 1)
    assert moved[["value", "low", "high"]].to_numpy().any() == 0


def test_evidence_beyond_what_is_read_is_lost_and_counted(task: Task) -> None:
    found = grid(task, reads_first, replace(SETTINGS, reads=READS))
    beyond, means = values(found, "share not read"), values(found, "mean")
    assert set(beyond.values()) == {0, 1}
    (front,), (gone,) = (
        {means[cell] for cell in means if beyond[cell] == share} for share in (0, 1)
    )
    # the evidence's four words are all that a text loses, of competitors with none to three
    deviation = np.std([rank % 4 for rank in range(1, 11)])
    assert gone - front == pytest.approx(-4 / deviation, abs=1e-3)
    lost = {cell for cell, value in values(found, "difference").items() if value < 0}
    assert lost == {cell for cell in beyond if beyond[cell]}


def test_longer_texts_begin_with_the_fillers_of_shorter_ones_at_every_place(task: Task) -> None:
    made, _ = materials(task)
    assert len(made) == 16
    for one in made:
        shorter: list[str] = []
        for length in LENGTHS:
            whole = {
                tuple(before + behind)
                for before, behind in (one.split(one.piece, length, p) for p in PLACES)
            }
            (fillers,) = whole
            assert list(fillers[: len(shorter)]) == shorter
            shorter = list(fillers)
            words = [len(one.text(one.piece, length, p).split()) for p in PLACES]
            assert max(words) <= length
            assert min(words) > length - 15
        other = one.split(one.competitors[0], 2_048, 0.0)[1]
        assert other[:150] == shorter[:150]


def materials(task: Task) -> tuple[list[Material], dict[str, int]]:
    sizes, _ = sizes_of(system(reads_all))
    return make_materials(task, task.query_ids, LENGTHS, sizes, most=16, seed=1, level=1)


def test_fillers_are_no_candidates_and_hold_no_answer(tmp_path: Path) -> None:
    small = grid_task(tmp_path / "task", 20)
    collection = small.collection
    # the answer of the first query is now a word that most other passages hold
    answers = [
        replace_answer(one) if one.query_id == "q00" else one for one in collection.answers("test")
    ]
    with create_collection(tmp_path / "more") as writer:
        writer.add_passages(collection.passages())
        writer.add_split("test", collection.queries("test"), collection.qrels("test"), answers)
        writer.finish(Manifest("collection", "more", "a test", seed=1, licence="invented"))
    more = replace(small, collection=Collection(tmp_path / "more"))
    sizes, _ = sizes_of(system(reads_all))
    first, *others = make_materials(
        more, more.query_ids, (128, 1_024), sizes, most=20, seed=1, level=1
    )[0]
    assert first.query.query_id == "q00"
    assert not any("w7" in words_of(one) for one in first.fill)
    assert any("w7" in words_of(sentence) for one in others for sentence in one.fill)
    for one in (first, *others):
        number = one.query.query_id.removeprefix("q").lstrip("0") or "0"
        assert not {f"{letter}{number}" for letter in "abcd"} & {
            word for sentence in one.fill for word in words_of(sentence)
        }


def replace_answer(answer: Answer) -> Answer:
    return answer._replace(text="w7", start=None, end=None)
