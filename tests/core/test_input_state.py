"""An input is told by its content, whatever its size and time say."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from positionbias.core import files
from positionbias.core.errors import InputError
from positionbias.core.files import content_digest, file_mark, file_state, unchanged


def rewrite(path: Path, text: str) -> None:
    """Other content of the same length and with the same time of change."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a")
    os.utime(path, ns=(1, 5))
    assert file_state(path) == {
        "name": "in",
        "bytes": 1,
        "sha256": hashlib.sha256(b"a").hexdigest(),
    }
    assert file_mark(path) == {"name": "in", "bytes": 1, "changed": 5}
    rewrite(path, "b")
    assert file_mark(path) == {"name": "in", "bytes": 1, "changed": 5}
    assert file_state(path)["sha256"] == hashlib.sha256(b"b").hexdigest()


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    # as if it had been written long ago
    monkeypatch.setattr(files, "_SETTLED", -1_000_000_000)
    monkeypatch.setattr(files, "sha256_file", lambda path: (read.append(path), "digest")[1])
    (tmp_path / "in").write_text("read once")
    with unchanged([tmp_path / "in"]):
        assert content_digest(tmp_path / "in") == file_state(tmp_path / "in")["sha256"] == "digest"
    assert len(read) == 1


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for tell in (file_state, file_mark, content_digest):
        with pytest.raises(
            InputError,
            match="none: wanted a readable file; found No such file or directory; check the path",
        ):
            tell(tmp_path / "none")
        with pytest.raises(
            InputError, match="pipe: wanted a readable file; found a pipe or device; give a file"
        ):
            tell(tmp_path / "pipe")


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a")
    with unchanged([path]):
        path.chmod(0o600)
    message = "in: wanted a file that stays as it is; found one that changed while it was read"
    with pytest.raises(InputError, match=message), unchanged([path]):
        rewrite(path, "b")
