"""Figures by query: of a model, a retriever and two runs, with and without answers, held against
the audit's own statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.answers import Contrast
from positionbias.audit.audit import audit, make_task
from positionbias.audit.measured import audit_rows
from positionbias.audit.query_effects import QueryEffects
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.rotations import Gap
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task, retrievers
from positionbias.audit.two_runs import TWO_RUNS, two_run_verdict
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.run import Run
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.planted.generator import PlantedSettings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from tests.audit.bags import bag_checkpoint
from tests.audit.scorers import front_lover
from tests.audit.tasks import Asked as AskedOf
from tests.audit.tasks import counts_of, figures_of, make_task_of, read_again, system, verdict_of
from tests.tiny import planted

SETTINGS = AuditSettings(
    measures=("nDCG@10",), depth=8, needles=20, segments=0, permutations=100, describe=True
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=60, passages=200, test_share=0.6, validation_share=0.1, front_loading=0.5
    )
    return planted(tmp_path_factory.mktemp("effects") / "planted", settings)


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return task_of(collection)


def task_of(collection: Collection, settings: AuditSettings = SETTINGS) -> Task:
    run = retrieve(collection, collection.queries("test"), settings.depth, Bm25Settings())
    return make_task(collection, "test", run, settings)


@pytest.fixture(scope="module")
def judged(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The same without answers."""
    place = tmp_path_factory.mktemp("judged") / "judged"
    with create_collection(place) as writer:
        writer.add_passages(list(collection.passages()))
        writer.add_split("test", collection.queries("test"), collection.qrels("test"))
        writer.finish(Manifest("collection", "judged", "a test", seed=1, licence="invented"))
    return Collection(place)


def by_query(results: Sequence[Measurement]) -> QueryEffects:
    (effects,) = figures_of(results, QueryEffects)
    return effects


def run_of(
    scorer: Callable[[str, Sequence[str]], Sequence[float]], task: Task, texts: Collection
) -> Run:
    queries = {query.query_id: query.text for query in task.queries}
    lists = [task.candidates[query_id] for query_id in task.query_ids]
    return Run(
        "mine",
        (
            (c.query_id, c.passage_ids, scorer(queries[c.query_id], texts.texts(c.passage_ids)))
            for c in lists
        ),
    )


def test_two_passages_by_hand(tmp_path: Path) -> None:
    """A scorer by length in words before the query's word: the earlier, the better."""
    passages = {
        "p1": ["The mill was built early.", "Bread came later."],
        "p2": ["Wheat grows here.", "Rye grows too."],
    }
    small = make_task_of(
        tmp_path / "small",
        passages,
        {"q1": AskedOf("mill", "p1", 0), "q2": AskedOf("Rye", "p2", 1)},
    )

    def early(query: str, texts: Sequence[str]) -> list[float]:
        return [-float(text.find(query)) if query in text else -1_000.0 for text in texts]

    settings = AuditSettings(measures=("nDCG@10",), depth=2, needles=0, segments=0)
    found = audit(small, [system(early)], settings)
    effects = by_query(found)
    # words with their stops: 6 + 4, and 4 + 4; the answer could begin at the fifth, and at the
    # fifth
    assert (list(effects.words), list(effects.places)) == ([10, 8], [0.0, 1.0])
    assert effects.after is not None
    assert effects.ranks_after is not None
    for values in (effects.before, effects.ranks_before, effects.after, effects.ranks_after):
        assert values.tolist() == [1, 1]
    assert effects.moved == {}
    made = audit_rows(small, found)
    (row,) = made.rows.query("measure == 'evidence' and statistic == 'place'").row
    values = made.values[made.values.row == row][["item", "cluster", "value"]]
    assert values.to_numpy().tolist() == [["q1", "p1", 0.0], ["q2", "p2", 1.0]]


def test_a_models_figures_add_up_to_the_audits(task: Task, tmp_path: Path) -> None:
    found = audit(task, [System.of_candidates(task), system(front_lover)], SETTINGS)
    effects = by_query(found)  # the first stage has none
    (gap,) = figures_of(found, Gap)
    assert np.mean(effects.before) == pytest.approx(gap.original)
    assert np.mean(effects.after) == pytest.approx(gap.rotated)  # type: ignore[arg-type]
    assert np.mean(effects.after - effects.before) == pytest.approx(gap.change)  # type: ignore
    verdict = verdict_of(found)
    (worth,) = (
        np.mean(list(scores.values()))
        for key, scores in effects.moved.items()
        if key == (Contrast.WORTH, "")
    )
    for contrast in (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION):
        scores = [*effects.moved[contrast, ""].values()]
        effect = verdict.effect(contrast, "worth")
        assert effect is not None
        assert effect.raw is not None
        assert len(scores) == effect.queries
        assert np.mean(scores) == pytest.approx(effect.raw[0])
        assert np.mean(scores) / worth == pytest.approx(effect.value, abs=1e-4)
    read_again(task, found, tmp_path / "r")


def test_a_retriever_has_ranks_in_the_collection(collection: Collection) -> None:
    settings = AuditSettings(
        retrieve=True, measures=("nDCG@10",), depth=40, needles=10, segments=0, permutations=100
    )
    task = task_of(collection, settings)
    found = audit(
        task,
        [System.of_candidates(task), *retrievers([bag_checkpoint("whole")], task, depth=40)],
        settings,
    )
    effects = by_query(found)
    assert len(effects.ranks_before) == len(task.query_ids)
    assert np.nanmin(effects.ranks_before) == 1
    assert np.nanmax(effects.ranks_before) <= 40
    # a bag of words is read alike wherever it is cut
    assert effects.before == pytest.approx(effects.after)


def test_two_runs_have_the_first_rotations_figures(
    collection: Collection, task: Task, tmp_path: Path
) -> None:
    rotated = [debias(collection, tmp_path / f"r{seed}", Rotation(seed=seed)) for seed in (1, 2)]
    runs = [RotatedRun(one, run_of(front_lover, task, one)) for one in rotated]
    found = two_run_verdict("mine", task, run_of(front_lover, task, collection), runs, SETTINGS)
    effects = by_query(found)
    counts = counts_of(found, TWO_RUNS)
    assert np.mean(effects.before) == pytest.approx(counts["nDCG@10, original"])
    values = task.values(runs[0].run, ["nDCG@10"])["nDCG@10"]
    assert effects.after is not None
    assert effects.after.tolist() == values.tolist()
    assert effects.moved == {}


def test_without_answers_nothing_has_a_place(judged: Collection, tmp_path: Path) -> None:
    task = task_of(judged)
    model = by_query(audit(task, [system(front_lover)], SETTINGS))
    rotated = debias(judged, tmp_path / "r1", Rotation(seed=1))
    runs = two_run_verdict(
        "mine",
        task,
        run_of(front_lover, task, judged),
        [RotatedRun(rotated, run_of(front_lover, task, rotated))],
        SETTINGS,
    )
    of_runs = by_query(runs)
    for effects in (model, of_runs):
        assert np.isnan(effects.places).all()
    assert list(model.moved) == [(Contrast.TURNED, ""), (Contrast.HALVES, ""), ("deviations", "")]
    np.testing.assert_array_equal(model.before, of_runs.before)
    np.testing.assert_array_equal(model.after, of_runs.after)  # type: ignore[arg-type]


def test_a_run_alone_has_none(task: Task) -> None:
    found = audit(task, [System("mine", run=task.candidates)], SETTINGS)
    assert figures_of(found, QueryEffects) == []
