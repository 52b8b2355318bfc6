"""What a row of the speed table is, and what measuring it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "OURS",
    "Answer",
    "Comparison",
    "Inputs",
    "Limit",
    "Measured",
    "Peer",
    "Row",
    "RunSettings",
    "Samples",
    "Side",
    "Spread",
]

OURS = "ours"  # the environment that runs the benchmark
Answer = Literal["met", "missed", "cannot tell", "no goal"]
Precision = Literal["float32", "bfloat16"]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class RunSettings:
    """What decides a measurement, besides the code: a row is kept while these stay."""

    rounds: int
    threads: int
    quick: bool


@dataclass(frozen=True)
class Side:
    """One side's work: ``work`` is "module:Class" below ``benchmarks``, made with the inputs and
    these settings in a process of its own.
    """

    work: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """What a row is measured against: in which environment (``peers/ENVIRONMENT.txt``), and our
    speed over the peer's that is wanted.
    """

    name: str
    environment: str
    side: Side
    goal: float | None = None
    # replaces the row's bound of agreement, where a peer's work cannot be the same to that
    bound: float | None = None
    needs: str = ""  # a file below the sources folder, without which the peer cannot run


@dataclass(frozen=True)
class Limit:
    """The machine's best product of this precision; our work says how many floating-point
    operations it takes (``flops``).
    """

    precision: Precision
    goal: float | None = None  # the share of the limit that is wanted


# (folder, quick) -> settings of both sides; files that stand are kept
Inputs = Callable[[Path, bool], Settings]
# (expected proof, found proof) -> figures; "apart" is held to the bound
Compare = Callable[[Any, Any], Mapping[str, float]]


@dataclass(frozen=True)
class Row:
    """A piece of work, ours and the peers', and what proves that both did the same.

    With a ``reference``, both sides are compared with its proof; without one, the peers with ours.
    ``apart`` of what ``compare`` returns may be at most ``bound``, else the row fails: it would
    compare different work. ``shared``: beside the turns run as many busy processes as threads.
    """

    name: str
    work: str
    ours: Side
    peers: tuple[Peer, ...]
    inputs: Inputs
    compare: Compare
    bound: float
    limit: Limit | None = None
    reference: Side | None = None
    large: bool = False  # measured only where it is named
    shared: bool = False


@dataclass(frozen=True)
class Samples:
    """Seconds of one side, run by run: on the clock, and of all processors by the whole tree of
    processes.
    """

    wall: list[float]
    processor: list[float]


@dataclass(frozen=True)
class Spread:
    """The median of ratios and its interval: that of order statistics, and how often such an
    interval holds the median.
    """

    median: float
    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class Comparison:
    """Ours beside one peer, or beside the limit (then the ratios are shares of it)."""

    against: str
    samples: Samples
    wall: Spread
    processor: Spread
    goal: float | None
    answer: Answer
    agreement: dict[str, float]
    versions: dict[str, str]
    note: str = ""


@dataclass(frozen=True)
class Measured:
    """One row as measured; ``failed`` says in a line why a peer has no comparison."""

    row: str
    work: str
    commit: str
    settings: RunSettings
    date: str
    load: tuple[float, float]
    ours: Samples
    facts: dict[str, Any]
    versions: dict[str, str]
    agreement: dict[str, float]
    comparisons: list[Comparison]
    failed: dict[str, str]
    seconds: float
