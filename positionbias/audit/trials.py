"""Make the texts of each query for the manipulations, and their comparisons: the evidence exchanged
with a *placebo*, a sentence without the answer that begins and ends like it; rotated to the front
and to the end; and replaced by a *stranger*, a sentence of another passage: the evidence's worth,
the unit of all effects on scores. Rotation's placebo is another query, whose change of score is the
effect of the two texts themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from positionbias.audit.answers import Contrast
from positionbias.audit.systems import Task, made_id
from positionbias.core.seeds import below, choose
from positionbias.text.filler import filler, known_words
from positionbias.text.sentences import Parts, ended, has_end, sentences
from positionbias.text.words import split_words

MOVES = (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)
COLUMNS = (*MOVES, Contrast.WORTH)
PLACEBO_QUERY = "placebo query"
STRANGERS = 20  # passages from which another passage's sentence is chosen
NO_PLACEBO = "no other sentence begins and ends like the evidence"
NO_STRANGER = "no sentence of another passage"
NO_SCORE = "a score is missing"
LEAST_AROUND = 2  # sentences around the two exchanged ones; with fewer, the middle is an end


class Comparison(NamedTuple):
    """Two texts; the contrast is the score of ``after`` less that of ``before``."""

    contrast: Contrast
    before: str
    after: str


def placebos(parts: Parts) -> list[int]:
    """Return the sentences that begin and end like the evidence, so may be exchanged with it.

    >>> placebos(Parts(["and so on.", "One came.", "Two left.", "Three sta"], 1))
    [2]
    """
    edges = [_edges_of(text) for text in parts.sentences]
    own = parts.own
    return [place for place, each in enumerate(edges) if place != own and each == edges[own]]


def _edges_of(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence begins in lower case, as after a cut, and whether it ends."""
    return sentence.strip()[:1].islower(), has_end(sentence)


def exchanges(
    parts: Parts, fill: str, orders: int, draw: Callable[[int, int, str], list[int]]
) -> list[Comparison]:
    """Exchange evidence and placebo of one query in an even number of ``orders`` of the other
    sentences, mirrored pairs.

    ``draw(count, size, purpose)`` draws ``size`` different numbers below ``count``. Let e be the
    evidence, p the placebo, r = a b the others in a drawn order, split in two halves, and f the
    filler. An order gives e r p → p r e and e a f p b → p a f e b. The next order gives the first
    with r reversed, and the second, read backwards, with a and b exchanged, so that neighbours and
    broken transitions are the same on both sides. In the middle a sentence has two neighbours, at
    an end one: the filler stands for the second [decision].

    Raises:
        ValueError: no sentence can be the placebo.
    """
    texts, candidates, made = parts.sentences, placebos(parts), list[Comparison]()
    if not candidates:
        raise ValueError(NO_PLACEBO)
    evidence, larger = texts[parts.own], draw(2, 1, "half")[0]
    for order in range(0, orders, 2):
        place = candidates[draw(len(candidates), 1, f"placebo {order}")[0]]
        others = [text for number, text in enumerate(texts) if number not in (parts.own, place)]
        drawn = [others[number] for number in draw(len(others), len(others), f"order {order}")]
        around = [*drawn, *[fill] * (LEAST_AROUND - len(drawn))]
        half = (len(around) + (larger + order // 2) % 2) // 2
        near, far, pair = around[:half], around[half:], (evidence, texts[place])
        for rest, left, right, step in ((drawn, near, far, 1), (drawn[::-1], far, near, -1)):
            ends = (_joined(first, *rest, last) for first, last in (pair, pair[::-1]))
            middle = (
                _joined(*[first, *left, fill, second, *right][::step])
                for first, second in (pair, pair[::-1])
            )
            made += [Comparison(Contrast.ENDS, *ends), Comparison(Contrast.MIDDLE, *middle)]
    return made


def fillers(others: int) -> int:
    """Return the number of fillers of a middle text with so many other sentences."""
    return 1 + max(0, LEAST_AROUND - others)


def turned(parts: Parts) -> tuple[str, str]:
    """Rotate the passage at sentence boundaries just before and just after the evidence, which is
    then first, and last.

    >>> turned(Parts(["a.", "b.", "c."], 1))
    ('b. c. a.', 'c. a. b.')
    """
    texts, own = parts.sentences, parts.own
    rest = [*texts[own + 1 :], *texts[:own]]
    return _joined(texts[own], *rest), _joined(*rest, texts[own])


def replaced(parts: Parts, other: str) -> tuple[str, str]:
    """Return the passage with another sentence in the evidence's place, and the passage itself.

    >>> replaced(Parts(["a.", "b.", "c."], 1), "x.")
    ('a. x. c.', 'a. b. c.')
    """
    texts = parts.sentences
    return _joined(*texts[: parts.own], other, *texts[parts.own + 1 :]), _joined(*texts)


def nearest_in_words(sentence: str, others: Iterable[str]) -> str:
    """Return the one of several sentences nearest in its number of words, of several the first that
    begins and ends alike; "" of none.

    >>> nearest_in_words("One came.", ["Two.", "all left.", "Two left.", "Three stayed."])
    'Two left.'
    """
    words, edges = len(split_words(sentence).words), _edges_of(sentence)

    def distance(other: str) -> tuple[int, bool]:
        return abs(len(split_words(other).words) - words), _edges_of(other) != edges

    return min(others, key=distance, default="")


def _joined(*texts: str) -> str:
    """Join pieces by a space, each but the last ended: they stay sentences [decision]."""
    return " ".join([*map(ended, texts[:-1]), *texts[-1:]])


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
    """Remove the first few sentences of ``order``, but keep the evidence and a placebo, so that the
    passage fits with the middle's fillers, or else without; None if it cannot."""
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
