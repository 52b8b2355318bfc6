"""Settings of MS MARCO's imports: attached splits, the validation draw, and what to leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from positionbias.core.places import Place
from positionbias.core.settings import Setting, setting
from positionbias.formats.validation_draw import ValidationDraw

SKIP = Setting("Do not read these files. Repeatable.", shown=False)
KeepUnjudged = Annotated[
    bool, Setting("Keep queries without a judgement in their splits.", shown=False)
]


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """Attached splits, the validation draw, and which kinds of files and which queries are left
    out.
    """

    attach: Sequence[tuple[str, Place, Place]] = setting(
        (),
        "Another split from two files: queries in TSV or as TREC topics, judgements in four "
        "columns. The name SPLIT.SET adds another judgement set to a split. Repeatable.",
        metavar="NAME QUERIES QRELS",
        place="read",
    )
    validation: ValidationDraw = ValidationDraw()
    skip: Sequence[str] = ()
    keep_unjudged: KeepUnjudged = False


@dataclass(frozen=True, slots=True)
class MsmarcoSettings(ReleaseSettings):
    """Settings of the import of MS MARCO's passages."""

    skip: Annotated[Sequence[Literal["top1000", "qidpidtriples", "triples"]], SKIP] = ()


@dataclass(frozen=True, slots=True)
class MsmarcoDocsSettings(ReleaseSettings):
    """Settings of the import of MS MARCO's documents."""

    skip: Annotated[Sequence[Literal["top100"]], SKIP] = ()
