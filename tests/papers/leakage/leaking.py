"""A small planted collection with topics judged both ways, and pairs that say which training
queries leak them.
"""

from __future__ import annotations

import json
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.firststage.bm25 import retrieve_run
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Settings
from tests.tiny import planted

TOPICS = 12
LEAKED = 8  # topics that a training query leaks


def leaking_collection(folder: Path) -> Collection:
    """30 training queries (``train``) and 12 topics, each judged with its answer (relevant) and
    four of its candidates (not).
    """
    source = planted(folder / "planted")
    run = folder / "found.run"
    retrieve_run(source, Retrieval("test", 12), Bm25Settings(), run)
    found = Run.from_file(run)
    queries = source.queries("test")[:TOPICS]
    relevant = {qrel.query_id: qrel.passage_id for qrel in source.qrels("test")}
    judged = []
    for query in queries:
        others = [
            passage
            for passage in found[query.query_id].passage_ids
            if passage != relevant[query.query_id]
        ]
        judged.append(Qrel(query.query_id, relevant[query.query_id], 1))
        judged += [Qrel(query.query_id, passage, 0) for passage in others[:4]]
    place = folder / "leaking"
    with create_collection(place) as writer:
        writer.share_passages(source)
        writer.add_split("train", source.queries("train"), source.qrels("train"))
        writer.add_split("topics", queries, judged)
        writer.finish(Manifest("collection", "leaking", "a test"))
    return Collection(place)


def leaking_pairs(place: Path, collection: Collection) -> Path:
    """One training query for each of the first topics, labelled as a leak."""
    train, topics = collection.queries("train"), collection.queries("topics")
    records = [
        {
            "train_id": train[number].query_id,
            "test_id": topics[number].query_id,
            "label": "identical",
        }
        for number in range(LEAKED)
    ]
    place.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return place
