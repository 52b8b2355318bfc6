"""``posbias leakage find`` as a user runs it: sources and fields, an encoder of one's own, and bad
input in one line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.cli.main import main
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
        (
            ["train.tsv", "train.tsv", "topics.txt"],
            "--source: wanted different names; found train, train; rename one",
        ),
        (
            ["train.tsv", "broken.txt"],
            "broken.txt:1: wanted every topic between <top> and </top>; found <num> outside these",
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
