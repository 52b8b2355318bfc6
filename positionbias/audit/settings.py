"""The settings of an audit: its systems, its measure and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.places import Place
from positionbias.core.settings import Seed, check_settings, flag_of, setting
from positionbias.core.shared_settings import Measure, RelevantFrom, Split
from positionbias.models.kinds import ReadAs
from positionbias.positions.rotate import Rotation

if TYPE_CHECKING:
    from collections.abc import Callable

    from positionbias.models.checkpoint import Checkpoint

    ModelLike: TypeAlias = Place | Checkpoint | Callable[..., Any]
else:
    ModelLike = Place  # as reading annotations must not import torch

MEASURE = "nDCG@10"
DEPTH, RETRIEVAL_DEPTH = 30, 1_000
ANSWERS, TERMS = "answers", "terms"  # sources of evidence


@dataclass(frozen=True, slots=True)
class Audited:
    """Models and pairs of runs to audit, with their queries and passages.

    In Python a model may also be loaded already, or a function ``(query, passages) → scores`` or
    ``texts → array``; collections and runs may be open.
    """

    models: Sequence[ModelLike] = setting(
        (),
        "A checkpoint, a model of transformers or sentence-transformers (folder or id), minilm, "
        "your own module:object, or an endpoint, as openai:NAME@URL, rerank:NAME@URL or "
        "chat:NAME@URL; repeatable.",
        flags=("--model",),
        metavar="MODEL",
        place="read",
    )
    kind: ReadAs = None
    rotated: Sequence[tuple[CollectionLike, RunLike]] = setting(
        (),
        "A rotated collection (posbias debias) and the same system's run over it, beside one RUN; "
        "repeatable.",
        metavar="COLLECTION RUN",
        place="read",
    )
    split: Split = "test"
    queries: int | None = setting(
        None, "Audit N queries, drawn by the seed.", least=1, metavar="N", absent="all"
    )
    candidates: RunLike | None = setting(
        None, "The run that models re-rank.", metavar="RUN", absent="BM25's", place="read"
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of an audit; checked when made.

    ``depth`` None is the default of a re-ranker, or with ``retrieve`` of a retriever.

    Raises:
        SettingError: a setting out of range.
    """

    SHOWN = False

    measure: Measure = MEASURE
    rotation: bool = setting(
        True, "Rank rotated passages too, which the effect of rotation on the measure needs."
    )
    needles: int = setting(
        1_000, "Queries whose answering sentence is moved through its passage.", least=1
    )
    lengths: tuple[int, ...] = setting(
        (),
        "Also move the evidence through texts of this length, padded with other passages, in the "
        "model's tokens, else words; repeatable.",
        least=16,
        metavar="N",
    )
    margin: float = setting(
        0.1, "The smallest effect of interest, as a share of the evidence's worth.", above=0
    )
    reads: int | None = setting(
        None, "Length limit of the model in words.", least=1, metavar="N", absent="found out"
    )
    depth: int = setting(
        None,
        "Candidates per query to re-rank, or passages to retrieve.",
        least=1,
        absent=f"{DEPTH}; {RETRIEVAL_DEPTH} with --retrieve",
        shown=True,
    )
    evidence: Place = setting(
        ANSWERS,
        "The sentence that is moved: that of the answers, the one with most query terms, weighted "
        "by rarity (terms), or the one that another model scores highest.",
        metavar="answers|terms|MODEL",
        shown=True,
    )
    relevant_from: RelevantFrom = 1
    describe: bool = setting(
        False, "Also describe, without a conclusion, quality by the place of the evidence (PSI)."
    )
    seed: Seed = 1
    retrieve: bool = setting(
        False,
        "Let models rank the whole collection, as retrievers: one vector a text, every passage "
        "encoded again for the rotation.",
        shown=True,
    )

    def __post_init__(self) -> None:
        if self.measure != MEASURE:
            from positionbias.evaluation.measures import canonical  # needs ir_measures

            object.__setattr__(self, "measure", canonical([self.measure])[0])
        if self.depth is None:
            object.__setattr__(self, "depth", RETRIEVAL_DEPTH if self.retrieve else DEPTH)
        check_settings(self)
        object.__setattr__(self, "lengths", tuple(sorted(set(self.lengths))))

    @property
    def rotated(self) -> Rotation:
        """The rotation of all passages, as ``posbias debias --seed`` would store it."""
        return Rotation(seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest effects allowed, in either direction; None: no limit.

    Raises:
        SettingError: a limit that is negative or not finite, or no limit at all.
    """

    max_response: float | None = setting(
        None,
        "The largest effect of moving the answering sentence through its passage, on the measure.",
        least=0,
        metavar="X",
    )
    max_movement: float | None = setting(
        None,
        "The largest effect of rotating the answer to the end instead of to the front, on the "
        "measure.",
        least=0,
        metavar="X",
    )
    max_order: float | None = setting(
        None,
        "The largest loss in ranks from the list's first place to its last. A model that scores "
        "each passage by itself passes.",
        least=0,
        metavar="X",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if all(value is None for value in astuple(self)):
            flags = ", ".join(flag_of(one.name) for one in fields(self))
            raise SettingError(f"check: wanted a limit; found none; give one of {flags}")
