"""``posbias collection attach`` as a user runs it: a data set of BEIR gets answers, and is measured
and audited by them.
"""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import RunPosbias


def test_a_data_set_of_beir_is_measured_and_audited_by_attached_answers(
    run_posbias: RunPosbias, tmp_path: Path
) -> None:
    (tmp_path / "in" / "qrels").mkdir(parents=True)
    numbers = range(20)
    corpus = [
        {
            "_id": f"d{n}",
            "title": "",
            "text": f"It hangs in hall {n}. The lamp {n} burns oil of Orvell.",
        }
        for n in numbers
    ]
    queries = [{"_id": f"q{n}", "text": f"what burns in lamp {n}"} for n in numbers]
    answers = [
        {"query-id": f"q{n}", "corpus-id": f"d{n}", "answer": "oil of Orvell"} for n in numbers
    ]
    answers.append({"query-id": "q1", "corpus-id": "d1", "answer": "petrol"})
    for name, rows in (("in/corpus", corpus), ("in/queries", queries), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    judged = "".join(f"q{n}\td{n}\t1\n" for n in numbers)
    (tmp_path / "in" / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    assert run_posbias("import", "beir", "in", "--out", "./bare").returncode == 0
    done = run_posbias(
        "collection", "attach", "./bare", "--answers", "answers.jsonl", "--out", "./with"
    )
    assert done.returncode == 0, done.stderr
    assert (
        "test: 20 answers added\n21 rows\n1 row left out, text not found in passage; the first:"
        in done.stderr
    )
    shown = run_posbias("histogram", "./with", "--json")
    assert shown.returncode == 0, shown.stderr
    (mean,) = [row for row in json.loads(shown.stdout)["rows"] if row["statistic"] == "mean"]
    assert mean["value"] > 0.5
    assert (
        run_posbias(
            "collection",
            "attach",
            "./bare",
            "--answers",
            "answers.jsonl",
            "--out",
            "./bare",
            "--overwrite",
        ).returncode
        == 2
    )
