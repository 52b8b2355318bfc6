"""``posbias leakage overlap`` as a user runs it: a sentence first, examples on request, bad input
in one line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import RunPosbias

HEAD = (
    "The keeper of the north hall lights the green lamp at dusk and puts it out again when the "
    "gate opens"
)
ROWS = [
    {"query": "who lights the green lamp at dusk", "passage": f"{HEAD}.", "id": "a1"},
    {"query": "what is iron made of", "passage": "Iron is made of ore in a furnace.", "id": "a2"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Training rows, and a test set in BEIR's form with a copy of a passage and a query of the same
    beginning.
    """
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    bench = tmp_path / "bench"
    (bench / "qrels").mkdir(parents=True)
    (bench / "corpus.jsonl").write_text(
        json.dumps({"_id": "d1", "title": "Lamps", "text": HEAD.upper()}) + "\n"
    )
    (bench / "queries.jsonl").write_text(
        json.dumps(
            {"_id": "q1", "text": "Who lights the green lamp at dawn and in winter, and why?"}
        )
        + "\n"
    )
    (bench / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return tmp_path


OVERLAP = ("leakage", "overlap", "--out", "./found")


def test_the_answer_comes_first_and_examples_where_they_are_wanted(
    run_posbias: RunPosbias, folder: Path
) -> None:
    done = run_posbias(*OVERLAP, "train.jsonl", "--test", "bench", "--examples", 1)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        (
            "1 of 1 queries of bench (100.0%) have a relevant passage in train: 1 near. Precision "
            "unknown."
        ),
        "0 of 1 queries of bench (0.0%) are in train.",
        "0 of 1 queries of bench (0.0%) are in train together with a relevant passage.",
    ]
    assert lines[4] == "The surest pairs"
    assert any(
        line.startswith("ngram") and "The keeper of the north hall" in line for line in lines
    )
    assert done.stderr == "written to found, the pairs to found/pairs\n"
    assert sorted(path.name for path in (folder / "found" / "pairs").iterdir()) == [
        f"bench.{unit}.jsonl" for unit in ("pairs", "passages", "queries")
    ]


def test_what_was_found_goes_to_the_other_commands(run_posbias: RunPosbias, folder: Path) -> None:
    assert (
        run_posbias(*OVERLAP, "train.jsonl", "--test", "bench", "--unit", "passages").returncode
        == 0
    )
    pairs = "found/pairs/bench.passages.jsonl"
    reviewed = run_posbias("leakage", "review", pairs, "--score", "of_test", "--out", "sheet.tsv")
    assert reviewed.returncode == 0, reviewed.stderr
    assert "of_test" in (folder / "sheet.tsv").read_text().splitlines()[0]
    assert run_posbias("verify", "found").returncode == 0
    results = json.loads(
        run_posbias(*OVERLAP, "--overwrite", "train.jsonl", "--test", "bench", "--json").stdout
    )["results"]
    assert {result["measure"] for result in results} == {
        "overlap of passages",
        "overlap of queries",
        "overlap of pairs",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "train.jsonl",
            "posbias: leakage overlap: wanted training sets and --test; found no --test; give both",
        ),
        ("gone --test bench", "posbias: gone: wanted a collection"),
        ("train.jsonl --test empty.jsonl", "wanted a table; found an empty file"),
        ("train.jsonl --test bench:dev", "wanted judgements of a split 'dev'; found test"),
        ("train.jsonl --test bench --ngram 1", "posbias: --ngram: wanted"),
        (
            "train.jsonl --test bench --containment 0",
            "posbias: --containment: wanted a share above 0, to 1; found 0",
        ),
        ("train.jsonl --test bench --unit odd", "odd"),
        (
            "train.jsonl --test bench --unit pairs --unit pairs",
            "posbias: --unit: wanted at least one, each once",
        ),
        (
            "train.jsonl --test train.jsonl --unit queries --test train=bench",
            "posbias: --test: wanted different names",
        ),
        ("broken.jsonl --test bench", "broken.jsonl:2: wanted one JSON object a line"),
        (
            "train.jsonl --test bench --address a:1",
            "posbias: --address: wanted with --engine ray only",
        ),
    ],
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias, folder: Path, given: str, said: str
) -> None:
    (folder / "empty.jsonl").write_text("")
    (folder / "broken.jsonl").write_text(json.dumps(ROWS[0]) + "\n{\n")
    before = sorted(folder.iterdir())
    done = run_posbias(*OVERLAP, *given.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
