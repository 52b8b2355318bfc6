"""The same command with the same inputs is done before; anything else is refused as before."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.core.errors import OutputExistsError
from positionbias.core.manifest import read_manifest
from positionbias.core.same_command import DoneBefore, job_of
from positionbias.settings import Retrieval


def test_what_stands_there_was_made_by_the_same_call(
    small_collection: pb.Collection, tmp_path: Path
) -> None:
    made = pb.debias(small_collection, out=tmp_path / "rotated")
    with pytest.raises(
        DoneBefore, match="rotated: done before, by the same command from the same inputs"
    ) as done:
        pb.debias(small_collection, out=tmp_path / "rotated")
    assert done.value.exit_code == 0
    with pytest.raises(OutputExistsError, match="wanted a new path") as refused:
        pb.debias(small_collection, out=tmp_path / "rotated", rotation=pb.settings.Rotation(seed=2))
    assert refused.value.exit_code == 2
    # the manifest was signed with the job in it
    assert pb.verify([made.path]).artefacts[-1].fault == ""
    pb.debias(small_collection, out=tmp_path / "rotated", overwrite=True)


def test_damage_is_not_done_before(small_collection: pb.Collection, tmp_path: Path) -> None:
    def retrieve() -> object:
        return pb.retrieve(small_collection, wanted=Retrieval("test"), out=tmp_path / "a.run")

    retrieve()
    assert len(str(read_manifest(tmp_path / "a.run").provenance["job"])) == 64
    with pytest.raises(DoneBefore):
        retrieve()
    (tmp_path / "a.run").write_bytes((tmp_path / "a.run").read_bytes().replace(b"Q0", b"Q1"))
    with pytest.raises(OutputExistsError) as refused:
        retrieve()
    assert refused.value.exit_code == 2


@dataclass(frozen=True)
class Depth:
    depth: int


def test_a_job_is_known_by_its_arguments_and_the_state_of_its_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.tsv").write_text("a")
    Path("own.py").write_text("")

    def job(place: object = "in.tsv", depth: object = Depth(2)) -> str | None:
        return job_of("read", [("source", place, True), ("depth", depth, False)])

    first = job()
    assert first == job() is not None
    assert len({first, job(depth=Depth(3)), job("other.tsv"), job("own:score")}) == 4
    before = job("own:score")
    Path("own.py").write_text("changed")
    assert job("own:score") != before
    os.utime("in.tsv", ns=(1, 1))
    assert job() != first
    os.mkfifo("pipe")
    assert job("pipe") is job("-") is job(depth=object()) is job(["in.tsv", "pipe"]) is None
