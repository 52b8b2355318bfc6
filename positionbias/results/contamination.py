"""Figures of contamination, and selections of a contamination study's results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
from msgspec import field

from positionbias.results.figures import Figures
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.points import Estimate, Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, of_type

__all__ = [
    "BEYOND",
    "CONTAMINATION",
    "CONTAMINATION_MEASURES",
    "DOSES",
    "INHERITED",
    "SETS",
    "STANDARD",
    "TRAINED",
    "TRAINSET",
    "Beyond",
    "ContaminatedSet",
    "DosePoint",
    "Doses",
    "Inherited",
    "OrdinaryCounts",
    "QuerySetMeans",
    "TargetCounts",
    "TeacherSet",
    "Trainings",
    "against_clean",
    "clean_of",
    "clean_systems",
    "comparisons_along",
    "distilled",
    "first_stages",
    "inflations",
    "is_contamination_test",
    "largest_shares",
    "on_own_target",
    "targets_of",
]

CONTAMINATION = "contamination"  # the axis of comparisons of a contaminated system with its clean paired model
STANDARD = "standard teacher"  # the axis of comparisons with the clean teacher, as in Table 1
TRAINSET = "training set"
SETS = "contaminated training set"
DOSES = "inflation by contaminated share"
INHERITED = "share of the teacher's inflation that its student inherits"
BEYOND = "inflation beyond the change on another target"
TRAINED = "trainings of teachers and students"
CONTAMINATION_MEASURES = (SETS, DOSES, INHERITED, BEYOND, TRAINED)


class OrdinaryCounts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Counts of the ordinary groups of a training split, made with them."""

    split: str
    queries: int = 0
    groups: int = 0
    small_groups: int = field(name="groups smaller than asked for", default=0)
    without_candidates: int = field(name="positives without candidates", default=0)
    missing_positives: int = field(name="positives missing from the corpus", default=0)


class TargetCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counts of the groups of a target's judgements. ``query_ids`` are the queries taken; missing passages are by query."""

    queries: int
    groups: int
    judged_negatives: int = field(name="negatives judged")
    random_negatives: int = field(name="negatives random")
    with_positive: int = field(name="queries with a positive")
    without_positive: int = field(name="queries without a positive")
    missing_positives: int = field(name="positives missing from the corpus")
    missing_negatives: int = field(name="negatives missing from the corpus")
    query_ids: Sequence[str]
    missing_positive_ids: Mapping[str, Sequence[str]] = field(name="missing_positives")
    missing_negative_ids: Mapping[str, Sequence[str]] = field(name="missing_negatives")


class ContaminatedSet(Figures, frozen=True, kw_only=True):
    """A training set by origin: its ordinary groups, and those of each target. ``share`` is the targets' share of all groups."""

    MEASURES = (TRAINSET,)

    ordinary: OrdinaryCounts
    targets: Mapping[str, TargetCounts]
    groups: int = field(name="contaminated_groups")
    share: float = field(name="share_of_groups")


class TeacherSet(Figures, frozen=True, kw_only=True):
    """A teacher's training set: all its groups, and those of a target's judgements."""

    MEASURES = (SETS,)

    groups: int
    target_groups: int = field(name="groups, target")
    queries: int = field(name="queries, target")
    judged_negatives: int = field(name="negatives judged, target")
    random_negatives: int = field(name="negatives random, target")
    missing_positives: int = field(name="positives missing from the corpus, target")


class Trainings(Figures, frozen=True, kw_only=True):
    """A system's trainings, one entry a seed; None: unknown to the checkpoint. ``stopped`` and ``ended`` are causes in words."""

    MEASURES = (TRAINED,)

    seeds: Sequence[int]
    steps: Sequence[int | None]
    kept_steps: Sequence[int | None] = field(name="step of the kept weights")
    stopped: Sequence[str] = field(name="stopped by")
    depths: Sequence[int | None] = field(name="re-ranking depth")
    ended: Sequence[str]


class DosePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Inflation at a share of the target's queries: on all, on seen ones and on the others; None: no such query.

    ``apart`` is the inflation on seen queries less that on the others.
    """

    share: float
    every: Point = field(name="all")
    seen: Point | None
    others: Point | None
    apart: Estimate | None = field(name="seen less others")

    @property
    def parts(self) -> tuple[Point | None, ...]:
        """Return the inflation on all queries, on seen ones and on the others."""
        return self.every, self.seen, self.others


class Doses(Figures, frozen=True, kw_only=True):
    """Inflation by ascending share. ``change`` is that at the largest share less that at the smallest; None: only one share."""

    MEASURES = (DOSES,)

    measure: str
    points: Sequence[DosePoint]
    change: Point | None


class Inherited(Figures, frozen=True, kw_only=True):
    """The inflation of a student and of its teacher, in ``measure``."""

    MEASURES = (INHERITED,)

    measure: str
    teacher: float
    student: float


class Beyond(Figures, frozen=True, kw_only=True):
    """The change in ``measure`` on the contaminating target, ``here``, and on the target ``elsewhere``, ``there``."""

    MEASURES = (BEYOND,)

    measure: str
    elsewhere: str
    here: float
    there: float


class QuerySetMeans(Figures, frozen=True, kw_only=True):
    """A system's means on the queries that a model may have seen and on others. ``role`` is "model", "control" or "candidates".

    The measure names the query sets: "nDCG@10, test − fresh".
    """

    MEASURES = (" − ",)

    role: str
    seen: float
    other: float


def comparisons_along(results: Iterable[Result], axis: str) -> list[tuple[Result, Comparison]]:
    """Return the comparisons along one of the study's two axes."""
    return [(result, payload) for result, payload in of_type(results, Comparison) if payload.noted.axis == axis]


def is_contamination_test(result: Result) -> bool:
    """Whether a result is a comparison of this study."""
    return isinstance(result.payload, Comparison) and result.payload.noted.axis in (CONTAMINATION, STANDARD)


def against_clean(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return the comparisons of systems with the largest share of their source with their clean paired models."""
    largest = largest_shares(result.facts for result in distilled(results))
    return [(result, payload) for result, payload in comparisons_along(results, CONTAMINATION) if result.facts in largest]


def inflations(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return those of ``against_clean`` on the target that contaminated the system."""
    return [(result, payload) for result, payload in against_clean(results) if on_own_target(result)]


def distilled(results: Iterable[Result]) -> list[Result]:
    """Return the effectiveness of every teacher and student, by query."""
    return [result for result, _ in of_type(results, PerQuery) if result.facts.role in ("teacher", "student")]


def first_stages(results: Sequence[Result]) -> dict[tuple[str, str], Result]:
    """Return BM25's effectiveness by target and measure, where teachers and students re-ranked its candidates."""
    if not distilled(results):
        return {}
    return {(r.split, r.measure): r for r, _ in of_type(results, PerQuery) if r.facts.model == "bm25"}


def targets_of(results: Iterable[Result]) -> list[str]:
    """Return the targets, in order."""
    return distinct(result.split for result in distilled(results))


def clean_of(facts: Facts) -> Facts:
    """Return the same system with nothing contaminated."""
    return replace(facts, source="", share=None)


def clean_systems(results: Iterable[Result]) -> list[Facts]:
    """Return every teacher and student without its contamination, teachers first."""
    found = distinct(clean_of(result.facts) for result in distilled(results))
    return sorted(found, key=lambda facts: facts.role != "teacher")


def on_own_target(result: Result) -> bool:
    """Return whether a contaminated system is measured on its own target."""
    return bool(result.facts.source) and result.facts.source == result.split


def largest_shares(systems: Iterable[Facts]) -> set[Facts]:
    """Return the contaminated systems with the largest share of their source."""
    largest: dict[Facts, Facts] = {}
    for system in systems:
        key = replace(system, share=None)
        if system.share is not None and system.share >= (largest.get(key, system).share or 0.0):
            largest[key] = system
    return set(largest.values())
