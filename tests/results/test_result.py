"""Results: what is saved is read back as it was; what is no number becomes null."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.interval import Interval
from positionbias.core.manifest import Manifest
from positionbias.ops.outcome import Measurements, json_of
from positionbias.results.curves import MovesFigures
from positionbias.results.figures import Figures
from positionbias.results.payloads import (
    KINDS,
    Payload,
    PerQuery,
    PlaceHistogram,
    SentenceMoves,
)
from positionbias.results.result import Facts, Result, load_results, save_results
from positionbias.results.runs import CANDIDATES, BM25Figures
from tests.sealing import reseal

MANIFEST = Manifest(kind="results", name="r", command="a test")
PAYLOADS: list[Payload] = [
    BM25Figures(queries=3, candidates=30, depth=10, without_known_term=0, index="built"),
    PerQuery(["q1", "q2"], [0.0, 0.25], {"without candidates": 1}, ["passage p", "passage p"]),
    PlaceHistogram([0.0, 0.5, 1.0], [0.9, 0.1], [8, 2], [5, 5], 1.1, 1, 0.29),
    SentenceMoves([2, 1], [1.5, 1.5], [0.75, 1.5], MovesFigures(mean_distance=0.5)),
]


def result(payload: Payload, **changes: Any) -> Result:
    header: dict[str, Any] = {
        "measure": CANDIDATES if isinstance(payload, Figures) else "nDCG@10",
        "collection": "planted",
        "split": "test",
        "system": "tk",
        "seed": 1,
        "value": 0.125,
        "interval": Interval(0.1, 0.15, 0.95, "bootstrap over 2 queries"),
        "count": 2,
    }
    return Result(**{**header, **changes}, payload=payload)


def test_there_is_a_sample_of_every_kind() -> None:
    assert {result(payload).kind for payload in PAYLOADS} == {"statistics", *KINDS}


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: type(payload).__name__)
def test_every_kind_goes_round(tmp_path: Path, payload: Payload) -> None:
    given = [result(payload), result(payload, value=None, interval=None, seed=None)]
    save_results(tmp_path / "r", given, MANIFEST)
    assert load_results(tmp_path / "r") == given
    assert [Result.from_json(json.loads(json.dumps(item.to_json()))) for item in given] == given


def test_json_without_values_by_query_is_read_back(tmp_path: Path) -> None:
    given = result(next(payload for payload in PAYLOADS if isinstance(payload, PerQuery)))
    measured = Measurements([given], command="a test", settings={}, read=())
    (record,) = json_of(measured)["results"]
    assert "q1" not in json.dumps(record)
    read = Result.from_json(record)
    assert read.to_json() == record
    assert dataclasses.replace(read, payload=given.payload) == given
    save_results(tmp_path / "r", [read], MANIFEST)
    assert load_results(tmp_path / "r") == [read]
    assert json_of(measured, per_query=True)["results"] == [given.to_json()]


def test_the_header_is_the_promised_one() -> None:
    record = result(PAYLOADS[0]).to_json()
    assert list(record) == [
        "measure", "collection", "split", "system", "seed", "value", "interval", "count", "payload",
        "facts", "kind",
    ]  # fmt: skip
    assert record["kind"] == "statistics"
    assert record["interval"] == {
        "low": 0.1,
        "high": 0.15,
        "level": 0.95,
        "method": "bootstrap over 2 queries",
    }


def test_facts_go_round_without_what_does_not_apply(tmp_path: Path) -> None:
    given = result(
        PAYLOADS[0],
        facts=Facts(model="tk", training="rotated", test="original", rotation=0, seed=3),
    )
    assert given.to_json()["facts"] == {
        "model": "tk",
        "training": "rotated",
        "test": "original",
        "rotation": 0,
        "seed": 3,
    }
    assert result(PAYLOADS[0]).to_json()["facts"] == {}
    save_results(tmp_path / "r", [given], MANIFEST)
    assert load_results(tmp_path / "r") == [given]


def test_which_passages_were_read_has_two_names() -> None:
    with pytest.raises(
        ValueError, match="test: wanted one of original, rotated or nothing; found 'debiased'"
    ):
        Facts(test="debiased")


def test_what_is_no_number_becomes_null_and_numpy_becomes_plain(tmp_path: Path) -> None:
    payload = PlaceHistogram(
        edges=np.arange(3), wanted=np.array([1.0, math.inf]), reached=(np.int64(3), 4)
    )
    given = result(payload, value=float("nan"), interval=Interval(float("-inf"), 1.0))
    record = given.to_json()
    assert record["value"] is None
    assert record["interval"]["low"] is None
    assert (record["payload"]["wanted"], record["payload"]["reached"]) == ([1.0, None], [3, 4])
    json.dumps(record, allow_nan=False)


def test_per_query_values_stand_beside_the_json(tmp_path: Path) -> None:
    given = [result(PAYLOADS[0]), result(PerQuery(["q1", "q2"], [0.1, float("nan")]))]
    save_results(tmp_path / "r", given, MANIFEST)
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        "items-001.parquet",
        "manifest.json",
        "results.json",
    ]
    assert "q1" not in (tmp_path / "r" / "results.json").read_text()
    payload = load_results(tmp_path / "r")[1].payload
    assert isinstance(payload, PerQuery)
    assert payload.query_ids == ["q1", "q2"]
    assert payload.values[0] == 0.1
    assert math.isnan(payload.values[1])


@pytest.mark.parametrize(
    "breakage",
    [
        "no folder",
        "no results",
        "no kind",
        "unknown kind",
        "new field",
        "unknown fact",
        "no items",
        "a list",
    ],
)
def test_a_folder_that_holds_no_results_is_one_line(tmp_path: Path, breakage: str) -> None:
    folder = tmp_path / "r"
    if breakage != "no folder":
        save_results(folder, [result(PerQuery(["q1"], [0.5]))], MANIFEST)
        path = folder / "results.json"
        document = json.loads(path.read_text())
        record = document["results"][0]
        if breakage == "no results":
            path.unlink()
        elif breakage == "no kind":
            del record["kind"]
        elif breakage == "unknown kind":
            record["kind"] = "horoscope"
        elif breakage == "new field":
            record["payload"]["colour"] = "green"
        elif breakage == "unknown fact":
            record["facts"]["training"] = "upside down"
        elif breakage == "no items":
            (folder / record["items"]).unlink()
        else:
            document = [1]
        if breakage != "no results":
            path.write_text(json.dumps(document))
        reseal(folder)
    with pytest.raises(
        InputError, match=r"wanted (a folder of results|results of this version); found"
    ):
        load_results(folder)


def test_results_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result(PAYLOADS[0]).value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("measure",), 7),
        (("collection",), ["a"]),
        (("system",), 1e308),
        (("system",), "\ud800"),
        (("seed",), "one"),
        (("value",), "high"),
        (("value",), {}),
        (("count",), "9"),
        (("count",), True),
        (("interval", "low"), []),
        (("interval", "method"), 3),
        (("payload", "notes"), []),
        (("payload", "notes"), 0),
        (("facts",), 3),
        (("facts", "seed"), "x"),
        (("kind",), "other"),
        (("kind",), []),
    ],
)
def test_a_field_of_another_type_is_one_clear_line(
    tmp_path: Path, where: tuple[str, ...], value: object
) -> None:
    payload = PerQuery(["a", "b"], [0.4, 0.6], {"n": 1})
    given = Result("m", "c", "test", "s", 1, 0.5, Interval(0.4, 0.6), 2, payload, Facts(seed=3))
    save_results(tmp_path / "r", [given], MANIFEST)
    document = json.loads((tmp_path / "r" / "results.json").read_text())
    place = document["results"][0]
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value
    (tmp_path / "r" / "results.json").write_text(json.dumps(document))
    reseal(tmp_path / "r")
    with pytest.raises(
        InputError,
        match="wanted results of this version; found .*; run the measuring command again",
    ):
        load_results(tmp_path / "r")
