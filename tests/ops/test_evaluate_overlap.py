"""``evaluate --leaked`` with the folder of ``leakage overlap``: which queries count as leaked by
text or passage.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.outcome import Measurements
from positionbias.core.run import Run
from positionbias.evaluation.settings import Measuring
from positionbias.overlap.find import leaked_of

from ..overlap.small import TEST, TEST_PASSAGES, both, collection, searched

# both rank the relevant passage of t2 and t3 first; "one" knows x, "two" has it second
RUNS = [
    Run({"t1": {"x": 2.0, "y": 1.0}, "t2": {"y": 1.0}, "t3": {"z": 1.0}}, name="one"),
    Run({"t1": {"y": 2.0, "x": 1.0}, "t2": {"y": 1.0}, "t3": {"z": 1.0}}, name="two"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both(tmp_path)
    searched(tmp_path)
    return tmp_path


def measured(folder: Path, unit: str | None = None) -> Measurements:
    return positionbias.evaluate(
        RUNS,
        collection=Collection(folder / "bench"),
        measuring=Measuring(measures=["RR@10"]),
        leaked=folder / "overlap",
        unit=unit,
    )


def means(found: Measurements) -> dict[tuple[str, str], tuple[int, float]]:
    """The number of queries and their mean, by run and by whether they leak."""
    assert found.rows is not None
    rows = found.rows.query("statistic == 'mean' and subset != ''")
    return {(row.model, row.subset): (row.count, row.value) for row in rows.itertuples(name="Mean")}


@pytest.mark.parametrize(
    ("unit", "leaked"),
    [(None, {"t1", "t3"}), ("queries", {"t1", "t3"}), ("passages", {"t1"})],
)
def test_a_query_leaks_by_its_text_or_its_passage(
    folder: Path, unit: str | None, leaked: set[str]
) -> None:
    bench = Collection(folder / "bench")
    found, files = leaked_of(folder / "overlap", unit, bench.qrels("test"), bench.checksum, "test")
    assert found == leaked  # t2 judges x too, but of grade 0
    assert [file.name for file in files] == [f"bench.{unit or 'queries'}.jsonl"]
    # the same from the file itself
    again, _ = leaked_of(files[0], unit or "queries", bench.qrels("test"), "", "test")
    assert again == leaked


def test_the_difference_is_that_of_the_queries_that_leak(folder: Path) -> None:
    by_passage = means(measured(folder, unit="passages"))
    assert by_passage["one", "leaked queries"] == (1, 1.0)
    assert by_passage["one", "clean queries"] == (2, 1.0)
    assert by_passage["two", "leaked queries"] == (1, 0.5)
    assert by_passage["two", "clean queries"] == (2, 1.0)
    assert means(measured(folder))["two", "leaked queries"] == (2, 0.75)


def test_nothing_leaks_is_no_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (queries, _) = TEST["test"]
    # only t2
    other = collection(
        folder / "other", TEST_PASSAGES[1:], {"test": (queries[1:2], TEST["test"][1][1:2])}
    )
    positionbias.overlap_leakage(
        [f"train={folder / 'train'}"], tests=[f"other={other.path}"], out=folder / "none"
    )
    found = positionbias.evaluate(
        [Run({"t2": {"y": 1.0}}, name="one")],
        collection=other,
        measuring=Measuring(measures=["RR@10"]),
        leaked=folder / "none",
    )
    assert (
        "--leaked: no judged query leaks by queries: there is nothing to measure apart"
        in capsys.readouterr().err
    )
    assert means(found) == {}


def test_the_test_set_is_found_among_several(folder: Path) -> None:
    collection(
        folder / "other", TEST_PASSAGES[1:], {"test": (TEST["test"][0][1:], TEST["test"][1][1:3])}
    )
    named = (
        [f"train={folder / 'train'}"],
        [f"other={folder / 'other'}", f"bench={folder / 'bench'}"],
    )
    positionbias.overlap_leakage(named[0], tests=named[1], out=folder / "several")
    bench = Collection(folder / "bench")
    found, (file,) = leaked_of(
        folder / "several", "passages", bench.qrels("test"), bench.checksum, "test"
    )
    assert (found, file.name) == ({"t1"}, "bench.passages.jsonl")
    with pytest.raises(InputError, match="wanted one test set that is split 'test' of the coll"):
        leaked_of(folder / "several", "passages", bench.qrels("test"), "", "test")


def test_another_split_of_the_collection_is_not_taken_for_this_one(folder: Path) -> None:
    bench = collection(folder / "two", TEST_PASSAGES, {"a": TEST["test"], "b": TEST["test"]})
    positionbias.overlap_leakage(
        [f"train={folder / 'train'}"], tests=[f"two={folder / 'two'}:a"], out=folder / "of_a"
    )
    with pytest.raises(InputError, match="wanted one test set that is split 'b'"):
        leaked_of(folder / "of_a", None, bench.qrels("b"), bench.checksum, "b")


def test_what_does_not_go_together(folder: Path) -> None:
    with pytest.raises(SettingError, match="--unit: wanted --leaked beside it; found none"):
        positionbias.evaluate(RUNS, collection=folder / "bench", unit="passages")
