"""Payloads of Results: one type for each kind of measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from positionbias.core.interval import Interval
from positionbias.core.json_text import JsonObject
from positionbias.results.buckets import PositionBuckets, ResponseCurve
from positionbias.results.figures import Figures
from positionbias.results.leaked_order import LeakedOrder
from positionbias.results.length_grid import LengthGrid
from positionbias.results.places import PlaceHistogram, SentenceMoves
from positionbias.results.query_effects import QueryEffects
from positionbias.results.suspicion import Suspicion

__all__ = [
    "KINDS",
    "SIZES",
    "Comparison",
    "Contrast",
    "Effect",
    "Finding",
    "LeakedOrder",
    "LengthGrid",
    "Payload",
    "PerQuery",
    "PlaceHistogram",
    "PositionBuckets",
    "Preference",
    "QueryEffects",
    "Question",
    "ResponseCurve",
    "SentenceMoves",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class PerQuery:
    """One value per query; saved as Parquet beside the JSON. All are empty where it was read from
    JSON without them.

    ``clusters`` has one label per query: queries of one label are drawn together. Empty: each query
    is a cluster of its own.
    """

    query_ids: Sequence[str] = ()
    values: Sequence[float] = ()
    notes: JsonObject = field(default_factory=dict)
    clusters: Sequence[str] = ()

    @property
    def by_query(self) -> dict[str, float]:
        """The values by query id."""
        return dict(zip(self.query_ids, self.values, strict=True))

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return every column by its name in Parquet."""
        columns = {"query_id": self.query_ids, "value": [float(value) for value in self.values]}
        return {**columns, "cluster": self.clusters} if self.clusters else columns

    @staticmethod
    def of_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Return the fields that ``columns`` wrote."""
        names = {"query_id": "query_ids", "value": "values", "cluster": "clusters"}
        return {names[name]: column for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems (or one system on two test sets) on the same queries: candidate against baseline.

    ``difference`` = candidate − baseline; ``relative`` = difference / baseline;
    ``relative_as_printed`` = difference / candidate, the form of the paper's Tables 3–4. ``p`` is
    two-sided, over clusters of queries as the intervals are; ``p_adjusted`` has it corrected for
    the number of comparisons ("holm", "bonferroni"). ``p_wilcoxon`` and ``p_t`` ignore clusters, as
    papers do. p-values are None where undefined. ``by_seed`` has the difference of each of several
    training seeds; the notes say why a figure is undefined.
    """

    baseline: str
    candidate: str
    baseline_mean: float
    candidate_mean: float
    difference: float
    difference_interval: Interval | None
    relative: float | None
    relative_as_printed: float | None
    relative_interval: Interval | None
    effect_size: float | None
    p_wilcoxon: float | None
    p_t: float | None
    p_adjusted: Mapping[str, float | None] = field(default_factory=dict)
    queries: int = 0
    by_seed: Sequence[float] = field(default_factory=list)
    notes: JsonObject = field(default_factory=dict)
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about figures; ``holds`` is None if they are undecided."""

    text: str
    holds: bool | None = None


class Question(StrEnum):
    """The question of a verdict: the effect of the evidence's place in its passage, of the order of
    a passage's text (if no answer is known), or of a passage's place in the list."""

    PASSAGE = "position in the passage"
    TEXT = "order of a passage's text"
    LIST = "order in the list"


class Preference(StrEnum):
    """The answer of a verdict. ``NONE`` is an effect within the margin, ``UNREAD`` one of the
    length limit, ``UNKNOWN`` too little data. ``UNREACTIVE``: the evidence is worth nothing to the
    system, so no effect can be measured by it. ``SENSITIVE`` and ``INSENSITIVE`` are answers on the
    order of a text, which has no side."""

    FRONT = "prefers the front"
    END = "prefers the end"
    MIDDLE = "prefers the middle"
    ENDS = "prefers both ends"
    FIRST = "prefers the first places"
    LAST = "prefers the last places"
    NONE = "no preference"
    UNREACTIVE = "does not react to its evidence"
    UNREAD = "loses what it does not read"
    SENSITIVE = "sensitive to the order of a passage's text"
    INSENSITIVE = "insensitive to the order of a passage's text"
    UNKNOWN = "cannot tell"


class Contrast(StrEnum):
    """A contrast of places, the first named less the second: below 0 the second is preferred.
    ``ORDER`` is the loss in ranks from the list's first place to its last: above 0 the first places
    are preferred. ``ORDER_MIDDLE`` is that from its ends to its middle. ``WORTH`` is the passage
    less the passage with another passage's sentence in the evidence's place.

    ``TURNED`` and ``HALVES`` are mean sizes of changes, without a sign; ``TURNED_MORE`` and
    ``HALVES_MORE`` are these less an irrelevant passage's."""

    ENDS = "end − front"
    MIDDLE = "middle − ends"
    ROTATION = "rotated to the end − to the front"
    RUNS = "two runs: moved to the end − to the front"
    TURNED = "size of change, rotated"
    HALVES = "size of change, halves exchanged"
    TURNED_MORE = "size of change, rotated: relevant − irrelevant"
    HALVES_MORE = "size of change, halves exchanged: relevant − irrelevant"
    WORTH = "worth of the evidence"
    ORDER = "first to last place in the list"
    ORDER_MIDDLE = "ends to middle of the list"


SIZES = (Contrast.TURNED, Contrast.HALVES)  # without a sign


@dataclass(frozen=True, slots=True)
class Effect:
    """One contrast of a manipulation in one unit, with its simultaneous 95 % interval.

    ``unit`` is "worth" (shares of the evidence's worth), "deviations", "score", "ranks" or a
    measure's name. ``detectable`` is the effect found with 80 % power. ``subset`` "read" restricts
    it to queries whose texts the model reads whole. ``nonzero`` says whether the interval of a
    share's raw effect, in scores, excludes 0; None: the effect's own interval says it. Undefined
    numbers are None.
    """

    contrast: Contrast
    unit: str
    value: float | None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    queries: int = 0
    subset: str = ""
    nonzero: bool | None = None

    @property
    def excludes_zero(self) -> bool:
        """True if the interval excludes 0."""
        if self.nonzero is not None:
            return self.nonzero
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one question about one system.

    ``sentences`` give the answer with its effect, its meaning for a user, and the next step, if
    any. ``effects`` are the effects behind it, the deciding one first. ``margin`` is the smallest
    effect of interest, in the unit of the first effect; ``exceeds`` says whether the interval lies
    beyond it (None: no preference was found). ``queries`` of ``drawn`` could be manipulated;
    ``wanted`` is the number to draw if the answer is "cannot tell". ``reads`` is the system's limit
    in words if texts were longer, ``unread`` the share of queries with such a text. ``loses`` names
    what an ``UNREAD`` system loses, as "what stands behind word 50", and ``within`` is its
    preference within what it reads. ``missing`` counts scores that an endpoint did not give; the
    effects then hold whatever these are.
    """

    question: Question
    preference: Preference
    sentences: Sequence[str]
    effects: Sequence[Effect] = ()
    margin: float | None = None
    exceeds: bool | None = None
    queries: int = 0
    wanted: int | None = None
    reads: float | None = None
    unread: float | None = None
    drawn: int = 0
    loses: str = ""
    within: Preference | None = None
    missing: int = 0


Payload = (
    Figures
    | PlaceHistogram
    | SentenceMoves
    | PositionBuckets
    | ResponseCurve
    | PerQuery
    | QueryEffects
    | Comparison
    | Finding
    | Verdict
    | LeakedOrder
    | LengthGrid
    | Suspicion
)
KINDS: dict[str, type] = {
    "places": PlaceHistogram,
    "moves": SentenceMoves,
    "position_buckets": PositionBuckets,
    "response": ResponseCurve,
    "per_query": PerQuery,
    "query_effects": QueryEffects,
    "comparison": Comparison,
    "finding": Finding,
    "verdict": Verdict,
    "leaked_order": LeakedOrder,
    "length_grid": LengthGrid,
    "suspicion": Suspicion,
}
