"""``posbias import msmarco-qa`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import RunPosbias

ROW = {
    "answers": ["green oil"],
    "passages": [{"is_selected": 1, "passage_text": "The lamp burns green oil.", "url": ""},
    {"passage_text": "A gate.", "url": ""}],
    "query": "what burns",
    "query_id": 1,
    "query_type": "ENTITY",
}  # fmt: skip


def test_files_go_to_the_splits_that_were_said(run_posbias: RunPosbias, tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "more.json").write_text(
        json.dumps({name: {"0": value} for name, value in ROW.items()})
    )
    done = run_posbias(
        "import",
        "msmarco-qa",
        "dev.json",
        "--validation",
        "more.json",
        "--out",
        "qa",
        "--workers",
        "2",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "qa: 2 passages, 2 queries (train 1, validation 1) and 2 answers.\n"
    )
    assert [line.split() for line in done.stdout.splitlines()[4:] if "─" not in line] == [
        ["Split", "queries", "judgements", "answers"],
        ["train", "1", "1", "1"],
        ["validation", "1", "1", "1"],
    ]
    assert "4 passages read, 2 distinct" in done.stderr
    assert "validation: 1 queries, 1 rows, 1 selected, 1 not judged\n" in done.stderr


def test_without_a_file_the_error_is_one_line(run_posbias: RunPosbias) -> None:
    done = run_posbias("import", "msmarco-qa", "--out", "qa")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(
        "posbias: FILE, --validation, --test: wanted files of train, validation, test; found none"
    )


@pytest.mark.realdata
def test_the_histogram_of_the_real_pairs_leans_to_the_front(
    run_posbias: RunPosbias, posbias_data: Path
) -> None:
    file = posbias_data / "msmarco_spans" / "qa_v1.1_form.jsonl"
    assert run_posbias("import", "msmarco-qa", file, "--out", "qa").returncode == 0
    done = run_posbias("histogram", "qa", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    bins = [row for row in rows if row.get("axis") == "bin"]
    (found,) = [row["value"] for row in rows if row.get("label") == "by matching"]
    # 343 of the 346 answers are found at the edges of words, at 360 places; two fill their passage
    # and are left out, and of the others 95 + 28 start in the first tenth
    assert found == 343
    assert [row["count"] for row in bins[:2]] == [95, 28]
    assert sum(row["count"] for row in bins) == 358
    assert sum(row["expected"] for row in bins[:2]) < 0.16
