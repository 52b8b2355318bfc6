"""The verdict from a user's own runs: by hand, for scorers of a known preference, and what is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.answers import Contrast, Preference, Question, Verdict
from positionbias.audit.audit import audit, make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import RotatedRun, System, Task
from positionbias.audit.two_runs import (
    _shared,
    moves_of,
    two_run_verdict,
)
from positionbias.audit.words import sentences_of
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.planted.settings import PlantedSettings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from tests.audit.scorers import blind, end_lover, front_lover
from tests.audit.tasks import verdict_of
from tests.tiny import planted

SETTINGS = AuditSettings(depth=8)
Scorer = Callable[[str, Sequence[str]], list[float]]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=120, passages=700, test_share=1, validation_share=0, front_loading=0.3
    )
    return planted(tmp_path_factory.mktemp("two-runs") / "planted", settings)


@pytest.fixture(scope="module")
def rotated(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> list[Collection]:
    folder = tmp_path_factory.mktemp("rotated")
    return [debias(collection, folder / f"r{seed}", Rotation(seed=seed)) for seed in (1, 2)]


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return make_task(
        collection,
        "test",
        retrieve(collection, collection.queries("test"), 8, Bm25Settings()),
        SETTINGS,
    )


def run_of(scorer: Scorer, task: Task, texts: Collection) -> Run:
    """What a user would make: the scorer over the candidates, read from these texts."""
    queries = {query.query_id: query.text for query in task.queries}
    candidates = [task.candidates[query_id] for query_id in task.query_ids]
    return Run(
        "user",
        (
            (c.query_id, c.passage_ids, scorer(queries[c.query_id], texts.texts(c.passage_ids)))
            for c in candidates
        ),
    )


def judged(scorer: Scorer, task: Task, rotated: Sequence[Collection]) -> Verdict:
    pairs = [RotatedRun(one, run_of(scorer, task, one)) for one in rotated]
    return verdict_on(task, run_of(scorer, task, task.collection), pairs)


def verdict_on(task: Task, run: Run, pairs: Sequence[RotatedRun], **more: float) -> Verdict:
    system = System("mine", run=run, rotated=pairs)
    return two_run_verdict(system, task, SETTINGS, **more)[0]


def said_of(verdict: Verdict) -> list[str]:
    return sentences_of("mine", verdict)


@pytest.mark.parametrize(
    ("scorer", "preference"),
    [(front_lover, Preference.FRONT), (end_lover, Preference.END)],
)
def test_a_preference_is_named_by_its_side(
    scorer: Scorer, preference: Preference, task: Task, rotated: list[Collection]
) -> None:
    found = judged(scorer, task, rotated)
    assert (found.question, found.preference, found.exceeds) == (Question.PASSAGE, preference, True)
    assert [(one.contrast, one.unit) for one in found.effects] == [
        (Contrast.RUNS, "nDCG@10"),
        (Contrast.RUNS, "ranks"),
    ]
    sign = -1 if preference == Preference.FRONT else 1
    assert all(sign * one.value > 0 for one in found.effects if one.value is not None)
    assert said_of(found)[0].startswith(f"mine {preference}: ")


def test_scores_change_nothing_but_ranks_do(task: Task, rotated: list[Collection]) -> None:
    def squashed(query: str, passages: Sequence[str]) -> list[float]:
        return [float(np.tanh(score / 100)) for score in front_lover(query, passages)]

    assert judged(squashed, task, rotated) == judged(front_lover, task, rotated)


TEXT = "One came here. Two left the gold. Three stayed."  # words, with full stops: 4, 5, 3


def small(
    place: Path, texts: dict[str, str], question: str = "who left?", split: str = "test"
) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages(Passage(*item) for item in texts.items())
        writer.add_split(
            split, [Query("q1", question)], [Qrel("q1", "p1", 1)], [Answer("q1", "p1", "gold")]
        )
        writer.finish(Manifest("collection", place.name, "a test"))
    return Collection(place)


def small_task(place: Path) -> Task:
    collection = small(place, {"p1": TEXT, "p2": "Nothing here. At all."})
    return make_task(collection, "test", Run("first", [("q1", ["p1", "p2"], [2, 1])]), SETTINGS)


@pytest.mark.parametrize(
    ("cut", "after"),
    [
        # the sentence is words 4 to 8 of 12, so it has 7 places behind the first
        (TEXT.index("came"), 3 / 7),
        (TEXT.index("Two"), 0.0),
        (TEXT.index("Three"), 1.0),
        (TEXT.index("stayed"), 6 / 7),
        (TEXT.index("left"), None),  # through the sentence, though not through the answer
    ],
)
def test_places_by_hand(cut: int, after: float | None, tmp_path: Path) -> None:
    task = small_task(tmp_path / "c")
    turned = small(
        tmp_path / "r", {"p1": f"{TEXT[cut:]} {TEXT[:cut]}", "p2": "Nothing here. At all."}
    )
    places, skipped = moves_of(turned, task, [task.evidence.by_query["q1"]])
    if after is None:
        assert np.isnan(places).all()
        assert skipped["sentences cut through"] == 1
    else:
        assert places[0, :2] == pytest.approx((4 / 7, after))


def test_what_is_no_rotation_of_the_collection_is_refused(tmp_path: Path) -> None:
    task = small_task(tmp_path / "c")
    run = Run("mine", [("q1", ["p1", "p2"], [2, 1])])

    def refused(texts: dict[str, str], **changes: str) -> str:
        other = small(tmp_path / f"r{len(list(tmp_path.iterdir()))}", texts, **changes)
        with pytest.raises(InputError) as caught:
            verdict_on(task, run, [RotatedRun(other, run)])
        return str(caught.value)

    fine = {"p1": "Two left the gold. Three stayed. One came here. ", "p2": "At all. Nothing here."}
    assert "1 of 1 passages with answers that are not, the first 'p1'" in refused(
        {**fine, "p1": TEXT.replace("Two", "Ten")}
    )
    assert "found the same texts" in refused({"p1": TEXT, "p2": "Nothing here. At all."})
    assert "the number of its passages is not as in" in refused({"p1": fine["p1"]})
    assert "query 'q1'" in refused(fine, question="who came?")
    assert "split 'test'" in refused(fine, split="dev")


def test_a_run_alone_cannot_tell(task: Task) -> None:
    alone = System("mine", run=run_of(front_lover, task, task.collection))
    found = verdict_of(audit(task, [alone], SETTINGS))
    assert (found.preference, found.queries, list(found.effects)) == (Preference.UNKNOWN, 0, [])
    said = said_of(found)
    assert said[0].startswith("mine: cannot tell from one run")
    assert "posbias audit COLLECTION RUN --rotated COLLECTION2 RUN2" in said[1]


def test_passages_of_one_sentence_cannot_tell_and_say_what_would(tmp_path: Path) -> None:
    collection = small(tmp_path / "c", {"p1": "all the gold is here", "p2": "none"})
    task = make_task(collection, "test", Run("first", [("q1", ["p1"], [1])]), SETTINGS)
    turned = small(tmp_path / "r", {"p1": "gold is here all the ", "p2": "none"})
    run, other = (Run("mine", [("q1", ["p1"], [score])]) for score in (1, 2))
    found = verdict_on(task, run, [RotatedRun(turned, other)])
    assert found.preference == Preference.UNKNOWN
    assert "--mode sentences" in said_of(found)[1]


def with_other_passages(run: Run, task: Task, seed: int) -> Run:
    """The run with drawn passages in place of all but those with the evidence."""
    rng, ids = np.random.default_rng(seed), task.collection.passage_ids()

    def exchanged(query_id: str) -> list[str]:
        own = task.evidence.by_query[query_id].passage_id
        drawn = (name for name in rng.permutation(ids).tolist() if name != own)
        return [name if name == own else next(drawn) for name in run[query_id].passage_ids]

    return Run(run.name, ((name, exchanged(name), run[name].scores) for name in run))


@pytest.mark.parametrize("scorer", [blind, front_lover])
def test_unlike_runs_have_no_verdict(scorer: Scorer, task: Task, rotated: list[Collection]) -> None:
    runs = [run_of(scorer, task, one) for one in (task.collection, *rotated)]
    others = [with_other_passages(run, task, number) for number, run in enumerate(runs)]
    found, other = (
        verdict_on(
            task,
            original,
            [RotatedRun(*pair) for pair in zip(rotated, changed, strict=True)],
            margin=0.1,
        )
        for original, *changed in (runs, others)
    )
    assert found.preference is (Preference.NONE if scorer is blind else Preference.FRONT)
    assert (other.preference, other.effects) == (Preference.UNKNOWN, ())
    assert "make sure that one system made both" in said_of(other)[0]


def test_the_share_beyond_chance_by_hand() -> None:
    ids = [f"c{number:02d}" for number in range(20)]
    run = Run("mine", [("q", ids, -np.arange(20))])
    turned = Run("mine", [("q", [*ids[10:], *ids[:10]], -np.arange(20))])
    half = Run("mine", [("q", [*ids[5:15], *ids[:5], *ids[15:]], -np.arange(20))])
    # by chance half of the first ten of twenty passages
    assert (_shared(run, run), _shared(run, turned), _shared(run, half)) == (1, -1, 0)


def test_a_run_that_lacks_queries_of_the_other_is_refused(
    task: Task, rotated: list[Collection]
) -> None:
    whole, turned = run_of(blind, task, task.collection), run_of(blind, task, rotated[0])
    lacking = task.query_ids[3:5]
    rest = [query_id for query_id in task.query_ids if query_id not in lacking]
    for pair in ((whole, turned.only(rest, "user")), (whole.only(rest, "user"), turned)):
        with pytest.raises(InputError) as caught:
            verdict_on(task, pair[0], [RotatedRun(rotated[0], pair[1])])
        assert f"found 2 that only one of them ranks, the first '{lacking[0]}'" in str(caught.value)
        assert "\n" not in str(caught.value)
    # what neither ranks is no difference between them
    pairs = [RotatedRun(rotated[0], turned.only(rest, "user"))]
    assert verdict_on(task, whole.only(rest, "user"), pairs).queries


def test_two_runs_that_are_one_say_so(
    task: Task, rotated: list[Collection], capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(front_lover, task, task.collection)
    # one of two rotated runs is another
    other = run_of(front_lover, task, rotated[1])
    verdict_on(task, run, [RotatedRun(rotated[0], run), RotatedRun(rotated[1], other)])
    assert not capsys.readouterr().err
    assert verdict_on(task, run, [RotatedRun(rotated[0], run)]).effects[0].value == 0
    assert "both runs are the same, scores included" in " ".join(capsys.readouterr().err.split())
