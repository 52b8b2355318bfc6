"""``posbias leakage overlap`` as a user runs it: a sentence first, bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.records import Qrel

from ..overlap.sets import write_collection
from .conftest import RunPosbias

HEAD = (
    "The keeper of the north hall lights the green lamp at dusk and puts it out again when the "
    "gate opens"
)
OVERLAP = ("leakage", "overlap", "--out", "./found")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training set, and a test set with a copy of a passage and a query of the same beginning."""
    queries = {"a1": "who lights the green lamp at dusk", "a2": "what is iron made of"}
    passages = {"p1": f"{HEAD}.", "p2": "Iron is made of ore in a furnace."}
    qrels = [Qrel("a1", "p1", 1), Qrel("a2", "p2", 1)]
    write_collection(tmp_path / "train", passages, train=(queries, qrels))
    asked = {"q1": "Who lights the green lamp at dawn and in winter, and why?"}
    text = f"Lamps {HEAD.upper()}"
    write_collection(tmp_path / "bench", {"d1": text}, test=(asked, [Qrel("q1", "d1", 1)]))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"passage": HEAD}) + "\n")
    return tmp_path


def test_the_answer_comes_first_and_goes_to_the_other_commands(
    run_posbias: RunPosbias, folder: Path
) -> None:
    done = run_posbias(*OVERLAP, "train", "--test", "bench")
    assert done.returncode == 0, done.stderr
    lines = " ".join(done.stdout.split())
    assert lines.startswith(
        "1 of 1 queries of bench.test (100.0%) have a relevant passage in train.train: 0 exact, 1 "
        "near. Precision unknown. 0 of 1 queries of bench.test (0.0%) are in train.train."
    )
    assert done.stderr == "written to found, the pairs to found/pairs\n"
    assert sorted(path.name for path in (folder / "found" / "pairs").iterdir()) == [
        f"bench.test.{unit}.jsonl" for unit in ("passages", "queries")
    ]
    pairs = "found/pairs/bench.test.passages.jsonl"
    reviewed = run_posbias(
        "leakage", "label", pairs, "--score", "of_test", "--above", 0, "--out", "sheet.tsv"
    )
    assert reviewed.returncode == 0, reviewed.stderr
    assert "of_test" in (folder / "sheet.tsv").read_text().splitlines()[0]
    assert run_posbias("collection", "verify", "found").returncode == 0
    page = run_posbias("report", "found", "--out", "page.html")
    assert page.returncode == 0, page.stderr
    assert "Overlap by unit and detector" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "train",
            "posbias: leakage overlap: wanted training sets and --test; found no --test; give both",
        ),
        ("rows.jsonl --test bench", "wanted a collection; found a file; import it first: posbias"),
        ("train --test bench:dev", "wanted a split 'dev'; found test"),
        ("train --test bench --test bench", "posbias: --test: wanted different names"),
    ],
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias, folder: Path, given: str, said: str
) -> None:
    before = sorted(folder.iterdir())
    done = run_posbias(*OVERLAP, *given.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
