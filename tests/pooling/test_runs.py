"""The table of systems, the folder of runs, and runs as numbers of their judgements: by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.evaluation.judged_runs import NOT_RETRIEVED, System, judge_runs, kinds_of
from positionbias.pooling.measured import find_runs, read_runs, read_systems, run_name

from .worked import RUNS, as_run, worked

TABLE = (
    "kind\trun\tnote\tgroup\n"
    "traditional\tbm25\t\tlab\nneural\tdeep.v2\tx y\tlab\nneural\tgone\t\tc\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "systems.tsv"
    path.write_text("\ufeff" + TABLE + "\n")
    return path


def test_columns_stand_in_any_order_and_others_are_not_used(table: Path) -> None:
    systems = read_systems(table)
    assert systems[:2] == [System("bm25", "lab", "traditional"), System("deep.v2", "lab", "neural")]
    assert kinds_of(systems) == ["traditional", "neural"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wanted a line for each run; found none"),
        ("run\tgroup\tkind\n", "wanted a line for each run; found none"),
        ("run\tgroup\na\tb\n", "named in the first line, and each run once; found 'a, b'"),
        ("run\tgroup\tkind\n\na\tb\n", "each run once; found 'a, b, None'; fix or drop the line"),
        ("run\tgroup\tkind\na\t \tc\n", "each run once; found 'a,  , c'"),
        ("run\tgroup\tkind\na\tb\tc\nx\tb\tc\na\tb\td\n", "each run once; found 'a, b, d'"),
    ],
    ids=["empty", "no line", "no kind", "short line", "empty group", "run twice"],
)
def test_a_table_that_cannot_be_used_shows_its_line(table: Path, text: str, message: str) -> None:
    table.write_text(text)
    with pytest.raises(InputError, match="systems.tsv: wanted ") as raised:
        read_systems(table)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b.run.gz", "a.b"), ("a.b", "a.b"), ("a.txt", "a"), ("a.trec.zst", "a"), ("a.run", "a")],
)
def test_a_runs_name_is_its_files(name: str, expected: str) -> None:
    assert run_name(Path(name)) == expected


def folder_of(tmp_path: Path, *names: str) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in names:
        data = b"1 Q0 d1 1 2.5 tag\n"
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def test_runs_are_found_plain_and_packed(tmp_path: Path, table: Path) -> None:
    folder = folder_of(tmp_path, "deep.v2.run.gz", "bm25", ".hidden")
    found = find_runs(folder, table)
    assert {system.run: path.name for system, path in found.items()} == {
        "bm25": "bm25",
        "deep.v2": "deep.v2.run.gz",
    }
    # named as in the table, not by their tags
    assert [(system.run, run.name, list(run)) for system, run in read_runs(found)] == [
        ("bm25", "bm25", ["1"]), ("deep.v2", "deep.v2", ["1"]),
    ]  # fmt: skip
    assert [system.group for system in find_runs(folder, None)] == ["bm25", "deep.v2"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["bm25", "bm25.run.gz"], "runs: wanted a folder of runs in TREC form, one file each"),
        ([], "runs: wanted a folder of runs in TREC form, one file each; found 0 runs"),
        (["bm25", "new"], "systems.tsv: wanted a line for every run of .*; found none for new"),
    ],
    ids=["two files of a run", "no run", "no line"],
)
def test_a_folder_that_cannot_be_used_is_refused(
    tmp_path: Path, table: Path, names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        find_runs(folder_of(tmp_path, *names), table)


def test_places_and_ranks_by_hand() -> None:
    runs = worked()
    assert runs.query_ids == ["1", "2"]
    assert runs.unjudged == 6
    assert runs.grades.tolist() == [2, 1, 0, 2, 1, 0]
    assert runs.starts.tolist() == [0, 3, 6]
    assert runs.places.tolist() == [
        [[2, 0, 6], [6, 2, 0], [0, 1, 2], [1, 6, 0]],
        [[4, 5, 6], [5, 4, 7], [3, 6, 4], [7, 7, 7]],
    ]
    no = NOT_RETRIEVED
    assert runs.ranks.tolist() == [
        [1, no, 0, no, 0, 1],
        [2, no, 1, no, 1, 0],
        [0, 1, 2, 0, 2, no],
        [2, 0, no, no, no, no],
    ]
    assert runs.by_query(
        np.array([[True, False, True, False, True, False], [True] * 6])
    ).tolist() == [[2, 1], [3, 3]]


def test_runs_and_judgements_that_do_not_belong_together_are_refused() -> None:
    listed = [(RUNS[0][0], as_run("t1", RUNS[0][1]))]
    with pytest.raises(
        InputError, match="run 't1': wanted at least one of 1 judged queries; found none"
    ):
        judge_runs(listed, [Qrel("7", "a", 1)])
    with pytest.raises(InputError, match="judgements: wanted at least one; found none"):
        judge_runs(listed, [])
