"""``posbias import msmarco-qa`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

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
