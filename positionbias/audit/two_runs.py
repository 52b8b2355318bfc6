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
from typing import NamedTuple

import numpy as np

from positionbias.audit.evidence import Evidence
from positionbias.audit.query_effects import effects_of_runs, rank_of
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.rotations import compared, rotation_results
from positionbias.audit.sensitivity import NEXT
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.audit.verdict import MEASURE_MARGIN, answer, moved_words, what_helps
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.formatting import count, decimal, interval, percent
from positionbias.core.run import Run
from positionbias.evaluation.clustered import Estimate
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.moved_effect import moved_effect
from positionbias.positions.rotate import unit_starts
from positionbias.results.audit import RANKS, TWO_RUNS, VERDICT, TwoRunFigures
from positionbias.results.payloads import Contrast, Effect, Preference, Question, Verdict
from positionbias.results.result import Result
from positionbias.text.words import sentence_starts

__all__ = [
    "Moves",
    "RotatedRun",
    "found_cut",
    "moves_of",
    "run_alone_verdict",
    "two_run_verdict",
]

CUT, UNCHANGED, NO_ROOM = (
    "sentences cut through",
    "passages left as they were",
    "passages of one sentence",
)
ALIKE = (
    "Both runs are the same, scores included: make sure that the second was made over the rotated "
    "collection."
)
FIRST, UNLIKE = 10, 0.2
(
    """Runs whose first ten passages agree less than this beyond chance are hardly of one system """
    """[decision]."""
)
HOW = (
    "To find out: posbias debias COLLECTION, run your system on it, then posbias audit COLLECTION "
    "RUN --rotated COLLECTION2 RUN2."
)


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
) -> list[Result]:
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
        return _without_answers(system_name, task, runs, rotated, settings)
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
    moved = moved_words(task.rule, "the answer")
    verdict = _verdict(
        system_name, measure, estimates, margin, queries, len(items), len(rotated), moved
    )
    if all(_alike(run, one.run) for one in rotated):
        verdict = replace(verdict, sentences=[verdict.sentences[0], ALIKE])
    shared, alike = min((_shared(run, one.run) for one in rotated), key=lambda pair: pair[1])
    if alike < UNLIKE:
        verdict = _of_unlike(verdict, shared)
    seen = ranks <= cutoff
    left_out = sum((moved.left_out for moved in moves), Counter[str]())
    figures = TwoRunFigures(
        queries=len(items),
        rotations=len(rotated),
        moved=queries,
        moves=int(used.sum()),
        sentences_cut=left_out[CUT],
        unchanged=left_out[UNCHANGED],
        one_sentence=left_out[NO_ROOM],
        clusters=int(estimates[measure].freedom) + 1 if estimates[measure].freedom else None,
        cutoff=cutoff,
        lacking=sum(any(query_id not in of for of in runs) for query_id in task.query_ids),
        in_no_run=int((~seen).all(axis=0).sum()),
        in_original_alone=int((seen[0] & ~seen[1:].any(axis=0)).sum()),
        in_rotated_alone=int((~seen[0] & seen[1:].any(axis=0)).sum()),
        shared=shared,
        means={
            f"{measure}, original": float(values[0].mean()),
            f"{measure}, rotated": float(values[1:].mean()),
        },
    )
    system, found = System(system_name, run=run), estimates[measure]
    return [
        system.result(
            task, VERDICT, verdict, value=found.value, interval=found.interval, count=queries
        ),
        system.result(task, TWO_RUNS, figures, value=None, count=queries),
        effects_of_runs(system, task, runs, values, settings),
    ]


def _without_answers(
    system_name: str,
    task: Task,
    runs: Sequence[Run],
    rotated: Sequence[RotatedRun],
    settings: AuditSettings,
) -> list[Result]:
    """Return "cannot tell", as the movement of the evidence is unknown, and the change by
    rotation.
    """
    _moves(task, rotated, settings)  # checks that they are rotations
    system = System(system_name, run=runs[0])
    values = task.values(runs[0], settings.measures)
    after = compared(task, runs[0], runs[1:], settings.measures)
    gaps = rotation_results(system, task, values, after, settings)
    first, measure = gaps[0], settings.measures[0]
    sentences = [
        (
            f"{system_name}: cannot tell: this split has no located answer, so it is unknown where "
            "rotation moved the evidence."
        ),
        f"Rotation changes {measure} by {decimal(first.value, sign=True)} "
        f"{interval(first.interval, sign=True)} ({count(first.count)} queries); moves to the front "
        "and to the end cancel in it.",
        NEXT,
    ]
    if all(_alike(runs[0], run) for run in runs[1:]):
        sentences[1] = ALIKE
    verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, sentences, drawn=len(task.query_ids))
    shared, alike = min((_shared(runs[0], run) for run in runs[1:]), key=lambda pair: pair[1])
    if alike < UNLIKE:
        verdict = _of_unlike(verdict, shared)
    first_two = np.array([values[measure], after.values[measure][0]])
    by_query = effects_of_runs(system, task, runs, first_two, settings)
    return [system.result(task, VERDICT, verdict, value=None, count=0), *gaps, by_query]


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


def run_alone_verdict(system_name: str, task: Task, run: Run | None = None) -> Result:
    """Return the verdict on a run without rotated ones, always ``cannot tell``, with the next
    step.
    """
    why = (
        "and this split has no located answer"
        if task.evidence.whole
        else "harder questions may have their answers elsewhere"
    )
    joined = ", " if task.evidence.whole else "; "
    sentences = (
        f"{system_name}: cannot tell from one run{joined}{why}.",
        NEXT if task.evidence.whole else HOW,
    )
    verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, sentences)
    return System(system_name, run=run).result(task, VERDICT, verdict, value=None, count=0)


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


def _of_unlike(verdict: Verdict, shared: float) -> Verdict:
    """Weaken a verdict on runs that are hardly of one system: a preference stays with a warning,
    and "no preference" is withdrawn.
    """
    said = (
        f"The runs share {percent(shared, 0)} of their first {FIRST} passages, hardly more than by "
        "chance: make sure that one system made both, over these collections."
    )
    if verdict.preference != Preference.NONE:
        return replace(verdict, sentences=[*verdict.sentences[:2], said])
    return Verdict(
        Question.PASSAGE,
        Preference.UNKNOWN,
        ["Cannot tell from these runs.", said],
        queries=verdict.queries,
        drawn=verdict.drawn,
    )


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
    system: str,
    measure: str,
    estimates: dict[str, Estimate],
    margin: float,
    queries: int,
    drawn: int,
    rotations: int,
    moved: str,
) -> Verdict:
    effects = [_effect(unit, estimate, queries) for unit, estimate in estimates.items()]
    found, bounds = estimates[measure], estimates[measure].interval
    if found.value is None or bounds is None:
        sentences = [
            f"{system}: cannot tell, {found.undefined}.",
            (
                "The verdict needs rotations that leave the sentence with the answer whole: "
                "posbias debias COLLECTION --mode sentences makes them."
            ),
        ]
        return Verdict(
            Question.PASSAGE,
            Preference.UNKNOWN,
            sentences,
            effects,
            margin,
            queries=queries,
            drawn=drawn,
        )
    size = f"{decimal(found.value, sign=True)} {measure} {interval(bounds, sign=True)}"
    turns = f"{count(rotations)} rotation{'s' if rotations > 1 else ''}"
    measured = (
        f"{size} when {moved} moves from the front to the end ({count(queries)} queries, {turns})."
    )
    answered = answer(effects[:1], margin, drawn)
    preference, exceeds = answered.preference, answered.exceeds
    if preference == Preference.NONE:
        sentences = [
            f"{system} has no position preference larger than {decimal(margin)}: {measured}",
            "The place of an answer in its passage makes no difference that a user would notice.",
        ]
        return Verdict(
            Question.PASSAGE,
            Preference.NONE,
            sentences,
            effects,
            margin,
            None,
            queries,
            drawn=drawn,
        )
    if preference != Preference.UNKNOWN:
        sentences = [f"{system} {preference}: {measured}", _in_ranks(effects[1])]
        if not exceeds:
            sentences.append(
                f"The effect may still be smaller than the margin of {decimal(margin)} {measure}."
            )
        elif preference == Preference.FRONT:
            sentences.append(what_helps(preference))
        return Verdict(
            Question.PASSAGE, preference, sentences, effects, margin, exceeds, queries, drawn=drawn
        )
    wanted = answered.wanted
    would = "" if wanted is None else f"about {count(wanted)} queries would do, and "
    sentences = [
        f"{system}: cannot tell. {measured}",
        (
            f"This test would detect {decimal(found.detectable)} (80 % power); the smallest effect "
            f"of interest is {decimal(margin)}."
        ),
        f"Use more data: {would}more rotations help (posbias debias COLLECTION --seed 2).",
    ]
    return Verdict(
        Question.PASSAGE,
        Preference.UNKNOWN,
        sentences,
        effects,
        margin,
        None,
        queries,
        wanted,
        drawn=drawn,
    )


def _in_ranks(ranks: Effect) -> str:
    if ranks.value is None or ranks.low is None or ranks.high is None:
        return "Its effect in ranks is undefined."
    low, high = (
        sorted((abs(ranks.low), abs(ranks.high))) if ranks.low * ranks.high > 0 else (None, None)
    )
    bounds = f" [{decimal(low, 1)}, {decimal(high, 1)}]" if low is not None else ""
    return (
        f"So moved, the passage {'rises' if ranks.value > 0 else 'falls'} by "
        f"{decimal(abs(ranks.value), 1)} ranks{bounds}."
    )


def _effect(unit: str, found: Estimate, queries: int) -> Effect:
    bounds = found.interval
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    return Effect(Contrast.RUNS, unit, found.value, low, high, found.detectable, queries)
