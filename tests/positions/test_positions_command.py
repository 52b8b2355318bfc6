"""``posbias histogram`` and ``posbias debias`` as a user calls them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.rows import load
from tests.sealing import reseal


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(exit_.value.code or 0), out, err


def test_debias_then_histogram_of_both(
    small_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(
        capsys,
        "debias",
        small_collection.path,
        "--out",
        tmp_path / "rotated",
        "--seed",
        "2",
        "--set",
        "no_identity=true",
    )
    assert code == 0
    assert "rotated: 7 passages, 71.4\u00a0% rotated" in out
    assert "posbias histogram" in err
    saved = tmp_path / "results"
    both = (small_collection.path, tmp_path / "rotated")
    code, out, err = run(
        capsys,
        "histogram",
        *both,
        "--split",
        "train",
        "--out",
        saved,
        "--set",
        "resamples=100",
    )
    assert code == 0
    assert "rotated, train: 2 of 2 of the source's spans are among the words' matches." in out
    assert list(load(saved)["collection"].unique()) == ["small", "rotated"]
    assert json.loads((saved / "manifest.json").read_text())["inputs"][0]["path"] == "../small"


def test_json_is_one_object_and_nothing_else(
    small_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(
        capsys,
        "histogram",
        small_collection.path,
        "--json",
        "--bins",
        "4",
        "--set",
        "matches=last",
        "--point",
        "midpoint",
    )
    bins = [row["split"] for row in json.loads(out)["rows"] if row.get("axis") == "bin"]
    assert bins == ["train"] * 4 + ["test"] * 4
    _, out, _ = run(
        capsys,
        "debias",
        small_collection.path,
        "--out",
        tmp_path / "r",
        "--words",
        "whitespace",
        "--json",
    )
    assert json.loads(out)["rows"][0]["collection"] == "r"


def test_plain_names_are_written_here_and_also_read_under_the_home(
    small_collection: Collection,
    posbias_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run(capsys, "debias", small_collection.path, "--out", "turned", "--workers", "2")[0] == 0
    assert Collection(tmp_path / "here" / "turned").manifest.provenance["workers"] == 2
    assert (
        run(
            capsys,
            "histogram",
            "turned",
            "--json",
            "--set",
            "no_offsets=true",
            "--set",
            "fold_case=true",
        )[0]
        == 0
    )
    os.rename("turned", posbias_home / "turned")
    assert (
        run(
            capsys,
            "histogram",
            "turned",
            "--json",
            "--set",
            "no_offsets=true",
            "--set",
            "fold_case=true",
        )[0]
        == 0
    )


def test_a_passage_of_one_sentence_is_told_by_sentences(
    make_collection: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection({"p": "東京。日本。", "q": "東京"}, [])
    _, out, _ = run(
        capsys, "debias", collection.path, "--out", tmp_path / "s", "--mode", "sentences"
    )
    assert re.search(r"without inner sentence boundary +1\n", out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["histogram", "COLLECTION", "--bins", "0"],
            "--bins: wanted a number from 1 to 1000; found 0",
        ),
        (["histogram", "COLLECTION", "--split", "dev"], "wanted split 'dev'; found train, test"),
        (["histogram", "nowhere"], "wanted a collection"),
        (["histogram"], "Missing argument 'COLLECTION…'"),
        (["debias", "COLLECTION", "--out", "COLLECTION"], "which is the input"),
        (["debias", "COLLECTION", "--out", "x", "--mode", "lines"], "found 'lines'; pick one"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    small_collection: Collection,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    code, out, err = run(
        capsys,
        *(str(small_collection.path) if item == "COLLECTION" else item for item in arguments),
    )
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_damaged_shard_is_one_line(
    small_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard = small_collection.shard_paths[0]
    shard.write_bytes(shard.read_bytes()[:200])
    reseal(small_collection.path)
    for workers in ("1", "2"):
        code, _, err = run(
            capsys, "debias", small_collection.path, "--out", tmp_path / "r", "--workers", workers
        )
        assert code == 2
        assert "wanted a whole Arrow file" in err
        assert err.count("\n") == 1
        assert not (tmp_path / "r").exists()
