"""Limits on what a reader holds or unpacks of one input. Every published release passes the
defaults; environment variables change them.

POSBIAS_MAX_LINE       bytes of a line, and of one value in column-oriented JSON
POSBIAS_MAX_DOCUMENT   bytes of a file or document held whole: JSON, SQuAD, topics, an SGML or XML
                       document
POSBIAS_MAX_RATIO      unpacked bytes for each packed byte
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.errors import InputError, SettingError, bad_input

FREE_BYTES = 64 << 20  # a file of any size may unpack to this


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on input: the environment variable that sets it, its default, and what it counts."""

    variable: str
    default: int
    of: str

    @property
    def limit(self) -> int:
        """Return the variable's value, or the default.

        Raises:
            SettingError: the variable is not a whole number above 0.
        """
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text)):
            raise SettingError(
                f"${self.variable}: wanted a whole number above 0 ({self.of}); found {text!r}; "
                f"correct it, or unset it for {self.default:,}"
            )
        return int(text)

    def exceeded(
        self, source: Path | str, *, found: str, line: int | None = None, do: str = ""
    ) -> InputError:
        """Return an error about a source over the limit that says how to raise the limit."""
        wanted = f"at most {self.limit:,} {self.of}"
        return bad_input(
            source, line=line, wanted=wanted, found=found, do=f"{do}or raise ${self.variable}"
        )


LINE = Budget("POSBIAS_MAX_LINE", 64 << 20, "bytes a line")
DOCUMENT = Budget("POSBIAS_MAX_DOCUMENT", 256 << 20, "bytes a document")
RATIO = Budget("POSBIAS_MAX_RATIO", 200, "unpacked bytes for each packed byte")


def check_ratio(source: Path | str, packed: int, unpacked: int, limit: int | None = None) -> None:
    """Refuse content that unpacks to more than ``FREE_BYTES`` and to more than ``limit`` bytes for
    each packed byte.

    Raises:
        InputError: it does.
    """
    if unpacked > FREE_BYTES and unpacked > packed * (RATIO.limit if limit is None else limit):
        found = f"{unpacked:,} or more from {packed:,}"
        raise RATIO.exceeded(source, found=found, do="check the file, unpack it yourself, ")
