"""The audit on a planted collection: scorers of a known preference get the verdict they deserve, and order changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.audit import audit, make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.payloads import Examples, Finding, PositionBuckets, ResponseCurve, Statistics
from positionbias.core.result import Result
from positionbias.core.run import Run
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.measures import per_query
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.checkpoint import load_checkpoint
from positionbias.planted.generator import PlantedSettings
from tests.audit.scorers import blind
from tests.tiny import planted, saved_tk, tiny_encoder

SETTINGS = AuditSettings(
    measures=("nDCG@10", "RR@10"),
    buckets=(Buckets.relative(4),),
    minimum=5,
    permutations=200,
    draws=2,
    needles=60,
    segments=20,
    examples=3,
    depth=8,
    length_groups=2,
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(queries=240, passages=500, test_share=0.6, validation_share=0.1, front_loading=0.3)
    return planted(tmp_path_factory.mktemp("audit") / "planted", settings)


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return make_task(collection, "test", retrieve(collection, collection.queries("test"), 8, Bm25Settings()), SETTINGS)


def system(name: str) -> System:
    return System.of(load_checkpoint(f"tests.audit.scorers:{name}"), name)


def one(results: Iterable[Result], measure: str, name: str) -> Result:
    return next(result for result in results if result.measure == measure and result.system == name)


@pytest.fixture(scope="module")
def results(task: Task) -> list[Result]:
    first = System("bm25", run=task.candidates, first_stage=True)
    return audit(task, [first, system("blind"), system("front_lover"), system("end_lover")], SETTINGS)


def test_each_preference_is_named_by_its_side(results: list[Result]) -> None:
    said = [result.payload.text for result in results if isinstance(result.payload, Finding)]
    for name, side, when in (("front_lover", "front", "early"), ("end_lover", "end", "late")):
        assert any(
            line.startswith(f"{name}, with the answering sentence moved through its passage: prefers the {side}")
            for line in said
        )
        assert any(line.startswith(f"{name}, by where answers sit: does better where answers stand {when}") for line in said)
        assert any(f"over bm25 by where answers sit: helps more where answers stand {when}" in line for line in said)
    of_blind = [line for line in said if line.startswith("blind")]
    assert len(of_blind) == 4
    assert not any("prefers" in line or "helps more" in line for line in of_blind)
    assert not any(line.startswith("bm25") for line in said)


def test_slopes_have_the_sign_of_the_preference_and_the_blind_response_is_flat(results: list[Result]) -> None:
    response = {name: one(results, "position response", name) for name in ("blind", "front_lover", "end_lover")}
    assert response["blind"].value == pytest.approx(0, abs=1e-9)
    assert response["front_lover"].value is not None
    assert response["front_lover"].value < -0.5
    assert response["end_lover"].value is not None
    assert response["end_lover"].value > 0.5
    curve = response["front_lover"].payload
    assert isinstance(curve, ResponseCurve)
    assert curve.scores[0] is not None
    assert curve.scores[-1] is not None
    assert curve.scores[0] > curve.scores[-1]
    assert one(results, "rotation gap", "blind").value == pytest.approx(0, abs=0.01)  # words broken at the seam at most


def test_the_gap_is_the_mean_of_what_another_evaluation_finds(
    collection: Collection, task: Task, results: list[Result]
) -> None:
    """Every draw ranked and measured again by hand, from texts rotated one by one."""
    scorer = system("front_lover")
    assert scorer.model is not None
    queries = {query.query_id: query.text for query in collection.queries("test")}
    means = []
    for rotation in (None, *SETTINGS.rotations()):
        rankings = []
        for query_id in task.candidates:
            ids = task.candidates[query_id].passage_ids
            texts = collection.texts(ids)
            if rotation is not None:
                texts = [rotation.apply(text, passage_id) for text, passage_id in zip(texts, ids, strict=True)]
            rankings.append((query_id, ids, np.array(scorer.model.score(queries[query_id], texts))))  # type: ignore[union-attr]
        values = per_query(Run("again", rankings), collection.qrels("test"), ["nDCG@10"], query_ids=task.query_ids)["nDCG@10"]
        means.append(np.mean(list(values.values())))
    gap = one(results, "rotation gap", "front_lover")
    assert gap.value == pytest.approx(np.mean(means[1:]) - means[0], abs=1e-9)
    rows = gap.payload
    assert isinstance(rows, Statistics)
    assert rows.rows["mean original"] == pytest.approx(means[0], abs=1e-9)


def test_examples_lost_by_rotation_and_mark_the_answer(collection: Collection, results: list[Result]) -> None:
    shown = one(results, "examples", "front_lover").payload
    assert isinstance(shown, Examples)
    assert 0 < len(shown.examples) <= SETTINGS.examples
    texts = {answer.query_id: answer.text for answer in collection.answers("test")}
    for example in shown.examples:
        assert example.after < example.before
        for text, spans in ((example.original, example.original_spans), (example.rotated, example.rotated_spans)):
            for start, end in spans:
                assert text[start:end] == texts[example.query_id]


def test_a_run_of_the_same_ranking_has_the_same_buckets_as_the_model(task: Task, results: list[Result]) -> None:
    ranked = system("front_lover").ranked(task)
    again = audit(task, [System("a run", run=ranked)], SETTINGS)
    assert {result.measure for result in again} == {"evidence", "PSI", "verdict"}
    by_model = [result for result in results if result.measure == "PSI" and result.system == "front_lover"]
    by_run = [result for result in again if result.measure == "PSI"]
    for model, run in zip(by_model, by_run, strict=True):
        assert isinstance(model.payload, PositionBuckets)
        assert isinstance(run.payload, PositionBuckets)
        assert (model.value, model.payload.means, model.payload.lows) == (run.value, run.payload.means, run.payload.lows)


def test_order_of_queries_candidates_and_judgements_changes_nothing(
    collection: Collection, task: Task, results: list[Result]
) -> None:
    backwards = Run(
        task.candidates.name,
        [
            (query_id, task.candidates[query_id].passage_ids[::-1], task.candidates[query_id].scores[::-1])
            for query_id in reversed(list(task.candidates))
        ],
    )
    again = audit(make_task(collection, "test", backwards, SETTINGS), [system("front_lover")], SETTINGS)
    for measure in ("PSI", "rotation gap", "position response", "rotation gap by movement"):
        before, after = one(results, measure, "front_lover"), one(again, measure, "front_lover")
        assert after.value == pytest.approx(before.value, abs=1e-12)


def test_encoders_have_thirds_and_layers_and_the_batch_size_changes_nothing(collection: Collection, tmp_path: Path) -> None:
    from positionbias.core.manifest import Manifest
    from positionbias.models.bert_dot import BertDot, BertDotConfig
    from positionbias.models.checkpoint import save_checkpoint
    from positionbias.models.encoder import open_encoder
    from positionbias.ranking.config import RankingConfig

    model = BertDot(BertDotConfig(passage_length=128), open_encoder(tiny_encoder(tmp_path / "encoder"))).eval()
    save_checkpoint(
        tmp_path / "dot.ckpt",
        model,
        depth=None,
        training={},
        manifest=Manifest(kind="checkpoint", name="dot", command="a test"),
    )
    settings = AuditSettings(
        measures=("nDCG@10",), buckets=(Buckets.relative(2),), minimum=3, permutations=100, draws=1, needles=5, segments=6,
        probe=20, layers=(0, 2), depth=3, examples=0,
    )  # fmt: skip
    run = retrieve(collection, collection.queries("test"), 3, Bm25Settings())
    found = []
    for tokens in (64, 4_096):
        task = make_task(collection, "test", run, settings, queries=20, config=RankingConfig(batch_tokens=tokens))
        found.append(audit(task, [System.of(load_checkpoint(tmp_path / "dot.ckpt"))], settings))
    thirds = one(found[0], "segment similarity", "dot").payload
    assert isinstance(thirds, PositionBuckets)
    assert thirds.counts == [6, 6, 6]
    assert all(mean is not None and -1 <= mean <= 1 for mean in thirds.means)
    assert [result.system for result in found[0] if result.measure == "MATS"] == ["dot layer 0", "dot layer 2"]
    for small, large in zip(*found, strict=True):
        assert (small.measure, small.system) == (large.measure, large.system)
        if small.value is not None:
            assert large.value == pytest.approx(small.value, abs=1e-4)


def test_the_truncated_share_is_that_of_answers_beyond_what_the_model_reads(collection: Collection, tmp_path: Path) -> None:
    checkpoint = load_checkpoint(saved_tk(tmp_path / "tk.ckpt", collection))
    run = retrieve(collection, collection.queries("test"), 3, Bm25Settings())
    settings = AuditSettings(buckets=(Buckets.relative(2),), draws=1, needles=0, examples=0, depth=3, permutations=100)
    task = make_task(collection, "test", run, settings)
    gap = one(audit(task, [System.of(checkpoint)], settings), "rotation gap", "tk").payload
    assert isinstance(gap, Statistics)
    assert gap.rows["answers truncated"] == 0  # planted passages are shorter than the 200 words that TK reads


@pytest.mark.parametrize("name", ["broken", "short"])
def test_a_scorer_that_gives_no_scores_is_one_line_that_names_the_query(task: Task, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}.* query ") as caught:
        audit(task, [system(name)], SETTINGS)
    assert "\n" not in str(caught.value)


def test_a_run_of_other_queries_and_two_of_one_name_are_refused(task: Task) -> None:
    with pytest.raises(InputError, match="wanted rankings of at least one of"):
        audit(task, [System("other", run=Run("other", [("nobody", ["p1"], [1.0])]))], SETTINGS)
    with pytest.raises(InputError, match="two systems are called 'blind'"):
        audit(task, [system("blind"), system("blind")], SETTINGS)


def test_one_query_alone_is_measured_as_far_as_it_goes(collection: Collection) -> None:
    run = retrieve(collection, collection.queries("test"), 8, Bm25Settings())
    task = make_task(collection, "test", run, SETTINGS, queries=1)
    found = audit(task, [system("blind")], SETTINGS)
    psi = one(found, "PSI", "blind")
    assert psi.value is None
    assert isinstance(psi.payload, PositionBuckets)
    assert psi.payload.figures["psi_undefined"]
    assert one(found, "rotation gap", "blind").interval is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measures": ()}, "-m: wanted at least one measure"),
        ({"draws": -1}, "--draws: wanted 0 or more"),
        ({"depth": 0}, "--depth: wanted 1 or more"),
        ({"buckets": ()}, "--buckets: wanted at least one"),
    ],
    ids=["no measure", "draws", "depth", "no buckets"],
)
def test_settings_out_of_range_name_their_flag(changes: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        AuditSettings(**changes)


def test_the_blind_scorer_used_here_is_blind() -> None:
    assert blind("what is oil?", ["oil is here", "here is oil"]) == [2.0, 2.0]
