"""Search all training sources for near-duplicates of test queries, by meaning and by words.

Each source is searched separately, so each has its own k nearest, as in the paper. A training query
and a field of a test query are one pair, with the scores of the field's nearest text if it has
several (variants) [decision]. A text found by one detector gets the other's scores too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from pandas import DataFrame, Series

from positionbias.core.errors import InputError, SettingError
from positionbias.core.progress import step
from positionbias.core.steps import MapShards
from positionbias.dense.similarity import cosines
from positionbias.leakage.lexical import Rarity, TermIndex, comparable, read_terms
from positionbias.leakage.pairs import LEXICAL, SEMANTIC, Pair
from positionbias.leakage.queries import FieldText, TrainSource, is_empty
from positionbias.leakage.settings import FIELDS, THRESHOLD, FindSettings

if TYPE_CHECKING:
    from positionbias.dense.nearest import Block

Encode = Callable[[Sequence[str]], np.ndarray]  # texts to float32 vectors (n, dim)
NEIGHBOURS = 100  # of each text in each source, by cosine, as in the paper
ENCODE_TEXTS = 8_192  # texts per call of the encoder


def find_pairs(
    sources: Sequence[TrainSource],
    texts: Sequence[FieldText],
    settings: FindSettings | None = None,
    encode: Encode | None = None,
    map_shards: MapShards = map,
) -> list[Pair]:
    """Find the pairs of each source with the texts of the test queries, ordered by source and test
    query as given, field, and falling score; the semantic detector needs ``encode``.

    ``map_shards`` is an engine's, which encodes blocks of training queries.

    Memory holds the test queries' texts, their nearest neighbours, the pairs found, and term
    counts. The training queries are streamed once to count terms, once for each detector, and once
    more for the texts of those found.

    Raises:
        SettingError: no encoder for the semantic detector, or two sources with one name.
        InputError: an unreadable source, or invalid vectors.
    """
    settings = settings or FindSettings()
    names = [source.name for source in sources]
    if len(set(names)) != len(names):
        found = ", ".join(names)
        raise SettingError(f"--source: wanted different names; found {found}; rename one")
    if settings.detector != "lexical" and encode is None:
        raise SettingError(
            "--encoder: wanted an encoder for the semantic detector; found none; give one, or "
            "--detector lexical"
        )
    training = (text for each in sources for _, text in _read(each, "counting the words of"))
    rarity = Rarity(chain(training, (text.text for text in texts)))
    chosen = None if settings.detector == "lexical" else encode
    tests = _Tests(texts, settings, chosen, rarity, map_shards)
    return [pair for source in sources for pair in tests.pairs(source)]


def _read(source: TrainSource, doing: str) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of a source's queries, without empty ones."""
    with step(f"{doing} {source.name}", None, unit="queries") as bar:
        for number, (_, text) in enumerate(source.read()):
            bar.advance()
            if not is_empty(text):
                yield number, text


class _Tests:
    """The texts of the test queries, read once for all sources."""

    def __init__(
        self,
        texts: Sequence[FieldText],
        settings: FindSettings,
        encode: Encode | None,
        rarity: Rarity,
        map_shards: MapShards,
    ) -> None:
        self.texts, self.settings = texts, settings
        self.encode, self.map_shards = encode, map_shards
        self.index = TermIndex([text.text for text in texts], rarity)
        self.vectors = None if encode is None else encoded([text.text for text in texts], encode)

    def pairs(self, source: TrainSource) -> list[Pair]:
        """Return the pairs with one source, one per training query, test query and field."""
        hits = self._hits(source)
        train = source.take(hits["train"])
        hits["cosine"] = self._cosines(hits, train)
        terms = {number: read_terms(text) for number, (_, text) in train.items()}
        words = [self.index.scores(terms[n], place) for n, place in hits[["train", "place"]].values]
        hits[["jaccard", "containment"]] = np.reshape(words, (len(hits), 2))
        texts = [self.texts[place] for place in hits["place"]]
        order = {text.query_id: place for place, text in reversed([*enumerate(self.texts)])}
        hits["test"] = [order[text.query_id] for text in texts]
        hits["field"] = [FIELDS.index(text.field) for text in texts]
        group, scores = ["train", "test", "field"], ["cosine", "jaccard", "containment"]
        hits[[SEMANTIC, LEXICAL]] = hits.groupby(group)[[SEMANTIC, LEXICAL]].transform("max")
        # of the texts of a field the nearest, of equal ones the first
        hits[scores] = -hits[scores]
        hits = hits.sort_values(["test", "field", *scores, "train", "place"])
        return [
            self._pair(source.name, train[hit.train], hit)
            for hit in hits.drop_duplicates(group).itertuples()
        ]

    def _hits(self, source: TrainSource) -> DataFrame:
        """Return the training queries (by number) and texts (by place) that a detector found."""
        empty = np.empty(0, np.int64)
        parts = [DataFrame({"train": empty, "place": empty, "cosine": np.empty(0)})]
        if self.encode is not None and self.vectors is not None:
            from positionbias.dense.nearest import nearest  # with torch

            floor = THRESHOLD if self.settings.threshold is None else self.settings.threshold
            blocks = _encoded_blocks(_read(source, "encoding"), self.encode, self.map_shards)
            near = nearest(self.vectors, blocks, neighbours=NEIGHBOURS, floor=floor)
            places, ranks = np.nonzero(near.numbers >= 0)
            found = {"train": near.numbers[places, ranks], "place": places}
            found["cosine"] = near.scores[places, ranks]
            parts.append(DataFrame({**found, SEMANTIC: 1}))
        if self.settings.detector != "semantic":
            alike = self.index.search(_read(source, "comparing"))
            parts.append(DataFrame(alike, columns=["train", "place"]).assign(**{LEXICAL: 1}))
        return (
            pandas.concat(parts, ignore_index=True)
            .reindex(columns=["train", "place", "cosine", SEMANTIC, LEXICAL])
            .fillna({SEMANTIC: 0, LEXICAL: 0})
            .groupby(["train", "place"], as_index=False)
            .max()
        )

    def _cosines(self, hits: DataFrame, train: Mapping[int, tuple[str, str]]) -> Series:
        """Return the cosines, those of hits by words alone computed, if there is an encoder."""
        if self.encode is None or self.vectors is None:
            return hits["cosine"]
        more = hits[hits["cosine"].isna()]
        if more.empty:
            return hits["cosine"]
        vectors = encoded([train[number][1] for number in more["train"]], self.encode)
        known = Series(cosines(self.vectors[more["place"]], vectors), more.index)
        return hits["cosine"].fillna(known)

    def _pair(self, source: str, train: tuple[str, str], hit: Any) -> Pair:
        test = self.texts[hit.place]
        scores = {"cosine": -hit.cosine, "jaccard": -hit.jaccard, "containment": -hit.containment}
        return Pair(
            train[0],
            test.query_id,
            {name: score for name, score in scores.items() if score == score},
            train[1],
            test.text,
            test.field,
            source=source,
            found_by=tuple(name for name in (SEMANTIC, LEXICAL) if getattr(hit, name)),
        )


def encoded(texts: Sequence[str], encode: Encode) -> np.ndarray:
    """Encode texts in their comparable form, ``(n, dim)`` float32, so that a question mark does not
    hide a copy.

    Raises:
        InputError: the encoder returned another number of vectors.
    """
    return _checked(encode([comparable(text) for text in texts]), len(texts))


def _checked(vectors: np.ndarray, texts: int) -> np.ndarray:
    if np.ndim(vectors) != 2 or len(vectors) != texts:
        raise InputError(
            f"encoder: wanted ({texts}, dim) numbers; found {np.shape(vectors)}; check the encoder"
        )
    return np.asarray(vectors, np.float32)


def _encoded_blocks(
    texts: Iterator[tuple[int, str]], encode: Encode, map_shards: MapShards
) -> Iterator[Block]:
    """Yield blocks of encoded texts from a stream of (number, text), several encoded at once where
    ``map_shards`` does.
    """
    numbers = deque[np.ndarray]()

    def parts() -> Iterator[list[str]]:
        while part := list(islice(texts, ENCODE_TEXTS)):
            numbers.append(np.array([number for number, _ in part]))
            yield [comparable(text) for _, text in part]

    for vectors in map_shards(encode, parts()):
        own = numbers.popleft()
        yield own, _checked(vectors, len(own))
