"""``posbias debias`` on raw files, pipes and names, as a user calls it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from tests.cli.conftest import POSBIAS
from tests.commands import posbias

TSV = "p1\tone two three four\np2\tword\n"
ROTATED = "p1\ttwo three four one \np2\tword\n"  # the doctest of rotate


def piped(cwd: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [*POSBIAS, *arguments],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=environment,
        check=False,
    )


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    path = tmp_path / "collection.tsv"
    path.write_text(TSV)
    return path


def test_a_file_becomes_a_file_and_its_checksum_is_that_of_sha256sum(
    tsv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tsv.with_name("rotated.tsv")
    code, printed, err = posbias(capsys, "debias", tsv, "--out", out)
    checksum = hashlib.sha256(ROTATED.encode()).hexdigest()
    assert (code, out.read_text()) == (0, ROTATED)
    assert "rotated.tsv: 2 passages, 50.0\u00a0% rotated" in printed
    assert "rotated.tsv.manifest.json" in err
    code, printed, _ = posbias(
        capsys, "debias", tsv, "--out", f"{out}.gz", "--json", "--workers", "2"
    )
    share = json.loads(printed)["rows"][0]
    assert (code, share["measure"], share["count"], share["value"]) == (0, "rotation", 2, 0.5)
    made = json.loads((tsv.parent / "rotated.tsv.gz.manifest.json").read_text())
    assert made["content"]["checksum"] == checksum


def test_a_pipe_goes_through_and_the_counts_go_to_standard_error(tmp_path: Path) -> None:
    done = piped(tmp_path, "debias", "-", "--set", "format=tsv", stdin=TSV.encode())
    assert (done.returncode, done.stdout) == (0, ROTATED.encode())
    assert "standard output: 2 passages, 50.0\u00a0% rotated".encode() in done.stderr
    quiet = piped(
        tmp_path,
        "--quiet",
        "debias",
        "-",
        "--set",
        "format=jsonl",
        stdin=b'{"id": "p1", "text": "one two three four"}',
    )
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (
        0,
        b'{"id": "p1", "text": "two three four one "}',
        b"",
    )
    as_json = piped(tmp_path, "debias", "-", "--set", "format=tsv", "--json", stdin=TSV.encode())
    assert as_json.stdout == ROTATED.encode()
    assert json.loads(as_json.stderr)["rows"][0]["count"] == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_go_to_standard_output_and_a_pipe_to_a_file(tsv: Path) -> None:
    assert piped(tsv.parent, "debias", "collection.tsv", "--out", "-").stdout == ROTATED.encode()
    assert (
        piped(
            tsv.parent,
            "debias",
            "-",
            "--set",
            "format=tsv",
            "--out",
            "of_pipe.tsv",
            stdin=TSV.encode(),
        ).returncode
        == 0
    )
    assert (tsv.parent / "of_pipe.tsv").read_text() == ROTATED


def test_a_named_pipe_is_read_like_standard_input(tsv: Path) -> None:
    code = 'cat collection.tsv | gzip | exec "$@" debias /dev/fd/0 --set format=tsv'
    done = subprocess.run(
        ["bash", "-c", code, "bash", *POSBIAS], capture_output=True, cwd=tsv.parent, check=False
    )
    assert (done.returncode, done.stdout) == (0, ROTATED.encode())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-"], "--format: wanted tsv or jsonl for a pipe"),
        (
            ["collection.tsv"],
            "--out: wanted the file to write for the file collection.tsv; found none",
        ),
        (
            ["collection.tsv", "--out", "collection.tsv"],
            "found collection.tsv, which is the input collection.tsv; give another",
        ),
        (
            ["missing.tsv", "--out", "x.tsv"],
            "missing.tsv: wanted a file to rotate, or a collection; found nothing there",
        ),
        (
            ["small", "--set", "format=tsv"],
            "--format: wanted a raw file; found the collection small; leave it out",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tsv: Path,
    small_collection: Collection,
    monkeypatch: Any,
    capsys: Any,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tsv.parent)
    code, printed, err = posbias(capsys, "debias", *arguments)
    assert (code, printed) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tsv.parent.iterdir()) == ["collection.tsv", "small"]
