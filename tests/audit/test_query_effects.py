"""Figures by query: of a model, a retriever and two runs, with and without answers, held against
the audit's own statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.audit import audit, make_task
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task, retrievers
from positionbias.audit.two_runs import two_run_verdict
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.run import Run
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.planted.generator import PlantedSettings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.results.audit import GapFigures, TwoRunFigures
from positionbias.results.payloads import Contrast, Verdict
from positionbias.results.query_effects import QueryEffects
from positionbias.results.result import Result
from positionbias.results.select import of_type
from tests.audit.bags import bag_checkpoint
from tests.audit.scorers import front_lover
from tests.audit.tasks import Asked as AskedOf
from tests.audit.tasks import make_task_of, read_again, system
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


def by_query(results: Sequence[Result]) -> QueryEffects:
    ((_, payload),) = of_type(results, QueryEffects)
    return payload


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
    effects = by_query(audit(small, [system(early)], settings))
    assert (effects.query_ids, effects.passage_ids) == (["q1", "q2"], ["p1", "p2"])
    # words with their stops: 6 + 4, and 4 + 4; the answer could begin at the fifth, and at the
    # fifth
    assert (list(effects.words), list(effects.places)) == ([10, 8], [0.0, 1.0])
    assert (effects.before, effects.ranks_before) == ([1.0, 1.0], [1, 1])
    assert (effects.after, effects.ranks_after) == ([1.0, 1.0], [1, 1])
    assert effects.moved == {}


def test_a_models_figures_add_up_to_the_audits(task: Task, tmp_path: Path) -> None:
    found = audit(task, [System.of_candidates(task), system(front_lover)], SETTINGS)
    effects = by_query(found)  # the first stage has none
    ((result, gap),) = of_type(found, GapFigures)
    assert np.mean(effects.before) == pytest.approx(gap.original)
    assert np.mean(effects.after) == pytest.approx(gap.rotated)  # type: ignore[arg-type]
    assert np.mean([change for change in effects.changes if change is not None]) == pytest.approx(
        result.value
    )
    verdict = next(payload for _, payload in of_type(found, Verdict))
    for contrast in (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION):
        known = [value for value in effects.moved[contrast.value] if value is not None]
        effect = next(
            one
            for one in verdict.effects
            if (one.contrast, one.unit, one.subset) == (contrast, "worth", "")
        )
        assert len(known) == effect.queries
        assert np.mean(known) == pytest.approx(effect.value, abs=1e-4)
    again = [
        payload
        for payload in read_again(found, tmp_path / "r")
        if isinstance(payload, QueryEffects)
    ]
    assert again == [effects]


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
    assert len(effects.query_ids) == len(task.query_ids)
    known = [rank for rank in effects.ranks_before if rank is not None]
    assert min(known) == 1
    assert max(known) <= 40
    # a bag of words is read alike wherever it is cut
    assert effects.before == pytest.approx(effects.after)


def test_two_runs_have_the_first_rotations_figures(
    collection: Collection, task: Task, tmp_path: Path
) -> None:
    rotated = [debias(collection, tmp_path / f"r{seed}", Rotation(seed=seed)) for seed in (1, 2)]
    runs = [RotatedRun(one, run_of(front_lover, task, one)) for one in rotated]
    found = two_run_verdict("mine", task, run_of(front_lover, task, collection), runs, SETTINGS)
    effects = by_query(found)
    ((_, figures),) = of_type(found, TwoRunFigures)
    assert np.mean(effects.before) == pytest.approx(figures.means["nDCG@10, original"])
    values = task.values(runs[0].run, ["nDCG@10"])["nDCG@10"]
    assert effects.after == values.tolist()
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
    for effects in (model, by_query(runs)):
        assert set(effects.places) == {None}
    assert list(model.moved) == [Contrast.TURNED.value, Contrast.HALVES.value]
    assert model.before == by_query(runs).before
    assert model.after == by_query(runs).after


def test_a_run_alone_has_none(task: Task) -> None:
    assert of_type(audit(task, [System("mine", run=task.candidates)], SETTINGS), QueryEffects) == []
