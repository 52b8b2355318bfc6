"""Models audited as retrievers: planted preferences are found, every passage is read once a
wording, and depth joins them to re-rankers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from positionbias.audit.answers import Contrast, Preference, Question
from positionbias.audit.audit import audit, make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task, retriever_of
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.records import Query
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.dense.retriever import Retriever
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.checkpoint import load_checkpoint
from positionbias.planted.settings import PlantedSettings
from tests.audit.bags import bag_checkpoint
from tests.audit.tasks import rows_in, verdict_of
from tests.tiny import collection_of, planted

SETTINGS = AuditSettings(retrieve=True, needles=60, depth=40)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=100, passages=200, test_share=0.6, validation_share=0.1, front_loading=0.9
    )
    return planted(tmp_path_factory.mktemp("retriever") / "planted", settings)


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return make_task(
        collection,
        "test",
        retrieve(collection, collection.queries("test"), 40, Bm25Settings()),
        SETTINGS,
    )


def change(results: Collected, name: str) -> float:
    """The change of nDCG@10 by rotation."""
    means = {row.statistic: row.value for row in rows_in(results, "nDCG@10", name)}
    return float(means["rotated once"] - means["as it is"])


@pytest.fixture(scope="module")
def results(task: Task) -> Collected:
    """One that reads all words of a passage, and one that reads the first twenty."""
    models = [bag_checkpoint("whole"), bag_checkpoint("front", 20)]
    return audit(task, [retriever_of(model, task, 40) for model in models], SETTINGS)


def test_a_retriever_that_reads_the_front_alone_is_found_short_sighted(
    results: Collected,
) -> None:
    name = "front, whole collection"
    passage = verdict_of(results, name)
    said = sentences_of(name, passage)
    # of some passages evidence and placebo fit into twenty words
    assert (passage.preference, passage.within, passage.queries) == (
        Preference.UNREAD,
        Preference.NONE,
        60,
    )
    assert passage.unread is not None
    assert passage.unread > 0.9
    assert f"{name} loses what stands behind its tokenizer's limit: −" in said[0]
    assert said[1].startswith(f"{name}: no preference, within what it reads")
    over_all = next(effect for effect in passage.effects if not effect.subset)
    assert over_all.contrast == Contrast.ENDS
    assert over_all.value is not None
    # at the end of a passage the evidence is worth nothing
    assert over_all.value == pytest.approx(-1, abs=0.15)
    assert verdict_of(results, name, Question.LIST).preference == Preference.NONE
    assert change(results, name) < 0


def test_at_the_depth_of_the_collection_it_is_re_ranking_all_passages(
    collection: Collection,
) -> None:
    """The same figures in every measure; the first stage that is re-ranked is every passage, by any
    scores.
    """
    settings = replace(SETTINGS, depth=len(collection), needles=10)
    ids = collection.passage_ids()
    every = Run(
        "all", [(query.query_id, ids, np.zeros(len(ids))) for query in collection.queries("test")]
    )
    task = make_task(collection, "test", every, settings, queries=10)
    checkpoint = bag_checkpoint("front", 20)
    by_retrieval = audit(task, [retriever_of(checkpoint, task, len(collection))], settings)
    by_re_ranking = audit(task, [System.of(checkpoint)], settings)
    alike, other = (
        made.rows.query("label != 'the whole collection' and label != 'all'").assign(
            model=made.rows["model"].str.removesuffix(", whole collection"), role=""
        )
        for made in (by_retrieval, by_re_ranking)
    )
    # of whole numbers nothing is rounded
    assert_frame_equal(alike, other, rtol=0, atol=0)
    assert_frame_equal(by_retrieval.values, by_re_ranking.values, rtol=0, atol=0)


class Backwards:
    """The words of a collection's passages in reverse."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def texts_at(self, rows: np.ndarray) -> list[str]:
        return [" ".join(reversed(text.split())) for text in self.collection.texts_at(rows)]


def test_a_ranking_by_hand_in_two_wordings(tmp_path: Path) -> None:
    """One word is read of each passage: p0 begins with lamp, p1 ends with it, p2 has none. Equal
    scores: the higher id first.
    """
    made = collection_of(
        tmp_path / "three", ["lamp gate oil", "oil stone lamp", "stone gate river"]
    )
    queries = [Query("q1", "what lamp?"), Query("q2", " ")]
    retriever = Retriever(bag_checkpoint("first", 1), made, queries, depth=9)
    as_they_are, backwards = retriever.rank("a", ""), retriever.rank("b", "", Backwards(made))
    assert (as_they_are["q1"].passage_ids, as_they_are["q1"].scores.tolist()) == (
        ["p0", "p2", "p1"],
        [1, 0, 0],
    )
    assert (backwards["q1"].passage_ids, backwards["q1"].scores.tolist()) == (
        ["p1", "p2", "p0"],
        [1, 0, 0],
    )
    assert as_they_are["q2"].passage_ids == []  # a query without text ranks nothing


def test_what_cannot_retrieve_and_too_little_memory_are_one_line(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SettingError,
        match="wanted a model with one vector a text .* found .*blind, of kind function",
    ) as caught:
        retriever_of(load_checkpoint("tests.audit.scorers:blind"), task, 5)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr("positionbias.dense.retriever.MEMORY", 0.001)
    with pytest.raises(
        SettingError, match="--queries: one pass over the passages serves"
    ) as caught:
        retriever_of(bag_checkpoint("whole"), task, 1_000)
    assert "\n" not in str(caught.value)
