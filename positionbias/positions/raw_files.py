"""Rotate raw files into files of the same format: TSV and JSON lines.

The draw for a passage is that of ``positions.rotate``, keyed by the seed and the passage's id, so
the output equals the rotation of the imported collection. Files are processed in blocks of 2 MiB,
and a killed run resumes after the last complete block. A run from or to a pipe cannot be resumed.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pandas import DataFrame

from positionbias.core.blocks import Block, file_blocks, stream_blocks
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import (
    content_digest,
    decompressed,
    file_mark,
    file_state,
    input_errors,
    unchanged,
)
from positionbias.core.formatting import count, percent
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
from positionbias.core.rows import Collected
from positionbias.core.shown import Shown
from positionbias.core.splitter import USUAL_WORDS
from positionbias.core.steps import MapShards
from positionbias.positions.cuts import ROTATED, possible_fates
from positionbias.positions.raw_formats import format_of, rotate_jsonl, rotate_tsv
from positionbias.positions.raw_output import (
    Counts,
    Edits,
    OrderedFile,
    Packing,
    pack,
    packing_of,
    resumed_file,
    spliced,
)
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotation_facts import add_rotation, rotation_notes
from positionbias.positions.settings import RawFormat

PIPE = "-"

# smaller than the blocks of an import, so that its arrays fit in the processor's cache
RAW_BLOCK_BYTES = 2 << 20
Rotate = Callable[[Block], tuple[Edits | bytes, Counter[str]]]


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

    @property
    def rows(self) -> DataFrame:
        """The counts of the rotation."""
        made = Collected({"study": "debias", "collection": self.name})
        add_rotation(made, self.rotation, self.passages, {})
        return made.rows


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
    task = _Task(
        source, out, rotation, format, map_shards, overwrite, provenance or {}, block_bytes
    )
    if isinstance(source, Path) and isinstance(out, Path):
        return task.lines_resumed()
    return task.lines_streamed()


@dataclass(frozen=True, slots=True)
class _Task:
    """One file to rotate; a method for each kind of input and output."""

    source: Path | Pipe
    out: Path | Pipe
    rotation: Rotation
    format: RawFormat | None
    map_shards: MapShards
    overwrite: bool
    provenance: JsonObject
    block_bytes: int

    def lines_resumed(self) -> RotatedFile:
        """Rotate lines from a file to a file; a killed run can be resumed."""
        assert isinstance(self.source, Path)
        assert isinstance(self.out, Path)
        with (
            resumable_folder(
                self.out, self._job(), overwrite=self.overwrite, folder=False
            ) as folder,
            unchanged([self.source]),
        ):
            with resumed_file(folder, self.out.name, packing_of(self.out)) as file:
                self._append_lines(file)
            rotated = self._rotated(file.checksum, file.size, file.facts)
            write_manifest(folder / manifest_path(self.out).name, self._manifest(rotated))
        return rotated

    def lines_streamed(self) -> RotatedFile:
        """Rotate lines from or to a pipe."""

        def fill(file: OrderedFile) -> RotatedFile:
            self._append_lines(file)
            return self._rotated(file.checksum, file.size, file.facts)

        return self._at_once(fill)

    def _append_lines(self, file: OrderedFile) -> None:
        rotate: Rotate = partial(
            rotate_tsv if self.format == "tsv" else rotate_jsonl, self.rotation
        )
        keep_freed_memory()
        sent: deque[Block] = deque()  # blocks at work; a pipe's bytes are nowhere else
        white_space = self.format == "tsv" and self.rotation.words == "whitespace"
        piece_of = _Piece(rotate, file.packing, in_threads=white_space)
        pieces = self.map_shards(piece_of, self._left(len(file.facts), sent))
        for piece, facts in track(pieces, "rotating", self._number_of_blocks(), unit="blocks"):
            block = sent.popleft()
            file.append(spliced(block.read(), piece) if isinstance(piece, Edits) else piece, facts)

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

    def _at_once(self, fill: Callable[[OrderedFile], RotatedFile]) -> RotatedFile:
        """Fill the output pipe, or a file that appears with its manifest when complete."""
        if isinstance(self.out, Pipe):
            return fill(OrderedFile(self.out.stream))
        read = [self.source] if isinstance(self.source, Path) else []
        with atomic_file(self.out, overwrite=self.overwrite) as place, unchanged(read):
            with open(place, "wb") as handle:
                rotated = fill(OrderedFile(handle, packing_of(self.out)))
            write_manifest(manifest_path(place), self._manifest(rotated))
        return rotated

    @staticmethod
    def _name(place: Path | Pipe) -> str:
        return place.name if isinstance(place, Pipe) else str(place)

    def _settings(self) -> JsonObject:
        return {**asdict(self.rotation), "format": self.format}

    def _job(self) -> JsonObject:
        assert isinstance(self.source, Path)
        settings = {**self._settings(), "block_bytes": self.block_bytes}
        return {"command": "debias", "settings": settings, "inputs": [file_state(self.source)]}

    def _rotated(self, checksum: str, size: int, facts: Sequence[Counts]) -> RotatedFile:
        passages = Counter(dict.fromkeys(possible_fates(self.rotation), 0))
        for item in facts:
            passages.update(item["passages"])
        if not sum(passages.values()):
            raise bad_input(
                self._name(self.source), wanted="passages", found="none", do="check the input"
            )
        piped = isinstance(self.out, Pipe)
        return RotatedFile(self.out.name, self.rotation, checksum, size, dict(passages), piped)

    def _manifest(self, rotated: RotatedFile) -> Manifest:
        assert isinstance(self.out, Path)
        inputs: tuple[InputRef, ...] = ()
        state: JsonObject = {"name": self._name(self.source)}
        if isinstance(self.source, Path):
            state = file_mark(self.source)
            inputs = (
                input_ref("original", self.source, content_digest(self.source), artefact=self.out),
            )
        return Manifest(
            kind="passages",
            name=rotated.name,
            command="debias",
            settings=self._settings(),
            seed=self.rotation.seed,
            inputs=inputs,
            content={
                "checksum": rotated.checksum,
                "bytes": rotated.size,
                "passages": sum(rotated.passages.values()),
                "rotation": {"passages": rotated.passages},
            },
            notes=rotation_notes(self.rotation),
            versions=package_versions(USUAL_WORDS),
            provenance=provenance(original=state, **self.provenance),
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Computation of a block: its final bytes of JSON lines, in threads of this process
    (``engine.local``), and where they are compressed, which takes longer than sending them; else
    its edits.
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
