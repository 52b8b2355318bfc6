"""What an audit measures and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.evaluation.buckets import SQUAD_POSQ, Buckets
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import Matching

__all__ = ["MEASURES", "RETRIEVAL_DEPTH", "RETRIEVAL_MEASURES", "AuditSettings", "Lists"]

MEASURES = ("nDCG@10", "RR@10", "R@10")
RETRIEVAL_MEASURES = ("nDCG@10", "RR@10", "R@10", "R@100")
RETRIEVAL_DEPTH = 1_000
Lists = Literal["test", "pointwise", "listwise"]


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of an audit; checked when made.

    ``measures``: the first is the one of the verdict. ``buckets``: the scales by which queries are grouped; None: equal shares, as many as the queries
    allow (``Buckets.relative_for``), and SQuAD-PosQ's characters. ``draws``: rotations of every
    passage, by seeds ``seed … seed + draws − 1``, as ``posbias debias --seed`` would store them. ``needles``: queries whose answering
    sentence is moved; ``margin``: the smallest effect of interest, in deviations of a query's candidates' scores; ``reads``: how many words the model reads,
    where the user knows; ``lists``: whether a scorer of texts is pointwise or listwise, or that this is to be tested;
    ``blind``: whether position-blind scorers stand beside the systems in the description. ``segments``: passages whose thirds are encoded, at most as many as queries; 0 leaves any of these out. ``layers``: whose term vectors are
    probed; none: no probe. ``examples``: queries shown with their texts. ``depth``: candidates a query, or passages that a retriever keeps.

    Raises:
        SettingError: a setting out of range.
    """

    measures: tuple[str, ...] = MEASURES
    buckets: tuple[Buckets, ...] | None = None
    length_groups: int = 3
    minimum: int = 20
    permutations: int = 1_000
    draws: int = 1
    needles: int = 1_000
    margin: float = 0.1
    reads: int | None = None
    lists: Lists = "test"
    blind: bool = True
    segments: int = 500
    layers: tuple[int, ...] | Literal["all"] | None = None
    probe: int = 0
    examples: int = 10
    depth: int = 30
    relevant_from: int = 1
    matching: Matching = field(default_factory=Matching)
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.measures:
            raise SettingError("-m: wanted at least one measure; found none; give one, such as nDCG@10")
        if self.buckets is not None and not self.buckets:
            raise SettingError("--buckets: wanted at least one set of buckets; found none; give some, or leave it out")
        least = {
            "length_groups": 1, "minimum": 2, "permutations": 100, "draws": 0, "needles": 0, "segments": 0, "probe": 0,
            "examples": 0, "depth": 1, "relevant_from": 1, "seed": 0,
        }  # fmt: skip
        for name, bound in least.items():
            if getattr(self, name) < bound:
                flag = name.replace("_", "-")
                raise SettingError(f"--{flag}: wanted {bound} or more; found {getattr(self, name)}; raise it")

        if not 0 < self.margin < float("inf"):
            raise SettingError(f"--margin: wanted a number above 0; found {self.margin}; raise it")
        if self.reads is not None and self.reads < 1:
            raise SettingError(f"--reads: wanted 1 word or more; found {self.reads}; raise it")
        if self.lists not in get_args(Lists):
            raise SettingError(f"lists: wanted one of {', '.join(get_args(Lists))}; found {self.lists!r}")

    @staticmethod
    def of_retrieval(**changes: Any) -> AuditSettings:
        """As ``AuditSettings``, with the depth and the measures of a retriever where ``changes`` give none."""
        return AuditSettings(**{"depth": RETRIEVAL_DEPTH, "measures": RETRIEVAL_MEASURES, **changes})

    def buckets_for(self, queries: int) -> tuple[Buckets, ...]:
        """The buckets as given, or else those for this many queries that have a position."""
        return (Buckets.relative_for(queries), SQUAD_POSQ) if self.buckets is None else self.buckets

    def rotations(self) -> list[Rotation]:
        """The draws, of which each is what ``debias`` would store with its seed."""
        return [Rotation(words=self.matching.words, seed=self.seed + draw) for draw in range(self.draws)]
