"""What a training set of clicks is like, as Results: which queries got how many negatives, what is double, what was judged, lengths, clicked ranks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from statistics import fmean, median
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.payloads import Statistics
from positionbias.core.result import Result

__all__ = ["CLICKED", "LENGTHS", "QUERIES", "TRIPLES_MEASURE", "look", "quality_results"]

TRIPLES_MEASURE, LENGTHS, CLICKED = "training triples", "words of sampled triples", "clicked ranks"
SAMPLE = 10_000  # the first triples of a shuffled set are a sample of it
QUERIES = (  # what becomes of a query with a positive
    "queries with all negatives",
    "queries with fewer negatives",
    "queries without a negative",
    "queries without a positive in the corpus",
    "queries without candidates",
)
SHOWN_RANKS = 20  # a page of results; later ranks are put together


def look(groups: Groups, collection: Collection, split: str, sample: int = SAMPLE) -> dict[str, Any]:
    """Of the first triples of a set: lengths in white-space words, equal texts, and negatives that any judgement set of the split calls relevant."""
    first = list(islice(groups, sample))
    texts = iter(collection.texts([passage_id for group in first for passage_id in group.passage_ids[:2]]))
    pairs = [(next(texts), next(texts)) for _ in first]
    rows: dict[str, Any] = {"triples looked at": len(first)}
    for name, place in (("positive", 0), ("negative", 1)):
        lengths = [len(pair[place].split()) for pair in pairs]
        rows |= {f"{name} mean": fmean(lengths), f"{name} median": median(lengths), f"{name} without words": lengths.count(0)}
    asked, drawn = {group.query_id for group in first}, {(group.query_id, group.passage_ids[1]) for group in first}
    relevant = {
        qrel[:2]
        for name in (None, *collection.qrels_names(split))
        for qrel in collection.qrels(split, name)
        if qrel.grade > 0 and qrel.query_id in asked and qrel[:2] in drawn
    }
    return rows | {
        "negatives with the text of their positive": sum(one == other for one, other in pairs),
        "negatives judged relevant": sum((group.query_id, group.passage_ids[1]) in relevant for group in first),
    }


def quality_results(
    collection: Collection, split: str, system: str, seed: int, counts: Mapping[str, Any], looked: Mapping[str, Any]
) -> list[Result]:
    """The counts, the lengths and, where the collection's source has a click log, the ranks that were clicked.

    Shares of queries are of all the split's queries with a positive, whether the run has them or not.
    """
    drawn, with_positive = counts["triples drawn"], counts["queries with a positive"]
    rows = {
        **counts,
        **{f"share of {name}": counts[name] / with_positive for name in QUERIES},
        "share of drawn negatives drawn again": counts["negatives drawn again for another positive"] / drawn if drawn else None,
        "share of negatives judged not relevant": counts["negatives judged not relevant"] / counts["triples"],
    }
    made = collection.name, split, system, seed
    full = rows["share of queries with all negatives"]
    results = [
        Result(TRIPLES_MEASURE, *made, full, None, counts["triples"], Statistics(rows)),
        Result(LENGTHS, *made, looked["negative mean"], None, looked["triples looked at"], Statistics(dict(looked))),
    ]
    log = collection.manifest.content.get("source", {}).get("log")
    if log and log["clicked_ranks"]:
        results.append(_clicked(collection.name, log))
    return results


def _clicked(collection: str, log: Mapping[str, Any]) -> Result:
    """Shares of the clicks whose rank is known; the value is the share at rank 1."""
    ranks = {int(rank): count for rank, count in log["clicked_ranks"].items()}
    total = sum(ranks.values())
    shares = {
        f"share of clicks at rank {rank}": ranks.get(rank, 0) / total for rank in range(1, min(SHOWN_RANKS, max(ranks)) + 1)
    }
    if max(ranks) > SHOWN_RANKS:
        shares["share of clicks at later ranks"] = sum(count for rank, count in ranks.items() if rank > SHOWN_RANKS) / total
    known = {name: value for name, value in log.items() if name != "clicked_ranks"}
    rows = {**shares, "clicks with a rank": total, **known, "mean rank": sum(r * c for r, c in ranks.items()) / total}
    return Result(CLICKED, collection, "", "", None, shares["share of clicks at rank 1"], None, total, Statistics(rows))
