"""Records of evaluation: measures of systems by query, comparisons, leaked and clean queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from positionbias.core.json_text import JsonObject
from positionbias.core.records import Interval

P = TypeVar("P")
TEXTS = ("original", "rotated")  # the test or training passages


@dataclass(frozen=True, slots=True)
class Facts:
    """A system and its data, so that no code has to parse names. Empty or None: does not apply.

    ``model`` is the kind ("tk", "bert_cat", "knrm" …, or of a baseline "bm25", "position-only").
    ``training`` are the passages of its last training, ``test`` those of the measurement:
    "original" or "rotated". ``source`` is the collection of its earlier training. ``rotation`` is
    the seed of the draw behind all rotated passages of training and test, ``seed`` that of the
    training. ``pretrained`` names the initial weights (an encoder, word vectors; empty: random).
    ``variant`` is a study's other variation, in words ("no positions", "answers in 0:0.2").

    In distillation ``role`` is "teacher" or "student", and ``loss`` the loss's name. If a teacher
    saw test judgements, ``source`` is their split; a student has its teacher's. Elsewhere ``role``
    is the system's task: "first stage", "re-ranker", "ensemble", "retriever".

    ``unfinished``: one of its trainings was not finished at its end (``evaluation.convergence``).
    Finished and unfinished trainings are different systems, so no mean or comparison mixes them.
    """

    model: str = ""
    training: str = ""
    test: str = ""
    source: str = ""
    rotation: int | None = None
    seed: int | None = None
    pretrained: str = ""
    variant: str = ""
    role: str = ""
    loss: str = ""
    unfinished: bool = False

    def __post_init__(self) -> None:
        for name in ("training", "test"):
            if getattr(self, name) not in ("", *TEXTS):
                raise ValueError(
                    f"{name}: wanted one of {', '.join(TEXTS)} or nothing; found "
                    f"{getattr(self, name)!r}"
                )


@dataclass(frozen=True, slots=True)
class PerQuery:
    """One value per query.

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
class LeakedOrder:
    """The order on ``leaked`` against that on ``clean`` queries: Kendall's τ_b, and the ``swaps``
    among ``pairs`` of systems.

    ``p`` is one-sided: the share of ``splits`` random splits whose orders agree as little;
    ``expected`` is the mean of their τ. Splits keep the number of leaked queries in each of
    ``strata`` classes of difficulty. ``undefined`` says why figures are None.
    """

    leaked: int
    clean: int
    systems: int
    pairs: int
    tau: float | None = None
    expected: float | None = None
    p: float | None = None
    swaps: int = 0
    splits: int = 0
    strata: int = 1
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class MeanOfPart:
    """The mean over some of the queries with its 95 % interval; None without queries, and no
    interval with few.
    """

    queries: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakedAndClean:
    """A system on all, leaked and clean queries; with a ``baseline``, its gain over it."""

    baseline: str = ""
    all: MeanOfPart
    leaked: MeanOfPart
    clean: MeanOfPart


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement: its measure, collection, system and seed, the value and its interval.

    ``value`` is None if undefined (the payload says why). ``count`` is the sample size: queries,
    answers, passages. ``seed`` is that of the measurement's own draws (a bootstrap, a sample of
    pairs); ``facts`` has the training's. In a comparison, ``facts`` are the candidate's.
    """

    measure: str
    collection: str
    split: str
    system: str
    seed: int | None
    value: float | None
    interval: Interval | None
    count: int
    payload: PerQuery | Comparison | LeakedOrder | LeakedAndClean
    facts: Facts = field(default_factory=Facts)


def of_type(results: Iterable[Result], kind: type[P]) -> list[tuple[Result, P]]:
    """Return results of this payload type with their payloads, in the given order."""
    return [(result, result.payload) for result in results if isinstance(result.payload, kind)]
