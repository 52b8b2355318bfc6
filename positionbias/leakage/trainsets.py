"""Draw training sets with a known number of leaked queries: No, MSM and Test leakage of the leakage
paper ("Training Datasets").

A set of n instances has n / 2 queries, each with one relevant and one other passage: a group of
two. L of them leak; the others are filling:

* ``no``: none leaks (L = 0).
* ``msm``: L leaking training queries of the source, with passages of the source.
* ``test``: the test queries themselves, with passages judged for them; a repeated query has other
  passages.

The paper takes each topic twice and as many queries for ``msm`` (500 for the 250 of Robust04, 100
for the 50 of Common Core), so L is by default 2 × the number of judged test queries. It is constant
over the sizes, or a given share of each.

The filling is drawn from queries that are not candidates of leakage, in turn from each source
split, so splits differ by at most one query. Every draw is keyed by (seed, query id). Leaked
queries come first, then the filling, each in its keyed order. With constant L, a smaller set is the
beginning of a larger one; with a share, its leaked and filling queries each begin those of a larger
set. Sets of one size and seed differ between kinds only in the leaked queries, which replace the
last of the filling [decision].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import TrainingGroup
from positionbias.core.seeds import below, keys64
from positionbias.leakage.material import Material, Source, Topic
from positionbias.leakage.settings import LeakedSettings
from positionbias.results.leakage import DrawnSet

__all__ = ["LeakedSet", "check_set", "leaked_groups", "leaked_number"]

TIMES = 2  # uses of a topic in a set of kind test, as in the paper


@dataclass(frozen=True, slots=True)
class LeakedSet:
    """The groups, leaked ones first, and the counts by source."""

    groups: Sequence[TrainingGroup]
    figures: DrawnSet


def leaked_number(material: Material, settings: LeakedSettings) -> int:
    """Return L, the number of leaking groups in a set."""
    if settings.kind == "no":
        return 0
    if settings.leaked_share is not None:
        return round(settings.leaked_share * settings.queries)
    return (
        TIMES * len(material.topics) if settings.leaked_queries is None else settings.leaked_queries
    )


def check_set(material: Material, settings: LeakedSettings) -> int:
    """Check that a set can be built, without drawing it; return its number of leaking groups.

    Raises:
        SettingError: more leaked queries than groups in the set.
        InputError: too few leaking or filling queries, or too few judged passages (with counts by
            cause).
    """
    number = leaked_number(material, settings)
    _check_some(material, settings, number)
    if number > settings.queries:
        raise SettingError(
            f"--size: wanted at least {2 * number} instances for {number:,} leaked queries; found "
            f"{settings.instances:,}; raise it, or lower --leaked-queries"
        )
    if settings.kind == "msm":
        _check_leaking(material, number)
    if settings.kind == "test":
        _check_topics(material, number)
    wanted = _by_turns(material, settings.queries - number)
    if short := [source for source in material.sources if len(source.clean) < wanted[source.split]]:
        told = "; ".join(
            f"{len(source.clean):,} for {wanted[source.split]:,} ({source.told()})"
            for source in short
        )
        raise InputError(
            f"{material.name}: wanted {settings.queries - number:,} queries that do not leak to "
            f"fill a set of {settings.instances:,} instances, equally from each source; found "
            f"{told}; give a smaller --size, or another --source"
        )
    return number


def _check_some(material: Material, settings: LeakedSettings, number: int) -> None:
    if settings.kind == "test" and not material.topics:
        found, do = f"no judged query in {', '.join(material.targets)}", "give another --target"
    elif settings.kind != "no" and not number:
        share = (
            f"{settings.leaked_share:g} of {settings.queries:,} queries"
            if settings.leaked_share
            else "no judged test query"
        )
        found, do = share, "give --leaked-queries"
    else:
        return
    raise InputError(
        f"{material.name}: wanted at least one leaked query in a set of kind {settings.kind}; "
        f"found {found}; {do}"
    )


def _check_leaking(material: Material, number: int) -> None:
    if number > (
        found := len({query_id for source in material.sources for query_id in source.leaking})
    ):
        told = "; ".join(source.told() for source in material.sources)
        named = material.pairs["training queries that leak"]
        do = (
            f"give --leaked-queries {found} or lower, or more pairs"
            if found
            else "give more pairs, or --leakage no"
        )
        raise InputError(
            f"{material.name}: wanted {number:,} leaked queries of kind msm; found {found:,} "
            f"usable of {named:,} in the pairs ({told}); {do}"
        )


def _check_topics(material: Material, number: int) -> None:
    if (found := _room(material, number)) >= number:
        return
    times = _times(material, number)
    few_relevant = sum(len(topic.relevant) < times for topic in material.topics)
    few_others = sum(len(topic.not_relevant) < times for topic in material.topics)
    none = sum(not topic.not_relevant for topic in material.topics)
    possible = found
    while (room := _room(material, possible)) < possible:
        possible = room
    raise InputError(
        f"{material.name}: wanted {number:,} leaked queries of kind test, each of "
        f"{len(material.topics):,} judged test queries up to {times} times with other passages; "
        f"found {found:,}: {few_relevant:,} have fewer than {times} relevant passages, "
        f"{few_others:,} fewer than {times} judged not relevant, {none:,} none; "
        f"{f'give --leaked-queries {possible} or lower' if possible else 'give another --target'}"
    )


def _by_turns(material: Material, number: int) -> dict[str, int]:
    """Return the number of queries from each source, taken in turn, ``number`` in all."""
    count = len(material.sources)
    return {
        source.split: (number - place + count - 1) // count
        for place, source in enumerate(material.sources)
    }


def leaked_groups(material: Material, settings: LeakedSettings) -> LeakedSet:
    """Draw one set.

    Raises:
        SettingError: as ``check_set``.
        InputError: as ``check_set``.
    """
    number = check_set(material, settings)
    leaked: list[TrainingGroup] = []
    taken: dict[str, int] = {}
    if settings.kind == "msm":
        leaked, taken = _leaking(material, number, settings.seed)
    elif settings.kind == "test":
        leaked = _topics(material, number, settings.seed)
        taken = {" + ".join(material.targets): number}
    filling, filled = _filling(material, settings.queries - number, settings.seed)
    figures = DrawnSet(
        kind=settings.kind,
        instances=settings.instances,
        leaked=number,
        leaked_share=number / settings.queries,
        leaked_from=taken,
        leaked_queries_distinct=len({group.query_id for group in leaked}),
        filled_from=filled,
        sources={source.split: source.counts() for source in material.sources},
        judged_test_queries=len(material.topics),
        of_pairs=dict(material.pairs),
        missing=dict(material.missing),
    )
    return LeakedSet([*leaked, *filling], figures)


def _in_order(items: Sequence[str], seed: int, purpose: str) -> list[str]:
    """Return the items in the order of their keys."""
    items = sorted(items)
    keys = keys64(
        seed, f"leaked set {purpose}", [item.encode("utf-8", "replace") for item in items]
    )
    return [items[place] for place in np.argsort(keys, kind="stable").tolist()]


def _group(source: Source, query_id: str, seed: int) -> TrainingGroup:
    """Draw a group: a source query with one of its relevant passages and one of its negatives."""
    relevant, negatives = source.relevant(query_id), source.negatives(query_id)
    positive = relevant[below(len(relevant), seed, "leaked set relevant", query_id)]
    negative = negatives[below(len(negatives), seed, "leaked set negative", query_id)]
    return TrainingGroup(query_id, (positive, negative), (1, 0))


def _leaking(
    material: Material, number: int, seed: int
) -> tuple[list[TrainingGroup], dict[str, int]]:
    """Draw kind msm: ``number`` leaking source queries from all splits together."""
    source_of = {query_id: source for source in material.sources for query_id in source.leaking}
    chosen = _in_order(list(source_of), seed, "leaked")[:number]
    taken = Counter(source_of[query_id].split for query_id in chosen)
    return [_group(source_of[query_id], query_id, seed) for query_id in chosen], _by_source(
        material, taken
    )


def _by_source(material: Material, taken: Mapping[str, int]) -> dict[str, int]:
    return {source.split: taken.get(source.split, 0) for source in material.sources}


def _topics(material: Material, number: int, seed: int) -> list[TrainingGroup]:
    """Draw kind test: the test queries in turn, each time with other passages, until there are
    ``number`` groups.

    Each is used at most twice, or as often as an equal share requires, if that is more.
    """
    topics = {topic.query_id: topic for topic in material.topics}
    order = _in_order(list(topics), seed, "topics")
    times = _times(material, number)
    passages = {
        query_id: (
            _in_order(topic.relevant, seed, f"relevant of {query_id}")[:times],
            _in_order(topic.not_relevant, seed, f"not relevant of {query_id}")[:times],
        )
        for query_id, topic in topics.items()
    }
    rounds = (
        (query_id, turn)
        for turn in range(times)
        for query_id in order
        if turn < _most(topics[query_id])
    )
    return [
        TrainingGroup(query_id, (passages[query_id][0][turn], passages[query_id][1][turn]), (1, 0))
        for query_id, turn in islice(rounds, number)
    ]


def _times(material: Material, number: int) -> int:
    return max(TIMES, -(-number // len(material.topics)))


def _room(material: Material, number: int) -> int:
    """Return the number of groups available from the topics, of ``number`` wanted."""
    times = _times(material, number)
    return sum(min(times, _most(topic)) for topic in material.topics)


def _most(topic: Topic) -> int:
    """Return how often a topic can be used with new passages."""
    return min(len(topic.relevant), len(topic.not_relevant))


def _filling(
    material: Material, number: int, seed: int
) -> tuple[list[TrainingGroup], dict[str, int]]:
    """Draw ``number`` queries that are not candidates of leakage, in turn from each source."""
    wanted = _by_turns(material, number)
    chosen = [
        _in_order(source.clean, seed, "filling")[: wanted[source.split]]
        for source in material.sources
    ]
    by_source = list(zip(material.sources, chosen, strict=True))
    turns = (
        (source, ids[turn])
        for turn in range(len(chosen[0]))
        for source, ids in by_source
        if turn < len(ids)
    )
    return [_group(source, query_id, seed) for source, query_id in turns], wanted
