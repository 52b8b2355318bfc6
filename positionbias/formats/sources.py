"""Read a release's folders, single files and tar archives as streams, without unpacking them.

``.gz`` and ``.zst`` are ignored in a file's name; its first bytes identify its compression.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from positionbias.core.blocks import BLOCK_BYTES, Block, file_blocks, numbered_lines, stream_blocks
from positionbias.core.errors import bad_input, near_file
from positionbias.core.files import (
    content_digest,
    decompressed,
    file_state,
    input_errors,
    open_bytes,
)
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, input_ref
from positionbias.core.seal import MANIFEST
from positionbias.formats.archives import archive_errors, tar_files

_ARCHIVES = (".tar", ".tgz")


def plain_name(name: str) -> str:
    """Return a file's name without its compression suffix.

    >>> plain_name("collection.tsv.gz")
    'collection.tsv'
    """
    return name.removesuffix(".gz").removesuffix(".zst")


@dataclass(slots=True)
class Source:
    """A file, plain or compressed, or a member of a tar archive."""

    path: Path
    member: str | None = None
    _stream: IO[bytes] | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name without folder and compression suffix."""
        return plain_name((self.member or self.path.name).rpartition("/")[2])

    @property
    def place(self) -> str:
        """The name in errors: the path, or "ARCHIVE:MEMBER"."""
        return f"{self.path}:{self.member}" if self.member else f"{self.path}"

    @property
    def shown(self) -> str:
        """The place without its folder, for a manifest."""
        return f"{self.path.name}:{self.member}" if self.member else self.path.name

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[Block]:
        """Yield the blocks. Read a member while walking its archive; later, the archive is read
        again from its start.

        Raises:
            InputError: no such file, or a damaged archive.
        """
        if self.member is None:
            yield from file_blocks(self.path, size)
        elif self._stream is not None:
            with archive_errors(self.path, wanted="a tar archive"):
                yield from stream_blocks(
                    decompressed(cast(io.BufferedReader, self._stream), self.place),
                    self.place,
                    size,
                )
        else:
            for source in archive_members(self.path):
                if source.member == self.member:
                    yield from source.blocks(size)
                    return

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the decompressed bytes for forward reading; members as in ``blocks``.

        Raises:
            InputError: as ``blocks``.
        """
        if self.member is None:
            with input_errors(self.path, wanted="a readable file"), open_bytes(self.path) as handle:
                yield handle
        elif self._stream is not None:
            with archive_errors(self.path, wanted="a tar archive"):
                yield decompressed(cast(io.BufferedReader, self._stream), self.place)
        else:
            for source in archive_members(self.path):
                if source.member == self.member:
                    with source.open() as stream:
                        yield stream
                    return

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines, numbered from 1.

        Raises:
            InputError: as ``blocks``; or not UTF-8 (line and byte are named).
        """
        return numbered_lines(self.blocks())


def archive_members(path: Path) -> Iterator[Source]:
    """Yield the files of a tar archive (``.tar``, ``.tar.gz``, ``.tar.zst``) in order; skips
    folders and links.

    Raises:
        InputError: no such file, no tar archive, or a damaged one.
    """
    with archive_errors(path, wanted="a tar archive"), open_bytes(path) as raw:
        for name, member in tar_files(raw, path):
            source = Source(path, name, member)
            yield source
            source._stream = None


def _archive_stem(name: str) -> str | None:
    """Return an archive's name without suffixes; None for other files."""
    bare = plain_name(name)
    return next((bare.removesuffix(ending) for ending in _ARCHIVES if bare.endswith(ending)), None)


class Release:
    """The files at the given paths, by role.

    ``role_of(name)`` returns the role of a file of this name, or None if unknown. ``not_read`` says
    why a file is skipped. An unpacked file beside its archive is read instead of it. ``deep``:
    search nested folders too.

    Raises:
        InputError: no such path, or a file given by name that has no role.
    """

    def __init__(
        self,
        places: Sequence[Path | str],
        role_of: Callable[[str], str | None],
        *,
        skip: Callable[[str], bool] = lambda role: False,
        known: str,
        deep: bool = False,
    ) -> None:
        self.files: dict[str, Source] = {}
        self.not_read: dict[str, str] = {}
        self.skipped: set[str] = set()
        self.places = [Path(place) for place in places]
        self._archives: list[Path] = []
        self._role_of, self._skip, self._deep = role_of, skip, deep
        for place in self.places:
            if not place.exists():
                raise bad_input(
                    place,
                    wanted="a folder, a file or a tar archive",
                    found="nothing there",
                    do=near_file(place, "check the path"),
                )
            self._look(place, known)

    def _look(self, place: Path, known: str) -> None:
        paths = (
            [place]
            if not place.is_dir()
            else sorted(p for p in place.iterdir() if not p.name.startswith("."))
        )
        for path in paths:
            if path.is_dir() and self._deep:
                self._look(path, known)
            elif path.is_dir():
                self.not_read[f"{path.name}/"] = "a folder"
            elif _archive_stem(path.name) is not None:
                self._archives.append(path)
            elif path.name != MANIFEST and not self._take(Source(path)) and path is place:
                raise bad_input(
                    place,
                    wanted=known,
                    found="another name",
                    do="give a folder, or rename the file",
                )

    def _take(self, source: Source) -> bool:
        """Accept a file, or record it in ``not_read`` and return False."""
        role = self._role_of(source.name)
        shown = source.shown
        if role is None:
            self.not_read[shown] = "not known"
        elif self._skip(role):
            self.not_read[shown] = "skipped, as asked"
            self.skipped.add(role)
        elif role in self.files:
            self.not_read[shown] = f"read from {self.files[role].shown}"
        else:
            self.files[role] = source
        return role is not None and self.files.get(role) is source

    @property
    def archives(self) -> list[Path]:
        """Return the archives to walk through, without those beside their content."""
        names = {source.name for source in self.files.values() if source.member is None}
        kept = []
        for path in self._archives:
            stem = _archive_stem(path.name) or ""
            role = next((r for r in (self._role_of(stem), self._role_of(f"{stem}.tsv")) if r), None)
            if {stem, f"{stem}.tsv"} & names:
                self.not_read[path.name] = "its unpacked content is beside it"
            elif role is not None and self._skip(role):
                self.not_read[path.name] = "skipped, as asked"
                self.skipped.add(role)
            else:
                kept.append(path)
        return kept

    def read_elsewhere(self, paths: Iterable[Path]) -> None:
        """Remove files that other options name from ``not_read``."""
        for path in paths:
            if path.absolute().parent in {place.absolute() for place in self.places}:
                self.not_read.pop(path.name, None)

    def states(self) -> list[JsonObject]:
        """Return the state of every file read (``file_state``), for a job's record."""
        return [file_state(path) for _, path in self.paths()]

    def inputs(self, out: Path) -> list[InputRef]:
        """Return every file read, by checksum, for the manifest of the artefact at ``out``."""
        return [
            input_ref(role, path, content_digest(path), artefact=out) for role, path in self.paths()
        ]

    def paths(self) -> list[tuple[str, Path]]:
        """Return every file read, with its role."""
        plain = [
            (role, source.path) for role, source in self.files.items() if source.member is None
        ]
        return [*plain, *(("archive", path) for path in self.archives)]

    def missing(self, published: Sequence[str]) -> list[str]:
        """Return the ``published`` files that were not found; a final ``*`` matches any ending."""
        roles = {*self.files, *self.skipped}
        return [
            name
            for name in published
            if not any(
                role.startswith(name[:-1]) if name.endswith("*") else role == self._role_of(name)
                for role in roles
            )
        ]

    def visit(self) -> Iterator[tuple[str, Source]]:
        """Yield every file read with its role: plain files first, then the members of each archive
        in order.

        Read a member at once; later it costs another walk through its archive.
        """
        yield from [(role, source) for role, source in self.files.items() if source.member is None]
        for path in self.archives:
            for source in archive_members(path):
                if self._take(source):
                    yield self._role_of(source.name) or "", source
