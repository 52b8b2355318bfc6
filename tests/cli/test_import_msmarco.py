"""``posbias import msmarco`` as a user runs it: what is said, what is printed, the same from one
worker and two.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..formats import test_msmarco_docs, test_orcas
from ..formats.msmarco_files import write_files
from ..formats.test_msmarco import RELEASE, TOP1000
from .conftest import RunPosbias


def test_a_folder_comes_in_and_what_is_not_there_is_said(
    run_posbias: RunPosbias, tmp_path: Path
) -> None:
    files = (
        RELEASE
        | TOP1000
        | {
            "qidpidtriples.train.full.2.tsv.gz": "11\t0\t4\n99\t0\t4\n",
            "queries.mine.tsv": "1\tx\n",
            "notes.md": "",
        }
    )
    write_files(tmp_path / "in", files)
    write_files(tmp_path, {"q.tsv": "41\tgraded\n", "r.txt": "41 0 0 3\n"})
    done = run_posbias(
        "import", "msmarco", "in", "--attach", "dl19", "q.tsv", "r.txt", "--out", "./out"
    )
    assert done.returncode == 0, done.stderr
    first, *table = done.stdout.splitlines()
    assert first == (
        "out: 7 passages, 9 queries (train 3, validation 1, test 2, eval 2, dl19 1) and 0 answers."
    )
    assert [line.split() for line in table[5:10]] == [
        ["train", "3", "4", "0", "1"],
        ["validation", "1", "1", "0", "–"],
        ["test", "2", "2", "0", "–"],
        ["eval", "2", "0", "0", "–"],
        ["dl19", "1", "1", "0", "–"],
    ]
    for said in (
        "not there: triples.train.small.tsv",
        "not read (not known): notes.md, queries.mine.tsv",
        "left out of train: 1 unjudged queries",
        "left out of test: 1 unjudged queries",
        "candidates: out/runs/top1000.dev.run, 4 of 2 queries",
        (
            "training groups: out/trainsets/qidpidtriples.train.full.2, 1; 1 lines of other "
            "queries, passages or texts left out"
        ),
        "written to out; look at it with: posbias collection show out",
    ):
        assert said in done.stderr.splitlines()


def test_a_fault_is_one_line(run_posbias: RunPosbias, tmp_path: Path) -> None:
    write_files(tmp_path / "in", {"collection.tsv": "0 one\n"})
    done = run_posbias("import", "msmarco", "in", "--out", "./out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "posbias: in/collection.tsv:1: wanted a passage: id, tab, text; found no tab; fix or "
        "drop the line\n"
    )


def test_documents_and_then_orcas_beside_them(run_posbias: RunPosbias, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", test_msmarco_docs.RELEASE)
    done = run_posbias(
        "import",
        "msmarco-docs",
        "docs",
        "--fields",
        "title",
        "--fields",
        "body",
        "--out",
        "documents",
    )
    assert done.returncode == 0, done.stderr
    assert "not there: msmarco-doctrain-top100" in done.stderr.splitlines()
    assert "msmarco-docdev-top100.run, 3 of 2 queries" in done.stderr
    write_files(tmp_path / "clicks", {"orcas.tsv": test_orcas.CLICKS})
    done = run_posbias(
        "import", "orcas", "clicks", "--documents", "documents", "--out", "both", "--workers", 2
    )
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()[6:10]] == [
        ["train", "2", "2", "0", "–"],
        ["test", "1", "1", "0", "–"],
        ["eval", "1", "0", "0", "–"],
        ["orcas", "2", "3", "0", "1"],
    ]


@pytest.mark.realdata
def test_the_mini_collection_with_both_dl_tracks(
    run_posbias: RunPosbias, posbias_data: Path
) -> None:
    folder = posbias_data / "msmarco_mini"
    attached = [
        item
        for name in ("dl19", "dl20")
        for item in ("--attach", name, folder / f"queries.{name}.tsv", folder / f"qrels.{name}.txt")
    ]
    done = run_posbias(
        "import",
        "msmarco",
        folder,
        *attached,
        "--validation-queries",
        200,
        "--out",
        "mini",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    counts: dict[str, tuple[int, ...]] = {}
    for row in json.loads(done.stdout)["rows"]:
        if row["measure"] in ("passages", "queries", "judgements"):
            split = row.get("split", "")
            counts[split] = (*counts.get(split, ()), row["value"])
    # 1,935 training queries with one judgement each, 200 of them drawn; NIST judged 43 and 54
    # queries
    assert counts == {
        "": (36_985,),
        "train": (1_735, 1_735),
        "validation": (200, 200),
        "dl19": (43, 9_260),
        "dl20": (54, 11_386),
    }
    assert any(
        line.startswith("not read (not known): ") and "queries.titled.tsv" in line
        for line in done.stderr.splitlines()
    )
