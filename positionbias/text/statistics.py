"""Statistics of a collection: passages, queries, judgements and answers per split, lengths in
BlingFire words, its manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET

from positionbias.core.collection import Collection
from positionbias.core.progress import track
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import read_shard
from positionbias.results.collections import (
    PASSAGES,
    QUERIES,
    Absent,
    Origin,
    PassageFigures,
    PassageLengths,
    QueryFigures,
    QueryLengths,
    SourceInput,
)
from positionbias.results.figures import Figures
from positionbias.results.result import Result
from positionbias.text.words import word_count

__all__ = [
    "QUANTILES",
    "collection_counts",
    "collection_statistics",
    "length_statistics",
    "word_counts",
]

QUANTILES = {
    "minimum": 0.0,
    "5%": 0.05,
    "25%": 0.25,
    "median": 0.5,
    "75%": 0.75,
    "95%": 0.95,
    "maximum": 1.0,
}
LONGEST_LIST = 8
L = TypeVar("L", PassageLengths, QueryLengths)


def word_counts(texts: Iterable[str]) -> np.ndarray:
    """Count the BlingFire words of each text, ``(texts,)`` int32, holding four bytes a text."""
    return np.fromiter(map(word_count, texts), dtype=np.int32)


def _shard_word_counts(shard: Path) -> np.ndarray:
    return word_counts(
        text
        for batch in read_shard(shard).to_batches()
        for text in batch.column("text").to_pylist()
    )


def length_statistics(counts: np.ndarray, kind: type[L]) -> L:
    """Return sum, mean and quantiles of word counts, the number of empty texts, and the share of
    texts over ``kind``'s reading limit.

    Quantiles are observed lengths (the lower of two neighbours). Without texts all but the counts
    are None.

    >>> length_statistics(np.array([0, 10, 20, 300]), PassageLengths).share_over
    0.25
    """
    quantiles = dict.fromkeys(QUANTILES)
    if len(counts):
        found = np.quantile(counts, list(QUANTILES.values()), method="lower").tolist()
        quantiles = dict(zip(QUANTILES, found, strict=True))
    return kind(
        words=int(counts.sum()),
        mean_words=float(counts.mean()) if len(counts) else None,
        words_quantiles=quantiles,
        without_words=int((counts == 0).sum()),
        share_over=float((counts > kind.READ).mean()) if len(counts) else None,
    )


def collection_counts(collection: Collection) -> list[Result]:
    """Return the manifest's counts: one Result for the passages, then one a split for its
    queries.
    """
    passages = PassageFigures(passages=len(collection), manifest=_origin(collection))
    results = [_result(PASSAGES, collection, "", len(collection), passages)]
    absent = collection.manifest.content_as(dict[str, Absent], "absent", {})
    for split, counts in collection.split_facts.items():
        queries = QueryFigures(
            queries=counts.queries,
            judgements=counts.qrels,
            answers=counts.answers,
            further_judgements=counts.qrels_sets or UNSET,
            absent=absent.get(split, UNSET),
        )
        results.append(_result(QUERIES, collection, split, counts.queries, queries))
    return results


def collection_statistics(collection: Collection, map_shards: MapShards = map) -> list[Result]:
    """Return ``collection_counts`` with the lengths of passages and of each split's queries,
    reading every passage once.
    """
    results = []
    for result in collection_counts(collection):
        if isinstance(result.payload, PassageFigures):
            shards = track(
                map_shards(_shard_word_counts, collection.shard_paths),
                "counting words",
                len(collection.shard_paths),
                unit="shards",
            )
            passages = length_statistics(
                np.concatenate([np.empty(0, np.int32), *shards]), PassageLengths
            )
            figures: Figures = msgspec.structs.replace(result.payload, lengths=passages)
        else:
            queries = word_counts(text for _, text in collection.query_texts(result.split))
            assert isinstance(result.payload, QueryFigures)
            figures = msgspec.structs.replace(
                result.payload, lengths=length_statistics(queries, QueryLengths)
            )
        results.append(replace(result, payload=figures))
    return results


def _result(
    measure: str, collection: Collection, split: str, count: int, figures: Figures
) -> Result:
    return Result(
        measure=measure,
        collection=collection.name,
        split=split,
        system="",
        seed=collection.manifest.seed,
        value=float(count),
        interval=None,
        count=count,
        payload=figures,
    )


def _origin(collection: Collection) -> Origin:
    manifest = collection.manifest
    return Origin(
        command=manifest.command,
        settings=dict(manifest.settings),
        licence=manifest.licence,
        inputs=[SourceInput(item.role, item.path, item.checksum) for item in manifest.inputs],
        notes=list(manifest.notes),
        content={
            key: _condense(value) for key, value in manifest.content.items() if key != "splits"
        },
        versions=dict(manifest.versions),
        created=manifest.created,
    )


def _condense(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _condense(item) for key, item in value.items()}
    if isinstance(value, list):
        return len(value) if len(value) > LONGEST_LIST else [_condense(item) for item in value]
    return value
