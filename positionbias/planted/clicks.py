"""Planted clicks: of several passages that answer a query only some were clicked, and the truth is known.

A query's *results* are all passages that answer it and all that mention its words, in an order drawn for it: like BM25, the engine that showed
them cannot tell the two apart. Each that answers was clicked with the chance ``rate``; where none was, one of them, drawn, was. A split has
three sets of judgements:

* its own, the clicks: what was clicked is relevant (1), nothing else is judged;
* ``true``: whatever answers is relevant (1), what mentions is not (0);
* ``passed-over``: what was clicked (1), and the results that were not, but stood above the last click (0): negatives as in TripClick's own
  training set, by the account of "Establishing Strong Baselines for TripClick Health Retrieval" (§3.1). Those that answer are false negatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from positionbias.core.collection_writer import CollectionWriter
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.planted.grammar import PlantedQuery

__all__ = ["PASSED_OVER", "TRUE", "Clicked", "add_clicks", "clicked"]

TRUE, PASSED_OVER = "true", "passed-over"


class Clicked(NamedTuple):
    """What became of a query's results: clicked, and passed over above the last click, both in the order shown."""

    clicked: tuple[str, ...]
    passed_over: tuple[str, ...]


def clicked(query_id: str, answering: Sequence[str], mentioning: Sequence[str], *, rate: float, seed: int) -> Clicked:
    """The clicks on a query's results."""
    random = Random(key64(seed, "planted clicks", query_id))
    chosen = {passage_id for passage_id in answering if random.random() < rate} or {random.choice(answering)}
    shown = sorted([*answering, *mentioning], key=lambda passage_id: key64(seed, "planted results", query_id, passage_id))
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
    rate: float,
    seed: int,
) -> None:
    """One split with its three sets of judgements; its answers are all that there are, whether clicked or not."""
    own: list[Qrel] = []
    true: list[Qrel] = []
    passed: list[Qrel] = []
    for query in queries:
        answering = [answer.passage_id for answer in answers[query.query_id]]
        mentioning = mentions.get(query.query_id, ())
        found = clicked(query.query_id, answering, mentioning, rate=rate, seed=seed)
        clicks = [Qrel(query.query_id, passage_id, 1) for passage_id in found.clicked]
        own += clicks
        true += [Qrel(query.query_id, passage_id, 1) for passage_id in answering]
        true += [Qrel(query.query_id, passage_id, 0) for passage_id in mentioning]
        passed += [*clicks, *(Qrel(query.query_id, passage_id, 0) for passage_id in found.passed_over)]
    records = [
        Query(query.query_id, query.text, {"thing": str(query.thing), "attribute": query.attribute}) for query in queries
    ]
    writer.add_split(split, records, own, [answer for query in queries for answer in answers[query.query_id]])
    writer.add_qrels(split, TRUE, true)
    writer.add_qrels(split, PASSED_OVER, passed)
