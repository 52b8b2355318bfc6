"""A query that is a passage of its collection, with the same id (ArguAna, Quora): found, and left
out as BEIR and MTEB do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from positionbias.text.formatting import plural

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.rank_order import Ranking
    from positionbias.core.run import Run


def own_queries(run: Run) -> list[str]:
    """Return the queries for which a run holds the passage with their own id."""
    number = {passage_id: place for place, passage_id in enumerate(run.passage_ids)}
    return [
        query_id
        for query_id in run
        if query_id in number and number[query_id] in run.numbers(query_id)
    ]


def without_own(ranking: Ranking, depth: int | None = None) -> Ranking:
    """Return a ranking, down to a depth, without the passage that has the query's own id."""
    kept = [
        place
        for place, passage_id in enumerate(ranking.passage_ids)
        if passage_id != ranking.query_id
    ][:depth]
    return ranking._replace(
        passage_ids=[ranking.passage_ids[place] for place in kept], scores=ranking.scores[kept]
    )


def own_remarks(
    found: Mapping[str, tuple[Iterable[str], int]],
    collection: Collection | None,
    split: str,
    *,
    left_out: bool,
) -> Iterator[str]:
    """Yield a remark for each run of which queries found the passage with their own id, and the
    query's text in it.

    ``found`` has the queries by run, and how many the run has; ``left_out`` says that the passages
    are gone, and needs no text.
    """
    for name, (query_ids, queries) in found.items():
        own = set(query_ids)
        if left_out and own:
            yield (
                f"{name}: left out the passage with the query's own id for "
                f"{plural(len(own), 'query')}"
            )
        elif own and collection is not None and (count := _with_text(collection, split, own)):
            yield (
                f"{name}: {count:,} of {plural(queries, 'query')} found the passage with their own "
                "id and text; --set without_own=true leaves it out, as BEIR and MTEB do"
            )


def _with_text(collection: Collection, split: str, query_ids: set[str]) -> int:
    """Return how many queries have their text in the passage with their id, which may begin with a
    title.
    """
    asked = {
        query_id: text for query_id, text in collection.query_texts(split) if query_id in query_ids
    }
    texts = collection.texts(list(asked))
    return sum(
        _folded(query) in _folded(text)
        for query, text in zip(asked.values(), texts, strict=True)
        if query.strip()
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
