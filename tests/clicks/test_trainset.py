"""Training sets of clicks: what is drawn and what never is, the shuffle, the same bytes however
made, what is counted, what is refused.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from positionbias.clicks.draw import IDS
from positionbias.clicks.settings import ClickSettings
from positionbias.clicks.shown import SHOWN, count_rows
from positionbias.clicks.trainset import ranges, triples_of, write_click_set
from positionbias.core.blocks import file_blocks
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import choose, key64
from tests.cli.conftest import RunPosbias
from tests.cli.conftest import run_posbias as run_posbias
from tests.clicks.conftest import DEPTH, QUERIES, contents, draw


def test_each_click_has_its_negatives_and_no_relevant_one(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    collection, run = clicks[0], Run.from_file(clicks[1])
    groups = draw(tmp_path / "set", clicks, negatives=4, seed=3)
    relevant: dict[str, set[str]] = {}
    for name in (None, "dctr"):  # what any set calls relevant, at any grade
        for qrel in collection.qrels("train", name):
            if qrel.grade > 0:
                relevant.setdefault(qrel.query_id, set()).add(qrel.passage_id)
    clicked = {
        (q.query_id, q.passage_id)
        for q in collection.qrels("train")
        if q.grade and q.query_id != "alone"
    } - {("q0", "gone")}
    by_positive: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        assert group.labels == (1, 0)
        by_positive.setdefault((group.query_id, group.passage_ids[0]), []).append(
            group.passage_ids[1]
        )
    assert by_positive.keys() == clicked
    for (query_id, positive), drawn in by_positive.items():
        pool = [item for item in run[query_id].passage_ids if item not in relevant[query_id]]
        # a second way to the same draw: places of the pool, by the key of query and positive
        expected = [
            pool[place]
            for place in choose(len(pool), 4, 3, "ordinary negative", query_id, positive)
        ]
        assert sorted(drawn) == sorted(expected)
        assert len(set(drawn)) == 4


def test_the_order_is_that_of_the_keys_and_a_smaller_set_is_the_beginning(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    whole = list(draw(tmp_path / "whole", clicks, negatives=4))
    keys = [key64(1, "order of triples", group.query_id, *group.passage_ids) for group in whole]
    assert keys == sorted(keys)
    assert len({group.query_id for group in whole[:20]}) > 8  # shuffled over queries
    assert list(draw(tmp_path / "some", clicks, negatives=4, triples=50)) == whole[:50]


def test_fewer_candidates_than_asked_for_make_fewer_triples(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    # of the first 6 candidates of q0: p0 clicked, p15 of grade 2 in the other set; four are left,
    # each in one triple
    groups = draw(tmp_path / "set", clicks, negatives=20, train_depth=6)
    assert Counter(group.query_id for group in groups)["q0"] == 4
    counts = groups.manifest.content["clicks"]
    assert counts == {
        "queries with a positive": 31,  # "alone" has no candidates, "unjudged" no positive
        "queries with all negatives": 0,
        "queries with fewer negatives": 30,
        "positives": 10 * (1 + 2 + 3),  # one more is not in the collection
        # clicked at ranks 1, 3, 5 and graded at rank 6: 1, 2 or 3 and 1 of each query's six leave
        "candidates left out as relevant": 10 * (2 + 3 + 4),
        # (4, 3, 2 candidates) for (1, 2, 3 positives): 4, 6, 6 triples; each candidate comes again
        # for every further positive
        "triples drawn": 10 * (4 + 6 + 6),
        "triples": 10 * (4 + 6 + 6),
        "negatives drawn again for another positive": 10 * (0 + 3 + 4),
        # the candidate at rank 2 was judged not relevant, and stands in a triple of each positive
        "negatives judged not relevant": 10 * (1 + 2 + 3),
    }
    rows = count_rows(groups, "tiny")
    (table,) = [one.table(rows) for one in SHOWN.text]
    assert [row[2].text for row in table.rows] == [
        "31",
        "0",
        "30",
        "60",
        "90",
        "160",
        "70",
        "60",
        "160",
    ]


def test_positives_of_another_judgement_set(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    groups = draw(tmp_path / "set", clicks, negatives=2, qrels_name="dctr", relevant_from=2)
    further = {(qrel.query_id, qrel.passage_id) for qrel in clicks[0].qrels("train", "dctr")}
    assert {(group.query_id, group.passage_ids[0]) for group in groups} == further


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), min_size=1, max_size=4),
    st.integers(1, 30),
    st.integers(1, 9),
)
def test_ranges_are_the_sorted_whole(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], wanted: int, size: int
) -> None:
    folder, paths, everything = tmp_path_factory.mktemp("keys"), [], []
    for number, keys in enumerate(files):
        rows = sorted((key, f"q{number}", f"p{place}", "n") for place, key in enumerate(keys))
        columns = [pa.array([row[0] for row in rows], pa.uint64())]
        columns += [pa.array([row[place] for row in rows], pa.string()) for place in (1, 2, 3)]
        paths.append(folder / f"{number}.feather")
        feather.write_feather(
            pa.table(columns, names=["key", *IDS]), str(paths[-1]), "uncompressed"
        )
        everything += rows
    parts = list(ranges(paths, len(everything), wanted, size))
    found = [tuple(row.values()) for part in parts for row in triples_of(paths, part).to_pylist()]
    assert found == sorted(everything)[:wanted]


def test_workers_and_the_order_of_the_run_change_no_byte(
    clicks: tuple[Collection, Path], tmp_path: Path, run_posbias: RunPosbias
) -> None:
    lines = clicks[1].read_text().splitlines(keepends=True)
    reordered = [
        line
        for number in reversed(range(QUERIES))
        for line in lines[number * DEPTH : (number + 1) * DEPTH]
    ]
    (tmp_path / "reordered.run").write_text("".join(reordered))
    for name, run, workers in (
        ("one", clicks[1], "1"),
        ("two", clicks[1], "2"),
        ("other", tmp_path / "reordered.run", "1"),
    ):
        run_posbias(
            "model", "trainset", "clicks", str(clicks[0].path), "--candidates", str(run),
            "--negatives", "3",
            "--triples", "100",
            "--workers", workers, "--out", str(tmp_path / name / "set"),
        )  # fmt: skip
    one, two, other = (contents(tmp_path / name / "set") for name in ("one", "two", "other"))
    assert one == two == other
    assert {"groups/00000.arrow"} == one.keys()


def test_blocks_of_any_size_draw_the_same(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(draw(tmp_path / "whole", clicks))
    monkeypatch.setattr(
        "positionbias.clicks.trainset.file_blocks", lambda path: file_blocks(path, 700)
    )
    assert list(draw(tmp_path / "blocks", clicks)) == whole


@pytest.mark.parametrize(
    ("settings", "lines", "message"),
    [
        ({"split": "nosuch"}, "q1 Q0 p1 1 1 x\n", r"wanted split 'nosuch'"),
        (
            {"qrels_name": "nosuch"},
            "q1 Q0 p1 1 1 x\n",
            r"wanted judgements 'nosuch' of split 'train'; found dctr",
        ),
        (
            {"relevant_from": 2},
            "q1 Q0 p1 1 1 x\n",
            r"wanted a passage judged 2 or higher in split 'train'; found none",
        ),
        (
            {},
            "other Q0 p1 1 1 x\n",
            r"r.run: wanted queries of split 'train'; found query 'other'; check --split",
        ),
        (
            {},
            "q1 Q0 nosuch 1 1 x\n",
            r"r.run: wanted passages of tiny; found passage 'nosuch'; check --split",
        ),
        ({}, "q1 Q0 p1 1 1\n", r"r.run:1: wanted six columns"),
        (
            {},
            "unjudged Q0 p1 1 1 x\n",
            (
                r"r.run: wanted candidates for queries of split 'train' with relevant passages; "
                r"found none"
            ),
        ),
        (
            {},
            "q1 Q0 p1 1 1 x\nq2 Q0 p1 1 1 x\nq1 Q0 p2 2 0 x\n",
            r"wanted a query's lines together; found query 'q1' again",
        ),
        ({}, "", r"found an empty file; check"),
    ],
    ids=[
        "split",
        "set",
        "grade",
        "query",
        "passage",
        "columns",
        "nothing",
        "apart",
        "empty",
    ],
)
def test_what_does_not_fit_is_one_line(
    clicks: tuple[Collection, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    lines: str,
    message: str,
) -> None:
    monkeypatch.setattr(
        "positionbias.clicks.trainset.file_blocks", lambda path: file_blocks(path, 10)
    )
    (tmp_path / "r.run").write_text(lines)
    with pytest.raises(InputError, match=message):
        write_click_set(tmp_path / "out", clicks[0], tmp_path / "r.run", ClickSettings(**settings))
    assert [path.name for path in tmp_path.iterdir()] == ["r.run"]


@pytest.mark.parametrize("name", ["negatives", "train_depth", "triples", "relevant_from"])
def test_settings_are_checked(name: str) -> None:
    with pytest.raises(
        SettingError, match=rf"--{name.replace('_', '-')}: 0 is not in the range x>=1"
    ):
        ClickSettings(**{name: 0})  # type: ignore[arg-type]


def test_a_judgement_that_stands_twice_is_drawn_for_once(tmp_path: Path) -> None:
    with create_collection(tmp_path / "twice") as writer:
        writer.add_passages(Passage(f"p{n}", "x") for n in range(5))
        writer.add_split(
            "train",
            [Query("a", "x"), Query("b", "x"), Query("c", "x")],
            [Qrel("c", "p0", 1), Qrel("a", "p1", 1), Qrel("c", "p0", 1)],
        )
        writer.finish(Manifest("collection", "twice", "a test"))
    (tmp_path / "r.run").write_text(
        "".join(f"{query} Q0 p{n} 1 {9 - n} x\n" for query in "ac" for n in range(4))
    )
    groups = draw(
        tmp_path / "set", (Collection(tmp_path / "twice"), tmp_path / "r.run"), negatives=2
    )
    assert Counter((group.query_id, group.passage_ids[0]) for group in groups) == {
        ("a", "p1"): 2,
        ("c", "p0"): 2,
    }
