"""Search all training sources for near-duplicates of test queries, with both detectors.

Each source is searched separately, so each has its own k nearest, as in the paper. A training query
and a field of a test query are one pair, with the scores of the field's nearest text if it has
several (variants) [decision]. A text found by one detector gets the other's scores too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from positionbias.core.errors import SettingError
from positionbias.core.progress import step
from positionbias.core.shard_work import MapShards
from positionbias.core.similarity import cosines
from positionbias.leakage.lexical import Rarity, TermIndex, TextTerms, read_terms
from positionbias.leakage.nearest import Encode, encoded, encoded_blocks, nearest
from positionbias.leakage.pairs import LEXICAL, SEMANTIC, Pair
from positionbias.leakage.queries import FieldText, TrainSource, is_empty
from positionbias.leakage.reformulation import guess_type
from positionbias.leakage.settings import FIELDS, Detector, FindSettings

__all__ = [
    "Found",
    "FoundPair",
    "find_pairs",
]

_PART = 4_096  # pairs of vectors compared at a time


@dataclass(frozen=True, slots=True)
class FoundPair:
    """A training query that may leak a test query. ``cosine`` is None without an encoder; ``type``
    is a guess.
    """

    source: str
    train_id: str
    test_id: str
    field: str
    train_text: str
    test_text: str
    cosine: float | None
    jaccard: float
    containment: float
    type: str
    found_by: tuple[str, ...]

    @property
    def by_meaning(self) -> bool:
        """Return True if the semantic detector found it."""
        return SEMANTIC in self.found_by

    def as_pair(self) -> Pair:
        """Return the pair as read back from a file."""
        scores = {"cosine": self.cosine, "jaccard": self.jaccard, "containment": self.containment}
        there = {name: score for name, score in scores.items() if score is not None}
        texts = {self.field: self.test_text}
        return Pair(
            self.train_id,
            self.test_id,
            there,
            self.train_text,
            texts,
            self.field,
            found_by=self.found_by,
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The pairs, ordered by source and test query as given, field, and descending score; counts of
    queries read and empty by source; the detectors.
    """

    pairs: Sequence[FoundPair]
    queries: Mapping[str, int]
    empty: Mapping[str, int]
    detector: Detector = "both"

    @property
    def by_meaning(self) -> list[FoundPair]:
        """Return the pairs of the semantic detector."""
        return [pair for pair in self.pairs if pair.by_meaning]

    @property
    def by_words_alone(self) -> list[FoundPair]:
        """Return the pairs of queries that only the lexical detector found, in any field; labelled
        pairs do not show their precision.
        """
        known = {(pair.source, pair.train_id, pair.test_id) for pair in self.by_meaning}
        return [
            pair for pair in self.pairs if (pair.source, pair.train_id, pair.test_id) not in known
        ]


def find_pairs(
    sources: Sequence[TrainSource],
    texts: Sequence[FieldText],
    settings: FindSettings | None = None,
    encode: Encode | None = None,
    map_shards: MapShards = map,
) -> Found:
    """Find the pairs of each source with the texts of the test queries; the semantic detector needs
    ``encode``.

    ``map_shards`` is an engine's, which encodes blocks of training queries.

    Memory holds the test queries' texts, their nearest neighbours, the pairs found, and term
    counts. The training queries are streamed once to count terms, once for each detector, and once
    more for the texts of those found.

    Raises:
        SettingError: no encoder for the semantic detector, two sources with one name, or too little
            memory.
        InputError: an unreadable source, or invalid vectors.
    """
    settings = settings or FindSettings()
    if len({source.name for source in sources}) != len(sources):
        raise SettingError(
            f"--source: wanted different names; found {', '.join(s.name for s in sources)}; rename "
            "one"
        )
    if settings.detector != "lexical" and encode is None:
        raise SettingError(
            "--encoder: wanted an encoder for the semantic detector; found none; give one, or "
            "--detector lexical"
        )
    search = _Search(
        texts,
        settings,
        None if settings.detector == "lexical" else encode,
        _rarity(sources, texts),
        map_shards,
    )
    found = [search.source(source) for source in sources]
    return Found(
        [pair for part in found for pair in part.pairs],
        {
            source.name: part.queries[source.name]
            for source, part in zip(sources, found, strict=True)
        },
        {source.name: part.empty[source.name] for source, part in zip(sources, found, strict=True)},
        settings.detector,
    )


def _rarity(sources: Sequence[TrainSource], texts: Sequence[FieldText]) -> Rarity:
    """Count terms in the queries of both sides."""
    training = (text for source in sources for _, text in _Pass(source, "counting the words of"))
    return Rarity(chain(training, (text.text for text in texts)))


class _Pass:
    """One pass over a source: (number, text) of its non-empty queries, with counts and a progress
    bar.
    """

    def __init__(self, source: TrainSource, doing: str) -> None:
        self.source, self.doing = source, doing
        self.queries = self.empty = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        with step(f"{self.doing} {self.source.name}", None, unit="queries") as bar:
            for number, (_, text) in enumerate(self.source.read()):
                self.queries += 1
                bar.advance()
                if is_empty(text):
                    self.empty += 1
                else:
                    yield number, text


Key = tuple[int, int]  # a training query's number in its source, a test text's index


class _Search:
    """The test side of the search, built once for all sources."""

    def __init__(
        self,
        texts: Sequence[FieldText],
        settings: FindSettings,
        encode: Encode | None,
        rarity: Rarity,
        map_shards: MapShards,
    ) -> None:
        self.texts, self.settings, self.encode, self.map_shards = (
            texts,
            settings,
            encode,
            map_shards,
        )
        self.index = TermIndex([text.text for text in texts], settings.lexical, rarity)
        self.vectors = None if encode is None else encoded([text.text for text in texts], encode)

    def source(self, source: TrainSource) -> Found:
        """Return the pairs of one source."""
        by: dict[Key, list[str]] = {}
        cosine: dict[Key, float] = {}
        if self.encode is not None and self.vectors is not None:
            reading = _Pass(source, "encoding")
            wanted = replace(self.settings.nearest, floor=self.settings.floor)
            near = nearest(
                self.vectors, encoded_blocks(reading, self.encode, self.map_shards), wanted
            )
            for place, rank in np.argwhere(near.numbers >= 0).tolist():
                key = int(near.numbers[place, rank]), place
                by[key], cosine[key] = [SEMANTIC], float(near.scores[place, rank])
        if self.settings.detector != "semantic":
            reading = _Pass(source, "comparing")
            for hit in self.index.search(reading):
                by.setdefault((hit.train, hit.test), []).append(LEXICAL)
        train = source.take(number for number, _ in by)
        cosine.update(self._cosines(train, [key for key in by if key not in cosine]))
        pairs = self._pairs(source.name, train, by, cosine)
        return Found(pairs, {source.name: reading.queries}, {source.name: reading.empty})

    def _cosines(
        self, train: Mapping[int, tuple[str, str]], keys: Sequence[Key]
    ) -> dict[Key, float]:
        """Return the cosines of pairs that only the lexical detector found; none without an
        encoder.
        """
        if self.encode is None or self.vectors is None or not keys:
            return {}
        of_number: dict[int, list[int]] = {}
        for number, place in keys:
            of_number.setdefault(number, []).append(place)
        found: dict[Key, float] = {}
        for numbers, vectors in encoded_blocks(
            ((number, train[number][1]) for number in sorted(of_number)), self.encode
        ):
            pairs = [
                (row, number, place)
                for row, number in enumerate(numbers.tolist())
                for place in of_number[number]
            ]
            rows, places = [row for row, _, _ in pairs], [place for _, _, place in pairs]
            values = _by_parts(self.vectors, places, vectors, rows)
            found.update(
                {
                    (number, place): value
                    for (_, number, place), value in zip(pairs, values, strict=True)
                }
            )
        return found

    def _pairs(
        self,
        source: str,
        train: Mapping[int, tuple[str, str]],
        by: Mapping[Key, list[str]],
        cosine: Mapping[Key, float],
    ) -> list[FoundPair]:
        """Return the pairs in order, one per training query, test query and field."""
        terms = {number: read_terms(text) for number, (_, text) in train.items()}
        best: dict[tuple[int, str, str], tuple[tuple[float, ...], int, Key]] = {}
        detectors: dict[tuple[int, str, str], set[str]] = {}
        first: dict[str, int] = {}
        for place, text in enumerate(self.texts):
            first.setdefault(text.query_id, place)
        for number, place in by:
            text = self.texts[place]
            group = number, text.query_id, text.field
            detectors.setdefault(group, set()).update(by[number, place])
            scores = cosine.get((number, place), -1.0), *self.index.scores(terms[number], place)
            best[group] = max(
                best.get(group, ((-2.0,), 0, (0, 0))), (scores, -place, (number, place))
            )
        ordered = sorted(
            best.items(),
            key=lambda item: (
                first[item[0][1]],
                FIELDS.index(item[0][2]),
                [-s for s in item[1][0]],
                item[0][0],
            ),
        )
        return [
            self._pair(
                source,
                train[number],
                terms[number],
                place,
                cosine.get((number, place)),
                detectors[group],
            )
            for group, (_, _, (number, place)) in ordered
        ]

    def _pair(
        self,
        source: str,
        train: tuple[str, str],
        terms: TextTerms,
        place: int,
        cosine: float | None,
        found_by: set[str],
    ) -> FoundPair:
        test, test_terms = self.texts[place], self.index.texts[place]
        near = cosine is not None and cosine >= self.settings.floor
        return FoundPair(
            source,
            train[0],
            test.query_id,
            test.field,
            train[1],
            test.text,
            cosine,
            *self.index.scores(terms, place),
            guess_type(terms, test_terms, same_meaning=near),
            tuple(name for name in (SEMANTIC, LEXICAL) if name in found_by),
        )


def _by_parts(
    tests: np.ndarray, places: Sequence[int], vectors: np.ndarray, rows: Sequence[int]
) -> list[float]:
    """Return the cosine of each place with its row, in blocks to save memory."""
    parts = (slice(start, start + _PART) for start in range(0, len(rows), _PART))
    return [
        value
        for part in parts
        for value in cosines(tests[places[part]], vectors[rows[part]]).tolist()
    ]
