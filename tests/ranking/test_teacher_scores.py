"""A teacher's scores: stored and read by pair and by rank; outside files in each layout, and each
fault with its line.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.rank_order import Ranking
from positionbias.ranking.teacher_files import (
    Repeats,
    read_teacher_file,
    scored_pairs,
    spilled_parts,
)
from positionbias.ranking.teacher_scores import (
    KIND,
    ScoredBlock,
    TeacherScores,
    open_teacher_scores,
    write_teacher_scores,
)
from tests.sealing import reseal

RANKINGS = [
    Ranking("q1", ["b", "c", "a"], np.array([2.5, 1, 1], np.float32)),
    Ranking("q2", ["a"], np.array([-0.25], np.float32)),
    Ranking("q3", ["d", "a"], np.array([7, 6.5], np.float32)),
]


def stored(folder: Path, parts: list[list[Ranking]], **options: object) -> TeacherScores:
    """Rankings as a folder of scores, a shard a part."""
    folder.mkdir()
    write_teacher_scores(
        folder,
        lambda part: ScoredBlock(part, {"seen": 1}),
        parts,
        Manifest(KIND, "teacher", "a test"),
        splits=("train",),
        **options,
    )  # type: ignore[arg-type]
    return open_teacher_scores(folder)


def test_scores_by_pair_and_passages_by_rank(tmp_path: Path) -> None:
    teacher = stored(tmp_path / "scores", [RANKINGS[:2], [], RANKINGS[2:]])
    assert (teacher.name, teacher.split, teacher.order_only) == ("teacher", "train", False)
    assert teacher.query_ids == ["q1", "q2", "q3"]
    assert teacher.scores("q1", ["a", "b"]) == (1.0, 2.5)
    assert teacher.scores("q3", ("a", "d", "a")) == (6.5, 7.0, 6.5)
    assert teacher.ranked("q1", 2) == ["b", "c"]  # c and a tie: the greater id first
    assert (teacher.ranked("q1", 9), teacher.ranked("q9", 2)) == (["b", "c", "a"], [])
    assert [(r.query_id, r.passage_ids) for r in teacher.rankings()] == [
        (r.query_id, r.passage_ids) for r in RANKINGS
    ]
    content = teacher.manifest.content if teacher.manifest else {}
    # (2.5 + 1 + 1 − 0.25 + 7 + 6.5) / 6
    assert (content["queries"], content["pairs"], content["seen"], content["mean"]) == (
        3,
        6,
        3,
        pytest.approx(17.75 / 6),
    )
    assert (content["least"], content["most"]) == (-0.25, 7.0)


def test_a_missing_score_names_the_pair(tmp_path: Path) -> None:
    teacher = stored(tmp_path / "scores", [RANKINGS])
    with pytest.raises(
        InputError,
        match=(
            "wanted the teacher's score of passage 'd' for query 'q1'; found those of 3 other "
            "passages"
        ),
    ):
        teacher.scores("q1", ["a", "d"])
    with pytest.raises(
        InputError,
        match=(
            "score of passage 'a' for query 'q9'; found none of any passage for this query; have "
            "the"
        ),
    ):
        teacher.scores("q9", ["a"])


def test_what_is_not_whole_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="nothing: wanted teacher scores, a folder or a file; found nothing there"
    ):
        open_teacher_scores(tmp_path / "nothing")
    teacher = stored(tmp_path / "scores", [RANKINGS[:1], RANKINGS[1:]])
    shard = teacher.path / "scores" / "00001.arrow"
    shard.write_bytes(shard.read_bytes()[:100])
    reseal(teacher.path)
    with pytest.raises(InputError, match="00001.arrow: wanted a whole Arrow file"):
        open_teacher_scores(teacher.path).scores("q1", ["a"])
    shard.unlink()
    reseal(teacher.path)
    with pytest.raises(InputError, match="wanted 2 shards, as its manifest says; found 1"):
        open_teacher_scores(teacher.path).ranked("q1", 1)
    reseal(teacher.path, lambda record: record["content"].pop("order_only"))
    with pytest.raises(InputError, match="missing required field `order_only`"):
        open_teacher_scores(teacher.path)
    reseal(teacher.path, lambda record: record.update(kind="trainset"))
    with pytest.raises(InputError, match="wanted a posbias teacher-scores; found a trainset"):
        open_teacher_scores(teacher.path)


RUN = "q1 Q0 a 1 1.0 tag\nq1 Q0 b 2 2.5 tag\nq1 Q0 c 3 1.0 tag\n\nq2 Q0 a 1 -0.25 tag\n"
TABLE = "\ufeffq1\ta\t1.0\nq1\tb\t2.5\nq2\ta\t-0.25\nq1\tc\t1\n"
MARGINS = "2.5\t1.0\tq1\tb\ta\n2.5\t1.0\tq1\tb\tc\n-0.25\t-0.25\tq2\ta\ta\n"


@pytest.mark.parametrize("text", [RUN, TABLE, MARGINS], ids=["run", "table", "margins"])
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gz"])
def test_each_layout_of_an_outside_file(tmp_path: Path, text: str, compressed: bool) -> None:
    path = tmp_path / ("outside.v1.gz" if compressed else "outside.v1")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    teacher = open_teacher_scores(path)
    assert (teacher.name, teacher.split, teacher.manifest, teacher.order_only) == (
        "outside",
        None,
        None,
        False,
    )
    assert list(teacher.query_ids) == ["q1", "q2"]
    assert teacher.scores("q1", ["a", "b", "c"]) == (1.0, 2.5, 1.0)
    assert teacher.ranked("q1", 2) == ["b", "c"]
    with pytest.raises(InputError, match="score of passage 'z' for query 'q2'"):
        teacher.scores("q2", ["z"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wanted six columns .* found an empty file"),
        ("q1 a\n", ":1: wanted six columns .* found 2 columns"),
        ("q1 a 1\nq1 b nan\n", ":2: wanted a finite score; found 'nan'"),
        ("q1 a 1\nq1 b 1e39\n", ":2: wanted a finite score; found '1e39'"),
        (
            "q1 a 1\nq1 Q0 b 2 1 tag\n",
            ":2: wanted 3 columns, as in the lines before; found 6 columns",
        ),
        (
            "q1 a 1\nq2 a 1\nq1 a 1\n",
            ":3: wanted each pair once; found passage 'a' of query 'q1' again, first at line 1",
        ),
    ],
    ids=[
        "empty",
        "two",
        "nan",
        "beyond float32",
        "mixed",
        "twice",
    ],
)
def test_a_fault_of_an_outside_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(text)
    with pytest.raises(
        InputError, match=f"bad.tsv{message if message.startswith(':') else f': {message}'}"
    ):
        open_teacher_scores(path).scores("q1", ["a"])


def test_margins_keep_the_first_of_two_scores_and_count_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "margins.tsv"
    path.write_text("3 1 q1 a b\n3 2 q1 a c\n3.5 1 q1 a d\n2.75 1.0 q1 a b\n")
    repeats = Repeats()
    folder = tmp_path / "spilled"
    folder.mkdir()
    (part,) = spilled_parts(path, folder, repeats)
    (ranking,) = part.rankings
    assert (ranking.passage_ids, ranking.scores.tolist()) == (
        ["a", "c", "d", "b"],
        [3.0, 2.0, 1.0, 1.0],
    )
    assert (part.line("q1", "a"), part.line("q1", "d")) == (1, 3)
    # 3 again is the same; 3.5 and 2.75 are not, by 0.5 and 0.25
    assert (repeats.differing, repeats.largest) == (2, 0.5)


@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9), st.floats(-9, 9, width=32)),
        min_size=1,
        max_size=60,
    )
)
def test_parts_of_a_file_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int, float]]
) -> None:
    from positionbias.ranking import teacher_files

    folder = tmp_path_factory.mktemp("spilled")
    path = folder / "table.tsv"
    distinct = {(f"q{query}", f"p{passage}"): score for query, passage, score in pairs}
    path.write_text(
        "".join(f"{query} {passage} {score!r}\n" for (query, passage), score in distinct.items())
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teacher_files, "_SPILL_BYTES", 64)
        parts = list(spilled_parts(path, folder, Repeats()))
    found = {
        r.query_id: list(zip(r.passage_ids, r.scores.tolist(), strict=True))
        for part in parts
        for r in part.rankings
    }
    whole = {
        r.query_id: list(zip(r.passage_ids, r.scores.tolist(), strict=True))
        for r in read_teacher_file(path)
    }
    assert found == whole
    assert sum(len(part.rankings) for part in parts) == len(whole)
    lines = {
        (query_id, passage_id): line
        for part in parts
        for query_id, scored in part.scored.items()
        for passage_id, (_, line) in scored.items()
    }
    assert lines == {(pair.query_id, pair.passage_id): pair.line for _, pair in scored_pairs(path)}
