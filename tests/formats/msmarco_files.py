"""Invented files in MS MARCO's layouts, for the tests."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Each file under its name; a name with .gz is compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(packed(name, content))
    return folder


def packed(name: str, content: str | bytes) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return gzip.compress(data, mtime=0) if name.endswith(".gz") else data


def write_tar(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """The same as an archive, compressed where its name says so."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            data = packed(name, content)
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(path.name, buffer.getvalue()))
    return path
