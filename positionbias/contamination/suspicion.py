"""The answer to whether a model has seen a test set, and the figures that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

__all__ = [
    "LIMITS",
    "Answered",
    "CleanInTurn",
    "Compared",
    "ErrorRates",
    "Excess",
    "Obstacle",
    "Signal",
    "Suspected",
    "Suspicion",
    "SystemMeans",
]

LIMITS = (
    "An excess is no proof. Whatever sets the two sets of queries apart for this model and not for "
    "its controls looks the same: further training data that is nearer to the one set, another "
    "kind of judging.",
    "No excess clears nobody. A model that became better at everything by what it saw shows none, "
    "and neither does a student that has the gain of a teacher that saw the test.",
)


class Suspected(StrEnum):
    """The answer. ``NO``: the interval of the excess lies below the margin; ``UNKNOWN``:
    neither.
    """

    YES = "suspicious"
    NO = "not suspicious"
    UNKNOWN = "cannot tell"


class Obstacle(StrEnum):
    """The reason for "cannot tell"."""

    FEW = "fewer than two controls"
    UNLIKE = "controls of another configuration"
    UNDECLARED = "nothing says that the controls are trainings of the model's configuration"
    FLAT = "no spread"
    WIDE = "the interval is too wide"
    WORDING = "paraphrases find memory of the wording only"


class Signal(StrEnum):
    """The compared signal: a query's measure, or the lead of relevant candidates over the others in
    its scores.
    """

    MEASURE = "measure"
    MARGIN = "score margin"


@dataclass(frozen=True, slots=True)
class Excess:
    """A model's gain on possibly seen queries beyond its controls', by one signal.

    ``unit`` is the measure's name, or "deviations" of a query's scores. ``low`` and ``high`` are
    the interval's ends at ``level``. ``p_trainings`` is one-sided, the model against trainings
    known to be clean; ``p_queries`` is that of the same excess over queries; ``p`` is the larger of
    both, ``p_holm`` corrected for all tests of the call (None: not a test). ``spread`` is the
    standard deviation of the difference among trainings, with ``freedom`` degrees of freedom.
    """

    signal: Signal
    unit: str
    value: float
    low: float
    high: float
    level: float
    p_trainings: float
    p_queries: float
    p: float
    p_holm: float | None
    spread: float
    freedom: float


@dataclass(frozen=True, slots=True)
class CleanInTurn:
    """Known clean models, each tested against the others of its configuration: the numbers called
    suspicious as they are, and with the margin added."""

    models: int
    alarms: int
    found: int


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The error rates of the call with its settings, by simulation from its own spread.

    ``level`` is the p that a test needs, corrected for all tests of the call. ``false_alarms`` is
    the rate for a clean model; ``power[i]`` is that at an excess of ``effects[i]`` in the measure.
    ``controls_wanted`` controls would give 80 % power at the margin (None: no number does), as
    would ``queries_wanted`` times as many queries with these controls.
    """

    level: float
    false_alarms: float
    effects: Sequence[float]
    power: Sequence[float]
    controls_wanted: int | None
    queries_wanted: float | None
    in_turn: CleanInTurn | None = None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The answer about one model on one pair of query sets.

    ``excesses`` are the figures behind it, the measure's first; empty if nothing could be tested.
    ``margin`` is the smallest excess of interest, in the measure. ``tests`` is the size of Holm's
    family. ``left_out`` counts queries without a partner in a paired design.
    """

    answer: Suspected
    obstacle: Obstacle | None
    seen: str
    other: str
    paired: bool
    queries_seen: int
    queries_other: int
    alpha: float
    margin: float
    tests: int
    controls: Sequence[str] = ()
    unlike_controls: Sequence[str] = ()
    bank_groups: int = 0
    bank_models: int = 0
    configuration: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    excesses: Sequence[Excess] = ()
    rates: ErrorRates | None = None


class SystemMeans(NamedTuple):
    """A system's means on the queries that a model may have seen and on others, and their
    difference. ``role`` is "model", "control" or "candidates".
    """

    system: str
    role: str
    seen: float
    other: float
    difference: float


class Answered(NamedTuple):
    """The answer about one model, and its advantages over its controls, or without any over the
    candidates' order, by query of each set.
    """

    model: str
    suspicion: Suspicion
    seen: Mapping[str, float]
    other: Mapping[str, float]
    difference: float


class Compared(NamedTuple):
    """The answers about all models on one pair of query sets, and the systems' means."""

    answers: Sequence[Answered]
    systems: Sequence[SystemMeans]
