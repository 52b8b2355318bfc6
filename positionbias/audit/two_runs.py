"""Give a verdict from a user's own runs: one over a collection, and one of the same system over
each rotation of it.

Any system can make such runs. Only ranks and measures are compared, never scores. A rotation moves
the sentence with the answer to a random place; the effect is the change of quality with that place
(``evaluation.moved_effect``). A draw that cuts through this sentence is skipped: query words are
more often before an answer than after it, so a cut in front of the answer does more damage, and a
position-blind system would seem to prefer the end [decision].
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from positionbias.audit.answers import RANKS, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.evidence import Evidence
from positionbias.audit.query_effects import effects_of_runs, rank_of
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.rotations import compared, rotation_results
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task
from positionbias.audit.verdict import ALONE, ALONE_WITHOUT_ANSWERS, MEASURE_MARGIN, answer
from positionbias.audit.words import FIRST
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.run import Run
from positionbias.evaluation.clustered import Estimate
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.moved_effect import moved_effect
from positionbias.positions.rotate import unit_starts
from positionbias.text.words import sentence_starts

__all__ = [
    "TWO_RUNS",
    "VERDICT",
    "Moves",
    "RotatedRun",
    "found_cut",
    "moves_of",
    "run_alone_verdict",
    "two_run_verdict",
]

TWO_RUNS, VERDICT = "two runs", "verdict"

CUT, UNCHANGED, NO_ROOM = (
    "sentences cut through",
    "passages left as they were",
    "passages of one sentence",
)
UNLIKE = 0.2  # runs that agree less than this beyond chance are hardly of one system [decision]
NO_ANSWER = "this split has no located answer"


class Moves(NamedTuple):
    """The moves of one rotation, ``(queries,)`` each: the place of the sentence with the answer
    before and after, in [0, 1], and the cut as a share of the passage; all NaN for skipped draws,
    which are counted by reason.
    """

    before: np.ndarray
    after: np.ndarray
    cuts: np.ndarray
    left_out: Counter[str]


def two_run_verdict(
    system_name: str,
    task: Task,
    run: Run,
    rotated: Sequence[RotatedRun],
    settings: AuditSettings,
    *,
    margin: float = MEASURE_MARGIN,
) -> list[Measurement]:
    """Return the verdict on position in the passage, and its counts.

    Effects are those of moving the answer from the front to the end of its passage, in the first
    measure and in ranks gained (−2: it falls by two places). A passage below the rank that all runs
    reach, or ``settings.depth`` if less, counts as one place below it. A query whose passage no run
    ranks has no change; it is kept and counted.

    Raises:
        InputError: runs or rotated collections of other queries or passages, or passages that are
            not rotations of the original ones.
        SettingError: no rotated run, or a margin that is not above 0.
    """
    if not rotated:
        raise SettingError(
            "--rotated: wanted a rotated collection and the run over it; found none; give "
            "COLLECTION2 RUN2"
        )
    if not margin > 0:
        raise SettingError(f"margin: wanted a number above 0; found {margin}; raise it")
    check_run(run, task.collection, task.split)
    for one in rotated:
        _check(one, task)
        _same_queries(run, one.run, task)
    measure, items = (
        settings.measures[0],
        [task.evidence.by_query[query_id] for query_id in task.query_ids],
    )
    runs = [System(system_name, run=of).ranked(task) for of in (run, *(one.run for one in rotated))]
    cutoff = min(settings.depth, *(of.depth for of in runs))
    if task.evidence.whole:
        _moves(task, rotated, settings)  # checks that they are rotations
        return _without_answers(system_name, task, runs, settings)
    values = np.array([task.values(of, [measure])[measure] for of in runs])
    ranks = np.array([[_rank(of, item, cutoff) for item in items] for of in runs])
    moves = _moves(task, rotated, settings)
    before, after, cuts = (
        np.array([getattr(moved, name) for moved in moves]) for name in ("before", "after", "cuts")
    )
    used = ~np.isnan(after)
    labels = np.broadcast_to(np.asarray(task.clusters, dtype=np.str_), used.shape)[used].tolist()
    queries = int(used.any(axis=0).sum())

    def effect_of(quality: np.ndarray, largest: float) -> Estimate:
        original = np.broadcast_to(quality[0], used.shape)[used]
        return moved_effect(
            before[used],
            after[used],
            cuts[used],
            quality[1:][used] - original,
            original,
            labels,
            largest=largest,
        )

    estimates = {
        measure: effect_of(values, 1.0),
        RANKS: effect_of(-ranks.astype(np.float64), float(cutoff)),
    }
    verdict = _verdict(measure, estimates, margin, queries, len(items))
    verdict = replace(verdict, rule=task.rule, **_of_these_runs(run, [one.run for one in rotated]))
    if verdict.shared is not None and verdict.preference is Preference.NONE:
        verdict = replace(verdict, preference=Preference.UNKNOWN, effects=(), margin=None)
    seen = ranks <= cutoff
    left_out = sum((moved.left_out for moved in moves), Counter[str]())
    clusters = estimates[measure].freedom
    counts: dict[str, float] = {
        "queries": len(items),
        "rotations": len(rotated),
        "queries with a moved answer": queries,
        "moves": int(used.sum()),
        **{name: left_out[name] for name in (CUT, UNCHANGED, NO_ROOM)},
        **({"passages that count": clusters + 1} if clusters else {}),
        "rank cut-off": cutoff,
        "queries that some run lacks": sum(
            any(query_id not in of for of in runs) for query_id in task.query_ids
        ),
        "passage in no run": int((~seen).all(axis=0).sum()),
        "passage in the original run alone": int((seen[0] & ~seen[1:].any(axis=0)).sum()),
        "passage in rotated runs alone": int((~seen[0] & seen[1:].any(axis=0)).sum()),
        f"first {FIRST} passages in common": min(_shared(run, one.run)[0] for one in rotated),
        f"{measure}, original": float(values[0].mean()),
        f"{measure}, rotated": float(values[1:].mean()),
    }
    system = System(system_name, run=run)
    return [
        system.measured(VERDICT, verdict),
        system.measured(TWO_RUNS, counts),
        effects_of_runs(system, task, runs, values, settings),
    ]


def _of_these_runs(run: Run, rotated: Sequence[Run]) -> dict[str, Any]:
    """Return how many runs are compared, whether they are the same one, and the share of first
    passages in common where it is hardly more than by chance.
    """
    shared, excess = min((_shared(run, other) for other in rotated), key=lambda pair: pair[1])
    return {
        "rotations": len(rotated),
        "alike": all(_alike(run, other) for other in rotated),
        "shared": shared if excess < UNLIKE else None,
    }


def _without_answers(
    system_name: str, task: Task, runs: Sequence[Run], settings: AuditSettings
) -> list[Measurement]:
    """Return "cannot tell", as the movement of the evidence is unknown, and the change by
    rotation.
    """
    system = System(system_name, run=runs[0])
    values = task.values(runs[0], settings.measures)
    after = compared(task, runs[0], runs[1:], settings.measures)
    verdict = Verdict(
        Question.PASSAGE,
        Preference.UNKNOWN,
        drawn=len(task.query_ids),
        reason=NO_ANSWER,
        **_of_these_runs(runs[0], runs[1:]),
    )
    measure = settings.measures[0]
    first_two = np.array([values[measure], after.values[measure][0]])
    return [
        system.measured(VERDICT, verdict),
        *rotation_results(system, task, values, after, settings),
        effects_of_runs(system, task, runs, first_two, settings),
    ]


def _moves(task: Task, rotated: Sequence[RotatedRun], settings: AuditSettings) -> list[Moves]:
    """Locate the evidence in each rotated collection.

    Raises:
        InputError: passages that are not rotations, or no passage that was rotated.
    """
    items = [task.evidence.by_query[query_id] for query_id in task.query_ids]
    moves = [moves_of(one.collection, task, items, settings) for one in rotated]
    if all(moved.left_out[UNCHANGED] == len(items) for moved in moves):
        raise bad_input(
            rotated[0].collection.path,
            wanted=f"a rotation of {task.collection.path}",
            found="the same texts",
            do="make one with: posbias debias",
        )
    return moves


def run_alone_verdict(system_name: str, task: Task, run: Run | None = None) -> Measurement:
    """Return the verdict on a run without rotated ones, always ``cannot tell``."""
    reason = ALONE_WITHOUT_ANSWERS if task.evidence.whole else ALONE
    verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, reason=reason, rule=task.rule)
    return System(system_name, run=run).measured(VERDICT, verdict)


def _check(one: RotatedRun, task: Task) -> None:
    """Check that a rotated collection and its run have the queries and passages of the original
    one.

    Raises:
        InputError: they do not.
    """
    original, rotated = task.collection, one.collection
    do = f"give the collection that posbias debias made of {original.path}, and the run over it"
    if task.split not in rotated.splits:
        raise bad_input(
            rotated.path,
            wanted=f"split {task.split!r}",
            found=", ".join(rotated.splits) or "none",
            do=do,
        )
    texts = {query.query_id: query.text for query in rotated.queries(task.split)}
    for query in task.queries:
        if texts.get(query.query_id) != query.text:
            found = "another text" if query.query_id in texts else "none of that id"
            raise bad_input(
                rotated.path,
                wanted=f"query {query.query_id!r} of {original.path}",
                found=found,
                do=do,
            )
    if len(rotated) != len(original):
        found = f"{len(rotated):,}"
        raise bad_input(
            rotated.path,
            wanted=f"the {len(original):,} passages of {original.path}",
            found=found,
            do=do,
        )
    absent = rotated.absent(sorted({item.passage_id for item in task.evidence.by_query.values()}))
    if absent:
        found = f"{len(absent):,} missing, the first {absent[0]!r}"
        raise bad_input(rotated.path, wanted=f"the passages of {original.path}", found=found, do=do)
    check_run(one.run, rotated, task.split)


def _alike(run: Run, other: Run) -> bool:
    """Return True if two runs have equal rankings and scores for every query."""
    return len(run) == len(other) and all(
        query_id in other
        and run[query_id].passage_ids == other[query_id].passage_ids
        and np.array_equal(run[query_id].scores, other[query_id].scores)
        for query_id in run
    )


def _shared(run: Run, other: Run) -> tuple[float, float]:
    """Return the mean share of a query's first passages that both runs have, and its excess over
    that by chance, if the second run has many passages (1: all are shared). Both are 1 if the runs
    have no query in common."""
    shares, chances = [], []
    for name in run:
        top, ids = (
            set(run[name].passage_ids[:FIRST]),
            other[name].passage_ids if name in other else [],
        )
        size = min(len(top), len(ids[:FIRST]))
        if not size:
            continue
        shares.append(len(top.intersection(ids[:FIRST])) / size)
        chances.append(len(top.intersection(ids)) / len(ids) if len(ids) >= 2 * FIRST else 0.0)
    if not shares:
        return 1.0, 1.0
    share, chance = float(np.mean(shares)), float(np.mean(chances))
    return share, (share - chance) / (1 - chance) if chance < 1 else 1.0


def _same_queries(run: Run, rotated: Run, task: Task) -> None:
    """Refuse runs if only one of them ranks passages for an audited query.

    Raises:
        InputError: such a query.
    """
    alone = [query_id for query_id in task.query_ids if (query_id in run) != (query_id in rotated)]
    if alone:
        raise InputError(
            f"run {rotated.name!r}: wanted the queries of run {run.name!r}; found {len(alone):,} "
            f"that only one of them ranks, the first {alone[0]!r}; rank all queries with both"
        )


def moves_of(
    rotated: Collection, task: Task, items: Sequence[Evidence], settings: AuditSettings
) -> Moves:
    """Locate the sentence with each query's answer in one rotated collection.

    Raises:
        InputError: a passage with an answer is not a rotation of the original one.
    """
    places: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        places.setdefault(item.passage_id, []).append(index)
    ids = list(places)
    columns = np.full((3, len(items)), np.nan)
    left_out, strange = Counter[str](), []
    for passage_id, text, turned in zip(
        ids, task.collection.texts(ids), rotated.texts(ids), strict=True
    ):
        cut = found_cut(text, turned)
        if cut is None:
            strange.append(passage_id)
            continue
        words, sentences = (
            unit_starts(text, settings.matching.words),
            [*sentence_starts(text), len(text)],
        )
        for index in places[passage_id]:
            place = _place(items[index], cut, words, sentences)
            if isinstance(place, str):
                left_out[place] += 1
            else:
                columns[:, index] = place
    if strange:
        raise bad_input(
            rotated.path,
            wanted=(
                f"rotations of the passages of {task.collection.path}: a passage's second part, "
                "then its first, joined by one space"
            ),
            found=(
                f"{len(strange):,} of {len(ids):,} passages with answers that are not, the first "
                f"{strange[0]!r}"
            ),
            do="make it with: posbias debias",
        )
    return Moves(columns[0], columns[1], columns[2], left_out)


def _place(
    item: Evidence, cut: int, words: Sequence[int], sentences: Sequence[int]
) -> tuple[float, float, float] | str:
    """Return the place of the answer's sentence before and after a cut, as shares of its possible
    places, and the cut; or why the draw is skipped.
    """
    if not cut:
        return UNCHANGED
    start = (
        sentences[max(0, bisect_right(sentences, item.start) - 1)]
        if item.start >= sentences[0]
        else 0
    )
    end = sentences[min(bisect_left(sentences, item.end), len(sentences) - 1)]
    first, last, turned = (bisect_left(words, offset) for offset in (start, end, cut))
    room = len(words) - (last - first)
    if room < 1:
        return NO_ROOM
    if first < turned < last:
        return CUT
    return first / room, (first - turned) % len(words) / room, turned / len(words)


def found_cut(text: str, rotated: str) -> int | None:
    """Return the character offset at which ``text`` was cut to give ``rotated``, ignoring white
    space; 0: no cut; None: not a rotation.

    >>> (
    ...     found_cut("one two three", "two three one "),
    ...     found_cut("one two", "one two"),
    ...     found_cut("one two", "two three"),
    ... )
    (4, 0, None)
    """
    bare, turned = "".join(text.split()), "".join(rotated.split())
    if len(bare) != len(turned):
        return None
    place = (bare + bare).find(turned)
    if place <= 0:
        return None if place < 0 else 0
    return [offset for offset, character in enumerate(text) if not character.isspace()][place]


def _rank(run: Run, item: Evidence, cutoff: int) -> int:
    """Return the rank of the evidence's passage, or one below the cut-off if it is not ranked
    within it.
    """
    rank = rank_of(run, item.query_id, item.passage_id)
    return cutoff + 1 if rank is None else min(rank, cutoff + 1)


def _verdict(
    measure: str, estimates: dict[str, Estimate], margin: float, queries: int, drawn: int
) -> Verdict:
    effects = [_effect(unit, estimate, queries) for unit, estimate in estimates.items()]
    verdict = Verdict(
        Question.PASSAGE, Preference.UNKNOWN, effects, margin, queries=queries, drawn=drawn
    )
    if estimates[measure].value is None or estimates[measure].interval is None:
        return replace(verdict, reason=estimates[measure].undefined)
    answered = answer(effects[:1], margin, drawn)
    return replace(
        verdict,
        preference=answered.preference,
        exceeds=answered.exceeds,
        wanted=answered.wanted,
    )


def _effect(unit: str, found: Estimate, queries: int) -> Effect:
    bounds = found.interval
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    return Effect(Contrast.RUNS, unit, found.value, low, high, found.detectable, queries)
