"""Training sets of clicks: what is drawn and what never is, the shuffle, the same bytes however
made, what is counted, what is refused.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.clicks import quality
from positionbias.clicks.draw import TRIPLE, WITH_POSITIVE
from positionbias.clicks.judged import Which, judgements
from positionbias.clicks.settings import ClickSettings, parse_count
from positionbias.clicks.shuffle import ranges, triples_of
from positionbias.clicks.trainset import QUALITY, TRIPLES, write_click_set
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.rows import load
from positionbias.core.run import read_run
from positionbias.core.run_blocks import run_blocks
from positionbias.core.seeds import choose, key64
from tests.cli.conftest import RunPosbias
from tests.cli.conftest import run_posbias as run_posbias
from tests.clicks.conftest import DEPTH, PASSAGES, QUERIES, contents, draw


def test_each_click_has_its_negatives_and_no_relevant_one(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    collection, run = clicks[0], read_run(clicks[1])
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
    # "alone" has a positive and no candidates, "unjudged" neither
    assert (
        counts["queries"],
        counts["queries with candidates"],
        counts["queries with a positive"],
    ) == (32, 30, 31)
    assert [counts[name] for name in (*WITH_POSITIVE, "queries without candidates")] == [
        0,
        30,
        0,
        0,
        1,
    ]
    assert counts["positives of queries with candidates"] == 10 * (1 + 2 + 3) + 1
    assert counts["positives missing from the corpus"] == 1
    # clicked at ranks 1, 3, 5 and graded at rank 6: 1, 2 or 3 and 1 of each query's six leave
    assert counts["candidates left out as relevant"] == 10 * (2 + 3 + 4)
    # (4, 3, 2 candidates) for (1, 2, 3 positives): 4, 6, 6 triples; each candidate comes again for
    # every further positive
    assert counts["triples drawn"] == counts["triples"] == 10 * (4 + 6 + 6)
    assert counts["negatives drawn again for another positive"] == 10 * (0 + 3 + 4)
    # the candidate at rank 2 was judged not relevant, and stands in a triple of each positive
    assert counts["negatives judged not relevant"] == 10 * (1 + 2 + 3)


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
        triples = np.zeros(len(keys), TRIPLE)
        triples["key"], triples["query"], triples["judged"] = (
            keys,
            np.arange(len(keys)) + 100 * number,
            np.arange(len(keys)) % 2,
        )
        triples = np.sort(triples, order=["key", "query"])
        paths.append(folder / f"{number}.triples")
        triples.tofile(paths[-1])
        everything.append(triples)
    expected = np.sort(np.concatenate(everything), order=["key", "query"])[:wanted]
    parts = list(ranges(paths, wanted, size))
    found = [triples_of(paths, part) for part in parts]
    assert np.concatenate([np.empty(0, TRIPLE), *found]).tolist() == expected.tolist()
    assert sum(part.judged for part in parts) == expected["judged"].sum()


def test_queries_that_got_nothing_are_counted(tmp_path: Path) -> None:
    """Nine queries with a positive: two get both negatives, one a single one, two none, one has its
    only positive missing, three are not in the run.
    """
    qrels = [Qrel(f"q{n}", "p0", 1) for n in (1, 2, 3, 4, 5, 7, 8, 9)] + [
        Qrel("q6", "gone", 1),
        Qrel("q5", "p1", 1),
    ]
    with create_collection(tmp_path / "few") as writer:
        writer.add_passages(Passage(f"p{n}", "x") for n in range(5))
        writer.add_split("train", [Query(f"q{n}", "x") for n in range(10)], qrels)
        writer.finish(Manifest("collection", "few", "a test"), allow_absent=True)
    drawn = {"q0": "1", "q1": "012", "q2": "1234", "q3": "01", "q4": "0", "q5": "01", "q6": "1234"}
    lines = [
        f"{query_id} Q0 p{place} 1 {9 - int(place)} x\n"
        for query_id, places in drawn.items()
        for place in places
    ]
    (tmp_path / "r.run").write_text("".join(lines))
    groups = draw(tmp_path / "set", (Collection(tmp_path / "few"), tmp_path / "r.run"), negatives=2)
    counts = groups.manifest.content["clicks"]
    assert (
        counts["queries"],
        counts["queries with candidates"],
        counts["queries with a positive"],
    ) == (10, 7, 9)
    became = load(groups.path / QUALITY).query("axis == 'outcome'")
    numbers = became[became["statistic"] == "number"]["value"]
    assert numbers.tolist() == [2, 1, 2, 1, 3]
    shares = became[became["statistic"] == "share"]["value"]
    assert shares.tolist() == [2 / 9, 1 / 9, 2 / 9, 1 / 9, 3 / 9]


def test_negatives_that_are_relevant_would_be_counted(
    clicks: tuple[Collection, Path], tmp_path: Path
) -> None:
    """q1's passage of grade 2 in the further set, drawn twice; a negative that another query alone
    has judged; one of grade 0.
    """
    further = {qrel.query_id: qrel.passage_id for qrel in clicks[0].qrels("train", "dctr")}
    shown = next(
        qrel.passage_id
        for qrel in clicks[0].qrels("train")
        if qrel.query_id == "q1" and not qrel.grade
    )
    wrong = [("q1", further["q1"]), ("q1", further["q1"]), ("q2", further["q1"]), ("q1", shown)]
    groups: Any = [
        TrainingGroup(query_id, ("p1", negative), (1, 0)) for query_id, negative in wrong
    ]
    assert quality.look(groups, clicks[0], "train").relevant == 2
    assert quality.look(draw(tmp_path / "set", clicks), clicks[0], "train").relevant == 0


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
            "trainset", "clicks", str(clicks[0].path), "--candidates", str(run), "--negatives", "3",
            "--triples", "100",
            "--as", "ids", "--workers", workers, "--out", str(tmp_path / name / "set"),
        )  # fmt: skip
    one, two, other = (contents(tmp_path / name / "set") for name in ("one", "two", "other"))
    assert one == two == other
    assert {TRIPLES, f"{QUALITY}/rows.parquet", "groups/00000.arrow"} == one.keys()


def test_blocks_of_any_size_draw_the_same(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(draw(tmp_path / "whole", clicks))
    monkeypatch.setattr(
        "positionbias.clicks.trainset.run_blocks", lambda path: run_blocks(path, 700)
    )
    assert list(draw(tmp_path / "blocks", clicks)) == whole


def test_lines_are_ids_or_texts(clicks: tuple[Collection, Path], tmp_path: Path) -> None:
    ids = draw(tmp_path / "ids", clicks, negatives=1, form="ids")
    first = next(iter(ids))
    assert (ids.path / TRIPLES).read_text().splitlines()[0] == "\t".join(
        [first.query_id, *first.passage_ids]
    )
    text = draw(tmp_path / "text", clicks, negatives=1, form="text")
    assert list(text) == list(ids)
    lines = [line.split("\t") for line in (text.path / TRIPLES).read_text().split("\n")[:-1]]
    # tabs and line breaks inside a text become spaces; p0 has no text
    texts = {f"p{n}": f"text of {n}" if n else "" for n in range(PASSAGES)}
    assert lines == [
        [f"question {g.query_id[1:]}", *(texts[item] for item in g.passage_ids)] for g in ids
    ]


def test_the_quality_page_says_what_the_set_is_like(
    clicks: tuple[Collection, Path], tmp_path: Path, run_posbias: RunPosbias
) -> None:
    out = tmp_path / "set"
    said = run_posbias(
        "trainset", "clicks", str(clicks[0].path), "--candidates", str(clicks[1]), "--out", str(out)
    )
    rows = load(out / QUALITY)
    # 25 candidates less one, two or three clicked and one of grade 2: 23, 22 or 21 for 20
    # of 31 queries with a positive all but "alone", which is not in the run
    (every,) = rows.query("label == 'all 20, for each positive' and statistic == 'share'")["value"]
    assert every == 30 / 31
    (kept,) = rows.query("subset == 'Triples kept' and label == 'all'")["value"]
    assert kept == 60 * 20
    words = [0 if group.passage_ids[0] == "p0" else 3 for group in Groups(out)]
    lengths = rows.query("measure == 'words' and subset == 'Positives'")["value"].tolist()
    assert lengths == pytest.approx([np.mean(words), 3, 3, words.count(0)])
    lines = [line.split() for line in said.stdout.splitlines()]
    assert ["all", "20,", "for", "each", "positive", "30", "96.8", "%"] in lines
    run_posbias("report", str(out / QUALITY), "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "Queries by outcome" in page
    assert "Where users clicked" not in page  # there is no log


def test_clicked_ranks_come_from_the_log_of_the_collection(
    tmp_path: Path, run_posbias: RunPosbias
) -> None:
    from tests.formats.tripclick_files import files

    for name, content in files().items():
        (tmp_path / "tc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tc" / name).write_text(content, encoding="utf-8")
    run_posbias("import", "tripclick", str(tmp_path / "tc"), "--out", str(tmp_path / "coll"))
    (tmp_path / "r.run").write_text("8 Q0 12 1 3 x\n8 Q0 14 2 2 x\n9 Q0 11 1 2 x\n")
    out = tmp_path / "set"
    run_posbias(
        "trainset",
        "clicks",
        str(tmp_path / "coll"),
        "--candidates",
        str(tmp_path / "r.run"),
        "--out",
        str(out),
    )
    assert {(g.query_id, *g.passage_ids) for g in Groups(out)} == {
        ("8", "11", "12"),
        ("8", "11", "14"),
        ("9", "12", "11"),
    }
    clicked = load(out / QUALITY).query("measure == 'clicks'")
    # 3 clicks have a rank: 1, 2, 2
    assert clicked.query("statistic == 'number'")[["label", "value"]].to_numpy().tolist() == [
        ["1", 1],
        ["2", 2],
    ]
    assert clicked.query("statistic == 'share'")["value"].tolist() == [1 / 3, 2 / 3]
    assert clicked.query("statistic == 'mean rank'")["value"].tolist() == [5 / 3]
    run_posbias("report", str(out / QUALITY), "--out", str(tmp_path / "page.html"))
    assert "Where users clicked" in (tmp_path / "page.html").read_text()


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
            r"wanted a passage judged 2 or higher in split 'train'; found .* of grade 1",
        ),
        ({"relevant_from": 3, "qrels_name": "dctr"}, "", r"of grade 2; give another"),
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
        ({}, "", r"found none; check"),
    ],
    ids=[
        "split",
        "set",
        "grade",
        "grade-of-set",
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
        "positionbias.clicks.trainset.run_blocks", lambda path: run_blocks(path, 10)
    )
    (tmp_path / "r.run").write_text(lines)
    with pytest.raises(InputError, match=message):
        write_click_set(tmp_path / "out", clicks[0], tmp_path / "r.run", ClickSettings(**settings))
    assert [path.name for path in tmp_path.iterdir()] == ["r.run"]


@pytest.mark.parametrize("name", ["negatives", "train_depth", "triples", "relevant_from"])
def test_settings_are_checked(name: str) -> None:
    with pytest.raises(
        SettingError, match=rf"--{name.replace('_', '-')}: wanted at least 1; found 0"
    ):
        ClickSettings(**{name: 0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10M", 10_000_000),
        ("1.5k", 1_500),
        ("10_000", 10_000),
        ("7", 7),
        ("4.1M", 4_100_000),
        ("8.2M", 8_200_000),
        ("2.01M", 2_010_000),
        ("1,500", 1_500),
        ("10,000,000", 10_000_000),
        ("1,000k", 1_000_000),
    ],
)
def test_numbers_of_triples(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "x",
        "1.5",
        "-3",
        "10B",
        "1,5M",
        "1,50",
        "1,5000",
        "1_",
        "0.5",
        "1.0000001M",
        "1." + "0" * 30 + "1M",
        "9" * 5000,
    ],
)
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--triples: wanted a whole number such as"):
        parse_count(text)


def test_what_a_line_cannot_carry(tmp_path: Path) -> None:
    with create_collection(tmp_path / "odd") as writer:
        writer.add_passages(
            [Passage("a\tb", "one\x0btwo\x85three\u2028four\r\nfive"), Passage("c", "x\ty")]
        )
        writer.add_split("train", [Query("q", "a\u2029b")], [Qrel("q", "a\tb", 1)])
        writer.finish(Manifest("collection", "odd", "a test"))
    (tmp_path / "r.run").write_text("q Q0 c 1 1 x\n")
    odd = Collection(tmp_path / "odd"), tmp_path / "r.run"
    with pytest.raises(
        InputError,
        match=(
            r"wanted ids without tabs and line breaks for --as ids; found passage 'a\\tb'; rename"
        ),
    ):
        draw(tmp_path / "ids", odd, form="ids")
    text = draw(tmp_path / "text", odd, form="text")
    assert (text.path / TRIPLES).read_text(
        encoding="utf-8"
    ) == "a b\tone two three four five\tx y\n"


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


def test_what_is_judged_is_listed_by_query(clicks: tuple[Collection, Path]) -> None:
    which = Which(str(clicks[0].path), clicks[0].checksum, "train", None, 1)
    judged = judgements(which)
    assert (judged.places["q0"], judged.places["alone"], judged.places["unjudged"]) == (
        0,
        QUERIES,
        QUERIES + 1,
    )
    # q2 has three clicks, at ranks 1, 3 and 5 of p14, p17, p20 …; "unjudged" none; q0 one, and one
    # that the corpus lacks
    query, passage_ids = judged.positives.of(np.array([2, QUERIES + 1, 0]))
    assert query.tolist() == [0, 0, 0, 2, 2]
    assert passage_ids == ["p14", "p20", "p26", "p0", "gone"]
    query, passage_ids = judged.others.of(np.array([2]))
    assert (query.tolist(), passage_ids) == ([0], ["p17"])
    assert sorted(judged.relevant.of(np.array([2]))[1]) == ["p14", "p20", "p26", "p29"]
