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

import numpy as np

from positionbias.audit.answers import Contrast
from positionbias.audit.perturb import (
    NO_PLACEBO,
    Comparison,
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

MOVES = (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)
COLUMNS = (*MOVES, Contrast.WORTH)
PLACEBO_QUERY = "placebo query"
STRANGERS = 20  # passages from which another passage's sentence is chosen
NO_STRANGER = "no sentence of another passage"
NO_SCORE = "a score is missing"


@dataclass(frozen=True, slots=True)
class Trial:
    """One query's comparisons of texts, their filler, the stranger that replaces the evidence, and
    the id of the placebo query, or "". ``label`` distinguishes the names of a query's trials.
    """

    query_id: str
    passage_id: str
    filler: str
    stranger: str
    placebo_query: str = ""
    label: str = ""
    compared: Sequence[Comparison] = ()

    @property
    def texts(self) -> list[str]:
        """The texts, two for each comparison."""
        return [text for _, *both in self.compared for text in both]

    @property
    def names(self) -> list[str]:
        """The ids of the texts."""
        numbers = range(2 * len(self.compared))
        return [made_id(self.query_id, f"{self.label}{number}") for number in numbers]

    @property
    def rotated(self) -> list[int]:
        """The indices of the texts with the evidence rotated to the front and to the end."""
        return self.of(Contrast.ROTATION).ravel().tolist()

    def of(self, contrast: Contrast) -> np.ndarray:
        """Return the indices of a contrast's texts, before and after, ``(comparisons, 2)``."""
        places = [at for at, one in enumerate(self.compared) if one.contrast == contrast]
        return 2 * np.array(places, int)[:, None] + [0, 1]


def make_trials(
    task: Task, query_ids: Iterable[str], *, most: int, orders: int, seed: int
) -> tuple[list[Trial], dict[str, int]]:
    """Make trials of the first ``most`` of these queries that can have one; also count the others
    tried, by reason.
    """
    texts, known = task.texts, known_words(task.collection, seed)
    relevant = defaultdict[str, set[str]](set)
    for qrel in task.qrels:
        if qrel.grade > 0:
            relevant[qrel.query_id].add(qrel.passage_id)
    trials, skipped = list[Trial](), Counter[str]()
    for query_id in query_ids:
        if len(trials) == most:
            break
        parts = task.parts(query_id)
        if isinstance(parts, str):
            skipped[parts] += 1
        elif not placebos(parts):
            skipped[NO_PLACEBO] += 1
        elif not (other := stranger(task, query_id, parts, relevant[query_id], seed)):
            skipped[NO_STRANGER] += 1
        else:
            fill = filler(" ".join([texts[query_id], *parts.sentences]), known, seed, query_id)
            passage_id = task.evidence.by_query[query_id].passage_id
            placebo = placebo_query(task, query_id, seed)
            trial = Trial(query_id, passage_id, fill, other, placebo)
            trials.append(_filled(trial, parts, orders, seed))
    return sorted(trials, key=lambda trial: trial.query_id), dict(skipped)


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
    queries, shortened = task.texts, []
    for trial, read in zip(trials, whole, strict=True):
        parts = task.parts(trial.query_id)
        if read.all() or isinstance(parts, str):
            continue
        count = len(parts.sentences)
        order = choose(count, count, seed, "shortened", trial.query_id)
        short = _shortened(parts, trial.filler, partial(fits, queries[trial.query_id]), order)
        if short is not None:
            made = _filled(replace(trial, label="short "), short, orders, seed)
            unread = [contrast for contrast, whole in zip(COLUMNS, read, strict=True) if not whole]
            compared = [one for one in made.compared if one.contrast in unread]
            placebo = trial.placebo_query if Contrast.ROTATION in unread else ""
            shortened.append(replace(made, compared=compared, placebo_query=placebo))
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
    """Return the sentence of other passages that replaces the evidence: the nearest in words of 20
    passages drawn by the seed and the query [decision], without relevant ones, the query's own, and
    sentences that contain the whole evidence; "" if nothing remains.
    """
    passage_id, evidence = task.evidence.by_query[query_id].passage_id, parts.sentences[parts.own]
    rows = np.array(choose(len(task.collection), STRANGERS, seed, "stranger", query_id), np.int64)
    drawn = zip(task.collection.passage_ids_at(rows), task.collection.texts_at(rows), strict=True)
    others = (text for name, text in drawn if name != passage_id and name not in relevant)
    return nearest_in_words(
        evidence,
        (sentence for text in others for sentence in sentences(text) if evidence not in sentence),
    )


def _filled(trial: Trial, parts: Parts, orders: int, seed: int) -> Trial:
    """Return the trial with the comparisons of its passage's sentences."""

    def drawn(count: int, size: int, purpose: str) -> list[int]:
        return choose(count, size, seed, "moved sentence", trial.query_id, purpose)

    return replace(
        trial,
        compared=[  # rotation first, so that more orders add texts but change none
            Comparison(Contrast.ROTATION, *turned(parts)),
            Comparison(Contrast.WORTH, *replaced(parts, trial.stranger)),
            *exchanges(parts, trial.filler, orders, drawn),
        ],
    )


def placebo_query(task: Task, query_id: str, seed: int) -> str:
    """Draw, by the seed, another audited query of another passage; "" if all queries share a
    passage.
    """
    ids, passages = task.query_ids, task.evidence.by_query
    start = below(len(ids), seed, PLACEBO_QUERY, query_id)
    others = (*ids[start:], *ids[:start])
    own = passages[query_id].passage_id
    return next((other for other in others if passages[other].passage_id != own), "")
