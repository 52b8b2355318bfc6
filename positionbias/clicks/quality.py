"""What a training set of clicks is like, as Results: which queries got how many negatives, what is double, what was judged, lengths, clicked ranks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from statistics import fmean, median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.results.payloads import Statistics
from positionbias.results.result import Result

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


def look(groups: Groups, collection: Collection, split: str, sample: int = SAMPLE) -> dict[str, Any]:
    """Of the first triples of a set: lengths in white-space words, equal texts, and negatives that any judgement set of the split calls relevant."""
    first = list(islice(groups, sample))
    texts = iter(collection.texts([passage_id for group in first for passage_id in group.passage_ids[:2]]))
    pairs = [(next(texts), next(texts)) for _ in first]
    rows: dict[str, Any] = {"triples looked at": len(first)}
    for place, name in enumerate(("positives", "negatives")):
        lengths = [len(pair[place].split()) for pair in pairs]
        rows[name] = {
            "mean": fmean(lengths),
            "median": median(lengths),
            "longest": max(lengths),
            "without words": lengths.count(0),
        }
    asked = pa.array({group.query_id for group in first}, pa.string())
    relevant: set[tuple[str, str]] = set()
    for judgements in (None, *collection.qrels_names(split)):
        table = collection.qrel_table(split, judgements)
        own = table.filter(pc.and_(pc.greater(table["grade"], 0), pc.is_in(table["query_id"], value_set=asked)))
        relevant.update(zip(own["query_id"].to_pylist(), own["passage_id"].to_pylist(), strict=True))
    return rows | {
        "negatives with the text of their positive": sum(one == other for one, other in pairs),
        "negatives judged relevant": sum((group.query_id, group.passage_ids[1]) in relevant for group in first),
    }


def quality_results(
    collection: Collection, split: str, system: str, seed: int, counts: Mapping[str, Any], looked: Mapping[str, Any]
) -> list[Result]:
    """The counts, the lengths and, where the collection's source has a click log, the ranks that were clicked.

    ``counts`` are those of the draw, with the "negatives asked for" a positive. Shares of queries are of all the split's queries with a positive,
    whether the run has them or not.
    """
    rows = {**counts, **{f"share of {name}": counts[name] / counts["queries with a positive"] for name in QUERIES}}
    made = collection.name, split, system, seed
    full = rows["share of queries with all negatives"]
    results = [
        Result(TRIPLES_MEASURE, *made, full, None, counts["triples"], Statistics(rows)),
        Result(LENGTHS, *made, looked["negatives"]["mean"], None, looked["triples looked at"], Statistics(dict(looked))),
    ]
    log = collection.manifest.content.get("source", {}).get("log")
    if log and log["clicked_ranks"]:
        results.append(_clicked(collection.name, log))
    return results


def _clicked(collection: str, log: Mapping[str, Any]) -> Result:
    """Clicks and their share by rank, those whose rank is known, and what else the log counts; the value is the share at rank 1."""
    clicks = sorted((int(rank), count) for rank, count in log["clicked_ranks"].items())
    total = sum(count for _, count in clicks)
    rows = {
        "ranks": [{"rank": rank, "clicks": count, "share": count / total} for rank, count in clicks],
        "clicks with a rank": total,
        **{name: value for name, value in log.items() if name != "clicked_ranks"},
        "mean rank": sum(rank * count for rank, count in clicks) / total,
    }
    return Result(CLICKED, collection, "", "", None, dict(clicks).get(1, 0) / total, None, total, Statistics(rows))
