"""Find TREC documents in folders, compressed files and tar archives, by content, in bundles of
about 16 MB.

A folder is walked in sorted order (links to folders are followed). Blocks carry their bytes. An
SGML file is cut before a ``<DOC>``, a JSON-lines file after a line. Many small files make one
bundle, and a bundle makes one shard.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from positionbias.core.blocks import BLOCK_BYTES, Block, stream_blocks
from positionbias.core.errors import bad_input
from positionbias.core.files import (
    DOCUMENT,
    content_digest,
    file_state,
    input_errors,
    open_bytes,
    open_plain,
    read_whole,
)
from positionbias.formats.archives import streams_in
from positionbias.formats.trec_docs import DOC_START, recognise

_TAG = 16  # more than the longest form of <DOC>


@dataclass(frozen=True, slots=True)
class Bundle:
    """Blocks of documents of one kind that make one shard."""

    kind: str
    blocks: tuple[Block, ...]

    def fingerprint(self) -> str:
        """Return an identifier of the bundle across runs."""
        return "\n".join(
            (self.kind, *(f"{block.source} {block.fingerprint()}" for block in self.blocks))
        )


@dataclass(slots=True)
class Places:
    """The files at the given paths. ``skipped`` counts files of unknown kinds by suffix.

    Raises:
        InputError: nothing at a path, or no file in a folder.
    """

    paths: Sequence[Path]
    kind: str | None = None
    files: list[tuple[Path, Path]] = field(default_factory=list)  # (the path given, the file)
    skipped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for path in map(Path, self.paths):
            found = list(_walk(path)) if path.is_dir() else [path] if path.is_file() else []
            if not found:
                what = (
                    "an empty folder"
                    if path.is_dir()
                    else "no file"
                    if path.exists()
                    else "nothing there"
                )
                raise bad_input(
                    path,
                    wanted="a file or folder of TREC documents",
                    found=what,
                    do="check the path",
                )
            self.files += [(path, file) for file in found]

    def state(self) -> str:
        """Return a hash of the files' names and contents."""
        states = hashlib.blake2b(digest_size=16)
        for root, file in self.files:
            states.update(
                f"{os.path.relpath(file, root)} {sorted(file_state(file).items())}\n".encode(
                    "utf-8", "surrogateescape"
                )
            )
        return states.hexdigest()

    def checksums(self) -> Iterator[tuple[Path, str]]:
        """Yield each given path with the checksum of its content; that of a folder covers its
        files' names and checksums.
        """
        by_root: dict[Path, list[Path]] = {}
        for root, file in self.files:
            by_root.setdefault(root, []).append(file)
        for root, files in by_root.items():
            if root.is_dir():
                lines = (
                    f"{content_digest(file)}  {file.relative_to(root).as_posix()}\n"
                    for file in files
                )
                yield (
                    root,
                    hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest(),
                )
            else:
                yield root, content_digest(root)

    def parts(self) -> Iterator[tuple[str, Block]]:
        """Yield every block of documents with its kind, in the order of the files.

        Raises:
            InputError: a file given by name without documents, or a damaged archive.
        """
        for root, file in self.files:
            count = 0
            for part in self._file(file):
                count += 1
                yield part
            if not count and root == file:
                raise bad_input(
                    file,
                    wanted="TREC documents: SGML, New York Times XML or Washington Post JSON lines",
                    found="none of these",
                    do="check the path, or give --docs-format",
                )

    def _file(self, file: Path) -> Iterator[tuple[str, Block]]:
        with open_plain(file) as handle:
            for source, head, stream in streams_in(handle, str(file)):
                if kind := self._kind(head, source):
                    yield from ((kind, block) for block in _stream_blocks(kind, stream, source))

    def _kind(self, head: bytes, name: str) -> str | None:
        kind = self.kind if self.kind and head.strip() else recognise(head)
        if kind is None:
            self.skipped[PurePosixPath(name).suffix or "no ending"] += 1
        return kind


def document_blocks(source: Path) -> Iterator[Block]:
    """Yield blocks of whole SGML documents.

    Raises:
        InputError: no such file, a damaged archive, or a document over the budget.
    """
    with input_errors(source, wanted="a readable file"), open_bytes(source) as stream:
        yield from _stream_documents(stream, f"{source}")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in sorted order, without hidden files; walk a loop of links
    once.
    """
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True, onerror=_raise_unreadable):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
            # a dead link is an error later; a pipe would never end
            if file.is_file() or file.is_symlink():
                yield file


def _raise_unreadable(error: OSError) -> None:
    found = error.strerror or str(error)
    raise bad_input(
        error.filename, wanted="a readable folder", found=found, do="check the permissions"
    ) from error


def _check_length(source: str, length: int) -> None:
    if length > DOCUMENT.limit:
        raise DOCUMENT.exceeded(
            source, found="a longer one", do="check that it is what --docs-format says, "
        )


def _stream_blocks(kind: str, stream: IO[bytes], source: str) -> Iterator[Block]:
    if kind == "wapo":
        yield from stream_blocks(stream, source)
    elif kind == "sgml":
        yield from _stream_documents(stream, source)
    else:
        data = read_whole(stream, source)
        yield Block(source, 0, 0, len(data), data=data, lines_before=0)


def _stream_documents(stream: IO[bytes], source: str, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Split a stream of SGML; a block ends before the first ``<DOC>`` at least ``size`` bytes after
    its start.
    """
    buffer, start, index, lines = b"", 0, 0, 0
    while data := stream.read(size):
        searched = max(size, len(buffer) - _TAG)
        buffer += data
        while found := DOC_START.search(buffer, searched):
            block = Block(
                source,
                index,
                start,
                start + found.start(),
                data=buffer[: found.start()],
                lines_before=lines,
            )
            yield block
            start, index, lines = (
                block.end,
                index + 1,
                lines + buffer.count(b"\n", 0, found.start()),
            )
            buffer, searched = buffer[found.start() :], size
        _check_length(source, len(buffer) - size)
    if buffer:
        yield Block(source, index, start, start + len(buffer), data=buffer, lines_before=lines)


def bundles(parts: Iterable[tuple[str, Block]], size: int = BLOCK_BYTES) -> Iterator[Bundle]:
    """Group consecutive blocks of one kind until they reach ``size`` bytes."""
    kept: list[Block] = []
    kind, held = "", 0
    for found, block in parts:
        if kept and (found != kind or held >= size):
            yield Bundle(kind, tuple(kept))
            kept, held = [], 0
        kind = found
        kept.append(block)
        held += block.end - block.start
    if kept:
        yield Bundle(kind, tuple(kept))
