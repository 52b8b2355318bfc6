"""Give a verdict from a user's own runs: one over a collection, and one of the same system over
each rotation of it. Only ranks and measures are compared, never scores.

A rotation moves the sentence with the answer to a random place. A draw that cuts through it is
skipped: query words are more often before an answer than after it, so a cut in front of it does
more damage, and a position-blind system would seem to prefer the end [decision].
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from positionbias.audit.answers import RANKS, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import RotatedRun, Rows, System, Task, counted
from positionbias.audit.verdict import MEASURE_MARGIN, answer
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.progress import remark
from positionbias.core.run import Run
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.moved_effect import moved_effect
from positionbias.positions.evidence import MATCHING, Evidence
from positionbias.positions.rotate import found_cut, unit_starts
from positionbias.text.words import sentence_starts

TWO_RUNS = "two runs"
FIRST = 10  # passages that runs of one system mostly share
UNLIKE = 0.2  # runs that agree less than this beyond chance are hardly of one system [decision]
NOT_ONE_SYSTEM = (
    "as the runs share hardly more of their first passages than by chance; make sure that one "
    "system made both, over these collections"
)
SKIPPED = CUT, UNCHANGED, NO_ROOM = (
    "sentences cut through",
    "passages left as they were",
    "passages of one sentence",
)


def two_run_verdict(
    system: System, task: Task, settings: AuditSettings, *, margin: float = MEASURE_MARGIN
) -> tuple[Verdict, Rows]:
    """Return the verdict on position in the passage, its counts and the measure by query.

    Effects are those of moving the answer from the front to the end of its passage, in the measure
    and in ranks gained (−2: it falls by two places). A passage below the rank that all runs reach,
    or ``settings.depth`` if less, counts as one place below it.

    Raises:
        InputError: runs or rotated collections of other queries or passages, or passages that are
            not rotations of the original ones.
    """
    original, rotated = system.run, system.rotated
    assert original is not None
    check_run(original, task.collection, task.split)
    for pair in rotated:
        _check(pair, original, task)
    measure, items = settings.measure, list(task.evidence.by_query.values())
    runs = [
        replace(system, run=run).ranked(task) for run in (original, *(pair.run for pair in rotated))
    ]
    cutoff = min(settings.depth, *(run.depth for run in runs))
    moves = [moves_of(pair.collection, task, items) for pair in rotated]
    skipped = sum((counts for _, counts in moves), Counter[str]())
    if skipped[UNCHANGED] == len(items) * len(rotated):
        other, do = rotated[0].collection.path, "make one with: posbias debias"
        rotation = f"a rotation of {task.collection.path}"
        raise bad_input(other, wanted=rotation, found="the same texts", do=do)
    values = np.array([task.values(run, measure) for run in runs])
    ranks = np.array([[_rank(run, item, cutoff) for item in items] for run in runs])
    places = np.array([place for place, _ in moves])  # (rotations, queries, 3)
    used = ~np.isnan(places[..., 1])
    clusters = np.broadcast_to(np.array(task.clusters, str), used.shape)[used].tolist()
    queries = int(used.any(axis=0).sum())
    effects, undefined = [], ""
    for unit, quality, largest in ((measure, values, 1.0), (RANKS, -ranks, float(cutoff))):
        first = np.broadcast_to(quality[0], used.shape)[used]
        changes = quality[1:][used] - first
        before, after, cuts = places[used].T
        estimate = moved_effect(before, after, cuts, changes, first, clusters, largest=largest)
        bounds = estimate.interval
        low, high = (bounds.low, bounds.high) if bounds else (None, None)
        effects.append(
            Effect(Contrast.RUNS, unit, estimate.value, low, high, estimate.detectable, queries)
        )
        undefined = undefined or estimate.undefined
    verdict = Verdict(Question.PASSAGE, Preference.UNKNOWN, effects, margin, queries)
    verdict = replace(verdict, drawn=len(items), rule=task.rule, rotations=len(rotated))
    if all(_alike(original, pair.run) for pair in rotated):
        remark(
            f"{system.name}: both runs are the same, scores included: make sure that the second "
            "was made over the rotated collection"
        )
    if min(_shared(original, pair.run) for pair in rotated) < UNLIKE:
        verdict = replace(verdict, effects=(), margin=None, reason=NOT_ONE_SYSTEM)
    elif effects[0].low is None:
        verdict = replace(verdict, reason=undefined)
    else:
        preference, _, wanted = answer(effects[:1], margin, len(items))
        verdict = replace(verdict, preference=preference, wanted=wanted)
    counts: dict[str, float | str] = {
        "queries": len(items),
        "rotations": len(rotated),
        "queries with a moved answer": queries,
        "moves": int(used.sum()),
        **{reason: skipped[reason] for reason in SKIPPED},
        "rank cut-off": cutoff,
        "passage in no run": int((ranks > cutoff).all(axis=0).sum()),
        f"{measure}, original": float(values[0].mean()),
        f"{measure}, rotated": float(values[1:].mean()),
    }
    return verdict, [*counted(TWO_RUNS, counts), *by_query(task, measure, values[0], values[1])]


def by_query(task: Task, measure: str, before: np.ndarray, after: np.ndarray | None = None) -> Rows:
    """Return the measure of each query as rows: with all passages as they are, and rotated once."""
    clusters = dict(zip(task.query_ids, task.clusters, strict=True))
    return [
        {
            "measure": measure,
            "statistic": statistic,
            "value": values.mean(),
            "items": dict(zip(task.query_ids, values.tolist(), strict=True)),
            "cluster_of": clusters,
            "count": len(values),
            "counted": "queries",
        }
        for statistic, values in (("as it is", before), ("rotated once", after))
        if values is not None
    ]


def _check(rotated: RotatedRun, run: Run, task: Task) -> None:
    """Refuse a rotated collection or its run with other queries or passages than the original."""
    original, other = task.collection, rotated.collection
    texts = {query.query_id: query.text for query in other.queries(task.split)}
    changed = [f"query {name!r}" for name, text in task.texts.items() if texts.get(name) != text]
    passages = sorted({item.passage_id for item in task.evidence.by_query.values()})
    changed += [f"passage {name!r}" for name in other.absent(passages)]
    changed += ["the number of its passages"] if len(other) != len(original) else []
    if changed:
        raise InputError(
            f"{other.path}: {changed[0]} is not as in {original.path}; give the collection that "
            "posbias debias made of it"
        )
    check_run(rotated.run, other, task.split)
    alone = [name for name in task.query_ids if (name in run) != (name in rotated.run)]
    if alone:
        raise InputError(
            f"runs {run.name!r}, {rotated.run.name!r}: wanted the same queries; found "
            f"{len(alone):,} that only one of them ranks, the first {alone[0]!r}; rank all with "
            "both"
        )


def _alike(run: Run, other: Run) -> bool:
    """Return True if two runs have equal rankings and scores for every query."""
    return len(run) == len(other) and all(
        query_id in other
        and run[query_id].passage_ids == other[query_id].passage_ids
        and np.array_equal(run[query_id].scores, other[query_id].scores)
        for query_id in run
    )


def _shared(run: Run, other: Run) -> float:
    """Return the mean share of first passages that both runs have, as its excess over chance where
    the second run has many passages; 1 if no query is in both."""
    shares, by_chance = [], []
    for query_id in run:
        first = set(run[query_id].passage_ids[:FIRST])
        ids = other[query_id].passage_ids if query_id in other else []
        if first and ids:
            top = ids[:FIRST]
            shares.append(len(first.intersection(top)) / min(len(first), len(top)))
            many = len(ids) >= 2 * FIRST
            by_chance.append(len(first.intersection(ids)) / len(ids) if many else 0.0)
    chance = float(np.mean(by_chance or [0.0]))
    return (float(np.mean(shares or [1.0])) - chance) / (1 - chance) if chance < 1 else 1.0


def moves_of(
    rotated: Collection, task: Task, items: Sequence[Evidence]
) -> tuple[np.ndarray, Counter[str]]:
    """Locate the sentence with each query's answer in one rotated collection.

    Returns:
        ``(queries, 3)``: the place of the sentence before and after, in [0, 1], and the cut as a
        share of the passage; all NaN for skipped draws, and these counted by reason.

    Raises:
        InputError: a passage with an answer is not a rotation of the original one.
    """
    rows: dict[str, list[int]] = defaultdict(list)
    for row, item in enumerate(items):
        rows[item.passage_id].append(row)
    places, skipped = np.full((len(items), 3), np.nan), Counter[str]()
    originals, others, strange = task.collection.texts(list(rows)), rotated.texts(list(rows)), []
    for passage_id, text, turned in zip(rows, originals, others, strict=True):
        cut = found_cut(text, turned)
        if cut is None:
            strange.append(passage_id)
            continue
        words = unit_starts(text, MATCHING.words)
        sentences = [*sentence_starts(text), len(text)]
        for row in rows[passage_id]:
            place = _place(items[row], cut, words, sentences)
            if isinstance(place, str):
                skipped[place] += 1
            else:
                places[row] = place
    if strange:
        raise bad_input(
            rotated.path,
            wanted=f"rotations of the passages of {task.collection.path}",
            found=f"{len(strange):,} of {len(rows):,} passages with answers that are not, the "
            f"first {strange[0]!r}",
            do="make it with: posbias debias",
        )
    return places, skipped


def _place(
    item: Evidence, cut: int, words: Sequence[int], sentences: Sequence[int]
) -> tuple[float, float, float] | str:
    """Return the sentence's place before and after a cut, and the cut; or why it is skipped."""
    if not cut:
        return UNCHANGED
    start = [0, *sentences][bisect_right(sentences, item.start)]
    end = sentences[min(bisect_left(sentences, item.end), len(sentences) - 1)]
    first, last, turned = (bisect_left(words, offset) for offset in (start, end, cut))
    room = len(words) - (last - first)
    if room < 1:
        return NO_ROOM
    if first < turned < last:
        return CUT
    return first / room, (first - turned) % len(words) / room, turned / len(words)


def _rank(run: Run, item: Evidence, cutoff: int) -> float:
    """Return the rank of the evidence's passage, one below the cut-off if it is not within it."""
    ids = run[item.query_id].passage_ids[:cutoff] if item.query_id in run else []
    return float(ids.index(item.passage_id) + 1 if item.passage_id in ids else cutoff + 1)
