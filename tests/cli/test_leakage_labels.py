"""``posbias leakage`` label and clean, and ``evaluate --leaked``, as a user
runs them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.rows import load

from .conftest import RunPosbias


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """As ``find`` writes them: four pairs of q1 and q2 with test queries."""
    (place := tmp_path / "found").mkdir()
    rows = [
        {
            "source": "s",
            "train_id": train,
            "test_id": test,
            "field": "query",
            "train_text": train,
            "test_text": test,
            "cosine": cosine,
        }
        for train, test, cosine in (
            ("q1", "q3", 0.99),
            ("q1", "q4", 0.95),
            ("q2", "q4", 0.93),
            ("q9", "q3", 0.85),
        )
    ]
    (place / "pairs.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    return place


def filled(sheet: Path, out: Path, labels: tuple[str, ...]) -> Path:
    head, *rows = sheet.read_text(encoding="utf-8").splitlines()
    out.write_text(
        "\n".join([head, *(row + label for row, label in zip(rows, labels, strict=False))]) + "\n",
        encoding="utf-8",
    )
    return out


def test_label_and_clean(
    run_posbias: RunPosbias, pairs: Path, small_collection: Collection, tmp_path: Path
) -> None:
    done = run_posbias("leakage", "label", pairs, "--per-test", 5, "--out", "sheet.tsv")
    assert done.returncode == 0, done.stderr
    assert "4 pairs of 2 test queries written to sheet.tsv" in done.stderr
    # in the sheet: q3 with q1 and q9, q4 with q1 and q2
    one = filled(
        tmp_path / "sheet.tsv",
        tmp_path / "one.tsv",
        ("identical", "no", "different", "specialization"),
    )
    two = filled(
        tmp_path / "sheet.tsv",
        tmp_path / "two.tsv",
        ("identical", "no", "identical", "specialization"),
    )
    done = run_posbias("leakage", "label", pairs, "--labels", one)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["true", "2", "2"] in lines
    assert ["false", "2", "2"] in lines
    done = run_posbias(
        "leakage",
        "label",
        one,
        "--set",
        "rule=paper",
        "--least-precision",
        "0.6",
        "--apply",
        "0.95",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    values = {
        (row["measure"], row["statistic"], row.get("subset", "")): row.get("value")
        for row in json.loads(done.stdout)["rows"]
    }
    # falling: 0.99 yes, 0.95 no, 0.93 yes, 0.85 no
    assert values["threshold", "lowest", ""] == 0.93
    assert values["precision", "share", "labelled"] == 0.5
    assert values["precision", "share", "calibrated"] == pytest.approx(2 / 3)
    assert values["precision", "share", "given"] == 0.5
    few = run_posbias("leakage", "label", one)
    assert few.stdout.startswith(
        "cosine: no threshold surely keeps a precision of 0.9 (the best lower bound is 0."
    )
    shown = run_posbias("leakage", "label", one, "--set", "rule=paper", "--least-precision", "0.6")
    assert shown.stdout.startswith(
        "cosine: from 0.9300 on, the precision is at least 0.6 as these pairs have it"
    )
    assert "give no recall" in shown.stdout
    done = run_posbias(
        "leakage", "clean", "./small", "--pairs", two, "--threshold", "0.9", "--out", "./clean"
    )
    assert done.returncode == 2  # q1 and q2 leak, and no query is left
    assert "found reasons to remove all 2" in done.stderr
    done = run_posbias(
        "leakage", "clean", "./small", "--pairs", pairs, "--threshold", "0.94", "--out", "./clean"
    )
    assert done.returncode == 0, done.stderr
    assert "clean: removed 1 of 2 train queries (50.00%)" in done.stdout
    made = Collection(tmp_path / "clean")
    assert [query.query_id for query in made.queries("train")] == ["q2"]
    (line,) = (
        (tmp_path / "clean" / "left_out" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    )
    assert [reason["test_query_id"] for reason in json.loads(line)["reasons"]] == ["q3", "q4"]


def test_clean_looks_for_itself(
    run_posbias: RunPosbias, small_collection: Collection, tmp_path: Path
) -> None:
    (tmp_path / "topics.tsv").write_text(
        "t1\twhat does the lamp of Orvell burn\n", encoding="utf-8"
    )
    looked = (
        "leakage",
        "clean",
        "./small",
        "--against",
        "topics.tsv",
        "--detector",
        "lexical",
        "--out",
        "./clean",
    )
    done = run_posbias(*looked)
    assert done.returncode == 2
    assert (
        "--detector lexical: wanted --lexical with it, as words alone find candidates of "
        "unknown precision"
    ) in done.stderr
    done = run_posbias(*looked, "--lexical")
    assert done.returncode == 0, done.stderr
    assert [query.query_id for query in Collection(tmp_path / "clean").queries("train")] == ["q2"]


def test_runs_on_leaked_and_clean_queries(
    run_posbias: RunPosbias, pairs: Path, small_collection: Collection, tmp_path: Path
) -> None:
    best = {"q3": "p-bridge", "q4": "p-tower", "q5": "p-cafe"}
    for name, found in (("one", ("q3", "q4")), ("two", ("q5",))):
        ranked = [
            f"{query} Q0 {best[query] if query in found else 'p-empty'} 1 1.0 {name}\n"
            for query in best
        ]
        (tmp_path / f"{name}.run").write_text("".join(ranked), encoding="utf-8")
    given = [
        "evaluate",
        "one.run",
        "two.run",
        "--collection",
        "./small",
        "-m",
        "RR@10",
        "--leaked",
        pairs,
    ]
    done = run_posbias(*given, "--out", "./measured")
    assert done.returncode == 0, done.stderr
    head, order = done.stdout.split("\n\n")[:2]
    # three queries have no intervals
    assert head.startswith(
        "one has the highest RR@10 of 2 runs, 0.667; one → two: −0.333, cannot tell whether that is"
    )
    assert "more than chance (Holm-adjusted p 1.000)." in head
    # each of the three splits swaps the two
    answer = (
        "RR@10: order of systems on leaked and on clean queries: Kendall's τ −1.000 between 2 "
        "leaked and 1 clean queries, −1.000 in random splits"
    )
    assert " ".join(order.split()).startswith(answer)
    assert run_posbias("report", "./measured", "--out", "page.html").returncode == 0
    assert "order of systems on leaked and on clean queries" in (tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    rows = load(tmp_path / "measured").query("measure == 'RR@10'").set_index(["model", "statistic"])
    assert rows.value["one", "mean, leaked less clean"] == 1.0
    assert rows.value["two", "gain, leaked less clean"] == -2.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("leakage", "label", "found"),
            "found: wanted labelled pairs; found 4 pairs without a label",
        ),
        (
            ("leakage", "label", "bad.tsv"),
            "bad.tsv:2: wanted a pair of texts; found the label 'perhaps', none of identical",
        ),
        (
            ("leakage", "label", "found", "--per-test", 2),
            "--per-test: wanted --out, which draws pairs; found none, with which it does nothing",
        ),
        (
            ("leakage", "label", "found", "--set", "rule=paper", "--out", "x.tsv"),
            "rule: wanted no --out, which draws pairs; found it, with which it does nothing",
        ),
        (
            ("leakage", "label", "found", "--labels", "other.tsv"),
            "other.tsv:2: wanted pairs of found; found 1 others",
        ),
        (
            (
                "leakage",
                "clean",
                "./small",
                "--pairs",
                "found",
                "--encoder",
                "minilm",
                "--out",
                "./x",
            ),
            "--encoder: wanted with --against",
        ),
    ],
    ids=range(6),
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias,
    pairs: Path,
    small_collection: Collection,
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "bad.tsv").write_text("train_id\ttest_id\tlabel\na\tb\tperhaps\n", encoding="utf-8")
    (tmp_path / "other.tsv").write_text("train_id\ttest_id\tlabel\na\tb\tyes\n", encoding="utf-8")
    done = run_posbias(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
