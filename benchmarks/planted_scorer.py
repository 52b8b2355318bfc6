"""A scorer with a position preference of set size, on queries planted in arrays or in a real planted collection.

A query's candidates are the passage that answers it and seven that mention its words, as in ``positionbias.planted``. The score of a passage for
a query is

    2 · [it answers] − size · x + e(query, passage) + o(passage) + v(passage, version),

x the relative position of the first word of the sentence that holds the query's words; e, o and v normal with deviations 0.8, 0.8 and 0.3;
``version`` is 0 for the original passage and 1 … for its rotations. The scorer reads words only: a cut through the sentence changes nothing but where its first word stands. So with size 0 every version is
scored alike but for v, and the true gap, slope and PSI are 0.

``draw`` makes the positions directly: sentences' words from the grammar's templates, their number, the fragments at both ends, the answering
sentence's slot and the rotations' cuts are drawn from the same densities as the generator's, one number each instead of a text, since a
planted collection has 131,072 queries at most and eight passages each. It differs where a passage is to answer several queries: each then asks,
with even chance, what the first one asks of the same sentence, or has a sentence of its own; so both the places and the scores of its queries are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.seeds import generator, keys64
from positionbias.planted.generator import DEFAULT_FRONT_LOADING
from positionbias.planted.grammar import ANSWERING, MENTIONING
from positionbias.positions.density import Density
from positionbias.positions.rotate import Rotation, unit_starts

__all__ = ["CANDIDATES", "Planted", "collected", "draw", "ndcg"]

CANDIDATES = 8
ANSWERS, OWN, PASSAGE, VERSION = 2.0, 0.8, 0.8, 0.3
SENTENCES = (3, 5)


@dataclass(frozen=True)
class Planted:
    """Queries by array. ``positions (versions, queries, 8)`` of the query's words in each candidate, the one that answers first; ``noise`` all
    of the score but for the preference and the answer, alike; ``clusters (queries,)`` the passage that answers."""

    positions: np.ndarray
    noise: np.ndarray
    clusters: list[str]

    def quality(self, size: float) -> np.ndarray:
        """nDCG@10 of each version by a scorer of this preference, ``(versions, queries)``."""
        scores = self.noise - size * self.positions
        scores[..., 0] += ANSWERS
        return ndcg(scores)


def ndcg(scores: np.ndarray) -> np.ndarray:
    """nDCG@10 where the first of up to ten candidates is the only relevant one."""
    return 1 / np.log2(2 + (scores[..., 1:] > scores[..., :1]).sum(axis=-1))


def _words(templates: tuple[str, ...]) -> np.ndarray:
    """The words of each template's sentences: a thing has two."""
    return np.array([len(template.replace("{thing}", "a b").split()) for template in templates])


def _lengths(rng: np.random.Generator, answers: np.ndarray) -> np.ndarray:
    """The words of sentences, each answering or not."""
    of = [_words(templates) for templates in (MENTIONING, ANSWERING)]
    drawn = [words[rng.integers(0, len(words), size=answers.shape)] for words in of]
    return np.where(answers, drawn[1], drawn[0])


def _windows(rng: np.random.Generator, passages: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Passages as the word at which each slot starts ``(passages, 5)``, the words of each passage, and its number of sentences."""
    sentences = rng.integers(SENTENCES[0], SENTENCES[1] + 1, size=passages)
    lengths = _lengths(rng, rng.random((passages, SENTENCES[1])) < 0.5)
    lengths[np.arange(SENTENCES[1]) >= sentences[:, None]] = 0
    opening, closing = (rng.integers(0, _lengths(rng, rng.random(passages) < 0.5)) for _ in range(2))
    starts = opening[:, None] + np.cumsum(lengths, axis=1) - lengths
    return starts, opening + lengths.sum(axis=1) + closing, sentences


def _slots(rng: np.random.Generator, sentences: np.ndarray, front_loading: float, queries: int) -> np.ndarray:
    """A slot for each query of each passage, ``(passages, queries)``."""
    drawn = np.empty((len(sentences), queries), np.int64)
    for count in range(SENTENCES[0], SENTENCES[1] + 1):
        own = sentences == count
        drawn[own] = rng.choice(count, size=(int(own.sum()), queries), p=Density("front", front_loading).shares(count))
    return np.where(rng.random(drawn.shape) < 0.5, drawn[:, :1], drawn)


def _versions(rng: np.random.Generator, first: np.ndarray, words: np.ndarray, draws: int) -> np.ndarray:
    """Relative positions of the word ``first`` before and after each of the draws: a cut at any word, the first one included."""
    cuts = np.concatenate([np.zeros((1, *words.shape), np.int64), rng.integers(0, words, size=(draws, *words.shape))])
    shape = (draws + 1, *words.shape, *(1,) * (first.ndim - words.ndim))
    length = words.reshape(shape[1:])
    return (first - cuts.reshape(shape)) % length / length


def draw(
    queries: int, *, per_passage: int = 1, draws: int = 4, front_loading: float = DEFAULT_FRONT_LOADING, seed: int
) -> Planted:
    """``queries`` planted queries, ``per_passage`` of them to a passage that answers; ``draws`` rotations of every passage."""
    rng = generator(seed, "planted scorer", queries, per_passage)
    passages = -(-queries // per_passage)
    starts, words, sentences = _windows(rng, passages)
    answering = np.take_along_axis(starts, _slots(rng, sentences, front_loading, per_passage), axis=1)
    places = _versions(rng, answering, words, draws).reshape(draws + 1, -1)[:, :queries]
    others = queries * (CANDIDATES - 1)
    starts, words, sentences = _windows(rng, others)
    mentioning = np.take_along_axis(starts, _slots(rng, sentences, 0.0, 1), axis=1)[:, 0]
    mentions = _versions(rng, mentioning, words, draws).reshape(draws + 1, queries, CANDIDATES - 1)
    positions = np.concatenate([places[..., None], mentions], axis=2)
    noise = OWN * rng.normal(size=(1, queries, CANDIDATES)) + np.zeros((draws + 1, 1, 1))
    of_passage = PASSAGE * rng.normal(size=(1, passages)) + VERSION * rng.normal(size=(draws + 1, passages))
    noise[..., 0] += np.repeat(of_passage, per_passage, axis=1)[:, :queries]
    mentioned = noise[..., 1:]
    mentioned += PASSAGE * rng.normal(size=mentioned.shape[1:]) + VERSION * rng.normal(size=mentioned.shape)
    return Planted(positions, noise, [f"p{query // per_passage}" for query in range(queries)])


def collected(collection: Collection, split: str, *, draws: int = 4, seed: int = 1) -> Planted:
    """The same of a real planted collection: the places of words in its texts, its rotations; e, o and v keyed by the ids.

    Raises:
        SystemExit: a query without seven passages that mention its words.
    """
    queries = collection.queries(split)
    asked = {query.fields["thing"]: number for number, query in enumerate(queries)}
    answering = {answer.query_id: answer.passage_id for answer in collection.answers(split)}
    positions = np.full((draws + 1, len(queries), CANDIDATES), np.nan)
    names = np.full((len(queries), CANDIDATES), "", dtype=object)
    filled = np.ones(len(queries), np.int64)
    for passage in collection.passages():
        for number, first in _speaks_of(passage.text, asked):
            place = 0
            if answering[queries[number].query_id] != passage.passage_id:
                place, filled[number] = filled[number], filled[number] + 1
            names[number, place] = passage.passage_id
            positions[:, number, place] = _turned(passage.text, passage.passage_id, first, draws, seed)
    if np.isnan(positions).any() or (filled != CANDIDATES).any():
        raise SystemExit("wanted eight passages a query; make the collection with eight times as many passages as queries")
    pairs = [f"{query.query_id}\x1f{name}" for query, row in zip(queries, names, strict=True) for name in row]
    passages = names.ravel().tolist()
    noise = PASSAGE * _normal(seed, "o", passages) + OWN * _normal(seed, "e", pairs)
    versions = [noise + VERSION * _normal(seed, f"v{version}", passages) for version in range(draws + 1)]
    return Planted(positions, np.stack(versions).reshape(positions.shape), names[:, 0].tolist())


def _speaks_of(text: str, asked: dict[str, int]) -> list[tuple[int, int]]:
    """The queries whose thing a passage speaks of, each with the first word of the sentence that does."""
    words = text.split()
    bare = [word.strip(".,") for word in words]
    found = []
    for place, pair in enumerate(pairwise(bare)):
        if (number := asked.get(" ".join(pair))) is not None:
            ends = [before for before in range(place) if words[before].endswith(".")]
            found.append((number, ends[-1] + 1 if ends else 0))
    return found


def _turned(text: str, passage_id: str, first: int, draws: int, seed: int) -> np.ndarray:
    """The relative position of a word before and after each rotation, ``(versions,)``."""
    starts = unit_starts(text, "whitespace")
    cuts = [0, *(Rotation(words="whitespace", seed=seed + number).cut(text, passage_id) for number in range(draws))]
    turns = np.array([starts.index(cut) if cut else 0 for cut in cuts])
    return (first - turns) % len(starts) / len(starts)


def _normal(seed: int, purpose: str, keys: list[str]) -> np.ndarray:
    from scipy.special import ndtri

    uniform = (keys64(seed, f"planted scorer {purpose}", [key.encode() for key in keys]).astype(np.float64) + 0.5) / 2.0**64
    return ndtri(uniform)
