"""The contamination study: the payloads of its results (training sets, levels, inheritance), and
their selection.

"Training on the Test Model: Contamination in Ranking Distillation" (2024), Tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec
from msgspec import field

from positionbias.core.convergence import ended_name
from positionbias.results.figures import Figures
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.points import Estimate, Point
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, of_type

__all__ = [
    "BEYOND",
    "CONTAMINATION",
    "DOSES",
    "INHERITED",
    "SETS",
    "STANDARD",
    "TARGETS",
    "TRAINED",
    "Beyond",
    "DosePoint",
    "Doses",
    "Inherited",
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
    "system_name",
    "target_of",
    "targets_of",
]

# the axis of comparisons of a contaminated system with its paired clean one
CONTAMINATION = "contamination"
STANDARD = "standard teacher"  # the axis of comparisons with the clean teacher, as in Table 1
SETS = "contaminated training set"
DOSES = "inflation by contaminated share"
INHERITED = "share of the teacher's inflation that its student inherits"
BEYOND = "inflation beyond the change on another target"
TRAINED = "trainings of teachers and students"
TARGETS = {
    "dl19": "Deep Learning 2019",
    "dl20": "Deep Learning 2020",
    "covid": "TREC COVID",
}  # a split's name → its name in Table 1


class TeacherSet(Figures, frozen=True, kw_only=True):
    """A teacher's training set: the number of groups, and of groups from each target's
    judgements.
    """

    MEASURES = (SETS,)

    groups: int
    target_groups: int = field(name="groups, target")
    queries: int = field(name="queries, target")
    judged_negatives: int = field(name="negatives judged, target")
    random_negatives: int = field(name="negatives random, target")
    missing_positives: int = field(name="positives missing from the corpus, target")


class Trainings(Figures, frozen=True, kw_only=True):
    """A system's trainings, one entry per seed; None if a checkpoint does not record it.
    ``stopped``, ``ended``: causes in words.
    """

    MEASURES = (TRAINED,)

    seeds: Sequence[int]
    steps: Sequence[int | None]
    kept_steps: Sequence[int | None] = field(name="step of the kept weights")
    stopped: Sequence[str] = field(name="stopped by")
    depths: Sequence[int | None] = field(name="re-ranking depth")
    ended: Sequence[str]


class DosePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Inflation at a share of the target's queries: on all, on seen and on other queries; None
    without such queries.

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
    """Inflation by ascending share. ``change`` is the inflation at the largest share less that at
    the smallest; None for one share.
    """

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
    """The change in ``measure`` on the contaminating target, ``here``, and on the target
    ``elsewhere``, ``there``.
    """

    MEASURES = (BEYOND,)

    measure: str
    elsewhere: str
    here: float
    there: float


def comparisons_along(results: Iterable[Result], axis: str) -> list[tuple[Result, Comparison]]:
    """Return the comparisons along one of the study's two axes."""
    return [
        (result, payload)
        for result, payload in of_type(results, Comparison)
        if payload.notes.get("axis") == axis
    ]


def is_contamination_test(result: Result) -> bool:
    """Return True for a comparison of this study."""
    return isinstance(result.payload, Comparison) and result.payload.notes.get("axis") in (
        CONTAMINATION,
        STANDARD,
    )


def against_clean(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return the comparisons of systems with the largest share of their source with their clean
    paired models.
    """
    largest = largest_shares(result.facts for result in distilled(results))
    return [
        (result, payload)
        for result, payload in comparisons_along(results, CONTAMINATION)
        if result.facts in largest
    ]


def inflations(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Return those of ``against_clean`` on the system's own source."""
    return [
        (result, payload) for result, payload in against_clean(results) if on_own_target(result)
    ]


def distilled(results: Iterable[Result]) -> list[Result]:
    """Return the effectiveness of every teacher and student, by query."""
    return [
        result
        for result, _ in of_type(results, PerQuery)
        if result.facts.role in ("teacher", "student")
    ]


def first_stages(results: Sequence[Result]) -> dict[tuple[str, str], Result]:
    """Return BM25's effectiveness by target and measure, if teachers and students re-ranked its
    candidates.
    """
    if not distilled(results):
        return {}
    return {
        (r.split, r.measure): r for r, _ in of_type(results, PerQuery) if r.facts.model == "bm25"
    }


def targets_of(results: Iterable[Result]) -> list[str]:
    """Return the targets, in order."""
    return distinct(result.split for result in distilled(results))


def clean_of(facts: Facts) -> Facts:
    """Return the same system without contamination."""
    return replace(facts, source="", share=None)


def clean_systems(results: Iterable[Result]) -> list[Facts]:
    """Return every teacher and student without its contamination, teachers first."""
    found = distinct(clean_of(result.facts) for result in distilled(results))
    return sorted(found, key=lambda facts: facts.role != "teacher")


def on_own_target(result: Result) -> bool:
    """Return True if a contaminated system is measured on its own source."""
    return bool(result.facts.source) and result.facts.source == result.split


def largest_shares(systems: Iterable[Facts]) -> set[Facts]:
    """Return the contaminated systems with the largest share of their source."""
    largest: dict[Facts, Facts] = {}
    for system in systems:
        key = replace(system, share=None)
        if system.share is not None and system.share >= (largest.get(key, system).share or 0.0):
            largest[key] = system
    return set(largest.values())


def system_name(facts: Facts) -> str:
    """Return a system's name in results, the same for all seeds."""
    return ended_name(_named(facts), facts.unfinished)


def _named(facts: Facts) -> str:
    if not facts.role:
        return facts.model or (
            f"{facts.source}, share {facts.share:g}" if facts.share is not None else "clean"
        )
    clean = f"{facts.role} {facts.model} ({facts.loss})"
    if not facts.source:
        return clean
    return f"{clean}, contaminated with {facts.source}" + (
        f", share {facts.share:g}" if facts.share not in (None, 1.0) else ""
    )


def target_of(split: str) -> str | None:
    """Return the paper's test collection that a split is named for (in a merged collection after a
    prefix), or None.

    >>> target_of("msm.dl19"), target_of("validation")
    ('Deep Learning 2019', None)
    """
    return TARGETS.get(split.rpartition(".")[2])
