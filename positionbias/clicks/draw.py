"""Draw the triples of a part of a run's queries, and write them in the order of their keys.

A triple's key is a hash of seed and ids, so that the order of keys is a shuffle which depends
neither on workers and blocks nor on the order of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.run_files import Lines
from positionbias.core.seeds import keys64
from positionbias.core.split_tables import qrels_kind
from positionbias.training.negatives import draw_negatives, without

IDS = ("query_id", "positive", "negative")


class Clicks(NamedTuple):
    """A collection by path and checksum, a split, the judgement set of the positives, and their
    lowest grade.
    """

    path: str
    checksum: str
    split: str
    qrels_name: str | None
    relevant_from: int


class Judged(NamedTuple):
    """The queries of a split, its positives, and the judgements of all its sets, as columns."""

    collection: Collection
    query_ids: pa.Array
    positives: pa.Table
    every: pa.Table


@lru_cache(maxsize=1)
def judged(clicks: Clicks) -> Judged:
    """Read all judgements of a split, once per process."""
    collection, split = Collection(clicks.path), clicks.split
    positives = collection.table(qrels_kind(clicks.qrels_name), split)
    names = (None, *collection.qrels_names(split))
    return Judged(
        collection,
        pa.array([query_id for query_id, _ in collection.query_texts(split)], pa.string()),
        positives.filter(pc.field("grade") >= clicks.relevant_from),
        pa.concat_tables(collection.table(qrels_kind(name), split) for name in names),
    )


@dataclass(frozen=True, slots=True)
class DrawnBlock:
    """The counts of a block, and its queries."""

    counts: Mapping[str, int]
    query_ids: Sequence[str]


def draw_block(
    clicks: Clicks, negatives: int, depth: int | None, seed: int, lines: Lines, path: Path
) -> DrawnBlock:
    """Write the triples of some lines' queries to ``path``, sorted by key.

    Raises:
        InputError: candidates with an unknown query or passage, or an unreadable run.
    """
    known, rankings = judged(clicks), list(lines.rankings())
    query_ids = pa.array([ranking.query_id for ranking in rankings], pa.string())
    unknown = query_ids.filter(pc.invert(pc.is_in(query_ids, known.query_ids)))
    if len(unknown):
        raise _of_another(
            lines, f"queries of split {clicks.split!r}", f"query {unknown[0].as_py()!r}"
        )
    every = known.every.filter(pc.is_in(known.every["query_id"], query_ids))
    relevant = _by_query(every.filter(pc.field("grade") > 0))
    others = _by_query(every.filter(pc.field("grade") <= 0))
    positives = _by_query(known.positives.filter(pc.is_in(known.positives["query_id"], query_ids)))
    asked = sorted(set().union(*positives.values()))
    absent = set(known.collection.absent(asked))

    counts = Counter[str]()
    triples: list[tuple[str, str, str]] = []
    for query_id, passage_ids, _ in rankings:
        own = positives.get(query_id, set()) - absent
        if not own:
            continue
        candidates = passage_ids[:depth]
        pool = without(candidates, relevant[query_id])
        drawn = [
            (query_id, positive, negative)
            for positive in own
            for negative in draw_negatives(pool, negatives, seed, query_id, positive)
        ]
        triples += drawn
        chosen, judged_too = [triple[2] for triple in drawn], others.get(query_id, set())
        counts.update(
            {
                "queries with all negatives": int(len(pool) >= negatives),
                "queries with fewer negatives": int(0 < len(pool) < negatives),
                "positives": len(own),
                "candidates left out as relevant": len(candidates) - len(pool),
                "triples drawn": len(drawn),
                "negatives drawn again for another positive": len(drawn) - len(set(chosen)),
                "negatives judged not relevant": sum(item in judged_too for item in chosen),
            }
        )
    if unknown := known.collection.absent(sorted({negative for *_, negative in triples})):
        wanted = f"passages of {known.collection.name}"
        raise _of_another(lines, wanted, f"passage {unknown[0]!r}")
    keys = keys64(seed, "order of triples", ["\x1f".join(triple).encode() for triple in triples])
    columns = zip(*triples, strict=True) if triples else [()] * len(IDS)
    table = pa.table([keys, *(pa.array(ids, pa.string()) for ids in columns)], ["key", *IDS])
    feather.write_feather(by_key(table), str(path), compression="uncompressed")
    return DrawnBlock(counts, query_ids.to_pylist())


def by_key(triples: pa.Table) -> pa.Table:
    """Sort triples by key; equal keys, one in 10¹² pairs of triples, by their ids."""
    return triples.sort_by([(name, "ascending") for name in ("key", *IDS)])


def _by_query(qrels: pa.Table) -> dict[str, set[str]]:
    passages: dict[str, set[str]] = {}
    columns = (qrels[name].to_pylist() for name in ("query_id", "passage_id"))
    for query_id, passage_id in zip(*columns, strict=True):
        passages.setdefault(query_id, set()).add(passage_id)
    return passages


def _of_another(lines: Lines, wanted: str, found: str) -> InputError:
    do = "check --split, and that --candidates were retrieved from this collection"
    return bad_input(lines.source, wanted=wanted, found=found, do=do)
