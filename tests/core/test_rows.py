"""Rows have one set of columns, read back equal, and refuse what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest
from pandas.testing import assert_frame_equal

from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Interval
from positionbias.core.rows import (
    COLUMNS,
    Collected,
    check,
    frame,
    load,
    load_values,
    read_csv,
    records,
    save,
    write_csv,
)

MANIFEST = Manifest(kind="results", name="rows", command="evaluate")
RECORDS: list[dict[str, Any]] = [
    {"model": "bm25", "measure": "nDCG@10", "value": 0.1 + 0.2, "low": 0.1, "high": 0.5},
    {"model": "tk", "seed": 1, "finished": False, "measure": "nDCG@10", "pool": "neural"},
    {"model": "tk", "measure": "+1 rank", "label": 'a, "b"\n=c', "at": 0.5, "count": 7},
]


def rows() -> pandas.DataFrame:
    return frame(RECORDS, ["pool"])


def test_partial_records_become_a_complete_frame() -> None:
    made = rows()
    assert len(COLUMNS) == 42
    assert list(made)[:3] == ["row", "study", "collection"]
    assert list(made)[13:16] == ["test", "pool", "seed"]
    assert made.shape == (3, 43)
    assert made["row"].tolist() == [0, 1, 2]
    assert made["seed"].tolist() == [-1, 1, -1]
    assert made["finished"].tolist() == [True, False, True]
    assert made["pool"].tolist() == ["", "neural", ""]
    assert made["value"].isna().tolist() == [False, True, True]
    types = made.dtypes[["row", "at", "finished"]].astype(str)
    assert types.tolist() == ["int32", "float64", "bool"]
    assert frame([]).shape == (0, 42)


def test_rows_are_collected_with_their_values_and_become_json() -> None:
    made = Collected({"model": "tk"}, ["pool"])
    made.add("RR", "mean", 0.5, Interval(0.25, 0.75), items={"q1": 0.0, "q2": 1.0}, pool="old")
    made.add("RR", "rank", -1, count=None)
    made.add("RR", "slope", None, reason="one query")
    made.add("RR", "again", 2, items={"q1": 2})
    row = {"model": "tk", "measure": "RR"}
    assert records(made.rows) == [
        {"row": 0, **row, "pool": "old", "statistic": "mean", "value": 0.5, "low": 0.25,
         "high": 0.75, "level": 0.95},
        {"row": 1, **row, "statistic": "rank", "value": -1.0},
        {"row": 2, **row, "statistic": "slope", "reason": "one query"},
        {"row": 3, **row, "statistic": "again", "value": 2.0},
    ]  # fmt: skip
    assert made.values[["row", "item", "value"]].to_numpy().tolist() == [
        [0, "q1", 0.0], [0, "q2", 1.0], [3, "q1", 2.0],
    ]  # fmt: skip
    assert Collected().values.empty


def test_rows_read_back_equal(tmp_path: Path) -> None:
    cells = [(0, "q1", "", 1.0), (0, "q2", "", 0.0), (2, "q1", "p", 0.5)]
    values = pandas.DataFrame(cells, columns=["row", "item", "cluster", "value"])
    values = values.astype({"row": "int32"})
    save(tmp_path / "rows", rows(), MANIFEST, values)
    assert_frame_equal(load(tmp_path / "rows"), rows(), check_dtype=False)
    assert_frame_equal(load_values(tmp_path / "rows"), values, check_dtype=False)
    assert read_manifest(tmp_path / "rows").command == "evaluate"
    with pytest.raises(OutputExistsError):
        save(tmp_path / "rows", rows(), MANIFEST)
    save(tmp_path / "empty", frame([]), MANIFEST)
    assert load(tmp_path / "empty").empty


def test_csv_reads_back_equal(tmp_path: Path) -> None:
    write_csv(tmp_path / "rows.csv", rows())
    lines = (tmp_path / "rows.csv").read_text("utf-8").splitlines()
    assert lines[0] == "model,pool,seed,finished,measure,at,label,value,low,high,count"
    assert lines[1] == "bm25,,,,nDCG@10,,,0.30000000000000004,0.1,0.5,"
    assert lines[2] == "tk,neural,1,False,nDCG@10,,,,,,"
    assert_frame_equal(read_csv(tmp_path / "rows.csv"), rows())


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"mesure": "MATS"}, "rows: wanted declared columns; found 'mesure'"),
        ({"value": "0.5"}, "wanted float64 as value; found '0.5' in row 0"),
        ({"value": True}, "wanted float64 as value; found True in row 0"),
        ({"model": 3}, "wanted str as model; found 3 in row 0"),
        ({"count": 0.5}, "wanted int32 as count; found 0.5 in row 0"),
        ({"count": 2**31}, "wanted count below 2³¹; found 2147483648"),
        ({"finished": 1}, "wanted bool as finished; found 1 in row 0"),
        ({"measure": ""}, "wanted a measure; found row=0; fix it"),
        ({"low": 0.2, "high": 0.1}, "wanted low ≤ high; found row=0, measure=RR, low=0.2, high"),
        ({"level": 95.0}, "wanted a level between 0 and 1; found row=0, measure=RR, level=95.0"),
        ({"level": 1.0}, "wanted a level between 0 and 1"),
        ({"p": -0.1}, "wanted p from 0 to 1"),
        ({"p_adjusted": 1.1}, "wanted p_adjusted from 0 to 1"),
    ],
)
def test_wrong_records_are_refused(record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        frame([{"measure": "RR", **record}])


def test_wrong_frames_are_refused() -> None:
    made = rows()
    for wrong, message in (
        (made.drop(columns="axis"), "a column 'axis'; found none"),
        (made.assign(a="", b="", c=""), "at most three keys of a study; found pool, a, b, c"),
        (made.assign(value=1), "float64 as value; found int64"),
        (made.assign(pool=1.5), "str as pool; found float64"),
        (made.assign(pool=None), "no null as pool; found row 0"),
        (made.assign(row=made["row"] // 2), "each row number once; found row=0, model=tk"),
    ):
        with pytest.raises(InputError, match=message):
            check(wrong)
    with pytest.raises(InputError, match="an answer of yes, no; found .*, answer=perhaps"):
        check(frame([{"measure": "RR", "answer": "perhaps"}]), answers=["yes", "no"])
    check(frame([{"measure": "RR", "answer": "yes"}, {"measure": "MATS"}]), answers=["yes", "no"])


def test_the_same_measurement_stands_once() -> None:
    record = {"measure": "share", "axis": "bin", "at": 0.5}
    others: list[dict[str, Any]] = [{"at": 0.6}, {"label": "a"}, {"pool": "b"}]
    frame([record, *({**record, **other} for other in others)], ["pool"])
    for again in ({**record, "value": 0.2}, {"measure": "RR"}):
        with pytest.raises(InputError, match="each measurement once; found row=2"):
            frame([record, {"measure": "RR"}, again])


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows\.parquet"):
        load(tmp_path)
    values = pandas.DataFrame({"row": [9], "item": ["q"], "cluster": [""], "value": [1.0]})
    for wrong, message in (
        (values, "int32 as row; found int64"),
        (values.astype({"row": "int32"}), "values of rows that exist; found row=9"),
        (values.drop(columns="item"), "columns row, item, cluster, value; found row, cluster"),
    ):
        with pytest.raises(InputError, match=message):
            save(tmp_path / "rows", rows(), MANIFEST, wrong)
    assert list(tmp_path.iterdir()) == []
    for text in ("measure,value\nRR,much\n", "measure\nRR,1\n", "measure,finished\nRR,no\n"):
        (tmp_path / "rows.csv").write_text(text, "utf-8")
        with pytest.raises(InputError, match=r"rows\.csv: wanted"):
            read_csv(tmp_path / "rows.csv")
    save(tmp_path / "damaged", rows(), MANIFEST)
    (tmp_path / "damaged" / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"rows\.parquet"):
        load(tmp_path / "damaged")
