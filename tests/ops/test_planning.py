"""Plans from Python: which numbers they have, where these come from, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import positionbias
from positionbias.core.errors import InputError, PositionBiasError, SettingError
from positionbias.ops.outcome import Measurements
from positionbias.planning.settings import Machines, PlannedWork, RateSource
from positionbias.results.plans import PlannedAmount
from positionbias.results.result import load_results
from positionbias.settings import Computing, Reranking
from tests.dense.conftest import saved_dot

BILLION, GPUS = PlannedWork(passages=1e9), Machines(gpus=64)


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    return Path(saved_dot(tmp_path / "dot").path)


def lines(found: Measurements) -> Mapping[str, PlannedAmount]:
    rows: Mapping[str, PlannedAmount] = found.results[0].payload.rows  # type: ignore[union-attr]
    return rows


def test_a_billion_passages_at_a_given_rate(dot: Path, tmp_path: Path) -> None:
    """122,071 shards over 64 GPUs are 1,908 rounds of 8,192 passages at 20,000 a second; a vector of 16 numbers and an id take 46 bytes."""
    found = positionbias.plan(
        "encode", model=dot, work=BILLION, machines=GPUS, source=RateSource(rate=20_000), out=tmp_path / "plan"
    )
    rows = lines(found)
    written = rows["the longest worker"].value
    assert written is not None
    assert 1_908 * 8_192 / 20_000 <= written < 2 * 1_908 * 8_192 / 20_000
    assert (rows["blocks"].value, rows["machines"].value, rows["workers"].value) == (122_071, 8, 64)
    assert rows["disk: what is written"].value == 1e9 * (16 * 2 + 4 + 10)
    assert rows["passages a second and GPU"] == PlannedAmount(pytest.approx(20_000), "/s", "given", "--rate")  # type: ignore[arg-type]
    assert rows["machines"].origin == "assumed"
    assert rows["memory of a GPU"].origin == "cannot tell"
    assert load_results(tmp_path / "plan") == list(found.results)
    assert "1,000,000,000" in str(found)


def test_a_cpu_says_nothing_about_gpus(dot: Path, small_collection: positionbias.Collection, tmp_path: Path) -> None:
    alone = positionbias.plan("encode", model=dot, work=BILLION, machines=GPUS, computing=Computing(device="cpu"))
    positionbias.encode(small_collection, model=dot, out=tmp_path / "vectors")
    source = RateSource(measured=tmp_path / "vectors")
    measured = positionbias.plan("encode", work=BILLION, machines=GPUS, source=source)
    for found, why in ((alone, "no GPU here to measure"), (measured, "measured on a CPU (vectors of ")):
        time, rate = (lines(found)[name] for name in ("time", "passages a second and GPU"))
        assert (found.results[0].value, time.value, time.origin, rate.origin) == (None, None, "cannot tell", "cannot tell")
        assert rate.note.startswith(why)
        assert "give --rate" in rate.note
        assert lines(found)["disk: what is written"].value == 46e9
        assert "–" in str(found)


def test_the_rate_of_an_earlier_artefact(dot: Path, small_collection: positionbias.Collection, tmp_path: Path) -> None:
    vectors = positionbias.encode(small_collection, model=dot, out=tmp_path / "vectors")
    computed: Any = vectors.manifest.provenance["computed"]
    assert (computed["passages"], computed["device"], computed["workers"]) == (7, "cpu", 1)
    found = lines(positionbias.plan("encode", work=PlannedWork(passages=70), source=RateSource(measured=vectors.path)))
    rate = found["passages a second and machine"]
    assert rate.value == pytest.approx(7 / computed["spent"]["seconds"])
    assert rate.origin == "measured"
    assert found["start of a worker"].origin == "assumed"
    assert found["memory of a worker"].value == computed["spent"]["memory"]
    with_texts = positionbias.plan(
        "encode", model=dot, source=RateSource(measured=vectors.path, collection=small_collection.path)
    )
    assert with_texts.results[0].count == 7
    assert lines(with_texts)["disk: collection"].origin == lines(with_texts)["start of a worker"].origin == "measured"
    assert {item.role for item in with_texts.read} == {"collection", "model", "vectors"}


def test_re_ranking_by_a_run_and_by_the_model(dot: Path, small_collection: positionbias.Collection, tmp_path: Path) -> None:
    positionbias.retrieve(small_collection, out=tmp_path / "bm25.run")
    run = tmp_path / "dot.run"
    positionbias.rerank(small_collection, model=dot, candidates=tmp_path / "bm25.run", reranking=Reranking("test"), out=run)
    work = PlannedWork(passages=7, queries=3, depth=5)
    by_run = lines(positionbias.plan("rerank", work=work, source=RateSource(measured=run)))
    assert by_run["passages encoded a second and machine"].origin == "measured"
    timed = lines(positionbias.plan("rerank", model=dot, work=work, source=RateSource(seconds=0.01)))
    assert (timed["pairs"].value, timed["blocks"].value) == (15, 1)
    assert timed["encodings"].value == pytest.approx(7 * (1 - 2.718281828 ** (-15 / 7)))


def test_a_search_holds_the_order_of_ids(dot: Path) -> None:
    work = PlannedWork(passages=1e9, queries=6_980, depth=100)
    found = lines(positionbias.plan("retrieve", model=dot, work=work, machines=GPUS, source=RateSource(rate=1e9)))
    assert found["memory of the command, beside that"].value == 28e9
    assert found["disk: vectors"].value == 32e9
    assert found["the longest worker"].value == pytest.approx(6_980 * 8_192 * 1_908 / 1e9, rel=1e-3)


@pytest.mark.parametrize(
    ("step", "given", "message"),
    [
        ("encode", {"model": None}, "--model: wanted the model of the step, or --measured; found none; give it"),
        ("retrieve", {"model": None}, "--model: wanted the model of the step; found none"),
        ("encode", {"work": PlannedWork()}, "--passages: wanted a number of passages, or --collection; found neither"),
        ("encode", {"work": PlannedWork(passages=9, queries=3)}, "--queries: wanted none with encode; found 3; leave it out"),
        ("rerank", {}, "--queries: wanted a number of queries; found none; give it"),
        ("train", {}, "wanted one of encode, rerank, teach, retrieve; found 'train'"),
    ],
)
def test_what_does_not_fit_is_refused(dot: Path, step: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(PositionBiasError) as error:
        positionbias.plan(step, **{"model": dot, "work": PlannedWork(passages=9), **given})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(SettingError, match="--workers: wanted none beside --gpus"):
        Machines(gpus=2, workers=2)
    with pytest.raises(SettingError, match="--rate: wanted none beside --measured, which has one; found both; give one"):
        RateSource(rate=3, measured="vectors")
    with pytest.raises(SettingError, match="--passages: wanted a number from 1; found 0.5"):
        PlannedWork(passages=0.5)


def test_vectors_of_another_model_are_refused(dot: Path, small_collection: positionbias.Collection, tmp_path: Path) -> None:
    positionbias.encode(small_collection, model=dot, out=tmp_path / "vectors")
    other = saved_dot(tmp_path / "other", seed=2).path
    with pytest.raises(InputError, match="wanted an artefact by the model other .*found one by dot .*give that --model"):
        positionbias.plan("encode", model=other, work=BILLION, source=RateSource(measured=tmp_path / "vectors"))
