"""The table of systems and the folder of runs: what is read, what is counted, what is refused and
where.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.pooling.systems import (
    System,
    find_runs,
    kinds_of,
    read_runs,
    read_systems,
    run_name,
)

TABLE = "kind\trun\tnote\tgroup\nneural\tdeep.v2\tx y\tlab\ntraditional\tbm25\t\tlab\n"
LINE = "1 Q0 d1 1 2.5 tag\n"


def test_columns_stand_in_any_order_and_others_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "systems.tsv"
    path.write_text("\ufeff" + TABLE + "\n")
    systems = read_systems(path)
    assert systems == [System("deep.v2", "lab", "neural"), System("bm25", "lab", "traditional")]
    assert kinds_of(systems) == ("neural", "traditional")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "systems.tsv: wanted columns run, group, kind; found an empty file"),
        (
            "run\tgroup\na\tb\n",
            "systems.tsv:1: wanted columns run, group, kind; found run, group; name the columns",
        ),
        (
            "run\tgroup\tkind\tkind\n",
            "systems.tsv:1: wanted columns run, group, kind; found kind more than once",
        ),
        ("run\tgroup\tkind\n", "systems.tsv: wanted a line per run; found none"),
        (
            "run\tgroup\tkind\n\na\tb\n",
            "systems.tsv:3: wanted 3 columns, as in the first line; found 2; fix",
        ),
        ("run\tgroup\tkind\na\t \tc\n", "systems.tsv:2: wanted a group; found nothing; fill it in"),
        (
            "run\tgroup\tkind\na\tb\tc\nx\tb\tc\na\tb\td\n",
            "systems.tsv:4: wanted each run once; found run 'a' again, first at line 2",
        ),
    ],
    ids=["empty", "no kind", "kind twice", "no line", "short line", "empty group", "run twice"],
)
def test_a_table_that_cannot_be_used_names_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "systems.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_systems(path)
    assert message in str(raised.value)


def test_a_table_in_another_encoding_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "systems.tsv"
    path.write_bytes(b"run\tgroup\tkind\na\tM\xfcller\tc\n")
    with pytest.raises(
        InputError, match=r"systems.tsv:2: wanted text in UTF-8; found the byte 0xfc"
    ):
        read_systems(path)


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
        data = LINE.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


SYSTEMS = [
    System("bm25", "a", "traditional"),
    System("deep.v2", "b", "neural"),
    System("gone", "c", "neural"),
]


def test_runs_are_found_plain_and_packed_and_absent_ones_are_told(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "deep.v2.run.gz", "bm25", ".hidden")
    found = find_runs(folder, SYSTEMS, table="systems.tsv")
    assert {system.run: path.name for system, path in found.files.items()} == {
        "bm25": "bm25",
        "deep.v2": "deep.v2.run.gz",
    }
    assert found.absent == (SYSTEMS[2],)
    # named as in the table, not by their tags
    assert [(system.run, run.name, list(run)) for system, run in read_runs(found.files)] == [
        ("bm25", "bm25", ["1"]), ("deep.v2", "deep.v2", ["1"]),
    ]  # fmt: skip


def test_two_files_of_one_run_are_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "bm25", "bm25.run.gz")
    with pytest.raises(
        InputError, match=r"wanted one file for run 'bm25'; found bm25 and bm25.run.gz"
    ):
        find_runs(folder, SYSTEMS, table="systems.tsv")


@pytest.mark.parametrize("name", ["nowhere", "file", "empty"])
def test_a_folder_without_runs_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    found = {"nowhere": "nothing there", "file": "a file", "empty": "no file"}[name]
    with pytest.raises(InputError, match=f"{name}: wanted .*; found {found}; check the path"):
        find_runs(tmp_path / name, SYSTEMS, table="systems.tsv")
