"""What splits text into words and sentences on this machine: BlingFire, or where its library cannot
be loaded rules of ours.

What depends on words records the splitter among the versions of its manifest; it distinguishes
artefacts made by different ones.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from ctypes import CDLL
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from positionbias.core.progress import remark

if TYPE_CHECKING:
    from ctypes import CDLL

UsualWords = Literal["blingfire", "unicode"]
_FILES = {"Windows": "blingfiretokdll.dll", "Darwin": "libblingfiretokdll.dylib"}


@cache
def load_blingfire() -> CDLL | str:
    """Return BlingFire's library, or why it cannot be loaded: its package installs everywhere, with
    libraries for x86-64 alone.

    The package's own module is not imported, which would take a tenth of a second.
    """
    try:
        found = find_spec("blingfire")
    except (ImportError, ValueError) as error:
        return str(error)
    folders = found.submodule_search_locations if found else None
    if not folders:
        return "the package is not installed"
    try:
        return CDLL(str(Path(folders[0], _FILES.get(platform.system(), "libblingfiretokdll.so"))))
    except OSError as error:
        return str(error)


USUAL_WORDS: UsualWords = "unicode" if isinstance(load_blingfire(), str) else "blingfire"
(
    """The method that splits words where none is named, and sentences always; also its name """
    """among a manifest's versions."""
)


def splitter_of(versions: Mapping[str, str]) -> UsualWords | None:
    """Return the splitter that a manifest's versions name; None where they name none.

    >>> (
    ...     splitter_of({"blingfire": "0.1.8"}),
    ...     splitter_of({"blingfire": "not installed"}),
    ...     splitter_of({"numpy": "2.0"}),
    ... )
    ('blingfire', None, None)
    """
    named: tuple[UsualWords, ...] = ("blingfire", "unicode")
    return next(
        (name for name in named if versions.get(name, "not installed") != "not installed"), None
    )


def remark_other_splitter(what: object, versions: Mapping[str, str]) -> None:
    """Remark if the words (or sentences) of ``what`` were split otherwise than this machine
    does.
    """
    theirs = splitter_of(versions)
    if theirs is not None and theirs != USUAL_WORDS:
        remark(
            f"{what}: its words were split by {theirs}, and are split by {USUAL_WORDS} here; a few "
            "differ, and so may figures"
        )
