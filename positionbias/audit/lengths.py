"""The lengths of an audit's longer texts, and of the chunks of documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from positionbias.core.errors import SettingError
from positionbias.core.settings import Panel, check_settings, setting

__all__ = ["DOCUMENT", "ChunkSettings", "Chunks", "Lengths", "Overlaps"]

LONGEST = 1_000_000  # tokens that fit in memory
DOCUMENT = 1_024


class Lengths(tuple[int, ...]):
    """The lengths of the texts through which evidence moves, from the shortest, in the model's tokens or else in words."""

    __slots__ = ()
    FLAG: ClassVar[str] = "--lengths"
    LEAST: ClassVar[int] = 32  # the least length with several places for a sentence
    EXAMPLE: ClassVar[str] = "128,256,512"

    @classmethod
    def parse(cls, given: str | Iterable[int]) -> Self:
        """Parse lengths from a text, or sort given lengths, from the shortest.

        >>> Lengths.parse("512,128")
        (128, 512)

        Raises:
            SettingError: something other than whole numbers in the range, each once.
        """
        try:
            found = sorted(int(length) for length in (given.split(",") if isinstance(given, str) else given))
        except (TypeError, ValueError):
            found = []
        if not found or not cls.LEAST <= found[0] <= found[-1] <= LONGEST or len(set(found)) < len(found):
            raise SettingError(
                f"{cls.FLAG}: wanted numbers from {cls.LEAST} to {LONGEST:,} with commas between them, each once; found {given!r}; "
                f"give {cls.EXAMPLE}"
            )
        return cls(found)


class Chunks(Lengths):
    """The sizes of chunks."""

    __slots__ = ()
    FLAG = "--chunk"


class Overlaps(Lengths):
    """The overlap of neighbouring chunks."""

    __slots__ = ()
    FLAG = "--overlap"
    LEAST = 0
    EXAMPLE = "0,64"


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Documents cut into chunks, each scored alone; a document scores as its best chunk. Checked when made.

    Raises:
        SettingError: a length out of range, an overlap of more than half of the longest chunk, a document no longer than a chunk, or one of these
            without chunks.
    """

    chunk: Chunks | None = setting(
        None,
        "Also cut documents into chunks of these sizes, a document scored as its best chunk, and move the evidence through both; in the model's tokens, "
        "else words.",
        metavar="128,256,512",
        absent="not measured",
        panel=Panel.LENGTHS,
    )
    overlap: Overlaps | None = setting(
        None,
        "With --chunk: the overlap of neighbouring chunks, combined with every chunk at least twice as long.",
        metavar="0,64",
        absent="0",
        panel=Panel.LENGTHS,
    )
    document_length: int | None = setting(
        None,
        "With --chunk: the length of the documents.",
        most=LONGEST,
        least=1,
        metavar="N",
        absent=f"{DOCUMENT:,}",
        panel=Panel.LENGTHS,
    )

    def __post_init__(self) -> None:
        for name, kind in (("chunk", Chunks), ("overlap", Overlaps)):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, kind.parse(given))
        check_settings(self)
        if self.chunk is None:
            for flag, value in (("--overlap", self.overlap), ("--document-length", self.document_length)):
                if value is not None:
                    raise SettingError(f"{flag}: wanted --chunk beside it; found none; give --chunk {Chunks.EXAMPLE}")
            return
        longest = self.chunk[-1]
        if self.overlap is not None and 2 * self.overlap[-1] > longest:
            raise SettingError(
                f"--overlap: wanted at most half of the longest chunk, {longest // 2:,}; found {self.overlap[-1]:,}; lower it"
            )
        if self.document <= longest:
            raise SettingError(
                f"--document-length: wanted more than the longest chunk, {longest:,}; found {self.document:,}; raise it"
            )

    @property
    def document(self) -> int:
        """The length of the documents."""
        return DOCUMENT if self.document_length is None else self.document_length

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return each chunk size with each overlap of at most half of it, and last the whole document as one chunk."""
        sizes = self.chunk or Chunks()
        found = [(size, overlap) for size in sizes for overlap in self.overlap or (0,) if 2 * overlap <= size]
        return [*found, (self.document, 0)]
