"""Scorers that are blind to places, twice: of one plain text at a time, and of many texts at once.

Battery A cannot react to the order of sentences: ``overlap``, ``length``, ``random``. Battery B
reacts to it and not to places: the best sentence, the best window of 20 words, word pairs and their
proximity, the cohesion of neighbouring sentences, a penalty for a text that begins or ends in the
middle of a sentence, and noise keyed by (query, text). A word is what stands between spaces,
without punctuation; a sentence ends at a word that ends in ".", "!" or "?".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from zlib import crc32

import numpy as np

__all__ = [
    "EDGED",
    "NOISES",
    "ORDERED",
    "PLAIN",
    "UNORDERED",
    "Block",
    "Instance",
    "Vocabulary",
    "score_all",
]

SLOTS = 8  # distinct words of a query that count: the longest
WINDOW = 20
AVERAGE = 50.0  # words of a passage, for the normalisation of length
LIGHT = 0.2  # the weight of a stop word
SCALE = 1.2  # about the deviation of ``overlap`` over a planted query's candidates
NOISES = {"noise 0.1": 0.1, "noise 0.3": 0.3, "noise 1": 1.0}
UNORDERED = ("overlap", "length", "random")
ORDERED = (
    "best sentence",
    "sentence pairs",
    "window",
    "proximity",
    "cohesion",
    "broken",
    *NOISES,
    "noise alone",
)
EDGED = ("cut window",)  # reacts to the edges of a text, and so is not blind
STOP = frozenset(
    "a an and are as at by did do does for from had has have how in is it its of on or that the to "
    "was were what when where which who why with".split()
)
_TRIM = ".,;:!?\"'()[]“”’‘«»"
_CLOSING = "\"'”’)]}»"
_ENDING = (".", "!", "?")
_MASK = (1 << 64) - 1
_P = 0x9E3779B97F4A7C15
_K1, _B = 1.2, 0.75


def _mix(value: int) -> int:
    """SplitMix64's last step."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _hash(word: str) -> int:
    return _mix((crc32(word.encode()) * _P + 1) & _MASK)


def _core(word: str) -> str:
    return word.strip(_TRIM).lower()


def _ends(word: str) -> bool:
    return word.rstrip(_CLOSING).endswith(_ENDING)


def query_words(query: str) -> list[str]:
    """The longest distinct words of a query, in its order."""
    words = list(dict.fromkeys(core for word in query.split() if (core := _core(word))))
    kept = sorted(range(len(words)), key=lambda place: (-len(words[place]), place))[:SLOTS]
    return [words[place] for place in sorted(kept)]


def _weight(word: str) -> float:
    return LIGHT if word in STOP else 1.0


def _pairs(query: str, words: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbouring words of a query, both among ``words``."""
    cores = [_core(word) for word in query.split()]
    return [
        pair
        for pair in dict.fromkeys(pairwise(cores))
        if pair[0] in words and pair[1] in words and pair[0] != pair[1]
    ][:16]


# Of one text.


def overlap(query: str, text: str) -> float:
    """Σ over the query's words of weight · tf·(k1 + 1) / (tf + k1·(1 − b + b·length / average))."""
    words = [_core(word) for word in text.split()]
    norm = _K1 * (1 - _B + _B * len(words) / AVERAGE)
    counts = [(words.count(word), _weight(word)) for word in query_words(query)]
    return sum(weight * tf * (_K1 + 1) / (tf + norm) for tf, weight in counts)


def length(query: str, text: str) -> float:
    return -float(len(text.split()))


def random(query: str, text: str) -> float:
    """A number keyed by the query and the text's words, whatever their order."""
    return _uniform(query, _bag([_core(word) for word in text.split()]))


def _uniform(query: str, text: int) -> float:
    return ((_mix(_hash(query) ^ text) >> 11) + 0.5) / (1 << 53)


def _sentences(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in text.split():
        found[-1].append(_core(word))
        if _ends(word):
            found.append([])
    return [words for words in found if words]


def _held(words: Sequence[str], among: Sequence[str]) -> float:
    return sum(_weight(word) for word in words if word in among)


def best_sentence(query: str, text: str) -> float:
    words = query_words(query)
    return max(_held(words, sentence) for sentence in _sentences(text))


def window(query: str, text: str) -> float:
    wanted, words = query_words(query), [_core(word) for word in text.split()]
    return max(
        _held(wanted, words[place : place + WINDOW])
        for place in range(max(1, len(words) - WINDOW + 1))
    )


def sentence_pairs(query: str, text: str) -> float:
    """The best of all pairs of neighbouring sentences, each with noise keyed by the query and the
    pair; the first and the last have a neighbour without words.
    """
    wanted, found = query_words(query), [[], *_sentences(text), []]
    return max(
        _held(wanted, [*a, *b]) + SCALE * _uniform(query, (_bag(a) + _P * _bag(b)) & _MASK)
        for a, b in pairwise(found)
    )


def _bag(words: Sequence[str]) -> int:
    return sum(_hash(word) for word in words) & _MASK


def cut_window(query: str, text: str) -> float:
    """The best of all whole windows, each with noise keyed by the query and the window's words:
    fewer of them hold what stands at an edge.
    """
    wanted, words = query_words(query), [_core(word) for word in text.split()]
    windows = [words[place : place + WINDOW] for place in range(max(1, len(words) - WINDOW + 1))]
    return max(_held(wanted, one) + SCALE * _uniform(query, _ordered(one)) for one in windows)


def _ordered(words: Sequence[str]) -> int:
    key, power = 0, 1
    for word in words:
        key = (key + _hash(word) * power) & _MASK
        power = power * _P & _MASK
    return key


def proximity(query: str, text: str) -> float:
    """Word pairs of the query that are in the text, and 1 / (least distance) of its words that
    carry meaning, one after another.
    """
    wanted, words = query_words(query), [_core(word) for word in text.split()]
    seen = set(pairwise(words))
    total = sum((_weight(a) + _weight(b)) / 2 for a, b in _pairs(query, wanted) if (a, b) in seen)
    heavy = [word for word in wanted if word not in STOP]
    for a, b in pairwise(heavy):
        distances = [
            abs(i - j)
            for i, one in enumerate(words)
            if one == a
            for j, other in enumerate(words)
            if other == b
        ]
        total += 1 / min(distances) if distances else 0
    return total


def cohesion(query: str, text: str) -> float:
    """The mean over neighbouring sentences of shared words over all words, words distinguished by
    64 hashes.
    """
    marks = [_signature(sentence) for sentence in _sentences(text)]
    shares = [(a & b).bit_count() / (a | b).bit_count() for a, b in pairwise(marks)]
    return sum(shares) / len(shares) if shares else 0.0


def _signature(words: Sequence[str]) -> int:
    mark = 0
    for word in words:
        mark |= 1 << (_hash(word) >> 58)
    return mark


def broken(query: str, text: str) -> float:
    """Word overlap, less where the text begins in lower case, and less where it does not end a
    sentence.
    """
    return overlap(query, text) - SCALE / 2 * (text[:1].islower() + (not _ends(text)))


def noise_alone(query: str, text: str) -> float:
    return NormalDist().inv_cdf(_uniform(query, _ordered([_core(word) for word in text.split()])))


def _noisy(level: float) -> Callable[[str, str], float]:
    return lambda query, text: overlap(query, text) + level * SCALE * noise_alone(query, text)


PLAIN: dict[str, Callable[[str, str], float]] = {
    "overlap": overlap, "length": length, "random": random, "best sentence": best_sentence,
    "sentence pairs": sentence_pairs, "window": window, "cut window": cut_window,
    "proximity": proximity, "cohesion": cohesion, "broken": broken,
    **{name: _noisy(level) for name, level in NOISES.items()}, "noise alone": noise_alone,
}  # fmt: skip


# Of many texts.


class Vocabulary:
    """Numbers of words as they stand in texts, and what is known of each."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.cores: dict[str, int] = {}
        self._core: list[int] = []
        self._ends: list[bool] = []
        self._hash: list[int] = []

    def read(self, text: str) -> list[int]:
        """The numbers of a text's words."""
        numbers = self.numbers
        try:
            return [numbers[word] for word in text.split()]
        except KeyError:
            return [numbers[word] if word in numbers else self._add(word) for word in text.split()]

    def _add(self, word: str) -> int:
        core = _core(word)
        self.numbers[word] = len(self._core)
        self._core.append(self.cores.setdefault(core, len(self.cores)))
        self._ends.append(_ends(word))
        self._hash.append(_hash(core))
        return self.numbers[word]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each word: the number of its core, whether it ends a sentence, the hash of its
        core.
        """
        return np.array(self._core, np.int32), np.array(self._ends), np.array(self._hash, np.uint64)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text: its words, and whether it begins in lower case."""

    words: list[int]
    lower: bool

    @staticmethod
    def of(text: str, vocabulary: Vocabulary) -> Block:
        return Block(vocabulary.read(text), text[:1].islower())


@dataclass(frozen=True, slots=True)
class Instance:
    """Texts that one query is asked of, each a row of blocks by their number."""

    query: str
    blocks: Sequence[Block]
    texts: Sequence[Sequence[int]]


def score_all(
    instances: Sequence[Instance], vocabulary: Vocabulary, *, edged: bool = False
) -> dict[str, np.ndarray]:
    """The scores of all texts of all instances, ``(texts,)`` by scorer; those of ``EDGED`` too
    where they are wanted.
    """
    from scipy.special import ndtri

    asked = _Asked(instances, vocabulary)
    overlaps, normal = asked.overlap(), ndtri(asked.uniform(asked.ordered()))
    scores = {
        "overlap": overlaps, "length": -asked.words.astype(np.float64),
        "random": asked.uniform(asked.bag()),
        "best sentence": asked.best_sentence(), "sentence pairs": asked.sentence_pairs(),
        "window": asked.window(), "proximity": asked.proximity(),
        "cohesion": asked.cohesion(), "broken": overlaps - SCALE / 2 * asked.torn(),
    }  # fmt: skip
    if edged:
        scores["cut window"] = asked.cut_window()
    return (
        scores
        | {"noise alone": normal}
        | {name: overlaps + level * SCALE * normal for name, level in NOISES.items()}
    )


class _Asked:
    """Blocks, texts and their words end to end."""

    def __init__(self, instances: Sequence[Instance], vocabulary: Vocabulary) -> None:
        blocks = [block for one in instances for block in one.blocks]
        firsts = np.cumsum([0, *(len(one.blocks) for one in instances)])
        block_instance = np.repeat(np.arange(len(instances)), np.diff(firsts))
        self.block_words = np.array([len(block.words) for block in blocks])
        self.block_start = np.cumsum(self.block_words) - self.block_words
        raw = np.array([word for block in blocks for word in block.words], np.int32)
        queries = [query_words(one.query) for one in instances]
        absent = -1
        numbers = [[vocabulary.cores.get(word, absent) for word in words] for words in queries]
        slots = np.array([[*row, *[absent] * (SLOTS - len(row))] for row in numbers], np.int32)
        self.weights = np.array(
            [[*map(_weight, words), *[0.0] * (SLOTS - len(words))] for words in queries]
        )
        self.keys = np.array([_hash(one.query) for one in instances], np.uint64)
        core, ends, hashes = vocabulary.arrays()
        of_word = np.repeat(block_instance, self.block_words)
        mask, cores = np.zeros(len(raw), np.uint8), core[raw]
        for slot in range(SLOTS):
            mask |= (cores == slots[of_word, slot]).view(np.uint8) << np.uint8(slot)
        self.mask, self.ends, self.hashes = mask, ends[raw], hashes[raw]
        self.block_lower = np.array([block.lower for block in blocks])
        self.slots = np.array(
            [
                first + block
                for one, first in zip(instances, firsts, strict=False)
                for text in one.texts
                for block in text
            ]
        )
        sizes = np.array([len(text) for one in instances for text in one.texts])
        self.text_start = np.cumsum(sizes) - sizes
        self.text_instance = np.repeat(
            np.arange(len(instances)), [len(one.texts) for one in instances]
        )
        lengths = self.block_words[self.slots]
        self.words = np.add.reduceat(lengths, self.text_start)
        # of each slot's words among the words of all texts
        self.offsets = np.cumsum(lengths) - lengths
        self.word_start = np.cumsum(self.words) - self.words
        self.source = np.repeat(self.block_start[self.slots] - self.offsets, lengths) + np.arange(
            self.words.sum()
        )
        self.packed = self.mask[self.source]
        bits = (np.arange(256)[:, None] >> np.arange(SLOTS)) & 1
        self.held = np.stack(
            [sum(bits[:, slot] * row[slot] for slot in range(SLOTS)) for row in self.weights]
        )
        self._units()
        self._hits(queries, instances)

    def _units(self) -> None:
        """The sentences of all texts: where each begins among all words, and its text."""
        ends = self.ends[self.source]
        ends[self.word_start + self.words - 1] = True
        last = np.flatnonzero(ends)
        self.unit_start = np.concatenate([[0], last[:-1] + 1])
        self.unit_text = np.searchsorted(self.word_start, self.unit_start, side="right") - 1
        self.text_unit = np.searchsorted(self.unit_text, np.arange(len(self.words)))

    def _hits(self, queries: Sequence[list[str]], instances: Sequence[Instance]) -> None:
        """Words of texts that are the query's: their text, place among all words, and slot; and the
        query's pairs.
        """
        self.hit = np.flatnonzero(self.packed)
        self.hit_text = np.searchsorted(self.word_start, self.hit, side="right") - 1
        self.hit_slot = np.log2(self.packed[self.hit]).astype(np.int64)
        count = len(instances)
        self.bigrams = np.full((count, SLOTS * SLOTS), -1, np.int64)
        self.bigram_weight = np.zeros((count, 16))
        self.heavy = np.full((count, SLOTS - 1, 2), -1, np.int64)
        for row, (one, words) in enumerate(zip(instances, queries, strict=True)):
            for number, (a, b) in enumerate(_pairs(one.query, words)):
                self.bigrams[row, words.index(a) * SLOTS + words.index(b)] = number
                self.bigram_weight[row, number] = (_weight(a) + _weight(b)) / 2
            heavy = [words.index(word) for word in words if word not in STOP]
            for number, pair in enumerate(pairwise(heavy)):
                self.heavy[row, number] = pair

    def overlap(self) -> np.ndarray:
        norm = _K1 * (1 - _B + _B * self.words / AVERAGE)
        total = np.zeros(len(self.words))
        for slot in range(SLOTS):
            of_block = np.add.reduceat(((self.mask >> slot) & 1).astype(np.int64), self.block_start)
            tf = np.add.reduceat(of_block[self.slots], self.text_start)
            total += self.weights[self.text_instance, slot] * tf * (_K1 + 1) / (tf + norm)
        return total

    def bag(self) -> np.ndarray:
        return np.add.reduceat(
            np.add.reduceat(self.hashes, self.block_start)[self.slots], self.text_start
        )

    def ordered(self) -> np.ndarray:
        """Σ hash · Pⁱ over the i-th words, of blocks first."""
        longest = int(self.words.max()) + 1
        powers = np.ones(longest, np.uint64)
        powers[1:] = _P
        powers = np.multiply.accumulate(powers)
        local = np.arange(len(self.hashes)) - np.repeat(self.block_start, self.block_words)
        of_block = np.add.reduceat(self.hashes * powers[local], self.block_start)
        inside = self.offsets - np.repeat(
            self.word_start, np.diff([*self.text_start, len(self.slots)])
        )
        return np.add.reduceat(of_block[self.slots] * powers[inside], self.text_start)

    def uniform(self, keys: np.ndarray, texts: np.ndarray | slice = slice(None)) -> np.ndarray:
        """A number keyed by the query of each text and a key."""
        value = self.keys[self.text_instance[texts]] ^ keys
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
        return ((value >> np.uint64(11)).astype(np.float64) + 0.5) / (1 << 53)

    def best_sentence(self) -> np.ndarray:
        of_unit = np.bitwise_or.reduceat(self.packed, self.unit_start)
        return np.maximum.reduceat(
            self.held[self.text_instance[self.unit_text], of_unit], self.text_unit
        )

    def sentence_pairs(self) -> np.ndarray:
        """With one pair more than there are sentences in each text."""
        masks = np.bitwise_or.reduceat(self.packed, self.unit_start)
        bags = np.add.reduceat(self.hashes[self.source], self.unit_start)
        places = np.arange(len(masks)) + self.unit_text  # of the first pair that has the sentence
        room = len(masks) + len(self.words)
        held, keys = np.zeros(room, np.uint8), np.zeros(room, np.uint64)
        held[places], keys[places] = masks, bags * np.uint64(_P)
        held[places + 1] |= masks
        keys[places + 1] += bags
        texts = np.arange(len(self.words))
        of_pair = np.repeat(texts, np.bincount(self.unit_text, minlength=len(texts)) + 1)
        noisy = self.held[self.text_instance[of_pair], held] + SCALE * self.uniform(keys, of_pair)
        return np.maximum.reduceat(noisy, self.text_unit + texts)

    def window(self) -> np.ndarray:
        """Windows are made by doubling, 1, 2, 4, 8, 16 and 20 words, in texts with an empty window
        between them.
        """
        places, of_text, room = self._spaced()
        words = np.zeros(room, np.uint8)
        words[places] = self.packed
        sized = {1: words}
        for size, more in _DOUBLED:
            sized[size + more] = _after(sized[size], sized[more], size, np.bitwise_or)
        self.in_window = self.held[self.text_instance[of_text], sized[WINDOW][places]]
        return np.maximum.reduceat(self.in_window, self.word_start)

    def cut_window(self) -> np.ndarray:
        places, of_text, room = self._spaced()
        hashes = np.zeros(room, np.uint64)
        hashes[places] = self.hashes[self.source]
        keys = {1: hashes}
        for size, more in _DOUBLED:
            keys[size + more] = _after(
                keys[size], keys[more] * np.uint64(pow(_P, size, 1 << 64)), size, np.add
            )
        noisy = self.in_window + SCALE * self.uniform(keys[WINDOW][places], of_text)
        local = np.arange(len(self.packed)) - self.word_start[of_text]
        noisy[local > np.maximum(self.words - WINDOW, 0)[of_text]] = -np.inf
        return np.maximum.reduceat(noisy, self.word_start)

    def _spaced(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Of each word its place in an array with an empty window after each text, and its text;
        the array's length.
        """
        texts = np.arange(len(self.words))
        of_text = np.repeat(texts, self.words)
        return (
            np.arange(len(self.packed)) + WINDOW * of_text,
            of_text,
            len(self.packed) + WINDOW * len(texts),
        )

    def proximity(self) -> np.ndarray:
        total = np.zeros(len(self.words))
        near = np.flatnonzero((np.diff(self.hit) == 1) & (np.diff(self.hit_text) == 0))
        text = self.hit_text[near]
        number = self.bigrams[
            self.text_instance[text], self.hit_slot[near] * SLOTS + self.hit_slot[near + 1]
        ]
        seen = np.zeros((len(self.words), self.bigram_weight.shape[1]), bool)
        seen[text[number >= 0], number[number >= 0]] = True
        total += (seen * self.bigram_weight[self.text_instance]).sum(axis=1)
        for pair in range(SLOTS - 1):
            ends = self.heavy[self.text_instance[self.hit_text], pair]
            kept = np.flatnonzero((self.hit_slot == ends[:, 0]) | (self.hit_slot == ends[:, 1]))
            if not len(kept):
                continue
            other = np.flatnonzero(
                (np.diff(self.hit_text[kept]) == 0) & (np.diff(self.hit_slot[kept]) != 0)
            )
            closest = np.zeros(len(self.words))
            np.maximum.at(
                closest,
                self.hit_text[kept[other]],
                1 / (self.hit[kept[other + 1]] - self.hit[kept[other]]),
            )
            total += closest
        return total

    def cohesion(self) -> np.ndarray:
        bits = np.uint64(1) << (self.hashes >> np.uint64(58))
        marks = np.bitwise_or.reduceat(bits[self.source], self.unit_start)
        same = np.flatnonzero(np.diff(self.unit_text) == 0)
        shared, both = marks[same] & marks[same + 1], marks[same] | marks[same + 1]
        shares = np.bitwise_count(shared) / np.bitwise_count(both)
        texts = len(self.words)
        pairs = np.bincount(self.unit_text[same], minlength=texts)
        return np.bincount(self.unit_text[same], weights=shares, minlength=texts) / np.maximum(
            pairs, 1
        )

    def torn(self) -> np.ndarray:
        """How many of a text's two ends are in the middle of a sentence."""
        last = self.slots[np.concatenate([self.text_start[1:], [len(self.slots)]]) - 1]
        ended = self.ends[self.block_start[last] + self.block_words[last] - 1]
        return self.block_lower[self.slots[self.text_start]].astype(float) + ~ended


_DOUBLED = ((1, 1), (2, 2), (4, 4), (8, 8), (16, 4))


def _after(first: np.ndarray, second: np.ndarray, shift: int, join: np.ufunc) -> np.ndarray:
    """``first`` joined with what ``second`` has so many places on."""
    out = first.copy()
    out[:-shift] = join(out[:-shift], second[shift:])
    return out
