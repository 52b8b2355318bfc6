"""Plant clicks on some of the passages that answer a query, so that the truth is known.

A query's *results* are all passages that answer it and all that mention its words, in random order,
as from an engine that, like BM25, cannot distinguish the two. Each answering passage is clicked
with probability ``rate``; if none is, a random one is. A split has three sets of judgements:

* its own, the clicks: clicked passages are relevant (1), and no others are judged;
* ``true``: answering passages are relevant (1), mentioning ones are not (0);
* ``passed-over``: clicked passages (1), and results above the last click that were not (0):
  negatives as in TripClick's own training set, according to "Establishing Strong Baselines for
  TripClick Health Retrieval" (§3.1). Negatives that answer are false negatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.planted.grammar import PlantedQuery

TRUE, PASSED_OVER = "true", "passed-over"
RATE = 0.3  # the probability that an answering passage is clicked


class Clicked(NamedTuple):
    """A query's clicked results, and those skipped above the last click, both in the order
    shown.
    """

    clicked: tuple[str, ...]
    skipped: tuple[str, ...]


def clicked(
    query_id: str, answering: Sequence[str], mentioning: Sequence[str], *, seed: int
) -> Clicked:
    """Draw the clicks on a query's results."""
    random = Random(key64(seed, "planted clicks", query_id))
    chosen = {passage_id for passage_id in answering if random.random() < RATE} or {
        random.choice(answering)
    }
    shown = sorted(
        [*answering, *mentioning],
        key=lambda passage_id: key64(seed, "planted results", query_id, passage_id),
    )
    last = max(place for place, passage_id in enumerate(shown) if passage_id in chosen)
    return Clicked(
        tuple(passage_id for passage_id in shown if passage_id in chosen),
        tuple(passage_id for passage_id in shown[:last] if passage_id not in chosen),
    )


def add_clicks(
    writer: CollectionWriter,
    split: str,
    queries: Sequence[PlantedQuery],
    answers: Mapping[str, Sequence[Answer]],
    mentions: Mapping[str, Sequence[str]],
    *,
    seed: int,
) -> None:
    """Add one split with its three sets of judgements and all answers, clicked or not."""
    own: list[Qrel] = []
    true: list[Qrel] = []
    passed: list[Qrel] = []
    for query in queries:
        answering = [answer.passage_id for answer in answers[query.query_id]]
        mentioning = mentions.get(query.query_id, ())
        found = clicked(query.query_id, answering, mentioning, seed=seed)
        clicks = [Qrel(query.query_id, passage_id, 1) for passage_id in found.clicked]
        own += clicks
        true += [Qrel(query.query_id, passage_id, 1) for passage_id in answering]
        true += [Qrel(query.query_id, passage_id, 0) for passage_id in mentioning]
        passed += [*clicks, *(Qrel(query.query_id, passage_id, 0) for passage_id in found.skipped)]
    records = [
        Query(query.query_id, query.text, {"thing": str(query.thing), "attribute": query.attribute})
        for query in queries
    ]
    writer.add_split(
        split, records, own, [answer for query in queries for answer in answers[query.query_id]]
    )
    writer.add_qrels(split, TRUE, true)
    writer.add_qrels(split, PASSED_OVER, passed)
