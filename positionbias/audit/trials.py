"""Make the texts of each query for the manipulations, and their comparisons: the evidence exchanged
with a placebo, rotated to the front and to the end, and replaced by a *stranger*, a sentence of
another passage: the evidence's worth, the unit of all effects on scores. Rotation's placebo is
another query, whose change of score is the effect of the two texts themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import Contrast
from positionbias.audit.perturb import (
    NO_PLACEBO,
    exchanges,
    filler,
    fillers,
    known_words,
    nearest_in_words,
    placebos,
    replaced,
    turned,
)
from positionbias.audit.systems import Task, made_id
from positionbias.core.seeds import below, choose
from positionbias.text.sentences import Parts, sentences

__all__ = [
    "COLUMNS",
    "MOVES",
    "NO_SCORE",
    "PLACEBO_QUERY",
    "Pair",
    "Trial",
    "make_trials",
    "shortened_trials",
    "stranger",
]

MOVES = (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)
COLUMNS = (*MOVES, Contrast.WORTH)
PLACEBO_QUERY = "placebo query"
STRANGERS = 20  # passages from which another passage's sentence is chosen
NO_STRANGER = "no sentence of another passage"
NO_SCORE = "a score is missing"


class Pair(NamedTuple):
    """Two of a trial's texts; the contrast is the score of ``after`` less that of ``before``."""

    contrast: Contrast
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One query's texts, their comparisons, their filler, the stranger that replaces the evidence,
    and the id of the placebo query ("" if there is none). ``label`` distinguishes the names of a
    query's trials."""

    query_id: str
    passage_id: str
    filler: str
    stranger: str
    texts: Sequence[str]
    pairs: Sequence[Pair]
    placebo_query: str = ""
    label: str = ""

    @property
    def names(self) -> list[str]:
        """The ids of the texts."""
        return [made_id(self.query_id, f"{self.label}{place}") for place in range(len(self.texts))]

    @property
    def lists(self) -> set[str]:
        """The names of the lists with these texts, of any scorer."""
        return {self.query_id, made_id(self.query_id, PLACEBO_QUERY), *self.names}

    @property
    def rotated(self) -> Sequence[int]:
        """The indices of the texts with the evidence rotated to the front and to the end, if
        any.
        """
        return [place for pair in self.of(Contrast.ROTATION) for place in pair[1:]]

    def of(self, contrast: Contrast) -> list[Pair]:
        """Return the pairs of one contrast."""
        return [pair for pair in self.pairs if pair.contrast == contrast]

    def only(self, contrasts: Container[Contrast]) -> Trial:
        """Restrict the trial to the texts of these contrasts."""
        texts: list[str] = []
        pairs = []
        for contrast, before, after in self.pairs:
            if contrast in contrasts:
                pairs.append(Pair(contrast, len(texts), len(texts) + 1))
                texts += [self.texts[before], self.texts[after]]
        placebo = self.placebo_query if Contrast.ROTATION in contrasts else ""
        return replace(self, texts=texts, pairs=pairs, placebo_query=placebo)


def make_trials(
    task: Task, query_ids: Iterable[str], *, most: int, orders: int, seed: int
) -> tuple[list[Trial], dict[str, int]]:
    """Make trials of the first ``most`` of these queries that can have one; also count the others
    tried, by reason.
    """
    texts, known = task.texts, known_words(task.collection, seed)
    relevant: dict[str, set[str]] = defaultdict(set)
    for qrel in task.qrels:
        if qrel.grade > 0:
            relevant[qrel.query_id].add(qrel.passage_id)
    trials: list[Trial] = []
    counts: Counter[str] = Counter()
    for query_id in query_ids:
        if len(trials) == most:
            break
        parts = task.parts(query_id)
        if isinstance(parts, str):
            counts[parts] += 1
        elif not placebos(parts):
            counts[NO_PLACEBO] += 1
        elif not (other := stranger(task, query_id, parts, relevant[query_id], seed)):
            counts[NO_STRANGER] += 1
        else:
            fill = filler(" ".join([texts[query_id], *parts.sentences]), known, seed, query_id)
            passage_id = task.evidence.by_query[query_id].passage_id
            trials.append(
                _filled(Trial(query_id, passage_id, fill, other, [], []), parts, orders, seed)
            )
    others = _placebo_queries(task, trials, seed)
    trials = [replace(one, placebo_query=others.get(one.query_id, "")) for one in trials]
    return sorted(trials, key=lambda one: one.query_id), dict(counts)


def shortened_trials(
    task: Task,
    trials: Sequence[Trial],
    whole: np.ndarray,
    fits: Callable[[str, Sequence[str]], list[bool]],
    *,
    orders: int,
    seed: int,
) -> list[Trial]:
    """Make trials of shortened passages if a model does not read texts whole: other sentences are
    removed in a drawn order until the longest text fits.

    ``whole (trials, contrasts)`` marks contrasts that are read whole. A query has no trial if its
    evidence and placebo do not fit, and no middle if the fillers do not fit [decision].
    """
    queries = task.texts
    shortened = []
    for one, read in zip(trials, whole, strict=True):
        parts = task.parts(one.query_id)
        if read.all() or isinstance(parts, str):
            continue
        order = choose(len(parts.sentences), len(parts.sentences), seed, "shortened", one.query_id)
        short = _shortened(parts, one.filler, partial(fits, queries[one.query_id]), order)
        if short is not None:
            made = _filled(replace(one, label="short "), short, orders, seed)
            shortened.append(made.only(set(np.array(COLUMNS)[~read].tolist())))
    return shortened


def _shortened(
    parts: Parts, fill: str, fits: Callable[[Sequence[str]], list[bool]], order: Sequence[int]
) -> Parts | None:
    """Remove the first few sentences of ``order``, but keep the evidence and a placebo; None if
    even these do not fit.

    The passage fits with the fillers of the middle's texts, or otherwise without.
    """
    for filled in (True, False):
        kept = list(range(len(parts.sentences)))
        for leaving in (None, *order):
            rest = [place for place in kept if place != leaving]
            if parts.own not in rest:
                continue
            short = Parts([parts.sentences[place] for place in rest], rest.index(parts.own))
            if not placebos(short):
                continue
            kept = rest
            fillings = [fill] * fillers(len(rest) - 2) if filled else []
            if fits([" ".join([*short.sentences, *fillings])])[0]:
                return short
    return None


def stranger(task: Task, query_id: str, parts: Parts, relevant: Container[str], seed: int) -> str:
    """Return the sentence of another passage that replaces the evidence: of 20 passages drawn from
    the whole collection by the seed and the query, the sentence nearest to the evidence in words,
    of several the first that also begins and ends like it, or else the first drawn [decision].

    Relevant passages, the query's own, and sentences that contain the whole evidence are skipped;
    "" if nothing remains.
    """
    passage_id, evidence = task.evidence.by_query[query_id].passage_id, parts.sentences[parts.own]
    rows = np.array(choose(len(task.collection), STRANGERS, seed, "stranger", query_id), np.int64)
    drawn = zip(task.collection.passage_ids_at(rows), task.collection.texts_at(rows), strict=True)
    others = (text for name, text in drawn if name != passage_id and name not in relevant)
    return nearest_in_words(
        evidence,
        (sentence for text in others for sentence in sentences(text) if evidence not in sentence),
    )


def _filled(one: Trial, parts: Parts, orders: int, seed: int) -> Trial:
    """Return the trial with the texts and pairs of its passage's sentences."""

    def drawn(number: int, size: int, purpose: str) -> list[int]:
        return choose(number, size, seed, "moved sentence", one.query_id, purpose)

    compared = [  # rotation first, so that more orders add texts but change none
        (Contrast.ROTATION, *turned(parts)),
        (Contrast.WORTH, *replaced(parts, one.stranger)),
        *(
            (Contrast.MIDDLE if middle else Contrast.ENDS, before, after)
            for middle, before, after in exchanges(parts, one.filler, orders, drawn)
        ),
    ]
    texts = [text for _, *both in compared for text in both]
    pairs = [Pair(row[0], 2 * place, 2 * place + 1) for place, row in enumerate(compared)]
    return replace(one, texts=texts, pairs=pairs)


def _placebo_queries(task: Task, trials: Sequence[Trial], seed: int) -> dict[str, str]:
    """Draw for each trial, by the seed, another audited query of another passage; none if all
    queries share a passage.
    """
    ids, passages = task.query_ids, task.evidence.by_query
    drawn = {}
    for one in trials:
        start = below(len(ids), seed, PLACEBO_QUERY, one.query_id)
        for other in (*ids[start:], *ids[:start]):
            if passages[other].passage_id != one.passage_id:
                drawn[one.query_id] = other
                break
    return drawn
