"""``posbias import beir`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import RunPosbias


def test_what_was_met_is_said(run_posbias: RunPosbias, tmp_path: Path) -> None:
    (tmp_path / "in" / "qrels").mkdir(parents=True)
    (tmp_path / "in" / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Orvell", "text": "A lamp."}\n{"_id": "d2", "title": "", "text": '
        '""}\n'
    )
    (tmp_path / "in" / "queries.jsonl").write_text('{"_id": "q1", "text": "what hangs"}\n')
    (tmp_path / "in" / "qrels" / "dev.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t1\nq1\td9\t1\n"
    )
    done = run_posbias("import", "beir", "in", "--out", "small", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert "1 passages with a title, put in front; 1 without a text" in done.stderr
    assert "1 lines of qrels said again what an earlier one had said" in done.stderr
    assert done.stdout.startswith("small: 2 passages, 1 query (validation 1) and 0 answers.\n")
    assert run_posbias(
        "import", "beir", "in", "--set", "titles=false", "--out", "bare"
    ).stderr.startswith("1 passages with a title, which is left out; 1 without a text")
    (tmp_path / "in" / "queries.jsonl").unlink()
    (tmp_path / "in" / "qrels" / "dev.tsv").unlink()
    alone = run_posbias("import", "beir", "in", "--out", "alone", "--json")
    assert "no queries.jsonl and no qrels: the corpus alone came in" in alone.stderr
    rows = json.loads(alone.stdout)["rows"]
    assert [row["value"] for row in rows if row["measure"] == "passages"] == [2]
