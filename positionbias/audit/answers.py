"""The questions that an audit asks of a system, their answers, and the effects behind these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

Raw = tuple[float | None, float | None, float | None]  # a value and the ends of its interval
UNITS = WORTH, SCORE, RANKS = "worth", "score", "ranks"  # of effects; all others are measures
READ_WHOLE = "read whole"  # the subset of queries whose texts the system reads whole


class Question(StrEnum):
    """The question of a verdict: the effect of the evidence's place in its passage, or of a
    passage's place in the list.
    """

    PASSAGE = "position in the passage"
    LIST = "order in the list"


class Preference(StrEnum):
    """The answer of a verdict. ``NONE`` is an effect within the margin, ``UNREAD`` one of the
    length limit, ``UNKNOWN`` too little data. ``UNREACTIVE``: the evidence is worth nothing to the
    system, so no effect can be measured by it.
    """

    FRONT = "prefers the front"
    END = "prefers the end"
    MIDDLE = "prefers the middle"
    ENDS = "prefers both ends"
    FIRST = "prefers the first places"
    LAST = "prefers the last places"
    NONE = "no preference"
    UNREACTIVE = "does not react to its evidence"
    UNREAD = "loses what it does not read"
    UNKNOWN = "cannot tell"


NO_PLACE = (Preference.NONE, Preference.UNREACTIVE, Preference.UNKNOWN)


class Contrast(StrEnum):
    """A contrast of places, the first named less the second: below 0 the second is preferred.
    ``ORDER`` is the loss in ranks from the list's first place to its last: above 0 the first places
    are preferred. ``ORDER_MIDDLE`` is that from its ends to its middle. ``WORTH`` is the passage
    less the passage with another passage's sentence in the evidence's place.
    """

    ENDS = "end − front"
    MIDDLE = "middle − ends"
    ROTATION = "rotated to the end − to the front"
    RUNS = "two runs: moved to the end − to the front"
    WORTH = "worth of the evidence"
    ORDER = "first to last place in the list"
    ORDER_MIDDLE = "ends to middle of the list"


@dataclass(frozen=True, slots=True)
class Effect:
    """One contrast of a manipulation in one unit, with its simultaneous 95 % interval.

    ``unit`` is "worth" (shares of the evidence's worth), "score", "ranks" or a measure's name.
    ``detectable`` is the effect found with 80 % power. ``subset`` "read whole" restricts it to
    queries whose texts the model reads whole. ``raw`` is the effect of a share in scores, with the
    ends of its interval. Undefined numbers are None.
    """

    contrast: Contrast
    unit: str
    value: float | None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    queries: int = 0
    subset: str = ""
    raw: Raw | None = None

    @property
    def excludes_zero(self) -> bool:
        """True if the interval excludes 0: that of the raw effect, where there is one."""
        _, low, high = self.raw or (self.value, self.low, self.high)
        return low is not None and high is not None and not low <= 0 <= high

    @property
    def largest(self) -> float:
        """The far end of the interval, without its sign."""
        return max(abs(self.low or 0.0), abs(self.high or 0.0))

    def within(self, margin: float) -> bool:
        """Return True if the interval lies within ± margin."""
        return self.low is not None and self.high is not None and self.largest <= margin

    def shows(self, margin: float) -> bool:
        """Return True if the interval excludes 0 and does not lie within ± margin."""
        return self.low is not None and self.excludes_zero and not self.within(margin)

    def beyond(self, margin: float) -> bool:
        """Return True if the interval lies wholly beyond the margin."""
        return max(self.low or 0.0, -(self.high or 0.0)) > margin


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one question about one system; ``audit.words`` has its sentences.

    ``effects`` are those behind it, the deciding one first, those within what the system reads
    last. ``margin`` is in the first effect's unit. ``queries`` of ``drawn`` could be manipulated;
    ``wanted`` is the number to draw if it cannot tell, ``reason`` says why.

    ``reads`` is the system's limit in words if texts were longer, from the end with ``from_end``;
    ``unread`` the share of queries with such a text; ``within`` the preference within what the
    system reads, where that over whole texts is another. Ranks and measures are of the first
    ``depth`` passages of ``among``. ``rule`` chose the evidence (empty: it is the answers);
    ``noise`` is the change of a repeated call, in deviations; ``rotations`` counts rotated runs.
    """

    question: Question
    preference: Preference
    effects: Sequence[Effect] = ()
    margin: float | None = None
    queries: int = 0
    wanted: int | None = None
    reads: float | None = None
    unread: float | None = None
    drawn: int = 0
    within: Preference | None = None
    reason: str = ""
    from_end: bool = False
    depth: int = 0
    among: str = ""
    rule: str = ""
    noise: float = 0.0
    rotations: int = 0

    @property
    def leading(self) -> Effect | None:
        """The deciding effect, or None."""
        return self.effects[0] if self.effects else None

    @property
    def exceeds(self) -> bool | None:
        """True if the deciding interval lies beyond the margin; None without a preference."""
        if self.leading is None or self.preference in NO_PLACE:
            return None
        return self.leading.beyond(self.margin or 0.0)

    @property
    def subset(self) -> str:
        """The queries behind the verdict: those whose texts are read whole if some are not."""
        return self.leading.subset if self.leading is not None else ""

    @property
    def measure(self) -> str:
        """The measure among the units of the effects; "" if there is none."""
        return next((effect.unit for effect in self.effects if effect.unit not in UNITS), "")

    def effect(self, contrast: Contrast, unit: str, subset: str | None = None) -> Effect | None:
        """Return a contrast's effect in one unit, by default over the deciding queries."""
        key = contrast, unit, self.subset if subset is None else subset
        return next(
            (one for one in self.effects if (one.contrast, one.unit, one.subset) == key), None
        )
