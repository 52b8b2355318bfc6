"""Budgets: a small file that unpacks to gigabytes, a document or line without end, and what is no
file, each one clear line.
"""

from __future__ import annotations

import gzip
import os
import socket
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import LINE, open_bytes, read_json
from positionbias.core.qrels import Qrels
from positionbias.core.run import Run
from positionbias.formats.squad_json import read_squad
from positionbias.formats.trec_topics import read_topics
from positionbias.leakage.pairs import read_pairs
from positionbias.pooling.measured import read_systems
from positionbias.ranking.teacher_files import scored_pairs

LINES: dict[str, Callable[[Path], Any]] = {
    "run": Run.from_file,
    "qrels": Qrels.from_file,
    "teacher": lambda path: list(scored_pairs(path)),
    "pairs": lambda path: list(read_pairs(path)),
    "systems": read_systems,
}
DOCUMENTS: dict[str, Callable[[Path], Any]] = {
    "json": read_json,
    "squad": read_squad,
    "topics": read_topics,
}


def bomb(path: Path, packing: str, megabytes: int) -> Path:
    """A file of so many megabytes of one letter, packed."""
    if packing == "gz":
        with gzip.open(path, "wb", compresslevel=6) as handle:
            for _ in range(megabytes):
                handle.write(b"x" * (1 << 20))
    else:
        with open(path, "wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as handle:
            for _ in range(megabytes):
                handle.write(b"x" * (1 << 20))
    return path


def peak(work: Callable[[], Any]) -> int:
    """The most bytes that Python held during the work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By how they are packed."""
    folders = {packing: tmp_path_factory.mktemp(packing) for packing in ("gz", "zst")}
    return {packing: bomb(folder / "file", packing, 300) for packing, folder in folders.items()}


@pytest.mark.parametrize(
    ("reader", "packing"),
    [*((reader, "gz") for reader in [*LINES, *DOCUMENTS]), (next(iter(LINES)), "zst")],
)
def test_a_small_file_of_one_endless_line_is_refused_and_not_held(
    bombs: dict[str, Path], reader: str, packing: str
) -> None:
    def read() -> None:
        with pytest.raises(
            InputError,
            match=r"file: wanted at most 200 unpacked bytes .* raise \$POSBIAS_MAX_RATIO$",
        ):
            {**LINES, **DOCUMENTS}[reader](bombs[packing])

    assert peak(read) < 200 << 20


@pytest.mark.parametrize("reader", LINES)
def test_every_reader_of_lines_names_the_line_over_the_budget(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSBIAS_MAX_LINE", "1000")
    path = tmp_path / "file"
    path.write_bytes(b"\n" * 3 + b"x" * 1_001)
    with pytest.raises(InputError) as caught:
        LINES[reader](path)
    wanted = (
        f"{path}:4: wanted at most 1,000 bytes a line; found a longer line; check that the file "
        "has one record a line, or raise "
    )
    assert str(caught.value) == f"{wanted}$POSBIAS_MAX_LINE"


@pytest.mark.parametrize("reader", DOCUMENTS)
def test_a_document_over_the_budget_is_one_line(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSBIAS_MAX_DOCUMENT", "1000")
    path = tmp_path / "file"
    path.write_bytes(b" " * 1_001)
    with pytest.raises(
        InputError,
        match=r"file: wanted at most 1,000 bytes a document; found more; .*\$POSBIAS_MAX_DOCUMENT$",
    ):
        DOCUMENTS[reader](path)
    monkeypatch.setenv("POSBIAS_MAX_DOCUMENT", "1001")
    with pytest.raises(InputError, match="empty|none"):
        DOCUMENTS[reader](path)


@pytest.mark.parametrize("text", ["0", "-1", "64M", "1.5", "9" * 30, "²"])
def test_a_budget_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("POSBIAS_MAX_LINE", text)
    with pytest.raises(
        SettingError, match=r"^\$POSBIAS_MAX_LINE: wanted a whole number above 0 .* 67,108,864$"
    ):
        _ = LINE.limit
    monkeypatch.setenv("POSBIAS_MAX_LINE", "")
    assert LINE.limit == 64 << 20


def test_a_pipe_a_device_and_a_socket_are_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        refused: list[str] = []

        def read() -> None:
            for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "socket", tmp_path):
                try:
                    open_bytes(path).close()
                except InputError as error:
                    refused.append(str(error))

        reading = threading.Thread(target=read, daemon=True)
        reading.start()
        reading.join(30)
    assert [message.partition("wanted ")[2] for message in refused] == [
        "a regular file; found a pipe; write its content to a file, and give that",
        "a regular file; found a device; write its content to a file, and give that",
        "a readable file; found No such device or address; check the path",
        "a readable file; found Is a directory; check the path",
    ]
