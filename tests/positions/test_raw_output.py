"""A file that grows piece by piece, and goes on where a run was killed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from positionbias.core.files import open_bytes
from positionbias.core.manifest import Manifest, write_manifest
from positionbias.core.publish import resumable_folder, work_folder
from positionbias.positions.raw_files import (
    Packing,
    pack,
    packing_of,
    resumed_file,
)

JOB = {"command": "a test"}
PIECES = [b"first\n", b"second\n", b"third\n"]


class Killed(Exception):
    """What a test ends a run with: nothing is cleared away for it."""


def write(
    final: Path,
    pieces: list[bytes],
    *,
    stop_after: int | None = None,
    packing: Packing | None = None,
) -> list[bytes]:
    """Write pieces, going on after those that are there; gives those that were made now."""
    made = []
    with resumable_folder(final, JOB, folder=False) as folder:
        with resumed_file(folder, final.name, packing) as file:
            for number, piece in enumerate(pieces):
                if number < len(file.facts):
                    assert file.facts[number] == {"numbers": {"of the piece": number}}
                    continue
                if number == stop_after:
                    raise Killed
                file.append(pack(piece, packing), {"numbers": {"of the piece": number}})
                made.append(piece)
            assert file.checksum == hashlib.sha256(b"".join(pieces)).hexdigest()
            assert file.size == len(b"".join(pieces))
        write_manifest(
            folder / f"{final.name}.manifest.json", Manifest("file", final.name, "a test")
        )
    return made


@pytest.mark.parametrize("name", ["out.tsv", "out.tsv.gz", "out.tsv.zst"])
def test_a_killed_run_goes_on_after_the_last_piece(tmp_path: Path, name: str) -> None:
    final, packing = tmp_path / name, packing_of(name)
    with pytest.raises(Killed):
        write(final, PIECES, stop_after=2, packing=packing)
    assert not final.exists()
    assert write(final, PIECES, packing=packing) == PIECES[2:]
    with open_bytes(final) as handle:
        assert handle.read() == b"first\nsecond\nthird\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.manifest.json"]


@pytest.mark.parametrize(
    ("damage", "made_again"),
    [
        ("content cut in the second piece", 2),
        ("content changed in the first piece", 3),
        ("content longer than the log", 1),
        ("log cut in its second line", 2),
        ("log's facts changed", 3),
        ("no log", 3),
    ],
)
def test_only_what_the_log_agrees_with_is_kept(
    tmp_path: Path, damage: str, made_again: int
) -> None:
    final = tmp_path / "out"
    with pytest.raises(Killed):
        write(final, PIECES, stop_after=2)
    (content,) = work_folder(final).rglob("out")
    (log,) = work_folder(final).rglob(".pieces")
    match damage.split()[0], damage.split()[1]:
        case "content", "cut":
            content.write_bytes(content.read_bytes()[:9])
        case "content", "changed":
            content.write_bytes(b"F" + content.read_bytes()[1:])
        case "content", "longer":
            content.write_bytes(content.read_bytes() + b"thi")
        case "log", "cut":
            log.write_bytes(log.read_bytes()[:-7])
        case "log's", _:
            log.write_bytes(log.read_bytes().replace(b'"of the piece": 0', b'"of the piece": 7'))
        case _:
            log.unlink()
    assert write(final, PIECES) == PIECES[-made_again:]
    assert final.read_bytes() == b"first\nsecond\nthird\n"


@pytest.mark.parametrize("name", ["out", ".pieces"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_elsewhere_is_written_through_a_link_and_no_pipe_is_waited_for(
    tmp_path: Path, name: str, kind: str
) -> None:
    final, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    with pytest.raises(Killed):
        write(final, PIECES, stop_after=2)
    (path,) = (each for each in work_folder(final).rglob("*") if each.name == name)
    path.unlink()
    path.symlink_to(elsewhere) if kind == "link" else os.mkfifo(path)
    assert write(final, PIECES) == PIECES
    assert final.read_bytes() == b"first\nsecond\nthird\n"
    assert elsewhere.read_text() == "mine"
