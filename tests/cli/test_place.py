"""``posbias collection place`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from tests.commands import posbias


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """40 passages of four sentences; two questions about the second, one about the third."""
    with create_collection(tmp_path / "source") as writer:
        texts = {f"p{n}": " ".join(f"W{n}x{s} said nothing." for s in range(4)) for n in range(40)}
        writer.add_passages(Passage(*item) for item in texts.items())
        asked = [
            (f"q{n}-{k}", f"p{n}", f"W{n}x{s}") for n in range(40) for k, s in enumerate((1, 1, 2))
        ]
        answers = [
            Answer(q, p, w, texts[p].index(w), texts[p].index(w) + len(w)) for q, p, w in asked
        ]
        writer.add_split(
            "train",
            [Query(q, "who?") for q, _, _ in asked],
            [Qrel(q, p, 1) for q, p, _ in asked],
            answers,
        )
        writer.add_split("eval", [Query("e", "who?")], [])
        writer.finish(Manifest("collection", "source", "a test"))
    return tmp_path / "source"


def test_json_and_a_histogram_of_posbias(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = posbias(
        capsys, "histogram", source, "--json", "--bins", "4", "--set", "resamples=100"
    )
    assert code == 0
    (tmp_path / "histogram.json").write_text(out)
    arguments = (
        source,
        "--density",
        tmp_path / "histogram.json",
        "--out",
        tmp_path / "placed",
        "--seed",
        "3",
    )
    code, out, _ = posbias(capsys, "collection", "place", *arguments, "--json")
    assert code == 0
    # of 120 answers 80 start in the second quarter and 40 in the third
    assert Collection(tmp_path / "placed").manifest.settings["density"]["counts"] == [0, 80, 40, 0]
    kept = [row["value"] for row in json.loads(out)["rows"] if row.get("label") == "kept"]
    assert kept == [80, 0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--density", "end:2"], "found end:2"),
        ([], "Missing options --density"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    code, out, err = posbias(
        capsys, "collection", "place", source, "--out", tmp_path / "x", *arguments
    )
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x").exists()
