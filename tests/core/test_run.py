"""A run: trec_eval's tie rule, strictly decreasing on disk, a round trip, one line for each
malformed one.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.rank_order import order_by_score
from positionbias.core.run import Run
from positionbias.core.run_files import read_rankings, strictly_decreasing

ids = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6)
scores = st.floats(-(2.0**100), 2.0**100, width=32) | st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12])


def test_equal_scores_go_by_id_descending_as_strings() -> None:
    # "9" > "10" as strings; 0.5 stands before both
    assert order_by_score(["10", "9", "1", "2"], np.array([0.25, 0.25, 0.5, 0.25])).tolist() == [
        2,
        1,
        3,
        0,
    ]


def test_strictly_decreasing_takes_the_least_steps() -> None:
    one, below_one = np.float32(1), np.nextafter(np.float32(1), np.float32(0))
    lowered = strictly_decreasing(np.array([2, 1, 1, 1, 0.5]))
    assert lowered.tolist() == [2, one, below_one, np.nextafter(below_one, np.float32(0)), 0.5]
    # a score overtaken by lowered ones is lowered as well
    assert strictly_decreasing(np.array([1, 1, below_one])).tolist() == lowered[1:4].tolist()


@given(
    st.dictionaries(
        ids, st.dictionaries(ids, scores, min_size=1, max_size=8), min_size=1, max_size=4
    ),
    st.sampled_from(["run.trec", "run.trec.gz"]),
)
def test_a_round_trip_keeps_queries_and_ranks(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, dict[str, float]], name: str
) -> None:
    run = Run(
        "sys tem", ((query_id, list(row), list(row.values())) for query_id, row in table.items())
    )
    path = tmp_path_factory.mktemp("run") / name
    run.save(path)
    again = Run.from_file(path)
    assert again.name == "sys_tem"  # a tag is one column
    assert list(again) == list(run)
    for query_id in run:
        assert again[query_id].passage_ids == run[query_id].passage_ids
        assert (np.diff(again[query_id].scores) < 0).all()
    again.save(path.with_name("second"))
    assert (
        Run.from_file(path.with_name("second"))[next(iter(run))].scores.tolist()
        == again[next(iter(run))].scores.tolist()
    )


def test_what_is_written_is_trec_form(tmp_path: Path) -> None:
    Run("bm25", [("q1", ["a", "b", "c"], [0.5, 2.0, 0.5])]).save(tmp_path / "r")
    # 0.5 one float32 step down is 0.49999997; "c" > "a" on the tie
    assert (
        tmp_path / "r"
    ).read_text() == "q1 Q0 b 1 2.0 bm25\nq1 Q0 c 2 0.5 bm25\nq1 Q0 a 3 0.49999997 bm25\n"


def test_trec_eval_sees_our_ranks(tmp_path: Path) -> None:
    import ir_measures
    from ir_measures import RR

    # ten tied passages: trec_eval puts the highest id first, as we do, so RR is 1 / our rank
    tied = Run("tied", [("q", [f"p{n}" for n in range(10)], np.zeros(10))])
    assert tied["q"].passage_ids[:2] == ["p9", "p8"]
    tied.save(tmp_path / "r")
    for relevant, rank in (("p9", 1), ("p7", 3), ("p0", 10)):
        qrels = [ir_measures.Qrel("q", relevant, 1)]
        assert (
            ir_measures.calc_aggregate([RR], qrels, ir_measures.read_trec_run(str(tmp_path / "r")))[
                RR
            ]
            == 1 / rank
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 1.0 x\nq Q0 b 2 0.5\n", r":2: wanted six columns.*found 5 columns"),
        ("q Q0 a 1 high x\n", r":1: wanted a finite score; found 'high'"),
        ("q Q0 a 1 nan x\n", r":1: wanted a finite score; found 'nan'"),
        ("q Q0 a 1 inf x\n", r":1: wanted a finite score; found 'inf'"),
        ("q Q0 a 1 1e300 x\n", r":1: wanted a finite score; found '1e300'"),
        ("", r"wanted six columns.*found an empty file"),
        ("\n \n", r"found an empty file"),
        (
            "q Q0 a 1 2 x\nq Q0 a 2 1 x\n",
            r"wanted each passage once a query; found 'a' twice for query 'q'",
        ),
    ],
)
def test_a_malformed_run_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.run").write_text(text)
    for read in (Run.from_file, lambda path: list(read_rankings(path))):
        with pytest.raises(InputError, match=rf"bad.run.*{message}"):
            read(tmp_path / "bad.run")


def test_rankings_that_come_in_pieces_are_refused_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "mixed.run").write_text("q Q0 a 1 2.0 x\nr Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n")
    assert Run.from_file(tmp_path / "mixed.run")["q"].passage_ids == ["a", "b"]
    with pytest.raises(
        InputError,
        match=(
            r"mixed.run: wanted a query's lines together; found query 'q' again, after others; "
            r"sort"
        ),
    ):
        list(read_rankings(tmp_path / "mixed.run"))


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_cut_archive_is_one_line(tmp_path: Path, compress) -> None:
    whole = compress(
        "".join(f"q Q0 p{n * 7919 % 100003} {n} {9e9 - n} x\n" for n in range(20_000)).encode()
    )
    for length in (len(whole) // 2, len(whole) - 3):
        (tmp_path / "cut.run.gz").write_bytes(whole[:length])
        with pytest.raises(
            InputError,
            match=r"cut.run.gz: wanted a compressed file, whole; found Compressed",
        ):
            Run.from_file(tmp_path / "cut.run.gz")


def test_a_query_twice_and_a_score_that_is_no_number_are_refused() -> None:
    with pytest.raises(InputError, match="found query 'q' twice"):
        Run("r", [("q", ["a"], [1.0]), ("q", ["b"], [1.0])])
    with pytest.raises(InputError, match="wanted finite scores"):
        Run("r", [("q", ["a"], [float("nan")])])


@pytest.mark.parametrize("ids", [("q 1", "a"), ("q1", "a\tb"), ("", "a")])
def test_an_id_that_would_break_the_columns_is_refused(
    tmp_path: Path, ids: tuple[str, str]
) -> None:
    bad = next(item for item in ids if item.split() != [item])
    with pytest.raises(
        InputError, match=rf"run 'r': wanted ids without spaces; found {bad!r}".replace("\\", r"\\")
    ):
        Run("r", [(ids[0], [ids[1]], [1.0])]).save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_other_scores_for_the_same_passages() -> None:
    run = Run("bm25", [("q1", ["a", "b", "c"], [3.0, 2.0, 1.0]), ("q2", ["c"], [1.0])])
    other = run.rescored("model", {"q1": np.array([0.5, 2.0, 0.5]), "q2": np.array([-1.0])})
    assert other["q1"].passage_ids == ["b", "c", "a"]  # "c" > "a" on the tie
    assert (other["q1"].scores.tolist(), other.name, list(other)) == (
        [2.0, 0.5, 0.5],
        "model",
        ["q1", "q2"],
    )
    assert other.passage_ids is run.passage_ids
    assert run["q1"].passage_ids == ["a", "b", "c"]
    with pytest.raises(
        InputError,
        match="run 'model': wanted finite scores; found inf for passage 'b' of query 'q1'",
    ):
        run.rescored("model", {"q1": np.array([0.5, np.inf, 0.5]), "q2": np.array([-1.0])})


def test_a_query_whose_lines_lie_apart_is_one_ranking(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 b 2 2 t\n")
    run = Run.from_file(tmp_path / "r.run")
    assert (run["q"].passage_ids, run["r"].passage_ids, run.name) == (["b", "a"], ["a"], "t")
    (tmp_path / "r.run").write_text("q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 a 2 2 t\n")
    with pytest.raises(
        InputError, match="wanted each passage once a query; found 'a' twice for query 'q'"
    ):
        Run.from_file(tmp_path / "r.run")


def test_a_run_of_rows_names_only_what_was_found_and_each_once():
    asked = []

    def ids_of(rows):
        asked.append(rows.tolist())
        return [f"p{row}" for row in rows]

    found = {"a": ([7, 2], [2.0, 1.0]), "none": ([], []), "b": ([2, 9, 0], [3.0, 3.0, 0.5])}
    triples = [
        (query, np.array(rows, np.int64), np.array(scores, np.float32))
        for query, (rows, scores) in found.items()
    ]
    run = Run.of_rows("rows", triples, 10, ids_of)
    assert asked == [[0, 2, 7, 9]]
    assert list(run) == ["a", "none", "b"]
    assert [run[query].passage_ids for query in run] == [["p7", "p2"], [], ["p2", "p9", "p0"]]
    assert [run[query].scores.tolist() for query in run] == [[2.0, 1.0], [], [3.0, 3.0, 0.5]]
    with pytest.raises(InputError, match="found query 'a' twice"):
        Run.of_rows("rows", [triples[0], triples[0]], 10, ids_of)
