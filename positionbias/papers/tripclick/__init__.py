"""The TripClick study: the payloads of its results (training sets, telemetry, depth curves), and
their selection.

"Establishing Strong Baselines for TripClick Health Retrieval" (ECIR 2022), Tables 1 and 2, and §3.1
on training data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import field

from positionbias.core.convergence import ended_name
from positionbias.core.interval import Interval
from positionbias.results.figures import Figures
from positionbias.results.payloads import Comparison
from positionbias.results.points import Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name, of_type

__all__ = [
    "AGAINST_BM25",
    "CLEANED",
    "CURVES",
    "ENSEMBLE",
    "FIRST",
    "HEADLINE",
    "MEMBERS",
    "NEGATIVES",
    "REGENERATED",
    "RERANKER",
    "RETRIEVER",
    "SETS",
    "TELEMETRY",
    "TESTS",
    "AgainstRegenerated",
    "DepthCurve",
    "DepthPoint",
    "Telemetry",
    "TrainingSet",
    "compared_along",
    "judged_sets",
    "of_role",
    "own_comparisons",
    "paper_test",
    "set_name",
    "short",
    "system_label",
    "tripclick_systems",
]

REGENERATED = "regenerated"  # the training set with BM25's negatives
CLEANED = "-cleaned"  # suffix of a set's name: without its false negatives
FIRST, RERANKER, ENSEMBLE, RETRIEVER = "first stage", "re-ranker", "ensemble", "retriever"
ROLES = (FIRST, RERANKER, ENSEMBLE, RETRIEVER)
AGAINST_BM25 = "against BM25"  # the axes of the study's comparisons
NEGATIVES = "negatives"
MEMBERS = "ensemble against its best member"
HEADLINE = "nDCG@10"
SETS = "training set of clicks"
TELEMETRY = "training telemetry"
CURVES = "nDCG@10 by re-ranking depth"
TESTS = {"head": "Head (DCTR)", "torso": "Torso (RAW)", "tail": "Tail (RAW)"}  # as in the paper


class TrainingSet(Figures, frozen=True, kw_only=True):
    """The contents of a training set. ``positives`` are per query, each once; None: not counted.

    False negatives are relevant in truth; None: the truth is unknown. ``left_out`` counts unusable
    records by reason.
    """

    MEASURES = (SETS,)

    groups: int
    queries: int
    positives: int | None = None
    negatives: int
    false_negatives: int | None = field(name="false negatives")
    distinct_negatives: int = field(name="distinct negatives")
    distinct_false_negatives: int | None = field(name="distinct false negatives")
    left_out: Mapping[str, int] = field(name="left out", default_factory=dict)


class AgainstRegenerated(msgspec.Struct, frozen=True, kw_only=True):
    """The pairwise accuracy of a model's trainings on a set less that on BM25's negatives, over the
    seeds that both have.

    ``difference`` is None without a common seed. ``p_holm`` is that of Student's paired t-test,
    after Holm's correction over the sets; None with fewer than two seeds, or equal differences.
    """

    difference: float | None
    p_holm: float | None = field(name="p holm")
    seeds: int


class Telemetry(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """The logs of a system's trainings in the last half of their steps, by seed; None if not
    logged.

    The margin is in the model's own scale. ``kept`` are the steps of the kept weights; None: the
    last.
    """

    MEASURES = (TELEMETRY,)

    pair_accuracy: Sequence[float | None] = field(name="pair accuracy")
    score_margin: Sequence[float | None] = field(name="score margin")
    loss: Sequence[float | None]
    seeds: Sequence[int]
    steps: Sequence[int | None]
    kept: Sequence[int | None] | None = None
    against: AgainstRegenerated | None = field(name=f"against {REGENERATED}", default=None)

    @property
    def kept_steps(self) -> Sequence[int | None]:
        """The steps of the kept weights."""
        return self.steps if self.kept is None else self.kept


class DepthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A mean at one re-ranking depth; ``reached`` is the share of queries with this many
    candidates.
    """

    depth: int
    mean: float
    interval: Interval | None
    queries: int
    reached: float = 1.0


class DepthCurve(Figures, frozen=True, kw_only=True):
    """A measure by re-ranking depth, ascending. ``depth`` is the study's own.

    ``changes`` go from some depths to the deepest, by query. ``beyond`` are depths for which most
    queries have too few candidates.
    """

    MEASURES = (CURVES,)

    measure: str
    points: Sequence[DepthPoint]
    depth: int
    changes: Mapping[str, Point] = field(name="to the deepest from")
    beyond: Sequence[int] = field(name="beyond the candidates", default=())


def tripclick_systems(results: Iterable[Result]) -> list[Result]:
    """Return the effectiveness of every system, by query."""
    return [
        result for result in results if result.kind == "per_query" and result.facts.role in ROLES
    ]


def of_role(results: Iterable[Result], *roles: str) -> list[Result]:
    """Return the effectiveness of systems with one of these roles."""
    return [result for result in tripclick_systems(results) if result.facts.role in roles]


def judged_sets(results: Iterable[Result]) -> list[str]:
    """Return the test sets, in order."""
    return distinct(result.split for result in tripclick_systems(results))


def compared_along(results: Iterable[Result], axis: str) -> list[tuple[Result, Comparison]]:
    """Return the comparisons along one of the study's axes, each with its payload."""
    return [
        (result, payload)
        for result, payload in of_type(results, Comparison)
        if payload.noted.axis == axis
    ]


def own_comparisons(results: Sequence[Result]) -> list[Result]:
    """Return the comparisons along any of the study's axes."""
    return [
        result
        for axis in (AGAINST_BM25, NEGATIVES, MEMBERS)
        for result, _ in compared_along(results, axis)
    ]


def paper_test(label: str) -> str | None:
    """Return TripClick's test that a split is named for, ``SPLIT`` or ``SPLIT.JUDGEMENTS``, or
    None.

    The paper's head is judged by DCTR, torso and tail by raw clicks. In a merged collection the
    split has a prefix.

    >>> (
    ...     paper_test("head_test.dctr"),
    ...     paper_test("trip.tail_test"),
    ...     paper_test("head_test"),
    ...     paper_test("test"),
    ... )
    ('Head (DCTR)', 'Tail (RAW)', None, None)
    """
    judged = label.endswith(".dctr")
    name, _, part = label.removesuffix(".dctr").rpartition(".")[2].partition("_")
    return TESTS.get(name) if part == "test" and judged == (name == "head") else None


def short(facts: Facts) -> str:
    """Name a model with its start, without its training set."""
    if facts.role == ENSEMBLE:
        return ended_name("Ensemble", facts.unfinished)
    name = "BM25" if facts.model == "bm25" else model_name(facts)
    return name + (f", {facts.pretrained}" if facts.pretrained else "")


def set_name(facts: Facts) -> str:
    """Name a training set."""
    name = facts.variant
    return (
        f"{name.removesuffix(CLEANED)}, false negatives left out"
        if name.endswith(CLEANED)
        else name
    )


def system_label(facts: Facts, systems: Sequence[Facts] = ()) -> str:
    """Return a system's label for a row or a line, with its training set if ``systems`` has
    several.
    """
    several = len({of.variant for of in systems if of.variant}) > 1
    return short(facts) + (f" ({set_name(facts)})" if several and facts.variant else "")
