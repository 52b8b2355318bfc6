"""Table 1 of a collection: passages, queries, judgements and answers per split, lengths in BlingFire words, its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.progress import track
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import read_shard
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result
from positionbias.text.words import word_count

__all__ = ["QUANTILES", "READ_WORDS", "collection_counts", "collection_statistics", "length_statistics", "word_counts"]

QUANTILES = {"minimum": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "maximum": 1.0}
# what a re-ranker reads of each: longer texts lose their end, and a rotation changes what is lost
READ_WORDS = {"passages": 200, "queries": 30}
LONGEST_LIST = 8


def word_counts(texts: Iterable[str]) -> np.ndarray:
    """BlingFire words of each text, ``(texts,)`` int32; four bytes a text are held."""
    return np.fromiter(map(word_count, texts), dtype=np.int32)


def _shard_word_counts(shard: Path) -> np.ndarray:
    return word_counts(text for batch in read_shard(shard).to_batches() for text in batch.column("text").to_pylist())


def length_statistics(counts: np.ndarray, read: int) -> dict[str, Any]:
    """Sum, mean and quantiles of word counts, the texts without a word, and the share of texts longer than ``read`` words.

    Quantiles are observed lengths (the lower of two neighbours). Without a text all but the counts are None.

    >>> length_statistics(np.array([0, 10, 20, 300]), 200)["share_over_200_words"]
    0.25
    """
    quantiles = dict.fromkeys(QUANTILES)
    if len(counts):
        found = np.quantile(counts, list(QUANTILES.values()), method="lower").tolist()
        quantiles = dict(zip(QUANTILES, found, strict=True))
    return {
        "words": int(counts.sum()),
        "mean_words": float(counts.mean()) if len(counts) else None,
        "words_quantiles": quantiles,
        "without_words": int((counts == 0).sum()),
        f"share_over_{read}_words": float((counts > read).mean()) if len(counts) else None,
    }


def collection_counts(collection: Collection) -> list[Result]:
    """What the manifest alone says: one Result for the passages, then one a split for its queries."""
    rows = {"passages": len(collection), "manifest": _manifest_summary(collection)}
    results = [_result("passages", collection, "", len(collection), rows)]
    absent = collection.manifest.content.get("absent", {})
    for split, counts in collection.manifest.content["splits"].items():
        figures = {"queries": counts["queries"], "judgements": counts["qrels"], "answers": counts["answers"]}
        if "qrels_sets" in counts:
            figures["further_judgements"] = counts["qrels_sets"]
        if split in absent:
            figures["absent"] = absent[split]
        results.append(_result("queries", collection, split, counts["queries"], figures))
    return results


def collection_statistics(collection: Collection, map_shards: MapShards = map) -> list[Result]:
    """``collection_counts`` with the lengths of passages and of each split's queries; reads every passage once, shard by shard."""
    results = []
    for result in collection_counts(collection):
        if result.measure == "passages":
            shards = track(
                map_shards(_shard_word_counts, collection.shard_paths),
                "counting words",
                len(collection.shard_paths),
                unit="shards",
            )
            counts = np.concatenate([np.empty(0, np.int32), *shards])
        else:
            counts = word_counts(query.text for query in collection.queries(result.split))
        assert isinstance(result.payload, Statistics)
        rows = {**result.payload.rows, **length_statistics(counts, READ_WORDS[result.measure])}
        results.append(_result(result.measure, collection, result.split, result.count, rows))
    return results


def _result(measure: str, collection: Collection, split: str, count: int, rows: Mapping[str, Any]) -> Result:
    return Result(
        measure=measure,
        collection=collection.name,
        split=split,
        system="",
        seed=collection.manifest.seed,
        value=float(count),
        interval=None,
        count=count,
        payload=Statistics(rows),
    )


def _manifest_summary(collection: Collection) -> dict[str, Any]:
    """How the collection came to be; long lists (a source's articles) stand as their length."""
    manifest = collection.manifest
    return {
        "command": manifest.command,
        "settings": dict(manifest.settings),
        "licence": manifest.licence,
        "inputs": [{"role": item.role, "path": item.path, "checksum": item.checksum} for item in manifest.inputs],
        "notes": list(manifest.notes),
        "content": {key: _condense(value) for key, value in manifest.content.items() if key != "splits"},
        "versions": dict(manifest.versions),
        "created": manifest.provenance.get("created"),
    }


def _condense(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _condense(item) for key, item in value.items()}
    if isinstance(value, list):
        return len(value) if len(value) > LONGEST_LIST else [_condense(item) for item in value]
    return value
