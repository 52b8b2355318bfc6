"""The settings of an audit: its systems, measures, limits and lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.places import Place
from positionbias.core.settings import (
    Panel,
    check_settings,
    declared_setting,
    flag_of,
    seed_setting,
    setting,
)
from positionbias.evaluation.buckets import Buckets
from positionbias.models.kinds import READ_AS
from positionbias.positions.settings import Matching

if TYPE_CHECKING:
    from collections.abc import Callable

    from positionbias.dense.vectors import Vectors
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.positions.rotate import Rotation

    ModelLike: TypeAlias = Place | Checkpoint | Callable[..., Any]
    VectorsLike: TypeAlias = Place | Vectors
else:
    ModelLike = VectorsLike = Place  # as reading annotations must not import torch

__all__ = [
    "ANSWERS",
    "MEASURES",
    "MEMORY",
    "RETRIEVAL_DEPTH",
    "RETRIEVAL_MEASURES",
    "TERMS",
    "AuditSettings",
    "Audited",
    "Lengths",
    "Limits",
    "Lists",
    "ModelLike",
    "VectorsLike",
]

MEASURES = ("nDCG@10", "RR@10", "R@10")
RETRIEVAL_MEASURES = ("nDCG@10", "RR@10", "R@10", "R@100")
DEPTH, RETRIEVAL_DEPTH = 30, 1_000
ANSWERS, TERMS = "answers", "terms"  # sources of evidence
MEMORY = 4.0  # GiB for a search
Lists = Literal["test", "pointwise", "listwise"]
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
            lengths = sorted(map(int, given.split(",") if isinstance(given, str) else given))
        except (TypeError, ValueError):
            lengths = []
        if (
            not lengths
            or not SHORTEST <= lengths[0] <= lengths[-1] <= LONGEST
            or len(set(lengths)) < len(lengths)
        ):
            raise SettingError(
                f"--lengths: wanted numbers from {SHORTEST} to {LONGEST:,} with commas between "
                f"them, each once; found {given!r}; give 128,256,512"
            )
        return cls(lengths)


@dataclass(frozen=True, slots=True)
class Audited:
    """Models and pairs of runs to audit, with their queries and passages.

    In Python a model may also be loaded already, or a function ``(query, passages) → scores`` or
    ``texts → array``; collections, runs and vectors may be open.
    """

    models: Sequence[ModelLike] = setting(
        (),
        "A checkpoint, a model of transformers or sentence-transformers (folder or id), minilm, "
        "your own module:object, or an endpoint, as openai:NAME@URL, rerank:NAME@URL or "
        "chat:NAME@URL; may be given again.",
        flags=("--model",),
        metavar="MODEL",
        place="read",
    )
    kind: str | None = declared_setting(None, READ_AS)
    rotated: Sequence[tuple[CollectionLike, RunLike]] = setting(
        (),
        "A rotated collection (posbias debias) and the same system's run over it, beside one RUN; "
        "may be given again.",
        metavar="COLLECTION RUN",
        place="read",
    )
    split: str = setting("test", "Split of the queries.", metavar="SPLIT")
    queries: int | None = setting(
        None, "Audit N queries, drawn by the seed.", least=1, metavar="N", absent="all"
    )
    candidates: RunLike | None = setting(
        None,
        "The run that models re-rank, measured beside them.",
        metavar="RUN",
        absent="BM25's",
        place="read",
    )
    vectors: Sequence[VectorsLike] = setting(
        (),
        "With --retrieve: a model's vectors of the passages as they are, from posbias encode; may "
        "be given again.",
        metavar="VECTORS",
        place="read",
        panel=Panel.DENSE,
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of an audit; checked when made.

    The rotations have the seeds ``seed … seed + draws − 1``, as ``posbias debias --seed`` would
    store them. ``depth`` and ``measures`` None are the defaults of a re-ranker, or with
    ``retrieve`` of a retriever. ``matching`` locates the answers. With ``describe``, quality is
    grouped by the ``buckets`` of the answer's place (None: as many equal shares as the queries
    allow), each of at least ``minimum`` queries.

    Raises:
        SettingError: a setting out of range.
    """

    PANEL = Panel.ADVANCED

    measures: tuple[str, ...] = setting(
        None,
        "A measure, as ir_measures names it; the first decides the verdict; may be given again.",
        flags=("-m", "--measure"),
        metavar="MEASURE",
        absent=f"{', '.join(MEASURES)}, and R@100 with --retrieve",
        panel=Panel.BASIC,
    )
    draws: int = setting(1, "Rotations of every passage; 0: none.", least=0)
    needles: int = setting(
        1_000,
        "Queries whose answering sentence is moved through its passage; 0: none, and no verdict.",
        least=0,
    )
    lengths: Lengths | None = setting(
        None,
        "Also move the evidence through texts of these lengths, padded with other passages; in the "
        "model's tokens, else words.",
        metavar="128,256,512",
        absent="not measured",
    )
    margin: float = setting(
        0.1,
        "The smallest effect of interest, as a share of the evidence's worth.",
        above=0,
        do="raise it",
    )
    reads: int | None = setting(
        None, "Length limit of the model in words.", least=1, metavar="N", absent="found out"
    )
    lists: Lists = setting(
        "test",
        "Whether your function scores each passage alone, or a list.",
        choices=("test", "pointwise", "listwise"),
        switch=("pointwise", "listwise"),
        absent="found out",
    )
    describe: bool = setting(
        False,
        "Also describe, without a conclusion: quality by answer position (PSI), and what rotation "
        "of all passages changes.",
        panel=Panel.BASIC,
    )
    depth: int = setting(
        None,
        "Candidates per query to re-rank, or passages to retrieve.",
        least=1,
        absent=f"{DEPTH}; {RETRIEVAL_DEPTH} with --retrieve",
    )
    evidence: Place = setting(
        ANSWERS,
        "The sentence that is moved: that of the answers, the one with most query terms, weighted "
        "by rarity (terms), or the one that another model scores highest.",
        metavar="answers|terms|MODEL",
    )
    relevant_from: int = setting(
        1, "Grade from which a passage is relevant evidence.", least=1, metavar="GRADE"
    )
    matching: Matching = field(default_factory=Matching)
    buckets: Buckets | None = None
    minimum: int = 20
    seed: int = seed_setting()
    retrieve: bool = setting(
        False,
        "Let models rank the whole collection, as retrievers: one vector a text, every passage "
        "encoded again for each rotation.",
        panel=Panel.BASIC,
    )

    def __post_init__(self) -> None:
        if self.measures is None:
            object.__setattr__(self, "measures", RETRIEVAL_MEASURES if self.retrieve else MEASURES)
        elif self.measures != MEASURES:
            from positionbias.evaluation.measures import canonical  # needs ir_measures

            object.__setattr__(self, "measures", canonical(self.measures))
        if self.depth is None:
            object.__setattr__(self, "depth", RETRIEVAL_DEPTH if self.retrieve else DEPTH)
        if self.lengths is not None:
            object.__setattr__(self, "lengths", Lengths.parse(self.lengths))
        check_settings(self)
        if not self.measures:
            raise SettingError(
                "-m: wanted at least one measure; found none; give one, such as nDCG@10"
            )
        if self.lengths and not self.needles:
            raise SettingError(
                "--lengths: wanted queries whose evidence is moved; found --needles 0; give "
                "--needles 100"
            )

    def rotations(self) -> list[Rotation]:
        """Return the draws, each as ``debias`` would store it with its seed."""
        from positionbias.positions.rotate import Rotation

        return [
            Rotation(words=self.matching.words, seed=self.seed + draw) for draw in range(self.draws)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest effects allowed, in either direction; None: no limit.

    Raises:
        SettingError: a limit that is negative or not finite, or no limit at all.
    """

    max_response: float | None = setting(
        None,
        "The largest effect of moving the answering sentence through its passage, on the first "
        "measure.",
        least=0,
        metavar="X",
    )
    max_movement: float | None = setting(
        None,
        "The largest effect of rotating the answer to the end instead of to the front, on the "
        "first measure.",
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
