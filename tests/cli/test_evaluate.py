"""``posbias evaluate``: what it prints, what it saves, and one clear line where it cannot."""

import gzip
import json

import pytest

from positionbias.core.rows import load, load_values, records
from tests.commands import posbias


def shown(out):
    """The rows of means and of differences from the first run, of what --json prints."""
    rows = json.loads(out)["rows"]
    return [row for row in rows if row["statistic"] in ("mean", "difference")]


@pytest.fixture
def runs(tmp_path):
    """Two runs over the small collection's test split: relevant passages at ranks 1, 2, none; and
    1, 1, none.
    """
    one, two = tmp_path / "one.run", tmp_path / "two.run.gz"
    one.write_text(
        "q3 Q0 p-bridge 1 2.5 one\nq3 Q0 p-lamp 2 1 one\nq4 Q0 p-lamp 1 9 one\nq4 Q0 p-tower 2 8 "
        "one\n"
    )
    two.write_bytes(
        gzip.compress(b"q3 Q0 p-bridge 1 2 two\nq4 Q0 p-tower 1 3 two\nq4 Q0 p-lamp 2 1 two\n")
    )
    return one, two


def test_json(small_collection, runs, capsys):
    code, out, err = posbias(
        capsys,
        "evaluate",
        *runs,
        "--collection",
        small_collection.path,
        "-m",
        "RR@10",
        "-m",
        "R@1",
        "--json",
    )
    assert code == 0
    results = shown(out)
    assert [(r["model"], r["measure"], r["statistic"]) for r in results] == [
        *(("one", "RR@10", "mean"), ("one", "R@1", "mean")),
        *(("two", "RR@10", "mean"), ("two", "R@1", "mean")),
        *(("two", "RR@10", "difference"), ("two", "R@1", "difference")),
        *(("one", "Judged@1", "mean"), ("one", "Judged@10", "mean")),
        *(("two", "Judged@1", "mean"), ("two", "Judged@10", "mean")),
    ]
    # one of two passages is judged for q3 and for q4, none is there for q5; of the second run q3's
    # only one is
    shares = [1 / 3, (1 / 2 + 1 / 2) / 3, 2 / 3, (1 + 1 / 2) / 3]
    assert [r["value"] for r in results] == pytest.approx(
        [1.5 / 3, 1 / 3, 2 / 3, 2 / 3, 0.5 / 3, 1 / 3, *shares]
    )
    first = results[0]
    assert (first["collection"], first["split"], first["count"]) == ("small", "test", 3)
    assert "queries without candidates: 1" in err


def test_table(small_collection, runs, capsys):
    code, out, _ = posbias(
        capsys, "--quiet", "evaluate", *runs, "--collection", small_collection.path, "-m", "RR@10"
    )
    assert code == 0
    lines = out.replace("\u00a0", " ").splitlines()
    # of 3 queries: no interval
    assert lines[0].startswith("two has the highest RR@10 of 2 runs, 0.667; one → two: +0.167")
    assert "cannot tell whether that is more than chance (Holm-adjusted p" in " ".join(lines[:3])
    assert "one: queries without candidates: 1." in lines
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("Run")) :]
    assert table[0].split() == ["Run", "RR@10", "J@10"]
    assert table[2].split() == ["one", "0.5000", "0.3333"]
    assert table[3].split()[:2] == ["two", "0.6667"]
    assert table[5] == "Against the first run"
    assert table[9].split()[:7] == ["one", "→", "two", "RR@10", "+0.1667", "+33.3", "%"]


def test_remarks(small_collection, runs, capsys):
    _, _, err = posbias(
        capsys, "evaluate", *runs, "--collection", small_collection.path, "-m", "RR@10"
    )
    assert err.splitlines() == [
        "one: 3 judged queries; queries without candidates: 1",
        "two: 3 judged queries; queries without candidates: 1",
        "RR@10: no interval: fewer than 5 clusters of queries",
        "two, RR@10: intervals undefined: fewer than 5 clusters of queries",
    ]


def test_trec_qrels_and_saved_results(small_collection, runs, tmp_path, capsys):
    qrels, out = tmp_path / "qrels.txt", tmp_path / "saved" / "results"
    qrels.write_text("q3 0 p-bridge 1\nq4 0 p-tower 2\n")
    options = ("--qrels", qrels, "-m", "RR(rel=2)@10", "--out", out, "--json")
    code, printed, _ = posbias(capsys, "evaluate", *runs, *options)
    assert code == 0
    assert [r["value"] for r in shown(printed)] == pytest.approx([0.25, 0.5, 0.25, 0.5, 0.75])
    assert records(load(out)) == json.loads(printed)["rows"]
    values = load_values(out)
    of_first = values[values["row"] == 0].set_index("item")["value"]
    assert of_first.mean() == pytest.approx(0.25)
    manifest = json.loads((out / "manifest.json").read_text())
    assert [(item["role"], item["path"]) for item in manifest["inputs"]] == [
        ("qrels", "../../qrels.txt"),
        ("run", "../../one.run"),
        ("run", "../../two.run.gz"),
    ]
    code, _, err = posbias(capsys, "evaluate", *runs, *options)
    assert (code, "done before" in err) == (0, True)
    code, _, err = posbias(capsys, "evaluate", *runs, *options, "-m", "nDCG@10")
    assert code == 2
    assert "--overwrite" in err
    assert posbias(capsys, "evaluate", *runs, *options, "--overwrite")[0] == 0


LINE = "q3 Q0 p-bridge 1 2.5 tag\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("q3 Q0 p-none 1 2.5 tag\n", (), "wanted passages of"),
        (
            "q1 Q0 p-lamp 1 2.5 tag\n",
            (),
            "wanted candidates for at least one of 3 judged queries; found none",
        ),
        ("q3 Q0 p-lamp\n", (), ":1: wanted six columns"),
        (LINE, ("-m", "nDGC@10"), "-m: wanted a measure; found 'nDGC@10'; did you mean nDCG@10?"),
    ],
)
def test_one_clear_line(small_collection, tmp_path, capsys, text, arguments, message):
    path = tmp_path / "a.run"
    path.write_text(text)
    code, out, err = posbias(
        capsys, "evaluate", path, "--collection", small_collection.path, *arguments
    )
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_missing_files_and_sources(small_collection, runs, capsys):
    for arguments, message in (
        (("no.run", "--collection", small_collection.path), "wanted a readable file"),
        ((runs[0],), "give --collection, or --qrels FILE"),
        ((runs[0], runs[0], "--collection", small_collection.path), "found one file twice"),
    ):
        code, out, err = posbias(capsys, "evaluate", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
