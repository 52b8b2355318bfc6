"""Count what a collection holds: passages, queries, judgements and answers by split, and lengths in
BlingFire words.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.inputs import CollectionLike
from positionbias.core.manifest import Manifest, input_name
from positionbias.core.outcome import Measurements, Read
from positionbias.core.progress import track
from positionbias.core.rows import Collected
from positionbias.core.shards import read_shard
from positionbias.core.steps import MapShards
from positionbias.engine.choose import Engine
from positionbias.text.formatting import any_value
from positionbias.text.splitter import USUAL_WORDS
from positionbias.text.words import word_count

READ = {"passages": 200, "queries": 30}  # words that a re-ranker reads
QUANTILES = {"median": 0.5, "95 %": 0.95, "maximum": 1.0}


def word_counts(texts: Iterable[str]) -> np.ndarray:
    """Count the BlingFire words of each text, ``(texts,)`` int32, holding four bytes a text."""
    return np.fromiter(map(word_count, texts), dtype=np.int32)


def _shard_word_counts(shard: Path) -> np.ndarray:
    return word_counts(
        text
        for batch in read_shard(shard).to_batches()
        for text in batch.column("text").to_pylist()
    )


def length_statistics(counts: np.ndarray, read: int) -> dict[str, float]:
    """Return mean and quantiles of word counts, the number of empty texts, and the share of texts
    of more than ``read`` words; of no text only their number, 0.

    Quantiles are observed lengths (the lower of two neighbours).

    >>> length_statistics(np.array([0, 10, 20, 300]), 200)["truncated"]
    0.25
    """
    if not len(counts):
        return {"empty": 0}
    quantiles = np.quantile(counts, list(QUANTILES.values()), method="lower").tolist()
    return {
        "mean": float(counts.mean()),
        **dict(zip(QUANTILES, quantiles, strict=True)),
        "empty": int((counts == 0).sum()),
        "truncated": float((counts > read).mean()),
    }


def collection_rows(
    collection: Collection, *, lengths: bool = False, map_shards: MapShards = map
) -> DataFrame:
    """Return the manifest's counts of passages and, by split, of queries, judgements and answers;
    with ``lengths`` also those of texts in words, for which every passage is read once.
    """
    made = Collected({"study": "collection", "collection": collection.name})
    made.add("passages", "count", len(collection))
    for split, facts in collection.split_facts.items():
        made.add("queries", "count", facts.queries, split=split)
        made.add("judgements", "count", facts.qrels, split=split)
        made.add("answers", "count", facts.answers, split=split)
        for name, number in facts.qrels_sets.items():
            made.add(f"judgements {name}", "count", number, split=split)
    absent = collection.manifest.content_as(dict[str, dict[str, int]], "absent", {})
    for split, numbers in absent.items():
        made.add("judgements of absent passages", "count", numbers["judgements"], split=split)
    if not lengths:
        return made.rows
    texts = track(
        map_shards(_shard_word_counts, collection.shard_paths),
        "counting words",
        len(collection.shard_paths),
        unit="shards",
    )
    counted = [("passages", "", np.concatenate([np.empty(0, np.int32), *texts]))]
    for split in collection.splits:
        words = word_counts(text for _, text in collection.query_texts(split))
        counted.append(("queries", split, words))
    for measure, split, words in counted:
        for statistic, value in length_statistics(words, READ[measure]).items():
            unit = "share" if statistic == "truncated" else "words"
            made.add(f"words of {measure}", statistic, value, split=split, unit=unit)
    return made.rows


def show_collection(collection: CollectionLike, engine: Engine) -> Measurements:
    """Return what a collection holds, with lengths, and what made it."""
    opened = find_collection(collection)
    with engine.open() as map_shards:
        rows = collection_rows(opened, lengths=True, map_shards=map_shards)
    return Measurements(
        rows=rows,
        remarks=_origin(opened.manifest),
        command="show",
        read=[Read("collection", opened.path, opened.checksum)],
        name=opened.name,
        licence=opened.manifest.licence,
        packages=(USUAL_WORDS,),
        host=engine.host,
    )


def _origin(made: Manifest) -> list[str]:
    """Say what made a collection, from which inputs, and under which licence."""
    settings = ", ".join(f"{name} {any_value(value)}" for name, value in made.settings.items())
    inputs = [
        f"{item.role}: {input_name(item.path)} (checksum {item.checksum[:16]}…)"
        for item in made.inputs
    ]
    return [
        f"Made by {made.command} ({settings or 'no settings'}), {made.created}, positionbias "
        f"{made.versions.get('positionbias', '?')}.",
        *inputs,
        f"Licence: {made.licence or 'not stated'}.",
        *made.notes,
    ]
