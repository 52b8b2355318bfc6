"""The lengths of an audit's longer texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from positionbias.core.errors import SettingError

__all__ = ["Lengths"]

# the least length with several places for a sentence; tokens that fit in memory
SHORTEST, LONGEST = 32, 1_000_000


class Lengths(tuple[int, ...]):
    """The lengths of the texts through which evidence moves, from the shortest, in the model's
    tokens or else in words.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, given: str | Iterable[int]) -> Self:
        """Parse lengths from a text, or sort given lengths, from the shortest.

        >>> Lengths.parse("512,128")
        (128, 512)

        Raises:
            SettingError: something other than whole numbers in the range, each once.
        """
        try:
            found = sorted(
                int(length) for length in (given.split(",") if isinstance(given, str) else given)
            )
        except (TypeError, ValueError):
            found = []
        if (
            not found
            or not SHORTEST <= found[0] <= found[-1] <= LONGEST
            or len(set(found)) < len(found)
        ):
            raise SettingError(
                f"--lengths: wanted numbers from {SHORTEST} to {LONGEST:,} with commas between "
                f"them, each once; found {given!r}; give 128,256,512"
            )
        return cls(found)
