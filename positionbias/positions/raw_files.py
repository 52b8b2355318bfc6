"""Rotate raw files into files of the same format: TSV and JSON lines.

The draw for a passage is that of ``positions.rotate``, keyed by the seed and the passage's id, so
the output equals the rotation of the imported collection. Files are processed in blocks of 2 MiB,
and a killed run resumes after the last complete block. A run from or to a pipe cannot be resumed.

Any worker makes the piece of a block, and the pieces come back to this process, so a file is
written once and its SHA-256 computed on the way. Separate shards, joined at the end, would be
written twice and read once more. A log has a line for each piece: its length, the SHA-256 of
everything so far, its maker's counts, and a digest of the line. A later run of the same job keeps
the file up to the first disagreement.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from positionbias.core.blocks import Block, file_blocks, stream_blocks
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import (
    content_digest,
    decompressed,
    file_mark,
    file_state,
    input_errors,
    unchanged,
    zstandard,
)
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    InputRef,
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.places import Place, pasted
from positionbias.core.process import keep_freed_memory
from positionbias.core.progress import hint, track
from positionbias.core.publish import atomic_file, refuse_existing, resumable_folder
from positionbias.core.seal import as_signed, signed
from positionbias.core.shown import Shown
from positionbias.core.steps import MapShards
from positionbias.positions.cuts import ROTATED, possible_fates
from positionbias.positions.raw_formats import Edits, format_of, rotate_jsonl, rotate_tsv, spliced
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import RawFormat
from positionbias.text.formatting import count, percent
from positionbias.text.splitter import USUAL_WORDS

PIPE = "-"

# smaller than the blocks of an import, so that its arrays fit in the processor's cache
RAW_BLOCK_BYTES = 2 << 20
Rotate = Callable[[Block], tuple[Edits | bytes, Counter[str]]]
Counts = Mapping[str, Mapping[str, int]]  # by what is counted
Packing = Literal["gzip", "zstd"]
_ENDINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
_LOG = ".pieces"
_LEVEL = 6
_SETTLED = 32 << 20


@dataclass(frozen=True, slots=True)
class Pipe:
    """An open stream of bytes, and its name in errors."""

    stream: IO[bytes]
    name: str

    @classmethod
    def from_stdin(cls) -> Pipe:
        """Return standard input, decompressed."""
        name = "standard input"
        return cls(decompressed(sys.stdin.buffer, name), name)  # type: ignore[arg-type]

    @classmethod
    def to_stdout(cls) -> Pipe:
        """Return standard output.

        Raises:
            SettingError: it is closed (``posbias`` opens the null device in its place).
        """
        if sys.stdout.name == os.devnull:
            raise SettingError(
                "--out: wanted an open standard output; found it closed; give --out FILE"
            )
        return cls(sys.stdout.buffer, "standard output")

    @classmethod
    def named(cls, place: Path) -> Pipe:
        """Return a named pipe, decompressed.

        Raises:
            InputError: a device or socket.
        """
        if not place.is_fifo():
            do = "give a file, a pipe, or - for standard input"
            raise bad_input(place, wanted="a file or a pipe", found="a device or socket", do=do)
        return cls(decompressed(place.open("rb"), str(place)), str(place))


@dataclass(frozen=True, slots=True, repr=False)
class RotatedFile(Shown):
    """The written file or pipe (``piped``): its name, the SHA-256 and size of its uncompressed
    bytes, passages by fate.
    """

    name: str
    rotation: Rotation
    checksum: str
    size: int
    passages: Mapping[str, int]
    piped: bool

    def __str__(self) -> str:
        """Return its name, and how many passages were rotated, or why not."""
        passages = sum(self.passages.values())
        parts = [
            f"{count(passages)} passages",
            f"{percent(self.passages[ROTATED] / passages)} rotated",
        ]
        for fate, number in self.passages.items():
            if number and fate != ROTATED:
                parts.append(f"{count(number)} {fate.replace('_', ' ')}")
        return f"{self.name}: {', '.join(parts)}"


def debias_file(
    source: Path | Pipe,
    out: Path | Pipe,
    rotation: Rotation,
    format: RawFormat | None = None,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: JsonObject | None = None,
    block_bytes: int = RAW_BLOCK_BYTES,
) -> RotatedFile:
    """Write ``source`` rotated, in its own format; a name's ending sets the compression (``.gz``,
    ``.zst``).

    A file gets a manifest, ``FILE.manifest.json``. ``block_bytes`` is how much a worker takes at a
    time.

    Raises:
        InputError: the source is empty or not in its format (with the line).
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    if format is None and isinstance(source, Path):
        format = format_of(source)
    if isinstance(out, Path):
        refuse_existing(out, overwrite=overwrite, folder=False)
    task = _Task(source, out, rotation, format, map_shards, provenance or {}, block_bytes)
    if isinstance(out, Pipe):
        return task.rotated_into(OrderedFile(out.stream))
    if isinstance(source, Pipe):
        with atomic_file(out, overwrite=overwrite) as place:
            with open(place, "wb") as handle:
                rotated = task.rotated_into(OrderedFile(handle, packing_of(out)))
            write_manifest(manifest_path(place), task.manifest(rotated))
        return rotated
    job: JsonObject = {
        "command": "debias",
        "settings": {**task.settings, "block_bytes": block_bytes},
        "inputs": [file_state(source)],
    }
    with (
        resumable_folder(out, job, overwrite=overwrite, folder=False) as folder,
        unchanged([source]),
    ):
        with resumed_file(folder, out.name, packing_of(out)) as file:
            rotated = task.rotated_into(file)
        write_manifest(folder / manifest_path(out).name, task.manifest(rotated))
    return rotated


@dataclass(frozen=True, slots=True)
class _Task:
    """One file to rotate, and what made it."""

    source: Path | Pipe
    out: Path | Pipe
    rotation: Rotation
    format: RawFormat | None
    map_shards: MapShards
    provenance: JsonObject
    block_bytes: int

    @property
    def settings(self) -> JsonObject:
        return {**asdict(self.rotation), "format": self.format}

    def rotated_into(self, file: OrderedFile) -> RotatedFile:
        """Rotate the blocks behind those that are in the file."""
        rotate: Rotate = partial(
            rotate_tsv if self.format == "tsv" else rotate_jsonl, self.rotation
        )
        keep_freed_memory()
        sent: deque[Block] = deque()  # blocks at work; a pipe's bytes are nowhere else
        white_space = self.format == "tsv" and self.rotation.words == "whitespace"
        work = _Work(rotate, file.packing, in_threads=white_space)
        pieces = self.map_shards(work, self._left(len(file.facts), sent))
        for piece, facts in track(pieces, "rotating", self._number_of_blocks(), unit="blocks"):
            block = sent.popleft()
            file.append(spliced(block.read(), piece) if isinstance(piece, Edits) else piece, facts)
        passages = Counter(dict.fromkeys(possible_fates(self.rotation), 0))
        for item in file.facts:
            passages.update(item["passages"])
        if not sum(passages.values()):
            place = self.source.name if isinstance(self.source, Pipe) else self.source
            raise bad_input(place, wanted="passages", found="none", do="check the input")
        piped = isinstance(self.out, Pipe)
        name, counts = self.out.name, dict(passages)
        return RotatedFile(name, self.rotation, file.checksum, file.size, counts, piped)

    def _left(self, done: int, sent: deque[Block]) -> Iterator[Block]:
        for block in islice(self._blocks(), done, None):
            sent.append(block)
            yield block

    def _blocks(self) -> Iterator[Block]:
        if isinstance(self.source, Path):
            yield from file_blocks(self.source, self.block_bytes)
        else:
            with input_errors(self.source.name, wanted="a compressed file"):
                yield from stream_blocks(self.source.stream, self.source.name, self.block_bytes)

    def _number_of_blocks(self) -> int | None:
        """Return the approximate number of blocks if it is known before the end."""
        if isinstance(self.source, Pipe) or packing_of(self.source):
            return None
        return -(-self.source.stat().st_size // self.block_bytes)

    def manifest(self, rotated: RotatedFile) -> Manifest:
        """Return the manifest of the file."""
        assert isinstance(self.out, Path)
        inputs: tuple[InputRef, ...] = ()
        state: JsonObject = {"name": self.source.name}
        if isinstance(self.source, Path):
            state, digest = file_mark(self.source), content_digest(self.source)
            inputs = (input_ref("original", self.source, digest, artefact=self.out),)
        return Manifest(
            kind="passages",
            name=rotated.name,
            command="debias",
            settings=self.settings,
            seed=self.rotation.seed,
            inputs=inputs,
            content={
                "checksum": rotated.checksum,
                "bytes": rotated.size,
                "passages": sum(rotated.passages.values()),
                "rotation": {"passages": rotated.passages},
            },
            notes=self.rotation.notes,
            versions=package_versions(USUAL_WORDS),
            provenance=provenance(original=state, **self.provenance),
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """Computation of a block: its final bytes of JSON lines, in threads of this process
    (``engine.local``), and where they are compressed, which takes longer than sending them; else
    its edits, so that another process returns 12 bytes a passage instead of the text.
    """

    rotate: Rotate
    packing: Packing | None
    in_threads: bool

    def __call__(self, block: Block) -> tuple[Edits | bytes, Counts]:
        keep_freed_memory()
        data = block.read()
        piece, counts = self.rotate(replace(block, data=data))
        if isinstance(piece, Edits) and (self.in_threads or self.packing is not None):
            piece = spliced(data, piece)
        piece = piece if isinstance(piece, Edits) else pack(piece, self.packing)
        return piece, {"passages": dict(counts)}


# -- the file that is written ----------------------------------------------------------------------


def packing_of(path: Path | str) -> Packing | None:
    """Return a file's compression by its suffix."""
    return _ENDINGS.get(Path(path).suffix)


def pack(data: bytes, packing: Packing | None) -> bytes:
    """Compress to one gzip member or zstd frame, without name and time; concatenated, they are a
    whole file.
    """
    if packing == "gzip":
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
        return packer.compress(data) + packer.flush()
    if packing == "zstd":
        return zstandard().ZstdCompressor().compress(data)
    return data


def unpack(data: bytes, packing: Packing | None) -> bytes:
    """Invert ``pack``.

    Raises:
        ValueError: the data cannot be unpacked.
    """
    try:
        if packing == "gzip":
            return zlib.decompress(data, 31)
        if packing == "zstd":
            library = zstandard()
            try:
                return library.ZstdDecompressor().decompress(data)
            except library.ZstdError as error:
                raise ValueError(str(error)) from error
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return data


@dataclass(frozen=True, slots=True)
class _Piece:
    bytes: int
    checksum: str
    facts: Counts


class OrderedFile:
    """Pieces appended in order to an open file or pipe, with the SHA-256 and the size of the
    uncompressed content.
    """

    def __init__(
        self, handle: IO[bytes], packing: Packing | None = None, log: IO[bytes] | None = None
    ) -> None:
        self.packing = packing
        self.size = 0
        self.facts: list[Counts] = []  # what the makers of the pieces said
        self._handle, self._log = handle, log
        self._hash = hashlib.sha256()
        self._unsettled = 0  # bytes written since the last flush to disk
        if log is not None:
            self._verify(log)

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the uncompressed content so far, in hexadecimal."""
        return self._hash.hexdigest()

    def append(self, piece: bytes, facts: Counts) -> None:
        """Write one piece, as ``pack`` gave it, and what its maker said of it."""
        left = memoryview(piece)
        while left:  # an unbuffered pipe may take only a part
            written = self._handle.write(left)
            if written is None:
                raise BlockingIOError(errno.EAGAIN, "a pipe that does not wait for its reader")
            left = left[written:]
        self._handle.flush()
        self._settle(len(piece))
        self._count(unpack(piece, self.packing), facts)
        if self._log is not None:
            line = _Piece(len(piece), self.checksum, facts)
            self._log.write(json.dumps(signed(asdict(line))).encode() + b"\n")
            self._log.flush()

    def _settle(self, written: int) -> None:
        """Now and then, have the system write the file's cached pages to disk and free them.

        Otherwise a file of gigabytes fills as much page cache that nobody reads, and allocating it
        takes most of the time of writing.
        """
        self._unsettled += written
        if self._log is not None and self._unsettled >= _SETTLED and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            self._unsettled = 0

    def _count(self, content: bytes, facts: Counts) -> None:
        self._hash.update(content)
        self.size += len(content)
        self.facts.append(dict(facts))

    def _verify(self, log: IO[bytes]) -> None:
        """Keep the file as far as the log agrees with it, and cut off the rest."""
        whole, logged = 0, 0
        for line in log:
            try:
                told = as_signed(_Piece, json.loads(line))
                piece = self._handle.read(told.bytes)
                content = unpack(piece, self.packing)
                hash_ = self._hash.copy()
                hash_.update(content)
                if len(piece) != told.bytes or hash_.hexdigest() != told.checksum:
                    break
                self._count(content, told.facts)
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            whole, logged = whole + len(piece), logged + len(line)
        for handle, length in ((self._handle, whole), (log, logged)):
            handle.seek(length)
            handle.truncate()


@contextmanager
def resumed_file(folder: Path, name: str, packing: Packing | None = None) -> Iterator[OrderedFile]:
    """Open the file ``name`` in a ``resumable_folder``, with the pieces of an earlier run."""
    path, log = folder / name, folder / _LOG
    path.touch()
    log.touch()
    with open(path, "r+b") as handle, open(log, "r+b") as lines:
        yield OrderedFile(handle, packing, lines)


# -- the command -----------------------------------------------------------------------------------


def is_raw(place: Place) -> bool:
    """Return True for a file, a pipe or standard input. Refuse a missing path whose name looks like
    a raw file's.
    """
    path = Path(place)
    if place == PIPE or path.exists():
        return place == PIPE or not path.is_dir()
    if path.suffix in (".tsv", ".jsonl", ".json", ".parquet", ".gz", ".zst", ".txt"):
        raise bad_input(
            path,
            wanted="a file to rotate, or a collection",
            found="nothing there",
            do="check the path",
        )
    return False


def rotate_raw(
    given: Place, out: Place | None, rotation: Rotation, format: RawFormat | None, **writing: Any
) -> RotatedFile:
    """Rotate a raw file into ``out``, or a pipe into standard output.

    Raises:
        SettingError: a pipe without its format, or a file without ``out``.
    """
    path = Path(given)
    is_file = given != PIPE and path.is_file()
    if format is None and not is_file:
        raise SettingError(
            "--format: wanted tsv or jsonl for a pipe, whose name says nothing; found none; give it"
        )
    if out is None and is_file:
        raise SettingError(
            f"--out: wanted the file to write for the file {given}; found none; give --out FILE, "
            "or --out - for a pipe"
        )
    place = Pipe.to_stdout() if out is None or out == PIPE else Path(out)
    source = path if is_file else Pipe.from_stdin() if given == PIPE else Pipe.named(path)
    rotated = debias_file(source, place, rotation, format, **writing)
    if isinstance(place, Path):
        hint(f"written to {pasted(place)}, and what made it to {pasted(place)}.manifest.json")
    return rotated
