"""BM25 does not know positions: what rotating every passage changes in its rankings is what it does to words at the cut.

    posbias import squad $POSBIAS_DATA/squad --out squad
    python benchmarks/bm25_rotation.py squad FOLDER        # writes benchmarks/results/bm25_rotation_HARDWARE_DATE.md

Each draw rotates the collection, indexes it and ranks anew. BM25's words are those between punctuation and white space, and a cut falls at the start of a
BlingFire word: where it falls inside one of BM25's, that one becomes two.
"""

from __future__ import annotations

import argparse
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from measuring import hardware, result_place

from positionbias.core.collection import Collection, find_collection
from positionbias.core.run import Run
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation


def ranked(collection: Collection, split: str, depth: int) -> Run:
    return retrieve(collection, collection.queries(split), depth, Bm25Settings())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--draws", type=int, default=4)
    given = parser.parse_args()
    collection = find_collection(given.collection)
    qrels = collection.qrels(given.split)
    before = ranked(collection, given.split, given.depth)
    original = per_query(before, qrels, ["nDCG@10"])["nDCG@10"]
    clusters = clusters_by_passage(qrels)
    labels = [clusters.get(query_id, query_id) for query_id in original]
    changes, rows = [], []
    for seed in range(1, 1 + given.draws):
        place = given.folder / f"rotated-{seed}"
        if not place.exists():
            debias(collection, place, Rotation(seed=seed))
        after = ranked(Collection(place), given.split, given.depth)
        values = per_query(after, qrels, ["nDCG@10"])["nDCG@10"]
        change = np.array([values[query_id] - original[query_id] for query_id in original])
        changes.append(change)
        order = sum(before[query_id].passage_ids != after[query_id].passage_ids for query_id in original)
        top = sum(before[query_id].passage_ids[:1] != after[query_id].passage_ids[:1] for query_id in original)
        rows.append(f"| {seed} | {order:,} | {top:,} | {np.count_nonzero(change):,} | {change.mean():+.5f} |")
    gap = clustered_mean(np.mean(changes, axis=0), labels)
    assert gap.value is not None
    assert gap.interval is not None
    versions = ", ".join(f"{name} {version(name)}" for name in ("bm25s", "blingfire", "numpy", "positionbias"))
    lines = [
        "# BM25 on rotated passages",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/bm25_rotation.py {given.collection} FOLDER --split {given.split} --depth {given.depth} --draws {given.draws}",
        "",
        f"{collection.name}, {given.split}: {len(original):,} queries, {len(collection):,} passages, top {given.depth}; nDCG@10 {np.mean(list(original.values())):.4f}.",
        "",
        "| rotation | queries with another ranking | another first passage | another nDCG@10 | mean change |",
        "|---|---|---|---|---|",
        *rows,
        "",
        f"Rotation gap over all draws: {gap.value:+.5f} [{gap.interval.low:+.5f}, {gap.interval.high:+.5f}] (95 %, clustered by passage).",
    ]
    text = "\n".join(lines) + "\n"
    result_place("bm25_rotation").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
