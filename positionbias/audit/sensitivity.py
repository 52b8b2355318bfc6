"""Measure the sensitivity of scores to the order of a passage's text, which needs judgements but no
answers.

A relevant passage is changed in two ways: rotated at a drawn word, and with its halves exchanged.
The place of its evidence is unknown, so a change has no side, and an average of 0 is compatible
with a strong preference. The mean *size* of the change, E|Δ|, bounds every signed mean: for any
signs s, |E(s·Δ)| ≤ E|Δ|. If it is small, no side of the passage gains more than that when it moves.
If it is large, place is one of several causes: text broken at the cut and the order of words are
others. The placebo is an irrelevant candidate of the same query, changed alike.

A scorer is **insensitive** if the simultaneous 95 % intervals of E|Δ| lie within the margin for
both changes, and **sensitive** if one lies beyond it [decision]. A sample may miss the rare queries
that change much. So no interval in deviations ends below E|Δ| + 3 / passages, as if three passages
had changed by one more deviation ("rule of three") [decision].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import (
    DEVIATIONS,
    RANKS,
    READ_WHOLE,
    SIZES,
    Effect,
    Preference,
    Question,
    Verdict,
)
from positionbias.audit.manipulate import Measured
from positionbias.audit.perturb import exchanged_halves
from positionbias.audit.reads import Reads
from positionbias.audit.settings import DEPTH, AuditSettings
from positionbias.audit.systems import Task
from positionbias.audit.trials import Pair, Trial
from positionbias.audit.verdict import LEAST_READ, queries_for
from positionbias.audit.words import MORE
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.simultaneous import simultaneous
from positionbias.positions.rotate import Rotation, unit_starts
from positionbias.text.words import spoken_words

__all__ = [
    "LEFT_OUT",
    "TextTrials",
    "sensitivity_effects",
    "sensitivity_verdict",
    "sizes",
    "text_trials",
]

UNSEEN = 3  # queries with a change of one deviation that a sample may miss
UNREAD, NO_CANDIDATES = "too few texts are read whole", "no query has candidates"
NO_PLACEBO = "no irrelevant candidate of two words or more"
LEFT_OUT = (
    "This split has no located answer, so these are not measured: moved sentences, the response by "
    "place, quality and gain by position, PSI, position-blind scorers, and the rotation gap by "
    "movement."
)


class TextTrials(NamedTuple):
    """The trials of relevant passages and of their placebos, and the number of queries without a
    placebo, by reason.
    """

    relevant: list[Trial]
    placebo: list[Trial]
    skipped: dict[str, int]


def text_trials(
    task: Task, query_ids: Iterable[str], settings: AuditSettings, *, most: int
) -> TextTrials:
    """Make the trials of the first ``most`` of these queries.

    The placebo is a candidate judged irrelevant, else one not judged; of these the nearest in
    length among the query's first 30, ties by id [decision]. A rotation changes every passage, as
    an unchanged one would count as a change of 0 [decision].
    """
    grades = {(qrel.query_id, qrel.passage_id): qrel.grade for qrel in task.qrels}
    found = TextTrials([], [], {})
    skipped = Counter[str]()
    words = settings.matching.words
    for query_id in [name for _, name in zip(range(most), query_ids, strict=False)]:
        item = task.evidence.by_query[query_id]
        found.relevant.append(_trial(task, query_id, item.passage_id, settings, ""))
        candidates = (
            task.candidates[query_id].passage_ids[:DEPTH] if query_id in task.candidates else []
        )
        judged = {name: grades.get((query_id, name)) for name in candidates}
        irrelevant = [
            name
            for name, grade in judged.items()
            if grade is None or grade < settings.relevant_from
        ]
        nearest = sorted(
            (judged[name] is None, abs(len(unit_starts(text, words)) - item.words), name)
            for name, text in zip(irrelevant, task.collection.texts(irrelevant), strict=True)
            if spoken_words(text, words) > 1
        )
        if nearest:
            found.placebo.append(_trial(task, query_id, nearest[0][2], settings, "placebo "))
        else:
            skipped[NO_PLACEBO] += 1
    for part in (found.relevant, found.placebo):
        part.sort(key=lambda one: one.query_id)
    return found._replace(skipped=dict(skipped))


def _trial(
    task: Task, query_id: str, passage_id: str, settings: AuditSettings, label: str
) -> Trial:
    text = task.collection.texts([passage_id])[0]
    words = settings.matching.words
    turned = Rotation(words=words, identity=False, seed=settings.seed).apply(text, passage_id)
    texts = [
        text.strip(),
        turned.strip(),
        exchanged_halves(text, words).strip(),
    ]  # spaces at the ends would mark the changed text
    pairs = [Pair(contrast, 0, place) for place, contrast in enumerate(SIZES, start=1)]
    return Trial(query_id, passage_id, "", texts, pairs, label=label)


def sizes(down: Measured, up: Measured, *, most: bool) -> Measured:
    """Return the greatest sizes of changes between their lowest and highest values, or the
    least.
    """

    def size(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        least = np.where((low < 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        return np.maximum(np.abs(low), np.abs(high)) if most else least

    return replace(
        down, by_unit={unit: size(low, up.by_unit[unit]) for unit, low in down.by_unit.items()}
    )


def _with_unseen(effect: Effect, passages: int) -> Effect:
    """Add to a mean size what rare, unseen queries may add to it."""
    if effect.value is None or effect.low is None or effect.high is None:
        return effect
    high = (
        max(effect.high, effect.value + UNSEEN / passages)
        if effect.unit == DEVIATIONS
        else effect.high
    )
    return replace(effect, low=max(effect.low, 0.0), high=high)


def sensitivity_effects(
    relevant: Measured, placebo: Measured, measure: str, *, read: bool
) -> list[Effect]:
    """Return E|Δ| of both changes, and its excess over the placebo's, in deviations, ranks and the
    measure, for all texts or those ``read`` whole.

    Intervals hold together over both changes of one unit. A mean size is at least 0, and unseen
    queries may add to it.
    """
    rows = {query_id: row for row, query_id in enumerate(relevant.query_ids)}
    at = [rows[query_id] for query_id in placebo.query_ids]
    found = []
    for unit, name in (("score", DEVIATIONS), ("ranks", RANKS), (measure, measure)):
        own, other = (
            np.abs(np.where(one.whole, one.by_unit[unit], np.nan) if read else one.by_unit[unit])
            for one in (relevant, placebo)
        )
        more = np.full_like(own, np.nan)
        more[at] = own[at] - other
        units = relevant.units if unit == "score" else None
        for contrasts, values in ((SIZES, own), (MORE, more)):
            span = span_of(values, changes=contrasts is MORE) if name == measure else None
            estimates = simultaneous(values, relevant.clusters, units, span)
            for contrast, column, e in zip(contrasts, values.T, estimates, strict=True):
                passages = len(
                    {
                        label
                        for label, value in zip(relevant.clusters, column, strict=True)
                        if not np.isnan(value)
                    }
                )
                effect = Effect(
                    contrast,
                    name,
                    e.value,
                    e.low,
                    e.high,
                    e.detectable,
                    e.count,
                    READ_WHOLE if read else "",
                )
                if e.count:
                    found.append(_with_unseen(effect, passages) if contrast in SIZES else effect)
    return found


@dataclass(frozen=True, slots=True)
class _Answered:
    """The answer, the deciding effect, and the number of queries that an answer needs."""

    preference: Preference
    deciding: Effect
    wanted: int | None = None


def _answer(effects: Sequence[Effect], margin: float, drawn: int, noise: float) -> _Answered:
    """Return the answer by effects E|Δ| in deviations: the largest can show a sensitive scorer, the
    least certain an insensitive one.
    """
    largest = max(effects, key=lambda one: (one.low or 0, one.value or 0))
    if largest.low is not None and largest.low - noise > margin:
        return _Answered(Preference.SENSITIVE, largest)
    widest = max(effects, key=lambda one: one.high if one.high is not None else np.inf)
    if len(effects) == len(SIZES) and widest.high is not None and widest.high <= margin:
        return _Answered(Preference.INSENSITIVE, widest)
    room = margin - (widest.value or 0.0)
    drowned = 0 <= -room <= noise  # no number of queries distinguishes such a size from noise
    wanted = None if drowned else queries_for(widest, abs(room), drawn)
    # the unseen part shrinks with the number of queries, not with its square root
    if wanted is not None and room > 0:
        wanted = max(wanted, ceil(drawn * ((widest.high or 0.0) - (widest.value or 0.0)) / room))
    return _Answered(Preference.UNKNOWN, widest, wanted)


def sensitivity_verdict(
    relevant: Measured,
    placebo: Measured,
    measure: str,
    margin: float,
    reads: Reads,
    noise: float = 0.0,
) -> Verdict:
    """Return the verdict on the order of a passage's text.

    ``noise`` is the root mean square change of a repeated call, in deviations. It bounds the part
    of noise in E|Δ|; a sensitive scorer's E|Δ| must lie beyond the margin by more.
    """
    queries = len(relevant.query_ids)
    over_all = sensitivity_effects(relevant, placebo, measure, read=False)
    unread = float(1 - relevant.whole.all(axis=1).mean()) if queries else 0.0
    own = sensitivity_effects(relevant, placebo, measure, read=True) if unread else over_all
    deciding = [
        one
        for one in own
        if one.unit == DEVIATIONS and one.contrast in SIZES and one.queries >= LEAST_READ * queries
    ]
    verdict = Verdict(
        Question.TEXT,
        Preference.UNKNOWN,
        over_all,
        margin,
        queries=queries,
        reads=reads.words if unread else None,
        unread=unread or None,
        drawn=queries,
        noise=noise,
    )
    if not deciding:
        return replace(verdict, reason=UNREAD if unread else NO_CANDIDATES)
    found = _answer(deciding, margin, queries, noise)
    effects = sorted(own, key=lambda one: one.contrast != found.deciding.contrast) + (
        [] if own is over_all else over_all
    )
    return replace(
        verdict,
        preference=found.preference,
        # a size of 0 is no question
        effects=[
            replace(one, detectable=None) if one.contrast in SIZES else one for one in effects
        ],
        exceeds=True if found.preference is Preference.SENSITIVE else None,
        wanted=found.wanted,
    )
